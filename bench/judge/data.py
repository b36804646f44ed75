"""Pairs that the judge learns from, and those that are kept aside.

A fifth of the topics of the groups is kept aside, by the topic's name, whatever the file.
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import random
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
RELATIONS = ("same", "more", "less", "exclusive", "compatible", "unrelated")
MIRRORED = (0, 2, 1, 3, 4, 5)
"""Relation of (b, a) for each relation of (a, b)."""
UNKNOWN = -1
"""The relation is not known."""
SAME_OR_LESS = -2
"""The second text follows from the first: it says the same, or less."""
_OF_LETTER = {"m": 1, "l": 2, "x": 3, "c": 4}
_OF_VERDICT = {
    "duplicate": 0,
    "refinement": 1,
    "contained": 2,
    "contradiction": 3,
    "update": 3,
}
_ASIDE = 5, 1
_TUNING = 10, 6
"""Every second topic of those kept aside: scales, trees and bounds are fitted on it."""
_LEARNED_WHOLLY = "seventh: ", "eighth: ", "ninth: "
"""Topics written after the fifth had been set aside."""
_LATE = "en_ninth_life", "en_ninth_light"
"""Files that came behind the training of the weights that ship. The next training learns them."""
_EDITS_PER_GROUP = 3
_POSITIVES, _NEGATIVES = 5, 6
_GENERAL_MAX = 30_000
"""Of one set."""
_GENERAL_ASIDE = 20


class Pair(NamedTuple):
    """Two texts, whether they say the same (NaN: unknown), and what the second is to the first."""

    a: str
    b: str
    same: float
    relation: int

    def turned(self) -> Pair:
        """Return the pair in the other order."""
        if self.relation == SAME_OR_LESS:
            return self
        relation = self.relation if self.relation < 0 else MIRRORED[self.relation]
        return Pair(self.b, self.a, self.same, relation)


@dataclass(frozen=True)
class Group:
    """Texts that say the same, and texts that look alike and do not, with their relation."""

    file: str
    language: str
    topic: str
    same: tuple[str, ...]
    different: tuple[tuple[str, int, str], ...]
    """Text, relation to the fact, kind of the change."""

    @property
    def aside(self) -> bool:
        """Return whether the topic is kept aside."""
        if self.topic.startswith(_LEARNED_WHOLLY):
            return False
        modulus, rest = _ASIDE
        return zlib.crc32(self.topic.encode()) % modulus == rest

    @property
    def for_tuning(self) -> bool:
        """Return whether the topic is kept aside from the network, but not from what uses it."""
        modulus, rest = _TUNING
        return self.aside and zlib.crc32(self.topic.encode()) % modulus == rest

    @property
    def late(self) -> bool:
        """Return whether the group came behind the training of the weights that ship."""
        return self.file in _LATE

    @property
    def published(self) -> bool:
        """Return whether nothing at all is fitted on the topic."""
        return self.aside and not self.for_tuning


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines, plain or gzipped."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def groups(directory: Path = HERE / "groups") -> list[Group]:
    """Return the groups of all files."""
    found = []
    for path in sorted(directory.glob("*.jsonl")):
        for row in rows(path):
            different = tuple(
                (other["text"], _OF_LETTER.get(other.get("relation", "u"), UNKNOWN), other["kind"])
                for other in row["different"]
            )
            found.append(Group(path.stem, row["lang"], row["topic"], tuple(row["same"]), different))
    return found


class Shares(NamedTuple):
    """Parts of the pairs of a stream, each from 0 to 1; the rest is of groups."""

    general: float
    labelled: float
    open: float = 0.0
    """Pairs of texts of a group or topic whose answer is not known."""


class Stream:
    """An endless stream of pairs: groups, edits of them, labelled pairs and general ones.

    Parameters
    ----------
    learned : sequence of Group
    labelled, general : sequence of Pair
    edits : mapping of str to list of (kind, text)
        Edits that change the meaning of a text.
    """

    def __init__(
        self,
        learned: Sequence[Group],
        labelled: Sequence[Pair],
        general: Sequence[Pair],
        edits: dict[str, list[tuple[str, str]]],
        seed: int,
    ) -> None:
        self._seed = seed
        self._random = random.Random(seed)
        self._learned, self._labelled = list(learned), list(labelled)
        self._general, self._edits = list(general), edits
        self._of_topic: dict[tuple[str, str], list[Group]] = defaultdict(list)
        for group in learned:
            self._of_topic[group.language, group.topic].append(group)
        self._queues: dict[str, list[Any]] = {}

    def apart(self, number: int) -> Stream:
        """Return a stream of the same pairs in another order, one for each number."""
        stream = copy.copy(self)
        stream._random, stream._queues = random.Random(f"{self._seed} {number}"), {}
        return stream

    def take(self, count: int, shares: Shares) -> list[Pair]:
        """Return about `count` pairs, each in one of its two orders by chance."""
        found: list[Pair] = []
        for name, items, share in (
            ("general", self._general, shares.general),
            ("labelled", self._labelled, shares.labelled),
        ):
            found += [self._next(name, items) for _ in range(int(count * share) if items else 0)]
        found += [self._open() for _ in range(int(count * shares.open))]
        while len(found) < count:
            found += self._of_group(self._next("group", self._learned))
        self._random.shuffle(found)
        return [pair.turned() if self._random.random() < 0.5 else pair for pair in found]

    def _next(self, name: str, items: list[Any]) -> Any:
        if not self._queues.get(name):
            self._queues[name] = self._random.sample(items, len(items))
        return self._queues[name].pop()

    def _open(self) -> Pair:
        """Return a pair that nobody has labelled: two look-alikes, or two texts of a topic."""
        draw, group = self._random, self._next("open", self._learned)
        others = [text for text, *_ in group.different]
        if draw.random() < 0.6:
            text, other = draw.sample(others, 2)
        else:
            near = draw.choice(self._of_topic[group.language, group.topic])
            text = draw.choice([*group.same, *others])
            other = draw.choice([*near.same, *(wording for wording, *_ in near.different)])
        return Pair(text, other, float("nan"), UNKNOWN)

    def _of_group(self, group: Group) -> list[Pair]:
        draw, same, different = self._random, group.same, group.different
        positives = [Pair(a, b, 1, 0) for i, a in enumerate(same) for b in same[i + 1 :]]
        negatives = [Pair(a, text, 0, relation) for a in same for text, relation, _ in different]
        found = draw.sample(positives, min(_POSITIVES, len(positives)))
        found += draw.sample(negatives, min(_NEGATIVES, len(negatives)))
        edited = [text for text in same if text in self._edits]
        for number in range(_EDITS_PER_GROUP if edited else 0):
            text = draw.choice(edited)
            _, changed = draw.choice(self._edits[text])
            # A reworded negative of each kind: an edit of one text against another one.
            found.append(Pair(text if number == 0 else draw.choice(same), changed, 0, UNKNOWN))
        found.append(Pair(draw.choice(same), self._dressed(draw.choice(same)), 1, 0))
        topic = self._of_topic[group.language, group.topic]
        other = draw.choice(topic if draw.random() < 0.6 else self._learned)
        if other is not group:
            found.append(Pair(draw.choice(same), draw.choice(other.same), 0, 5))
        return found

    def _dressed(self, text: str) -> str:
        """Return the text as another agent may write it down: case, bullet, label, stop."""
        return self._random.choice(
            [
                text.lower(),
                text.rstrip(".。"),
                f"- {text}",
                f"Note: {text}",
                f"**{text}**",
                f'"{text}"',
                f"* {text.rstrip('.。')}",
                text[:1].lower() + text[1:],
            ]
        )


def labelled_pairs(probe: Path, agent_pairs: Path) -> list[Pair]:
    """Return the probe set and four fifths of the agent pairs, by topic."""
    found = []
    for path in sorted(probe.glob("*.jsonl")):
        for row in rows(path):
            relation = _OF_VERDICT.get(row["verdict"], UNKNOWN)
            found.append(Pair(row["a"], row["b"], float(relation == 0), relation))
    for path in sorted(agent_pairs.glob("agent_pairs_*.jsonl")):
        for row in rows(path):
            if row["label"] is None or is_kept_aside(row["meta"]["topic"]):
                continue
            same = int(row["label"])
            found.append(Pair(row["a"], row["b"], same, 0 if same else UNKNOWN))
    return found


def is_kept_aside(topic: str) -> bool:
    """Return whether the agents' pairs of a topic are kept aside."""
    digest = hashlib.blake2b(topic.encode(), digest_size=8).hexdigest()
    return int(digest, 16) % 5 == 0


def general_pairs(directory: Path, aside: bool = False) -> list[Pair]:
    """Return the general pairs: inference and paraphrase sets (see the model card).

    At most 30,000 of a set; one text in 20 is kept aside, by its first text.
    """
    known = {"s": 0, "s?": 0, "x": 3, "u": 5, "m": 1, "l": 2}
    found = []
    for path in sorted([*directory.glob("*.jsonl"), *directory.glob("*.jsonl.gz")]):
        of_file = []
        for row in rows(path):
            if (zlib.crc32(row["a"].encode()) % _GENERAL_ASIDE == 0) is not aside:
                continue
            letter = row["relation"]
            same = float("nan") if letter == "l?" else float(letter in ("s", "s?"))
            relation = SAME_OR_LESS if letter == "l?" else known.get(letter, UNKNOWN)
            of_file.append(Pair(row["a"], row["b"], same, relation))
        found += random.Random(0).sample(of_file, min(_GENERAL_MAX, len(of_file)))
    return found
