"""kill -9 before every statement of a re-embedding: it is done or goes on, and nothing is mixed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.engines import forget
from support.forking import Forker, forker
from support.reembedding import (
    assert_complete,
    assert_unmixed,
    begin,
    opened_with,
    restarted,
    running,
    settle,
    state_of,
    told_by,
)

STATEMENTS_MAX = 500
MODELS = ("left", "right")


@pytest.fixture
def killer() -> Iterator[Forker]:
    """Forks children that re-embed and die in it."""
    with forker("support.reembedding") as made:
        yield made


def model_of(store: Any) -> str:
    return str(store.info().model.name)


@pytest.mark.timeout(300)
def test_kill_in_a_reembedding_leaves_one_model_and_it_goes_on(
    killer: Forker, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    store = opened_with(base, "left")
    ids = [store.save(f"pump {number} stands", text_only=True, force=True) for number in range(6)]
    store.do(forget(ids[0]))
    before = store.revision
    store.close()
    swapped_from, lived, statement = None, False, -1
    while not lived and statement < STATEMENTS_MAX:
        statement += 1
        copy = tmp_path / str(statement)
        shutil.copytree(base, copy)
        answered, lived = killer.die(directory=str(copy), statement=statement)
        # As it lies there, with nobody to go on.
        store = opened_with(copy, "left")
        restarted(store, None)
        model = model_of(store)
        swapped = model == "right"
        assert store.revision == before + swapped
        assert swapped or not answered, "what was answered is lost"
        if swapped and swapped_from is None:
            swapped_from = statement
        assert swapped or swapped_from is None, "what was done went away"
        state = state_of(store)
        assert_unmixed(store, MODELS)
        assert_complete(store, running(model))
        # It goes on by itself, or is begun again where it had not begun.
        right = running("right")
        restarted(store, right)
        state = state_of(store)
        if state.pending is None and state.info.model.name == "left":
            told_by(begin(store, "op-of-the-test"))
        settle(store)
        assert model_of(store) == "right"
        assert store.revision == before + 1
        assert_unmixed(store, MODELS)
        assert_complete(store, right)
        (again,) = told_by(begin(store, "op-of-the-test"))
        assert again.replayed
        store.close()
        shutil.rmtree(copy)
    assert lived
    assert swapped_from is not None
    assert swapped_from > 10, "the trace saw no statements"
