"""Side file beside each database that holds its newest acknowledged commit.

    <name>.acknowledged     two slots, 4,096 bytes apart: magic, uid, revision, batch number, crc32

A database whose log was cut, deleted or exchanged is an older database, and sound: nothing in it
shows the loss. So each commit is counted in the database (its batch number), and noted here after
the commit and before its answer, with one pwrite into the older slot. If power is lost during a
write, that slot fails its crc, and the other one holds.

The file is synced once a second at most: a sync for each commit would cost more than half of the
commit itself. After a loss of power the file may lag, be torn or be gone. None of these raises an
alarm; only a file that is *ahead* of its database does.
"""

from __future__ import annotations

import contextlib
import logging
import os
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)

SUFFIX: Final = ".acknowledged"
SYNC_S = 1.0
_SLOT: Final = struct.Struct("<8s32sQQ")
_CRC: Final = struct.Struct("<I")
_SLOT_BYTES: Final = _SLOT.size + _CRC.size
_APART_BYTES: Final = 4096
_SLOT_COUNT: Final = 2
_MAGIC: Final = b"totonoe1"
_UID_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The newest acknowledged commit: uid of its file, revision and batch number."""

    uid: str
    revision: int
    batch: int


def path_of(database: Path) -> Path:
    """Return the path of a database's side file.

    The name sorts before the database's: a copy in the order of names takes the side file first, so
    that it lags.
    """
    return database.with_suffix(SUFFIX)


def read(database: Path, uid: str) -> Acknowledged | None:
    """Read the side file of a database; `None` if it is missing or unreadable.

    Returns a slot of another `uid` only if neither slot has this one.
    """
    try:
        with path_of(database).open("rb") as file:
            data = file.read(_APART_BYTES + _SLOT_BYTES)
    except OSError:
        return None
    places = range(0, _SLOT_COUNT * _APART_BYTES, _APART_BYTES)
    slots = [slot for at in places if (slot := _parsed(data[at : at + _SLOT_BYTES])) is not None]
    own = [slot for slot in slots if slot.uid == shortened(uid)]
    return max(own or slots, key=lambda slot: slot.batch, default=None)


def shortened(uid: str) -> str:
    """Return the part of a uid that a slot holds."""
    return _text(uid.encode()[:_UID_BYTES])


def _parsed(slot: bytes) -> Acknowledged | None:
    if len(slot) < _SLOT_BYTES or _CRC.unpack_from(slot, _SLOT.size)[0] != zlib.crc32(
        slot[: _SLOT.size]
    ):
        return None
    magic, uid, revision, batch = _SLOT.unpack_from(slot)
    return Acknowledged(_text(uid), revision, batch) if magic == _MAGIC else None


def _text(uid: bytes) -> str:
    return uid.rstrip(b"\0").decode(errors="replace")


class Note:
    """Notes the commits of one database. Used by the thread that writes it."""

    def __init__(
        self, database: Path, uid: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = path_of(database)
        self._uid = uid.encode()[:_UID_BYTES]
        self._monotonic = monotonic
        self._descriptor = -1
        self._synced_s = monotonic()
        self._failed = False

    def put(self, revision: int, batch: int) -> None:
        """Note a commit that is on disk. An error of the disk is logged once, and the file lags."""
        slot = _SLOT.pack(_MAGIC, self._uid, revision, batch)
        slot += _CRC.pack(zlib.crc32(slot))
        try:
            if self._descriptor < 0:
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                self._descriptor = os.open(self._path, flags, 0o600)
            os.pwrite(self._descriptor, slot, batch % _SLOT_COUNT * _APART_BYTES)
            now_s = self._monotonic()
            if now_s - self._synced_s >= SYNC_S:
                self._synced_s = now_s
                os.fdatasync(self._descriptor)
        except OSError as error:
            if not self._failed:
                self._failed = True
                _log.warning("%s cannot be written and lags: %s", self._path.name, error)

    def close(self) -> None:
        """Syncs and closes the file. Idempotent."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                os.fdatasync(descriptor)
            os.close(descriptor)
