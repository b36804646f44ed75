"""Plain data that every store takes and returns, whatever holds its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from totonoe_core.base.errors import CommitsLost, Corruption
from totonoe_core.domain.records import Link, LinkType
from totonoe_core.domain.snapshots import Snapshot, TableDigest

SETTINGS_KEY: Final = "collection"
"""Key in `setting` of the collection's own settings with its name."""
OF_CATALOGUE: Final = "--catalogue"


@dataclass(frozen=True, slots=True)
class Place:
    """Path of a collection's file, and the uid and name that it must have.

    An empty name is not compared.
    """

    path: Path
    uid: str
    name: str


@dataclass(slots=True)
class Touched:
    """Keys of the rows that an operation made, changed or removed.

    `known` are purged private memories that were once public: agents that saw them then must learn
    that they are gone, and nothing else records it.
    """

    memories: list[int] = field(default_factory=list)
    links: list[tuple[int, int, str]] = field(default_factory=list)
    episodes: list[str] = field(default_factory=list)
    settings: bool = False
    known: list[int] = field(default_factory=list)
    dismissals: list[tuple[int, int]] = field(default_factory=list)
    lost: tuple[int, ...] = ()
    """First and last of the revisions that are never used, after a confirmed loss."""

    def __bool__(self) -> bool:
        return bool(
            self.memories or self.links or self.episodes or self.settings or self.dismissals
        )

    def dumps(self) -> str:
        """JSON for the operation's row."""
        keys: dict[str, object] = {
            "memory": self.memories,
            "link": self.links,
            "episode": self.episodes,
            "setting": self.settings,
        }
        if self.known:
            keys["known"] = self.known
        if self.dismissals:
            keys["dismissal"] = self.dismissals
        if self.lost:
            keys["lost"] = self.lost
        return json.dumps(keys, separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> Touched:
        """Read the keys from the output of `dumps`."""
        data = json.loads(text)
        links = [(source, target, type_) for source, target, type_ in data["link"]]
        known = data.get("known", [])
        pairs = [(a, b) for a, b in data.get("dismissal", [])]
        lost = tuple(data.get("lost", ()))
        return cls(data["memory"], links, data["episode"], data["setting"], known, pairs, lost)


@dataclass(frozen=True, slots=True)
class Reply:
    """The kept answer of an operation id."""

    digest: bytes
    answer: str


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation as stored in the file; `touched` is JSON (`Touched.loads`)."""

    revision: int
    operation_id: str
    agent_id: str
    kind: str
    reason: str
    touched: str
    time_us: int
    undoes: int | None


@dataclass(frozen=True, slots=True)
class LinkVersion:
    """One version of one direction of a link: from revision `since` until before `until`.

    `until` is `None` for the current version. `link.target_id` is empty: rows know rows only.
    """

    source: int
    target: int
    link: Link
    since: int
    until: int | None


@dataclass(frozen=True, slots=True)
class Image:
    """State of a row from revision `since` until before `revision`.

    `before` is JSON; only images of memories have a vector.
    """

    revision: int
    since: int
    before: str
    vector: bytes


class LikelyPair(NamedTuple):
    """A `likely_same` link, from the lower row to the higher one."""

    probability: float
    low: int
    high: int
    version: str


class AskedPair(NamedTuple):
    """A link that asks about two rows. `type` is that of the link from the lower row."""

    confidence: float
    low: int
    high: int
    version: str
    type: LinkType

    @classmethod
    def of(cls, link: Link, source: int, target: int) -> AskedPair:
        """Return the pair of a link between two rows."""
        if source < target:
            return cls(link.confidence, source, target, link.note, link.type)
        return cls(link.confidence, target, source, link.note, link.type.inverse)


PairPlace = tuple[float, int, int]
"""Confidence of the link and rows of a pair. Pages go from the highest place down."""


@dataclass(frozen=True, slots=True)
class CatalogReply:
    """The kept answer of a catalogue operation."""

    digest: bytes
    answer: str


@dataclass(frozen=True, slots=True)
class Loss:
    """Commits that a database no longer has.

    Attributes
    ----------
    file : str
        The database's file.
    revision : int
        The newest revision that is left.
    last : int or None
        The newest acknowledged revision. `None` if only the log shows the loss, since no revisions
        can be read from it.
    commit_count : int
        Lower bound of the lost commits.
    next_revision, next_batch : int
        First numbers to use once the loss is confirmed, past all that may have been given out.
    """

    file: str
    revision: int
    last: int | None
    commit_count: int
    next_revision: int
    next_batch: int
    target: str
    """Argument of the command `accept-loss` that names it."""

    @property
    def revisions(self) -> str:
        """The lost revisions: "12-15", "12-" (no end is known) or "none"."""
        if self.last is None:
            return f"{self.revision + 1}-"
        return "none" if self.last <= self.revision else f"{self.revision + 1}-{self.last}"

    def named(self, collection: str) -> Loss:
        """Return the loss with the name of its collection; an empty name means unknown."""
        of_catalogue = self.target == OF_CATALOGUE
        return self if of_catalogue or not collection else replace(self, target=collection)

    def error(self) -> CommitsLost:
        """Return the error for every write."""
        return CommitsLost(
            file=self.file,
            target=self.target,
            revisions=self.revisions,
            commit_count=self.commit_count,
        )

    def beyond_reading(self) -> Corruption:
        """Return the error for an opening if the file cannot even be read."""
        return Corruption(
            "CORRUPT_ROW",
            f"{self.file} lacks commits that were acknowledged ({self.commit_count}, revisions "
            f"{self.revisions}), and is empty or of an earlier format: bring it and its log back "
            "from a copy, or restore a snapshot",
            file=self.file,
        )

    @property
    def reason(self) -> str:
        """Reason of the operation that confirms the loss, for the history."""
        return f"lost and given up: {self.commit_count} commits, revisions {self.revisions}"


@dataclass(frozen=True, slots=True)
class ExaminedSnapshot:
    """Result of an examination. `faults` is empty if the file matches its seal."""

    snapshot: Snapshot | None
    tables: tuple[TableDigest, ...]
    faults: tuple[str, ...]
