"""The embedding service of the engine: texts in, a future of vectors out, from any thread.

The texts wait in one queue (`pending`); one thread for each child process takes batches from it
(`runner`). A child that dies or does not answer in time is replaced, with growing delays while it
keeps failing; until one is ready again, requests are refused rather than kept waiting. Requests
wait only for the first load: it is announced, short, and will end.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from totonoe_core.base import errors, limits
from totonoe_core.base.stages import STAGES
from totonoe_core.base.turn import TURN
from totonoe_core.domain.embedder import EmbedderFigures
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding.openai import TRIES_MAX
from totonoe_core.embedding.pending import Pending, settle, text_key
from totonoe_core.embedding.protocol import Vectors, misconfigured
from totonoe_core.embedding.runner import Runner, Shared, Slot, State
from totonoe_core.embedding.settings import EmbedderSettings

CACHE_TEXTS_DEFAULT = 4096
WORKERS_MAX = 64
_JOIN_TIME_S = 10.0


@dataclass(frozen=True, slots=True)
class EmbeddingStats:
    """Counters since the start.

    Attributes
    ----------
    texts_count : int
        Requested texts, with cache hits, without refused ones.
    cache_hits_count : int
        Texts answered without the model.
    waiting_count : int
        Texts that wait or are in work now.
    chunks_count, batches_count : int
        Chunks and batches sent to the children.
    ready_count : int
        Children that are loaded now.
    restarts_count : int
        Children that failed.
    cpu_s : float
        CPU seconds of the children, as of their last answers.
    """

    texts_count: int
    cache_hits_count: int
    waiting_count: int
    chunks_count: int
    batches_count: int
    ready_count: int
    restarts_count: int
    cpu_s: float


class EmbeddingService:
    """Thread-safe front of one or more embedding processes.

    A text longer than `chunking.CHUNK_CHARS` is embedded in chunks and gets their mean
    (`vectors.mean_of_chunks`); one without a vector gets `vectors.hashed_unit_vector`.

    Parameters
    ----------
    settings : EmbedderSettings
        Not of kind "none".
    workers : int
        Child processes, 1..64; each holds the model in memory.
    cache_texts_max : int
        Vectors remembered for texts seen lately; 0 for none.
    queue_texts_max : int
        Texts waiting or in work.
    batch_time_limit_s : float
        A child that takes longer for a batch is killed. Raised by itself where the settings
        allow a server more than this.
    load_time_limit_s : float
        A child that takes longer to load is killed.

    Raises
    ------
    Precondition
        EMBEDDER_MISCONFIGURED.
    """

    def __init__(
        self,
        settings: EmbedderSettings,
        *,
        workers: int = 1,
        cache_texts_max: int = CACHE_TEXTS_DEFAULT,
        queue_texts_max: int = limits.EMBED_QUEUE_TEXTS_MAX,
        batch_time_limit_s: float = 60.0,
        load_time_limit_s: float = 120.0,
    ) -> None:
        if settings.kind == "none":
            raise misconfigured(field="kind", got=settings.kind, allowed="a kind that embeds")
        if not 1 <= workers <= WORKERS_MAX:
            raise misconfigured(field="workers", got=workers, allowed=f"1..{WORKERS_MAX}")
        if settings.kind == "openai":
            patience_s = 2 * TRIES_MAX * settings.timeout_s
            batch_time_limit_s = max(batch_time_limit_s, patience_s)
            load_time_limit_s = max(load_time_limit_s, patience_s)
        self._queue_texts_max = queue_texts_max
        self._pending = Pending(queue_texts_max=queue_texts_max, cache_texts_max=cache_texts_max)
        self._shared = Shared(self._pending, [Slot() for _ in range(workers)])
        self._changed = self._shared.changed
        self._threads = [
            threading.Thread(
                target=Runner(
                    self._shared,
                    slot,
                    settings,
                    load_time_limit_s=load_time_limit_s,
                    batch_time_limit_s=batch_time_limit_s,
                ).run,
                name=f"embedding-{i}",
                daemon=True,
            )
            for i, slot in enumerate(self._shared.slots)
        ]
        self._texts_count = 0

    def start(self) -> None:
        """Start the children and return at once; they load in the background. Once only.

        Raises
        ------
        RuntimeError
            It was started before, or is closed.
        """
        with self._changed:
            if self._shared.started or self._shared.closed:
                raise RuntimeError("the embedding service was started before")
            self._shared.started = True
        for thread in self._threads:
            thread.start()

    def wait_ready(self, timeout_s: float) -> ModelIdentity:
        """Wait until a child has loaded.

        Raises
        ------
        Unavailable
            EMBEDDER_UNAVAILABLE: not within the time; SHUTTING_DOWN: closed meanwhile.
        Precondition, IdentityChanged
            EMBEDDER_MISCONFIGURED, MODEL_MISMATCH: the embedder cannot run as it is set up;
            trying again does not help.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._shared.state in ("ready", "stopped"), timeout_s)
            if self._shared.state == "ready" and self._shared.identity:
                return self._shared.identity
            raise self._refusal() or self._shared.unavailable()

    @property
    def identity(self) -> ModelIdentity | None:
        """The model; `None` until the first child has loaded, then fixed."""
        return self._shared.identity

    @property
    def state(self) -> State:
        """State of the service, in one word.

        "loading" for the first time; "ready" if any child is; "restarting" after failures;
        "stopped" before the start, after `close`, or when starting again does not help.
        """
        with self._changed:
            return self._shared.state

    @property
    def failure(self) -> str:
        """Reason of a child's last failure; empty if none failed. Holds no memory text."""
        return self._shared.failure

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the children that run now."""
        with self._changed:
            return [slot.child.pid for slot in self._shared.slots if slot.child]

    def stats(self) -> EmbeddingStats:
        """Counters since the start."""
        with self._changed:
            return EmbeddingStats(
                texts_count=self._texts_count,
                cache_hits_count=self._pending.cache_hits,
                waiting_count=self._pending.waiting_count,
                chunks_count=self._shared.chunks_count,
                batches_count=self._shared.batches_count,
                ready_count=sum(slot.phase == "ready" for slot in self._shared.slots),
                restarts_count=self._shared.restarts_count,
                cpu_s=sum(slot.past_cpu_s + slot.cpu_s for slot in self._shared.slots),
            )

    def figures(self) -> EmbedderFigures:
        """Return figures for monitoring."""
        with self._changed:
            return EmbedderFigures(
                state=self._shared.state,
                waiting_count=self._pending.waiting_count,
                restarts_count=self._shared.restarts_count,
                batch_s=self._shared.batch_s.read(),
            )

    def submit(self, texts: Sequence[str]) -> Future[Vectors]:
        """Request the vectors of texts. Returns at once.

        Parameters
        ----------
        texts : sequence of str
            1..queue_texts_max texts of at most CONTENT_BYTES_MAX bytes each.

        Returns
        -------
        Future of float32[n, dim]
            Row i belongs to `texts[i]`; unit norm; the caller's own array. May be cancelled. Ends
            with `Unavailable` (the child died, does not answer, or the service closes), with
            `Precondition` (EMBEDDER_MISCONFIGURED: the model refuses one of the texts, or cannot
            run at all), or with `IdentityChanged`. Its callbacks run in a thread of the
            service and should be short.

        Raises
        ------
        InvalidArgument
            LIMIT_EXCEEDED or MALFORMED_MESSAGE; nothing was queued.
        Unavailable
            EMBEDDER_BUSY: the queue is full; EMBEDDER_UNAVAILABLE: no child is ready, after a
            failure; SHUTTING_DOWN. Nothing was queued.
        Precondition
            EMBEDDER_MISCONFIGURED: the embedder cannot run as it is set up.
        IdentityChanged
            The model was replaced under the running daemon.
        """
        keys = self._checked_keys(texts)
        with self._changed:
            if refusal := self._refusal():
                raise refusal
            request = self._pending.lookup(keys)
            if request.missing:
                if self._shared.state == "restarting":
                    raise self._shared.unavailable()
                if not self._pending.has_room(request):
                    raise errors.Unavailable(
                        "EMBEDDER_BUSY",
                        f"{self._pending.waiting_count} texts wait for the embedder",
                        retry_delay_ms=limits.RETRY_DELAY_MS,
                    )
                self._pending.add(request, texts, keys, TURN.get())
                self._changed.notify_all()
            self._texts_count += len(texts)
            stages = STAGES.get()
            if stages is not None and request.missing:
                stage = stages.begin("embed")
                if stage is not None:
                    # The first callback: it runs before anybody hears of the vectors.
                    request.future.add_done_callback(lambda _: stage.end())
            settled = [] if request.missing else [request.outcome()]
        settle(settled)
        return request.future

    def forget_cached(self) -> None:
        """Empty the cache of vectors. Called by Purge."""
        with self._changed:
            self._pending.forget_cached()

    def close(self) -> None:
        """End the children and fail waiting requests with SHUTTING_DOWN. May be called again."""
        with self._changed:
            self._shared.closed = True
            settled = self._pending.fail_all(_shutting_down())
            self._changed.notify_all()
        settle(settled)
        for thread in self._threads:
            if thread.ident and thread is not threading.current_thread():
                thread.join(_JOIN_TIME_S)

    def _checked_keys(self, texts: Sequence[str]) -> list[bytes]:
        if not 1 <= len(texts) <= self._queue_texts_max:
            raise errors.InvalidArgument(
                "LIMIT_EXCEEDED",
                field="texts",
                got=len(texts),
                allowed=f"1..{self._queue_texts_max}",
            )
        for text in texts:
            # Four bytes a character at most: most texts need no second look.
            if len(text) * 4 > limits.CONTENT_BYTES_MAX:
                size_bytes = len(text.encode("utf-8", "surrogatepass"))
                if size_bytes > limits.CONTENT_BYTES_MAX:
                    raise errors.over_limit(
                        "content", f"{size_bytes} bytes", f"{limits.CONTENT_BYTES_MAX} bytes"
                    )
        try:
            return [text_key(text) for text in texts]
        except UnicodeEncodeError:
            # From None: that exception holds the text.
            raise errors.InvalidArgument(
                "MALFORMED_MESSAGE", field="content", got="a lone surrogate", allowed="Unicode text"
            ) from None

    def _refusal(self) -> errors.TotonoeError | None:
        """Return the reason to refuse requests, if any. Under the lock."""
        if self._shared.closed:
            return _shutting_down()
        if self._shared.permanent:
            # Each raise adds to the traceback of an exception; this one is raised often.
            return self._shared.permanent.with_traceback(None)
        return None if self._shared.started else self._shared.unavailable()


def open_service(settings: EmbedderSettings, *, workers: int = 1) -> EmbeddingService | None:
    """Start a service for the settings; return `None` for kind "none", where clients bring vectors.

    Raises
    ------
    Precondition
        EMBEDDER_MISCONFIGURED.
    """
    if settings.kind == "none":
        return None
    service = EmbeddingService(settings, workers=workers)
    service.start()
    return service


def _shutting_down() -> errors.Unavailable:
    return errors.Unavailable(
        "SHUTTING_DOWN", "the embedder is shutting down", retry_delay_ms=limits.RETRY_DELAY_MS
    )
