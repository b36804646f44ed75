"""Comparison of a database's file with the pages that it must have.

SQLite takes a file that ends too early for a sound one if its log holds a commit, or if only a part
of the last page is missing. It then serves what is left, takes writes, and a checkpoint fills the
hole with zeros. So the file is measured before SQLite opens it, before each checkpoint, and before
a snapshot is copied.

    pages that there must be    of the last commit in the log; without one, of the file's header
    where each of them is       in the file, or in a frame of the log that recovery takes

The second line is exact: a log is begun anew only after all of it is in the file, and the file is
cut only to the size of the database.
"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Final

import apsw
import numpy as np

from totonoe_core.base.errors import Corruption
from totonoe_core.store.sqlite import wal
from totonoe_core.store.sqlite.identity import shown
from totonoe_core.store.sqlite.wal import LogScan, Words

_log = logging.getLogger(__name__)

CHECKPOINT_PAGES: Final = 4000
"""Frames of a log from which on a commit writes them back into the file."""
_HEADER_BYTES: Final = 100
_MAGIC: Final = b"SQLite format 3\0"
_LOCK_BYTE: Final = 0x4000_0000
"""Offset of the page that SQLite never writes."""
_TRIED_MAX: Final = 5


def check(path: Path, log: LogScan | None = None) -> None:
    """Raise `Corruption` if a file is shorter than its header and its log say.

    `log` is the scan of its log, if the caller has it and nobody writes. Without it, the file may
    be in use: a file that changes meanwhile is looked at again. A missing file, and one that is no
    database, pass: opening them raises their faults. Raises `OSError`.
    """
    for _ in range(_TRIED_MAX):
        before = _stamps(path)
        scanned = wal.scan(_log_of(path)) if log is None else log
        fault = _fault(path, scanned)
        if fault is None or log is not None or _stamps(path) == before:
            break
    if fault is not None:
        raise fault


def _fault(path: Path, log: LogScan) -> Corruption | None:
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            file_bytes = file.seek(0, 2)
    except FileNotFoundError:
        return None
    page_bytes, page_count = log.page_bytes, log.page_count
    if not log.kept_frame_count:
        if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
            return None
        stated = int.from_bytes(header[16:18], "big")
        page_bytes = 65536 if stated == 1 else stated
        page_count = int.from_bytes(header[28:32], "big")
    return _compared(path, file_bytes, page_bytes, page_count, log.pages)


def _compared(
    path: Path, file_bytes: int, page_bytes: int, page_count: int, logged: Words
) -> Corruption | None:
    """Return the fault of a file; `logged` are the pages in its log."""
    if page_bytes <= 0 or file_bytes >= page_bytes * page_count:
        return None
    held = file_bytes // page_bytes
    wanted = page_count - held - (held < _LOCK_BYTE // page_bytes + 1 <= page_count)
    beyond = np.unique(logged[(logged > held) & (logged <= page_count)])
    missing = wanted - len(beyond)
    if missing <= 0:
        return None
    return Corruption(
        "CORRUPT_ROW",
        f"{shown(path)} is cut: it has {file_bytes} bytes and {page_count} pages of {page_bytes}, "
        f"and {missing} of them are neither in it nor in its log; it is not used: bring the file "
        "and its log back from a copy, or restore a snapshot under another name",
        file=shown(path),
    )


class Log:
    """The log of one open file: written back into the file, unless that lacks pages.

    Used on the thread of the connection that writes. `fault` is the damage that was found last;
    then nothing is written back any more, also when the connection is closed.
    """

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._path = path
        self.fault: Corruption | None = None
        # This takes the place of SQLite's own automatic checkpoints.
        connection.set_wal_hook(self._committed)

    def _committed(self, connection: apsw.Connection, name: str, frame_count: int) -> int:
        """Write the log back after a commit that made it long. The commit stands in any case."""
        if frame_count >= CHECKPOINT_PAGES and self.fault is None:
            with contextlib.suppress(apsw.Error, OSError, Corruption):
                self.check(connection)
                connection.wal_checkpoint(dbname=name, mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        return apsw.SQLITE_OK

    def check(self, connection: apsw.Connection) -> None:
        """Raise `Corruption` if the file lacks pages. Not within a transaction.

        Raises what SQLite raises, and `OSError`.
        """
        frame_count, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        page_bytes = int(connection.pragma("page_size"))
        page_count = int(connection.pragma("page_count"))
        file_bytes = self._path.stat().st_size
        logged = np.empty(0, np.uint32)
        if frame_count > 0 and file_bytes < page_bytes * page_count:
            logged = wal.pages_of(_log_of(self._path), frame_count)
        fault = _compared(self._path, file_bytes, page_bytes, page_count, logged)
        if fault is not None:
            if self.fault is None:
                _log.error("%s", fault.message)
            self.fault = fault
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            raise fault

    def empty(self, connection: apsw.Connection) -> None:
        """Write the log back and truncate it. Raises as `check`, and `apsw.BusyError`."""
        self.check(connection)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def raise_fault(self) -> None:
        """Raise the damage, if some was found: before each change."""
        if self.fault is not None:
            raise self.fault


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _stamps(path: Path) -> list[tuple[int, int]]:
    """Return size and time of a file and of its log; those of a missing one are zeros."""
    found = []
    for file in (path, _log_of(path)):
        try:
            about = file.stat()
            found.append((about.st_size, about.st_mtime_ns))
        except FileNotFoundError:
            found.append((0, 0))
    return found
