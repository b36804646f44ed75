"""Files derived once from a package's data, and mapped read-only by all processes that need them.

A package ships its word lists and weights compressed. Unpacked in each process they would take
hundreds of megabytes and seconds of CPU. Here they are unpacked once, into the user's cache
directory; a process maps the file and touches the pages that it reads. Each file ends with its
length and checksum, which are compared whenever it is opened: a file that was damaged or cut is
made again. Any of them may be deleted at any time.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_FOLDER = "prepared"
_END = struct.Struct("<QI")
_READ_BYTES = 1 << 20


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
    for place in cache_places():
        directory = place / _FOLDER
        if not private(directory):
            continue
        path = directory / name
        found = _opened(path)
        if found is None:
            made = build()
            with suppress(OSError):
                _write(path, made)
            found = _opened(path)
            return memoryview(made) if found is None else found
        return found
    return memoryview(build())


def unmap(view: memoryview) -> None:
    """Let go of the pages that were read; the next read gets them from the system's copy (1 us)."""
    if isinstance(view.obj, mmap.mmap):
        view.obj.madvise(mmap.MADV_DONTNEED)


def _opened(path: Path) -> memoryview | None:
    """Map a file; `None` if it is missing or not whole."""
    try:
        with path.open("rb") as file:
            length = os.fstat(file.fileno()).st_size - _END.size
            if length <= 0 or not _whole(file, length):
                return None
            # Closed when the last view of it is gone.
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return memoryview(whole)[:length]
    except OSError:
        return None


def _whole(file: BinaryIO, length: int) -> bool:
    """Compare the bytes with the checksum behind them; reading maps no page."""
    crc, rest = 0, length
    while rest and (part := file.read(min(rest, _READ_BYTES))):
        crc, rest = zlib.crc32(part, crc), rest - len(part)
    return file.read() == _END.pack(length, crc)


def _write(path: Path, made: bytes) -> None:
    """Write a file under another name, then rename it: nobody maps half of it."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(made)
            file.write(_END.pack(len(made), zlib.crc32(made)))
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
