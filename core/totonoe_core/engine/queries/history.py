"""Versions of a memory, and operations of a collection, as an agent may see them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import cast

from totonoe_core.base import limits, plain
from totonoe_core.base.errors import NotFound
from totonoe_core.domain.queries import (
    HistoryPage,
    HistoryQuery,
    OperationFilter,
    OperationPage,
    OperationsQuery,
    Recaller,
    Version,
)
from totonoe_core.domain.records import Fields, Link, Memory
from totonoe_core.domain.undo import OperationInfo
from totonoe_core.engine.queries.past import Past
from totonoe_core.engine.state import paging, sizes
from totonoe_core.engine.state.operations import operation_infos
from totonoe_core.engine.state.sight import may_see
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.store.records import LinkVersion, OperationRow
from totonoe_core.store.seam import Rows

_FIELDS = tuple(item.name for item in fields(Fields) if item.name != "created_us")
_OWN = ("content", "status", "superseded_by", "created_us")
_READ_AT_ONCE = 500


def history(state: CollectionState, rows: Rows, query: HistoryQuery) -> HistoryPage:
    """One page of versions, newest first.

    Versions that were private to another agent are left out, and so are links whose other end is
    hidden, or was. Raises `NotFound` for a memory that the agent does not see now.
    """
    agent_id, page_size = query.agent_id, query.page_size
    with rows.snapshot():
        memory = state.find(rows, query.memory_id, agent_id)
        if memory is None:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=query.memory_id)
        asked = ("history", memory.id)
        given = paging.position(query.page_token, (int,), *asked)
        before = 2**62 if given is None else cast(tuple[int], given)[0]
        told = _VersionHistory(state, rows, memory, agent_id)
        versions: list[Version] = []
        room, more, full = sizes.Room(), True, False
        while more and not full and len(versions) <= page_size:
            count = min(limits.PAGE_ROWS_READ, page_size + 1 - len(versions))
            some, before, more = told.before(before, count)
            fitting = room.fitting(some, _version_bytes)
            versions += fitting
            full = len(fitting) < len(some)
        more = more or full or len(versions) > page_size
        versions = versions[:page_size]
        token = paging.token((versions[-1].operation.revision,), *asked) if more else ""
        recallers, other_count = _recallers(rows, memory, query) if given is None else ((), 0)
        return HistoryPage(rows.last_revision(), tuple(versions), token, recallers, other_count)


def _recallers(rows: Rows, memory: Memory, query: HistoryQuery) -> tuple[tuple[Recaller, ...], int]:
    """Return who recalled a memory, the latest first, and how often agents without a name here."""
    counts: Counter[str] = Counter()
    last_us: dict[str, int] = {}
    for agent, time_us in rows.figures.recalled_by(memory.row):
        counts[agent] += 1
        last_us.setdefault(agent, time_us)
    named = [agent_id for agent_id in last_us if query.names_others or agent_id == query.agent_id]
    recallers = tuple(
        Recaller(agent_id, counts[agent_id], last_us[agent_id])
        for agent_id in named[: limits.RECALLERS_MAX]
    )
    return recallers, counts.total() - sum(recaller.count for recaller in recallers)


def _version_bytes(version: Version) -> int:
    nbytes = sizes.operation_bytes(version.operation)
    if version.memory is not None:
        nbytes += sizes.memory_bytes(version.memory)
    return nbytes + sizes.links_bytes(version.linked) + sizes.links_bytes(version.unlinked)


class _VersionHistory:
    """The versions of one memory, with the changes of its links."""

    def __init__(self, state: CollectionState, rows: Rows, memory: Memory, agent_id: str) -> None:
        self._state = state
        self._rows = rows
        self._memory = memory
        self._agent_id = agent_id
        self._linked: dict[int, list[LinkVersion]] = defaultdict(list)
        self._unlinked: dict[int, list[LinkVersion]] = defaultdict(list)
        links = rows.history.link_versions(memory.row)
        begun = {(link.target, link.link.type, link.since) for link in links}
        for link in links:
            self._linked[link.since].append(link)
            if link.until is not None and (link.target, link.link.type, link.until) not in begun:
                self._unlinked[link.until].append(link)

    def before(self, revision: int, count: int) -> tuple[list[Version], int, bool]:
        """Return versions of the next `count` revisions before one that touched the memory.

        Also returns the last of these revisions, and whether there are more.
        """
        rows, row = self._rows, self._memory.row
        newest = rows.history.memories_after(revision - 1, [row]).get(row)
        versions = [] if newest is None else [newest]
        if newest is not None:
            # One more, to see the changes of the last of the page.
            versions += rows.history.versions_until(row, newest.revision, count + 1)
        by_revision = {memory.revision: memory for memory in versions}
        earlier = {memory.revision: was for memory, was in pairwise(versions)}
        touched = sorted(
            {
                number
                for number in (*by_revision, *self._linked, *self._unlinked)
                if number < revision
            },
            reverse=True,
        )
        told, place = [], 0
        for at in touched[:count]:
            while place < len(versions) and versions[place].revision > at:
                place += 1
            if place < len(versions) and may_see(versions[place], self._agent_id):
                told.append((at, by_revision.get(at), earlier.get(at)))
        last = touched[:count][-1] if touched else revision
        return self._versions(told), last, len(touched) > count

    def _versions(self, told: Sequence[tuple[int, Memory | None, Memory | None]]) -> list[Version]:
        rows = [self._rows.history.operation(at) for at, _, _ in told]
        made = [operation for operation in rows if operation is not None]
        infos = dict(
            zip(
                (operation.revision for operation in made),
                operation_infos(self._rows, made, self._agent_id, of_seen=True),
                strict=True,
            )
        )
        out = []
        for at, memory, was in told:
            info = infos.get(at)
            linked, unlinked = self._links(at)
            if info is None or not (memory or linked or unlinked):
                continue
            changed: tuple[str, ...] = ()
            if memory is not None:
                past = Past(self._state, self._rows, at, self._agent_id)
                memory = replace(past.told(memory), vector=b"")
                if was is not None and may_see(was, self._agent_id):
                    changed = _changed(past.told(was), memory)
            out.append(Version(info, memory, changed, linked, unlinked))
        return out

    def _links(self, at: int) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
        """Return links that an operation made or changed, and those that it removed."""
        linked, unlinked = self._linked.get(at, []), self._unlinked.get(at, [])
        if not linked and not unlinked:
            return (), ()
        past = Past(self._state, self._rows, at, self._agent_id)
        ends = past.memories([link.target for link in (*linked, *unlinked)])

        def seen(versions: Sequence[LinkVersion]) -> tuple[Link, ...]:
            return tuple(
                replace(link.link, target_id=ends[link.target].id)
                for link in versions
                if link.target in ends
            )

        return seen(linked), seen(unlinked)


def _changed(was: Memory, memory: Memory) -> tuple[str, ...]:
    """Return the names of differences: fields, content, status, superseded_by and created_us."""
    own = [name for name in _OWN if getattr(was, name) != getattr(memory, name)]
    named = [name for name in _FIELDS if getattr(was.fields, name) != getattr(memory.fields, name)]
    return (*own, *named)


def operations(state: CollectionState, rows: Rows, query: OperationsQuery) -> OperationPage:
    """One page of operations, newest first.

    At most OPERATIONS_SCANNED_MAX are scanned; then the token goes on, though the page is not full.
    Operations on a memory are found by its versions, links and dismissals, without this limit.
    Raises `NotFound` for a `memory_id` that the agent does not see.
    """
    agent_id, where, page_size = query.agent_id, query.where, query.page_size
    asked = ("operations", plain.dumps(where))
    given = paging.position(query.page_token, (int,), *asked)
    with rows.snapshot():
        newest = rows.last_revision()
        before = newest + 1
        if where.time.to_us is not None:
            before = rows.history.revision_at(where.time.to_us - 1) + 1
        if given is not None:
            before = min(before, cast(tuple[int], given)[0])
        first = 1
        if where.time.from_us is not None:
            first = rows.history.revision_at(where.time.from_us - 1) + 1
        row = None
        if where.memory_id:
            memory = state.find(rows, where.memory_id, agent_id)
            if memory is None:
                raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=where.memory_id)
            row = memory.row
        operations: list[OperationInfo] = []
        room, scanned, at, more = sizes.Room(), 0, before, False
        count = min(page_size + 1, _READ_AT_ONCE)
        for some in _newest_first(rows, row, first, before, count):
            fitting = [operation for operation in some if _fits(operation, where)]
            for info in operation_infos(rows, fitting, agent_id):
                if info is None:
                    continue
                if len(operations) == page_size or not room.takes(sizes.operation_bytes(info)):
                    more = True
                    break
                operations.append(info)
            if more:
                at = operations[-1].revision
                break
            at = some[-1].revision
            scanned += len(some)
            if scanned >= limits.OPERATIONS_SCANNED_MAX and at > first:
                more = True
                break
        token = paging.token((at,), *asked) if more else ""
        return OperationPage(newest, tuple(operations), token)


def _newest_first(
    rows: Rows, row: int | None, first: int, before: int, count: int
) -> Iterator[list[OperationRow]]:
    """Yield operations from the newest before a revision down to `first`, `count` and then more."""
    if row is None:
        while before > first:
            some = rows.history.operations_before(before, min(count, before - first))
            if not some:
                return
            yield some
            before, count = some[-1].revision, _READ_AT_ONCE
        return
    touched = {memory.revision for memory in rows.history.memory_versions(row)}
    touched |= {memory.revision for memory in rows.memories([row]).values()}
    for link in rows.history.link_versions(row):
        touched |= {link.since} if link.until is None else {link.since, link.until}
    touched |= rows.history.dismissal_revisions(row)
    wanted = sorted((number for number in touched if first <= number < before), reverse=True)
    for start in range(0, len(wanted), _READ_AT_ONCE):
        found = (rows.history.operation(number) for number in wanted[start : start + _READ_AT_ONCE])
        yield [operation for operation in found if operation is not None]


def _fits(operation: OperationRow, where: OperationFilter) -> bool:
    if where.agent_ids and operation.agent_id not in where.agent_ids:
        return False
    if where.kinds and operation.kind not in where.kinds:
        return False
    return where.reason_contains.casefold() in operation.reason.casefold()
