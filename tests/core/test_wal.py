"""What a log holds, against SQLite's own recovery and a checksum that is counted word by word."""

from __future__ import annotations

import struct
from pathlib import Path

import apsw
import numpy as np
import pytest

from totonoe_core.store.sqlite import wal

PAGE = 1024
FRAME = 24 + PAGE
COMMITS = 12


def summed(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    """The checksum of a log as its documentation writes it."""
    first, second = before
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for low, high in zip(words[::2], words[1::2], strict=True):
        first = (first + low + second) % 2**32
        second = (second + high + first) % 2**32
    return first, second


def sealed(log: bytes, order: str) -> bytes:
    """A log whose header and frames have the checksums of a byte order."""
    magic = 0x377F0682 | (order == ">")
    header = struct.pack(">I", magic) + log[4:24]
    before = summed(header, (0, 0), order)
    out = header + struct.pack(">II", *before)
    for at in range(32, len(log), FRAME):
        frame = log[at : at + FRAME]
        before = summed(frame[:8] + frame[24:], before, order)
        out += frame[:16] + struct.pack(">II", *before) + frame[24:]
    return out


class Database:
    """A database with a log of some commits, each of which adds a row and is some frames long."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path.with_name(path.name + "-wal")
        connection = apsw.Connection(str(path))
        connection.pragma("page_size", PAGE)
        connection.pragma("journal_mode", "wal")
        connection.execute("CREATE TABLE row (number INTEGER PRIMARY KEY, text TEXT)")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self.main = path.read_bytes()
        for number in range(COMMITS):
            connection.execute("INSERT INTO row VALUES (?, ?)", (number, "x" * 700 * (number % 4)))
        self.data = self.log.read_bytes()
        connection.close()
        self.ends = [
            frame
            for frame in range((len(self.data) - 32) // FRAME)
            if struct.unpack_from(">I", self.data, 32 + frame * FRAME + 4)[0]
        ]
        """The frame that ends each commit."""
        assert len(self.ends) == COMMITS

    def scan(self, log: bytes) -> wal.LogScan:
        self.log.write_bytes(log)
        return wal.scan(self.log)

    def recovered(self, log: bytes) -> int:
        """How many commits SQLite takes from a log."""
        self.path.write_bytes(self.main)
        self.log.write_bytes(log)
        self.path.with_name(self.path.name + "-shm").unlink(missing_ok=True)
        connection = apsw.Connection(str(self.path))
        try:
            return int(connection.execute("SELECT count(*) FROM row").get)
        finally:
            connection.close()

    def flipped(self, at: int, bit: int = 0) -> bytes:
        data = bytearray(self.data)
        data[at] ^= 1 << bit
        return bytes(data)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "a.db")


@pytest.fixture(params=["some at a time", "one at a time"])
def _step(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    size = FRAME if request.param == "one at a time" else 5 * FRAME
    monkeypatch.setattr(wal, "_READ_BYTES", size)


def test_log_that_is_not_there_or_has_no_frame_holds_nothing(tmp_path: Path) -> None:
    log = tmp_path / "a.db-wal"
    assert wal.scan(log) == wal.EMPTY
    for data in (b"", b"x" * 31, b"x" * 32, b"x" * 5000, bytes(5000)):
        log.write_bytes(data)
        assert wal.scan(log) == wal.EMPTY


@pytest.mark.usefixtures("_step")
@pytest.mark.parametrize("order", "<>")
def test_whole_log_is_kept_in_either_byte_order(database: Database, order: str) -> None:
    data = sealed(database.data, order)
    assert order == ">" or data == database.data
    found = database.scan(data)
    assert (found.kept_frame_count, found.damaged, found.lost_commit_count) == (
        database.ends[-1] + 1,
        False,
        0,
    )
    assert database.recovered(data) == COMMITS


@pytest.mark.usefixtures("_step")
@pytest.mark.parametrize("order", "<>")
def test_every_flip_keeps_what_recovery_keeps_and_is_damage_before_the_last_commit(
    database: Database, order: str
) -> None:
    sound = sealed(database.data, order)
    database.data = sound
    for frame in range(database.ends[-1] + 1):
        for place, bit in ((1, 0), (4, 0), (9, 3), (17, 0), (22, 7), (24, 0), (FRAME - 1, 5)):
            data = database.flipped(32 + frame * FRAME + place, bit)
            found = database.scan(data)
            kept = sum(found.kept_frame_count > end for end in database.ends)
            assert kept == sum(frame > end for end in database.ends)
            assert kept == database.recovered(data), (frame, place)
            # A flip that makes a commit mark in the last commit may be seen too.
            assert found.damaged == (frame <= database.ends[-2]) or place == 4, (frame, place)


@pytest.mark.usefixtures("_step")
def test_every_flip_in_the_header_is_damage(database: Database) -> None:
    for at in range(32):
        for bit in (0, 7):
            data = database.flipped(at, bit)
            found = database.scan(data)
            assert (found.kept_frame_count, found.damaged) == (0, True), (at, bit)
            assert found.lost_commit_count == COMMITS


def test_lost_commits_are_counted(database: Database) -> None:
    for lost in range(2, COMMITS):
        at = 32 + (database.ends[-lost - 1] + 1) * FRAME + 30
        assert database.scan(database.flipped(at)).lost_commit_count == lost


@pytest.mark.usefixtures("_step")
def test_every_cut_keeps_what_recovery_keeps_and_shows_no_damage(database: Database) -> None:
    for at in range(0, len(database.data), 97):
        data = database.data[:at]
        found = database.scan(data)
        assert not found.damaged
        assert sum(found.kept_frame_count > end for end in database.ends) == database.recovered(
            data
        )


def test_torn_tail_of_the_last_commit_is_no_damage(database: Database) -> None:
    """Any of its sectors, in any order, as a loss of power leaves them."""
    begin = 32 + (database.ends[-2] + 1) * FRAME
    generator = np.random.default_rng(4)
    for _ in range(200):
        data = bytearray(database.data)
        for at in range(begin - begin % 512, len(data), 512):
            if generator.random() < 0.5:
                low = max(at, begin)
                data[low : at + 512] = bytes(len(data[low : at + 512]))
        assert not database.scan(bytes(data)).damaged


def test_log_that_was_begun_anew_has_its_old_frames_behind_it(tmp_path: Path) -> None:
    database = Database(tmp_path / "a.db")
    connection = apsw.Connection(str(database.path))
    connection.pragma("wal_autocheckpoint", 0)
    for number in range(100, 120):
        connection.execute("INSERT INTO row VALUES (?, ?)", (number, "y" * 2000))
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    older = database.log.read_bytes()
    for number in range(200, 204):
        connection.execute("INSERT INTO row VALUES (?, ?)", (number, "z" * 2000))
    data = database.log.read_bytes()
    connection.close()
    assert len(data) == len(older), "old frames lie behind"
    log = tmp_path / "copy-wal"
    log.write_bytes(data)
    found = wal.scan(log)
    assert 0 < found.kept_frame_count < len(data) // FRAME
    assert not found.damaged
    assert found.lost_commit_count == 0
    # The header alone is new, as before its first commit: all of the rest is in the database.
    log.write_bytes(data[:32] + older[32:])
    assert wal.scan(log) == wal.EMPTY
    # A sector with a header that cannot be read: nothing says that these frames were its.
    log.write_bytes(bytes(512) + older[512:])
    assert wal.scan(log) == wal.EMPTY
    # What is damaged in the old frames harms nobody.
    log.write_bytes(data[:-100] + bytes(100))
    assert wal.scan(log) == found


def test_commits_that_the_disk_refused_leave_frames_that_are_no_damage(tmp_path: Path) -> None:
    """Written, not synced, rolled back: what comes next is written over a part of them."""
    database = Database(tmp_path / "a.db")
    log = database.data
    begin = database.ends[5] + 1
    # Three times after commit 5: nine frames, five frames, and one, which went well.
    nine, five, one = (_commit(log, begin, size) for size in (9, 5, 1))
    data = log[: 32 + begin * FRAME] + one + five[FRAME:] + nine[5 * FRAME :]
    found = database.scan(data)
    assert found.kept_frame_count == begin + 1
    assert not found.damaged
    assert found.lost_commit_count == 2


def _commit(log: bytes, begin: int, size: int) -> bytes:
    """A commit of some frames behind those before `begin`, with other pages than the log has."""
    head, before = log[:32], struct.unpack_from(">II", log, 32 + (begin - 1) * FRAME + 16)
    out = b""
    for number in range(size):
        page = np.random.default_rng((size, number)).bytes(PAGE)
        start = struct.pack(">II", number + 2, 9 if number == size - 1 else 0)
        before = summed(start + page, before, "<")
        out += start + head[16:24] + struct.pack(">II", *before) + page
    return out


def test_header_of_a_frame_in_two_sectors_may_be_of_two_transactions(tmp_path: Path) -> None:
    """Then its commit mark may be of one that was written over, and nothing was lost."""
    database = Database(tmp_path / "a.db")
    salts = database.data[16:24]
    frames, before = [], struct.unpack(">II", database.data[24:32])
    for number in range(64):
        # Frame after frame of one transaction, which was not synced yet; one commit before it.
        start = struct.pack(">II", number + 2, 9 if number in (0, 63) else 0)
        page = np.random.default_rng(number).bytes(PAGE)
        before = summed(start + page, before, "<")
        frames.append(start + salts + struct.pack(">II", *before) + page)
    split = [n for n in range(1, 62) if (32 + n * FRAME) % 512 == 504]
    assert split
    data = bytearray(database.data[:32] + b"".join(frames))
    for frame in split:
        data[32 + frame * FRAME + 7] = 9  # of the frame that lay there before, a commit
    assert not database.scan(bytes(data)).damaged


@pytest.mark.usefixtures("_step")
def test_pages_of_kept_frames_and_the_size_of_the_database_are_those_of_sqlite(
    database: Database,
) -> None:
    pages = [
        int.from_bytes(database.data[32 + frame * FRAME :][:4], "big")
        for frame in range(database.ends[-1] + 1)
    ]
    for commit, end in enumerate(database.ends):
        data = database.data[: 32 + (end + 1) * FRAME]
        found = database.scan(data)
        assert (found.page_bytes, found.pages.tolist()) == (PAGE, pages[: end + 1]), commit
        assert wal.pages_of(database.log, end + 1).tolist() == pages[: end + 1]
        assert wal.pages_of(database.log, end + 9).tolist() == pages[: end + 1], "to its end"
        database.path.write_bytes(database.main)
        database.path.with_name("a.db-shm").unlink(missing_ok=True)
        connection = apsw.Connection(str(database.path))
        assert found.page_count == connection.pragma("page_count")
        connection.close()
