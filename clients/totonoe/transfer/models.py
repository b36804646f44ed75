"""Models of exports and imports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from totonoe.enums import Status
from totonoe.errors import TotonoeError


@dataclass(frozen=True, slots=True)
class ImportHeader:
    """The first line of a file: its collection, the agent that exported it, and when.

    `model` is the stamp of its vectors; `vectors` says whether they are in the file.
    """

    collection: str
    agent_id: str
    revision: int
    time: datetime | None
    model: str
    vectors: bool
    statuses: tuple[Status, ...]


@dataclass(frozen=True, slots=True)
class ImportItem:
    """A memory of the file that was not saved: a repetition, or one that failed.

    `method` is a layer of the guard, or `forgotten`. `duplicate_of` is empty where the caller may
    not see that memory.
    """

    line: int
    memory_id: str
    duplicate_of: str
    method: str
    similarity: float
    error: TotonoeError | None


@dataclass(frozen=True, slots=True)
class Imported:
    """Progress of an import, or its result once it is `done`.

    Attributes
    ----------
    record_counts : mapping of str to int
        Records read, by kind: `memory`, `link`, `episode`, `dismissal`.
    saved_count, existing_count, left_out_count, failed_count, replayed_count : int
        Memories that were saved; that were there by id or external id; what does not pass the
        guard (not live, or no memory); what failed; what an import before, of the same operation
        id, answered.
    refused_counts : mapping of str to int
        Memories that the guard refused, by method.
    operation_count : int
        Operations; number n has the id `operation_id`/n, or through the guard that of line n.
    vectors_used : bool
        The vectors of the file were used; otherwise texts were embedded.
    items : tuple of ImportItem
        The first 1,000 that were not saved.
    """

    revision: int
    operation_id: str
    done: bool
    header: ImportHeader | None
    line_count: int
    record_counts: Mapping[str, int]
    saved_count: int
    refused_counts: Mapping[str, int]
    existing_count: int
    left_out_count: int
    failed_count: int
    replayed_count: int
    operation_count: int
    vectors_used: bool
    items: tuple[ImportItem, ...]


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """Progress of an export: records and bytes so far, of nearly `memory_count` memories.

    `damaged_count` rows are left out: what is on the daemon's disk does not match its checksum.
    """

    revision: int
    record_count: int
    byte_count: int
    memory_count: int
    damaged_count: int = 0
