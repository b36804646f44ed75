"""What the benches feed in: synthetic texts and vectors from a seed, or texts from a file.

Synthetic texts are short English sentences put together from parts, which is easier on a
tokenizer than real notes. Synthetic vectors are topics of low rank with a falling spectrum and
noise: like embeddings they have near neighbours and directions that matter more than others, and
still a bound that works on them may fail on real ones. Rows say which material they used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

DOUBLE_DISTANCE = 0.02
_RANK = 96
_TOPICS = 300
CLUSTERS = 5
_NOISE = 0.5
"""Length of a vector's own noise beside its topic's 1: originals lie over 0.1 apart."""


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


_WHO = _parts(
    """the staging cluster, the release script, the payment service, the nightly backup,
    our parser, the search index, the mobile app, the login page, the build agent, the robot arm,
    the gripper, the camera driver, the planner, the team lead, the reviewer, a new colleague,
    the customer, the data pipeline, the cache layer, the message queue"""
)
_DOES = _parts(
    """needs, prefers, rejects, restarts with, depends on, reports to, is tested against,
    waits for, was moved to, conflicts with, writes into, reads from, was replaced by,
    is limited by, ignores, validates, slows down with, fails without, was renamed after,
    keeps a copy of"""
)
_WHAT = _parts(
    """a signed certificate, the old schema, two replicas, a warm cache, short commit messages,
    the second data centre, an environment variable, the feature flag, a smaller batch,
    the calibration file, a longer timeout, a read-only token, the vendor library, strict mode,
    a manual approval, the shared folder, the fallback route, an empty queue, the audit log,
    the morning meeting, a torque of twelve newton metres, the blue cable, a dry run,
    the migration guide, an extra sensor, the spare battery, a weekly report, the legacy client"""
)
_WHEN = _parts(
    """on mondays, before each release, after the upgrade, during the night,
    when the disk is full, since the last incident, in the test environment,
    for large customers, under heavy load, at start-up, outside office hours,
    until the contract ends, while the lights are off, in the new office, on the second attempt,
    with the old firmware"""
)
_GRAMMAR = (_WHO, _DOES, _WHAT, _WHEN)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to remember. Items of one `group` say the same."""

    group: int
    text: str
    vector: bytes


def read_texts(path: Path) -> list[str]:
    """Distinct texts of a UTF-8 file, one a line, in their order."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return list(dict.fromkeys(line for line in lines if line))


def embedded(sentences: Sequence[str]) -> Vectors:
    """Vectors of real texts by the bundled model; about a millisecond each."""
    from totonoe_core.embedding.use import UseEmbedder

    embedder = UseEmbedder()
    # By length, as the daemon's batches: a batch costs as much as its longest text.
    order = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
    out: Vectors = np.empty((len(sentences), embedder.identity.dimension), np.float32)
    for start in range(0, len(order), 64):
        part = order[start : start + 64]
        out[part] = embedder.embed([sentences[number] for number in part])
    return out


def texts(generator: np.random.Generator, count: int, first: int = 0) -> list[str]:
    """Synthetic texts of about 60 characters, distinct for distinct `first` and place."""
    picks = zip(*(generator.integers(len(part), size=count) for part in _GRAMMAR), strict=True)
    made = []
    for number, places in enumerate(picks, first):
        words = " ".join(part[at] for part, at in zip(_GRAMMAR, places, strict=True))
        # The ticket makes it distinct, as names and numbers do in real notes.
        made.append(f"{words[0].upper()}{words[1:]} (ticket {number}).")
    return made


class Space:
    """Where synthetic vectors come from: the same topics for the same seed.

    Stored vectors and those that ask to come in are drawn from one space.
    """

    def __init__(self, seed: int, dimension: int) -> None:
        generator = np.random.default_rng(seed)
        rank = min(_RANK, dimension)
        self.dimension = dimension
        basis = np.linalg.qr(generator.normal(size=(dimension, rank)))[0]
        self._basis = np.ascontiguousarray(basis.T, np.float32)
        self._spectrum = (np.arange(1, rank + 1) ** -0.5).astype(np.float32)
        self._topics = generator.standard_normal((_TOPICS, rank), np.float32)

    def draw(self, generator: np.random.Generator, count: int) -> Vectors:
        """Unit vectors, float32[count, dimension]: a topic, its variation, and noise."""
        out = np.empty((count, self.dimension), np.float32)
        # By parts, so that a million rows need no second copy of themselves.
        for start in range(0, count, 50_000):
            size = min(50_000, count - start)
            own = generator.standard_normal((size, len(self._spectrum)), np.float32)
            mixed = (self._topics[generator.integers(_TOPICS, size=size)] + own) * self._spectrum
            noise = _unit(generator.standard_normal((size, self.dimension), np.float32))
            out[start : start + size] = _unit(_unit(mixed) @ self._basis + _NOISE * noise)
        return out


def near(
    generator: np.random.Generator, rows: Vectors, distance: float | NDArray[np.float64]
) -> Vectors:
    """Unit vectors at a cosine distance from given unit rows, each in a direction of its own."""
    aside = generator.standard_normal(rows.shape, np.float32)
    aside -= (aside * rows).sum(1, keepdims=True) * rows
    cosine = 1.0 - np.broadcast_to(distance, len(rows))[:, np.newaxis]
    turned = cosine * rows + np.sqrt(1.0 - cosine**2) * _unit(aside)
    return _unit(turned.astype(np.float32))


def reworded(text: str) -> str:
    """The same words in the same order with other marks and capitals: says nothing new."""
    return text.lower().rstrip(".") + " !"


def copies(
    generator: np.random.Generator, seed: int, space: Space, count: int, first: int
) -> Iterator[Item]:
    """Items that all say one of `CLUSTERS` things, each with other marks at its end.

    The same words in the same order, a vector at a cosine distance of 0.02 from what is said: a
    store that took thousands of them is as full of near-duplicates as it can be. The things are
    the same for the same seed; `first` keeps the marks of several calls apart.
    """
    own = np.random.default_rng([seed, CLUSTERS])
    said, centres = texts(own, CLUSTERS), space.draw(own, CLUSTERS)
    groups = generator.integers(CLUSTERS, size=count)
    vectors = near(generator, centres[groups], DOUBLE_DISTANCE)
    for number, (group, vector) in enumerate(zip(groups.tolist(), vectors, strict=True), first):
        marks = f"{number:b}".replace("0", "!").replace("1", ".")
        yield Item(group, f"{said[group].rstrip('.')} {marks}", vector.tobytes())


def items(
    generator: np.random.Generator, sentences: list[str], space: Space, double_share: float
) -> Iterator[Item]:
    """One item for each text, of which a share only restates an earlier one.

    A restatement comes at least 16 items after what it restates, has the same words in the same
    order, and lies at a cosine distance of 0.02 from it.
    """
    own = space.draw(generator, len(sentences))
    doubles = generator.random(len(sentences)) < double_share
    originals: list[int] = []
    for number, sentence in enumerate(sentences):
        settled = len(originals) - 16
        if doubles[number] and settled > 0:
            first = originals[int(generator.integers(settled))]
            vector = near(generator, own[first : first + 1], DOUBLE_DISTANCE)[0]
            yield Item(first, reworded(sentences[first]), vector.tobytes())
        else:
            originals.append(number)
            yield Item(number, sentence, own[number].tobytes())


def _unit(rows: Vectors) -> Vectors:
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
