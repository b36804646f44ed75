"""Collections that are made for tests of the catalogue."""

from __future__ import annotations

from support.engines import DIMENSION, Store
from support.waits import wait_s
from totonoe_core.domain.collections import NewCollection


def create(store: Store, name: str) -> None:
    """A new collection for vectors of the tests' dimension."""
    store.engine.create_collection(
        NewCollection(name, client_vector_dimension=DIMENSION), "", agent_id="anna"
    ).result(wait_s())
