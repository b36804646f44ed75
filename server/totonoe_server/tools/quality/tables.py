"""The figures for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from totonoe_server.tools.quality.files import Form

_PIPE_COLUMNS = 160


def show(report: dict[str, Any]) -> None:
    """Prints a table for each form, with lines for the parts of each file."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPE_COLUMNS
    console = Console(markup=False, emoji=False, highlight=False, width=width)
    console.print(f"policy {report['policy']}, embedder {report['embedder']}")
    for form, draw in _TABLES:
        files = [one for one in report["files"] if one["form"] == form]
        if files:
            console.print(draw(files))


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left")
    return table


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _pairs(files: Sequence[dict[str, Any]]) -> Table:
    table = _table(
        "Pairs",
        (
            *("file", "n", "false merges", "duplicates found", "likely: different", "likely: same"),
            *("verdicts", "AUC", "AUC cosine", "AUC Jaccard"),
        ),
    )
    for one in files:
        parts = [("", one), *_parts(one, "by_lang", many=True), *_parts(one, "by_kind")]
        for name, part in parts:
            table.add_row(
                f"  {name}" if name else _name(one),
                str(part["n"]),
                _percent(part["false_merge_rate"]),
                _percent(part["duplicate_recall"]),
                *(_percent(part["bands"]["likely"][label]) for label in ("different", "same")),
                _percent(part["verdict_accuracy"]),
                _plain(part["auc_same_probability"]),
                _plain(part["auc_cosine"]),
                _plain(part["auc_jaccard"]),
            )
    return table


def _beside(files: Sequence[dict[str, Any]]) -> Table:
    """Print how others would judge the same pairs; figures by kind are in the JSON only."""
    names = list(files[0]["beside"])
    table = _table("The same pairs, by guard: false merges / duplicates found", ("file", *names))
    for one in files:
        cells = (
            f"{_percent(rates['false_merge_rate'])} / {_percent(rates['duplicate_recall'])}"
            for rates in one["beside"].values()
        )
        table.add_row(_name(one), *cells)
    return table


def _streams(files: Sequence[dict[str, Any]]) -> Table:
    table = _table(
        "Streams",
        (
            *("file", "n", "refused", "precision", "recall", "named right", "look-alikes lost"),
            *("questions per 100 saves", "right"),
        ),
    )
    for one in files:
        table.add_row(
            _name(one),
            str(one["n"]),
            str(one["n_refused"]),
            _percent(one["precision"]),
            _percent(one["recall"]),
            _percent(one["named_right"]),
            f"{one['lookalikes_lost']} of {one['lookalikes']}",
            _plain(100.0 * (one["questions_per_save"] or 0.0)),
            _percent(one["questions_right"]),
        )
        for kind, part in one["by_kind"].items():
            share = "" if kind == "new" else _percent(part["refused_share"])
            named = "" if kind == "new" else _percent(part["named_right"])
            table.add_row(f"  {kind}", str(part["n"]), str(part["n_refused"]), "", share, named)
    return table


def _recall(files: Sequence[dict[str, Any]]) -> Table:
    table = _table(
        "Recall (diversity on / off)",
        ("file", "questions", "memories", "refused", "@1", "@5", "@10", "MRR"),
    )
    for one in files:
        name = _name(one) + (f" {one['level']}" if one["level"] else "")
        sizes = (str(one["n_memories"]), str(one["n_refused"]))
        table.add_row(name, str(one["n"]), *sizes, *_both(one))
        for category, part in _parts(one, "by_category", many=True):
            table.add_row(f"  {category}", str(part["n"]), "", "", *_both(part))
    return table


def _both(part: dict[str, Any]) -> Iterable[str]:
    for name in ("recall_at_1", "recall_at_5", "recall_at_10", "mrr"):
        yield " / ".join(_plain(value) for value in part[name].values())


def _parts(one: dict[str, Any], group: str, many: bool = False) -> list[tuple[str, dict[str, Any]]]:
    """Named parts of a file; with `many` only if there are several."""
    parts = one.get(group, {})
    return [] if many and len(parts) < 2 else [(name or "(none)", parts[name]) for name in parts]


def _name(one: dict[str, Any]) -> str:
    return Path(one["file"]).name


_TABLES: tuple[tuple[Form, Callable[[Sequence[dict[str, Any]]], Table]], ...] = (
    (Form.PAIRS, _pairs),
    (Form.PAIRS, _beside),
    (Form.STREAM, _streams),
    (Form.RECALL, _recall),
)
