"""The command that prints changes."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from totonoe.cli import printing
from totonoe.cli.extensions import Panel, add
from totonoe.cli.options import filtered
from totonoe.cli.session import Session, print_json
from totonoe.cli.show import watch as show
from totonoe.words.plain import plain


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.EVERYDAY, filtered(watch))


def watch(
    session: Session,
    conditions: dict[str, Any],
    after: Annotated[
        int | None,
        typer.Option(
            "--from", help="Show changes after this revision; 0: all. Default: from now on."
        ),
    ] = None,
) -> None:
    """Print each change as it happens, until Ctrl-C.

    Conditions hold for a memory before or after the change. With --json a line is an event;
    its `revision` is where --from goes on.
    """
    try:
        with session.client() as client, client.watch(after, **conditions) as events:
            for event in events:
                if session.as_json:
                    print_json(plain(event))
                elif event.change is not None:
                    for line in show.change_lines(event.change):
                        printing.line(line)
                sys.stdout.flush()
    except KeyboardInterrupt:
        return
