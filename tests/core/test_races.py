"""Many threads change the same memories at once: each call is whole, in some order, or refused."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from support.engines import (
    Store,
    contents,
    forget,
    link,
    merge,
    remember,
    undo,
    update,
    vector_at,
    vector_of,
)
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.graph import CreateEpisode
from totonoe_core.domain.memories import Purge, Remembered
from totonoe_core.domain.queries import EpisodeQuery, OperationFilter, OperationsQuery
from totonoe_core.domain.records import Method, Status
from totonoe_core.domain.undo import Undone

ROUNDS = 4
THREADS = 6
DEAD = (Status.FORGOTTEN, Status.PURGED)


@pytest.fixture
def store(store: Store) -> Store:
    store.set(("guard.preset", "ego"), ("guard.link_distance_below", 0.0))
    return store


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(THREADS) as made:
        yield made


Answers = list[Applied | errors.TotonoeError]


@pytest.fixture
def race(store: Store, pool: ThreadPoolExecutor) -> Callable[..., Answers]:
    """Carries out commands at once, in any order; checks what always holds."""
    generator = random.Random(5)

    def run(commands: Sequence[Command]) -> Answers:
        before = store.revision
        together = threading.Barrier(len(commands))

        def call(command: Command) -> Applied | errors.TotonoeError:
            together.wait(wait_s())
            try:
                return store.apply(command)
            except errors.TotonoeError as error:
                return error

        order = generator.sample(range(len(commands)), len(commands))
        told = dict(zip(order, pool.map(call, [commands[at] for at in order]), strict=True))
        answers = [told[at] for at in range(len(commands))]
        revisions = sorted(
            answer.revision for answer in answers if isinstance(answer, Applied) and is_done(answer)
        )
        assert revisions == list(range(before + 1, store.revision + 1)), "one for each that is done"
        check(store)
        return answers

    return run


def is_done(answer: Applied) -> bool:
    """Whether it changed anything: an Undo of which nothing was left did not, nor a refusal."""
    result = answer.results[0]
    if isinstance(result, Remembered):
        return result.saved
    return not isinstance(result, Undone) or result.undone


def check(store: Store) -> None:
    """No link to the dead, each link from both ends, no gap, chains that end."""
    held = contents(store)
    rows = {memory.row: memory for memory in held["memories"].values()}
    for (source, target, type_), edge in held["links"].items():
        back = held["links"][target, source, type_.inverse]
        assert (edge.confidence, edge.note) == (back.confidence, back.note)
        assert rows[source].status not in DEAD
    for row in rows.values():
        seen = set()
        while row.status is Status.SUPERSEDED:
            assert row.id not in seen
            seen.add(row.id)
            row = held["memories"][row.superseded_by]
    asked = store.engine.read("default", OperationsQuery("anna", OperationFilter(), 1000, ""))
    told = [operation.revision for operation in asked.result(wait_s()).operations]
    assert told == list(range(store.revision, 0, -1))


def made(store: Store) -> tuple[str, str, str]:
    """Three memories, the first linked to the others."""
    one, two, three = (store.save(f"{name} {store.revision}") for name in ("one", "two", "three"))
    store.do(link(one, two))
    store.do(link(one, three))
    return one, two, three


def won(answers: Answers, *kinds: type[errors.TotonoeError]) -> list[int]:
    """Places of those that are done; the others were refused for one of the reasons."""
    for answer in answers:
        assert isinstance(answer, (Applied, *kinds)), answer
    return [at for at, answer in enumerate(answers) if isinstance(answer, Applied)]


def test_undo_against_undo(store: Store, race: Callable[..., Answers]) -> None:
    for _ in range(ROUNDS):
        one, *_ = made(store)
        store.do(forget(one))
        answers = race([undo(store.revision, agent=f"agent {at}") for at in range(THREADS)])
        assert len(won(answers, errors.UndoRefused)) == 1
        assert len(store.one(one).links) == 2


def test_purge_against_update(store: Store, race: Callable[..., Answers]) -> None:
    for _ in range(ROUNDS):
        one, two, _ = made(store)
        updates = [update(one, content=f"changed {store.revision} {at}") for at in range(3)]
        answers = race([*updates, Purge("anna", (one,)), link(one, two), update(two, importance=5)])
        assert {3, 5} <= {*won(answers, errors.NotFound)}
        with pytest.raises(errors.NotFound):
            store.get(one)
        tombstone = contents(store)["memories"][one]
        assert (tombstone.content, tombstone.status) == ("", Status.PURGED)


def test_episode_against_forget(store: Store, race: Callable[..., Answers]) -> None:
    for _ in range(ROUNDS):
        ids = made(store)
        episodes = [CreateEpisode("anna", "what happened", ids) for _ in range(3)]
        answers = race([*episodes, forget(ids[0])])
        first = answers[3].revision
        for place in won(answers, errors.NotFound)[:-1]:
            assert answers[place].revision < first
            made_id = answers[place].results[0].episode.id
            read = store.read(EpisodeQuery("anna", made_id, False))
            assert (read.episode.memory_ids, read.episode.gone_count) == (ids[1:], 1)


def test_supersede_against_supersede(store: Store, race: Callable[..., Answers]) -> None:
    for _ in range(ROUNDS):
        one, *_ = made(store)
        commands = [
            replace(remember(f"new {store.revision} {at}"), supersede_ids=(one,))
            for at in range(THREADS)
        ]
        answers = race(commands)
        (place,) = won(answers, errors.Precondition)
        assert store.one(one).superseded_by == answers[place].results[0].memory_id
        live = {memory.content for memory in store.list() if memory.status is Status.ACTIVE}
        assert {command.content for command in commands} & live == {commands[place].content}


def test_merges_in_a_ring(store: Store, race: Callable[..., Answers]) -> None:
    for _ in range(ROUNDS):
        one, two, three = made(store)
        answers = race([merge(one, two), merge(two, three), merge(three, one)] * 2)
        assert 1 <= len(won(answers, errors.Precondition)) <= 2
        status = [store.one(memory_id).status for memory_id in (one, two, three)]
        assert 1 <= status.count(Status.ACTIVE) <= 2


def test_anything_against_anything(store: Store, race: Callable[..., Any]) -> None:
    generator = random.Random(7)
    for number in range(3 * ROUNDS):
        ids = list(made(store))

        def one_of(ids: list[str] = ids) -> str:
            return generator.choice(ids)

        kinds: list[Callable[[], Command]] = [
            lambda ids=ids: merge(*generator.sample(ids, 2)),
            lambda one=one_of: forget(one()),
            lambda: undo(store.revision),
            lambda one=one_of, number=number: update(one(), importance=1 + number % 5),
            lambda one=one_of: Purge("anna", (one(),)),
            lambda one=one_of, number=number: replace(
                remember(f"else {number} {generator.random()}"), supersede_ids=(one(),)
            ),
            lambda ids=ids: link(*generator.sample(ids, 2)),
        ]
        race([generator.choice(kinds)() for _ in range(THREADS)])


SAME_BY_WORDS = [
    ("Timeout: 30s", "The timeout is 30 seconds."),
    ("開発サーバーのポートは 5173 です。", "開発サーバーのポートは**`5173`**です。"),
    ("颱風天不出門送貨。", "台风天不出门送货。"),
]


@pytest.mark.parametrize("texts", SAME_BY_WORDS)
def test_many_that_say_the_same_found_by_words_alone_save_it_once(
    store: Store, race: Callable[..., Answers], texts: tuple[str, str]
) -> None:
    store.set(("guard.preset", "standard"))
    for number in range(ROUNDS):
        base = vector_of(f"base {number}")
        # Far below the cosine from which the vectors alone would find the pair.
        vectors = base, vector_at(base, 0.3)
        commands = [
            remember(texts[at % 2], agent=f"agent {at}", vector=vectors[at % 2])
            for at in range(THREADS)
        ]
        results = [answer.results[0] for answer in race(commands)]
        (saved,) = [result for result in results if result.saved]
        assert {result.memory_id for result in results} == {saved.memory_id}
        methods = {result.guard.method for result in results if not result.saved}
        assert methods == {Method.EXACT, Method.JACCARD}
        store.do(forget(saved.memory_id))
