"""Answers about operations, versions and undo."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from totonoe.cli.printing import line, table
from totonoe.cli.show.parts import more, replay
from totonoe.cli.stepping import again, step
from totonoe.enums import UndoConflictKind
from totonoe.words.parts import counted, recalls, shown_field, shown_link
from totonoe.words.plain import plain
from totonoe.words.text import age, clean, snippet

if TYPE_CHECKING:
    from totonoe.history.models import (
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
    """Describe what the operation undoes, and what undid it."""
    marks = [f"undoes {operation.undoes}"] if operation.undoes else []
    marks += [f"undone by {operation.undone_by}"] if operation.undone_by else []
    return ", ".join(marks)


def _touched(operation: Operation) -> str:
    """Name the rows of an operation: memories, or else episodes, links or the settings."""
    ids = operation.memory_ids or operation.episode_ids
    if ids:
        return ", ".join(ids[:2]) + (f" and {len(ids) - 2} more" if len(ids) > 2 else "")
    if operation.link_count:
        return counted(operation.link_count, "link")
    return "settings" if operation.settings else ""


def operations(page: OperationPage) -> None:
    """Print a page of operations, and how to get the next one."""
    rows = []
    for operation in page.operations:
        who = (str(operation.revision), _when(operation.time), operation.agent_id, operation.kind)
        rows.append((*who, _touched(operation), _marks(operation), operation.reason))
    columns = ("revision", "age", "agent", "operation", "on", "", "reason")
    if rows:
        table(columns, rows, wide="reason")
    else:
        line("No operations.")
    more(page.next_page_token)


# -- history


def history(page: HistoryPage, show_all: bool) -> None:
    """Print versions of a memory: agent, time, reason, and changed fields.

    Versions in a row that only got automatic links are one line, unless `show_all`.
    """
    for only_linked, run in groupby(page.versions, lambda version: version.only_linked):
        versions = list(run)
        if only_linked and len(versions) > 1 and not show_all:
            _linked(versions)
        else:
            for version in versions:
                _version(version)
    if said := recalls(page):
        line(f"Recalled since the last consolidation: {said}.")
    more(page.next_page_token)


def _linked(versions: Sequence[Version]) -> None:
    newest, oldest = versions[0].operation, versions[-1].operation
    counts = Counter(str(link.type) for version in versions for link in version.linked)
    types = ", ".join(f"{type_} {count}" for type_, count in sorted(counts.items()))
    line(
        f"revisions {oldest.revision} to {newest.revision}, {_when(oldest.time)} to "
        f"{_when(newest.time)}: linked by {len(versions)} operations ({types}); each with --all"
    )


def _version(version: Version) -> None:
    operation = version.operation
    said = [
        f"revision {operation.revision}",
        operation.kind,
        _when(operation.time),
        operation.agent_id,
        _marks(operation),
    ]
    line(", ".join(filter(None, said)) + (f': "{operation.reason}"' if operation.reason else ""))
    if version.memory is not None:
        values = plain(version.memory)
        for name in version.changed or ("content",):
            line(f"  {name}: {shown_field(name, values.get(name))}")
    for link in version.linked:
        line(f"  linked: {shown_link(link)}")
    for link in version.unlinked:
        line(f"  unlinked: {shown_link(link)}")


# -- undo


def undone(answer: Undone, partial: bool) -> None:
    """Print the restored rows, or those that would be restored, and the conflicts."""
    operation = answer.operation
    if answer.collection is not None and not operation.revision:
        # Its deletion is no operation of its own; it can be deleted again.
        line(f"Undone: the deletion of collection {answer.collection.name}.")
        replay(answer.replayed)
        return
    by = f" by {operation.agent_id}" if operation.agent_id else ""
    what = f"revision {operation.revision} ({operation.kind}{by})"
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
        line(f"Take the undo back with: {step('undo', answer.operation_id)}")
    replay(answer.replayed)


IDLE = frozenset({UndoConflictKind.UNDONE_ALREADY, UndoConflictKind.NOTHING_LEFT})
"""Conflicts that say that there is nothing to do."""

_PLACES = frozenset({UndoConflictKind.LAST_COPY, UndoConflictKind.SUCCESSOR_GONE})
"""Conflicts about the place of one memory that another one has."""

_LATER = frozenset({UndoConflictKind.CHANGED, *_PLACES})
"""Conflicts with a later operation that can be undone."""


def conflicts(items: Sequence[UndoConflict], partial: bool, stream: TextIO) -> None:
    """Print the conflicts of an undo, and the next steps besides the one that was tried."""
    if not items:
        return
    kinds = {conflict.kind for conflict in items}
    heading = "Nothing to take back:" if kinds <= IDLE else "In the way:"
    lines = [heading, *(f"- {_conflict(conflict)}" for conflict in items)]
    later = _undos(items, *_LATER)
    if later:
        lines.append(f"Undo what came later first: {later}")
    undos = _undos(items, UndoConflictKind.UNDONE_ALREADY)
    if undos:
        lines.append(f"Do it again by an undo of the undo: {undos}")
    if UndoConflictKind.DUPLICATE in kinds:
        lines.append(f"Bring texts back that others repeat: {again(force=True)}")
    if kinds - IDLE - {UndoConflictKind.DUPLICATE} and not partial:
        lines.append(f"Take back the rest: {again(partial=True)}")
    stream.write(clean("\n".join(lines)) + "\n")


def _undos(items: Sequence[UndoConflict], *kinds: UndoConflictKind) -> str:
    """Return the undos of the revisions that conflicts of some kinds name, newest first."""
    found = {conflict.revision for conflict in items if conflict.kind in kinds} - {0}
    return ", then ".join(step("undo", revision) for revision in sorted(found, reverse=True))


def _conflict(one: UndoConflict) -> str:
    what = "the settings" if one.settings else one.memory_id or one.episode_id
    if one.target_id and one.kind not in _PLACES:
        what = f"link of {one.memory_id} with {one.target_id}"
    later = f" by revision {one.revision}" if one.revision else ""
    match one.kind:
        case UndoConflictKind.CHANGED:
            return f"{what}: changed{later}"
        case UndoConflictKind.CHANGED_FOR_GOOD:
            return f"{what}: changed{later}, which nothing takes back"
        case UndoConflictKind.UNDONE_ALREADY:
            return f"{what}: undone already{later}"
        case UndoConflictKind.NOTHING_LEFT if not one.target_id:
            return "nothing of it is left to take back"
        case UndoConflictKind.NOTHING_LEFT:
            return f"{what}: the latter was purged{later}, nothing is left to take back"
        case UndoConflictKind.PURGED:
            return f"{what}: purged{later}, nothing brings it back"
        case UndoConflictKind.LINK_END_GONE:
            return f"{what}: the latter is forgotten or purged"
        case UndoConflictKind.LAST_COPY:
            return f"{what}: without it {one.target_id}, which it superseded{later}, would be lost"
        case UndoConflictKind.SUCCESSOR_GONE:
            by = f"{one.target_id}, which superseded it, was changed{later}"
            return f"{what}: would be lost, since {by}"
        case UndoConflictKind.EXTERNAL_ID_TAKEN:
            return f"{what}: its external id is another memory's now"
        case UndoConflictKind.KEY_TAKEN:
            return f"{what}: its typed key is another memory's now"
        case UndoConflictKind.DUPLICATE if one.duplicate is not None:
            other = one.duplicate
            return f"{what}: repeats {other.memory_id} ({other.age}): {other.snippet}"
        case _:
            return f"{what}: {one.kind}{later}"
