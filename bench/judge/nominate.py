"""How often the twin of a text is among the memories that the guard nominates.

`python -m bench.judge.nominate [--streams DIRECTORY]`: a store of 10,000 texts of groups; each asks
for one twin of a text of a topic that is kept aside. What is not nominated can be neither refused
nor asked about, however well the pair would be judged. Then what a lower cosine to nominate from
would bring, and how many pairs the judge would read for it; last the same of streams, whose notes
are saved one after the other.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.judge.data import groups
from bench.judge.figures import POLICY, Read, Reader, outcome
from bench.judge.opinions import Opinions
from bench.probability_data import Vectors
from totonoe_core.base import limits
from totonoe_core.domain.records import Judgement
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.guard.candidates import NOMINATED_FROM, NOMINATED_WORDS_ABOVE
from totonoe_core.judging.own import SHIPPED
from totonoe_core.text.tokens import compared_tokens
from totonoe_server.tools.quality.files import Item, read_stream
from totonoe_server.tools.quality.rig import opened

_STORE = 10_000
_ASKED = 1_500
_COUNTS = 1, 4, 8, 16
_BOUNDS = 0.4, 0.5, 0.6, 0.75
_FLOORS = NOMINATED_FROM, 0.5, 0.4, 0.3
_OUTCOMES = "refused", "asked", "shown"


def main() -> None:
    """Print the share of twins nominated by the vectors and by the words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asked", type=int, default=_ASKED)
    parser.add_argument("--streams", type=Path, help="directory of streams")
    options = parser.parse_args()
    languages, asked, stored, twins = _drawn(options.asked)
    with opened(EmbedderSettings()) as rig:
        cache = Path(tempfile.gettempdir()) / "totonoe-fit"
        vectors = Vectors(rig, cache / "vectors.npz")
        vectors.add([*stored, *asked])
        reader = Reader(vectors, rig.model, Opinions(SHIPPED, cache / "opinions.npz"))
        memories, jaccard = np.array([vectors[text] for text in stored]), _Words(stored)
        rows, beside = [], []
        for text, twin in zip(asked, twins, strict=True):
            near, common = memories @ vectors[text], jaccard.to(text)
            ranks = [int((values > values[twin]).sum()) for values in (near, common)]
            rows.append((*ranks, near[twin], common[twin]))
            found = _nominated(near, common)
            read = reader.read([(stored[item.slot], text) for item in found])
            beside.append((twin, list(zip(found, read, strict=True))))
        table = np.array(rows)
        for name in ("all", "en", "ja", "zh", "xx"):
            _print(name, table[[name in ("all", language) for language in languages]])
        for floor in _FLOORS:
            _print_floor(floor, beside)
        for file in sorted(options.streams.glob("*.jsonl.gz")) if options.streams else ():
            items = read_stream(file)
            vectors.add([item.text for item in items])
            for floor in _FLOORS:
                print(f"{file.stem} from {floor}: {_streamed(items, vectors, reader, floor)}")


def _drawn(most: int) -> tuple[list[str], list[str], list[str], list[int]]:
    """Return languages and texts that ask, the texts of the store, and the places of the twins."""
    draw, every = random.Random(0), groups()
    aside = [group for group in every if group.aside]
    draw.shuffle(aside)
    languages, asked, stored, twins = [], [], [], []
    for group in aside:
        query, twin = draw.sample(group.same, 2)
        if len(asked) < most:
            languages.append(group.language)
            asked.append(query)
            twins.append(len(stored))
        stored += [twin, *(text for text, _, _ in group.different)]
    others = [text for group in every if not group.aside for text in group.same[:2]]
    stored += draw.sample(others, max(0, _STORE - len(stored)))
    return languages, asked, stored, twins


class _Words:
    """Jaccard similarities of a text to all texts of a store."""

    def __init__(self, stored: Iterable[str]) -> None:
        self._places: dict[str, list[int]] = defaultdict(list)
        self._sizes: list[int] = []
        for text in stored:
            self.add(text)

    def add(self, text: str) -> None:
        words = compared_tokens(text)
        for word in words:
            self._places[word].append(len(self._sizes))
        self._sizes.append(len(words))

    def to(self, text: str) -> np.ndarray:
        own, shared = compared_tokens(text), np.zeros(len(self._sizes))
        for word in own:
            shared[self._places.get(word, [])] += 1
        return shared / (np.array(self._sizes) + len(own) - shared)


class _Near(NamedTuple):
    slot: int
    cosine: float
    by_words: bool


def _nominated(near: np.ndarray, common: np.ndarray) -> list[_Near]:
    """Return the nearest by cosine, from the lowest floor on, and those with the most words."""
    nearest = np.argsort(-near, kind="stable")[: limits.NOMINATED_MAX]
    worded = np.argsort(-common, kind="stable")[: limits.NOMINATED_MAX]
    by_words = {int(slot) for slot in worded if common[slot] > NOMINATED_WORDS_ABOVE}
    by_cosine = {int(slot) for slot in nearest if near[slot] >= min(_FLOORS)}
    return [
        _Near(slot, float(near[slot]), slot in by_words) for slot in sorted(by_words | by_cosine)
    ]


def _print_floor(floor: float, beside: Iterable[tuple[int, list[tuple[_Near, Read]]]]) -> None:
    """Print what a save does if memories are nominated from a cosine on."""
    counts = np.array([_saved(floor, *item) for item in beside], np.float64)
    judged, reached, asked, right = counts.mean(axis=0)
    print(f"nominated from cosine {floor}: {judged:.2f} pairs judged a save,", end=" ")
    print(f"twin among them {reached:.3f}, asked {asked:.3f}, about the twin {right:.3f}")


def _saved(
    floor: float, twin: int, beside: list[tuple[_Near, Read]]
) -> tuple[int, bool, bool, bool]:
    """Return the pairs judged, and whether the twin is nominated, anything asked, and rightly."""
    seen = [(near, read) for near, read in beside if near.by_words or near.cosine >= floor]
    judged, heard = _heard(seen)
    likely = [
        (judgement.same_probability, slot)
        for slot, judgement in heard
        if POLICY.is_likely(judgement)
    ]
    reached = any(near.slot == twin for near, _ in seen)
    return judged, reached, bool(likely), bool(likely) and max(likely)[1] == twin


def _heard(seen: list[tuple[_Near, Read]]) -> tuple[int, list[tuple[int, Judgement]]]:
    """Return how many pairs the judge reads, and what is then said of each slot."""
    judged, said = 0, []
    for near, read in sorted(seen, key=lambda pair: -pair[1].before.same_probability):
        heard = read.after.by_judge and judged < limits.OWN_JUDGE_PAIRS_PER_SAVE_MAX
        judged += heard
        said.append((near.slot, read.after if heard else read.before))
    return judged, said


def _streamed(items: Sequence[Item], vectors: Vectors, reader: Reader, floor: float) -> str:
    """Return what becomes of notes that are saved one after the other, as a line."""
    memories = np.array([vectors[item.text] for item in items])
    saved: list[int] = []
    words, judged = _Words([]), 0
    done, right = Counter[str](), Counter[str]()
    for at, item in enumerate(items):
        best: dict[str, tuple[float, int]] = {}
        if saved:
            near = _nominated(memories[saved] @ memories[at], words.to(item.text))
            seen = [entry for entry in near if entry.by_words or entry.cosine >= floor]
            read = reader.read([(items[saved[entry.slot]].text, item.text) for entry in seen])
            count, heard = _heard(list(zip(seen, read, strict=True)))
            judged += count
            for slot, judgement in heard:
                made = outcome(judgement)
                best[made] = max(best.get(made, (0.0, 0)), (judgement.same_probability, slot))
        made = next((action for action in _OUTCOMES if action in best), "saved")
        done[made] += 1
        if made in best:
            other = items[saved[best[made][1]]]
            right[made] += (item.dup_of or item.id) == (other.dup_of or other.id)
        if made != "refused":
            saved.append(at)
            words.add(item.text)
    said = (f"{action} {done[action]}, right {right[action]}" for action in _OUTCOMES)
    return f"{len(saved)} saved, {judged / len(items):.2f} pairs judged a save; " + "; ".join(said)


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
