"""The report of an import: counts, and the first examples of what needs a look."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from totonoe.enums import Verdict
from totonoe.importers.records import Record, Skipped
from totonoe.memories.models import Checked, Remembered

CONTRADICTIONS_SHOWN_MAX = 20
SKIPPED_SHOWN_MAX = 100
FORGOTTEN = "forgotten"
"""Stands for a method where a text was refused because somebody had forgotten it."""


@dataclass(slots=True)
class Contradiction:
    """A record that says the opposite of a memory: both texts.

    `other_text` is a snippet until the import ends, and where the memory cannot be read any more.
    """

    where: str
    text: str
    memory_id: str
    other_id: str
    other_text: str


@dataclass(slots=True)
class Report:
    """The results of an import so far.

    Attributes
    ----------
    read_count : int
        Records that were read, skipped ones included.
    existing_count : int
        Records that an import before saved.
    duplicate_counts : Counter of str
        Records that a memory says already, by the method that found it.
    repeated_count : int
        Of a dry run: the duplicates among them that repeat an earlier record of the same store.
    question_count : int
        Saved memories that are probably the same as another one.
    left_out_counts : Counter of str
        Fields that a memory had no room for, by name.
    """

    source: str
    path: str
    dry_run: bool
    read_count: int = 0
    saved_count: int = 0
    existing_count: int = 0
    duplicate_counts: Counter[str] = field(default_factory=Counter)
    repeated_count: int = 0
    update_count: int = 0
    contradiction_count: int = 0
    question_count: int = 0
    link_count: int = 0
    link_existing_count: int = 0
    link_failed_count: int = 0
    episode_count: int = 0
    episode_existing_count: int = 0
    skipped_counts: Counter[str] = field(default_factory=Counter)
    left_out_counts: Counter[str] = field(default_factory=Counter)
    fault_count: int = 0
    revision: int = 0
    contradictions: list[Contradiction] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, item: Skipped) -> None:
        """Count a record that is not saved."""
        self.skipped_counts[str(item.reason)] += 1
        self.fault_count += item.reason.is_fault
        if len(self.skipped) < SKIPPED_SHOWN_MAX:
            self.skipped.append(item)

    def settle(self, record: Record, answer: Remembered | Checked) -> None:
        """Count the daemon's answer to a record."""
        self.revision = max(self.revision, answer.revision)
        is_saved = answer.would_save if isinstance(answer, Checked) else answer.saved
        if not is_saved:
            method = str(answer.duplicate.method) if answer.duplicate else FORGOTTEN
            self.duplicate_counts[method] += 1
        elif isinstance(answer, Remembered) and answer.replayed:
            self.existing_count += 1
        else:
            self.saved_count += 1
            self.left_out_counts.update(record.left_out)
            self.question_count += answer.question is not None
            self._verdict(record, answer)

    def _verdict(self, record: Record, answer: Remembered | Checked) -> None:
        self.update_count += answer.verdict == Verdict.UPDATE
        if answer.verdict != Verdict.CONTRADICTION:
            return
        self.contradiction_count += 1
        if len(self.contradictions) >= CONTRADICTIONS_SHOWN_MAX:
            return
        others = [
            other
            for other in answer.similar
            if other.judgement and other.judgement.verdict == Verdict.CONTRADICTION
        ]
        self.contradictions.append(
            Contradiction(
                record.where,
                record.draft.content,
                answer.memory_id if isinstance(answer, Remembered) else "",
                others[0].memory_id if others else "",
                others[0].snippet if others else "",
            )
        )
