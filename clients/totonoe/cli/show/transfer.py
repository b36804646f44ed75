"""Answers about an imported file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Console

from totonoe.cli.printing import line, table
from totonoe.errors import ExternalIdExists
from totonoe.words.plain import plain
from totonoe.words.text import clean, forgot_this, says_again, shown_similarity

if TYPE_CHECKING:
    from totonoe.cli.commands.import_rows import BadRow
    from totonoe.memories.models import ItemResult, Remembered
    from totonoe.transfer.models import Imported, ImportItem

# A file may hold millions of lines: JSON lists that many examples of each kind.
EXAMPLES_MAX = 100


@dataclass(slots=True)
class Tally:
    """Counts the results of the lines so far, and prints notable ones."""

    console: Console | None
    saved_count: int = 0
    refused_counts: Counter[str] = field(default_factory=Counter)
    existing_count: int = 0
    failed_count: int = 0
    skipped_count: int = 0
    replayed_count: int = 0
    revision: int = 0
    duplicates: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def tell(self, text: str) -> None:
        """Print a line above the progress bar, unless JSON is wanted."""
        if self.console:
            self.console.print(clean(text), soft_wrap=True)

    def bad(self, row: BadRow) -> None:
        """Count a line that could not be sent."""
        self._failed(row.line, "", row.message)

    def settle(self, line: int, result: ItemResult) -> None:
        """Count the daemon's answer to a line."""
        if result.remembered is not None:
            self._answered(line, result.remembered)
        elif isinstance(result.error, ExternalIdExists):
            self.existing_count += 1
        elif result.error is not None:
            self._failed(line, result.error.reason or result.error.code, result.error.message)

    def _answered(self, line: int, answer: Remembered) -> None:
        self.revision = max(self.revision, answer.revision)
        self.replayed_count += answer.replayed
        if answer.forgotten is not None and not answer.replayed:
            became = "saved" if answer.saved else "not saved"
            self.tell(f"line {line}: {became}. {forgot_this(answer.forgotten)}")
        if answer.outdated is not None and not answer.replayed:
            self.tell(f"line {line}: {says_again(answer.outdated)}")
        if answer.duplicate is None:
            if answer.saved:
                self.saved_count += 1
            else:
                self.refused_counts["forgotten"] += 1
            return
        duplicate = answer.duplicate
        self.refused_counts[str(duplicate.method)] += 1
        if len(self.duplicates) < EXAMPLES_MAX:
            self.duplicates.append(
                {
                    "line": line,
                    "duplicate_of": duplicate.memory_id,
                    "method": str(duplicate.method),
                    "similarity": duplicate.similarity,
                }
            )
        if not answer.replayed:
            shown = shown_similarity(duplicate.similarity)
            how = f"{duplicate.method}, similarity {shown}"
            self.tell(f"line {line}: repeats {duplicate.memory_id} ({how}): {duplicate.snippet}")

    def _failed(self, line: int, reason: str, message: str) -> None:
        self.failed_count += 1
        if len(self.failures) < EXAMPLES_MAX:
            self.failures.append({"line": line, "reason": reason, "message": message})
        self.tell(f"line {line}: failed: {message}{f' ({reason})' if reason else ''}")

    def as_json(self, file: str) -> dict[str, Any]:
        """Return the final object."""
        return {
            "file": file,
            "saved_count": self.saved_count,
            "refused_count": self.refused_counts.total(),
            "refused_counts": dict(self.refused_counts),
            "existing_count": self.existing_count,
            "failed_count": self.failed_count,
            "skipped_count": self.skipped_count,
            "replayed_count": self.replayed_count,
            "revision": self.revision,
            "duplicates": self.duplicates,
            "failures": self.failures,
        }

    def show(self) -> None:
        """Print the final table."""
        rows = [("saved", self.saved_count)]
        rows += [(f"refused: {name}", count) for name, count in sorted(self.refused_counts.items())]
        rows += [
            ("already there (external id)", self.existing_count),
            ("failed", self.failed_count),
        ]
        if self.skipped_count:
            rows.append(("left out (other level)", self.skipped_count))
        if self.replayed_count:
            rows.append(("of these answered by an earlier run", self.replayed_count))
        table(("lines", "count"), [(name, str(count)) for name, count in rows])


def imported_json(told: Imported) -> dict[str, Any]:
    """Return the final object: the names of other files of lines, and more."""
    rest = plain(told)
    items = rest.pop("items")
    repeats = [item for item in told.items if item.error is None][:EXAMPLES_MAX]
    failed = [item for item in told.items if item.error is not None][:EXAMPLES_MAX]
    return {
        **rest,
        "refused_count": sum(told.refused_counts.values()),
        "reported_count": len(items),
        "duplicates": [
            {
                "line": item.line,
                "memory_id": item.memory_id,
                "duplicate_of": item.duplicate_of,
                "method": item.method,
                "similarity": item.similarity,
            }
            for item in repeats
        ],
        "failures": [
            {
                "line": item.line,
                "memory_id": item.memory_id,
                "reason": item.error.reason,
                "message": item.error.message,
            }
            for item in failed
            if item.error is not None
        ],
    }


def imported(told: Imported | None, dry_run: bool) -> None:
    """Print the figures of an imported file of `export`; nothing if no answer came."""
    if told is None:
        return
    for item in told.items[:EXAMPLES_MAX]:
        line(_item(item))
    header = told.header
    if header is not None:
        when = "" if header.time is None else f", {header.time:%Y-%m-%d %H:%M:%S} UTC"
        vectors = "with vectors" if header.vectors else "without vectors"
        line(f"collection {header.collection}, revision {header.revision}{when}, {vectors}")
    rows = [(f"{kind} lines", count) for kind, count in sorted(told.record_counts.items())]
    if not dry_run:
        rows.append(("saved", told.saved_count))
        rows += [(f"refused: {name}", count) for name, count in sorted(told.refused_counts.items())]
        rows.append(("already there (id or external id)", told.existing_count))
        rows.append(("left out (not for the guard)", told.left_out_count))
    rows.append(("failed", told.failed_count))
    if told.replayed_count:
        rows.append(("of these answered by an earlier run", told.replayed_count))
    table(("lines", "count"), [(name, str(count)) for name, count in rows])


def _item(item: ImportItem) -> str:
    if item.error is not None:
        return f"line {item.line}: {item.error.message} ({item.error.reason})"
    of = item.duplicate_of or "another memory"
    return f"line {item.line}: repeats {of} ({item.method}, {shown_similarity(item.similarity)})"
