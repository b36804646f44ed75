"""Collections that are made for tests of the catalogue."""

from __future__ import annotations

from support.engines import DIMENSION, Store
from support.waits import wait_s
from totonoe_core.domain.policy import PRESETS, DecayPolicy, DiversityPolicy, Preset


def create(store: Store, name: str) -> None:
    """A new collection for vectors of the tests' dimension."""
    store.engine.create_collection(
        name,
        "",
        agent_id="anna",
        description="",
        guard=PRESETS[Preset.STANDARD],
        diversity=DiversityPolicy(),
        decay=DecayPolicy(),
        client_vector_dimension=DIMENSION,
    ).result(wait_s())
