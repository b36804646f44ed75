"""One thread that looks after all collections now and then: what is idle, what is past its time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

SWEEP_S = 5.0
_log = logging.getLogger(__name__)


class Sweeper:
    """Does chores every SWEEP_S seconds, one after the other. `stop` is safe from any thread."""

    def __init__(self, chores: Sequence[Callable[[], object]]) -> None:
        self._chores = chores
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweep", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(SWEEP_S):
            for chore in self._chores:
                try:
                    chore()
                except Exception as error:
                    # The next time may be better: a full disk, a file that is read just now.
                    _log.warning("upkeep of collections failed: %s", type(error).__qualname__)

    def stop(self) -> None:
        """Ends it; what it is doing ends first."""
        self._stopping.set()

    def join(self) -> None:
        """Waits for its end."""
        self._thread.join()
