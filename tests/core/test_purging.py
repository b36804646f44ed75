"""Purge: nothing of a memory is left, in memory or in any file, and nothing else is touched."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from support.engines import (
    DAY_US,
    EVERY_STATUS,
    FakeClock,
    Store,
    forget,
    link,
    opened,
    remember,
    unlink,
    update,
    vector_of,
)
from support.waits import wait_s
from totonoe_core.base import errors, limits, plain
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.memories import LostDetail, Merged, Purge, Purged, Remembered, Updated
from totonoe_core.domain.policy import RetentionPolicy
from totonoe_core.domain.queries import AsOf, GetQuery, HistoryQuery, RecallMode, RecallQuery
from totonoe_core.domain.records import (
    Duplicate,
    Episode,
    Evidence,
    Fields,
    Finding,
    ForgottenMatch,
    GuardReport,
    Judgement,
    Link,
    LinkType,
    Memory,
    Method,
    OutdatedMatch,
    SimilarMemory,
    Status,
    TypedKey,
    Verdict,
)
from totonoe_core.engine.commands.redact import Redaction
from totonoe_core.engine.state import caches
from totonoe_core.index import hnsw, prefix
from totonoe_core.store.sqlite.collection_file import CollectionFile
from totonoe_core.store.sqlite.reader import ReaderPool
from totonoe_core.store.sqlite.schema import COLLECTION, open_writer
from totonoe_core.store.sqlite.scrub import Scrub
from totonoe_core.text import tokens

SECRET = 'Zebulon\'s "vault" code: Ümläut-4711 in the quokkaroom'
CHANGED = 'Zebulon\'s "vault" code: Ümläut-0815 in the quokkaroom'
NOTE = "because the quokkanote says so"


def purge(*ids: str, agent: str = "anna", reason: str = "") -> Purge:
    return Purge(agent, ids, reason)


def needles(*texts: str) -> list[bytes]:
    """The bytes of texts: as UTF-8, as JSON with and without escapes, and a few words of them."""
    found = set()
    for text in texts:
        parts = [text, *(text[at : at + 12] for at in range(0, len(text) - 12, 6))]
        for part in parts:
            quoted = [json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1]]
            found |= {wording.encode() for wording in [part, *quoted]}
    return sorted(found)


def left_in_files(directory: Path, wanted: list[bytes]) -> list[tuple[str, bytes]]:
    """(file, bytes) of what is found in any file of a directory."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert files
    return [
        (path.name, item) for path in files for data in (path.read_bytes(),) for item in wanted
        if item in data
    ]  # fmt: skip


def with_episode(store: Store, *memory_ids: str, revision: int = 1) -> None:
    """An episode of memories as CreateEpisode leaves it, and the image of one that is gone."""
    store.engine.close(wait_s())
    file = CollectionFile(store.file())
    common = {"start_us": 1, "end_us": 2, "importance": 3, "agent_id": "anna", "private": False}
    for number in (1, 2):
        made = Episode(
            id=f"ep_{number:016x}", summary="a day", memory_ids=memory_ids, created_us=1,
            revision=revision, **common,
        )  # fmt: skip
        with file.transaction():
            file.put_episode(made)
            if number == 2:
                file.delete_episode(made, revision + 1)
    file.close()
    store.engine = store._opened()


def raw(store: Store, statement: str, *values: Any) -> list[Any]:
    connection = apsw.Connection(str(store.file()), flags=apsw.SQLITE_OPEN_READONLY)
    rows = list(connection.execute(statement, values))
    connection.close()
    return rows


def test_purge_leaves_nothing_in_any_file(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        key = TypedKey("zebulonkey", "quokkacode")
        secret = {
            "session_id": "quokkasession", "tags": ("quokkatag",), "payload": {"quokka": "payload"},
            "attributes": {"quokka": "attribute"}, "entities": ("Zebulonperson",), "key": key,
        }  # fmt: skip
        other = store.save("something else entirely")
        one = store.apply(
            remember(SECRET, external_id="quokkaext", **secret), operation_id="op-1"
        ).results[0].memory_id  # fmt: skip
        store.apply(update(one, content=CHANGED), operation_id="op-2")
        store.apply(link(one, other, note=NOTE), operation_id="op-3")
        store.apply(link(one, other, note=NOTE + " twice"), operation_id="op-4")
        store.apply(unlink(other, one), operation_id="op-5")
        store.apply(link(other, one, note=NOTE), operation_id="op-6")
        near = vector_of(CHANGED)
        for number in range(3):
            refused = store.apply(
                remember(f"{CHANGED}{'!' * number}", vector=near, payload={"quokka": "payload"}),
                operation_id=f"op-refused-{number}",
            )
            assert refused.results[0].guard.duplicate or refused.results[0].guard.similar
        # Another value of the key takes its place, and then that is purged as well.
        two = store.apply(
            remember("Zebulon has moved to the quokkaroom", key=key), operation_id="op-7"
        ).results[0].memory_id  # fmt: skip
        store.apply(forget(one, reason="old"), operation_id="op-8")
        with_episode(store, one, other, two, revision=store.revision)
        gone = [memory.id for memory in store.list() if memory.id != other]
        vectors = [vector_of(text).tobytes() for text in (SECRET, CHANGED)]
        wanted = [*needles(SECRET, CHANGED, NOTE), *vectors, b"quokka", b"Zebulon", b"zebulon"]
        assert left_in_files(tmp_path, wanted)
        before = store.one(other)

        answer = store.apply(purge(*gone, reason="asked for"), operation_id="op-9")

        assert answer.results[0].purged_ids == tuple(gone)
        assert answer.results[0].episode_count == 1
        assert answer.results[0].reply_count >= 8
        assert left_in_files(tmp_path, wanted) == []
        assert store.one(other).content == before.content
        assert store.one(other).links == ()
        replayed = store.apply(remember(SECRET, external_id="quokkaext", **secret),
                               operation_id="op-1")  # fmt: skip
        assert replayed.replayed
        assert replayed.results[0].memory_id == one
        assert left_in_files(tmp_path, wanted) == []
        store.reopen()
        assert [memory.id for memory in store.list()] == [other]
        assert left_in_files(tmp_path, wanted) == []
    assert left_in_files(tmp_path, wanted) == []


def test_bytes_that_moved_between_pages_are_gone_too(tmp_path: Path) -> None:
    """Rows whose lengths change leave copies behind where pages are divided anew."""
    path, generator = tmp_path / "memory.db", random.Random(0)
    connection = open_writer(path, COLLECTION, create=True)
    insert = "INSERT OR REPLACE INTO setting VALUES (?,?,1)"
    with connection:
        for number in [*range(800), *(generator.randrange(800) for _ in range(800))]:
            text = f"<text{number:05}>" + "y" * generator.randrange(900)
            connection.execute(insert, (f"{number:05}", text))
    gone = [number for number in range(800) if number % 3 == 0]
    with connection:
        connection.executemany(
            "DELETE FROM setting WHERE key = ?", ((f"{number:05}",) for number in gone)
        )
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def left() -> int:
        data = path.read_bytes()
        return sum(f"<text{number:05}>".encode() in data for number in gone)

    # As long as SQLite leaves some behind: without the scrub this is what a purge would leave.
    assert left() > 0
    kept = list(connection.execute("SELECT key, value FROM setting"))
    scrub = Scrub(path)
    steps = 1
    while not scrub.step(64 * 1024):
        steps += 1
    assert steps > 1
    assert left() == 0
    connection.execute("PRAGMA shrink_memory")
    assert list(connection.execute("SELECT key, value FROM setting")) == kept
    assert connection.pragma("integrity_check") == "ok"
    connection.close()
    scrub.close()


def test_purge_finds_the_copies_that_moving_rows_left(store: Store) -> None:
    """Without the scrub one of these texts is still in the file."""
    generator = random.Random(4)
    texts = [f"<text{number:05}>" + "y" * generator.randrange(600) for number in range(120)]
    saved = store.engine.apply_all(
        "default", [("", [remember(text, force=True)]) for text in texts]
    )
    ids = [future.result(wait_s()).results[0].memory_id for future in saved]
    chosen = [generator.randrange(120) for _ in ids]
    changes = [
        update(ids[number], content=texts[number][:11] + "z" * generator.randrange(900), force=True)
        for number in chosen
    ]
    for future in store.engine.apply_all("default", [("", [change]) for change in changes]):
        future.result(wait_s())
    store.do(purge(*ids[::3]))
    gone = [text[:11].encode() for text in texts]
    assert left_in_files(store.path, gone[::3]) == []
    assert left_in_files(store.path, gone[1::3])
    assert store.one(ids[1]).content.startswith(texts[1][:11])


def test_what_stays_is_an_empty_row(store: Store) -> None:
    one = store.save(SECRET, external_id="ext", tags=("tag",), private=True)
    row = raw(store, "SELECT row FROM memory")[0][0]
    store.do(purge(one, reason="asked for"))
    columns = "row, id, external_id, content, content_hash, vector, agent_id, created_us, "
    columns += "status, superseded_by, revision"
    assert raw(store, f"SELECT {columns} FROM memory") == [
        (row, one, None, "", b"", b"", "anna", 0, "purged", "", 2)
    ]
    assert raw(store, "SELECT kind, reason FROM operation WHERE revision = 2") == [
        ("Purge", "asked for")
    ]
    assert json.loads(raw(store, "SELECT touched FROM operation")[1][0])["memory"] == [row]


@pytest.mark.parametrize("restart", [False, True])
def test_a_purged_memory_is_not_there(store: Store, restart: bool) -> None:
    one, two = store.save(SECRET, external_id="ext"), store.save("two")
    store.do(purge(one))
    if restart:
        store.reopen()
    for named in (one, "ext:ext"):
        with pytest.raises(errors.NotFound):
            store.one(named)
    assert [memory.id for memory in store.list(where=EVERY_STATUS)] == [two]
    for mode in (RecallMode.VECTOR, RecallMode.LEXICAL):
        query = RecallQuery("anna", SECRET, vector_of(SECRET).tobytes(), mode=mode)
        assert one not in [hit.memory.id for hit in store.recall(query).hits]
    for command in (forget(one), purge(one), update(one, importance=1), link(two, one)):
        with pytest.raises(errors.NotFound):
            store.do(command)
    assert store.stats().total_count == 1
    assert store.do(remember(SECRET, external_id="ext")).guard.forgotten is None


def test_an_id_is_not_used_again_after_a_restart(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = store.save("one")
    store.do(purge(one))
    store.reopen()
    ids = itertools.cycle([one, "mem_00000000000000aa"])
    monkeypatch.setattr("totonoe_core.base.ids.new_memory_id", lambda: next(ids))
    assert store.save("two") == "mem_00000000000000aa"
    assert raw(store, "SELECT id FROM memory ORDER BY row")[0] == (one,)


def test_of_several_the_unknown_are_listed_and_one_alone_is_not_found(store: Store) -> None:
    one = store.save("one")
    hers = store.save("hers", agent="berta", private=True)
    unknown = "mem_00000000000000aa"
    answer = store.do(purge(one, unknown, hers, one))
    assert (answer.purged_ids, answer.missing_ids) == ((one,), (unknown, hers))
    with pytest.raises(errors.NotFound):
        store.do(purge(hers))
    assert store.one(hers, agent="berta").content == "hers"
    revision = store.revision
    assert store.do(purge(one, hers)) == Purged((), (one, hers))
    assert store.revision == revision


def test_preview_tells_what_purge_then_does_and_changes_nothing(store: Store) -> None:
    one = store.apply(remember(SECRET), operation_id="op").results[0].memory_id
    store.do(update(one, content=CHANGED))
    store.do(update(one, importance=5))
    with_episode(store, one, revision=store.revision)
    command = purge(one, "mem_00000000000000aa")
    revision, preview = store.preview(command)
    assert (revision, store.one(one).content) == (3, CHANGED)
    assert preview == Purged((one,), ("mem_00000000000000aa",), 2, 0, 1)
    assert store.do(command) == preview


def test_replies_keep_their_ids_and_what_is_not_purged(store: Store) -> None:
    one = store.apply(remember(SECRET), operation_id="op-1").results[0].memory_id
    two = store.apply(remember("two words"), operation_id="op-2").results[0].memory_id
    store.apply(link(one, two, note=NOTE), operation_id="op-3")
    both = store.apply(forget(one, two), operation_id="op-4").results[0]
    store.do(purge(one))
    kept = store.apply(forget(one, two), operation_id="op-4")
    assert kept.replayed
    assert [memory.id for memory in kept.results[0].memories] == [one, two]
    assert [memory.content for memory in kept.results[0].memories] == ["", "two words"]
    assert kept.results[0].memories[1].fields == both.memories[1].fields
    assert [memory.links[0].note for memory in kept.results[0].memories] == ["", ""]
    linked = store.apply(link(one, two, note=NOTE), operation_id="op-3").results[0]
    assert (linked.link.target_id, linked.link.note, linked.inverse.note) == (two, "", "")


def test_every_kept_answer_is_still_whole(store: Store) -> None:
    one = store.apply(remember(SECRET), operation_id="op-1").results[0].memory_id
    store.apply(remember(SECRET), operation_id="op-2")
    store.do(purge(one))
    for agent, operation_id in (("anna", "op-1"), ("anna", "op-2")):
        query = "SELECT answer FROM reply WHERE agent_id = ? AND operation_id = ?"
        found = plain.loads(Applied, raw(store, query, agent, operation_id)[0][0])
        assert (found.operation_id, found.results[0].memory_id) == (operation_id, one)
    refused = store.apply(remember(SECRET), operation_id="op-2").results[0].guard.duplicate
    assert (refused.memory_id, refused.snippet, refused.judgement.evidence) == (one, "", ())


@pytest.mark.parametrize("from_purged", [False, True])
def test_a_kept_unlink_says_no_note_whichever_end_is_purged(
    store: Store, from_purged: bool
) -> None:
    ends = one, _ = store.save(SECRET), store.save("two")
    asked = unlink(*(ends if from_purged else reversed(ends)))
    store.do(link(*ends, note=NOTE))
    other = store.apply(unlink(*ends[::-1], type_=LinkType.RELATED), operation_id="op-0")
    assert other.results[0].removed[0].note == NOTE
    store.do(link(*ends, note=NOTE))
    store.apply(asked, operation_id="op-1")
    preview = store.preview(purge(one))[1]
    assert store.do(purge(one)).reply_count == preview.reply_count == 2
    removed = store.apply(asked, operation_id="op-1").results[0].removed
    assert [(len(item.target_id), item.note) for item in removed] == [(20, "")]


def test_an_unlink_of_others_keeps_its_note(store: Store) -> None:
    one, two, three = (store.save(name) for name in ("one", "two", "three"))
    store.do(link(two, three, note=NOTE))
    store.apply(unlink(two, three), operation_id="op-1")
    assert store.do(purge(one)).reply_count == 0
    assert store.apply(unlink(two, three), operation_id="op-1").results[0].removed[0].note == NOTE


def memory_of(memory_id: str, text: str, *links: Link) -> Memory:
    return Memory(
        row=1, id=memory_id, content=text, content_hash=b"h" * 16, vector=b"", agent_id="anna",
        fields=Fields(tags=("tag",)), created_us=1, updated_us=2, status=Status.ACTIVE,
        superseded_by="", revision=3, links=links,
    )  # fmt: skip


def test_what_answers_quote_is_blanked_and_all_else_stays() -> None:
    gone, other = "mem_00000000000000aa", "mem_00000000000000bb"
    found = Judgement(Verdict.UPDATE, 0.9, (Evidence(Finding.NUMBER, own_text="7"),))
    silent = replace(found, evidence=())

    def report(duplicate: str, similar: str, *, quotes: bool = True) -> GuardReport:
        snippet, judgement = ("words", found) if quotes else ("", silent)
        repeats = Duplicate(duplicate, "3d ago", snippet, 1.0, Method.EXACT, judgement)
        near = SimilarMemory(similar, 0.9, 0.5, snippet, "1d ago", False, judgement)
        return GuardReport(repeats, Method.EXACT, 1.0, (near,), (), Verdict.DUPLICATE)

    def blank(result: Any) -> Any:
        return Redaction({gone}, lambda _: False).without((result,), 1)[0]

    plainly = report(other, other)
    # Of another memory's report only what quotes the purged one.
    similar_only = blank(Updated(True, memory_of(other, "b"), report(other, gone))).guard
    assert similar_only.duplicate == plainly.duplicate
    assert similar_only.similar[0] == report(other, gone, quotes=False).similar[0]
    # Where its own text was asked about, or repeated, the evidence quotes that throughout.
    for result in (
        Remembered(True, gone, report(other, other)),
        Updated(True, memory_of(gone, "a"), report(other, other)),
    ):
        assert blank(result).guard == report(other, other, quotes=False)
    repeated = Remembered(False, other, report(gone, other))
    assert blank(repeated).guard == report(gone, other, quotes=False)
    assert blank(Remembered(True, other, plainly)) == Remembered(True, other, plainly)
    lost = [LostDetail(memory_id, Finding.NUMBER, (3, 4), "7") for memory_id in (gone, other)]
    links = Link(gone, LinkType.RELATED, 0.5, "note"), Link(other, LinkType.RELATED, 0.5, "note")
    merged = blank(
        Merged(True, memory_of(other, "b", *links), (memory_of(gone, "a"),), None, tuple(lost))
    )
    assert [detail.text for detail in merged.lost] == ["", "7"]
    assert [link.note for link in merged.memory.links] == ["", "note"]
    assert (merged.memory.content, merged.sources[0].content) == ("b", "")
    assert merged.sources[0].fields == Fields()
    match = ForgottenMatch(gone, "3d ago", "words", "why", "anna", 2)
    told = blank(Remembered(True, other, replace(plainly, forgotten=match))).guard
    assert told == replace(plainly, forgotten=replace(match, snippet=""))
    superseded = replace(memory_of(other, "b"), superseded_by=gone)
    assert blank(Updated(True, superseded)) == Updated(True, replace(superseded, superseded_by=""))
    for pair in ((gone, other), (other, gone)):
        said = OutdatedMatch(pair[0], "3d ago", "words", pair[1], "others")
        told = blank(Remembered(True, other, replace(plainly, outdated=said))).guard
        silent = replace(said, snippet="", replaced_by_snippet="")
        assert told == replace(plainly, outdated=silent)
    said = OutdatedMatch(other, "3d ago", "words", other, "others")
    for memory_id, kept in (
        (other, said),
        (gone, replace(said, snippet="", replaced_by_snippet="")),
    ):
        told = blank(Remembered(True, memory_id, replace(plainly, outdated=said))).guard
        assert told.outdated == kept


def test_the_chain_goes_around_what_is_purged(store: Store) -> None:
    key = TypedKey("a", "b")
    ids = [store.save(f"value {number} of it", key=key) for number in range(4)]
    store.do(purge(ids[1], ids[2]))
    first = store.one(ids[0])
    assert (first.status, first.superseded_by) == (Status.SUPERSEDED, ids[3])
    found = store.read(GetQuery("anna", (ids[0],), follow_superseded=True))
    assert [memory.id for memory in found.memories] == [ids[3]]
    store.do(purge(ids[3]))
    # Its chain ends there, and nothing names what is gone: no read, no history, no kept answer.
    assert store.one(ids[0]).superseded_by == ""
    assert store.list()[0].superseded_by == ""
    page = store.read(HistoryQuery("anna", ids[0]))
    assert {version.memory.superseded_by for version in page.versions if version.memory} == {""}
    found = store.read(GetQuery("anna", (ids[0],), follow_superseded=True))
    assert [memory.id for memory in found.memories] == [ids[0]]


def test_a_purge_that_fails_leaves_everything(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = store.save(SECRET)
    store.do(update(one, importance=5))

    def refuse(*_: object) -> None:
        raise errors.ReadOnly("READ_ONLY", "the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(CollectionFile, "put_operation", refuse)
        with pytest.raises(errors.ReadOnly):
            store.do(purge(one))
    assert store.one(one).content == SECRET
    query = RecallQuery("anna", vector=vector_of(SECRET).tobytes(), mode=RecallMode.VECTOR)
    assert store.recall(query).hits[0].cosine_similarity == pytest.approx(1.0)
    assert store.do(purge(one)).version_count == 1


def test_remember_and_purge_in_one_operation_and_in_one_batch(store: Store) -> None:
    kept = store.save("kept")
    first, second = store.engine.apply_all(
        "default", [("op-1", [remember(SECRET)]), ("op-2", [forget(kept), purge(kept)])]
    )
    one = first.result(wait_s()).results[0].memory_id
    assert second.result(wait_s()).results[1].purged_ids == (kept,)
    assert [memory.id for memory in store.list()] == [one]
    assert left_in_files(store.path, [b"kept"]) == []


def test_arrays_and_caches_hold_nothing(store: Store) -> None:
    one = store.save(SECRET, category="quokka")
    store.do(update(one, content=CHANGED))
    index = store.engine._collections.opened("default").result(wait_s())._state.index
    slots = index.slot_by_id.versions(one)
    assert len(slots) == 2
    view = index.view()
    assert view.vectors(np.array(slots)).any()
    assert tokens._word_terms.cache_info().currsize
    store.do(purge(one))
    assert not view.vectors(np.array(slots)).any()
    for slot in slots:
        assert not view.tokens(slot).any()
        assert view.value("text_hash", slot) == view.value("canonical_hash", slot) == 0
    assert tokens._word_terms.cache_info().currsize == 0


def test_every_service_is_told_to_forget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from support.engines import InProcessEmbedding

    told = []
    monkeypatch.setattr(InProcessEmbedding, "forget_cached", lambda _: told.append("embedding"))
    monkeypatch.setattr(
        "totonoe_core.engine.collection.collection.forget_cached",
        lambda: (told.append("own"), caches.forget_cached()),
    )
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        one = store.save("one", text_only=True)
        assert told == []
        store.do(purge(one))
        assert told == ["own", "embedding"]


def test_indexes_of_the_past_are_let_go(store: Store) -> None:
    one = store.save(SECRET)
    store.save("two")
    query = RecallQuery("anna", SECRET, vector_of(SECRET).tobytes(), as_of=AsOf(revision=1))
    assert [hit.memory.id for hit in store.recall(query).hits] == [one]
    past = store.engine._collections.opened("default").result(wait_s())._state.past
    assert past._kept
    store.do(purge(one))
    assert not past._kept
    assert store.recall(query).hits == ()


def test_graph_and_prefix_lose_their_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from totonoe_core.index.arrays import Arrays

    monkeypatch.setattr(hnsw, "FROM_COUNT", 8)
    monkeypatch.setattr(prefix, "FROM_COUNT", 8)
    arrays = Arrays(16)
    vectors = [vector_of(f"v{number}", 16) for number in range(40)]
    for vector in vectors:
        arrays.append({"replaced_by": 2**62}, vector, np.zeros(0, np.uint64))
    arrays.publish()
    graph, fit = hnsw.Graph(arrays), prefix.Prefix(arrays)
    stop = threading.Event()
    for item in (graph, fit):
        item.maintain(stop)
    assert np.array(graph._index.get_items([3])[0]) == pytest.approx(vectors[3])
    assert fit._fit.parts[0].lead[3].any()
    arrays.empty(3)
    for item in (graph, fit):
        assert item.due()
        item.maintain(stop)
        assert not item.due()
    assert not np.array(graph._index.get_items([3])[0]).any()
    assert not fit._fit.parts[0].lead[3].any() and not fit._fit.parts[0].rest[3].any()
    found = graph.search(vectors[4], 3)
    assert found is not None and found[0][0] == 4


def test_a_reader_that_holds_the_wal_is_waited_for_later(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save(SECRET)
        pool = ReaderPool(store.file(), 1)
        with pool.rows() as rows:
            held = rows.all_memories()
            next(held)
            file = store.engine._collections.opened("default").result(wait_s())._state.file
            store.do(purge(one))
            assert file.to_clean
            assert left_in_files(tmp_path, [SECRET[:20].encode()])
            held.close()
            del held
        pool.close()
        # As the writer's upkeep does within a second.
        store.engine._collections.opened("default").result(wait_s())._on_writer(file.clean).result()
        assert not file.to_clean
        assert left_in_files(tmp_path, [SECRET[:20].encode()]) == []


def test_cleaning_goes_on_after_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as store:
        one = store.save(SECRET)
        with monkeypatch.context() as crashing:
            crashing.setattr(CollectionFile, "clean", lambda _: False)
            store.do(purge(one))
            # What a kill leaves: WAL and file as they are.
            copy = tmp_path.parent / f"{tmp_path.name}-after"
            copy.mkdir()
            for path in (store.file(), store.file().with_name("memory.db-wal")):
                (copy / path.name).write_bytes(path.read_bytes())
    assert left_in_files(copy, [SECRET[:20].encode()])
    file = CollectionFile(copy / "memory.db")
    file.last_numbers()
    assert file.to_clean
    file.close()
    assert left_in_files(copy, [SECRET[:20].encode()]) == []
    again = CollectionFile(copy / "memory.db")
    again.last_numbers()
    assert not again.to_clean
    again.close()


# -- Retention


def upkeep(store: Store) -> None:
    """Lets the writer look at what is due: once a minute of the clock, after some work."""
    store.clock.advance(61_000_000)
    store.check(remember("nothing at all"))
    store.check(remember("nothing at all"))


def test_retention_purges_what_was_forgotten_long_enough_ago(tmp_path: Path) -> None:
    with opened(tmp_path, clock=FakeClock()) as store:
        one, two = store.save(SECRET), store.save("hers", agent="berta", private=True)
        live = store.save("live")
        store.set(("retention.purge_forgotten_days", 2))
        store.do(forget(one))
        store.do(forget(two, agent="berta"))
        store.clock.advance(DAY_US)
        upkeep(store)
        assert store.one(one).status is Status.FORGOTTEN
        revision = store.revision
        store.clock.advance(DAY_US)
        upkeep(store)
        assert [memory.id for memory in store.list(agent="berta")] == [live]
        assert store.revision == revision + 1
        assert raw(
            store, "SELECT agent_id, kind, reason FROM operation WHERE revision = ?", revision + 1
        ) == [("", "Purge", "retention")]
        assert left_in_files(tmp_path, needles(SECRET)) == []


def test_retention_purges_some_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PURGED_BY_RETENTION_MAX", 2)
    ids = [store.save(f"note {number}") for number in range(3)]
    store.set(("retention.purge_forgotten_days", 1))
    store.do(forget(*ids))
    store.clock.advance(2 * DAY_US)
    upkeep(store)
    assert len(store.list()) == 1
    upkeep(store)
    assert store.list() == []


def test_retention_is_off_unless_it_is_set(store: Store) -> None:
    one = store.save("one")
    store.do(forget(one))
    store.clock.advance(40_000 * DAY_US)
    upkeep(store)
    assert store.one(one).status is Status.FORGOTTEN


def test_retention_is_a_setting_with_a_range(store: Store) -> None:
    store.set(("retention.purge_forgotten_days", 30.0))
    info = store.info()
    assert info.retention == RetentionPolicy(30.0)
    for value in (-1.0, 36501.0):
        with pytest.raises(errors.InvalidArgument):
            store.set(("retention.purge_forgotten_days", value))
    with pytest.raises(errors.InvalidArgument):
        store.set(("retention.other", 1.0))
    store.set(("retention.purge_forgotten_days", None))
    info = store.info()
    assert info.retention == RetentionPolicy()


def test_purge_by_retention_takes_nothing_that_is_not_forgotten(store: Store) -> None:
    live, gone = store.save("live"), store.save("gone")
    store.do(forget(gone))
    answer = store.do(Purge("", (live, gone), "retention", by_retention=True))
    assert (answer.purged_ids, answer.missing_ids) == ((gone,), (live,))
