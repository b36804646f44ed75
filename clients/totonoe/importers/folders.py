"""Folders of Markdown files, read within limits and never outside of the folder that was named.

A symbolic link inside the folder is not followed: it may lead to any file of the user. The named
folder itself may be one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from totonoe.importers.records import RECORD_BYTES_MAX, Reason, Skipped

FILES_MAX = 20_000
"""Files and folders that are looked at, links and files of other kinds included."""
FOLDER_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of the files that are read."""
DEPTH_MAX = 12
"""Folders below the named one."""
_NOT_FOLLOWED = "a symbolic link is not followed"


@dataclass(frozen=True, slots=True)
class Page:
    """A Markdown file.

    Attributes
    ----------
    name : str
        Its path below the named folder, with `/`.
    text : str
    changed_s : float
        When it was last changed, in seconds since 1970.
    """

    name: str
    text: str
    changed_s: float


def pages(root: Path, suffix: str = ".md") -> Iterator[Page | Skipped]:
    """Yield the files below a folder, or the one file, in the order of their names.

    Names that begin with a dot are passed over: `.git`, `.obsidian`.

    Raises
    ------
    ValueError
        Nothing is there, or the folder is over a limit.
    """
    if not root.exists():
        raise ValueError(f"{root}: No such file or directory")
    if root.is_file():
        yield page(root.resolve(), root.name)
        return
    size_bytes = 0
    for file, name in _files(root.resolve(), suffix):
        if file.is_symlink():
            yield Skipped(name, Reason.LINK, _NOT_FOLLOWED)
            continue
        found = page(file, name)
        if isinstance(found, Page):
            size_bytes += len(found.text)
            if size_bytes > FOLDER_BYTES_MAX:
                raise ValueError(f"{root}: got more than {FOLDER_BYTES_MAX} bytes of {suffix}")
        yield found


def _files(root: Path, suffix: str) -> Iterator[tuple[Path, str]]:
    """Yield the files, and the links to files and folders, each with its name."""
    count = 0
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise ValueError(f"{folder}: {error.strerror}") from None
        below = []
        for entry in entries:
            count += 1
            if count > FILES_MAX:
                raise ValueError(f"{root}: got more than {FILES_MAX} files, allowed: {FILES_MAX}")
            if entry.name.startswith("."):
                continue
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                if depth == DEPTH_MAX:
                    raise ValueError(f"{path}: got folders deeper than {DEPTH_MAX}")
                below.append((path, depth + 1))
            elif entry.name.endswith(suffix) or (entry.is_symlink() and path.is_dir()):
                yield path, path.relative_to(root).as_posix()
        waiting += reversed(below)


def page(file: Path, name: str) -> Page | Skipped:
    """Read one file; a link, a file over the limit or of no UTF-8 is skipped with its name."""
    try:
        # Without blocking: a pipe has this suffix as well as a file.
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if file.is_symlink():
            return Skipped(name, Reason.LINK, _NOT_FOLLOWED)
        return Skipped(name, Reason.DAMAGED, error.strerror or type(error).__name__)
    try:
        with os.fdopen(handle, "rb") as raw:
            state = os.fstat(raw.fileno())
            if not stat.S_ISREG(state.st_mode):
                return Skipped(name, Reason.DAMAGED, "no file, allowed: a file")
            data = raw.read(RECORD_BYTES_MAX + 1)
    except OSError as error:
        return Skipped(name, Reason.DAMAGED, error.strerror or type(error).__name__)
    if len(data) > RECORD_BYTES_MAX:
        return Skipped(name, Reason.TOO_LARGE)
    try:
        return Page(name, data.decode("utf-8-sig"), state.st_mtime)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Skipped(f"{name} line {line}", Reason.DAMAGED, "no UTF-8")
