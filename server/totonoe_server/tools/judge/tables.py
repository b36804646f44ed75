"""The figures for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from totonoe_server.tools.quality.tables import console, percent, plain, table

_REPORTED = (("refused", "refused"), ("asked", "saved and asked about"))


def show(report: dict[str, Any]) -> None:
    """Print the report."""
    out = console()
    counts = f"{report['same_count']} same, {report['different_count']} different"
    out.print(f"{Path(report['file']).name}: {report['rows']} pairs ({counts})")
    out.print(f"policy {report['policy']}, embedder {report['embedder']}")
    judge = report.get("judge")
    if judge is None:
        out.print(f"guard: AUC {plain(report['guard']['auc'])}, no judge")
    else:
        _show_judge(out, judge)
    out.print(_outcomes(report))
    if judge is not None:
        _show_changes(out, report)
        out.print(_relations(report["relations"]))


def _show_judge(out: Console, judge: dict[str, Any]) -> None:
    failures = ", ".join(f"{why}: {count}" for why, count in judge["failures"].items())
    out.print(
        f"judge {judge['name']}: {judge['opinion_count']} opinions, "
        f"{judge['no_opinion_count']} pairs without one, {judge['failed_count']} failed"
        f"{f' ({failures})' if failures else ''}, {judge['too_long_count']} too long"
    )
    if judge["opinion_count"]:
        out.print(
            f"AUC of its opinions {plain(judge['auc'])}; "
            f"of the guard on the same pairs {plain(judge['auc_of_guard'])}"
        )
    if judge["asked_count"]:
        out.print(
            f"a pair: {judge['wall_ms']:.1f} ms, of them {judge['cpu_ms']:.1f} ms of CPU in this "
            f"process; {judge['late_count']} later than --judge-deadline-s"
        )


def _outcomes(report: dict[str, Any]) -> Table:
    made = table("Pairs", ("", "same", "different"))
    for key, name in _REPORTED:
        for part, who in (("guard", "the guard alone"), ("with_judge", "with the judge")):
            if part in report:
                shares = report[part][key]
                made.add_row(
                    f"{name}: {who}", percent(shares["same"]), percent(shares["different"])
                )
    return made


def _show_changes(out: Console, report: dict[str, Any]) -> None:
    with_judge = report["with_judge"]
    out.print(f"The guard would ask it about {with_judge['put_to_judge_count']} of them.")
    for change, part in with_judge["changes"].items():
        out.print(f"{change}: {part['count']}, of them wrong: {part['wrong_count']}")
    for pair in report["wrong"]:
        out.print(f'  line {pair["line"]}, {pair["change"]}: "{pair["a"]}" / "{pair["b"]}"')
    hidden = report["wrong_count"] - len(report["wrong"])
    if hidden:
        out.print(f"  and {hidden} more")


def _relations(rows: dict[str, dict[str, int]]) -> Table:
    columns = list(next(iter(rows.values())))
    made = table("What the judge says of b to a, by what the file says", ("", *columns))
    for name, row in rows.items():
        made.add_row(name, *(str(row[column]) for column in columns))
    return made
