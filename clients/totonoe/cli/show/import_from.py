"""Reports of imports from the stores of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from totonoe.cli.printing import line, table
from totonoe.cli.stepping import step
from totonoe.words.plain import plain
from totonoe.words.text import snippet

if TYPE_CHECKING:
    from totonoe.importers.report import Report

_SKIPPED_LINES_MAX = 10


def report_json(told: Report) -> dict[str, Any]:
    """Return the final object."""
    rest = plain(told)
    return {
        "from": rest.pop("source"),
        "file": rest.pop("path"),
        "duplicate_count": told.duplicate_counts.total(),
        "skipped_count": told.skipped_counts.total(),
        **rest,
    }


def report(told: Report) -> None:
    """Print the figures, and what needs a look."""
    would = "would be " if told.dry_run else ""
    rows = [("read", told.read_count), (f"{would}saved", told.saved_count)]
    rows.append(("already there (external id)", told.existing_count))
    rows += [
        (f"{would}refused: {name}", count) for name, count in sorted(told.duplicate_counts.items())
    ]
    if told.repeated_count:
        rows.append(("of these repeat an earlier one of this store", told.repeated_count))
    rows += [(f"skipped: {name}", count) for name, count in sorted(told.skipped_counts.items())]
    rows += [
        ("of the saved: update a memory", told.update_count),
        ("of the saved: contradict a memory", told.contradiction_count),
        ("of the saved: probably say the same as one", told.question_count),
    ]
    rows += [(f"left out: {name}", count) for name, count in sorted(told.left_out_counts.items())]
    counted = (
        ("links made", told.link_count),
        ("links already there", told.link_existing_count),
        ("links that could not be made", told.link_failed_count),
        ("episodes made", told.episode_count),
        ("episodes already there", told.episode_existing_count),
    )
    rows += [(name, count) for name, count in counted if count]
    line(f"from {told.source}: {told.path}")
    table(("records", "count"), [(name, str(count)) for name, count in rows])
    if told.question_count and not told.dry_run:
        line(f"The open questions: {step('questions')}")
    _contradictions(told)
    _skipped(told)
    if told.dry_run:
        line(
            "Dry run: nothing was written. Each record was compared with the collection as it is, "
            "and with equal texts of this store. Records that repeat, update or contradict each "
            "other in other words show in the import itself; so do links and episodes."
        )


def _contradictions(told: Report) -> None:
    for contradiction in told.contradictions:
        line(f"contradiction, {contradiction.where}: {snippet(contradiction.text)}")
        line(f"    {contradiction.other_id}: {snippet(contradiction.other_text)}")
    more = told.contradiction_count - len(told.contradictions)
    if more > 0:
        line(f"and {more} more contradictions")


def _skipped(told: Report) -> None:
    faults = [record for record in told.skipped if record.reason.is_fault]
    for record in faults[:_SKIPPED_LINES_MAX]:
        detail = f" ({record.detail})" if record.detail else ""
        line(f"skipped, {record.where}: {record.reason}{detail}")
    if told.fault_count > _SKIPPED_LINES_MAX:
        line(f"and {told.fault_count - _SKIPPED_LINES_MAX} more (--json lists the first 100)")
