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
        files = [file for file in report["files"] if file["form"] == form]
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
    for file in files:
        parts = [("", file), *_parts(file, "by_lang", many=True), *_parts(file, "by_kind")]
        for name, part in parts:
            made.add_row(
                f"  {name}" if name else _name(file),
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
    for file in files:
        cells = (
            f"{percent(rates['false_merge_rate'])} / {percent(rates['duplicate_recall'])}"
            for rates in file["beside"].values()
        )
        made.add_row(_name(file), *cells)
    return made


def _streams(files: Sequence[dict[str, Any]]) -> Table:
    made = table(
        "Streams",
        (
            *("file", "n", "refused", "precision", "recall", "named right", "look-alikes lost"),
            *("questions per 100 saves", "right", "shown per 100 saves", "right"),
        ),
    )
    for file in files:
        made.add_row(
            _name(file),
            str(file["n"]),
            str(file["n_refused"]),
            percent(file["precision"]),
            percent(file["recall"]),
            percent(file["named_right"]),
            f"{file['lookalikes_lost']} of {file['lookalikes']}",
            plain(100.0 * (file["questions_per_save"] or 0.0)),
            percent(file["questions_right"]),
            plain(100.0 * (file["shown_per_save"] or 0.0)),
            percent(file["shown_right"]),
        )
        for kind, part in file["by_kind"].items():
            share = "" if kind == "new" else percent(part["refused_share"])
            named = "" if kind == "new" else percent(part["named_right"])
            made.add_row(f"  {kind}", str(part["n"]), str(part["n_refused"]), "", share, named)
    return made


def _recall(files: Sequence[dict[str, Any]]) -> Table:
    made = table(
        "Recall (diversity on / off / BM25)",
        ("file", "questions", "memories", "refused", "@1", "@5", "@10", "MRR"),
    )
    for file in files:
        name = _name(file) + (f" {file['level']}" if file["level"] else "")
        sizes = (str(file["n_memories"]), str(file["n_refused"]))
        made.add_row(name, str(file["n"]), *sizes, *_both(file))
        for category, part in _parts(file, "by_category", many=True):
            made.add_row(f"  {category}", str(part["n"]), "", "", *_both(part))
    return made


def _both(part: dict[str, Any]) -> Iterable[str]:
    for name in ("recall_at_1", "recall_at_5", "recall_at_10", "mrr"):
        yield " / ".join(plain(value) for value in part[name].values())


def _parts(one: dict[str, Any], group: str, many: bool = False) -> list[tuple[str, dict[str, Any]]]:
    """Named parts of a file; with `many` only if there are several."""
    parts = one.get(group, {})
    return [] if many and len(parts) < 2 else [(name or "(none)", parts[name]) for name in parts]


def _name(file: dict[str, Any]) -> str:
    return Path(file["file"]).name


_TABLES: tuple[tuple[Form, Callable[[Sequence[dict[str, Any]]], Table]], ...] = (
    (Form.PAIRS, _pairs),
    (Form.PAIRS, _beside),
    (Form.STREAM, _streams),
    (Form.RECALL, _recall),
)
