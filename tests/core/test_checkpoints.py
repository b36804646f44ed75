"""Checkpoints: a collection opened from one and the rows after it is the one of all rows."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from support.engines import (
    FakeClock,
    Store,
    change,
    forget,
    opened,
    remember,
    undo,
    update,
    vector_of,
)
from support.indexes import assert_same_index
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.memories import Merge, Purge
from totonoe_core.domain.policy import Tokenizer
from totonoe_core.domain.queries import RecallMode, RecallQuery
from totonoe_core.domain.records import Memory, Status
from totonoe_core.engine.collection.collection import Collection
from totonoe_core.engine.collection.indexing import Indexing
from totonoe_core.engine.state import checkpointing, loading
from totonoe_core.index import hnsw, prefix, recipe
from totonoe_core.store import checkpoint as files
from totonoe_core.store.checkpoint import MANIFEST, Checkpoints
from totonoe_core.store.sqlite.collection_file import CollectionFile

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor"]
CONSIDER = Indexing.consider


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch)


def make_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checkpointing, "FROM_COUNT", 1)
    patch.setattr(checkpointing, "CHANGED_AT_CLOSE", 1)
    patch.setattr(prefix, "FROM_COUNT", 20)
    # What the background does is called by the tests.
    patch.setattr(Indexing, "consider", lambda _: None)


def collection(store: Store) -> Collection:
    found: Collection = store.engine._collections.opened(store.collection).result(wait_s())
    return found


def directory(store: Store) -> Path:
    return collection(store)._state.checkpoints.directory


def names(store: Store) -> list[str]:
    return sorted(path.name for path in directory(store).glob("*"))


def filled(store: Store, seed: int, count: int = 40) -> list[str]:
    """Ids after a history of every kind of change."""
    rng = np.random.default_rng(seed)
    ids: list[str] = []
    for step in range(count):
        store.clock.advance(1000)
        text = f"{' '.join(rng.choice(WORDS, 4).tolist())} {seed} {step}"
        kind = rng.random()
        if len(ids) < 6 or kind < 0.5:
            session = str(rng.choice(["", "s"]))
            ids.append(store.save(text, tags=(str(rng.choice(WORDS)),), session_id=session))
            continue
        one, other = (str(name) for name in rng.choice(ids, 2, replace=False))
        if kind < 0.65:
            attempted(store, update(one, content=text))
        elif kind < 0.75:
            revision = attempted(store, forget(one))
            if revision and rng.random() < 0.5:
                attempted(store, undo(revision))
        elif kind < 0.85:
            vector = vector_of(text).tobytes()
            attempted(store, Merge("anna", one, (other,), text, vector))
        elif kind < 0.9 and step < count - 5:
            attempted(store, Purge("anna", (one,), ""))
        else:
            query = RecallQuery("anna", text, vector_of(text).tobytes(), touch=True)
            store.recall(query)
    return ids


def attempted(store: Store, command: Any) -> int:
    try:
        return store.apply(command).revision
    except errors.TotonoeError:
        return 0


def copied(store: Store, to: Path) -> Store:
    """What a crash leaves: the files as they are, opened by another engine."""
    shutil.copytree(store.path, to)
    return Store(to, clock=store.clock)


def compare_with_rows(store: Store, seed: object = "") -> None:
    state = collection(store)._state

    def rows() -> Any:
        with state.file.reading():
            return loading.rebuilt(state.file, state.info, state.index.access())

    fresh = collection(store)._on_writer(rows).result(wait_s())
    assert_same_index(state.index, fresh, seed)


def answers(store: Store, access: bool = True) -> Any:
    """What Recall, Check and List say; without access figures if they may not be on disk yet."""
    found = []
    for word in WORDS:
        query = RecallQuery("ben", word, vector_of(word).tobytes(), k=50, touch=False)
        hits = store.recall(query).hits
        found.append(
            sorted(
                (hit.memory.id, round(hit.cosine_similarity or 0, 6), hit.lexical_similarity)
                for hit in hits
            )
        )
        checked = store.check(remember(f"{word} {WORDS[0]} 1 1", agent="ben"))
        similar = sorted(memory.memory_id for memory in checked.guard.similar)
        found.append((checked.guard.duplicate, similar))
    listed = [
        (memory.id, memory.content, memory.status, memory.access_count if access else 0)
        for memory in store.list()
    ]
    return found, listed


@pytest.mark.parametrize("seed", range(4))
def test_collection_of_a_checkpoint_answers_as_one_of_all_rows(tmp_path: Path, seed: int) -> None:
    with opened(tmp_path / "a") as store:
        filled(store, seed)
        store.reopen()
        opening = collection(store)._state.opening
        assert opening.checkpoint is not None
        assert opening.replayed_count == 0
        compare_with_rows(store, seed)
        shutil.copytree(store.path, tmp_path / "b")
        shutil.rmtree(next((tmp_path / "b").glob("collections/*/checkpoint")))
        other = Store(tmp_path / "b", clock=store.clock)
        assert collection(other)._state.opening.checkpoint is None
        assert answers(store) == answers(other), f"seed {seed}"
        other.close()


@pytest.mark.parametrize("seed", range(4))
def test_rows_after_a_checkpoint_are_replayed(tmp_path: Path, seed: int) -> None:
    with opened(tmp_path / "a") as store:
        filled(store, seed, 30)
        store.reopen()
        filled(store, seed + 10, 25)
        held = collection(store)._checkpointing.last()
        other = copied(store, tmp_path / "b")
        opening = collection(other)._state.opening
        assert (opening.checkpoint is None) == (held is None), "a purge takes them away"
        assert opening.replayed_count > 0
        compare_with_rows(other, seed)
        assert answers(store, False) == answers(other, False), f"seed {seed}"
        other.close()


def test_a_purged_row_after_a_checkpoint_is_emptied(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        ids = [store.save(f"note {WORDS[n]} {n}") for n in range(8)]
        store.reopen()
        index = collection(store)._state.index
        index_of = index.slot_by_id.get(ids[3])
        assert index_of is not None
        memory = (
            collection(store)
            ._on_writer(lambda: collection(store)._state.file.rows.memories([4])[4])
            .result(wait_s())
        )
        changed = {name: getattr(memory, name) for name in memory.__dataclass_fields__}
        gone = Memory(**(changed | {"status": Status.PURGED, "vector": b"", "content": ""}))
        assert loading.replay(index, [[(gone, b"")]]) == 1
        assert not index.view().vectors(np.array([index_of])).any()
        assert index.retired_count() == 1


def test_index_with_many_retired_slots_is_compacted_when_opened(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        ids = [store.save(f"note {WORDS[n]} {n}") for n in range(8)]
        store.reopen()
        for round_ in range(2):
            for number, memory_id in enumerate(ids):
                store.do(update(memory_id, content=f"other {round_} {number} {WORDS[number]}"))
        other = copied(store, tmp_path / "b")
        assert collection(other)._state.opening.replayed_count == 8
        assert collection(other)._state.index.view().count == 8
        compare_with_rows(other)
        other.close()


def test_change_of_tokenizer_makes_older_checkpoints_useless(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        filled(store, 1)
        store.reopen()
        store.do(change(("guard.tokenizer", Tokenizer.WHITESPACE)))
        other = copied(store, tmp_path / "b")
        assert collection(other)._state.opening.checkpoint is None
        assert other.stats().checkpoint.bad_count == 0
        assert names(other) == []
        compare_with_rows(other)
        other.close()
        store.reopen()
        assert collection(store)._state.opening.checkpoint is not None
        compare_with_rows(store)


def test_checkpoint_of_other_code_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "a") as store:
        filled(store, 1, 10)
        store.reopen()
        monkeypatch.setattr(recipe, "RECIPE", recipe.RECIPE + 1)
        other = copied(store, tmp_path / "b")
        assert collection(other)._state.opening.checkpoint is None
        assert (other.stats().checkpoint.bad_count, names(other)) == (0, [])
        compare_with_rows(other)
        other.close()


def test_checkpoint_of_a_later_or_another_history_is_not_used(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        store.save("one thing")
        other = copied(store, tmp_path / "b")
        for where in (store, other):
            where.clock.advance(5)
            where.save("another thing" if where is store else "something else")
            where.save("a third thing")
        store.reopen()
        place = directory(other)
        name = names(store)[0]
        other.engine.close(30)
        shutil.rmtree(place)
        shutil.copytree(directory(store), place)
        back = Store(tmp_path / "b", clock=store.clock)
        assert collection(back)._state.opening.checkpoint is None
        assert names(back) == [name + ".bad"]
        compare_with_rows(back)
        back.close()


def test_checkpoint_of_a_revision_that_the_file_lacks_is_not_used(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        store.save("one thing")
        other = copied(store, tmp_path / "b")
        other.close()
        store.save("another thing")
        store.reopen()
        place = next((tmp_path / "b").glob("collections/*")) / "checkpoint"
        shutil.copytree(directory(store), place)
        back = Store(tmp_path / "b", clock=store.clock)
        assert collection(back)._state.opening.checkpoint is None
        assert len(back.list()) == 1
        back.close()


DAMAGES = ["truncated", "longer", "flipped", "missing", "empty"]


def damage(path: Path, how: str, rng: np.random.Generator) -> None:
    data = bytearray(path.read_bytes())
    if how == "missing":
        path.unlink()
        return
    if how == "truncated":
        del data[int(rng.integers(len(data))) :]
    elif how == "longer":
        data += b"\n"
    elif how == "flipped":
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    else:
        data.clear()
    path.write_bytes(data)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any]]:
    """A closed data directory with a checkpoint, graph included, and its answers."""
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        patch.setattr(hnsw, "FROM_COUNT", 16)
        path = tmp_path_factory.mktemp("sound") / "data"
        with opened(path) as store:
            filled(store, 2)
            collection(store)._state.index.graph.maintain(threading.Event())
            assert collection(store)._state.index.graph.count
            expected = answers(store)
        yield path, expected


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", [MANIFEST, "arrays", "vectors", "graph", "graph_slots"])
def test_damaged_checkpoint_is_set_aside_and_the_answers_are_the_same(
    tmp_path: Path,
    sound: tuple[Path, Any],
    name: str,
    how: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hnsw, "FROM_COUNT", 16)
    path, expected = sound
    rng = np.random.default_rng(len(name) * 100 + DAMAGES.index(how))
    for number in range(3 if how in ("truncated", "flipped") else 1):
        shutil.copytree(path, tmp_path / str(number))
        bad = next((tmp_path / str(number)).glob("collections/*/checkpoint/*"))
        damage(bad / name, how, rng)
        store = Store(tmp_path / str(number))
        graph = collection(store)._state.index.graph
        graph.maintain(threading.Event())
        found = store.stats().checkpoint
        assert found.bad_count == 1, (name, how, number)
        assert found.bad.startswith(f"{bad.name}: ")
        assert name in found.bad
        assert bad.with_name(bad.name + ".bad").exists()
        assert answers(store) == expected
        store.close()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_checkpoint_that_cannot_be_opened_for_want_of_files_is_kept(
    tmp_path: Path, sound: tuple[Path, Any], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, expected = sound
    shutil.copytree(path, tmp_path / "a")

    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(files, "FileIO", refuse)
        store = Store(tmp_path / "a")
        assert collection(store)._state.opening.checkpoint is None
        assert answers(store) == expected
        before = names(store)
        assert store.stats().checkpoint.bad_count == 0
        store.engine.close(30)
    assert before
    assert not [name for name in before if name.endswith(".bad")]
    store = Store(tmp_path / "a")
    assert collection(store)._state.opening.checkpoint is not None
    store.close()


def test_older_checkpoint_serves_when_the_newest_is_bad(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        filled(store, 3, 12)
        store.reopen()
        store.save("something that came later")
        store.reopen()
        older, newest = sorted(directory(store).iterdir(), key=lambda path: path.stat().st_mtime)
        damage(newest / "arrays", "flipped", np.random.default_rng(1))
        store.reopen()
        opening = collection(store)._state.opening
        assert opening.checkpoint is not None
        assert opening.checkpoint.path == older
        assert opening.replayed_count == 1
        compare_with_rows(store)


def test_the_newest_two_are_kept_and_what_a_crash_left_goes(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        for number in range(4):
            store.save(f"note {WORDS[number]} {number}")
            store.reopen()
        assert [name.partition("-")[0] for name in names(store)] == ["3", "4"]
        (directory(store) / "9-1.tmp").mkdir()
        (directory(store) / "9-1.tmp" / "arrays").write_bytes(b"half")
        store.reopen()
        assert [name.partition("-")[0] for name in names(store)] == ["3", "4"]


def test_nothing_is_written_for_a_few_memories_or_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointing, "FROM_COUNT", 3)
    monkeypatch.setattr(checkpointing, "CHANGED_AT_CLOSE", 3)
    with opened(tmp_path / "a") as store:
        store.save("one thing")
        store.save("another thing")
        store.reopen()
        assert names(store) == []
        store.save("a third thing")
        store.reopen()
        assert len(names(store)) == 1
        store.save("a fourth thing")
        store.reopen()
        assert len(names(store)) == 1
        assert collection(store)._state.opening.replayed_count == 1
        store.save("a fifth thing")
        store.save("a sixth thing")
        store.reopen()
        assert len(names(store)) == 2, "what was replayed counts"


def test_purge_deletes_every_checkpoint(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        ids = filled(store, 4, 12)
        secret = store.save("Zebulon keeps the quokka")
        needle = vector_of("Zebulon keeps the quokka").tobytes()
        store.reopen()
        (directory(store) / "1-9.bad").mkdir()
        assert any(needle in path.read_bytes() for path in directory(store).glob("*/vectors"))
        last = collection(store)._checkpointing
        assert last.last() is not None
        store.do(Purge("anna", (secret,), ""))
        assert names(store) == []
        assert last.last() is None
        store.reopen()
        assert len(names(store)) == 1
        assert collection(store)._state.opening.checkpoint is not None
        left = [path for path in store.path.rglob("*") if path.is_file()]
        assert not [path for path in left if needle in path.read_bytes()]
        compare_with_rows(store)
        assert ids


def test_purge_whose_process_ended_has_its_checkpoints_deleted_when_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "a") as store:
        secret = store.save("Zebulon keeps the quokka")
        store.save("something else")
        store.reopen()

        def refuse(_: Checkpoints) -> None:
            raise OSError("no")

        with monkeypatch.context() as patch:
            patch.setattr(Checkpoints, "drop_all", refuse)
            store.do(Purge("anna", (secret,), ""))
            assert store.stats().state == "read-only"
            other_path = tmp_path / "b"
            shutil.copytree(store.path, other_path)
        assert names(store)
        other = Store(other_path, clock=store.clock)
        assert collection(other)._state.opening.checkpoint is None
        assert names(other) == []
        other.close()


def test_purge_that_cannot_delete_checkpoints_goes_on_trying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "a") as store:
        secret = store.save("Zebulon keeps the quokka")
        store.save("something else")
        store.reopen()

        def refuse(_: Checkpoints) -> None:
            raise OSError("no")

        with monkeypatch.context() as patch:
            patch.setattr(Checkpoints, "drop_all", refuse)
            store.do(Purge("anna", (secret,), ""))
            store.reopen()
            assert names(store), "not cleaned, so the file says that it is to be"
        store.reopen()
        assert names(store) == ["3-1"], "one that was taken since"
        needle = vector_of("Zebulon keeps the quokka").tobytes()
        left = [path for path in store.path.rglob("*") if path.is_file()]
        assert not [path for path in left if needle in path.read_bytes()]


def test_graph_that_was_not_read_yet_is_not_lost_for_a_few_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "FROM_COUNT", 16)
    with opened(tmp_path / "a") as store:
        for number in range(20):
            store.save(f"note {number} {WORDS[number % 8]}")
        collection(store)._state.index.graph.maintain(threading.Event())
        store.reopen()
        store.save("one more")
        assert collection(store)._state.index.graph.awaited
        store.reopen()
        assert len(names(store)) == 1
        assert collection(store)._state.index.graph.awaited


def test_purge_while_a_checkpoint_is_written_gives_it_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "a") as store:
        ids = [store.save(f"note {word}") for word in WORDS]
        checkpoints = collection(store)._state.checkpoints
        put = files.Writing.put
        purged: list[str] = []

        def put_and_purge(self: files.Writing, name: str, blocks: Any) -> None:
            if name == "tokens" and not purged:
                purged.append(ids[0])
                store.do(Purge("anna", (ids[0],), ""))
            put(self, name, blocks)

        monkeypatch.setattr(files.Writing, "put", put_and_purge)
        collection(store)._checkpointing.write(threading.Event())
        assert purged
        assert names(store) == []
        assert checkpoints.epoch > 0
        collection(store)._checkpointing.write(threading.Event())
        assert len(names(store)) == 1


def test_disk_that_refuses_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path / "a") as store:
        store.save("one thing")
        store.reopen()
        before = names(store)
        store.save("another thing")
        for refusing in ("_write", "_made", "finish"):
            with monkeypatch.context() as patch:

                def refuse(*_: Any) -> None:
                    raise OSError(28, "No space left on device")

                patch.setattr(files.Writing, refusing, refuse)
                collection(store)._checkpointing.write(threading.Event())
            assert names(store) == before
        assert caplog.text.count("cannot be written") == 3
        assert not collection(store)._checkpointing.due(), "it is tried again later"
        assert store.stats().state == "serving"
        collection(store)._checkpointing.write(threading.Event())
        assert len(names(store)) == 2


def test_checkpoint_beside_a_writer_is_of_one_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "a") as store:
        ids = [store.save(f"note {word}") for word in WORDS]
        put = files.Writing.put
        steps = iter(range(1000))

        def put_and_write(self: files.Writing, name: str, blocks: Any) -> None:
            # Something changes between any two arrays.
            number = next(steps)
            store.do(update(ids[number % 8], content=f"other {name} {number}"))
            store.save(f"more {name} {number}")
            store.do(forget(store.save(f"gone {name} {number}")))
            put(self, name, blocks)

        monkeypatch.setattr(files.Writing, "put", put_and_write)
        collection(store)._checkpointing.write(threading.Event())
        monkeypatch.undo()
        held = collection(store)._checkpointing.last()
        assert held is not None
        assert held.revision == 8
        assert collection(store)._state.revision > 100
        other = copied(store, tmp_path / "b")
        opening = collection(other)._state.opening
        assert opening.checkpoint is not None
        compare_with_rows(other)
        other.close()


@pytest.mark.parametrize("seed", range(6))
def test_crash_while_a_checkpoint_is_written_leaves_the_one_before_or_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    with opened(tmp_path / "a") as store:
        filled(store, 5, 12)
        store.reopen()
        for word in WORDS:
            store.save(f"note {word}")
        expected = answers(store, False)
        # The steps are counted once, and one of them is where the process ends.
        steps, crash_at = 0, -1

        def step() -> None:
            nonlocal steps
            if steps == crash_at:
                shutil.copytree(store.path, tmp_path / "b")
            steps += 1

        for place, name in (
            (files.Writing, "_write"),
            (files.Writing, "_made"),
            (files.os, "fsync"),
            (Path, "rename"),
            (files.directories, "sync"),
        ):
            call = getattr(place, name)

            def wrapped(*given: Any, call: Any = call) -> Any:
                step()
                return call(*given)

            monkeypatch.setattr(place, name, wrapped)
        collection(store)._checkpointing.write(threading.Event())
        count, steps = steps, 0
        crash_at = int(rng.integers(count // 2, count)) if seed else count - 1
        shutil.rmtree(collection(store)._checkpointing.last().path)
        collection(store)._checkpointing.write(threading.Event())
        monkeypatch.undo()
        make_small(monkeypatch)
        other = Store(tmp_path / "b", clock=store.clock)
        opening = collection(other)._state.opening
        assert opening.checkpoint is not None
        # The last step is after the renaming.
        assert opening.replayed_count in ((0,) if seed == 0 else (0, len(WORDS)))
        assert other.stats().checkpoint.bad_count == 0
        assert not [name for name in names(other) if name.endswith(".tmp")]
        assert answers(other, False) == expected, f"seed {seed}"
        other.close()


@pytest.mark.parametrize("later", [False, True])
def test_bad_row_is_set_aside_with_a_checkpoint_as_without(tmp_path: Path, later: bool) -> None:
    with opened(tmp_path / "a") as store:
        ids = [store.save(f"note {word}") for word in WORDS]
        store.reopen()
        if later:
            store.do(update(ids[2], content="another note"))
        path = collection(store)._place.path
        other = tmp_path / "b"
        store.engine.close(30)
        if later:
            # The one of before, so that the row is read.
            shutil.rmtree(sorted(path.parent.glob("checkpoint/*"))[-1])
        connection = apsw.Connection(str(path))
        connection.execute("UPDATE memory SET content = 'quite another' WHERE row = 3")
        connection.close()
        shutil.copytree(store.path, other)
        store.engine = store._opened()
        back = Store(other, clock=store.clock)
        for _ in range(2):
            for _ in range(2):
                # The first call may be the one that meets it.
                with pytest.raises(errors.Corruption):
                    back.get(ids[2])
                collection(back)._on_writer(collection(back)._state.look_at_suspects).result(
                    wait_s()
                )
            assert {memory.id for memory in back.list()} == {*ids} - {ids[2]}
            back.reopen()
        assert (collection(back)._state.opening.checkpoint is None) == later
        back.close()


def test_background_takes_one_after_many_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointing, "CHANGED_MIN", 5)
    monkeypatch.setattr(Indexing, "consider", CONSIDER)
    with opened(tmp_path / "a") as store:
        written = threading.Event()
        write = Checkpoints.write

        def write_and_tell(*given: Any) -> Any:
            done = write(*given)
            written.set()
            return done

        monkeypatch.setattr(Checkpoints, "write", write_and_tell)
        for word in WORDS:
            store.save(f"note {word}")
        found = collection(store)
        found._indexing.consider()
        assert written.wait(wait_s())
        assert names(store)


def test_graph_is_taken_over_with_its_slots_renumbered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "FROM_COUNT", 16)
    stop = threading.Event()
    with opened(tmp_path / "a") as store:
        ids = [store.save(f"note {word} {number}") for number in range(5) for word in WORDS]
        graph = collection(store)._state.index.graph
        graph.maintain(stop)
        for memory_id in ids[:6]:
            store.do(update(memory_id, content=f"other {memory_id}"))
        gone = store.apply(forget(ids[20]))
        graph.maintain(stop)
        store.do(undo(gone.revision))
        for round_ in range(3):
            store.reopen()
            index = collection(store)._state.index
            assert collection(store)._state.opening.checkpoint is not None
            index.graph.maintain(stop)
            assert index.graph.count >= 40
            view = index.view()
            for memory_id in [*ids, *(memory.id for memory in store.list())]:
                slot = index.slot_by_id.get(memory_id)
                assert slot is not None
                found = index.graph.search(view.vectors(np.array([slot]))[0], 5)
                assert found is not None
                assert slot in found[0].tolist() or slot >= found[1], (round_, memory_id)
            store.save(f"more {round_}")
            store.do(update(ids[10 + round_], content=f"yet another {round_}"))
            index.graph.maintain(stop)


def test_vectors_purged_from_a_graph_that_was_loaded_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "FROM_COUNT", 16)
    stop = threading.Event()
    with opened(tmp_path / "a") as store:
        ids = [store.save(f"note {word} {number}") for number in range(4) for word in WORDS]
        collection(store)._state.index.graph.maintain(stop)
        store.do(update(ids[0], content="so that slots move"))
        store.reopen()
        index = collection(store)._state.index
        index.graph.maintain(stop)
        slot = index.slot_by_id.get(ids[5])
        assert slot is not None
        vector = index.view().vectors(np.array([slot]))[0].copy()
        store.do(Purge("anna", (ids[5],), ""))
        index.graph.maintain(stop)
        path = tmp_path / "graph"
        saved = index.graph.save(path)
        assert saved is not None
        assert vector.tobytes() not in path.read_bytes()
        found = index.graph.search(vector, 32)
        assert found is not None


def test_graph_of_another_library_is_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "FROM_COUNT", 16)
    with opened(tmp_path / "a") as store:
        for number in range(20):
            store.save(f"note {number} {WORDS[number % 8]}")
        collection(store)._state.index.graph.maintain(threading.Event())
        store.reopen()
        assert collection(store)._state.index.graph._expected is not None
        changed = hnsw.parameters() | {"library": "0"}
        monkeypatch.setattr(hnsw, "parameters", lambda: changed)
        store.reopen()
        opening = collection(store)._state.opening
        assert opening.checkpoint is not None
        assert opening.checkpoint.graph_slots == 0
        assert collection(store)._state.index.graph._expected is None
        assert store.stats().checkpoint.bad_count == 0


def test_short_graph_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # hnswlib reports no full disk.
    monkeypatch.setattr(hnsw, "FROM_COUNT", 16)
    with opened(tmp_path / "a") as store:
        for number in range(20):
            store.save(f"note {number} {WORDS[number % 8]}")
        collection(store)._state.index.graph.maintain(threading.Event())
        save = hnsw.Graph.save

        def cut(self: hnsw.Graph, path: Path) -> Any:
            found = save(self, path)
            os.truncate(path, 100)
            return found

        monkeypatch.setattr(hnsw.Graph, "save", cut)
        collection(store)._checkpointing.write(threading.Event())
        assert names(store) == []


def test_figures_say_how_it_was_opened(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        store.save("one thing")
        before = store.stats().checkpoint
        assert (before.revision, before.bytes, before.opened_from_revision) == (0, 0, 0)
        store.reopen()
        store.save("another thing")
        found = store.stats().checkpoint
        assert (found.revision, found.opened_from_revision) == (1, 1)
        assert found.saved_us == store.clock.now_us
        assert found.bytes > 0
        assert found.opening_s > 0
        assert (found.replayed_count, found.bad_count) == (0, 0)
        other = copied(store, tmp_path / "b")
        assert other.stats().checkpoint.replayed_count == 1
        other.close()


def test_manifest_names_every_file_and_what_the_arrays_are_of(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        store.save("one thing")
        store.reopen()
        place = directory(store) / names(store)[0]
        header = json.loads((place / MANIFEST).read_text().splitlines()[0])
        sizes: dict[str, int] = {MANIFEST: (place / MANIFEST).stat().st_size}
        for name, array in header["arrays"].items():
            size = int(np.prod(array["shape"])) * np.dtype(array["dtype"]).itemsize
            begin = sizes.get(array["file"], 0)
            data = (place / array["file"]).read_bytes()[begin : begin + size]
            assert array["sha256"] == hashlib.sha256(data).hexdigest(), name
            sizes[array["file"]] = begin + size
        assert {path.name: path.stat().st_size for path in place.iterdir()} == sizes
        assert header["model"].startswith("none")
        assert header["dimension"] == 8
        assert header["collection"] == place.parent.parent.name
        assert place.stat().st_mode & 0o077 == 0


def test_recall_by_every_mode_is_the_same_after_reopening(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as store:
        filled(store, 6)
        vector = vector_of("amber birch").tobytes()
        asked = [RecallQuery("ben", "amber birch", vector, k=20, mode=mode) for mode in RecallMode]
        before = [[hit.memory.id for hit in store.recall(query).hits] for query in asked]
        store.reopen()
        assert [[hit.memory.id for hit in store.recall(query).hits] for query in asked] == before


def test_history_of_a_file_is_told_by_its_operations(tmp_path: Path) -> None:
    with opened(tmp_path / "a", clock=FakeClock()) as store:
        store.save("one thing")
        path = collection(store)._place.path
    file = CollectionFile(path)
    assert file.rows.history.seal(1) is not None
    assert file.rows.history.seal(2) is None
    file.close()
