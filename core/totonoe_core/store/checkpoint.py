"""Checkpoints of what is in memory of a collection: derived, and good only if every byte is.

    <collection>/checkpoint/<revision>-<number>/   arrays, vectors, graph, graph_slots, MANIFEST
                            ....tmp                being written, or left by a crash
                            ....bad                set aside; at most one

A checkpoint is written under a temporary name, its files are synced, MANIFEST comes last, then the
directory is renamed and its parent synced: a name without a suffix means that all of it was
written. MANIFEST names each file with its size and sha256, and ends with the sha256 of itself.
Arrays lie in their files one behind the other, in the order in which they are read.
"""

from __future__ import annotations

import hashlib
import json
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

from totonoe_core import limits
from totonoe_core.store import directories

FORMAT = 1
KEPT = 2
MANIFEST = "MANIFEST"
ARRAYS = "arrays"
_OWN_FILE = ("vectors", "graph_slots")
_NAME = re.compile(r"(\d{1,19})-(\d{1,9})")
_TEMPORARY, _BAD = ".tmp", ".bad"
_BLOCK_BYTES = 1024 * 1024

Block = NDArray[Any]
Header = dict[str, Any]


class Damaged(Exception):  # noqa: N818 - says what is wrong with a checkpoint; nobody's call fails
    """A checkpoint is not what was written, or belongs to something else."""


class Outdated(Exception):  # noqa: N818 - nothing is wrong with it
    """A checkpoint is sound, and of no use any more: the settings or the program changed."""


class Abandoned(Exception):  # noqa: N818 - nothing is wrong
    """A checkpoint was given up: it is not wanted any more."""


@dataclass(frozen=True, slots=True)
class Written:
    """A checkpoint that is on disk."""

    path: Path
    revision: int
    bytes: int


class Checkpoints:
    """The checkpoints of one collection. Safe from any thread; one is written at a time.

    `epoch` counts how often all of them were dropped, `bad_count` how many were set aside.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.epoch = 0
        self.bad_count = 0
        self._lock = threading.Lock()

    def newest_first(self) -> list[Path]:
        """Finished checkpoints."""
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
        """A checkpoint by its manifest. Raises `Damaged`, `Outdated`."""
        return Saved(path)

    def write(
        self, revision: int, header: Header, epoch: int, fill: Callable[[Writing], None]
    ) -> Written:
        """Writes a checkpoint; `fill` puts in what it holds.

        Parameters
        ----------
        header : dict
            What the manifest says of it, as JSON.
        epoch : int
            That at which its contents were taken.

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
            # Not before: `fill` may have more to say.
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
        return Written(final, revision, size)

    def _check(self, epoch: int) -> None:
        if epoch != self.epoch:
            raise Abandoned("all checkpoints were dropped meanwhile")

    def set_aside(self, path: Path) -> None:
        """Takes a bad one out of the way, in the place of the one before. Raises `OSError`."""
        self.bad_count += 1
        self._remove(_BAD)
        path.rename(path.with_name(path.name + _BAD))

    def drop(self, path: Path) -> None:
        """Deletes one. Raises `OSError`."""
        shutil.rmtree(path)

    def drop_all(self) -> None:
        """Deletes every checkpoint, also one that is being written and those set aside.

        Raises `OSError` if anything is left.
        """
        with self._lock:
            self.epoch += 1
            if self.directory.exists():
                shutil.rmtree(self.directory)
                # Before anybody notes that all of it is gone.
                directories.sync(self.directory.parent)

    def remove_unfinished(self) -> None:
        """Deletes what a crash left. Raises `OSError`."""
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
    """A checkpoint while it is written. `pause(seconds)` is called after each block with the time
    that it took; it may rest, and may raise `Abandoned`."""

    def __init__(self, path: Path, lock: threading.Lock, check: Callable[[], None]) -> None:
        self._path = path
        # Files are made under the lock: else one might appear in a directory that is being dropped.
        self._lock = lock
        self._check = check
        self._files: dict[str, FileIO] = {}
        self._sums: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}
        self._arrays: dict[str, Header] = {}
        self.pause: Callable[[float], None] = lambda _: None

    def put(self, name: str, blocks: Iterable[Block]) -> None:
        """Writes an array; see `index.dump.Target`."""
        file = name if name in _OWN_FILE else ARRAYS
        rows, width, dtype = 0, (), ""
        for block in blocks:
            begin_s = time.perf_counter()
            rows, width, dtype = rows + len(block), block.shape[1:], block.dtype.str
            data = np.ascontiguousarray(block).reshape(-1).view(np.uint8)
            self._write(file, data)
            self.pause(time.perf_counter() - begin_s)
        self._arrays[name] = {"file": file, "dtype": dtype, "shape": [rows, *width]}

    def _write(self, name: str, data: NDArray[np.uint8]) -> None:
        if name not in self._files:
            self._files[name] = self._made(name)
            self._sums[name], self._sizes[name] = hashlib.sha256(), 0
        for start in range(0, len(data), _BLOCK_BYTES):
            block = data.data[start : start + _BLOCK_BYTES]
            self._sums[name].update(block)
            while len(block):
                block = block[self._files[name].write(block) :]
        self._sizes[name] += len(data)

    def _made(self, name: str) -> FileIO:
        with self._lock:
            self._check()
            return FileIO(self._path / name, "xb")

    def save(self, name: str, save: Callable[[Path], int | None]) -> bool:
        """Has somebody else write a file, who says how long it must be, and checks that it is.

        False: nothing was written.
        """
        with self._lock:
            self._check()
            expected = save(self._path / name)
        if expected is None:
            return False
        file = FileIO(self._path / name, "rb")
        self._files[name] = file
        self._sums[name], self._sizes[name] = _summed(file, self.pause)
        if self._sizes[name] != expected:
            # The library says nothing of a full disk.
            raise OSError(f"{name} has {self._sizes[name]} bytes and must have {expected}")
        return True

    def finish(self, header: Header) -> int:
        """Syncs the files and writes the manifest; the bytes of all."""
        files = {}
        for name, file in self._files.items():
            os.fsync(file.fileno())
            files[name] = {"bytes": self._sizes[name], "sha256": self._sums[name].hexdigest()}
        head = {**header, "byteorder": sys.byteorder, "files": files, "arrays": self._arrays}
        text = json.dumps(head, separators=(",", ":")).encode() + b"\n"
        with self._made(MANIFEST) as manifest:
            manifest.write(text + hashlib.sha256(text).hexdigest().encode() + b"\n")
            os.fsync(manifest.fileno())
        self.close()
        directories.sync(self._path)
        return sum(self._sizes.values()) + len(text)

    def close(self) -> None:
        """Closes the files. Idempotent."""
        for file in self._files.values():
            file.close()


class Saved:
    """A checkpoint that is read; see `index.dump.Source`. Nothing of it may be used before
    `verify`, or `checked_file` of a file, has come back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = _manifest(path / MANIFEST)
        self._files: dict[str, FileIO] = {}
        self._sums: dict[str, Any] = {}
        self._read: dict[str, int] = {}

    @property
    def bytes(self) -> int:
        """Bytes of all files but the manifest."""
        return sum(int(file["bytes"]) for file in self.header["files"].values())

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array. Raises `Damaged`."""
        return tuple(self._array(name)["shape"])

    def _array(self, name: str) -> Header:
        found: Header | None = self.header["arrays"].get(name)
        if found is None:
            raise Damaged(f"has no {name}")
        return found

    def take(self, name: str, parts: Sequence[Block]) -> None:
        """Fills parts with an array. Raises `Damaged`."""
        array = self._array(name)
        rows = sum(len(part) for part in parts)
        if rows != array["shape"][0] or any(part.dtype.str != array["dtype"] for part in parts):
            raise Damaged(f"{name} does not fit")
        file = self._opened(array["file"])
        for part in parts:
            data = part.reshape(-1).view(np.uint8).data
            while len(data):
                try:
                    size = file.readinto(data[:_BLOCK_BYTES])
                except OSError as error:
                    raise Damaged(f"{array['file']} cannot be read: {error}") from error
                if not size:
                    raise Damaged(f"{array['file']} is too short")
                self._sums[array["file"]].update(data[:size])
                self._read[array["file"]] += size
                data = data[size:]

    def _opened(self, name: str) -> FileIO:
        if name not in self._files:
            self._files[name] = _opened(self.path / name)
            self._sums[name], self._read[name] = hashlib.sha256(), 0
        return self._files[name]

    def verify(self) -> None:
        """Checks that what was taken is all of its files, and what was written.

        Raises `Damaged`.
        """
        for name, file in self._files.items():
            self._compare(name, self._sums[name], self._read[name])
            if file.read(1):
                raise Damaged(f"{name} is too long")

    def checked_file(self, name: str) -> Path:
        """The path of a file that is what was written. Raises `Damaged`."""
        with _opened(self.path / name) as file:
            self._compare(name, *_summed(file, lambda _: None))
        return self.path / name

    def _compare(self, name: str, found: Any, size: int) -> None:
        expected = self.header["files"].get(name)
        if expected is None:
            raise Damaged(f"has no {name}")
        if size != expected["bytes"]:
            raise Damaged(f"{name} has {size} bytes in place of {expected['bytes']}")
        if found.hexdigest() != expected["sha256"]:
            raise Damaged(f"{name} does not match its sha256")

    def close(self) -> None:
        """Closes the files."""
        for file in self._files.values():
            file.close()


def _opened(path: Path) -> FileIO:
    try:
        return FileIO(path, "rb")
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read: {error.strerror}") from error


def _summed(file: FileIO, pause: Callable[[float], None]) -> tuple[Any, int]:
    """sha256 and size of a file, from where it stands."""
    total, size, block = hashlib.sha256(), 0, bytearray(_BLOCK_BYTES)
    while True:
        begin_s = time.perf_counter()
        count = file.readinto(block)
        if not count:
            return total, size
        total.update(memoryview(block)[:count])
        size += count
        pause(time.perf_counter() - begin_s)


def _manifest(path: Path) -> Header:
    with _opened(path) as file:
        data = file.read(limits.CHECKPOINT_MANIFEST_BYTES_MAX)
    text, line_end, end = data[:-1].rpartition(b"\n")
    text += line_end
    if end + data[-1:] != hashlib.sha256(text).hexdigest().encode() + b"\n":
        raise Damaged(f"{MANIFEST} does not match its sha256")
    header: Header = json.loads(text)
    if header.get("format") != FORMAT or header.get("byteorder") != sys.byteorder:
        raise Outdated(f"has format {header.get('format')}, {header.get('byteorder')} endian")
    return header
