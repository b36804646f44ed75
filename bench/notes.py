"""Notes for the benches: texts that are no sentences from parts, with vectors of the bundled model.

Either the labelled pairs that the package ships, short notes of agents in English, Japanese and
Chinese, or the lines of a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import material
from bench.material import Item
from totonoe_core.guard.probe import probe_pairs

TEXTS_MIN = 400
"""Fewer leave some rows with none of their own."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes that stand in a collection, and others that are remembered after them.

    Attributes
    ----------
    name : str
        What rows call the texts.
    store : str
        What rows call a collection of them.
    """

    name: str
    store: str
    stored: Sequence[Item]
    said: Sequence[Item]


def shipped(seed: int) -> Notes:
    """One text of each shipped pair stands there, the other is remembered, in an order by chance.

    Of the others, four in ten say the same as a stored note; the rest differ from one in a little.
    That is harder on the guard than the notes of a day, most of which have no such partner.
    """
    pairs = probe_pairs()
    stored = dict.fromkeys(pair.a for pair in pairs)
    others = [text for text in dict.fromkeys(pair.b for pair in pairs) if text not in stored]
    order = np.random.default_rng(seed).permutation(len(others))
    return _embedded("notes", "pairs", list(stored), [others[at] for at in order])


def of_file(path: Path) -> Notes:
    """The first half of a file stands there, the second is remembered."""
    texts = material.read_texts(path)
    if len(texts) < TEXTS_MIN:
        raise SystemExit(f"--texts: {len(texts)} texts, at least {TEXTS_MIN} are needed")
    half = len(texts) // 2
    return _embedded(path.name, "first_half", texts[:half], texts[half:])


def _embedded(name: str, store: str, stored: list[str], said: list[str]) -> Notes:
    texts = stored + said
    items = [
        Item(number, text, vector.tobytes())
        for number, (text, vector) in enumerate(zip(texts, material.embedded(texts), strict=True))
    ]
    return Notes(name, store, items[: len(stored)], items[len(stored) :])
