"""Copying of an open collection's file, between the batches of its writer."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from totonoe_core.base import limits
from totonoe_core.base.errors import TotonoeError, Unavailable
from totonoe_core.engine.state.futures import shutting_down
from totonoe_core.engine.writer.writer import Writer
from totonoe_core.store.seam import CollectionFile, Store, needed

T = TypeVar("T")
_TRIED_MAX = 500
_LATER_S = limits.RETRY_DELAY_MS / 10_000


class Copying:
    """Access to a collection's file between the batches of its writer."""

    def __init__(self, writer: Writer, file: CollectionFile, store: Store) -> None:
        self._writer = writer
        self._file = file
        self._store = store

    def pause(self, work: Callable[[], T]) -> Future[T]:
        """Run work while nothing is written. Raises `Unavailable`, `ReadOnly`."""
        return self._writer.call(work)

    def copy_to(
        self,
        target: Path,
        checkpoint: Path,
        stop: threading.Event,
        copied: Callable[[float], None] = lambda _: None,
    ) -> None:
        """Copy the file as it is at the last step, each step a call in the writer's queue.

        With the last step, the newest checkpoint gets the second name `checkpoint`, unless a purge
        is about to delete it: so it holds nothing that the copy has not. `copied` is called with
        the share that is copied.

        Writes wait for one step at most, SNAPSHOT_STEP_MS or (where the disk is slow, or the file
        large) as long as it takes to end within SNAPSHOT_STEPS_MAX steps. Not on the writer's
        thread.

        Raises
        ------
        NotOnThisStore
            The store has no files.
        Unavailable
            The collection is being closed, another copy is under way, or the queue stays full.
        ReadOnly
            The disk refuses the copy. The collection goes on.
        Corruption
            The collection's file lacks pages, or has damaged ones.
        """
        copies = needed(self._store.copies, "copies of files", self._store.name)
        writer, file = self._writer, self._file
        copy = _in_queue(writer, lambda: copies.begin(file, target), stop).result()

        def step() -> bool:
            done = copy.step()
            if done and not file.to_clean:
                file.checkpoints.link_newest(checkpoint)
            return done

        try:
            while not _in_queue(writer, step, stop).result():
                copied(copy.share)
        finally:
            # If the queue refuses it, the file is closed, and the copy with it.
            with contextlib.suppress(TotonoeError):
                _in_queue(writer, lambda: copies.end(file), threading.Event()).result()


def _in_queue(writer: Writer, work: Callable[[], T], stop: threading.Event) -> Future[T]:
    """Queue a call, again while the queue is full, and return its future."""
    for _ in range(_TRIED_MAX):
        if stop.is_set():
            break
        try:
            return writer.call(work)
        except Unavailable as error:
            if error.reason != "OVERLOADED":
                raise
            stop.wait(_LATER_S)
    if stop.is_set():
        raise shutting_down()
    return writer.call(work)
