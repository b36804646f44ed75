"""Fixtures of the engine's tests. A module that needs other settings makes its `store` of this."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.engines import Store, opened
from support.likelihood import Likelihood


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty collection of an engine on disk."""
    with opened(tmp_path) as made:
        yield made


@pytest.fixture
def likelihood(monkeypatch: pytest.MonkeyPatch) -> Likelihood:
    """Judgements that a test says, in place of those by the fit."""
    return Likelihood(monkeypatch)
