"""Known soundness of a collection, as plain data that Stats shows."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Verified:
    """Known bad rows, and the last verification of file and memory.

    Attributes
    ----------
    bad_row_counts : dict of str to int
        Rows that do not match their checksum, by table.
    bad_memory_ids : tuple of str
        Ids of bad memories that are readable and not private; at most BAD_MEMORIES_NAMED_MAX.
    begun_us, ended_us : int or None
        Start of the pass that runs, or of the last one; end of the last one.
    row_count : int
        Rows checked by the last complete pass.
    damage_count : int
        Findings of SQLite's own check in that pass, at most VERIFY_DAMAGE_MAX.
    index_mismatch_count, reindexed_count : int
        Slots that differed from their rows and were rebuilt, and rebuilds of SQLite's indexes,
        since the daemon started.
    lost_commit_count : int
        Lower bound of acknowledged commits that are gone from the disk. Unless it is 0, nothing is
        written.
    lost_revisions : str
        Their revisions: "12-15", "12-" (no end is known) or "none"; empty if no commit is lost.
    """

    bad_row_counts: dict[str, int] = field(default_factory=dict)
    bad_memory_ids: tuple[str, ...] = ()
    begun_us: int | None = None
    ended_us: int | None = None
    row_count: int = 0
    damage_count: int = 0
    index_mismatch_count: int = 0
    reindexed_count: int = 0
    lost_commit_count: int = 0
    lost_revisions: str = ""


NOT_VERIFIED = Verified()
