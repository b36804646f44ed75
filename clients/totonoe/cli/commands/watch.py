"""The command that prints changes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from totonoe.cli import options, printing
from totonoe.cli.extensions import Panel, add
from totonoe.cli.options import given, json_object, since_until
from totonoe.cli.plain import plain
from totonoe.cli.session import Session, print_json
from totonoe.cli.show import watch as show


def register(app: typer.Typer) -> None:
    """Adds these commands to `app`."""
    add(app, Panel.EVERYDAY, watch)


def watch(
    session: Session,
    after: Annotated[
        int | None,
        typer.Option(
            "--from", help="Show changes after this revision; 0: all. Default: from now on."
        ),
    ] = None,
    kinds: options.Kinds = None,
    state_kinds: options.StateKinds = None,
    categories: options.Categories = None,
    tags: options.AllTags = None,
    entities: options.AllEntities = None,
    agents: options.ByAgents = None,
    sessions: options.Sessions = None,
    threads: options.Threads = None,
    statuses: options.Statuses = None,
    since: options.Since = None,
    until: options.Until = None,
    min_confidence: options.MinConfidence = None,
    min_importance: options.MinImportance = None,
    attributes: options.AttributeEquals = None,
) -> None:
    """Print each change as it happens, until Ctrl-C.

    Conditions hold for a memory before or after the change. With --json a line is an event;
    its `revision` is where --from goes on.
    """
    conditions = given(
        kinds=kinds,
        state_kinds=state_kinds,
        categories=categories,
        tags=tags,
        entities=entities,
        agent_ids=agents,
        session_ids=sessions,
        thread_ids=threads,
        statuses=statuses,
        created=since_until(since, until),
        min_confidence=min_confidence,
        min_importance=min_importance,
        attributes=json_object(attributes, "--attributes"),
    )
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
