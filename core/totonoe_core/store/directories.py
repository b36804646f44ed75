"""Entries of directories that outlive a loss of power.

Syncing a file does not sync the entry that leads to it (fsync(2)): that is its directory's.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def sync(path: Path) -> None:
    """Writes a directory's entries, or a file's bytes, to disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make(path: Path) -> None:
    """Makes a directory and what leads to it, mode 0700, if they are missing, and syncs them.

    Raises `OSError`.
    """
    if path.is_dir():
        return
    make(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    sync(path.parent)
