"""One daemon per data directory, held by an exclusive lock on a file.

The lock ends with the process, also when that is killed. The file names the holder, so that a
second daemon can report it. Not for network file systems.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from totonoe_core.base.errors import Quota
from totonoe_core.store import directories


class DataDirBusy(Quota):
    """Another process holds the data directory. Stop it, or choose another directory."""


class DataDirLock:
    """Exclusive hold on a data directory, which is made with mode 0700 if missing."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._file_descriptor: int | None = None

    def acquire(self, address: str) -> None:
        """Take the lock and write pid and address into it.

        Raises `DataDirBusy` at once if another process has it, naming its pid and
        address; `OSError` if the directory cannot be made or written.
        """
        directories.make(self._data_dir)
        path = self._data_dir / "LOCK"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(descriptor, 1024).decode(errors="replace").split("\n")
            os.close(descriptor)
            if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                raise
            pid, other = (*holder, "", "")[:2]
            raise DataDirBusy(
                "QUOTA_EXCEEDED",
                f"{self._data_dir} is in use by another daemon "
                f"(pid {pid or 'unknown'}, listening on {other or 'unknown'})",
                pid=pid,
                address=other,
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n{address}\n".encode())
        self._file_descriptor = descriptor

    def release(self) -> None:
        """Release the lock. The file stays, since deleting it would race. Idempotent."""
        if self._file_descriptor is not None:
            os.ftruncate(self._file_descriptor, 0)
            os.close(self._file_descriptor)
            self._file_descriptor = None
