"""BM25 over a few texts, the baseline of what words alone find (Robertson and Zaragoza, 2009)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from totonoe_core.text.tokens import search_terms

K1, B = 1.2, 0.75


class Bm25:
    """Texts by their words; the terms are those of the daemon's own search.

    Parameters
    ----------
    texts : sequence of str
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(search_terms(text)) for text in texts]
        self._lengths = [counts.total() for counts in self._counts]
        self._mean = sum(self._lengths) / max(1, len(texts)) or 1.0
        frequencies = Counter(term for counts in self._counts for term in counts)
        self._idf = {
            term: log(1.0 + (len(texts) - count + 0.5) / (count + 0.5))
            for term, count in frequencies.items()
        }
        self._places: dict[str, list[int]] = {}
        for place, counts in enumerate(self._counts):
            for term in counts:
                self._places.setdefault(term, []).append(place)

    def best(self, query: str, k: int) -> list[int]:
        """Return the places of at most `k` texts that share a term, best first.

        Of equal ones the last comes first.
        """
        weights: dict[int, float] = {}
        for term in set(search_terms(query)):
            for place in self._places.get(term, ()):
                count = self._counts[place][term]
                length = 1.0 - B + B * self._lengths[place] / self._mean
                gain = self._idf[term] * count * (K1 + 1.0) / (count + K1 * length)
                weights[place] = weights.get(place, 0.0) + gain
        return sorted(weights, key=lambda place: (-weights[place], -place))[:k]
