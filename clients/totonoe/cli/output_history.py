"""Answers about what was done, for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TextIO

from totonoe.cli.output import line, more, shown_link, shown_value, table
from totonoe.cli.output_graph import counted
from totonoe.cli.plain import plain
from totonoe.cli.text import age, clean, snippet
from totonoe.enums import UndoConflictKind
from totonoe.history_models import (
    HistoryPage,
    Operation,
    OperationPage,
    UndoConflict,
    Undone,
    Version,
)


def _when(time: datetime | None) -> str:
    return "" if time is None else age(time)


def _marks(operation: Operation) -> str:
    """What it took back, and what took it back."""
    marks = [f"undoes {operation.undoes}"] if operation.undoes else []
    marks += [f"undone by {operation.undone_by}"] if operation.undone_by else []
    return ", ".join(marks)


def _touched(operation: Operation) -> str:
    """What it was done to: memories, or else episodes, links or the settings."""
    ids = operation.memory_ids or operation.episode_ids
    if ids:
        return ", ".join(ids[:2]) + (f" and {len(ids) - 2} more" if len(ids) > 2 else "")
    if operation.link_count:
        return counted(operation.link_count, "link")
    return "settings" if operation.settings else ""


def operations(page: OperationPage) -> None:
    """A page of operations, and how to get the next one."""
    rows = []
    for one in page.operations:
        who = (str(one.revision), _when(one.time), one.agent_id, one.kind)
        rows.append((*who, _touched(one), _marks(one), one.reason))
    columns = ("revision", "age", "agent", "operation", "on", "", "reason")
    if rows:
        table(columns, rows, wide="reason")
    else:
        line("No operations.")
    more(page.next_page_token)


# -- history


def history(page: HistoryPage) -> None:
    """Versions of a memory: who, when, why, and what was different from then on."""
    for version in page.versions:
        _version(version)
    more(page.next_page_token)


def _version(version: Version) -> None:
    one = version.operation
    said = [f"revision {one.revision}", one.kind, _when(one.time), one.agent_id, _marks(one)]
    line(", ".join(filter(None, said)) + (f': "{one.reason}"' if one.reason else ""))
    if version.memory is not None:
        values = plain(version.memory)
        for name in version.changed or ("content",):
            line(f"  {name}: {shown_value(values.get(name))}")
    for link in version.linked:
        line(f"  linked: {shown_link(link)}")
    for link in version.unlinked:
        line(f"  unlinked: {shown_link(link)}")


# -- undo


def undone(answer: Undone, partial: bool) -> None:
    """What was, or would be, taken back, and what stands in the way."""
    one = answer.operation
    if answer.collection is not None and not one.revision:
        # Its deletion is no operation of its own; it can be deleted again.
        line(f"Undone: the deletion of collection {answer.collection.name}.")
        _replay(answer.replayed)
        return
    by = f" by {one.agent_id}" if one.agent_id else ""
    what = f"revision {one.revision} ({one.kind}{by})"
    if answer.dry_run:
        line(f"Would undo {what}:")
    elif answer.undone:
        line(f"Undone: {what}.")
    else:
        line(f"Not undone: {what}.")
    for memory in answer.memories:
        line(f"- {memory.id} is {memory.status}: {snippet(memory.content)}")
    for episode_id in answer.episode_ids:
        line(f"- {episode_id}")
    if answer.link_count:
        line(f"- {counted(answer.link_count, 'link')}")
    if answer.collection is not None:
        line(f"- collection {answer.collection.name}")
    conflicts(answer.conflicts, partial, sys.stdout)
    if answer.undone and not answer.dry_run:
        line(f"Take the undo back with: totonoe undo {answer.operation_id}")
    _replay(answer.replayed)


def _replay(replayed: bool) -> None:
    if replayed:
        line("This operation id was used before: its first answer again, nothing was done now.")


def conflicts(items: Sequence[UndoConflict], partial: bool, stream: TextIO) -> None:
    """What stands in the way of an undo, and what to do about it beside what was tried."""
    if not items:
        return
    lines = ["In the way:", *(f"- {_conflict(one)}" for one in items)]
    kinds = {one.kind for one in items}
    # A purge is not undone by anybody.
    undoable = [one.revision for one in items if one.kind is not UndoConflictKind.PURGED]
    later = sorted(set(undoable) - {0}, reverse=True)
    if later:
        lines.append(f"Undo what came later first: totonoe undo {', then '.join(map(str, later))}")
    if UndoConflictKind.DUPLICATE in kinds:
        lines.append("Bring texts back that others repeat: --force")
    if kinds != {UndoConflictKind.DUPLICATE} and not partial:
        lines.append("Take back the rest: --partial")
    stream.write(clean("\n".join(lines)) + "\n")


def _conflict(one: UndoConflict) -> str:
    what = "the settings" if one.settings else one.memory_id or one.episode_id
    if one.target_id:
        what = f"link of {one.memory_id} with {one.target_id}"
    later = f" by revision {one.revision}" if one.revision else ""
    match one.kind:
        case UndoConflictKind.CHANGED:
            return f"{what}: changed{later}"
        case UndoConflictKind.PURGED:
            return f"{what}: purged{later}, nothing brings it back"
        case UndoConflictKind.LINK_END_GONE:
            return f"{what}: the latter is forgotten or purged"
        case UndoConflictKind.EXTERNAL_ID_TAKEN:
            return f"{what}: its external id is another memory's now"
        case UndoConflictKind.KEY_TAKEN:
            return f"{what}: its typed key is another memory's now"
        case UndoConflictKind.DUPLICATE if one.duplicate is not None:
            other = one.duplicate
            return f"{what}: repeats {other.memory_id} ({other.age}): {other.snippet}"
        case _:
            return f"{what}: {one.kind}{later}"
