"""What `faulty_io.c` noted, and the disks that a loss of power may have left of it.

A call changes what running programs see; what survives is what was synced. `Disk` follows both:
of each file its data now and at its last sync, of each directory its names now and at its last
sync. A new file, a rename or a deletion survives once the directory is synced (fsync(2): syncing
the file does not sync the entry that leads to it).
"""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("faulty_io.c")
SECTOR = 512
_HEAD = struct.Struct("<BIIQQ")


def compiler() -> str | None:
    """A C compiler; there is one wherever hnswlib was installed."""
    return shutil.which("cc") or shutil.which("gcc")


def built(folder: Path) -> Path:
    """The library to be preloaded."""
    library = folder / "faulty_io.so"
    command = [compiler() or "cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE)]
    subprocess.run([*command, "-ldl", "-lpthread"], check=True)
    return library


@dataclass(frozen=True)
class Call:
    """One call that changed or synced something."""

    kind: str
    path: str
    second: str
    offset: int
    data: bytes


def calls(trace: Path) -> Iterator[Call]:
    """What was noted, in order."""
    data, at = trace.read_bytes(), 0
    while at < len(data):
        code, first, second, offset, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        path, at = data[at : at + first].decode(), at + first
        other, at = data[at : at + second].decode(), at + second
        yield Call(chr(code), path, other, offset, data[at : at + size])
        at += size


@dataclass
class File:
    """Data now, data at the last sync, and the writes (or cuts) in between."""

    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    def apply(self, offset: int, data: bytes | None) -> None:
        self.pending.append((offset, data))
        _apply(self.data, offset, data)

    def sync(self) -> None:
        self.synced = bytes(self.data)
        self.pending.clear()

    def torn(self, generator: random.Random) -> bytes:
        """What is synced, and any of the sectors that were written since."""
        found = bytearray(self.synced)
        for offset, data in self.pending:
            if data is None:
                if generator.random() < 0.5:
                    _apply(found, offset, None)
                continue
            for start in range(0, len(data), SECTOR):
                if generator.random() < 0.5:
                    _apply(found, offset + start, data[start : start + SECTOR])
        return bytes(found)


def _apply(target: bytearray, offset: int, data: bytes | None) -> None:
    """A write, or with no data a cut or extension to a length."""
    end = offset if data is None else offset + len(data)
    if len(target) < end:
        target.extend(bytes(end - len(target)))
    if data is None:
        del target[offset:]
    else:
        target[offset:end] = data


Names = dict[str, File | None]
"""Files by path; `None`: a directory."""
Change = str | tuple[str, str]
"""A name that came or went, or a directory that got another one."""


class Disk:
    """Follows calls. `names` is what programs see, `kept` what a loss of power leaves."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.names: Names = {self._root: None}
        self.kept: Names = dict(self.names)
        self._pending: dict[str, list[Change]] = {}

    def apply(self, call: Call) -> None:
        if call.path.endswith("-shm"):
            return  # shared memory: made anew by whoever opens
        if call.kind == "m":
            self._name(call.path, None)
        elif call.kind in "wt":
            found = self.names.get(call.path)
            if found is None:
                found = File()
                self._name(call.path, found)
            found.apply(call.offset, call.data if call.kind == "w" else None)
        elif call.kind == "u":
            self.names.pop(call.path, None)
            self._changed(call.path)
        elif call.kind == "r":
            self._rename(call.path, call.second)
        elif call.kind == "s":
            self._sync(call.path)

    def _rename(self, before: str, after: str) -> None:
        moved = self.names.get(before) is None
        _move(self.names, before, after)
        if not moved:
            self._changed(before)
            self._changed(after)
            return
        # What is in a directory goes with it, and is as much on disk as it was.
        self._pending.setdefault(str(Path(before).parent), []).append((before, after))
        for folder in [path for path in self._pending if _below(path, before)]:
            changes = [_moved(item, before, after) for item in self._pending.pop(folder)]
            self._pending[_moved_path(folder, before, after)] = changes

    def _name(self, path: str, file: File | None) -> None:
        self.names[path] = file
        self._changed(path)

    def _changed(self, path: str) -> None:
        self._pending.setdefault(str(Path(path).parent), []).append(path)

    def _sync(self, path: str) -> None:
        found = self.names.get(path)
        if found is not None:
            found.sync()
            return
        for change in self._pending.pop(path, []):
            self._keep(self.kept, change)

    def _keep(self, kept: Names, change: Change) -> None:
        """Has one change of a directory survive."""
        if isinstance(change, tuple):
            _move(kept, *change)
        elif change in self.names:
            kept[change] = self.names[change]
        else:
            kept.pop(change, None)

    def write(self, folder: Path, generator: random.Random | None) -> None:
        """What is left after a loss of power now, below another folder.

        Without a generator nothing that was not synced is left; with one, any of it may be.
        """
        names = self.kept
        if generator is not None:
            names = dict(names)
            for changes in self._pending.values():
                for change in changes:
                    if generator.random() < 0.5:
                        self._keep(names, change)
        for path in sorted(names):
            parents = [str(entry) for entry in Path(path).parents if _below(str(entry), self._root)]
            if path == self._root or any(parent not in names for parent in parents):
                continue  # what leads to it is lost
            target = folder / Path(path).relative_to(self._root)
            file = names[path]
            if file is None:
                target.mkdir(mode=0o700)
            else:
                target.write_bytes(file.synced if generator is None else file.torn(generator))


def _move(names: Names, before: str, after: str) -> None:
    """Renames a file, or a directory with all that is in it."""
    for path in [name for name in names if _below(name, before)]:
        names[_moved_path(path, before, after)] = names.pop(path)


def _moved_path(path: str, before: str, after: str) -> str:
    return after + path[len(before) :]


def _moved(change: Change, before: str, after: str) -> Change:
    if isinstance(change, tuple):
        return tuple(_moved_path(path, before, after) for path in change)  # type: ignore[return-value]
    return _moved_path(change, before, after)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")
