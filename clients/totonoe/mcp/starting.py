"""Starts the daemon if none answers. It outlives the server that started it.

Several servers may start one at once: the first daemon locks the data directory, and the others
end with a line that names its address. Each server then connects to the daemon that won.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from totonoe.call.channel import DEFAULT_ADDRESS
from totonoe.steps import starting

LOG_BYTES_MAX = 1024 * 1024
"""A longer log of earlier daemons is emptied before the next start."""
AGAIN_S = 10.0
"""Seconds after which another daemon is started if the one that won does not answer yet."""
CONNECT_S = 1.0
_TAIL_BYTES_MAX = 8192
_LINE_CHARS_MAX = 300
_LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})


class StartFailed(Exception):  # noqa: N818 - named for what happened, as the errors of the client
    """The daemon cannot be started here. The message is one sentence for the agent."""


def is_local(address: str) -> bool:
    """Return true if a daemon that listens on this address runs on this machine."""
    return address.startswith("unix:") or address.rpartition(":")[0] in _LOCAL_HOSTS


def state_dir() -> Path:
    """Return the folder of what this user's servers keep."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "totonoe-mcp"


def log_path() -> Path:
    """Return the file that a daemon started here writes its log to."""
    return state_dir() / "daemon.log"


async def answers(address: str) -> bool:
    """Return true if somebody accepts connections at the address. Loads no gRPC."""
    try:
        async with asyncio.timeout(CONNECT_S):
            if address.startswith("unix:"):
                path = "/" + address.removeprefix("unix:").lstrip("/")
                _, writer = await asyncio.open_unix_connection(path)
            else:
                host, _, port = address.rpartition(":")
                _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True


class DaemonStarter:
    """Starts a daemon at an address, at most one at a time.

    Parameters
    ----------
    address : str
        Of the daemon.
    allowed : bool
        If false, `ensure` raises in place of starting one.
    """

    def __init__(self, address: str, allowed: bool) -> None:
        self._address = address
        self._allowed = allowed and is_local(address)
        self._process: subprocess.Popen[bytes] | None = None
        self._begun_s = 0.0
        self._log_begin = 0
        self._served = False
        self.starting = False

    async def begin(self) -> None:
        """Start a daemon if nobody answers. A failure is reported by the first call."""
        if self._allowed and not await answers(self._address):
            with suppress(StartFailed):
                self.ensure()

    def ensure(self) -> None:
        """Start a daemon unless one is starting. Call it when none answers.

        Raises
        ------
        StartFailed
            It must not be started, or it ended.
        """
        if not self._allowed:
            line = starting(self._address, DEFAULT_ADDRESS)
            how = f" Start it with: {line}" if line else ""
            raise StartFailed(f"No memory answers at {self._address}.{how}")
        if self._process is not None:
            recent = time.monotonic() - self._begun_s < AGAIN_S
            if self._process.poll() is None or (recent and self._another_won()):
                return
            failed = not (self._served or self._another_won())
            self._process, self.starting = None, False
            if failed:
                raise StartFailed(f"The memory did not start: {self._last()} (log: {log_path()})")
        if importlib.util.find_spec("totonoe_server") is None:
            raise StartFailed("The daemon is not installed: pip install 'totonoe[server]'")
        try:
            self._start()
        except OSError as error:
            raise StartFailed(f"The memory did not start: {error.strerror}") from error

    def answered(self) -> None:
        """Note that the daemon serves."""
        self.starting, self._served = False, True

    def _start(self) -> None:
        path = log_path()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LOG_BYTES_MAX:
            path.write_bytes(b"")
        with path.open("ab") as log:
            self._log_begin = log.tell()
            # Hosts end the whole process group of a server, so the daemon gets a session of its
            # own. Nothing of it may reach the standard output, which carries the protocol. -P: the
            # working directory is somebody's project, whose modules must not run.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "totonoe_server", "--address", self._address],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._begun_s, self.starting, self._served = time.monotonic(), True, False

    def _another_won(self) -> bool:
        """Return true if our daemon found one that starts, or runs, at the same address."""
        place = self._address.replace("localhost:", "127.0.0.1:").replace("unix:///", "unix:/")
        return f"listening on {place})" in self._logged()

    def _last(self) -> str:
        """Return the last line of the daemon's log, which holds no text of a memory."""
        lines = [line.strip() for line in self._logged().splitlines() if line.strip()]
        return lines[-1][:_LINE_CHARS_MAX] if lines else "it said nothing"

    def _logged(self) -> str:
        """Return the end of the log since our daemon was started."""
        try:
            with log_path().open("rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_begin, size - _TAIL_BYTES_MAX))
                return log.read(_TAIL_BYTES_MAX).decode(errors="replace")
        except OSError:
            return ""
