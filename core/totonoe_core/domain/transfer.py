"""Export and Import: queries, messages, and the command of a batch of rows.

The form of the file is that of `totonoe_core.jsonl`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from totonoe_core.base.errors import TotonoeError
from totonoe_core.domain.records import Episode, LinkType, Memory, Status


@dataclass(frozen=True, slots=True)
class ExportQuery:
    """Contents of an export, among what `agent_id` can see. Empty `statuses` means all."""

    agent_id: str
    include_vectors: bool = False
    statuses: tuple[Status, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportChunk:
    """Some whole lines of a file.

    Attributes
    ----------
    revision : int
        Revision that the file shows.
    data : bytes
        Lines, each with its end; empty at the end of the file.
    record_count : int
        Records so far, without header and end.
    memory_count : int
        Memories counted at the start; fewer may follow.
    damaged_count : int
        Rows left out so far because they do not match their checksum.
    """

    revision: int
    data: bytes
    record_count: int
    memory_count: int
    damaged_count: int = 0


@dataclass(frozen=True, slots=True)
class ImportQuery:
    """Mode of an import.

    Without `as_is`, live memories pass the guard one by one. With `as_is`, everything is stored as
    the file says, in an empty collection. `dry_run` only checks the file.
    """

    agent_id: str
    as_is: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Header:
    """First line of a file; `model_key` is the stamp of the vectors, `settings` are changes."""

    collection: str
    agent_id: str
    model_key: str
    dimension: int
    settings: tuple[tuple[str, Any], ...]
    revision: int
    time_us: int
    statuses: tuple[Status, ...]
    vectors: bool
    memory_count: int


@dataclass(frozen=True, slots=True)
class LinkLine:
    """A link as one of its ends holds it; the other end holds the inverse."""

    source_id: str
    target_id: str
    type: LinkType
    confidence: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class DismissalLine:
    """A pair of memories that is no duplicate as long as their texts stay the same."""

    id_a: str
    id_b: str
    agent_id: str
    note: str = ""


Record = Memory | LinkLine | Episode | DismissalLine
"""One line of a file; a memory and an episode come without row number and revision."""


@dataclass(frozen=True, slots=True)
class ImportRows:
    """Put records into a collection as they are, each with the number of its line.

    Every memory has its vector. `digest` is of the lines. Requests are compared by it alone, so
    that a repeated batch need not be equal in vectors that the daemon made. `first` requires an
    empty collection and changes its settings.
    """

    agent_id: str
    digest: str
    first: bool
    settings: tuple[tuple[str, Any], ...] = ()
    records: tuple[tuple[int, Record], ...] = ()


@dataclass(frozen=True, slots=True)
class RowsImported:
    """Answer to `ImportRows`."""

    record_count: int


@dataclass(frozen=True, slots=True)
class ImportItem:
    """A memory that was not saved, and why.

    `duplicate_of` is empty if the caller cannot see that memory.
    """

    line: int
    memory_id: str
    duplicate_of: str = ""
    method: str = ""
    similarity: float = 0.0
    error: TotonoeError | None = None


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """Progress of an import; `items` are of the lines since the message before.

    Attributes
    ----------
    header : Header or None
        Header of the file, once it was read.
    done : bool
        True once the whole file is imported.
    counts : dict of str to int
        Records read, by kind.
    saved_count, existing_count, left_out_count, failed_count, replayed_count : int
        Memories that were saved; that were there by their id, or whose external id was taken; that
        do not pass the guard (not live), with links, episodes and dismissals; that failed; whose
        answer is that of an earlier import.
    refused_counts : dict of str to int
        Memories that the guard refused, by method.
    operation_count : int
        Operations so far; number n has the id `operation_id`/n. Through the guard, n is the line.
    vectors_used : bool
        The vectors of the file are those of the collection's model.
    """

    revision: int
    operation_id: str
    header: Header | None = None
    done: bool = False
    line_count: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    saved_count: int = 0
    refused_counts: Mapping[str, int] = field(default_factory=dict)
    existing_count: int = 0
    left_out_count: int = 0
    failed_count: int = 0
    replayed_count: int = 0
    operation_count: int = 0
    vectors_used: bool = False
    items: tuple[ImportItem, ...] = ()
