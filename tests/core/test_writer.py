"""Many callers at once: one is saved, nobody waits for ever, nothing half is seen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from support.engines import (
    DIMENSION,
    HeldEmbedding,
    InProcessEmbedding,
    Store,
    forget,
    opened,
    remember,
    update,
    vector_at,
    vector_of,
)
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.queries import ListQuery, RecallQuery
from totonoe_core.domain.records import Method
from totonoe_core.engine.commands import expire
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.engine.writer.writer import Writer
from totonoe_core.store.records import Place
from totonoe_core.store.sqlite.collection_file import CollectionFile
from totonoe_core.store.sqlite.store import SqliteStore

CALLERS = 64


def at_once(store: Store, commands: list[Remember]) -> list[Any]:
    """The answers of one thread for each command, all let go at the same moment."""
    barrier = threading.Barrier(len(commands))
    answers: list[Any] = [None] * len(commands)

    def work(number: int) -> None:
        barrier.wait(wait_s())
        future = store.engine.apply("default", f"op-{number}", [commands[number]])
        answers[number] = future.result(wait_s()).results[0]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(commands))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(wait_s())
        assert not thread.is_alive()
    return answers


def same_text(number: int) -> Remember:
    return remember("the very same", agent=f"agent-{number}", vector=vector_of(f"v{number}"))


def same_tokens(number: int) -> Remember:
    words = ["red", "pump", "left", "hall", "noise", "seal"]
    order = np.random.default_rng(number).permutation(len(words))
    text = " ".join(words[at] for at in order) + f" {(number % 2 and 'the') or ''}" * 2
    return remember(text, agent=f"agent-{number}", vector=vector_of(f"v{number}"))


def same_value(number: int) -> Remember:
    text = ("The timeout is 30 seconds.", "Timeout: 30s", "**Timeout**: `30 s`")[number % 3]
    apart = np.eye(DIMENSION, dtype=np.float32)[number % 3]
    return remember(text, agent=f"agent-{number}", vector=apart)


def near_vector(number: int) -> Remember:
    vector = vector_at(vector_of("base"), 0.995, number)
    return remember(f"text{number} own{number}", agent=f"agent-{number}", vector=vector)


def near_in_session(number: int) -> Remember:
    vector = vector_at(vector_of("base"), 0.995, number)
    return remember(
        f"text{number} own{number}", agent=f"agent-{number}", vector=vector, session_id="s"
    )


@pytest.mark.parametrize(
    ("make", "changes", "methods"),
    [
        (same_text, [], {Method.EXACT}),
        (same_tokens, [("guard.preset", "robotmem")], {Method.EXACT, Method.JACCARD}),
        (same_value, [], {Method.EXACT, Method.JACCARD}),
        (near_vector, [("guard.preset", "ego")], {Method.COSINE}),
        (
            near_in_session,
            [("guard.preset", "robotmem"), ("guard.cosine_at_least", None)],
            {Method.SESSION_COSINE},
        ),
    ],
    ids=["exact", "jaccard", "words_alone", "cosine", "session"],
)
def test_remember_by_64_at_once_saves_one_and_names_it(
    tmp_path: Path,
    make: Callable[[int], Remember],
    changes: list[tuple[str, Any]],
    methods: set[Method],
) -> None:
    commands = [make(number) for number in range(CALLERS)]
    with opened(tmp_path) as store:
        if changes:
            store.set(*changes)
        before = store.revision
        answers = at_once(store, commands)
        saved = [answer for answer in answers if answer.saved]
        assert len(saved) == 1
        assert {answer.memory_id for answer in answers} == {saved[0].memory_id}
        assert {answer.guard.method for answer in answers} - {Method.NONE} <= methods
        assert store.revision == before + 1
        assert store.stats().active_count == 1
        store.reopen()
        assert [memory.id for memory in store.list("agent-0")] == [saved[0].memory_id]


def test_remember_by_64_at_once_without_vectors_saves_one(tmp_path: Path) -> None:
    commands = [
        remember("the very same", text_only=True, agent=f"agent-{number}")
        for number in range(CALLERS)
    ]
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        answers = at_once(store, commands)
        assert sum(answer.saved for answer in answers) == 1
        assert len({answer.memory_id for answer in answers}) == 1
        assert store.stats().active_count == 1


def test_same_operation_by_64_at_once_is_carried_out_once(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        futures: list[Future[Applied]] = []
        lock = threading.Lock()
        barrier = threading.Barrier(CALLERS)

        def work() -> None:
            barrier.wait(wait_s())
            future = store.engine.apply("default", "op-1", [remember("text", force=True)])
            with lock:
                futures.append(future)

        threads = [threading.Thread(target=work) for _ in range(CALLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(wait_s())
        answers = [future.result(wait_s()) for future in futures]
        assert sum(not answer.replayed for answer in answers) == 1
        assert len({answer.results[0].memory_id for answer in answers}) == 1
        assert store.revision == 1


class Held:
    """Holds a store's writer thread until it is released."""

    def __init__(self, store: Store) -> None:
        self.go_on = threading.Event()
        entered = threading.Event()
        opened_collection = store.engine._collections.opened("default").result(wait_s())

        def work() -> None:
            entered.set()
            assert self.go_on.wait(wait_s())

        self.future = opened_collection._writer.call(work)
        assert entered.wait(wait_s())


def test_cancelled_queued_requests_change_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.save("first")
        held = Held(store)
        futures = [
            store.engine.apply("default", f"op-{number}", [remember(f"text {number}")])
            for number in range(10)
        ]
        for future in futures[::2]:
            assert future.cancel()
        held.go_on.set()
        for number, future in enumerate(futures):
            if number % 2 == 0:
                with pytest.raises(CancelledError):
                    future.result(wait_s())
            else:
                assert future.result(wait_s()).results[0].saved
        texts = {memory.content for memory in store.list()}
        assert texts == {"first", *(f"text {number}" for number in range(1, 10, 2))}
        assert store.revision == 6
        # What was cancelled left no answer behind either.
        assert not store.apply(remember("text 0"), operation_id="op-0").replayed


def test_cancelled_before_the_collection_is_open_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from totonoe_core.engine.state.state import CollectionState

    go_on = threading.Event()
    load = CollectionState.load

    def slow(kept: SqliteStore, place: Place, has_embedder: bool) -> CollectionState:
        assert go_on.wait(wait_s())
        return load(kept, place, has_embedder)

    monkeypatch.setattr(CollectionState, "load", slow)
    with opened(tmp_path) as store:
        gone, kept = store.engine.apply_all(
            "default", [("", [remember("one")]), ("", [remember("two")])]
        )
        assert gone.cancel()
        go_on.set()
        assert kept.result(wait_s()).results[0].saved
        assert [memory.content for memory in store.list()] == ["two"]


def test_cancelled_while_it_is_embedded_is_carried_out(tmp_path: Path) -> None:
    """A started request runs to its end: its caller cannot take it back any more."""
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        future = store.engine.apply("default", "", [remember("text", text_only=True)])
        store.check(remember("text", vector=vector_of("x", 64)))
        embedding.wait_held()
        assert not future.cancel()
        embedding.release()
        assert future.result(wait_s()).results[0].saved


def test_waiting_for_the_embedder_holds_nobody_up(tmp_path: Path) -> None:
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        waiting = store.engine.apply("default", "", [remember("slow", text_only=True)])
        assert store.do(remember("quick", vector=vector_of("quick", 64))).saved
        embedding.wait_held()
        assert not waiting.done()
        embedding.release()
        assert waiting.result(wait_s()).results[0].saved


def test_same_text_that_waits_twice_for_the_embedder_is_saved_once(tmp_path: Path) -> None:
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        futures = [
            store.engine.apply("default", "", [remember("text", text_only=True)]) for _ in range(3)
        ]
        store.check(remember("other", vector=vector_of("x", 64)))
        embedding.wait_held(3)
        embedding.release()
        answers = [future.result(wait_s()).results[0] for future in futures]
        assert [answer.saved for answer in answers] == [True, False, False]
        assert len({answer.memory_id for answer in answers}) == 1


def test_embedder_that_fails_fails_what_needs_it_and_no_other(tmp_path: Path) -> None:
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        futures = store.engine.apply_all(
            "default",
            [
                ("op-1", [remember("by text", text_only=True)]),
                ("op-2", [remember("by vector", vector=vector_of("v", 64))]),
            ],
        )
        store.check(remember("other", vector=vector_of("x", 64)))
        failure = errors.Unavailable("EMBEDDER_UNAVAILABLE", "gone", retry_delay_ms=5)
        embedding.wait_held()
        embedding.release(failure)
        with pytest.raises(errors.Unavailable) as caught:
            futures[0].result(wait_s())
        assert caught.value.reason == "EMBEDDER_UNAVAILABLE"
        assert futures[1].result(wait_s()).results[0].saved
        again = store.engine.apply("default", "op-1", [remember("by text", text_only=True)])
        store.check(remember("other", vector=vector_of("x", 64)))
        embedding.wait_held()
        embedding.release()
        assert again.result(wait_s()).results[0].saved, "a failed operation can be tried again"


def test_queue_that_is_full_answers_overloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WRITER_QUEUE_MAX", 5)
    with opened(tmp_path) as store:
        held = Held(store)
        futures = [
            store.engine.apply("default", "", [remember(f"text {number}")]) for number in range(8)
        ]
        refused = [future for future in futures if future.done()]
        assert len(refused) == 3
        for future in refused:
            with pytest.raises(errors.Unavailable) as caught:
                future.result(wait_s())
            assert caught.value.reason == "OVERLOADED"
            assert caught.value.retry_delay_ms > 0
        with pytest.raises(errors.Unavailable):
            store.preview(remember("more"))
        held.go_on.set()
        assert sum(future.result(wait_s()).results[0].saved for future in futures[:5]) == 5
        assert store.revision == 5


def test_close_while_loaded_finishes_what_is_queued(tmp_path: Path) -> None:
    store = Store(tmp_path)
    held = Held(store)
    futures = [
        store.engine.apply("default", "", [remember(f"text {number}")]) for number in range(300)
    ]
    closer = threading.Thread(target=store.close)
    closer.start()
    late: list[BaseException] = []
    for _ in range(1000):
        try:
            error = store.engine.apply("default", "", [remember("late")]).exception(wait_s())
        except errors.Unavailable as found:
            error = found
        if error is not None:
            late.append(error)
            break
        held.go_on.set()
    held.go_on.set()
    closer.join(wait_s())
    assert not closer.is_alive()
    assert isinstance(late[0], errors.Unavailable)
    assert sum(future.result(0).results[0].saved for future in futures) == 300
    with opened(tmp_path) as again:
        assert {f"text {n}" for n in range(300)} <= {memory.content for memory in again.list()}


def test_failure_of_one_operation_leaves_the_rest_of_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = CollectionFile.put_memory

    def failing(self: CollectionFile, memory: Any, before: Any, *more: Any) -> None:
        put(self, memory, before, *more)
        if memory.content == "bad":
            raise ValueError("a bug")

    monkeypatch.setattr(CollectionFile, "put_memory", failing)
    with opened(tmp_path) as store:
        texts = ["one", "bad", "two", "bad", "one"]
        futures = store.engine.apply_all("default", [("", [remember(text)]) for text in texts])
        assert futures[0].result(wait_s()).results[0].saved
        for at in (1, 3):
            with pytest.raises(ValueError, match="a bug"):
                futures[at].result(wait_s())
        assert futures[2].result(wait_s()).revision == 2
        assert not futures[4].result(wait_s()).results[0].saved
        assert [memory.content for memory in store.list()] == ["one", "two"]
        store.reopen()
        assert store.revision == 2
        assert [memory.content for memory in store.list()] == ["one", "two"]


def test_commit_that_fails_takes_the_whole_batch_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import contextlib

    real = CollectionFile.transaction
    broken = threading.Event()

    @contextlib.contextmanager
    def failing(self: CollectionFile, asked: Any = ()):
        with real(self, asked):
            yield
            if broken.is_set():
                raise errors.ReadOnly("READ_ONLY", "the disk is full")

    monkeypatch.setattr(CollectionFile, "transaction", failing)
    with opened(tmp_path) as store:
        kept = store.save("kept")
        before = store.revision, store.list()
        broken.set()
        futures = store.engine.apply_all(
            "default",
            [
                ("op-1", [remember("new")]),
                ("op-2", [update(kept, content="changed")]),
                ("op-3", [update(kept, content="changed again")]),
            ],
        )
        for future in futures:
            with pytest.raises(errors.ReadOnly):
                future.result(wait_s())
        assert store.stats().state == "read-only"
        assert (store.revision, store.list()) == before
        assert not store.check(remember("kept")).would_save
        assert store.check(remember("changed")).would_save
        broken.clear()
        answer = store.apply(remember("new"), operation_id="op-1")
        assert (answer.replayed, answer.revision) == (False, 2)
        assert store.stats().state == "serving"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_writer_that_meets_a_bug_fails_all_who_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as store:
        store.save("before")
        held = Held(store)

        def broken(*_: Any) -> None:
            raise RuntimeError("a bug of ours")

        monkeypatch.setattr(Writer, "_batch", broken)
        futures = [
            store.engine.apply("default", "", [remember(f"text {number}")]) for number in range(300)
        ]
        held.go_on.set()
        for future in futures:
            assert future.exception(wait_s()) is not None
        with pytest.raises(errors.TotonoeError):
            store.do(remember("later"))
        found = store.recall(RecallQuery("anna", "before"))
        assert [hit.memory.content for hit in found.hits] == ["before"], "reads go on"
        monkeypatch.undo()
        store.reopen()
        assert [memory.content for memory in store.list()] == ["before"]
        assert store.do(remember("later")).saved


@pytest.mark.parametrize("chore", ["due", "suspects"])
def test_chore_that_fails_is_skipped_and_logged_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    chore: str,
) -> None:
    """A file that is locked for a moment, say, ends no writer."""

    def fails(*_: Any) -> Any:
        raise apsw.BusyError("database is locked")

    with opened(tmp_path) as store:
        store.save("before")
        if chore == "due":
            monkeypatch.setattr(expire, "due", fails)
        else:
            monkeypatch.setattr(CollectionState, "look_at_suspects", fails)
        for number in range(3):
            store.save(f"note {number} of quite another day", vector=vector_of(f"v{number}"))
        # Collections that a test before left open in this process meet the same fault.
        (own,) = {path.parent.name for path in tmp_path.rglob("memory.db")}
        said = [
            record for record in caplog.records if record.message.startswith(f"upkeep of {own}")
        ]
        assert len(said) == 1
        monkeypatch.undo()
        assert store.save("after", vector=vector_of("after"))


def test_readers_beside_updates_see_each_memory_once_and_always(tmp_path: Path) -> None:
    """Found by reading: a memory was in no version's sight while an update was published."""
    with opened(tmp_path) as store:
        ids = {store.save(f"text {number}", category="c") for number in range(8)}
        stop = threading.Event()
        failures: list[str] = []

        def write() -> None:
            # Bounded, so that a reader that hangs ends the test and not the machine.
            for number in range(400):
                if stop.is_set():
                    return
                memory_id = sorted(ids)[number % len(ids)]
                store.do(update(memory_id, importance=1 + number % 5))

        writer = threading.Thread(target=write)
        writer.start()
        try:
            query = RecallQuery("anna", "text", vector_of("text").tobytes(), k=50)
            for _ in range(150):
                page = store.read(ListQuery("anna", Filter(), 100, ""))
                listed = [memory.id for memory in page.memories]
                hits = [hit.memory.id for hit in store.recall(query).hits]
                failures += [
                    f"{len(found)} found, {len(set(found))} different"
                    for found in (listed, hits)
                    if len(found) != len(ids) or set(found) != ids
                ]
        finally:
            stop.set()
            writer.join(wait_s())
        assert not failures, failures[:5]


def test_read_of_own_write_sees_it(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number in range(20):
            answer = store.apply(remember(f"note{number}"))
            saved = answer.results[0].memory_id
            found = store.get(saved)
            assert found.revision >= answer.revision
            assert saved in {memory.id for memory in store.list()}
            query = RecallQuery("anna", "", vector_of(f"note{number}").tobytes(), k=1)
            assert store.recall(query).hits[0].memory.id == saved


def test_touch_figures_are_on_disk_after_reopen(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        saved = store.save("text")
        quiet = store.one(saved)
        assert (quiet.access_count, quiet.last_access_us) == (0, None)
        for _ in range(3):
            store.clock.advance(1000)
            hit = store.recall(RecallQuery("anna", "text")).hits[0]
            assert hit.memory.id == saved
        store.recall(RecallQuery("anna", "text", touch=False))
        memory = store.one(saved)
        assert (memory.access_count, memory.last_access_us) == (3, store.clock.now_us)
        revision = store.revision
        store.reopen()
        assert store.one(saved) == memory
        assert store.revision == revision


@pytest.mark.parametrize("hiding", ["forget", "private"])
def test_read_leaves_out_what_is_hidden_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hiding: str
) -> None:
    from totonoe_core.index import masks

    with opened(tmp_path) as store:
        ids = [store.save(f"text {number}", created_us=number + 1) for number in range(5)]
        matching = masks.matching
        commands = [
            forget(memory_id) if hiding == "forget" else update(memory_id, private=True)
            for memory_id in ids[:2]
        ]

        def slow(*arguments: Any) -> Any:
            mask = matching(*arguments)
            # The slots are chosen; now a write comes in between.
            if commands:
                store.do(commands.pop(0))
            return mask

        monkeypatch.setattr(masks, "matching", slow)
        query = RecallQuery("ben", "text", vector_of("text").tobytes(), k=10)
        assert {hit.memory.id for hit in store.recall(query).hits} == set(ids[1:])
        page = store.read(ListQuery("ben", Filter(), 1, ""))
        assert page.memories == ()
        assert page.next_page_token, "an empty page is not the last one"
        assert [memory.id for memory in store.list("ben", Filter())] == ids[2:]
