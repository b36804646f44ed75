"""Files that only their owner reads, replaced in one step."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def make_directory(path: Path) -> None:
    """Make a directory and those above it that are missing, all with mode 0700.

    `Path.mkdir` would make the ones above as the umask says. Raises `OSError`.
    """
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def replace(path: Path, data: bytes) -> None:
    """Write a file of mode 0600 in place of an earlier one, synced; after a crash it is either.

    Raises `OSError`; then the earlier one is unchanged.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
