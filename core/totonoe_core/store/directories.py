"""Directories that survive a loss of power and are private to their owner.

Syncing a file does not sync its directory entry (fsync(2)); syncing the directory does.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_OTHERS = 0o077
_PARTS = ("collections", "snapshots")
_EMPTY = frozenset({"LOCK", "lost+found"})
"""Entries that an otherwise empty directory may hold."""


def sync(path: Path) -> None:
    """Write a directory's entries, or a file's bytes, to disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make(path: Path) -> None:
    """Make a directory and its parents, mode 0700, if they are missing, and sync them.

    Raises `OSError`.
    """
    if path.is_dir():
        return
    make(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    sync(path.parent)


@contextlib.contextmanager
def private() -> Iterator[None]:
    """Make files and directories private to the user, within a `with` block."""
    before = os.umask(_OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def tighten(data_dir: Path) -> int:
    """Remove every right of other users from a data directory and our files in it.

    Returns how many directories and files had wider modes than 0700 and 0600. Nothing else in the
    directory is touched, and no link is followed; a directory that is missing needs nothing.

    Raises
    ------
    PermissionError
        Another user owns a file that is open to others; or the directory is open to others and
        holds foreign files, so that it may have another purpose.
    """
    if not data_dir.is_dir():
        return 0
    names = {path.name for path in data_dir.iterdir()}
    if "catalog.db" not in names and _is_wide(data_dir) and names - _EMPTY:
        raise _refused(data_dir, "holds other files: choose an empty directory")
    count = int(_close(data_dir))
    for name in sorted(names):
        if name == "LOCK" or name.startswith("catalog."):
            count += _close(data_dir / name)
    for part in _PARTS:
        for directory, _, files in os.walk(data_dir / part):
            # The directory first, so that nobody reaches its files meanwhile.
            count += _close(Path(directory))
            count += sum(_close(Path(directory) / name) for name in files)
    return count


def _is_wide(path: Path) -> bool:
    return bool(path.stat().st_mode & _OTHERS)


def _close(path: Path) -> bool:
    """Close a directory or file to other users; return whether it was open to them."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) and path.name not in _PARTS:
            return False
        if not _is_wide(path):
            return False
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)
    except FileNotFoundError:
        return False  # it is just being deleted
    except PermissionError as error:
        raise _refused(path, "belongs to another user: its owner has to close it") from error
    return True


def _refused(path: Path, why: str) -> PermissionError:
    mode = stat.S_IMODE(path.stat().st_mode)
    return PermissionError(
        errno.EPERM, f"it is open to other users (mode {mode:04o}) and {why}", str(path)
    )
