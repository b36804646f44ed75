"""Threads that run child processes: each feeds one child and replaces it when it fails."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Literal

from totonoe_core.base import errors, limits
from totonoe_core.base.histogram import Histogram
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding import frames
from totonoe_core.embedding.pending import Pending, Piece, Settled, settle
from totonoe_core.embedding.protocol import IdentityChanged
from totonoe_core.embedding.settings import EmbedderSettings
from totonoe_core.helper.child import Child, ChildGoneError
from totonoe_core.helper.frames import ERROR, REQUEST, FrameError

_WORKER = "totonoe_core.embedding.worker"
_BACKOFF_FIRST_S, _BACKOFF_MAX_S = 0.1, 10.0

State = Literal["loading", "ready", "restarting", "stopped"]


class _PermanentError(Exception):
    """Starting again would not help."""

    def __init__(self, error: errors.TotonoeError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(slots=True, eq=False)
class Slot:
    """Place of one child process at a time. Under the lock of `Shared`."""

    phase: Literal["loading", "ready", "restarting"] = "loading"
    child: Child | None = None
    failures_count: int = 0  # since the last successful batch
    past_cpu_s: float = 0.0  # of the children before this one
    cpu_s: float = 0.0


class Shared:
    """State that the service and its runners share.

    Everything is read and written under `changed`, which is notified when something happened that a
    thread may wait for.
    """

    def __init__(self, pending: Pending, slots: list[Slot]) -> None:
        self.changed = threading.Condition()
        self.pending = pending
        self.slots = slots
        self.identity: ModelIdentity | None = None
        self.permanent: errors.TotonoeError | None = None
        self.started = False
        self.closed = False
        self.failure = ""
        self.chunks_count = 0
        self.batches_count = 0
        self.restarts_count = 0
        self.batch_s = Histogram()

    @property
    def over(self) -> bool:
        """True once closed or beyond repair: the runners end."""
        return self.closed or self.permanent is not None

    @property
    def state(self) -> State:
        """The best of the slots; see `EmbeddingService.state`."""
        if self.over or not self.started:
            return "stopped"
        phases = {slot.phase for slot in self.slots}
        if "ready" in phases:
            return "ready"
        return "loading" if "loading" in phases else "restarting"

    def unavailable(self) -> errors.Unavailable:
        """Return the error for a request while no child is ready."""
        failures_count = min(slot.failures_count for slot in self.slots)
        reason = f": {self.failure}" if self.failure else ""
        return errors.Unavailable(
            "EMBEDDER_UNAVAILABLE",
            f"the embedder is {self.state}{reason}",
            retry_delay_ms=max(limits.RETRY_DELAY_MS, int(_backoff_s(failures_count) * 1000)),
        )

    def stop(self, error: errors.TotonoeError) -> None:
        """Fail everything that waits, now and from now on: beyond repair. Takes the lock."""
        with self.changed:
            self.permanent = self.permanent or error
            self.failure = error.message
            settled = self.pending.fail_all(error)
            self.changed.notify_all()
        settle(settled)


class Runner:
    """The work of one thread.

    Parameters
    ----------
    shared : Shared
    slot : Slot
        Of `shared.slots`, this runner's own.
    settings : EmbedderSettings
    load_time_limit_s, batch_time_limit_s : float
        A child that takes longer is killed.
    """

    def __init__(
        self,
        shared: Shared,
        slot: Slot,
        settings: EmbedderSettings,
        *,
        load_time_limit_s: float,
        batch_time_limit_s: float,
    ) -> None:
        self._shared = shared
        self._changed = shared.changed
        self._slot = slot
        self._settings = settings
        self._load_time_limit_s = load_time_limit_s
        self._batch_time_limit_s = batch_time_limit_s
        self._batch: list[Piece] = []  # under way; this thread's own

    def run(self) -> None:
        """Run until the service is closed or beyond repair."""
        try:
            while not self._shared.over:
                self._failed(self._serve())
        except _PermanentError as permanent:
            self._shared.stop(permanent.error)
        except BaseException as error:
            # A bug here must not leave callers waiting for a thread that is gone.
            message = f"the embedding thread failed: {type(error).__name__}"
            self._shared.stop(
                errors.Unavailable(
                    "EMBEDDER_UNAVAILABLE", message, retry_delay_ms=limits.RETRY_DELAY_MS
                )
            )
            raise

    def _serve(self) -> str:
        """Run one child until it fails or the service ends; return the reason."""
        try:
            child = Child(_WORKER, frames.settings_to_wire(self._settings), self._changed)
        except (OSError, ChildGoneError) as error:
            return f"the embedding process does not start: {type(error).__name__}"
        with self._changed:
            self._slot.child = child
        try:
            self._load(child)
            while self._next_batch(child):
                self._embed(child)
        except (ChildGoneError, FrameError) as error:
            child.kill()
            return f"embedding: {error}"
        finally:
            child.end()
            with self._changed:
                self._slot.child = None
                self._slot.past_cpu_s += self._slot.cpu_s
                self._slot.cpu_s = 0.0
        return ""

    def _load(self, child: Child) -> None:
        kind, body = self._await(child, time.monotonic() + self._load_time_limit_s)
        if kind == ERROR:
            error = frames.error_from_wire(body)
            if isinstance(error, errors.Unavailable):
                raise ChildGoneError(error.message)
            raise _PermanentError(error)
        identity = frames.identity_from_wire(body)
        with self._changed:
            known = self._shared.identity = self._shared.identity or identity
            if known != identity:
                raise _PermanentError(IdentityChanged(stamped=known.key, running=identity.key))
            self._slot.phase = "ready"
            self._changed.notify_all()

    def _next_batch(self, child: Child) -> bool:
        """Wait for work and take it; return false when the service ends."""
        shared = self._shared
        with self._changed:
            self._changed.wait_for(lambda: shared.over or child.gone or shared.pending.has_work())
            if shared.over:
                return False
            if child.gone:
                raise ChildGoneError("the process died")
            self._batch = shared.pending.take()
            shared.batches_count += 1
            shared.chunks_count += len(self._batch)
            return True

    def _embed(self, child: Child) -> None:
        """Embed the batch; after a failure, `_failed` settles the rest of it."""
        begun_s = time.monotonic()
        deadline_s = begun_s + self._batch_time_limit_s
        body = frames.texts_to_wire([piece.chunk for piece in self._batch])
        child.send(REQUEST, body, deadline_s)
        kind, answer = self._await(child, deadline_s)
        self._shared.batch_s.add(time.monotonic() - begun_s)
        if kind == ERROR:
            settled = self._refused(frames.error_from_wire(answer))
        else:
            settled = self._answered(answer)
        self._batch = []
        settle(settled)

    def _answered(self, answer: bytes) -> list[Settled]:
        identity = self._shared.identity
        assert identity is not None
        vectors, refused, cpu_s = frames.answer_from_wire(answer, identity.dimension)
        if len(vectors) != len(self._batch):
            raise FrameError(f"{len(vectors)} rows for {len(self._batch)} texts")
        with self._changed:
            self._slot.cpu_s = cpu_s
            self._slot.failures_count = 0
            return self._shared.pending.deliver(self._batch, vectors, refused)

    def _refused(self, error: errors.TotonoeError) -> list[Settled]:
        """Settle a batch that a healthy child refused: a server does not answer, or changed."""
        if isinstance(error, errors.ModelMismatch):
            raise _PermanentError(error)
        with self._changed:
            self._shared.failure = error.message
            return self._shared.pending.fail(self._batch, error)

    def _await(self, child: Child, deadline_s: float) -> tuple[bytes, bytes]:
        """Return the next frame of the child."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._shared.over or child.received or child.gone,
                max(0.0, deadline_s - time.monotonic()),
            )
            if received := child.take():
                return received
            if self._shared.over:
                raise ChildGoneError("the service ends")
            if child.gone:
                raise ChildGoneError("the process died")
            raise ChildGoneError("the process did not answer in time")

    def _failed(self, reason: str) -> None:
        """Settle the batch of a failed child, and wait before the next child is started."""
        shared, slot = self._shared, self._slot
        with self._changed:
            if shared.over:
                return
            slot.phase = "restarting"
            slot.failures_count += 1
            shared.restarts_count += 1
            shared.failure = reason
            settled = shared.pending.fail(self._batch, shared.unavailable())
            self._batch = []
            if shared.state == "restarting":
                settled += shared.pending.fail_all(shared.unavailable())
            self._changed.notify_all()
        settle(settled)
        with self._changed:
            self._changed.wait_for(lambda: shared.over, _backoff_s(slot.failures_count))


def _backoff_s(failures_count: int) -> float:
    """Return 0.1 s after the first failure in a row, doubling up to 10 s."""
    return min(_BACKOFF_MAX_S, _BACKOFF_FIRST_S * 2.0 ** min(max(0, failures_count - 1), 30))
