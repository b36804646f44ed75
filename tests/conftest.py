"""What holds for every test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from support.kept import FILES, POSTGRESQL, STORES, chosen

# What gRPC does in the child of a fork has ended one (SIGSEGV) before it became `pg_ctl`.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

Constants = dict[tuple[str, str], float]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test marked `both_stores` runs over files and over PostgreSQL."""
    if metafunc.definition.get_closest_marker("both_stores"):
        stores = STORES if chosen() == FILES else (POSTGRESQL,)
        metafunc.parametrize("kept_in", stores, indirect=True, scope="session")


@pytest.fixture(scope="session")
def kept_in(request: pytest.FixtureRequest) -> str:
    """The store that a server of a test is over, one of `STORES`."""
    return str(getattr(request, "param", chosen()))


@pytest.fixture(scope="module", autouse=True)
def limits_are_left_as_they_were() -> Iterator[None]:
    """A limit that a test lowered and left so would decide what tests of other modules see."""
    before = _constants()
    yield
    after = _constants()
    changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
    assert not changed


def _constants() -> Constants:
    return {
        (name, key): value
        for name, module in list(sys.modules.items())
        if name.startswith(("totonoe_core.", "totonoe_server.", "totonoe."))
        for key, value in vars(module).items()
        if key.isupper() and isinstance(value, int | float)
    }
