"""Printing on the terminal: lines, and tables that fit its width."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from totonoe.words.text import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_PIPE_COLUMNS = 160
_WIDE_MIN = 12
"""Terminal columns that the column which may fold gets at least."""
_BETWEEN = len(" │ ")
_DROPPED_FIRST = ("age", "relevance")
_KEPT = ("id",)


def console(stderr: bool = False) -> Console:
    """Make a console that prints texts unchanged: no markup, no colours for numbers.

    Without a terminal tables get a fixed width, so that ids are not folded.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_COLUMNS
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, width=width)


def bar(text: str) -> Progress:
    """Make a progress bar on standard error: standard output may hold lines or JSON.

    It is off (`disable`) without a terminal.
    """
    # Few commands need it, and it takes a while to load.
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    shown = console(stderr=True)
    return Progress(
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn(text),
        TimeElapsedColumn(),
        console=shown,
        disable=not shown.is_terminal,
        transient=True,
    )


def line(text: str = "") -> None:
    """Print one line on standard output, however wide, with control characters shown.

    A text of several lines goes on below, indented: no part of it looks like a line of ours.
    """
    sys.stdout.write(clean(text).replace("\n", "\n    ") + "\n")


def lines(*texts: str) -> None:
    """Print each text like `line`."""
    for text in texts:
        line(text)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], wide: str = "") -> None:
    """Print a table; only the column `wide` may fold.

    Where the terminal leaves it too little room, other columns are left out, and named below.
    """
    # Only answers with a table need it.
    from rich.table import Table
    from rich.text import Text

    cleaned = [[clean(cell) for cell in row] for row in rows]
    screen = console()
    kept, fits = list(range(len(columns))), True
    if wide:
        kept, fits = _fitting(columns, cleaned, wide, screen.width)
    grid = Table(show_edge=False, pad_edge=False, header_style="bold")
    for at in kept:
        grid.add_column(columns[at], overflow="fold", no_wrap=fits and columns[at] != wide)
    for row in cleaned:
        grid.add_row(*(Text(row[at]) for at in kept))
    screen.print(grid)
    left_out = [name for at, name in enumerate(columns) if at not in kept and name]
    if left_out:
        line(f"Left out for want of room: {', '.join(left_out)}")


def _fitting(
    columns: Sequence[str], rows: Sequence[Sequence[str]], wide: str, width: int
) -> tuple[list[int], bool]:
    """Choose the columns that leave the column `wide` enough of `width` terminal columns.

    Age and relevance go first, then the others from the right; an id stays. False: even the
    last ones are too wide, and must fold.
    """
    from rich.cells import cell_len

    needed = [
        max((cell_len(part) for row in rows for part in row[at].split("\n")), default=0)
        for at in range(len(columns))
    ]
    needed = [max(cells, cell_len(name)) for cells, name in zip(needed, columns, strict=True)]
    needed[columns.index(wide)] = _WIDE_MIN
    kept = list(range(len(columns)))
    first = [columns.index(name) for name in _DROPPED_FIRST if name in columns]
    rest = [at for at in reversed(kept) if at not in first]

    def fits() -> bool:
        return sum(needed[at] for at in kept) + _BETWEEN * (len(kept) - 1) <= width

    for at in [*first, *rest]:
        if fits():
            break
        if columns[at] != wide and columns[at] not in _KEPT:
            kept.remove(at)
    return kept, fits()
