"""The outcome of the demonstration for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table


def show(report: dict[str, Any]) -> None:
    """Prints one table with a part for each phase."""
    table = Table(title_justify="left", show_header=False)
    table.title = (
        f"{report['conversation']} conversation, {report['agents']} agents, "
        f"embedder {report['embedder']}"
    )
    table.add_column()
    table.add_column(justify="right")
    _remember(table, report["remember"])
    table.add_section()
    race = report["race"]
    table.add_row(f"{race['callers']} at once say the same: saved", str(race["saved"]))
    table.add_row("  refused, and told that memory's id", str(race["named_it"]))
    table.add_row("  race check", "passed" if race["ok"] else "FAILED")
    table.add_section()
    recall = report["recall"]
    table.add_row("questions", str(recall["questions"]))
    table.add_row("  recall@5", _number(recall["recall_at_5"]))
    table.add_row("  MRR", _number(recall["mrr"]))
    _costs(table, recall, "Recall")
    Console(markup=False, emoji=False, highlight=False).print(table)


def _remember(table: Table, part: dict[str, Any]) -> None:
    table.add_row("things to remember", str(part["lines"]))
    table.add_row("  told, most of them by two agents", str(part["told"]))
    table.add_row("  saved", str(part["saved"]))
    for method, count in part["refused"].items():
        table.add_row(f"  refused: {method}", str(count))
    for kind, of in part.get("restatements", {}).items():
        table.add_row(f"  restatements ({kind}) caught", f"{of['caught']} of {of['n']}")
    if "lookalikes" in part:
        alike = part["lookalikes"]
        table.add_row("  look-alikes kept", f"{alike['kept']} of {alike['n']}")
    _costs(table, part, "Remember")


def _costs(table: Table, part: dict[str, Any], call: str) -> None:
    table.add_row(f"  {call}, p50 / p99", f"{_ms(part['p50_ms'])} / {_ms(part['p99_ms'])}")
    table.add_row(f"  daemon's CPU per {call}", _ms(part["daemon_cpu_ms"]))
    table.add_row(f"  embedder's CPU per {call}", _ms(part["embedder_cpu_ms"]))
    table.add_row(f"  judge's CPU per {call}", _ms(part["judge_cpu_ms"]))


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} ms"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
