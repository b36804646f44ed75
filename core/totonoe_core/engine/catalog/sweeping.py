"""A thread for periodic chores on all collections: idle ones, and expired ones."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

SWEEP_S = 5.0
_log = logging.getLogger(__name__)


class Sweeper:
    """Does chores every `every_s` seconds, one after the other. `stop` is safe from any thread."""

    def __init__(self, chores: Sequence[Callable[[], object]], every_s: float = SWEEP_S) -> None:
        self._chores, self._every_s = chores, every_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweep", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(self._every_s):
            for chore in self._chores:
                try:
                    chore()
                except Exception as error:
                    # It may work the next time: the disk may be full, or a file be in use.
                    _log.warning("upkeep of collections failed: %s", type(error).__qualname__)

    def stop(self) -> None:
        """Stop the thread; a running chore finishes first."""
        self._stopping.set()

    def join(self) -> None:
        """Wait for the thread's end."""
        self._thread.join()
