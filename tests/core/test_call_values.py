"""Values that a Remember gives for itself, in place of the collection's policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from support.engines import Store, remember, vector_at, vector_of
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.memories import Remember

BASE = vector_of("base")


def at_distance(distance: float, number: int = 0) -> np.ndarray:
    """A vector so far from BASE."""
    return vector_at(BASE, 1.0 - distance, number)


def saying(content: str, *, own: dict[str, float | None] | None = None, **more: Any) -> Remember:
    """A Remember with values of its own."""
    return replace(remember(content, **more), **(own or {}))


def test_cosine_distance_below_refuses_for_one_call_only(store: Store) -> None:
    kept = store.save("Crate one", vector=BASE)
    near = at_distance(0.2)
    answer = store.do(saying("Something else", vector=near, own={"cosine_distance_below": 0.3}))
    assert (answer.saved, answer.memory_id, answer.guard.method.value) == (False, kept, "cosine")
    assert not store.do(saying("Another", vector=near, own={"cosine_distance_below": 0.3})).saved
    assert store.do(saying("Something else", vector=near)).saved


def test_cosine_distance_below_zero_switches_the_layer_off(store: Store) -> None:
    store.set(("guard.preset", "ego"))
    store.save("Crate one", vector=BASE)
    near = at_distance(0.01)
    assert not store.do(saying("Something else", vector=near)).saved
    assert store.do(saying("Something else", vector=near, own={"cosine_distance_below": 0.0})).saved


def test_threshold_of_one_call_in_a_batch_is_exact(store: Store) -> None:
    for number in range(40):
        store.save(f"Crate {number}", vector=vector_of(f"v{number}"))
    store.save("The one", vector=BASE)
    commands = [
        saying(
            f"Text {number}",
            vector=at_distance(0.4, number),
            own={"cosine_distance_below": 0.5 if number % 2 else None},
        )
        for number in range(16)
    ]
    futures = store.engine.apply_all(store.collection, [("", (command,)) for command in commands])
    answers = [future.result(wait_s()).results[0] for future in futures]
    refused = [answer for number, answer in enumerate(answers) if number % 2]
    assert not any(answer.saved for answer in refused)
    assert answers[0].saved


@pytest.mark.parametrize(("links_max", "expected"), [(None, 5), (0, 0), (2, 2), (9, 8)])
def test_links_max_bounds_the_links_to_what_is_near(
    store: Store, links_max: int | None, expected: int
) -> None:
    for number in range(8):
        store.save(f"n{number}", vector=at_distance(0.1, number), force=True)
    answer = store.do(saying("New words", vector=BASE, force=True, own={"links_max": links_max}))
    assert len(answer.links) == expected


def test_link_distance_below_decides_what_is_near(store: Store) -> None:
    store.save("far away", vector=at_distance(0.5), force=True)
    quiet = store.do(saying("first words", vector=BASE, force=True))
    assert quiet.links == ()
    wide = store.do(
        saying("Second words", vector=BASE, force=True, own={"link_distance_below": 0.6})
    )
    assert len(wide.links) == 2
    none = store.do(
        saying("Third words", vector=BASE, force=True, own={"link_distance_below": 0.0})
    )
    assert none.links == ()


@pytest.mark.parametrize(
    "values",
    [
        {"cosine_distance_below": -0.1},
        {"cosine_distance_below": 2.1},
        {"cosine_distance_below": float("nan")},
        {"link_distance_below": 3.0},
        {"links_max": -1},
        {"links_max": 17},
    ],
)
def test_value_out_of_its_range_is_refused_by_name(store: Store, values: dict[str, float]) -> None:
    error = store.refused(saying("text", own=values), errors.InvalidArgument)
    assert error.reason == "OUT_OF_RANGE"
    assert next(iter(values)) in str(error)
