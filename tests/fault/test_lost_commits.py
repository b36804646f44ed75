"""Logs flipped, cut, deleted, exchanged: what was acknowledged is there, or its loss is said."""

from __future__ import annotations

import os
import random
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.cataloging import create
from support.engines import Store, forget, opened, remember
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.store.sqlite.acknowledged import Note, path_of
from totonoe_core.store.sqlite.inspection import inspect

DAMAGES = 20
SOAK_DAMAGES = 1500
COMMITS = 24
OTHER = "other"
FRAME_BYTES = 24 + 4096


@dataclass(frozen=True)
class Killed:
    """A data directory as a kill leaves it, and what it had acknowledged."""

    directory: Path
    acknowledged: Any
    earlier: dict[str, bytes]
    """Each log as it was some commits before."""

    def copied(self, to: Path) -> Path:
        shutil.copytree(self.directory, to)
        return to


def logs(directory: Path) -> dict[str, Path]:
    """The logs of a directory: of the catalogue, and of each collection by its uid."""
    found = sorted(directory.glob("collections/*/memory.db-wal"))
    return {"catalog": directory / "catalog.db-wal"} | {path.parent.name: path for path in found}


def shown(store: Store) -> Any:
    """What was acknowledged: names, revisions, memories."""
    names = [
        info.name for info in store.engine.list_collections(100, "").result(wait_s()).collections
    ]
    told = []
    for name in ("default", OTHER):
        store.collection = name
        told.append(
            (
                store.revision,
                [(memory.id, memory.content, memory.status) for memory in store.list()],
            )
        )
    store.collection = "default"
    return names, told


def with_frames(directory: Path) -> dict[str, Path]:
    """The logs that hold anything."""
    found = logs(directory).items()
    return {name: log for name, log in found if log.exists() and log.stat().st_size > FRAME_BYTES}


def begin_log_anew(store: Store) -> None:
    """Has the next commit overwrite the log from its beginning; the old frames stay behind it."""
    found = store.engine._collections.opened(store.collection).result(wait_s())
    connection = found._state.file._connection
    found.copying.pause(
        lambda: connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    ).result(wait_s())


@pytest.fixture(scope="module", params=["first log", "log begun anew"])
def killed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    path = tmp_path_factory.mktemp("killed")
    store = Store(path / "data")
    try:
        create(store, OTHER)
        earlier: dict[str, bytes] = {}
        for turn in range(3):
            for name in ("default", OTHER):
                store.collection = name
                for number in range(COMMITS):
                    store.save(f"{name} keeps box {number} of turn {turn} in room {number * 7}")
                gone = store.save(f"{name} forgets turn {turn}")
                store.do(forget(gone))
                if turn == 1 and request.param == "log begun anew":
                    begin_log_anew(store)
            if turn == 1:
                create(store, "another")
                earlier = {name: log.read_bytes() for name, log in logs(path / "data").items()}
        create(store, "last")
        told = shown(store)
        shutil.copytree(path / "data", path / "killed")
    finally:
        store.close()
    return Killed(path / "killed", told, earlier)


def uid_of(store: Store) -> str:
    return store.engine._collections.names.uid(store.collection)


# -- What becomes of a directory


def outcome(directory: Path, acknowledged: Any) -> str:
    """ "whole", "said", "refused", "lost and not said" or "said for nothing"."""
    before = {path: path.read_bytes() for path in logs(directory).values() if path.exists()}
    found_offline = any(table.findings for table in inspect(directory))
    try:
        store = Store(directory)
    except errors.TotonoeError:
        assert found_offline
        return "refused"
    try:
        try:
            whole = shown(store) == acknowledged
        except errors.CommitsLost:
            whole = False  # of the catalogue: the collection is to be made, and cannot
        lost = lost_of(store)
        if lost:
            refuses_writes(store, lost)
    except errors.Corruption:
        assert found_offline
        return "refused"
    finally:
        store.close()
    if not lost:
        assert not whole or not found_offline
        return "whole" if whole else "lost and not said"
    assert found_offline
    # It stays as it was, for whoever can mend it.
    for name in lost:
        log = logs(directory)[name]
        assert not log.exists() or not log.stat().st_size or log.read_bytes() == before[log]
    return "said for nothing" if whole else "said"


def lost_of(store: Store) -> set[str]:
    """Whose loss is said: uids, and "catalog"."""
    catalogue = store.engine._collections.names.lost_revisions
    lost = {"catalog"} if catalogue else set()
    for name in ("default", OTHER):
        try:
            stats = store.engine.stats(name, "").result(wait_s())
        except errors.NotFound:
            continue
        except errors.CommitsLost:
            continue
        assert stats.lost_catalogue_revisions == catalogue
        (one,) = stats.collections
        if one.verified.lost_commit_count:
            assert one.state == "read-only"
            assert one.verified.lost_revisions
            lost.add(store.engine._collections.names.uid(name))
    return lost


def refuses_writes(store: Store, lost: set[str]) -> None:
    for name in ("default", OTHER):
        try:
            uid = store.engine._collections.names.uid(name)
        except errors.NotFound:
            continue
        if uid in lost:
            with pytest.raises(errors.CommitsLost) as caught:
                store.engine.apply(name, "", (remember("one more"),)).result(wait_s())
            assert f"accept-loss {name} --revisions" in caught.value.message
    if "catalog" in lost:
        with pytest.raises(errors.CommitsLost, match="--catalogue"):
            create(store, "one-more")


# -- Damages


Damage = Callable[[dict[str, Path], random.Random, Killed], str]


def pick(found: dict[str, Path], generator: random.Random) -> Path:
    return found[generator.choice(sorted(found))]


def flip(found: dict[str, Path], generator: random.Random, _: Killed) -> str:
    log = pick(found, generator)
    data = bytearray(log.read_bytes())
    at = generator.randrange(len(data))
    data[at] ^= 1 << generator.randrange(8)
    log.write_bytes(data)
    return f"{log}: flip at {at}"


def cut(found: dict[str, Path], generator: random.Random, _: Killed) -> str:
    log = pick(found, generator)
    at = generator.randrange(log.stat().st_size)
    os.truncate(log, at)
    return f"{log}: cut at {at}"


def ends(data: bytes) -> list[int]:
    """Where the commits of a log end, in bytes."""
    frames = range(32, len(data) - FRAME_BYTES + 1, FRAME_BYTES)
    marks = (at for at in frames if struct.unpack_from(">I", data, at + 4)[0])
    return [at + FRAME_BYTES for at in marks]


def cut_between(found: dict[str, Path], generator: random.Random, _: Killed) -> str:
    log = pick(found, generator)
    at = generator.choice([32, *ends(log.read_bytes())[:-1]])
    os.truncate(log, at)
    return f"{log}: cut between commits at {at}"


def delete(found: dict[str, Path], generator: random.Random, _: Killed) -> str:
    log = pick(found, generator)
    log.unlink()
    return f"{log}: deleted"


def replace(found: dict[str, Path], generator: random.Random, _: Killed) -> str:
    log = pick(found, generator)
    other = generator.choice([path for path in found.values() if path != log])
    log.write_bytes(other.read_bytes())
    return f"{log}: replaced by {other}"


def swap(found: dict[str, Path], generator: random.Random, _: Killed) -> str:
    one, other = generator.sample(sorted(found.values()), 2)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    return f"{one} and {other}: exchanged"


def put_back(found: dict[str, Path], generator: random.Random, killed: Killed) -> str:
    name = generator.choice(sorted(killed.earlier.keys() & found.keys()))
    found[name].write_bytes(killed.earlier[name])
    return f"{found[name]}: as it was before"


KINDS: tuple[Damage, ...] = (flip, cut, cut_between, delete, replace, swap, put_back)
WEIGHTS = (8, 4, 4, 1, 1, 1, 1)


def damaged(killed: Killed, folder: Path, count: int, seed: int) -> Counter[tuple[str, str]]:
    """Outcomes by kind of damage. Of the seed and of nothing else."""
    generator = random.Random(seed)
    counts: Counter[tuple[str, str]] = Counter()
    for number in range(count):
        directory = killed.copied(folder / str(number))
        (how,) = generator.choices(KINDS, WEIGHTS)
        what = how(with_frames(directory), generator, killed)
        said = outcome(directory, killed.acknowledged)
        assert said not in ("lost and not said", "said for nothing"), f"seed {seed}: {what}: {said}"
        counts[how.__name__, said] += 1
        shutil.rmtree(directory)
    return counts


def test_damaged_log_loses_nothing_in_silence(killed: Killed, tmp_path: Path) -> None:
    counts = damaged(killed, tmp_path, DAMAGES, 4)
    said = sum(count for (_, key), count in counts.items() if key == "said")
    assert said > DAMAGES // 2, f"a trial that damages nothing shows nothing: {counts}"


@pytest.mark.soak
def test_log_that_is_damaged_at_many_more_places_loses_nothing_in_silence(
    killed: Killed, tmp_path: Path
) -> None:
    counts = damaged(killed, tmp_path, SOAK_DAMAGES, 5)
    print(dict(counts))


def test_side_file_that_is_gone_too_leaves_what_the_log_shows(
    killed: Killed, tmp_path: Path
) -> None:
    """The log alone shows each damage before its last commit."""
    generator = random.Random(6)
    for number in range(12):
        directory = killed.copied(tmp_path / str(number))
        for path in directory.rglob("*.acknowledged"):
            path.unlink()
        found = with_frames(directory)
        log = found[generator.choice([name for name in sorted(found) if name != "catalog"])]
        data = bytearray(log.read_bytes())
        begin = struct.unpack_from(">II", data, 16)
        current = [
            end
            for end in ends(bytes(data))
            if struct.unpack_from(">II", data, end - FRAME_BYTES + 8) == begin
        ]
        at = generator.randrange(0, current[-2])
        data[at] ^= 1 << generator.randrange(8)
        log.write_bytes(data)
        assert outcome(directory, killed.acknowledged) == "said", at
        shutil.rmtree(directory)


# -- What is no damage


def test_killed_directory_and_its_copy_are_whole(killed: Killed, tmp_path: Path) -> None:
    assert outcome(killed.copied(tmp_path / "a"), killed.acknowledged) == "whole"
    # Closed in an orderly way it has no log, and its side file agrees with it.
    assert not [log for log in logs(tmp_path / "a").values() if log.exists() and log.stat().st_size]
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert outcome(tmp_path / "b", killed.acknowledged) == "whole"


def test_side_file_that_is_gone_older_or_torn_alarms_nobody(killed: Killed, tmp_path: Path) -> None:
    def gone(path: Path) -> None:
        path.unlink()

    def torn(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:50])

    def garbage(path: Path) -> None:
        path.write_bytes(b"\xff" * 8192)

    def older(path: Path) -> None:
        uid = "catalog" if path.name == "catalog.acknowledged" else path.parent.name
        path.unlink()
        note = Note(path.with_suffix(".db"), uid)
        note.put(3, 3)
        note.close()

    for change in (gone, torn, garbage, older):
        directory = killed.copied(tmp_path / change.__name__)
        found = list(directory.rglob("*.acknowledged"))
        assert len(found) >= 3
        for path in found:
            change(path)
        assert outcome(directory, killed.acknowledged) == "whole"
        for text in ("goes on", "goes on and on"):
            with opened(directory) as store:
                store.save(text)
                assert path_of(store.engine._collections.names.catalog.path(uid_of(store))).exists()


def test_side_file_of_another_collection_is_said_and_not_used(
    killed: Killed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = killed.copied(tmp_path / "a")
    one, other = sorted(directory.glob("collections/*/memory.acknowledged"))[:2]
    other.write_bytes(one.read_bytes())
    findings = [line for file in inspect(directory) for line in file.findings]
    assert len(findings) == 1
    assert one.parent.name in findings[0]
    with opened(directory) as store:
        assert shown(store) == killed.acknowledged
        for name in ("default", OTHER):
            store.collection = name
            store.save("goes on")
        assert lost_of(store) == set()
    assert f"is that of {one.parent.name}" in caplog.text
    assert not any(file.findings for file in inspect(directory)), "it was written over"


def test_kill_between_commit_and_note_alarms_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "data") as store:
        store.save("noted")
        monkeypatch.setattr(Note, "put", lambda *_: None)
        store.save("not noted")
        monkeypatch.undo()
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
    with opened(tmp_path / "killed") as store:
        assert lost_of(store) == set()
        assert [memory.content for memory in store.list()] == ["noted", "not noted"]
        store.save("goes on")


def test_loss_of_kept_answers_alone_is_said(tmp_path: Path) -> None:
    """A refused duplicate makes no revision, and its answer is promised all the same."""
    with opened(tmp_path / "data") as store:
        store.save("one")
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
        assert not store.do(remember("one"), "again").saved
        shutil.copy(path_of(store.file()), path_of(next(tmp_path.glob("killed/*/*/memory.db"))))
    with opened(tmp_path / "killed") as store:
        stats = store.stats()
        assert (stats.verified.lost_commit_count, stats.verified.lost_revisions) == (1, "none")
        with pytest.raises(errors.CommitsLost):
            store.save("two")


def test_files_that_are_brought_back_end_it(killed: Killed, tmp_path: Path) -> None:
    directory = killed.copied(tmp_path / "a")
    kept = {log: log.read_bytes() for log in logs(directory).values() if log.parent != directory}
    for log in kept:
        log.unlink()
    assert outcome(directory, killed.acknowledged) == "said"
    for log, data in kept.items():
        log.write_bytes(data)
    assert outcome(directory, killed.acknowledged) == "whole"
    with opened(directory) as store:
        store.save("goes on")


def test_catalogue_that_has_lost_everything_is_refused(killed: Killed, tmp_path: Path) -> None:
    directory = killed.copied(tmp_path / "a")
    log = logs(directory)["catalog"]
    kept = log.read_bytes()
    log.unlink()
    files = sorted(directory.rglob("*"))
    with pytest.raises(errors.Corruption, match="lacks commits that were acknowledged"):
        Store(directory)
    left = set(directory.rglob("*")) - set(files)
    assert {path.name for path in left} <= {"catalog.db-wal", "catalog.db-shm"}
    log.write_bytes(kept)
    assert outcome(directory, killed.acknowledged) == "whole"


@pytest.mark.parametrize("side_file", [True, False])
def test_damaged_pages_are_corruption_with_and_without_a_side_file(
    tmp_path: Path, side_file: bool
) -> None:
    with opened(tmp_path) as store:
        store.save("one")
        database = store.file()
    if not side_file:
        path_of(database).unlink()
    data = database.read_bytes()
    database.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with opened(tmp_path) as store, pytest.raises(errors.Corruption):
        store.list()


def test_damaged_count_of_commits_is_compared_by_revision(tmp_path: Path) -> None:
    with opened(tmp_path / "data") as store:
        store.save("one")
        database = store.file()
    connection = apsw.Connection(str(database))
    connection.execute("UPDATE setting SET value = value || '0' WHERE key = 'batch'")
    connection.close()
    shutil.copytree(tmp_path / "data", tmp_path / "behind")
    with opened(tmp_path / "data") as store:
        assert lost_of(store) == set(), "it may have all"
        store.save("two")
    assert not any(table.findings for table in inspect(tmp_path / "data")), "it was written anew"
    note = Note(tmp_path / "behind" / database.relative_to(tmp_path / "data"), database.parent.name)
    note.put(4, 9)
    note.close()
    with opened(tmp_path / "behind") as store:
        assert store.stats().verified.lost_revisions == "2-4"
