"""Re-embedding at one daemon of a database while another one writes the collection."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import FakeClock, HeldEmbedding, Store, forget, remember, update
from support.postgres import migrated
from support.reembedding import (
    HALF,
    HalfEmbedder,
    begin,
    reembed,
    restarted,
    running,
    settle,
    state_of,
    told_by,
)
from support.waits import wait_s, wait_until
from totonoe_core.base.errors import ModelMismatch, Precondition
from totonoe_core.domain.memories import Remembered
from totonoe_core.domain.queries import OperationFilter, OperationsQuery, RecallQuery
from totonoe_core.domain.records import Status
from totonoe_core.engine.jobs.reembed import Reembedding
from totonoe_core.engine.writer.writer import Writer
from totonoe_core.store.postgres.store import PostgresStore

NAMES = ("left", "right")
"""The models of the tests, by their numbers in the collection."""
TEXTS = [f"the pump {number} stands in hall {number % 7}" for number in range(12)]


@contextmanager
def daemons(path: Path, url: str, *embeddings: Any) -> Iterator[list[Store]]:
    """An engine over one database for each embedder."""
    clock = FakeClock()
    with ExitStack() as closing:
        found = []
        for number, embedding in enumerate(embeddings):
            store = Store(
                path / f"engine-{number}",
                clock=clock,
                embedding=embedding,
                keep=lambda at: PostgresStore(url, at),
            )
            closing.callback(store.close)
            found.append(store)
        yield found


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with a collection of the model "left"."""
    made = migrated()
    with daemons(tmp_path / "before", made, running("left")) as (store,):
        for text in TEXTS:
            save(store, text)
    return made


def save(store: Store, text: str) -> str:
    return store.save(text, text_only=True, force=True)


def held_right() -> HeldEmbedding:
    return HeldEmbedding(HalfEmbedder("right"))


def id_of(store: Store, text: str) -> str:
    (found,) = [memory.id for memory in store.list() if memory.content == text]
    return found


def recalled(store: Store, text: str) -> list[tuple[str, float]]:
    found = store.recall(RecallQuery("anna", text))
    assert not found.degraded_because
    return [(hit.memory.id, round(hit.cosine_similarity, 5)) for hit in found.hits]


def is_of(vectors: Any, name: str) -> bool:
    """Whether vectors, of which some may be empty, are of a model."""
    found = np.frombuffer(vectors, np.float32) if isinstance(vectors, bytes) else vectors
    return not (found[..., -HALF:] if name == "left" else found[..., :HALF]).any()


def assert_right(stores: Sequence[Store]) -> None:
    """Every memory has the vector of its text by "right": in its row, and in each index."""
    model, seen = running("right"), []
    newest = max(state_of(store).revision for store in stores)
    for store in stores:
        wait_until(lambda store=store: state_of(store).published.revision == newest)
        state, names = state_of(store), store.engine._collections.names
        assert state.info.model.name == "right"
        pool = store.kept.readers(names.catalog.place(names.uid("default"), ""), 1)
        with pool.rows() as rows, rows.snapshot():
            there = [memory for memory in rows.all_memories() if memory.status is not Status.PURGED]
            memories = list(rows.beside.of_model(state.info.model_number, there))
            beside = list(rows.beside.embeddings([memory.row for memory in there]).values())
        pool.close()
        for memory in memories:
            (wanted,) = model.vectors([memory.content])
            assert memory.vector == wanted.tobytes(), memory.content
            assert (state.index.vector(memory.row) == wanted).all(), memory.content
        for _, size, chunk in state.index.arrays.view().parts():
            assert is_of(chunk.vectors[:size], "right")
        assert all(is_of(item.vector, NAMES[item.model_number]) for item in (*there, *beside))
        seen.append(
            [(memory.id, memory.content, memory.status, memory.revision) for memory in memories]
        )
    assert all(item == seen[0] for item in seen)


def without_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let daemons learn what others committed in their batches only."""
    monkeypatch.setattr(Writer, "_look_after_others", lambda _: None)


def before_transaction(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Callable[[], Any]]:
    """Return a list whose calls are made when a step of the work is about to take the lock."""
    calls: list[Callable[[], Any]] = []
    step = getattr(Reembedding, name)

    def run(self: Reembedding, *given: Any) -> Any:
        file = self._state.file

        def late(*more: Any) -> Any:
            del file.transaction
            while calls:
                calls.pop()()
            return file.transaction(*more)

        file.transaction = late
        return step(self, *given)

    monkeypatch.setattr(Reembedding, name, run)
    return calls


def test_another_daemon_saves_changes_forgets_and_recalls_meanwhile(
    tmp_path: Path, url: str
) -> None:
    held = held_right()
    with daemons(tmp_path, url, held, running("left")) as (one, other):
        watch = begin(one)
        held.wait_held()
        saved: list[str] = []
        over, unexpected = threading.Event(), []

        def write(number: int) -> None:
            count = 0
            try:
                while not over.is_set():
                    mine = save(other, f"lamp {count} of the writer {number} hangs there")
                    other.do(update(mine, importance=4))
                    if count % 3 == 0:
                        text = f"lamp {count} of the writer {number} is gone"
                        other.do(update(mine, content=text, vector=()))
                    if count % 5 == 0:
                        other.do(forget(mine))
                    saved.append(mine)
                    other.recall(RecallQuery("anna", "lamp"))
                    count += 1
            except ModelMismatch:
                # The swap has come here, too: this daemon runs the model before.
                saved.append(mine)
            except BaseException as error:
                unexpected.append(error)

        writers = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        for writer in writers:
            writer.start()
        wait_until(lambda: len(saved) > 10 or unexpected)

        def release() -> None:
            while not over.is_set():
                held.release()
                over.wait(0.002)

        releasing = threading.Thread(target=release)
        releasing.start()
        (last,) = [message for message in told_by(watch) if message.done]
        assert (last.done.before.name, last.done.after.name) == NAMES
        for writer in writers:
            writer.join(wait_s())
        settle(one)
        over.set()
        releasing.join(wait_s())
        assert not unexpected
        assert len(saved) > 10
        assert {memory.id for memory in one.list()} >= set(saved)
        assert_right([one, other])
        # With the model that counts the other one answers the same.
        restarted(other, running("right"))
        restarted(one, running("right"))
        for text in (TEXTS[0], "lamp 3 of the writer 1"):
            assert recalled(one, text) == recalled(other, text)
        mine = save(other, "a last lamp")
        wait_until(lambda: "a last lamp" in {memory.content for memory in one.list()})
        assert mine == id_of(one, "a last lamp")
        assert_right([one, other])


def test_daemon_with_the_new_model_takes_texts_once_another_one_began(
    tmp_path: Path, url: str
) -> None:
    held = held_right()
    with daemons(tmp_path, url, held, running("right")) as (one, other):
        with pytest.raises(ModelMismatch):
            save(other, "too early")
        watch = begin(one)
        held.wait_held()
        made: list[str] = []

        def takes() -> bool:
            try:
                made.append(save(other, "a lamp hangs there"))
            except ModelMismatch:
                return False
            return True

        wait_until(takes)
        assert len(state_of(other).file.rows.beside.embeddings([len(TEXTS) + 1])) == 1
        wait_until(lambda: bool(held.release()) or watch.over)
        settle(one)
        assert other.one(made[0]).content == "a lamp hangs there"
        assert_right([one, other])


def test_vector_that_was_given_for_the_model_before_is_not_taken_after_a_swap_elsewhere(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with daemons(tmp_path, url, running("right"), running("right")) as (one, other):
        assert state_of(other).info.model_number == 0
        without_looks(monkeypatch)
        reembed(one)
        settle(one)
        assert state_of(other).info.model_number == 0, "it has not looked"
        (old,) = running("left").vectors(["late"])
        answer = other.do(remember("late", vector=old, force=True))
        assert isinstance(answer, Remembered) and answer.saved
        monkeypatch.undo()
        one.save("and the next", text_only=True, force=True)
        assert_right([one, other])


@pytest.mark.parametrize("step", ["_store", "_exchange"])
def test_write_of_another_daemon_between_two_steps_is_not_lost(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with daemons(tmp_path, url, running("right"), running("left")) as (one, other):
        changed, gone = id_of(other, TEXTS[1]), id_of(other, TEXTS[2])
        calls = before_transaction(monkeypatch, step)
        change = {"importance": 5}
        if step == "_store":
            change = {"content": "the pump was sold", "vector": ()}
        calls += [lambda: other.do(forget(gone)), lambda: other.do(update(changed, **change))]
        reembed(one)
        settle(one)
        assert not calls
        for store in (one, other):
            wait_until(lambda store=store: store.one(gone).status is Status.FORGOTTEN)
            found = store.one(changed)
            assert step != "_store" or found.content == "the pump was sold"
            assert step == "_store" or found.fields.importance == 5
        assert_right([one, other])


def test_cancel_at_another_daemon_ends_it(tmp_path: Path, url: str) -> None:
    held = held_right()
    with daemons(tmp_path, url, held, running("right")) as (one, other):
        watch = begin(one)
        held.wait_held()
        assert other.engine.cancel_reembed("default").result(wait_s()) == 0
        held.release()
        with pytest.raises(Precondition):
            told_by(watch)
        assert other.engine.cancel_reembed("default").result(wait_s()) == -1
        for store in (one, other):
            wait_until(lambda store=store: store.stats().reembed is None)
            assert not state_of(store).file.rows.beside.embeddings(range(1, 40))
        done = reembed(other)
        assert done.embedded_count == len(TEXTS)
        settle(other)
        assert_right([other, one])


@pytest.mark.parametrize("what", ["cancel", "swap"])
def test_what_another_daemon_does_just_before_the_swap_counts(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    with daemons(tmp_path, url, running("right"), running("right")) as (one, other):
        writer = one.engine._collections.opened("default").result(wait_s())._writer
        alone, done = writer.alone, []

        def late(job: Any) -> Any:
            if not done:
                cancel = other.engine.cancel_reembed
                done.append(
                    cancel("default").result(wait_s()) if what == "cancel" else reembed(other)
                )
            return alone(job)

        monkeypatch.setattr(writer, "alone", late)
        watch = begin(one)
        if what == "swap":
            (last,) = [message for message in told_by(watch) if message.done]
            assert last.done == done[0]
            settle(one)
            settle(other)
            assert_right([one, other])
            return
        with pytest.raises(Precondition):
            told_by(watch)
        for store in (one, other):
            wait_until(lambda store=store: store.stats().reembed is None)
            assert state_of(store).info.model.name == "left"
            assert not state_of(store).file.rows.beside.embeddings(range(1, 40))
        reembed(one)
        settle(one)
        assert_right([one, other])


def test_two_daemons_that_are_asked_do_it_once_and_both_say_so(tmp_path: Path, url: str) -> None:
    held = held_right()
    with daemons(tmp_path, url, held, running("right")) as (one, other):
        first = begin(one)
        held.wait_held()
        done = reembed(other)
        wait_until(lambda: bool(held.release()) or first.over)
        (last,) = [message for message in told_by(first) if message.done]
        assert last.done == done
        settle(one)
        settle(other)
        query = OperationsQuery("anna", OperationFilter(kinds=("Reembed",)), 10, "")
        page = one.read(query)
        assert len(page.operations) == 1
        assert_right([one, other])


def test_what_one_daemon_left_another_one_ends(tmp_path: Path, url: str) -> None:
    held = held_right()
    with daemons(tmp_path / "one", url, held) as (one,):
        begin(one)
        held.wait_held()
    with daemons(tmp_path / "other", url, running("right")) as (other,):
        wait_until(lambda: state_of(other).published.model.name == "right")
        settle(other)
        assert_right([other])


def test_daemon_that_always_writes_does_not_keep_the_swap_from_its_turn(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with daemons(tmp_path, url, running("right"), running("left")) as (one, other):
        writer = one.engine._collections.opened("default").result(wait_s())._writer
        alone, saved = writer.alone, []

        def late(job: Any) -> Any:
            # Whenever all vectors are there, one more text comes before the turn.
            saved.append(save(other, f"lamp {len(saved)} hangs there"))
            return alone(job)

        monkeypatch.setattr(writer, "alone", late)
        reembed(one)
        settle(one)
        assert len(saved) > 1
        assert_right([one, other])
