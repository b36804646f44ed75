"""A memory of hnswlib alone, as the smallest example of a system for the stage.

totonoe quality --stage --system bench.stage.hnsw_only:HnswOnly
"""

from __future__ import annotations

from collections.abc import Sequence

import hnswlib

from totonoe_server.tools.quality.stage.system import Embed, Shown

REFUSED_FROM = 0.95
COUNT_MAX = 1_000
"""Texts that it can hold: the chains have fewer notes, a pair two."""


class HnswOnly:
    """Refuses what lies near something stored, and finds the nearest.

    Parameters
    ----------
    embed : Embed
        Makes the vectors, with the daemon's embedder.
    """

    name = f"hnswlib, cosine {REFUSED_FROM:.2f}"

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._dimension = embed(["x"]).shape[1]
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._texts: list[str] = []
        self._index: hnswlib.Index | None = None

    def remember(self, text: str) -> bool:
        """Save a text unless something stored lies near it."""
        vector = self._embed([text])
        if self._index is None:
            self._index = hnswlib.Index(space="cosine", dim=self._dimension)
            self._index.init_index(COUNT_MAX, M=16, ef_construction=200, random_seed=1)
            self._index.set_num_threads(1)
        if self._texts and 1.0 - self._index.knn_query(vector, k=1)[1][0][0] >= REFUSED_FROM:
            return False
        self._index.add_items(vector, [len(self._texts)])
        self._texts.append(text)
        return True

    def recall(self, query: str, k: int) -> Sequence[Shown]:
        """Return the nearest texts."""
        if self._index is None:
            return []
        self._index.set_ef(max(50, k))
        k = min(k, len(self._texts))
        return [
            Shown(self._texts[at]) for at in self._index.knn_query(self._embed([query]), k=k)[0][0]
        ]

    def close(self) -> None:
        """Do nothing: all of it is in memory."""
