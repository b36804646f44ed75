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
    out = console()
    out.print(f"policy {report['policy']}, embedder {report['embedder']}")
    for form, draw in _TABLES:
        files = [one for one in report["files"] if one["form"] == form]
        if files:
            out.print(draw(files))


def console() -> Console:
    """A console on standard output that a pipe does not make narrow."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPE_COLUMNS
    return Console(markup=False, emoji=False, highlight=False, width=width)


def table(title: str, columns: Sequence[str]) -> Table:
    """A table whose first column stands left, the others right."""
    made = Table(title=title, title_justify="left")
    for number, name in enumerate(columns):
        made.add_column(name, justify="right" if number else "left")
    return made


def percent(value: float | None) -> str:
    """A share, 0..1, in percent."""
    return "-" if value is None else f"{100 * value:.1f} %"


def plain(value: float | None) -> str:
    """A number with three digits."""
    return "-" if value is None else f"{value:.3f}"


def _pairs(files: Sequence[dict[str, Any]]) -> Table:
    made = table(
        "Pairs",
        (
            *("file", "n", "false merges", "duplicates found", "likely: different", "likely: same"),
            *("verdicts", "AUC", "AUC cosine", "AUC Jaccard"),
        ),
    )
    for one in files:
        parts = [("", one), *_parts(one, "by_lang", many=True), *_parts(one, "by_kind")]
        for name, part in parts:
            made.add_row(
                f"  {name}" if name else _name(one),
                str(part["n"]),
                percent(part["false_merge_rate"]),
                percent(part["duplicate_recall"]),
                *(percent(part["bands"]["likely"][label]) for label in ("different", "same")),
                percent(part["verdict_accuracy"]),
                plain(part["auc_same_probability"]),
                plain(part["auc_cosine"]),
                plain(part["auc_jaccard"]),
            )
    return made


def _beside(files: Sequence[dict[str, Any]]) -> Table:
    """Print how others would judge the same pairs; figures by kind are in the JSON only."""
    names = list(files[0]["beside"])
    made = table("The same pairs, by guard: false merges / duplicates found", ("file", *names))
    for one in files:
        cells = (
            f"{percent(rates['false_merge_rate'])} / {percent(rates['duplicate_recall'])}"
            for rates in one["beside"].values()
        )
        made.add_row(_name(one), *cells)
    return made


def _streams(files: Sequence[dict[str, Any]]) -> Table:
    made = table(
        "Streams",
        (
            *("file", "n", "refused", "precision", "recall", "named right", "look-alikes lost"),
            *("questions per 100 saves", "right", "shown per 100 saves", "right"),
        ),
    )
    for one in files:
        made.add_row(
            _name(one),
            str(one["n"]),
            str(one["n_refused"]),
            percent(one["precision"]),
            percent(one["recall"]),
            percent(one["named_right"]),
            f"{one['lookalikes_lost']} of {one['lookalikes']}",
            plain(100.0 * (one["questions_per_save"] or 0.0)),
            percent(one["questions_right"]),
            plain(100.0 * (one["shown_per_save"] or 0.0)),
            percent(one["shown_right"]),
        )
        for kind, part in one["by_kind"].items():
            share = "" if kind == "new" else percent(part["refused_share"])
            named = "" if kind == "new" else percent(part["named_right"])
            made.add_row(f"  {kind}", str(part["n"]), str(part["n_refused"]), "", share, named)
    return made


def _recall(files: Sequence[dict[str, Any]]) -> Table:
    made = table(
        "Recall (diversity on / off / BM25)",
        ("file", "questions", "memories", "refused", "@1", "@5", "@10", "MRR"),
    )
    for one in files:
        name = _name(one) + (f" {one['level']}" if one["level"] else "")
        sizes = (str(one["n_memories"]), str(one["n_refused"]))
        made.add_row(name, str(one["n"]), *sizes, *_both(one))
        for category, part in _parts(one, "by_category", many=True):
            made.add_row(f"  {category}", str(part["n"]), "", "", *_both(part))
    return made


def _both(part: dict[str, Any]) -> Iterable[str]:
    for name in ("recall_at_1", "recall_at_5", "recall_at_10", "mrr"):
        yield " / ".join(plain(value) for value in part[name].values())


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
