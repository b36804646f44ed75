"""Bars of commands that take long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial


@contextmanager
def progress() -> Iterator[Callable[[str, int], Callable[..., object]]]:
    """Show a bar for each part on standard error; nothing where that is no terminal.

    `begin(name, size)` returns what advances the bar, by 1 or by its argument.
    """
    # Imported only here: a command does not pay for it before it runs.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=sys.stderr, markup=False, highlight=False)
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
    with bars:
        yield lambda name, size: partial(bars.advance, bars.add_task(name, total=size))
