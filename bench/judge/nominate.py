"""How often the twin of a text is among the memories that the guard nominates.

`python -m bench.judge.nominate`: a store of 10,000 texts of groups; each asks for one twin of a
text of a topic that is kept aside. What is not nominated can be neither refused nor asked about,
however well the pair would be judged.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict

import numpy as np

from bench.judge.data import groups
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.text.tokens import compared_tokens
from totonoe_server.tools.quality.rig import opened

_STORE = 10_000
_ASKED = 1_500
_COUNTS = 1, 4, 8, 16
_BOUNDS = 0.4, 0.5, 0.6, 0.75


def main() -> None:
    """Print the share of twins nominated by the vectors and by the words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asked", type=int, default=_ASKED)
    options = parser.parse_args()
    languages, asked, stored, twins = _drawn(options.asked)
    with opened(EmbedderSettings()) as rig:
        vectors = rig.vectors([*stored, *asked], lambda _: None)
    memories, queries = vectors[: len(stored)], vectors[len(stored) :]
    jaccard = _Words(stored)
    rows = []
    for text, query, twin in zip(asked, queries, twins, strict=True):
        near, common = memories @ query, jaccard.to(text)
        ranks = [int((values > values[twin]).sum()) for values in (near, common)]
        rows.append((*ranks, near[twin], common[twin]))
    table = np.array(rows)
    for name in ("all", "en", "ja", "zh", "xx"):
        _print(name, table[[name in ("all", one) for one in languages]])


def _drawn(most: int) -> tuple[list[str], list[str], list[str], list[int]]:
    """Return languages and texts that ask, the texts of the store, and the places of the twins."""
    draw, every = random.Random(0), groups()
    aside = [one for one in every if one.aside]
    draw.shuffle(aside)
    languages, asked, stored, twins = [], [], [], []
    for one in aside:
        query, twin = draw.sample(one.same, 2)
        if len(asked) < most:
            languages.append(one.language)
            asked.append(query)
            twins.append(len(stored))
        stored += [twin, *(text for text, _, _ in one.different)]
    others = [text for one in every if not one.aside for text in one.same[:2]]
    stored += draw.sample(others, max(0, _STORE - len(stored)))
    return languages, asked, stored, twins


class _Words:
    """Jaccard similarities of a text to all texts of a store."""

    def __init__(self, stored: list[str]) -> None:
        self._places: dict[str, list[int]] = defaultdict(list)
        words = [compared_tokens(text) for text in stored]
        for at, found in enumerate(words):
            for word in found:
                self._places[word].append(at)
        self._sizes = np.array([len(one) for one in words])

    def to(self, text: str) -> np.ndarray:
        own, shared = compared_tokens(text), np.zeros(len(self._sizes))
        for word in own:
            shared[self._places.get(word, [])] += 1
        return shared / (self._sizes + len(own) - shared)


def _print(name: str, rows: np.ndarray) -> None:
    by_cosine, by_words, cosine, jaccard = rows.T
    over = {bound: round(float((cosine >= bound).mean()), 3) for bound in _BOUNDS}
    print(f"{name}: {len(rows)} twins; cosine at least {over};", end=" ")
    print(f"Jaccard over 0.4: {(jaccard > 0.4).mean():.3f}")
    for count in _COUNTS:
        near, common = by_cosine < count, by_words < count
        shares = near.mean(), common.mean(), (near | common).mean()
        print("  first {}: cosine {:.3f}, words {:.3f}, either {:.3f}".format(count, *shares))


if __name__ == "__main__":
    main()
