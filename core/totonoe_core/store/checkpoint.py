"""Checkpoints of a collection's index: derived from the file, used only if every byte is right.

    <collection>/checkpoint/<revision>-<number>/   arrays, vectors, graph, graph_slots, MANIFEST
                            ....tmp                being written, or left by a crash
                            ....bad                set aside; at most one

A checkpoint is written under a temporary name, its files are synced, MANIFEST comes last, then the
directory is renamed and its parent synced: a name without a suffix means that all of it was
written. MANIFEST names each array with its file, type, shape and sha256, and ends with the sha256
of itself. Arrays lie in their files one behind the other, in the order of the manifest.

Every array is read once, compared with its sha256, and only then used. `index/dump_checks.py` lists
the checks of bytes whose sha256 is right.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.store import directories

FORMAT = 4
KEPT = 2
MANIFEST = "MANIFEST"
ARRAYS = "arrays"
OWN_FILE = ("vectors", "graph_slots", "graph")
"""Arrays with a file of their own name."""
_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR)
"""Errors that mean a shortage of the process or machine; they say nothing about a file."""
_NAME = re.compile(r"(\d{1,19})-(\d{1,9})")
_TEMPORARY, BAD = ".tmp", ".bad"
_BLOCK_BYTES = 1024 * 1024

Block = NDArray[Any]
Header = dict[str, Any]


class Damaged(Exception):  # noqa: N818 - says what is wrong with a checkpoint; nobody's call fails
    """A checkpoint is damaged, or belongs to another collection."""


class Outdated(Exception):  # noqa: N818 - nothing is wrong with it
    """A checkpoint is sound but useless: the settings or the program changed."""


class Abandoned(Exception):  # noqa: N818 - nothing is wrong
    """The writing of a checkpoint was given up: nobody needs it any more."""


@dataclass(frozen=True, slots=True)
class WrittenCheckpoint:
    """A checkpoint that is on disk."""

    path: Path
    revision: int
    bytes: int


class Checkpoints:
    """The checkpoints of one collection. Safe from any thread; one is written at a time.

    `epoch` counts how often all of them were dropped, `bad_count` how many were set aside; `bad`
    names the last of these and its fault.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.epoch = 0
        self.bad_count = 0
        self.bad = ""
        self._lock = threading.Lock()

    def newest_first(self) -> list[Path]:
        """Return finished checkpoints, the newest first."""
        found = []
        try:
            with os.scandir(self.directory) as entries:
                names = [entry.name for entry in entries]
        except OSError:
            return []
        for name in names:
            match = _NAME.fullmatch(name)
            if match:
                found.append((int(match[1]), int(match[2]), self.directory / name))
        return [path for _, _, path in sorted(found, reverse=True)]

    def open(self, path: Path) -> Saved:
        """Open a checkpoint by its manifest. Raises `Damaged`, `Outdated`."""
        return Saved(path)

    def write(
        self, revision: int, header: Header, epoch: int, fill: Callable[[Writing], None]
    ) -> WrittenCheckpoint:
        """Write a checkpoint; `fill` writes its contents.

        Parameters
        ----------
        header : dict
            Description for the manifest, as JSON.
        epoch : int
            Epoch at which its contents were taken.

        Raises
        ------
        Abandoned
            All checkpoints were dropped since, or `fill` raised it.
        OSError
            The disk refuses. Nothing is left in both cases, and older ones stay.
        """
        with self._lock:
            self._check(epoch)
            self.directory.mkdir(mode=0o700, exist_ok=True)
            self._remove_unfinished()
            numbers = [int(path.name.partition("-")[2]) for path in self.newest_first()]
            final = self.directory / f"{revision}-{max(numbers, default=0) + 1}"
            path = final.with_name(final.name + _TEMPORARY)
            path.mkdir(mode=0o700)
        writing = Writing(path, self._lock, lambda: self._check(epoch))
        try:
            fill(writing)
            # Only now, since `fill` may add to the header.
            size = writing.finish({"format": FORMAT, "revision": revision, **header})
            with self._lock:
                self._check(epoch)
                path.rename(final)
                directories.sync(self.directory)
        except BaseException:
            writing.close()
            shutil.rmtree(path, ignore_errors=True)
            raise
        for old in self.newest_first()[KEPT:]:
            shutil.rmtree(old, ignore_errors=True)
        return WrittenCheckpoint(final, revision, size)

    def link_newest(self, target: Path) -> bool:
        """Give the newest checkpoint a second name, a directory; return whether there is one.

        Its files never change, so that nothing is copied. On a file system without hard links there
        is none. A purge that comes meanwhile waits.
        """
        with self._lock:
            for path in self.newest_first():
                try:
                    target.mkdir(mode=0o700)
                    for file in path.iterdir():
                        os.link(file, target / file.name)
                except OSError:
                    shutil.rmtree(target, ignore_errors=True)
                    return False
                return True
        return False

    def _check(self, epoch: int) -> None:
        if epoch != self.epoch:
            raise Abandoned("all checkpoints were dropped meanwhile")

    def set_aside(self, path: Path, why: str) -> None:
        """Move a bad checkpoint aside, replacing the one before. Raises `OSError`."""
        self.bad_count += 1
        self.bad = f"{path.name}: {why}"
        self._remove(BAD)
        path.rename(path.with_name(path.name + BAD))

    def drop(self, path: Path) -> None:
        """Delete one checkpoint. Raises `OSError`."""
        shutil.rmtree(path)

    def drop_all(self) -> None:
        """Deletes every checkpoint, also one that is being written and those set aside.

        Raises `OSError` if anything is left.
        """
        with self._lock:
            self.epoch += 1
            if self.directory.exists():
                shutil.rmtree(self.directory)
                # Before the caller records that all of them are gone.
                directories.sync(self.directory.parent)

    def remove_unfinished(self) -> None:
        """Delete checkpoints that a crash left unfinished. Raises `OSError`."""
        with self._lock:
            self._remove_unfinished()

    def _remove_unfinished(self) -> None:
        self._remove(_TEMPORARY)

    def _remove(self, suffix: str) -> None:
        if self.directory.exists():
            for path in self.directory.iterdir():
                if path.name.endswith(suffix):
                    shutil.rmtree(path)


class Writing:
    """A checkpoint while it is written.

    `pause(seconds)` is called after each block with the time that it took; it may sleep, and may
    raise `Abandoned`.
    """

    def __init__(self, path: Path, lock: threading.Lock, check: Callable[[], None]) -> None:
        self._path = path
        # Files are made under the lock, so that none appears in a directory that is being dropped.
        self._lock = lock
        self._check = check
        self._files: dict[str, FileIO] = {}
        self._bytes = 0
        self._arrays: dict[str, Header] = {}
        self.pause: Callable[[float], None] = lambda _: None

    def put(self, name: str, blocks: Iterable[Block]) -> None:
        """Write an array; see `index.dump.Target`."""
        file = name if name in OWN_FILE else ARRAYS
        rows, width, dtype, total = 0, (), "", hashlib.sha256()
        for block in blocks:
            begin_s = time.perf_counter()
            rows, width, dtype = rows + len(block), block.shape[1:], block.dtype.str
            data = np.ascontiguousarray(block).reshape(-1).view(np.uint8)
            self._write(file, data, total)
            self.pause(time.perf_counter() - begin_s)
        self._note(name, file, dtype, [rows, *width], total)

    def _note(self, name: str, file: str, dtype: str, shape: list[int], total: Any) -> None:
        about = {"file": file, "dtype": dtype, "shape": shape, "sha256": total.hexdigest()}
        self._arrays[name] = about

    def _write(self, name: str, data: NDArray[np.uint8], total: Any) -> None:
        if name not in self._files:
            self._files[name] = self._made(name)
        for start in range(0, len(data), _BLOCK_BYTES):
            block = data.data[start : start + _BLOCK_BYTES]
            total.update(block)
            while len(block):
                block = block[self._files[name].write(block) :]
        self._bytes += len(data)

    def _made(self, name: str) -> FileIO:
        with self._lock:
            self._check()
            return FileIO(self._path / name, "xb")

    def save(self, name: str, save: Callable[[Path], int | None]) -> bool:
        """Let `save` write the file of a byte array and return its length; return whether it did.

        Returns false if `save` wrote nothing.
        """
        with self._lock:
            self._check()
            expected = save(self._path / name)
        if expected is None:
            return False
        file = FileIO(self._path / name, "rb")
        self._files[name] = file
        total, size = _summed(file, self.pause)
        if size != expected:
            # The library does not report a full disk.
            raise OSError(f"{name} has {size} bytes and must have {expected}")
        self._note(name, name, "|u1", [size], total)
        self._bytes += size
        return True

    def finish(self, header: Header) -> int:
        """Sync the files and write the manifest; return the bytes of all files."""
        for file in self._files.values():
            os.fsync(file.fileno())
        text = manifest_text({**header, "byteorder": sys.byteorder, "arrays": self._arrays})
        with self._made(MANIFEST) as manifest:
            manifest.write(text)
            os.fsync(manifest.fileno())
        self.close()
        directories.sync(self._path)
        return self._bytes + len(text)

    def close(self) -> None:
        """Closes the files. Idempotent."""
        for file in self._files.values():
            file.close()


@dataclass(frozen=True, slots=True)
class _Place:
    """Place, type and shape of an array."""

    file: str
    offset: int
    bytes: int
    shape: tuple[int, ...]
    dtype: str
    sha256: str


class Saved:
    """An opened checkpoint; see `index.dump.Source`.

    Each array has its own sha256: `take` returns only if the bytes match. Opening one raises
    `Damaged`, `Outdated`, or `OSError` if the process is out of files or memory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = read_manifest(path / MANIFEST)
        self._places = _places(self.header)
        self._files: dict[str, FileIO] = {}
        sizes = {place.file: place.offset + place.bytes for place in self._places.values()}
        try:
            for name, size in sizes.items():
                self._files[name] = _opened(path / name)
                found = os.fstat(self._files[name].fileno()).st_size
                if found != size:
                    raise Damaged(f"{name} has {found} bytes in place of {size}")
        except BaseException:
            self.close()
            raise

    @property
    def bytes(self) -> int:
        """Bytes of all files but the manifest."""
        return sum(place.bytes for place in self._places.values())

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array that fits into its file. Raises `Damaged`."""
        return self._place(name).shape

    def _place(self, name: str) -> _Place:
        place = self._places.get(name)
        if place is None:
            raise Damaged(f"has no {name}")
        return place

    def take(self, name: str, parts: Sequence[Block]) -> None:
        """Fill parts with an array. If it raises `Damaged`, the parts must not be used."""
        place = self._place(name)
        rows, width = sum(len(part) for part in parts), place.shape[1:]
        if (rows,) != place.shape[:1] or any(
            part.dtype.str != place.dtype or part.shape[1:] != width for part in parts
        ):
            raise Damaged(f"{name} does not fit")
        self._read(name, place, (part.reshape(-1).view(np.uint8).data for part in parts))

    def verify(self) -> None:
        """Read every array, and keep none. Raises `Damaged` for the first bad one."""
        block = memoryview(bytearray(_BLOCK_BYTES))
        for name, place in self._places.items():
            starts = range(0, place.bytes, _BLOCK_BYTES)
            self._read(name, place, (block[: place.bytes - start] for start in starts))

    def _read(self, name: str, place: _Place, targets: Iterable[memoryview]) -> None:
        """Fill targets with the bytes of an array, and compare their sha256."""
        file, total = self._files[place.file], hashlib.sha256()
        file.seek(place.offset)
        for target in targets:
            left = target
            while len(left):
                try:
                    size = file.readinto(left[:_BLOCK_BYTES])
                except OSError as error:
                    raise Damaged(f"{place.file} cannot be read: {error}") from error
                if not size:
                    raise Damaged(f"{place.file} is too short")
                total.update(left[:size])
                left = left[size:]
        if total.hexdigest() != place.sha256:
            raise Damaged(f"{name} in {place.file} does not match its sha256")

    def close(self) -> None:
        """Closes the files."""
        for file in self._files.values():
            file.close()


def _places(header: Header) -> dict[str, _Place]:
    """Return the place of each array, by name. Raises `Damaged`."""
    places: dict[str, _Place] = {}
    ends: dict[str, int] = {}
    try:
        for name, array in header["arrays"].items():
            file, shape = str(array["file"]), tuple(array["shape"])
            dtype = np.dtype(array["dtype"])
            if file not in (ARRAYS, *OWN_FILE) or dtype.hasobject:
                raise Damaged(f"{name} cannot be an array")
            if not all(type(size) is int and size >= 0 for size in shape):
                raise Damaged(f"{name} cannot have the shape {shape}")
            offset, size = ends.get(file, 0), math.prod(shape) * dtype.itemsize
            places[name] = _Place(file, offset, size, shape, array["dtype"], array["sha256"])
            ends[file] = offset + size
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Damaged(f"{MANIFEST} does not describe its arrays: {error!r}") from error
    return places


def _opened(path: Path) -> FileIO:
    """Open a file. Raises `Damaged`, or `OSError` if the error says nothing about the file."""
    try:
        return FileIO(path, "rb")
    except OSError as error:
        if error.errno in _SHORT:
            raise
        raise Damaged(f"{path.name} cannot be read: {error.strerror}") from error


def _summed(file: FileIO, pause: Callable[[float], None]) -> tuple[Any, int]:
    """Return sha256 and size of a file, from its current position on."""
    total, size, block = hashlib.sha256(), 0, bytearray(_BLOCK_BYTES)
    while True:
        begin_s = time.perf_counter()
        count = file.readinto(block)
        if not count:
            return total, size
        total.update(memoryview(block)[:count])
        size += count
        pause(time.perf_counter() - begin_s)


def manifest_text(header: Header) -> bytes:
    """Return the bytes of a manifest, which end with the sha256 of themselves."""
    text = json.dumps(header, separators=(",", ":")).encode() + b"\n"
    return text + hashlib.sha256(text).hexdigest().encode() + b"\n"


def read_manifest(path: Path) -> Header:
    """Read a manifest. Raises `Damaged`, `Outdated`, `OSError` as `Saved`, `ValueError`."""
    with _opened(path) as file:
        data = file.read(limits.CHECKPOINT_MANIFEST_BYTES_MAX)
    text, line_end, end = data[:-1].rpartition(b"\n")
    text += line_end
    if end + data[-1:] != hashlib.sha256(text).hexdigest().encode() + b"\n":
        raise Damaged(f"{MANIFEST} does not match its sha256")
    header: Header = json.loads(text)
    if not isinstance(header, dict):
        raise Damaged(f"{MANIFEST} is no manifest")
    if header.get("format") != FORMAT or header.get("byteorder") != sys.byteorder:
        raise Outdated(f"has format {header.get('format')}, {header.get('byteorder')} endian")
    return header
