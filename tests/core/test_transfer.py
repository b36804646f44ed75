"""Export and Import on the engine: one moment, one view, the same again, nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from apsw import SQLITE_CHECKPOINT_TRUNCATE, Connection

from support.engines import (
    DIMENSION,
    FakeClock,
    InProcessEmbedding,
    Store,
    change,
    dismiss,
    episode,
    forget,
    link,
    opened,
    remember,
    undo,
    unlink,
    update,
)
from support.reembedding import restarted
from support.transfers import exported, file_of, imported, objects, records
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.memories import Merge, Purge
from totonoe_core.domain.queries import OperationFilter, OperationsQuery, RecallQuery
from totonoe_core.domain.records import Kind, LinkType, StateKind, Status
from totonoe_core.domain.transfer import ExportQuery, ImportQuery
from totonoe_core.engine.collection.collection import Collection


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "one") as store:
        yield store


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "other") as store:
        yield store


def collection_of(store: Store) -> Collection:
    return store.engine._collections.opened(store.collection).result(wait_s())


def on_writer(store: Store, work: Callable[[], Any]) -> Any:
    return collection_of(store)._writer.call(work).result(wait_s())


def flush(store: Store) -> None:
    """Writes figures of access now, not within seconds."""
    on_writer(store, collection_of(store)._writer._upkeep.flush_touches)


def filled(store: Store, **more: Any) -> dict[str, str]:
    """Something of every sort; ids by name."""
    names = ("pump", "valve", "pipe", "tank")
    ids = {name: store.save(f"The {name} is here.", **more) for name in names}
    ids["own"] = store.save("The key is under the mat.", private=True, external_id="k", **more)
    ids["log"] = store.save("It rained.", kind=Kind.EVENT, state_kind=StateKind.NONE, **more)
    store.do(link(ids["pump"], ids["log"], LinkType.CAUSES, note="pressure"))
    store.do(link(ids["pump"], ids["valve"]))
    store.do(link(ids["tank"], ids["pipe"]))
    store.do(episode("A day.", ids["pump"], ids["own"]))
    store.do(dismiss(ids["valve"], ids["tank"], reason="not the same"))
    store.do(Merge("anna", ids["tank"], (ids["pipe"],)))
    store.do(forget(ids["valve"]))
    store.recall(RecallQuery("anna", "pump", touch=True))
    flush(store)
    return ids


def of_kind(data: bytes, kind: str) -> list[dict[str, Any]]:
    return [entry for entry in objects(data) if entry["record"] == kind]


def bad(caught: pytest.ExceptionInfo[errors.BadImport]) -> tuple[int, str]:
    assert caught.value.reason == "BAD_IMPORT"
    return caught.value.line, caught.value.details["field"]


# -- Export


def test_export_holds_every_status_with_links_episodes_and_dismissals(store: Store) -> None:
    ids = filled(store)
    data = exported(store, include_vectors=True)
    head, *_, end = objects(data)
    assert (head["format"], head["version"], head["revision"]) == ("totonoe", 1, store.revision)
    assert head["memory_count"] == 6
    assert end["counts"] == {"memory": 6, "link": 1, "episode": 1, "dismissal": 1}
    memories = {entry["id"]: entry for entry in of_kind(data, "memory")}
    assert list(memories) == list(ids.values())
    assert memories[ids["pipe"]]["status"] == "superseded"
    assert memories[ids["pipe"]]["superseded_by"] == ids["tank"]
    assert memories[ids["valve"]]["status"] == "forgotten"
    assert memories[ids["pump"]]["access_count"] == 1
    # Each link stands once, whichever end it was made from; what is forgotten has none.
    (between,) = of_kind(data, "link")
    assert (between["source_id"], between["target_id"]) == (ids["pump"], ids["log"])
    assert (between["type"], between["note"]) == ("causes", "pressure")
    (day,) = of_kind(data, "episode")
    assert day["memory_ids"] == [ids["pump"], ids["own"]]


def test_export_shows_what_the_caller_may_see(store: Store) -> None:
    ids = filled(store)
    data = exported(store, agent="ben")
    assert ids["own"].encode() not in data
    assert b"under the mat" not in data
    assert of_kind(data, "episode")[0]["memory_ids"] == [ids["pump"]]
    assert objects(data)[0]["agent_id"] == "ben"


def test_export_of_some_statuses_names_no_other(store: Store) -> None:
    ids = filled(store)
    data = exported(store, statuses=(Status.ACTIVE,))
    assert {entry.get("status", "active") for entry in of_kind(data, "memory")} == {"active"}
    assert ids["valve"].encode() not in data
    assert of_kind(data, "dismissal") == []


def test_export_is_of_its_first_moment_while_writers_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = filled(store)
    before = exported(store, include_vectors=True)
    monkeypatch.setattr(limits, "EXPORT_ROWS_READ", 2)
    monkeypatch.setattr(limits, "EXPORT_CHUNK_BYTES", 1)
    query = ExportQuery("anna", include_vectors=True)
    export = store.engine.export(store.collection, query).result(wait_s())
    data = export.read().result(wait_s()).data
    changes = [
        lambda: store.save("The sluice is here."),
        lambda: store.do(update(ids["pump"], content="The pump is gone.", tags=("x",))),
        lambda: store.do(link(ids["own"], ids["log"])),
        lambda: store.do(unlink(ids["pump"], ids["log"])),
        lambda: store.do(forget(ids["tank"])),
        lambda: store.do(episode("A night.", ids["log"])),
        lambda: store.do(dismiss(ids["pump"], ids["log"])),
    ]
    while chunk := export.read().result(wait_s()).data:
        data += chunk
        if changes:
            changes.pop(0)()
    assert not changes
    assert data == before


def test_export_leaves_out_what_is_purged_or_made_private_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = filled(store)
    monkeypatch.setattr(limits, "EXPORT_ROWS_READ", 1)
    monkeypatch.setattr(limits, "EXPORT_CHUNK_BYTES", 1)
    export = store.engine.export(store.collection, ExportQuery("ben")).result(wait_s())
    data = export.read().result(wait_s()).data
    store.do(Purge("anna", (ids["pipe"],)))
    store.do(update(ids["tank"], private=True))
    while chunk := export.read().result(wait_s()).data:
        data += chunk
    assert b"The pipe" not in data
    assert b"The tank" not in data
    assert of_kind(data, "end")[0]["counts"]["memory"] == len(of_kind(data, "memory"))


def test_export_holds_no_snapshot_and_no_connection_between_reads(store: Store) -> None:
    for number in range(400):
        store.engine.apply_all(
            store.collection, [("", (remember("x" * 1000 + str(number), force=True),))]
        )
    export = store.engine.export(store.collection, ExportQuery("anna")).result(wait_s())
    export.read().result(wait_s())
    store.save("one more")
    state = collection_of(store)._state
    # Only where no reader is left can the log be emptied.
    on_writer(store, lambda: state.file._connection.wal_checkpoint(mode=SQLITE_CHECKPOINT_TRUNCATE))
    export.leave()
    assert export.read().result(wait_s()).data == b""


def test_export_that_fails_ends_without_an_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store)
    monkeypatch.setattr(limits, "EXPORT_CHUNK_BYTES", 1)
    query = ExportQuery("anna", include_vectors=True)
    export = store.engine.export(store.collection, query).result(wait_s())
    assert b"header" in export.read().result(wait_s()).data
    state = collection_of(store)._state
    model = replace(state.info.model, weights_sha256="other")

    def other_model() -> None:
        with state.file.transaction():
            state.put_info(replace(state.info, model=model), state.revision)

    on_writer(store, other_model)
    with pytest.raises(errors.StaleRevision):
        export.read().result(wait_s())
    assert export.read().result(wait_s()).data == b""


def test_export_leaves_out_what_is_damaged_and_counts_it(tmp_path: Path) -> None:
    store = Store(tmp_path, clock=FakeClock())
    ids = filled(store)
    before = exported(store)
    store.close()
    connection = Connection(str(store.file()))
    for statement in (
        "UPDATE memory SET content = 'other' WHERE row = 4",
        "UPDATE link SET note = 'other'",
        "UPDATE episode SET summary = 'other'",
        "UPDATE dismissal SET note = 'other'",
        "UPDATE access SET count = 7",
    ):
        connection.execute(statement)
    connection.close()
    store.reopen()
    export = store.engine.export(store.collection, ExportQuery("anna")).result(wait_s())
    chunk = export.read().result(wait_s())
    data = chunk.data
    assert chunk.damaged_count == 5  # the dismissal is of the memory that is gone
    assert export.read().result(wait_s()).data == b""
    export.leave()
    store.close()
    found = {entry["id"] for entry in of_kind(data, "memory")}
    assert found == {entry["id"] for entry in of_kind(before, "memory")} - {ids["tank"]}
    assert b"other" not in data
    counts = {"memory": 5, "link": 0, "episode": 0, "dismissal": 0}
    assert of_kind(data, "end")[0]["counts"] == counts


def test_exports_at_once_are_bounded_and_given_back(store: Store) -> None:
    def export() -> Any:
        return store.engine.export(store.collection, ExportQuery("anna")).result(wait_s())

    running = [export() for _ in range(limits.EXPORTS_MAX)]
    with pytest.raises(errors.Quota):
        export()
    running[0].leave()
    running[0].leave()
    running.append(export())
    with pytest.raises(errors.Quota):
        export()
    assert collection_of(store).transfers.busy()
    for item in running:
        item.leave()
    assert not collection_of(store).transfers.busy()


# -- As it is


def test_import_as_is_makes_the_same_again(store: Store, other: Store) -> None:
    ids = filled(store)
    store.do(change(("description", "pumps"), ("guard.preset", "robotmem"), ("blast.rows_min", 3)))
    data = exported(store, include_vectors=True)
    told, items = imported(other, data, "once", as_is=True)
    assert (told.done, told.saved_count, told.vectors_used, items) == (True, 6, True, [])
    assert records(exported(other, include_vectors=True)) == records(data)
    assert other.one(ids["pump"]).access_count == 1
    info = other.info()
    assert (info.description, info.guard.preset, info.blast.rows_min) == ("pumps", "robotmem", 3)
    other.reopen()
    assert records(exported(other, include_vectors=True)) == records(data)
    # Links hold in both directions.
    assert [link.target_id for link in other.one(ids["log"]).links] == [ids["pump"]]


@pytest.mark.parametrize("as_is", [False, True])
def test_import_is_done_when_it_is_told_that_nothing_comes(
    store: Store, other: Store, as_is: bool
) -> None:
    filled(store)
    data = exported(store, include_vectors=True)
    query = ImportQuery("anna", as_is=as_is)
    begun = other.engine.begin_import("default", "", query).result(wait_s())
    assert not begun.feed(data, False).result(wait_s()).done
    told = begun.feed(b"", True).result(wait_s())
    begun.leave()
    assert told.done
    assert told.saved_count == (6 if as_is else 4)


def test_import_as_is_again_under_its_id_does_nothing_twice(
    store: Store, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = filled(store)
    monkeypatch.setattr(limits, "IMPORT_BATCH_LINES", 3)
    data = exported(store, include_vectors=True)
    begun = other.engine.begin_import("default", "once", ImportQuery("anna", as_is=True)).result(
        wait_s()
    )
    part = data[: data.index(ids["own"].encode())]
    done = begun.feed(part, False).result(wait_s())
    begun.leave()
    assert 0 < done.saved_count < 6
    # However it is cut this time.
    told, _ = imported(other, data, "once", as_is=True, piece_bytes=77)
    assert (told.saved_count, told.replayed_count) == (6, done.saved_count)
    again, _ = imported(other, data, "once", as_is=True)
    assert again.replayed_count == 6
    assert again.revision == told.revision == told.operation_count == 3
    assert records(exported(other, include_vectors=True)) == records(data)


def test_import_as_is_needs_an_empty_collection(store: Store, other: Store) -> None:
    filled(store)
    data = exported(store)
    other.save("something")
    with pytest.raises(errors.BadImport) as caught:
        imported(other, exported(store, include_vectors=True), as_is=True)
    assert bad(caught) == (1, "collection")
    restarted(other, InProcessEmbedding())
    with pytest.raises(errors.BadImport) as caught:
        imported(other, data, as_is=True)
    # And under a model this collection's clients bring the vectors, which the file has not.
    assert bad(caught) == (1, "vectors")
    assert other.revision == 1


@pytest.mark.parametrize(
    "query", [{"as_is": True}, {"as_is": True, "dry_run": True}, {"dry_run": True}, {}]
)
def test_import_refuses_a_header_without_the_vectors_that_it_needs(
    store: Store, other: Store, query: dict[str, bool]
) -> None:
    """Before any line is looked at, and in a dry run too."""
    filled(store)
    other.save("something")
    restarted(other, InProcessEmbedding())
    with pytest.raises(errors.BadImport) as caught:
        imported(other, exported(store), **query)
    assert bad(caught) == (1, "vectors")


@pytest.mark.parametrize("query", [{"as_is": True}, {"dry_run": True}, {}])
def test_import_refuses_settings_that_cannot_be(
    store: Store, other: Store, query: dict[str, bool]
) -> None:
    lines = objects(exported(store, include_vectors=True))
    lines[0]["policies"]["decay"]["floor"] = 2.0
    with pytest.raises(errors.BadImport) as caught:
        imported(other, file_of(lines), **query)
    assert bad(caught) == (1, "policies.decay.floor")


def test_import_as_is_of_an_empty_collection_takes_over_its_settings(
    store: Store, other: Store
) -> None:
    store.do(change(("description", "empty"), ("decay.floor", 0.25)))
    told, _ = imported(other, exported(store, include_vectors=True), "x", as_is=True)
    assert told.done
    info = other.info()
    assert (info.description, info.decay.floor) == ("empty", 0.25)


def test_import_as_is_can_be_undone_and_redone(store: Store, other: Store) -> None:
    ids = filled(store)
    data = exported(store, include_vectors=True)
    imported(other, data, "once", as_is=True)
    undone = other.do(undo("once/1"))
    assert undone.undone
    assert {memory.status for memory in other.list()} == {Status.FORGOTTEN}
    assert of_kind(exported(other), "link") == of_kind(exported(other), "episode") == []
    other.do(undo(2))
    assert other.one(ids["pump"]).status is Status.ACTIVE
    assert other.one(ids["pipe"]).superseded_by == ids["tank"]
    page = other.read(OperationsQuery("anna", OperationFilter(), 10, ""))
    assert [operation.kind for operation in page.operations] == ["Undo", "Undo", "Import"]


def test_import_as_is_is_found_by_recall_and_refuses_repetitions(
    store: Store, other: Store
) -> None:
    ids = filled(store)
    imported(other, exported(store, include_vectors=True), as_is=True)
    hits = other.recall(RecallQuery("anna", "pump")).hits
    assert hits[0].memory.id == ids["pump"]
    answer = other.do(remember("The pump is here."))
    assert (answer.saved, answer.memory_id) == (False, ids["pump"])


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        (lambda lines: lines[2].update(id=lines[1]["id"]), "id"),
        (lambda lines: lines[1].update(external_id="k", private=True), "external_id"),
        (lambda lines: lines[1].update(private=True, agent_id="ben"), "private"),
        (lambda lines: lines[7].update(target_id="mem_" + "0" * 16), "target_id"),
        (lambda lines: lines[7].update(target_id=lines[2]["id"]), "target_id"),
        (lambda lines: lines.insert(8, lines[7]), "type"),
        (lambda lines: lines[8].update(memory_ids=["mem_" + "0" * 16]), "memory_ids"),
        (lambda lines: lines.insert(9, lines[8]), "id"),
        (lambda lines: lines[9].update(id_a="mem_" + "0" * 16), "id_a"),
        (lambda lines: lines.insert(10, lines[9]), "id_a"),
    ],
)
def test_import_as_is_refuses_what_cannot_be_and_leaves_nothing_of_the_batch(
    store: Store, other: Store, spoil: Any, field: str
) -> None:
    filled(store)
    lines = objects(exported(store, include_vectors=True))
    spoil(lines)
    with pytest.raises(errors.BadImport) as caught:
        imported(other, file_of(lines), as_is=True)
    assert bad(caught)[1] == field
    assert bad(caught)[0] > 1
    assert other.list() == []
    assert other.revision == 0


def test_import_as_is_makes_vectors_where_the_file_has_none_that_fit(tmp_path: Path) -> None:
    embedding = InProcessEmbedding()
    with (
        opened(tmp_path / "a", embedding=InProcessEmbedding()) as store,
        opened(tmp_path / "b", embedding=embedding) as other,
    ):
        filled(store, text_only=True)
        data = exported(store)
        told, _ = imported(other, data, "once", as_is=True)
        assert not told.vectors_used
        assert records(exported(other)) == records(data)
        whole = exported(store, include_vectors=True)
        assert records(exported(other, include_vectors=True)) == records(whole)
        count = len(embedding.texts)
        imported(other, data, "once", as_is=True)
        assert len(embedding.texts) == 2 * count  # made again, and not used


# -- Through the guard


def test_import_into_where_it_came_from_changes_nothing(store: Store) -> None:
    filled(store)
    revision, data = store.revision, exported(store, include_vectors=True)
    told, items = imported(store, data)
    assert (told.saved_count, told.existing_count, told.left_out_count) == (0, 4, 5)
    assert items == []
    assert store.revision == revision
    assert exported(store, include_vectors=True) == data


def test_import_through_the_guard_saves_what_is_live_and_new(store: Store, other: Store) -> None:
    filled(store)
    held = other.save("The pump is here.")
    data = exported(store, include_vectors=True)
    told, items = imported(other, data, "once")
    assert (told.saved_count, dict(told.refused_counts)) == (3, {"exact": 1})
    assert (told.left_out_count, told.operation_count) == (5, 4)
    (item,) = items
    assert (item.line, item.duplicate_of, item.method, item.error) == (2, held, "exact", None)
    texts = {memory.content: memory for memory in other.list()}
    assert set(texts) == {
        "The pump is here.",
        "The tank is here.",
        "The key is under the mat.",
        "It rained.",
    }
    source = {memory.content: memory for memory in store.list()}
    for text in ("The tank is here.", "It rained."):
        assert texts[text].created_us == source[text].created_us
        assert texts[text].id != source[text].id
    # Again, logs too: the first answers.
    again, _ = imported(other, data, "once")
    assert (again.saved_count, again.replayed_count, again.revision) == (3, 4, told.revision)


def test_import_through_the_guard_tells_what_failed_and_goes_on(store: Store, other: Store) -> None:
    filled(store)
    other.save("Other things.", external_id="k")
    lines = objects(exported(store, include_vectors=True))
    lines[1]["importance"] = 9
    lines[4]["colour"] = "red"
    told, items = imported(other, file_of(lines))
    assert (told.saved_count, told.failed_count, told.existing_count) == (1, 2, 1)
    first, second, third = items
    assert (first.line, first.memory_id) == (2, lines[1]["id"])
    assert isinstance(first.error, errors.BadImport)
    assert first.error.details["field"] == "importance"
    assert isinstance(second.error, errors.BadImport)
    assert second.error.details["field"] == "colour"
    assert third.error is not None
    assert third.error.reason == "EXTERNAL_ID_EXISTS"


def test_import_of_a_cut_file_keeps_what_came_before(store: Store, other: Store) -> None:
    filled(store)
    data = exported(store, include_vectors=True)
    cut = data[: data.index(b"It rained") + 5]
    with pytest.raises(errors.BadImport) as caught:
        imported(other, cut, "once")
    assert bad(caught) == (7, "line")
    assert len(other.list()) == 3
    told, _ = imported(other, data, "once")
    assert (told.saved_count, told.replayed_count) == (4, 3)


def test_import_tells_no_memory_that_the_caller_may_not_see(store: Store, other: Store) -> None:
    store.save("The key is under the mat.")
    hidden = other.save("The key is under the mat.", private=True)
    data = exported(store, agent="ben", include_vectors=True)
    told, items = imported(other, data, agent="ben")
    assert dict(told.refused_counts) == {"exact": 1}
    assert [item.duplicate_of for item in items] == [""]
    assert hidden not in repr(told)


def test_import_reports_are_bounded_and_counts_go_on(
    store: Store, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store)
    for memory in store.list():
        if memory.status is Status.ACTIVE:
            other.save(memory.content, force=True)
    monkeypatch.setattr(limits, "IMPORT_REPORTED_MAX", 2)
    told, items = imported(other, exported(store, include_vectors=True))
    assert sum(told.refused_counts.values()) == 3
    assert len(items) == 2


def test_import_that_the_writer_refuses_stops_and_can_go_on(
    store: Store, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store)
    data = exported(store, include_vectors=True)
    apply = collection_of(other).transfers._apply
    calls = 0

    def busy(requests: Any) -> list[Future[Any]]:
        nonlocal calls
        calls += bool(requests)
        if calls != 2:
            return apply(requests)
        failed: Future[Any] = Future()
        failed.set_exception(errors.Unavailable("OVERLOADED", "full", retry_delay_ms=1))
        return [failed for _ in requests]

    monkeypatch.setattr(collection_of(other).transfers, "_apply", busy)
    monkeypatch.setattr(limits, "ITEMS_PER_MESSAGE_MAX", 1)
    with pytest.raises(errors.Unavailable):
        imported(other, data, "once")
    told, _ = imported(other, data, "once")
    assert (told.saved_count, told.replayed_count) == (4, 1)


def test_import_dry_run_checks_and_changes_nothing(store: Store, other: Store) -> None:
    filled(store)
    lines = objects(exported(store, include_vectors=True))
    lines[1]["importance"] = 9
    told, items = imported(other, file_of(lines), dry_run=True)
    assert told.done
    assert told.counts == {"memory": 6, "link": 1, "episode": 1, "dismissal": 1}
    assert told.failed_count == len(items) == 1
    assert told.header is not None
    assert told.header.vectors
    assert other.revision == 0


def test_import_pieces_that_are_too_long_are_refused(other: Store) -> None:
    begun = other.engine.begin_import("default", "", ImportQuery("anna")).result(wait_s())
    with pytest.raises(errors.InvalidArgument):
        begun.feed(b"x" * (limits.IMPORT_CHUNK_BYTES_MAX + 1), False)
    begun.leave()


def test_transfers_end_when_the_engine_is_closed(tmp_path: Path) -> None:
    store = Store(tmp_path, clock=FakeClock(), client_vector_dimension=DIMENSION)
    export = store.engine.export("default", ExportQuery("anna")).result(wait_s())
    begun = store.engine.begin_import("default", "", ImportQuery("anna")).result(wait_s())
    store.engine.close(wait_s())
    with pytest.raises(errors.Unavailable):
        export.read().result(wait_s())
    with pytest.raises(errors.Unavailable):
        begun.feed(b"x", False).result(wait_s())
