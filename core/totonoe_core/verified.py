"""What is known of the soundness of a collection: plain data, told by Stats."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Verified:
    """Bad rows that are known, and the last pass over file and memory.

    Attributes
    ----------
    bad_row_counts : dict of str to int
        Rows that do not match their checksum, by table.
    bad_memory_ids : tuple of str
        Ids of those that are memories, where they can be read, and of no private ones; at most
        BAD_MEMORIES_NAMED_MAX.
    begun_us, ended_us : int or None
        When the pass that is under way, or the last one, began, and when the last one ended.
    row_count : int
        Rows that the last pass that ended looked at.
    damage_count : int
        What SQLite's own check found in the file in that pass, at most VERIFY_DAMAGE_MAX.
    index_mismatch_count, reindexed_count : int
        Slots that were not as their rows and were made anew, and how often SQLite's indexes were,
        since the daemon started.
    """

    bad_row_counts: dict[str, int] = field(default_factory=dict)
    bad_memory_ids: tuple[str, ...] = ()
    begun_us: int | None = None
    ended_us: int | None = None
    row_count: int = 0
    damage_count: int = 0
    index_mismatch_count: int = 0
    reindexed_count: int = 0


NOT_VERIFIED = Verified()
