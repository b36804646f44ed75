"""Handle of one helper process: starts it, sends to it, receives from it, ends it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from typing import BinaryIO, cast

from totonoe_core.helper import frames

_END_TIME_S = 2.0
_ONE_THREAD = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
# A table that is filled row by row would take 2 MB, a huge page, for its first row: 10 MB in all.
_SMALL_PAGES = {"NUMPY_MADVISE_HUGEPAGE": "0"}


class ChildGoneError(Exception):
    """The child died, closed its pipes, or does not take what is sent to it."""


class Child:
    """One running helper process. A thread reads its output; all else runs on the caller's thread.

    Attributes
    ----------
    pid : int
    received : tuple of bytes and bytes, or None
        Kind and body of the last frame that `take` did not yet return. Under `changed`.
    gone : bool
        True once its output ended; no frame follows. Under `changed`.
    """

    def __init__(self, module: str, settings: bytes, changed: threading.Condition) -> None:
        """Start it and send the settings.

        Parameters
        ----------
        module : str
            What it runs: a module of this distribution that ends in `serving.serve`.
        settings : bytes
            The body of the first frame.
        changed : threading.Condition
            Notified when a frame arrived or the child is gone.

        Raises
        ------
        OSError
            The process cannot be started.
        ChildGoneError
            It died at once.
        """
        # In a process group of its own: Ctrl-C in a terminal is for the daemon, which drains
        # first. -P: the current directory must not shadow a module.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=child_environment(),
            process_group=0,
            bufsize=0,
        )
        self.pid = self._process.pid
        self.received: tuple[bytes, bytes] | None = None
        self.gone = False
        self._changed = changed
        self._input = cast(BinaryIO, self._process.stdin)
        os.set_blocking(self._input.fileno(), False)
        self._reader = threading.Thread(
            target=self._read, name=f"helper-reader-{self.pid}", daemon=True
        )
        self._reader.start()
        try:
            self.send(frames.SETTINGS, settings, time.monotonic() + _END_TIME_S)
        except ChildGoneError:
            self.end()
            raise

    def send(self, kind: bytes, body: bytes, deadline_s: float) -> None:
        """Write one frame.

        Parameters
        ----------
        kind, body : bytes
        deadline_s : float
            On `time.monotonic`.

        Raises
        ------
        ChildGoneError
            It is dead, or did not take the whole frame before the deadline; it is unusable now.
        """
        rest = memoryview(frames.frame(kind, body))
        descriptor = self._input.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        while rest:
            wait_s = deadline_s - time.monotonic()
            if wait_s <= 0 or not poll.poll(wait_s * 1000):
                raise ChildGoneError("the process does not take its input")
            try:
                rest = rest[os.write(descriptor, rest) :]
            except BlockingIOError:
                continue
            except OSError:
                raise ChildGoneError("the process died") from None

    def take(self) -> tuple[bytes, bytes] | None:
        """Take the received frame, if any. Call under `changed`."""
        received, self.received = self.received, None
        return received

    def end(self) -> None:
        """End it: close its input, wait a little, kill it. Returns when it is gone."""
        self._input.close()
        try:
            self._process.wait(_END_TIME_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._reader.join(_END_TIME_S)

    def kill(self) -> None:
        """Kill it and wait for its end."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        with cast(BinaryIO, self._process.stdout) as unbuffered:
            stream = os.fdopen(unbuffered.fileno(), "rb", closefd=False)
            try:
                while received := frames.read_frame(stream):
                    with self._changed:
                        self.received = received
                        self._changed.notify_all()
            except (frames.FrameError, OSError):
                # `gone` wakes those that wait for an answer.
                pass
            finally:
                stream.close()
                with self._changed:
                    self.gone = True
                    self._changed.notify_all()


def child_environment() -> dict[str, str]:
    """Return this environment with the module path, one BLAS thread and no model hubs."""
    environment = dict(os.environ)
    # What opens the database is none of a helper's business.
    environment.pop("PGPASSWORD", None)
    environment.update(dict.fromkeys(_ONE_THREAD, "1"))
    environment.update(_OFFLINE)
    environment.update(_SMALL_PAGES)
    environment["PYTHONPATH"] = module_path()
    return environment


def module_path() -> str:
    """Return this process's module path, as PYTHONPATH of a child.

    With it the child finds the same package, installed or run from its source folder.
    """
    paths = dict.fromkeys(path or os.getcwd() for path in sys.path)  # noqa: PTH109 (text needed)
    return os.pathsep.join(paths)
