"""Memory that was freed goes back to the system."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import pytest

from totonoe_core.base import heap


@pytest.mark.parametrize("has_it", [True, False])
def test_trim_calls_what_the_library_has_and_nothing_else(
    has_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[int] = []
    library = SimpleNamespace(malloc_trim=called.append) if has_it else SimpleNamespace()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    heap.trim()
    assert called == [0] * has_it


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's call")
def test_trim_on_this_system_works() -> None:
    heap.trim()
