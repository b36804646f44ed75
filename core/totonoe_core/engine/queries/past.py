"""Get, List and Recall at a moment of the past.

An answer holds a memory if the agent may see it now and might see it then. Access figures do not
belong to the past, and policies are today's; `now` is the time of the revision.

    unchanged since    the row itself
    changed since      its first before image after the revision
    purged since       not there

Everything is read in one snapshot, so that a write between two reads cannot be seen in half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import cast

from totonoe_core.base import limits, plain
from totonoe_core.base.clock import time_text
from totonoe_core.base.errors import NotFound, NotYet, OutOfRange
from totonoe_core.domain import expiry
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.policy import DecayPolicy
from totonoe_core.domain.queries import AsOf, GetQuery, Gotten, ListQuery, Page, Recalled
from totonoe_core.domain.records import LinkType, Memory, Status
from totonoe_core.engine.state import paging, reading, sizes
from totonoe_core.engine.state.known import KnownRelations
from totonoe_core.engine.state.sight import Sight, may_see, without
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.rules import validate
from totonoe_core.search.filters import matches
from totonoe_core.search.recall import rank
from totonoe_core.store.records import LikelyPair
from totonoe_core.store.seam import Rows

_STEP_MIN, _STEP_MAX = 64, 256


def revision_of(rows: Rows, as_of: AsOf, now_us: int) -> int:
    """Return the revision of a moment: 0 before the first.

    Raises `OutOfRange` for a future revision or time. A time may be ahead of our clock by
    CLOCK_SKEW_ALLOWED_S, or equal that of the newest operation.
    """
    if as_of.revision is None:
        made = rows.history.operation(rows.last_revision())
        latest_us = now_us + limits.CLOCK_SKEW_ALLOWED_S * 1_000_000
        if as_of.time_us > max(latest_us, 0 if made is None else made.time_us):
            raise OutOfRange(
                field="as_of.time",
                got=time_text(as_of.time_us),
                newest=rows.last_revision(),
                now=time_text(now_us),
            )
        return rows.history.revision_at(as_of.time_us)
    validate.number(as_of.revision, "as_of.revision", 0, 2**62)
    newest = rows.last_revision()
    if as_of.revision > newest:
        raise OutOfRange(field="as_of.revision", got=as_of.revision, newest=newest)
    return as_of.revision


class Past:
    """Contents right after a revision, as an agent may see them. Within one snapshot."""

    def __init__(self, state: CollectionState, rows: Rows, revision: int, agent_id: str) -> None:
        self._state = state
        self._rows = rows
        self.revision = revision
        self._agent_id = agent_id
        self._sight = Sight(state.index, rows, agent_id)
        self._rows_of_external_id: dict[str, list[int]] = {}
        made = rows.history.operation(revision)
        self.time_us = 0 if made is None else made.time_us

    def memories(self, wanted: Sequence[int]) -> dict[int, Memory]:
        """Return memories by row number, without hidden or missing ones."""
        now = self._rows.memories(wanted)
        seen = [row for row in dict.fromkeys(wanted) if row in now and self._sees(now[row])]
        changed = [row for row in seen if now[row].revision > self.revision]
        then = self._rows.history.memories_after(self.revision, changed)
        past = {
            row: then.get(row) if now[row].revision > self.revision else now[row] for row in seen
        }
        return {
            row: self._as_seen(memory)
            for row, memory in past.items()
            if memory is not None and self._sees(memory)
        }

    def _as_seen(self, memory: Memory) -> Memory:
        """Return a memory with the status that it had then, also if that was not written yet.

        Reads are not remembered, so that one which reads put off is as its row says.
        """
        if memory.fields.expires_after_s is not None:
            return memory
        return expiry.as_seen(memory, None, self.time_us)

    def _sees(self, memory: Memory) -> bool:
        return memory.status is not Status.PURGED and may_see(memory, self._agent_id)

    def find(self, memory_id: str) -> Memory | None:
        """Return the memory of an id, or of an `ext:` external id (`expect`ed) that it had then."""
        self._state.check_sound(self._rows, memory_id, self._agent_id)
        if memory_id.startswith("ext:"):
            return self._of_external_id(memory_id[4:])
        index = self._state.index
        slot = index.slot_by_id.get(memory_id)
        if slot is None:
            return None
        row = int(index.arrays.writer_view().value("row", slot))
        memory = self.memories([row]).get(row)
        # After a rollback the slot may be another memory's when its row is read.
        return memory if memory is not None and memory.id == memory_id else None

    def made_later(self, memory_id: str) -> bool:
        """Return whether the agent sees a memory now that did not exist then."""
        if memory_id.startswith("ext:"):
            row = self._rows.row_of_external_id(memory_id[4:], self._agent_id)
        else:
            row = self._rows.row_of_id(memory_id)
        now = None if row is None else self._rows.memories([row]).get(row)
        if row is None or now is None or not self._sees(now) or now.revision <= self.revision:
            return False
        return row not in self._rows.history.memories_after(self.revision, [row])

    def expect(self, wanted: Iterable[str]) -> None:
        """Look up the external ids among some ids together: the first look-up is the costly one."""
        names = list(
            dict.fromkeys(memory_id[4:] for memory_id in wanted if memory_id.startswith("ext:"))
        )
        if names:
            history = self._rows.history
            found = history.rows_of_external_ids(names, self._agent_id, self.revision)
            self._rows_of_external_id.update(found)

    def _of_external_id(self, external_id: str) -> Memory | None:
        """Return the holder of an external id, by today's order: not forgotten, private, newest."""
        rows = self._rows_of_external_id[external_id]
        held = [
            memory
            for memory in self.memories(rows).values()
            if memory.fields.external_id == external_id
        ]
        return max(
            held,
            key=lambda memory: (
                memory.status is not Status.FORGOTTEN,
                memory.fields.private,
                memory.row,
            ),
            default=None,
        )

    def head(self, memory: Memory) -> Memory:
        """Return the end that the chain of superseded memories had, as `CollectionState.head`."""
        for _ in range(limits.SUPERSEDED_STEPS_MAX):
            if memory.status is not Status.SUPERSEDED:
                break
            by = self.find(memory.superseded_by)
            if by is None:
                break
            memory = by
        return memory

    def told(self, memory: Memory) -> Memory:
        """Return a past memory, without the ids of memories hidden now or then."""
        return without(memory, self._hides, self._sight.is_purged)

    def _hides(self, memory_id: str) -> bool:
        if self._sight.hides(memory_id):
            return True
        then = self._version(memory_id)
        return then is not None and not may_see(then, self._agent_id)

    def _version(self, memory_id: str) -> Memory | None:
        """Return a past memory, private or not."""
        slot = self._state.index.slot_by_id.get(memory_id)
        if slot is None:
            return None
        row = int(self._state.index.arrays.writer_view().value("row", slot))
        return self._rows.history.memories_after(self.revision, [row]).get(row)

    def shown(self, memories: Iterable[Memory]) -> list[Memory]:
        """Return memories with their links, without those that the agent may not see."""
        memories = list(memories)
        held = {
            memory.row: [
                link
                for link in self._rows.history.link_versions(memory.row)
                if link.since <= self.revision
                and (link.until is None or link.until > self.revision)
            ]
            for memory in memories
        }
        ends = self.memories([link.target for links in held.values() for link in links])
        out = []
        for memory in memories:
            links = sorted(
                held[memory.row],
                key=lambda link: (-link.link.confidence, link.target, link.link.type.value),
            )
            seen = tuple(
                replace(link.link, target_id=ends[link.target].id)
                for link in links
                if link.target in ends
            )
            out.append(replace(self.told(memory), links=seen))
        return out

    def likely_among(self, wanted: Sequence[int]) -> list[LikelyPair]:
        """Return the pairs of rows that were asked about then: live, likely, not dismissed."""
        live = {
            row: memory
            for row, memory in self.memories(wanted).items()
            if memory.status is Status.ACTIVE
        }
        found = [
            LikelyPair(link.link.confidence, link.source, link.target, link.link.note)
            for row in live
            for link in self._rows.history.link_versions(row)
            if link.link.type is LinkType.LIKELY_SAME
            and link.source < link.target
            and link.target in live
            and link.since <= self.revision
            and (link.until is None or link.until > self.revision)
        ]
        lows = sorted({pair.low for pair in found})
        dismissed = {
            (dismissal.a, dismissal.b)
            for dismissal in self._rows.moment.dismissals(lows, self.revision)
            if dismissal.a in live
            and dismissal.b in live
            and dismissal.hash_a == live[dismissal.a].content_hash
            and dismissal.hash_b == live[dismissal.b].content_hash
        }
        return [pair for pair in found if (pair.low, pair.high) not in dismissed]


def get(state: CollectionState, rows: Rows, query: GetQuery, now_us: int) -> Gotten:
    """Return memories by id at a past moment, in the order of the request.

    One unknown id alone is `NotFound`, and `NotYet` if its memory came later.
    """
    assert query.as_of is not None
    ids = query.ids
    with rows.snapshot():
        past = Past(state, rows, revision_of(rows, query.as_of, now_us), query.agent_id)
        past.expect(ids)
        found, missing, redirects = [], [], []
        for memory_id in ids:
            memory = past.find(memory_id)
            if memory is None:
                missing.append(memory_id)
                continue
            head = past.head(memory) if query.follow_superseded else memory
            if head.row != memory.row:
                redirects.append((memory_id, head.id))
            found.append(head)
        if missing and len(ids) == 1:
            if past.made_later(missing[0]):
                raise NotYet(name=missing[0], revision=past.revision)
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=missing[0])
        return Gotten(
            revision=rows.last_revision(),
            memories=tuple(past.shown(found)),
            missing_ids=tuple(missing),
            redirects=tuple(redirects),
            as_of_revision=past.revision,
        )


def scan(state: CollectionState, rows: Rows, query: ListQuery, now_us: int) -> Page:
    """One page of what was there then, by the created time that it had then, and id.

    Memories are read by the index of present created times, a step at a time. Those whose created
    time was another then (a Merge takes the earliest) are known by their before images, read apart
    for each page and inserted at their place: they are few. A page reads at most
    AS_OF_ROWS_SCANNED_MAX of the others; then its token goes on, though the page is not full.

    Cost in CPU with 384 dimensions, at 1,000 and at 10,000 memories: a page of 100 takes 3 ms
    where nothing changed since (List 2 and 4), and 22 us for each memory that the filter leaves
    out or that came later. The first page of a revision reads each before image since then, 2 to
    9 us for each: 43 ms where 5,000 changed.
    """
    assert query.as_of is not None
    where, page_size = query.where, query.page_size
    asked = ("list as of", plain.dumps(where), plain.dumps(query.as_of))
    given = paging.position(query.page_token, (int, int, str), *asked)
    with rows.snapshot():
        newest = rows.last_revision()
        if given is None:
            revision, after = revision_of(rows, query.as_of, now_us), reading.FROM_THE_START
        else:
            # The revision of the first page, since a time near now may mean a later one by now.
            revision, *rest = cast(tuple[int, int, str], given)
            after = cast(tuple[int, str], tuple(rest))
            if not 0 <= revision <= newest:
                raise paging.bad_token()
        past = Past(state, rows, revision, query.agent_id)
        moved = state.past.moved(rows, revision)
        memories, at = _page(past, rows, where, moved, state.published.decay, page_size, after)
        next_token = ""
        if len(memories) > page_size:
            at = _key(memories[page_size - 1])
        shown, room = past.shown(memories[:page_size]), sizes.Room()
        kept = room.fitting(shown, lambda memory: sizes.memory_bytes(memory, query.include_vectors))
        if len(kept) < len(shown):
            at = _key(kept[-1])
        if at is not None:
            next_token = paging.token((revision, *at), *asked)
        return Page(
            revision=newest,
            memories=tuple(kept),
            next_page_token=next_token,
            as_of_revision=revision,
        )


def _page(
    past: Past,
    rows: Rows,
    where: Filter,
    moved: frozenset[int],
    decay: DecayPolicy,
    page_size: int,
    after: tuple[int, str],
) -> tuple[list[Memory], tuple[int, str] | None]:
    """Return memories after a position, one more than a page if there are; and the last position.

    The position is `None` at the end.
    """
    apart = sorted(past.memories(sorted(moved)).values(), key=_key)
    apart = [memory for memory in apart if _key(memory) > after]
    memories: list[Memory] = []
    nbytes = 0
    scanned, step = 0, max(_STEP_MIN, min(_STEP_MAX, page_size + 1))
    while len(memories) <= page_size and nbytes <= limits.PAGE_BYTES_GOAL:
        if scanned >= limits.AS_OF_ROWS_SCANNED_MAX:
            return memories, after
        listed = rows.rows_by_time(after, step)
        scanned += len(listed)
        here = list(past.memories([row for row, _, _ in listed if row not in moved]).values())
        last = len(listed) < step
        if not last:
            after = listed[-1][1:]
        while apart and (last or _key(apart[0]) <= after):
            here.append(apart.pop(0))
        here.sort(key=_key)
        fitting = [memory for memory in here if matches(memory, where, decay, past.time_us)]
        memories += fitting
        nbytes += sum(map(sizes.memory_bytes, fitting))
        if last:
            return memories, None
        step = _STEP_MAX
    return memories, after


def _key(memory: Memory) -> tuple[int, str]:
    return memory.created_us, memory.id


def recall(
    state: CollectionState,
    rows: Rows,
    asked: reading.EmbeddedQuery,
    now_us: int,
    fill_keys: Callable[[CollectionIndex], None],
) -> Recalled:
    """Find memories exactly as a Recall would have right after that revision.

    The first Recall of a revision reads every memory and builds an index of them, which is kept for
    the next (AS_OF_INDEXES_MAX). With 384 dimensions it takes 0.10 s of CPU at 1,000 memories and
    0.94 s at 10,000 (0.12 and 1.2 if half of them changed since); the next takes 1.7 and 6 ms, a
    Recall of the present 1.2 and 4.5. Memory: as much as the collection's own index. Raises
    `Unavailable` while an index is being built for another caller. `fill_keys` gives the typed keys
    of an index their vectors.
    """
    info = state.published
    asked = asked.of(info.model_number)
    query, vector, degraded = asked.query, asked.vector, asked.degraded
    assert query.as_of is not None
    with rows.snapshot():
        past = Past(state, rows, revision_of(rows, query.as_of, now_us), query.agent_id)
        if past.revision < info.model_since:
            # Earlier versions have vectors of another model, or none: so all are found by words,
            # in any mode.
            vector = None
            degraded = degraded or "the collection had another model then: found by words alone"
        number, dimension = info.model_number, info.model.dimension
        index = state.past.at(rows, past.revision, number, dimension)
        if vector is not None:
            fill_keys(index)
        view = index.view()
        diversity = query.diversity or info.diversity

        def read(wanted: list[int]) -> list[Memory]:
            return past.shown(past.memories(wanted).values())

        known = KnownRelations(index, info, rows, read, past.likely_among)
        hits = reading.HitMemories(index, query, diversity.enabled, read, known)
        ranks = rank(
            index,
            view,
            index.graph,
            query,
            vector,
            diversity,
            info.decay,
            past.time_us,
            hits.arrange,
            reading.partners_by(past.likely_among),
        )
        ranked = reading.rows_of(ranks, view)
        shown = hits.of(ranked)
        also = reading.folded(view, ranked.values(), read)
        answer = reading.recalled(
            info, rows.last_revision(), ranks, ranked, shown, also, known, degraded, past.time_us
        )
        return replace(answer, as_of_revision=past.revision)
