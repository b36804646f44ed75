"""Vectors of typed keys, embedded when a Recall needs them or, where many lack one, behind it.

A saved key waits for the next Recall, which embeds its words beside its own query: so that saves
cost nothing, and whoever asks finds what was saved before. After a rebuilt index, another model or
an import, thousands may lack a vector: the background thread of the indexes embeds them, a batch at
a time. Until then these are found by the words of their keys.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.errors import TotonoeError, Unavailable
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine.state.futures import attempt, gathered, ready, then
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index.collection_index import CollectionIndex


class KeyVectors:
    """The vectors of one collection's typed keys. Safe from any thread.

    `embedder()` returns the embedder that made the collection's vectors, or raises.
    """

    def __init__(self, state: CollectionState, embedder: Callable[[], EmbeddingService]) -> None:
        self._state = state
        self._embedder = embedder
        self._tried_again_s = 0.0

    def embedded(self, index: CollectionIndex) -> Future[int]:
        """Give the newest keys of an index that lack a vector theirs; return how many got one.

        At most EMBED_BATCH_TEXTS_MAX. It never fails: keys that the embedder cannot do now are left
        for the next time, and one whose words it refuses is near nothing.
        """
        info = self._state.published
        wanted = index.keys.missing(limits.EMBED_BATCH_TEXTS_MAX)
        if not wanted or not info.model.embeds or index.model_number != info.model_number:
            return ready(0)
        try:
            service = self._embedder()
        except TotonoeError:
            return ready(0)
        nothing = np.zeros((1, index.arrays.dimension), np.float32)

        def keep(found: list[NDArray[np.float32] | BaseException]) -> Future[int]:
            given = {
                key_hash: nothing if isinstance(vector, BaseException) else vector
                for key_hash, vector in zip(wanted, found, strict=True)
                if not isinstance(vector, Unavailable)
            }
            if given:
                index.keys.put(tuple(given), np.concatenate(list(given.values())))
            return ready(len(given))

        def embed(words: str) -> Future[NDArray[np.float32]]:
            return attempt(lambda: service.submit([words]))

        # A request for each, so that each is refused alone; they share batches all the same.
        return then(gathered([embed(words) for words in wanted.values()]), keep)

    def fill(self, index: CollectionIndex) -> None:
        """Do so for an index of the past, and wait for it, KEY_VECTORS_WAIT_S at most."""
        index.keys.take_from(self._state.index.keys)
        try:
            self.embedded(index).result(limits.KEY_VECTORS_WAIT_S)
        except FutureTimeoutError:
            return  # it is searched by text and words

    def due(self) -> bool:
        """Return whether more keys lack a vector than one Recall embeds."""
        index, info = self._state.index, self._state.published
        return (
            info.model.embeds
            and index.keys.missing_count > limits.EMBED_BATCH_TEXTS_MAX
            and time.monotonic() >= self._tried_again_s
        )

    def maintain(self, stop: threading.Event) -> None:
        """Embed a batch of keys. On the background thread; if that fails, not again soon."""
        count = 0
        if not stop.is_set():
            try:
                count = self.embedded(self._state.index).result(limits.KEY_VECTORS_WAIT_S)
            except FutureTimeoutError:
                count = 0
        if not count:
            self._tried_again_s = time.monotonic() + limits.KEY_VECTORS_RETRY_S
