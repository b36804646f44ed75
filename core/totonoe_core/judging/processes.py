"""The daemon's own judge in processes beside it: one thread of the service for each process.

A process that dies, or does not answer in time, is killed; the pairs that it had are decided
without a judge, and the next ones start another, after a delay that grows while starting fails.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from totonoe_core.helper import frames as helper_frames
from totonoe_core.helper.child import Child, ChildGoneError
from totonoe_core.helper.frames import ERROR, REQUEST, FrameError
from totonoe_core.judging import frames
from totonoe_core.judging.own import BATCH_PAIRS, read_manifest
from totonoe_core.judging.protocol import JudgeFailed, Opinion, TextPair, misconfigured

PROCESSES_MAX = 8
_WORKER = "totonoe_core.judging.worker"
_LOAD_S, _BATCH_S = 30.0, 5.0
_BACKOFF_FIRST_S, _BACKOFF_MAX_S = 0.1, 10.0


class ProcessJudge:
    """A `Judge` whose model is in other processes, which are started at once.

    Parameters
    ----------
    directory : Path
        Of the model.
    processes : int
        1..PROCESSES_MAX; each holds the model in memory.
    load_time_limit_s, batch_time_limit_s : float
        A process that takes longer is killed.

    Raises
    ------
    Precondition
        JUDGE_MISCONFIGURED: a package or a file is missing, or a file is another one.
    """

    batch_max = BATCH_PAIRS

    def __init__(
        self,
        directory: Path,
        processes: int = 1,
        *,
        load_time_limit_s: float = _LOAD_S,
        batch_time_limit_s: float = _BATCH_S,
    ) -> None:
        if not 1 <= processes <= PROCESSES_MAX:
            raise misconfigured(field="processes", got=processes, allowed=f"1..{PROCESSES_MAX}")
        if find_spec("onnxruntime") is None or find_spec("sentencepiece") is None:
            raise misconfigured(
                field="kind", got="own", allowed="own after: pip install 'totonoe[server]'"
            )
        read_manifest(directory)
        self.thread_count = processes
        self._slots = [
            _Slot(directory, load_time_limit_s, batch_time_limit_s) for _ in range(processes)
        ]
        self._free: queue.LifoQueue[_Slot] = queue.LifoQueue()
        for slot in self._slots:
            self._free.put(slot)

    @property
    def pids(self) -> list[int]:
        """Process ids of the children that run now."""
        return [slot.child.pid for slot in self._slots if slot.child is not None]

    @property
    def cpu_s(self) -> float:
        """See `Judge.cpu_s`."""
        return sum(slot.past_cpu_s + slot.cpu_s for slot in self._slots)

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Opinion | None]:
        """See `Judge.ask`."""
        # As many slots as threads, so that none waits.
        slot = self._free.get()
        try:
            return slot.ask(pairs)
        finally:
            self._free.put(slot)

    def close(self) -> None:
        """End the processes, whatever they do. Idempotent."""
        for slot in self._slots:
            slot.close()


class _Slot:
    """Place of one process at a time. One thread asks; another may close it."""

    def __init__(
        self, directory: Path, load_time_limit_s: float, batch_time_limit_s: float
    ) -> None:
        self._settings = json.dumps(str(directory)).encode()
        self._load_time_limit_s = load_time_limit_s
        self._batch_time_limit_s = batch_time_limit_s
        self._changed = threading.Condition()
        self._closed = False
        self._name = ""
        self._failures_count = 0
        self._next_start_s = 0.0
        self.child: Child | None = None
        self.past_cpu_s = 0.0  # of the children before this one
        self.cpu_s = 0.0
        self._start()

    def ask(self, pairs: Sequence[TextPair]) -> list[Opinion | None]:
        """Ask the process, once it has loaded; start one if there is none."""
        try:
            child = self._ready()
            deadline_s = time.monotonic() + self._batch_time_limit_s
            child.send(REQUEST, frames.pairs_to_wire(pairs), deadline_s)
            kind, body = self._await(child, deadline_s)
            if kind == ERROR:
                raise JudgeFailed(helper_frames.error_from_wire(body).message)
            opinions, cpu_s = frames.opinions_from_wire(body, self._name, len(pairs))
        except (ChildGoneError, FrameError) as error:
            self._failed()
            raise JudgeFailed(str(error)) from None
        self._failures_count, self.cpu_s = 0, cpu_s
        return opinions

    def close(self) -> None:
        """Kill the process; whoever waits for it hears so."""
        with self._changed:
            self._closed = True
            child, self.child = self.child, None
            self._changed.notify_all()
        if child is not None:
            child.kill()
            child.end()

    def _ready(self) -> Child:
        """Return a process that has loaded."""
        child = self.child
        if child is not None and child.gone:
            # It died while nobody asked.
            self._end(child)
            child = None
        if child is None:
            if time.monotonic() < self._next_start_s:
                raise JudgeFailed("the judging process is restarting")
            child = self._start()
        if child is None:
            raise ChildGoneError("the judging process does not start")
        if not self._name:
            kind, body = self._await(child, time.monotonic() + self._load_time_limit_s)
            if kind == ERROR:
                raise ChildGoneError(helper_frames.error_from_wire(body).message)
            self._name = str(json.loads(body))
        return child

    def _start(self) -> Child | None:
        """Start a process; it loads on its own. `None` if it does not start, or all is closed."""
        self._name = ""
        self.past_cpu_s, self.cpu_s = self.past_cpu_s + self.cpu_s, 0.0
        try:
            child = Child(_WORKER, self._settings, self._changed)
        except (OSError, ChildGoneError):
            return None
        with self._changed:
            if not self._closed:
                self.child = child
                return child
        child.kill()
        child.end()
        return None

    def _await(self, child: Child, deadline_s: float) -> tuple[bytes, bytes]:
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or child.received or child.gone,
                max(0.0, deadline_s - time.monotonic()),
            )
            if received := child.take():
                return received
            why = "died" if child.gone else "did not answer in time"
            raise ChildGoneError(f"the judging process {why}")

    def _failed(self) -> None:
        """Kill a process that failed, and note when the next may start."""
        with self._changed:
            child = self.child
        if child is not None:
            child.kill()
            self._end(child)
        delay_s = _BACKOFF_FIRST_S * 2.0 ** min(self._failures_count, 30)
        self._failures_count += 1
        self._next_start_s = time.monotonic() + min(_BACKOFF_MAX_S, delay_s)

    def _end(self, child: Child) -> None:
        child.end()
        with self._changed:
            if self.child is child:
                self.child = None
