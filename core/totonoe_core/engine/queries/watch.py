"""Changes after a revision, as an agent may see them.

A client that follows them from 0 on, or from any revision with its contents, ends with the result
of a List of all statuses but FORGOTTEN. Rules that keep this true when memories are hidden
meanwhile:

- A memory is shown with its content only if the agent may see it now and could see it then. The
  content is that right after the operation.
- A memory that the agent could see before an operation and not after it (forgotten, or made
  private) is shown as FORGOTTEN, by its id alone. It was in sight before, so the id is not new.
- The operation itself is shown as in a list of operations (`engine/state/operations.py`).
- A purged memory is shown as PURGED with its id, at the purge only. Another agent's memory that was
  always private is not shown: its tombstone says `private`, and the operation names those that were
  public once (`Touched.known`).
- Ids that a memory names (evidence, its successor) are shown as visible then. If they are hidden or
  revealed later, that is no change of the memory.
- A link is shown if both ends are in sight, then and now; links of a purged memory go with it. A
  dismissed pair is named in the same way by the operation, which changes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from totonoe_core.base import limits
from totonoe_core.base.errors import OutOfRange
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import (
    Change,
    Changes,
    ChangesQuery,
    ChangeType,
    LinkChange,
    MemoryChange,
)
from totonoe_core.domain.records import Link, Memory, Status
from totonoe_core.engine.state.ledger import DEAD
from totonoe_core.engine.state.operations import counts, info_of, pairs_of
from totonoe_core.engine.state.recent import DecodedLink, DecodedOperation
from totonoe_core.engine.state.sight import Sight, may_see, sees_episode
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.search.filters import matches
from totonoe_core.store.records import OperationRow, Touched
from totonoe_core.store.seam import Rows


def changes(state: CollectionState, rows: Rows, query: ChangesQuery) -> Changes:
    """Operations after a revision, oldest first; those with nothing for the agent are left out.

    With `where` only memories that met it before or after the change, at its time, and links of
    such; a purge is reported whatever the memory was. Without it all changes, also of settings and
    episodes.

    Raises
    ------
    OutOfRange
        The collection has not reached the revision.
    """
    after_revision = query.after_revision
    newest = state.published.revision
    if after_revision > newest:
        raise OutOfRange(field="after_revision", got=after_revision, newest=newest)
    last = min(newest, after_revision + limits.CHANGES_PER_READ_MAX)
    # One snapshot: between two statements a purge may remove rows of the first one.
    with rows.snapshot():
        operations = list(_operations(state, rows, after_revision, last))
        undone_by = rows.history.undone_by([operation.row.revision for operation in operations])
        reader = _Reader(state, rows, query.agent_id, query.where)
        told = [
            reader.change(operation, undone_by.get(operation.row.revision, 0))
            for operation in operations
        ]
    revision = operations[-1].row.revision if operations else last
    return Changes(revision, tuple(change for change in told if change is not None))


def _operations(
    state: CollectionState, rows: Rows, after: int, last: int
) -> Iterator[DecodedOperation]:
    """Yield operations of (after, last], up to about CHANGED_MEMORIES_PER_READ_MAX memories."""
    recent, generation = state.recent, state.recent.generation
    unread: dict[int, OperationRow] = {}
    count = 0
    for revision in range(after + 1, last + 1):
        operation = recent.get(revision)
        if operation is None:
            if not unread:
                found = rows.history.operations_after(revision - 1, last - revision + 1)
                unread = {row.revision: row for row in found}
            row = unread.get(revision)
            if row is None:
                continue
            operation = _decoded(rows, row)
            recent.put(operation, generation)
        yield operation
        count += len(operation.after)
        if count >= limits.CHANGED_MEMORIES_PER_READ_MAX:
            return


def _decoded(rows: Rows, row: OperationRow) -> DecodedOperation:
    """Return one operation with its changes."""
    touched = Touched.loads(row.touched)
    pairs = pairs_of(touched.links)
    ends = (end for source, target, _ in pairs for end in (source, target))
    dismissed = (end for pair in touched.dismissals for end in pair)
    wanted = list(dict.fromkeys((*touched.memories, *ends, *dismissed)))
    after = {
        number: replace(memory, vector=b"")
        for number, memory in rows.history.memories_after(row.revision, wanted).items()
    }
    before = {
        number: replace(memory, vector=b"")
        for number, memory in rows.history.memory_images(row.revision).items()
    }
    images = {}
    if pairs:
        images = {
            (image.source, image.target, image.link.type): image.link
            for image in rows.history.link_images(row.revision)
        }
    links = []
    for source, target, type_ in pairs:
        if source not in after or target not in after:
            continue
        link: Link | None = None
        # Dead memories have no links, so that a large Forget needs no look-up of each.
        if not {after[source].status, after[target].status} & DEAD:
            link = rows.history.link_after(row.revision, source, target, type_)
        removed = link is None
        link = link or images.get((source, target, type_))
        if link is not None:
            link = replace(link, target_id=after[target].id)
            links.append(DecodedLink(source, target, link, removed))
    return DecodedOperation(row, touched, before, after, tuple(pairs), tuple(links))


class _Reader:
    """An agent's sight of operations, with its filter."""

    def __init__(
        self, state: CollectionState, rows: Rows, agent_id: str, where: Filter | None
    ) -> None:
        self._rows = rows
        self._agent_id = agent_id
        self._where = where
        self._decay = state.published.decay
        self._sight = Sight(state.index, rows, agent_id)

    def change(self, operation: DecodedOperation, undone_by: int) -> Change | None:
        """Return the operation as the agent may see it; `None` if it may see none of it."""
        time_us = operation.row.time_us
        touched = tuple(dict.fromkeys(operation.touched.memories))
        memories = [
            told
            for row in touched
            if row in operation.after
            and (told := self._memory(operation, row, time_us)) is not None
        ]
        links = [link for link in operation.links if self._sees_link(operation, link)]
        episode_ids = tuple(
            episode_id
            for episode_id in dict.fromkeys(operation.touched.episodes)
            if sees_episode(self._rows, episode_id, self._agent_id)
        )
        settings = operation.touched.settings
        wanted = [link for link in links if self._wants_link(operation, link, time_us)]
        dismissed = [
            pair for pair in operation.touched.dismissals if self._sees_all(operation, pair)
        ]
        pairs = [pair for pair in dismissed if self._wants_any(operation, pair, time_us)]
        others = settings or episode_ids
        if not (memories or wanted or pairs or (self._where is None and others)):
            return None
        ends = {row for pair in operation.pairs for row in pair[:2]}
        counting = {row for row in ends.union(touched) if self._counts(operation, row)}
        named = dict.fromkeys(row for row in touched if row in counting)
        named |= dict.fromkeys(row for pair in dismissed for row in pair)
        memory_ids = self._ids(operation, list(named))
        link_count = sum(counting.issuperset(pair[:2]) for pair in operation.pairs)
        info = info_of(
            operation.row, operation.touched, undone_by, memory_ids, episode_ids, link_count
        )
        told_links = (
            LinkChange(operation.after[link.source].id, link.link, link.removed) for link in wanted
        )
        return Change(info, tuple(memories), tuple(told_links))

    def _counts(self, operation: DecodedOperation, row: int) -> bool:
        seen_now = self._sight.sees(row)
        return counts(seen_now, operation.before.get(row), operation.after.get(row), self._agent_id)

    def _ids(self, operation: DecodedOperation, wanted: Sequence[int]) -> list[str]:
        """Return ids of rows; a row purged since has nothing else left."""
        purged = self._rows.memories([row for row in wanted if row not in operation.after])
        return [(operation.after.get(row) or purged[row]).id for row in wanted]

    def _memory(self, operation: DecodedOperation, row: int, time_us: int) -> MemoryChange | None:
        before, after = operation.before.get(row), operation.after[row]
        if after.status is Status.PURGED:
            told = may_see(after, self._agent_id) or row in operation.touched.known
            return MemoryChange(ChangeType.PURGED, after.id, None) if told else None
        if before is not None and not may_see(before, self._agent_id):
            before = None
        was_there = before is not None and before.status not in DEAD
        is_there = may_see(after, self._agent_id) and after.status not in DEAD
        if not is_there:
            if was_there and self._wanted(before, time_us):
                return MemoryChange(ChangeType.FORGOTTEN, after.id, None)
            return None
        if not self._sight.sees(row):
            return None
        if not (self._wanted(after, time_us) or (was_there and self._wanted(before, time_us))):
            return None
        return MemoryChange(_type(before, after), after.id, self._sight.told(after))

    def _sees_link(self, operation: DecodedOperation, link: DecodedLink) -> bool:
        return self._sees_all(operation, (link.source, link.target))

    def _sees_all(self, operation: DecodedOperation, rows: Sequence[int]) -> bool:
        return all(
            row in operation.after
            and may_see(operation.after[row], self._agent_id)
            and self._sight.sees(row)
            for row in rows
        )

    def _wants_link(self, operation: DecodedOperation, link: DecodedLink, time_us: int) -> bool:
        return self._wants_any(operation, (link.source, link.target), time_us)

    def _wants_any(self, operation: DecodedOperation, rows: Sequence[int], time_us: int) -> bool:
        versions = (part.get(row) for row in rows for part in (operation.after, operation.before))
        return any(self._wanted(version, time_us) for version in versions)

    def _wanted(self, memory: Memory | None, time_us: int) -> bool:
        if memory is None or self._where is None:
            return memory is not None
        return matches(memory, self._where, self._decay, time_us)


def _type(before: Memory | None, after: Memory) -> ChangeType:
    """Return the change of a memory that exists after an operation; `before` if it was in sight."""
    if before is None:
        return ChangeType.CREATED
    if before.status is after.status:
        return ChangeType.UPDATED
    if Status.PENDING in (before.status, after.status) and before.status not in DEAD:
        return ChangeType.UPDATED
    if after.status is Status.SUPERSEDED:
        return ChangeType.SUPERSEDED
    return ChangeType.CLOSED if after.status is Status.CLOSED else ChangeType.RESTORED
