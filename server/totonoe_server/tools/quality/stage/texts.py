"""The public texts of the stage. Their card is `bench/stage/README.md`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from totonoe_server.tools.quality.files import FileError, rows

RELATIONS = {
    "x": "exclusive",
    "c": "compatible",
    "m": "more",
    "l": "less",
    "u": "unknown",
}
"""Relation of a look-alike to the fact, by the letter in the file."""
_PACKED = Path(__file__).parent / "data"
"""Where a wheel has the texts: pyproject.toml puts them there."""
_CHECKOUT = Path(__file__).parents[5] / "bench" / "stage"


class Role:
    """Names of what a note of a chain is to its question."""

    OLD, NOW, TRUE, CLAIM, OTHER = "old", "now", "true", "claim", "other"


@dataclass(frozen=True, slots=True)
class LookAlike:
    """A text that looks like a fact and does not say it."""

    text: str
    kind: str
    relation: str


@dataclass(frozen=True, slots=True)
class Group:
    """Texts that say the same fact, and texts that look like it."""

    lang: str
    topic: str
    same: tuple[str, ...]
    different: tuple[LookAlike, ...]


class PairOfGroup(NamedTuple):
    """A memory, the text that is saved after it, and what that is to the memory.

    `relation` is "same" or one of `RELATIONS`.
    """

    memory: str
    text: str
    relation: str
    lang: str

    @property
    def same(self) -> bool:
        """Return whether both say the same."""
        return self.relation == "same"


@dataclass(frozen=True, slots=True)
class Note:
    """One note of a chain; `role` is one of `Role`."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Chain:
    """Notes in the order in which they are saved, and the question that asks for what is true."""

    lang: str
    topic: str
    kind: str
    question: str
    notes: tuple[Note, ...]


def directory() -> Path:
    """Return the folder with the texts, of the wheel or of the checkout."""
    return _PACKED if _PACKED.is_dir() else _CHECKOUT


def read_groups(limit: int | None = None) -> list[Group]:
    """Return the first `limit` groups of each language. Raises `FileError`."""
    return [
        Group(
            row["lang"],
            row["topic"],
            tuple(row["same"]),
            tuple(
                LookAlike(other["text"], other["kind"], RELATIONS[other["relation"]])
                for other in row["different"]
            ),
        )
        for row in _rows("groups", limit)
    ]


def read_chains(limit: int | None = None) -> list[Chain]:
    """Return the first `limit` chains of each language. Raises `FileError`."""
    return [
        Chain(
            row["lang"],
            row["topic"],
            row["kind"],
            row["question"],
            tuple(Note(note["role"], note["text"]) for note in row["notes"]),
        )
        for row in _rows("chains", limit)
    ]


def pairs_of(groups: Sequence[Group]) -> list[PairOfGroup]:
    """Return each two texts that say the same, and each of them with each look-alike."""
    found = []
    for group in groups:
        for memory, text in itertools.combinations(group.same, 2):
            found.append(PairOfGroup(memory, text, "same", group.lang))
        for memory, other in itertools.product(group.same, group.different):
            found.append(PairOfGroup(memory, other.text, other.relation, group.lang))
    return found


def _rows(folder: str, limit: int | None) -> Iterator[dict[str, Any]]:
    paths = sorted((directory() / folder).glob("*.jsonl"))
    if not paths:
        raise FileError(f"{directory() / folder}: has no texts")
    for path in paths:
        yield from itertools.islice(rows(path), limit)
