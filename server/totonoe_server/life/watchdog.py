"""Receives the signals, and ends the process when a stop takes longer than it may.

A thread of its own does both: the event loop, the engine's threads and the log may all be stuck.
The signals come through the wake-up descriptor, to which the interpreter writes without the loop.
What was acknowledged is on disk, so leaving without cleaning up loses nothing of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import thread as pool
from enum import IntEnum
from pathlib import Path
from types import FrameType

from totonoe_server.logger import logger

ENGINE_CLOSE_S = 30.0
STOP_SPARE_S = 2.0
"""Time of a stop beyond the time for calls and the time for closing."""
FORCED_EXIT_S = 5.0
"""From a second SIGINT to the end."""
_REPORT_S = 1.0
"""Limit of the report: a log that is stuck must not keep the process."""
_TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STDERR = 2
_FRAMES_NAMED_MAX = 3
_THREADS_NAMED_MAX = 32


class ExitCode(IntEnum):
    """How `serve` ends. `docs/configuration.md` shows them to users."""

    STOPPED = 0
    FAILED = 1
    USAGE = 2
    NOT_STARTED = 3
    STUCK = 4
    FORCED = 130


class Watchdog:
    """SIGINT, SIGTERM and SIGHUP of this process, from `begin` on. Needs the main thread.

    SIGHUP asks for the settings to be read again. If the terminal that the process was started in
    is gone, SIGHUP says so, and is passed on as SIGTERM.

    Parameters
    ----------
    stop_s : float
        Seconds from the first signal to the end of the process, at most.
    received : callable
        Gets each signal, on the watchdog's thread.
    """

    def __init__(self, stop_s: float, received: Callable[[signal.Signals], None]) -> None:
        self._stop_s = stop_s
        self._received = received
        self._deadline_s: float | None = None
        self._code = ExitCode.STUCK
        self._at_terminal = os.isatty(_STDERR)
        self._signals, self._wakeup = socket.socketpair()
        self._wakeup.setblocking(False)
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def begin(self) -> None:
        """Takes the signals. For good: once a stop has begun, nothing takes the end back."""
        signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)
        for number in _TAKEN:
            # A handler there must be; the work is done where the number is read.
            signal.signal(number, lambda *_: None)
        self._thread.start()

    def _watch(self) -> None:
        while True:
            left_s = None if self._deadline_s is None else self._deadline_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                self._end()
            self._signals.settimeout(left_s)
            try:
                numbers = self._signals.recv(64)
            except TimeoutError:
                continue
            for number in numbers:
                if number in _TAKEN:
                    self._receive(signal.Signals(number))

    def _receive(self, number: signal.Signals) -> None:
        if number is signal.SIGHUP:
            if not self._at_terminal or os.isatty(_STDERR):
                self._received(number)
                return
            number = signal.SIGTERM
        if self._deadline_s is None:
            self._limit(self._stop_s)
        elif number is signal.SIGINT and self._code is not ExitCode.FORCED:
            self._code = ExitCode.FORCED
            self._limit(FORCED_EXIT_S)
        self._received(number)

    def _limit(self, seconds: float) -> None:
        """Ends the process in so many seconds."""
        self._deadline_s = time.monotonic() + seconds
        # By a thread that is not Python's: one that keeps the GIL keeps us from running.
        faulthandler.dump_traceback_later(seconds + 2 * _REPORT_S, exit=True)

    def _end(self) -> None:
        report = threading.Thread(target=self._report, name="report", daemon=True)
        report.start()
        report.join(_REPORT_S)
        os._exit(self._code)

    def _report(self) -> None:
        logger.error("the stop was held up", code=int(self._code), threads=threads_at_work())
        sys.stderr.flush()


def watch(stop_s: float, receive: Callable[[signal.Signals], None]) -> None:
    """Begin a watchdog that hands each signal to a function on the running event loop."""
    loop = asyncio.get_running_loop()

    def received(number: signal.Signals) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the process is about to
            loop.call_soon_threadsafe(receive, number)

    Watchdog(stop_s, received).begin()


def threads_at_work() -> list[str]:
    """Return the name and the innermost calls of each thread, without idle threads of pools."""
    frames = sys._current_frames()
    own = threading.current_thread(), threading.main_thread()
    told = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        # A pool's thread that waits for work stands in the pool's own code.
        idle = frame is not None and frame.f_code.co_filename == pool.__file__
        if frame is not None and not idle and thread is not own[0] and thread.name != "watchdog":
            told.append(f"{thread.name}: {_places(frame)}")
    return told[:_THREADS_NAMED_MAX]


def _places(frame: FrameType | None) -> str:
    """The innermost calls of a thread, without what they were called with."""
    found: list[str] = []
    while frame is not None and len(found) < _FRAMES_NAMED_MAX:
        code = frame.f_code
        found.append(f"{code.co_qualname} ({Path(code.co_filename).name}:{frame.f_lineno})")
        frame = frame.f_back
    return " < ".join(found)
