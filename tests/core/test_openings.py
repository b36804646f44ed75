"""Collections are opened on first use, closed when idle or too many, and nobody notices."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from support.engines import (
    DAY_US,
    HeldEmbedding,
    Store,
    forget,
    opened,
    remember,
    vector_of,
)
from support.waits import wait_s, wait_until
from totonoe_core.base import errors, limits
from totonoe_core.domain.collections import NewCollection
from totonoe_core.domain.consolidate import ConsolidateQuery
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import ChangesQuery, GetQuery, RecallQuery
from totonoe_core.domain.transfer import ExportQuery, ImportQuery
from totonoe_core.engine.catalog.openings import CLOSE_WAIT_S, Openings
from totonoe_core.store.records import Place
from totonoe_core.store.sqlite.store import SqliteStore

IDLE_S = 300.0


class Ticks:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def store(tmp_path: Path, ticks: Ticks) -> Iterator[Store]:
    with opened(tmp_path, collection_idle_s=IDLE_S, monotonic=ticks) as store:
        yield store


def create(store: Store, name: str, *, texts: bool = False) -> None:
    store.engine.create_collection(
        NewCollection(name, client_vector_dimension=0 if texts else 8), "", agent_id="anna"
    ).result(wait_s())


def openings(store: Store) -> Openings:
    return store.engine._collections._openings


def open_names(store: Store) -> list[str]:
    return list(openings(store)._open)


def settle_closing(store: Store) -> None:
    """Waits for files that are being closed."""
    wait([leaving.closed for leaving in list(openings(store)._leaving.values())], wait_s())


def sweep(store: Store, ticks: Ticks, after_s: float = IDLE_S) -> None:
    ticks.now_s += after_s
    openings(store).sweep()
    settle_closing(store)


def figures(store: Store) -> Any:
    return store.engine._collections.open_figures()


# -- Idle


def test_idle_collection_is_closed_and_opened_again(store: Store, ticks: Ticks) -> None:
    saved = store.save("text")
    sweep(store, ticks, IDLE_S - 1)
    assert open_names(store) == ["default"]
    sweep(store, ticks, 1)
    assert (open_names(store), figures(store).idle_closed_count) == ([], 1)
    assert store.one(saved).content == "text"
    assert open_names(store) == ["default"]


def test_call_begins_the_time_anew(store: Store, ticks: Ticks) -> None:
    saved = store.save("text")
    for _ in range(3):
        sweep(store, ticks, IDLE_S - 1)
        store.one(saved)
    assert figures(store).idle_closed_count == 0


def test_nothing_is_idle_without_the_setting(tmp_path: Path, ticks: Ticks) -> None:
    with opened(tmp_path, monotonic=ticks) as store:
        store.save("text")
        sweep(store, ticks, 1e9)
        assert open_names(store) == ["default"]


def test_figures_of_all_keep_nothing_open(store: Store, ticks: Ticks) -> None:
    create(store, "shop")
    store.engine.get_collection("shop").result(wait_s())
    sweep(store, ticks, IDLE_S - 1)
    stats = store.engine.stats("", "").result(wait_s())
    assert {collection.name for collection in stats.collections} == {"default", "shop"}
    assert stats.open.count == 2
    assert (
        0
        < stats.open.memory_bytes
        < sum(collection.array_bytes for collection in stats.collections) // 50
    )
    sweep(store, ticks, 1)
    assert open_names(store) == ["default"], "it was asked for itself"
    assert store.engine.stats("", "").result(wait_s()).open.idle_closed_count == 1


def test_watcher_keeps_it_open_and_hears_of_what_comes(store: Store, ticks: Ticks) -> None:
    waiting = store.engine.await_change("default", 0)
    sweep(store, ticks, 10 * IDLE_S)
    assert open_names(store) == ["default"]
    store.save("text")
    assert waiting.result(wait_s()) == 1
    waiting = store.engine.await_change("default", 1)
    waiting.cancel()
    sweep(store, ticks)
    assert open_names(store) == []


def test_write_that_waits_for_the_embedder_keeps_it_open(tmp_path: Path, ticks: Ticks) -> None:
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding, collection_idle_s=IDLE_S, monotonic=ticks) as store:
        saving = store.engine.apply("default", "", [remember("text", text_only=True)])
        store.info()
        for _ in range(2):
            store.stats()  # answered before the writes of its batch are looked at
        sweep(store, ticks, 10 * IDLE_S)
        assert open_names(store) == ["default"]
        embedding.wait_held()
        embedding.release()
        assert saving.result(wait_s()).results[0].saved


def test_run_of_consolidate_keeps_it_open_until_it_is_gone(
    store: Store, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store.engine.consolidate("default", "", ConsolidateQuery("anna")).result(wait_s())
    # Its first phase is a write, which is over when the first message is there.
    assert run.read().result(wait_s())
    sweep(store, ticks)
    assert open_names(store) == ["default"]
    run.leave()
    monkeypatch.setattr(limits, "CONSOLIDATION_KEPT_S", 0.0)

    def closed() -> bool:
        sweep(store, ticks)
        return not open_names(store)

    # Its thread ends soon after, not at once: a step that it is in keeps the collection open.
    wait_until(closed)


def test_an_export_and_an_import_keep_it_open_until_they_are_left(
    store: Store, ticks: Ticks
) -> None:
    export = store.engine.export("default", ExportQuery("anna")).result(wait_s())
    begun = store.engine.begin_import("default", "", ImportQuery("anna")).result(wait_s())
    for item in (export, begun):
        sweep(store, ticks)
        assert open_names(store) == ["default"]
        item.leave()
    sweep(store, ticks)
    assert open_names(store) == []


def test_transfers_of_a_collection_that_is_deleted_end(store: Store) -> None:
    create(store, "shop")
    export = store.engine.export("shop", ExportQuery("anna")).result(wait_s())
    begun = store.engine.begin_import("shop", "", ImportQuery("anna")).result(wait_s())
    store.engine.delete_collection("shop", "gone", agent_id="anna").result(wait_s())
    with pytest.raises(errors.NotFound):
        export.read()
    with pytest.raises(errors.NotFound):
        begun.feed(b"", False)


# -- Too many


def test_more_than_may_be_open_wait_for_room(
    store: Store, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COLLECTIONS_OPEN_MAX", 1)
    create(store, "shop")
    waiting = store.engine.await_change("default", 0)
    late = store.engine.get_collection("shop")
    saved = store.save("text")  # the default one is in use, and may be
    assert waiting.result(wait_s()) == 1
    assert late.result(wait_s()).name == "shop"
    assert store.one(saved).content == "text"
    # It waits so long and no longer.
    store.engine.await_change("default", 1)
    late = store.engine.get_collection("shop")
    assert not late.done()
    sweep(store, ticks, limits.COLLECTION_WAIT_S)
    assert isinstance(late.exception(wait_s()), errors.Unavailable)
    assert late.exception().reason == "OVERLOADED"


def test_no_more_are_open_than_there_are_files_for(tmp_path: Path) -> None:
    with opened(tmp_path, collections_open_max=2) as store:
        for name in ("one", "two", "three"):
            create(store, name)
            store.collection = name
            assert store.save(f"a text of {name}")
        assert store.engine._collections.open_figures().count == 2


def test_those_who_wait_for_room_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        create(store, name)
    monkeypatch.setattr(limits, "COLLECTIONS_OPEN_MAX", 1)
    monkeypatch.setattr(limits, "COLLECTIONS_WAITING_MAX", 1)
    held = store.engine.await_change("default", 0)
    waiting = [store.engine.get_collection("one") for _ in range(3)]
    with pytest.raises(errors.Unavailable) as caught:
        store.engine.get_collection("two")
    assert caught.value.reason == "OVERLOADED"
    held.cancel()
    assert {future.result(wait_s()).name for future in waiting} == {"one"}


def test_many_threads_over_more_than_may_be_open_notice_nothing(
    store: Store, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    openings(store)._idle_s = 0.3
    monkeypatch.setattr(limits, "COLLECTIONS_OPEN_MAX", 3)
    names = [f"c{number}" for number in range(8)]
    for name in names:
        create(store, name)
    seen: list[int] = []
    watched = threading.Event()

    def watch() -> None:
        """Hears of every change of one, while others come and go."""
        after = 0
        while after < 12:
            future = store.engine.await_change("c0", after)
            watched.set()
            after = future.result(wait_s())
            found = store.engine.read("c0", ChangesQuery("anna", seen[-1] if seen else 0, Filter()))
            seen.extend(change.operation.revision for change in found.result(wait_s()).changes)

    def work(number: int) -> list[tuple[str, str]]:
        order = random.Random(number)
        saved = []
        for step in range(5):
            for name in order.sample(names, 3):
                text = f"thread {number} step {step}"
                future = store.engine.apply(name, "", [remember(text)])
                saved.append((name, future.result(wait_s()).results[0].memory_id))
                query = RecallQuery("anna", "", vector_of(text).tobytes(), k=100)
                hits = store.engine.read(name, query).result(wait_s()).hits
                # One that reads as its update may stand before it.
                assert text in [hit.memory.content for hit in hits]
            ticks.now_s += 0.1
            openings(store).sweep()
        return saved

    with ThreadPoolExecutor(7) as pool:
        watching = pool.submit(watch)
        assert watched.wait(wait_s())
        results = [pool.submit(work, number) for number in range(6)]
        saved = [pair for result in results for pair in result.result(2 * wait_s())]
        for number in range(12):
            store.engine.apply("c0", "", [remember(f"last {number}")]).result(wait_s())
        watching.result(wait_s())
    assert seen == list(range(1, len(seen) + 1))
    assert len(open_names(store)) <= 3
    assert len(saved) == 6 * 5 * 3
    for name in names:
        ids = [memory_id for found, memory_id in saved if found == name]
        assert (
            store.engine.read(name, GetQuery("anna", tuple(ids))).result(wait_s()).missing_ids == ()
        )


# -- The budget


def test_longest_unused_are_closed_over_the_budget(tmp_path: Path, ticks: Ticks) -> None:
    with opened(tmp_path, monotonic=ticks) as store:
        for name in ("one", "two", "three"):
            create(store, name)
        store.engine.get_collection("one").result(wait_s())
        one_bytes = figures(store).memory_bytes
        openings(store)._budget_bytes = 2 * one_bytes
        store.engine.get_collection("two").result(wait_s())
        assert open_names(store) == ["one", "two"]
        store.engine.get_collection("one").result(wait_s())
        store.engine.get_collection("three").result(wait_s())
        assert open_names(store) == ["one", "three"]
        assert figures(store).memory_bytes <= 2 * one_bytes
        held = store.engine.await_change("one", 0)
        store.engine.get_collection("three").result(wait_s())
        store.engine.get_collection("two").result(wait_s())
        assert open_names(store) == ["one", "two"], "in use, though unused for longest"
        held.cancel()


def test_growth_is_found_by_the_sweep(tmp_path: Path, ticks: Ticks) -> None:
    with opened(tmp_path, monotonic=ticks, memory_budget_bytes=1) as store:
        openings(store)._budget_bytes = 1 << 40
        create(store, "shop")
        for name in ("default", "shop"):
            store.engine.get_collection(name).result(wait_s())
        openings(store)._budget_bytes = figures(store).memory_bytes - 1
        sweep(store, ticks, 0)
        assert open_names(store) == ["shop"]


def test_one_that_is_too_large_by_itself_stays_open(
    tmp_path: Path, ticks: Ticks, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(
        tmp_path, monotonic=ticks, memory_budget_bytes=1000, collection_idle_s=IDLE_S
    ) as store:
        create(store, "shop")
        for _ in range(3):
            for name in ("default", "shop"):
                store.engine.get_collection(name).result(wait_s())
        assert figures(store).idle_closed_count == 0
        said = [
            record.getMessage() for record in caplog.records if "memory budget" in record.message
        ]
        assert len(said) == 2, "once each"
        sweep(store, ticks)
        assert open_names(store) == []


# -- Settings of closed ones


def test_settings_of_closed_ones_are_read_once_and_stay_right(
    store: Store, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    from totonoe_core.engine.state.state import CollectionState

    create(store, "shop")
    reads: list[Path] = []
    read_info = CollectionState.read_info

    def counted(kept: SqliteStore, place: Place) -> Any:
        reads.append(place.path)
        return read_info(kept, place)

    monkeypatch.setattr(CollectionState, "read_info", staticmethod(counted))

    def listed() -> dict[str, tuple[int, int, int]]:
        page = store.engine.list_collections(10, "").result(wait_s())
        return {
            info.name: (info.revision, info.settings_revision, info.model.dimension)
            for info in page.collections
        }

    assert listed() == listed() == {"default": (0, 0, 8), "shop": (0, 0, 8)}
    assert len(reads) == 2
    store.collection = "shop"
    store.save("text")
    store.set(("description", "of a shop"))
    assert listed()["shop"] == (2, 2, 8)
    sweep(store, ticks)
    assert open_names(store) == []
    assert listed()["shop"] == (2, 2, 8)
    store.save("another text")
    sweep(store, ticks)
    assert listed()["shop"] == (3, 2, 8)
    assert len(reads) == 2, "as they were left"


def test_settings_read_while_it_was_opened_are_not_kept(
    store: Store, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    from totonoe_core.engine.state.state import CollectionState

    store.save("text")
    sweep(store, ticks)
    openings(store)._infos.clear()
    read_info = CollectionState.read_info

    def slowly(kept: SqliteStore, place: Place) -> Any:
        info = read_info(kept, place)
        store.save("another text")
        sweep(store, ticks)
        return info

    monkeypatch.setattr(CollectionState, "read_info", staticmethod(slowly))
    store.engine.list_collections(10, "").result(wait_s())
    (info,) = store.engine.list_collections(10, "").result(wait_s()).collections
    assert info.revision == 2


# -- Deleting


def test_deletion_waits_for_calls_and_ends_those_that_wait_themselves(tmp_path: Path) -> None:
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding, collection="shop") as store:
        create(store, "shop", texts=True)
        saving = store.engine.apply("shop", "", [remember("text", text_only=True)])
        waiting = store.engine.await_change("shop", 0)
        run = store.engine.consolidate("shop", "", ConsolidateQuery("anna")).result(wait_s())
        deleting = store.engine.delete_collection("shop", "gone", agent_id="anna")
        for error in (waiting.exception(wait_s()), _end_of(run)):
            assert isinstance(error, errors.NotFound)
            assert error.reason == "COLLECTION_NOT_FOUND"
        assert not deleting.done(), "a write is under way"
        with pytest.raises(errors.NotFound):
            store.engine.get_collection("shop").result(wait_s())
        embedding.wait_held()
        embedding.release()
        saved = saving.result(wait_s()).results[0].memory_id
        assert deleting.result(wait_s())[0] == 0
        store.restore_collection("shop", "gone")
        assert store.one(saved).content == "text"


def _end_of(run: Any) -> BaseException | None:
    while True:
        read = run.read()
        if read.exception(wait_s()) is not None:
            return read.exception()
        assert read.result() != ()


def test_deletion_does_not_wait_for_ever(tmp_path: Path, ticks: Ticks) -> None:
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding, monotonic=ticks, collection="shop") as store:
        create(store, "shop", texts=True)
        saving = store.engine.apply("shop", "", [remember("text", text_only=True)])
        deleting = store.engine.delete_collection("shop", "", agent_id="anna")
        while not openings(store)._retired:
            assert not deleting.done()
            wait([deleting], 0.001)
        sweep(store, ticks, CLOSE_WAIT_S)
        assert deleting.result(wait_s())[0] == 0
        embedding.release()
        assert isinstance(saving.exception(wait_s()), errors.NotFound)


def test_calls_beside_deletions_end_or_find_nothing(store: Store) -> None:
    """Whatever the moment: an answer, or that there is no such collection."""
    stop = threading.Event()

    def call() -> int:
        done = 0
        while not stop.is_set():
            try:
                store.engine.apply("shop", "", [remember(f"text {done}")]).result(wait_s())
                done += 1
            except errors.NotFound as error:
                assert error.reason == "COLLECTION_NOT_FOUND"
        return done

    with ThreadPoolExecutor(3) as pool:
        calls: list[Future[int]] = [pool.submit(call) for _ in range(3)]
        for number in range(6):
            if number % 2:
                store.restore_collection("shop", str(number - 1))
            else:
                create(store, "shop")
            wait(calls, 0.02)
            store.engine.delete_collection("shop", str(number), agent_id="anna").result(wait_s())
        stop.set()
        assert sum(future.result(wait_s()) for future in calls) > 0


def test_collection_that_cannot_be_read_can_be_deleted(store: Store) -> None:
    create(store, "shop")
    (path,) = (store.path / "collections").glob("*/memory.db")
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(errors.Corruption):
        store.engine.get_collection("shop").result(wait_s())
    assert store.engine.delete_collection("shop", "", agent_id="anna").result(wait_s())[0] == 0
    page = store.engine.list_collections(10, "").result(wait_s())
    assert [info.name for info in page.collections] == ["default"]


# -- The end


def test_engine_that_stops_ends_what_waits_for_room(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(store, "shop")
    monkeypatch.setattr(limits, "COLLECTIONS_OPEN_MAX", 1)
    held = store.engine.await_change("default", 0)
    late = store.engine.get_collection("shop")
    store.engine.close(wait_s())
    for item in (held, late):
        assert isinstance(item.exception(wait_s()), errors.Unavailable)
    with pytest.raises(errors.Unavailable):
        store.engine.get_collection("shop")


def test_retention_of_closed_ones_goes_on(store: Store, ticks: Ticks) -> None:
    store.set(("retention.purge_forgotten_days", 1.0))
    saved = store.save("text")
    store.do(forget(saved))
    sweep(store, ticks)
    assert open_names(store) == []
    store.clock.advance(2 * DAY_US)
    store.engine._collections.retain()
    assert open_names(store) == ["default"]
    for _ in range(2):
        store.stats()  # upkeep follows the batch that a call is in
    with pytest.raises(errors.NotFound):
        store.one(saved)
    assert store.stats().total_count == 0
