"""The command that follows along."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer

from totonoe.cli import options, output
from totonoe.cli.options import given, json_object, since_until
from totonoe.cli.plain import plain
from totonoe.cli.session import Session, print_json, shared
from totonoe.cli.text import snippet
from totonoe.watch_models import Change


def register(app: typer.Typer) -> None:
    """Joins this command to `app`."""
    app.command("watch")(shared(watch))


def watch(
    session: Session,
    after: Annotated[
        int | None,
        typer.Option("--from", help="Changes after this revision; 0: all. Default: from now on."),
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
    """Show changes as they are made, a line each, until Ctrl-C.

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
                    for line in change_lines(event.change):
                        output.line(line)
                sys.stdout.flush()
    except KeyboardInterrupt:
        return


def change_lines(change: Change) -> Iterator[str]:
    """Time, revision, who, what, id and text of each memory and link of a change."""
    operation = change.operation
    begin = f"{_time(operation.time)}  {operation.revision:>6}  {operation.agent_id or '-'}  "
    reason = f" ({snippet(operation.reason)})" if operation.reason else ""
    for one in change.memories:
        text = f"  {snippet(one.memory.content)}" if one.memory is not None else ""
        if one.memory is not None and one.memory.superseded_by:
            text = f" by {one.memory.superseded_by}{text}"
        yield f"{begin}{one.type}  {one.memory_id}{text}{reason}"
    for link in change.links:
        what = "unlinked" if link.removed else "linked"
        note = f"  {snippet(link.link.note)}" if link.link.note else ""
        yield f"{begin}{what}  {link.source_id} {link.link.type} {link.link.target_id}{note}"
    if not (change.memories or change.links):
        about = ", ".join((*(["settings"] if operation.settings else []), *operation.episode_ids))
        yield f"{begin}{operation.kind}  {about}{reason}"


def _time(moment: datetime | None) -> str:
    return "-" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
