"""Many say the same at once through several daemons of one database: one of them is saved.

Each layer of the guard that refuses has its race. Without the lock on the collection's row the race
is lost: else these tests would prove nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import DIMENSION, FakeClock, Store, forget, remember, vector_at, vector_of
from support.judges import SureJudge, by_the_judge_alone, service
from support.postgres import migrated, psycopg
from support.waits import wait_s
from totonoe_core.base.errors import Corruption
from totonoe_core.domain.memories import Remember, Remembered
from totonoe_core.domain.records import Method
from totonoe_core.engine.writer.writer import Writer
from totonoe_core.store.postgres import collection_file
from totonoe_core.store.postgres.store import PostgresStore

DAEMONS = 3
SAMPLE, WHOLE = (24, 3), (3 * 32, 100)
"""Calls at once, which the daemons share, and rounds."""
UNLOCKED = "SELECT revision, true FROM collection WHERE uid = $1"
ENDS = ("", ".", " !", "  ", " ...", " ;", ",", " -")
WORDS = ("sofa", "bench", "chair", "couch", "floor", "carpet", "table", "shelf")
SAID = ("The neighbour has a loud dog", "Next door there is a noisy animal that barks")
OFF: tuple[tuple[str, Any], ...] = (("guard.judged_from", None), ("guard.learns", False))

Say = Callable[[int, int], Remember]
Opened = list[Store]


def same_text(number: int, _: int) -> Remember:
    return remember(f"the heating of round {number} is set to 21 degrees")


def same_words(number: int, at: int) -> Remember:
    """The same words with other signs."""
    # Right angles between them: of hundreds of vectors by chance some are nearly the same.
    vector = np.eye(DIMENSION)[at % len(ENDS)]
    return remember(
        f"the boiler of round {number} was cleaned{ENDS[at % len(ENDS)]}", vector=vector
    )


def most_words(number: int, at: int) -> Remember:
    """A long text with one word of its own."""
    shared = " ".join(f"{word}{number}" for word in (*WORDS, *"abcdefghijkl"))
    return remember(f"{shared} own{at}")


def same_meaning(number: int, at: int) -> Remember:
    """Another text with nearly the same vector."""
    near = vector_at(vector_of(f"round {number}"), 0.999, at)
    return remember(f"{WORDS[at % len(WORDS)]} {at}", vector=near)


def same_session(number: int, at: int) -> Remember:
    """The same within one session."""
    near = vector_at(vector_of(f"round {number}"), 0.999, at)
    text = f"{WORDS[at % len(WORDS)]} {at} of session {number}"
    return remember(text, vector=near, session_id=f"s{number}")


def judged_same(_: int, at: int) -> Remember:
    """The same in other words, which the judge knows."""
    return remember(SAID[at % 2], vector=vector_at(vector_of("base"), 0.97, at % 2))


@dataclass(frozen=True)
class Layer:
    """A layer by what it refuses, its name then, and the settings that leave it alone in force."""

    methods: set[Method]
    say: Say
    settings: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return self.say.__name__


LAYERS = (
    Layer({Method.EXACT}, same_text, (("guard.preset", "standard"),)),
    Layer({Method.EXACT, Method.JACCARD}, same_words, (("guard.preset", "standard"),)),
    Layer({Method.JACCARD}, most_words, (*OFF, ("guard.jaccard_above", 0.7))),
    Layer({Method.COSINE}, same_meaning, (("guard.preset", "ego"),)),
    Layer({Method.SESSION_COSINE}, same_session, (*OFF, ("guard.session_cosine_at_least", 0.85))),
    Layer({Method.EXACT, Method.JUDGE}, judged_same, (("guard.certain_from", 0.85),)),
)


@pytest.fixture
def url() -> str:
    return migrated()


@pytest.fixture
def daemons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, request: pytest.FixtureRequest
) -> Iterator[Opened]:
    """Engines over one database that have the same collection open, with a judge for its race."""
    judged = "judged_same" in request.node.name
    by_the_judge_alone(monkeypatch)
    monkeypatch.setattr("support.engines.kept_at", lambda at: PostgresStore(url, at))
    clock = FakeClock()
    found: Opened = []
    try:
        for number in range(DAEMONS):
            judging = service(SureJudge(), kind="own") if judged else None
            found += [Store(tmp_path / f"daemon-{number}", clock=clock, judging=judging)]
            found[-1].save(f"a first memory of daemon {number}", force=True)
        yield found
    finally:
        for store in found:
            store.close()


def race(daemons: Opened, commands: list[Remember]) -> list[Remembered | Exception]:
    """Say things at once, to every daemon in turn."""
    together = threading.Barrier(len(commands))

    def call(number: int) -> Remembered | Exception:
        together.wait(wait_s())
        try:
            answer = daemons[number % len(daemons)].apply(commands[number]).results[0]
        except Exception as error:
            return error
        assert isinstance(answer, Remembered)
        return answer

    with ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(call, range(len(commands))))


def saved_of(answers: list[Remembered | Exception]) -> list[Remembered]:
    return [answer for answer in answers if isinstance(answer, Remembered) and answer.saved]


def run_rounds(daemons: Opened, layer: Layer, calls: int, rounds: int) -> None:
    """Each round saves one, and the others are told which, by that layer."""
    daemons[0].set(*layer.settings)
    for number in range(rounds):
        answers = race(daemons, [layer.say(number, at) for at in range(calls)])
        assert not [answer for answer in answers if isinstance(answer, Exception)], answers
        (kept,) = saved_of(answers)
        refused = [
            answer for answer in answers if isinstance(answer, Remembered) and not answer.saved
        ]
        assert {item.memory_id for item in refused} == {kept.memory_id}
        assert {item.guard.method for item in refused} <= layer.methods
        daemons[number % DAEMONS].do(forget(kept.memory_id))


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_of_many_that_say_the_same_at_once_one_is_saved(daemons: Opened, layer: Layer) -> None:
    run_rounds(daemons, layer, *SAMPLE)


@pytest.mark.postgres
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_of_32_clients_of_each_of_three_daemons_one_is_saved_100_times(
    daemons: Opened, layer: Layer
) -> None:
    run_rounds(daemons, layer, *WHOLE)


def test_without_the_lock_the_race_is_lost(
    daemons: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_file, "_LOCK", UNLOCKED)
    calls, rounds = SAMPLE
    wrong = 0
    for number in range(rounds):
        answers = race(daemons, [same_text(number, at) for at in range(calls)])
        # A key of the tables stops some of them, but that is an error to the caller.
        failed = any(isinstance(answer, Corruption) for answer in answers)
        wrong += failed or len(saved_of(answers)) > 1
    assert wrong, "two daemons decided at once, and nobody noticed"


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_without_lock_and_key_more_than_one_copy_gets_in(
    daemons: Opened, layer: Layer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemons[0].set(*layer.settings)
    for store in daemons:
        store.save(f"{store.path.name} knows the settings", force=True)
    for number, store in enumerate(daemons):
        # A row of its own for each copy: a second one in the same row is refused by its key.
        (found,) = store.engine._collections.use_open()
        found.future.result()._state._last_row += 1000 * number
        store.engine._collections.give_back(found)
    with psycopg.connect(url, autocommit=True) as connection:
        # It stops some of the copies without the lock, too: no two operations have one revision.
        connection.execute("ALTER TABLE operation DROP CONSTRAINT operation_pkey")
    monkeypatch.setattr(collection_file, "_LOCK", UNLOCKED)
    met, together, decide = set(), threading.Barrier(DAEMONS), Writer._decide

    def decide_together(self: Writer, job: Any) -> Any:
        if self not in met:
            met.add(self)
            together.wait(wait_s())
        return decide(self, job)

    monkeypatch.setattr(Writer, "_decide", decide_together)
    answers = race(daemons, [layer.say(0, at) for at in range(SAMPLE[0])])
    assert len(saved_of(answers)) > 1
