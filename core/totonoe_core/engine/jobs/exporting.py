"""Export: a collection as one agent sees it, as it was at one revision, in lines.

The moment is a revision, not a held snapshot: each step reads some rows in a snapshot of its own
and takes later changes back with before images, as a read of the past does. So a slow reader pins
nothing, and writers go on. Memories purged or made private while it runs are left out from then on;
figures of access are those of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from hashlib import sha256
from typing import TypeVar

from totonoe_core.base import limits
from totonoe_core.base.errors import Corruption, StaleRevision
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import Memory, Status
from totonoe_core.domain.transfer import DismissalLine, ExportChunk, ExportQuery, LinkLine, Record
from totonoe_core.engine.jobs.transfer_turns import Turn
from totonoe_core.engine.queries.past import Past
from totonoe_core.engine.state.futures import submit
from totonoe_core.engine.state.sight import Sight, may_see_episode, sees_episode
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import masks
from totonoe_core.jsonl import KINDS, writing
from totonoe_core.store.seam import ReaderPool, Rows
from totonoe_core.store.settings import read_settings

T = TypeVar("T")
EXPORTED = tuple(status for status in Status if status is not Status.PURGED)
_EPISODES_READ = 32


class Exporting:
    """One Export. Reads come one at a time, each on a thread of `executor`."""

    def __init__(
        self,
        state: CollectionState,
        readers: ReaderPool,
        executor: Executor,
        query: ExportQuery,
        turn: Turn,
    ) -> None:
        self._state = state
        self._readers = readers
        self._executor = executor
        self._query = query
        self._turn = turn
        self._statuses = query.statuses or EXPORTED
        self._steps = self._run()
        self._ready: list[bytes] = []
        self._counts = dict.fromkeys(KINDS, 0)
        self._sum = sha256()
        self._damaged_count = 0
        self._ended = False
        self._revision = self._memory_count = self._last_row = 0
        self._info: CollectionInfo | None = None
        # Rows in the file: a link to any other would have no target.
        self._held = bytearray()

    def read(self) -> Future[ExportChunk]:
        """Return the next lines; none at the end. Raises the error of a closed collection."""
        self._turn.check()
        return submit(self._executor, self._read)

    def leave(self) -> None:
        """Stop reading. Idempotent."""
        self._ended = True
        self._ready.clear()
        self._turn.end()

    def _read(self) -> ExportChunk:
        lines, size = [], 0
        while size < limits.EXPORT_CHUNK_BYTES:
            if not self._ready:
                if self._ended:
                    break
                self._step()
                continue
            lines.append(self._ready.pop())
            size += len(lines[-1])
        return ExportChunk(
            self._revision,
            b"".join(lines),
            sum(self._counts.values()),
            self._memory_count,
            self._damaged_count,
        )

    def _step(self) -> None:
        """Make the lines of one step; they are taken from the end."""
        try:
            made = next(self._steps, None)
        except BaseException:
            # A failed generator looks like an exhausted one: it must not yield an end line.
            self._ended = True
            raise
        if made is None:
            made = [writing.end(self._counts, self._sum.hexdigest())]
            self._ended = True
        for line in made:
            self._sum.update(line)
        self._ready = made[::-1]

    def _run(self) -> Iterator[list[bytes]]:
        yield [self._begin()]
        for rows_of in (self._memories, self._links):
            yield from self._by_rows(rows_of)
        yield from self._episodes()
        yield from self._by_rows(self._dismissals)

    def _begin(self) -> bytes:
        def work(rows: Rows) -> tuple[CollectionInfo, int]:
            self._revision = rows.last_revision()
            self._last_row = rows.moment.last_row()
            made = rows.history.operation(self._revision)
            return read_settings(rows), 0 if made is None else made.time_us

        info, time_us = self._in_snapshot(work)
        self._info = info
        self._held = bytearray(self._last_row + 1)
        self._memory_count = self._seen_count()
        return writing.header(
            info,
            agent_id=self._query.agent_id,
            revision=self._revision,
            time_us=time_us,
            statuses=self._statuses,
            vectors=self._query.include_vectors,
            memory_count=self._memory_count,
        )

    def _seen_count(self) -> int:
        """Count the memories that the agent sees now: nearly those of the moment."""
        index = self._state.index
        view = index.view()
        mask = masks.of_status(view, self._statuses)
        mask &= masks.readable(view, index.arrays.agents.find(self._query.agent_id))
        return int(mask.sum())

    def _in_snapshot(self, work: Callable[[Rows], T]) -> T:
        with self._readers.rows() as rows, rows.snapshot():
            if self._info is not None and self._query.include_vectors:
                self._check_model(rows)
            made = work(rows)
            self._damaged_count += rows.moment.damaged_count
            return made

    def _check_model(self, rows: Rows) -> None:
        """Check that the model is unchanged: one file must not hold vectors of two models."""
        assert self._info is not None
        if read_settings(rows).model != self._info.model:
            raise StaleRevision(
                name=f"the model of {self._info.name}",
                expected=self._revision,
                actual=rows.last_revision(),
            )

    def _by_rows(self, made: Callable[[Rows, list[int]], list[Record]]) -> Iterator[list[bytes]]:
        """Yield the lines of some rows, EXPORT_ROWS_READ at a time."""
        after = 0
        while after < self._last_row:

            def work(rows: Rows, after: int = after) -> tuple[int, list[Record]]:
                wanted = rows.moment.rows_after(after, self._last_row, limits.EXPORT_ROWS_READ)
                if not wanted:
                    return self._last_row, []
                return wanted[-1], made(rows, wanted)

            after, records = self._in_snapshot(work)
            yield self._lines(records)

    def _lines(self, records: list[Record]) -> list[bytes]:
        vectors = self._query.include_vectors
        return [writing.record(record, vectors=vectors) for record in records]

    def _with_vectors(self, rows: Rows, memories: dict[int, Memory]) -> dict[int, Memory]:
        """Return memories with the vectors of the collection's model for their text, if any."""
        number = self._state.published.model_number
        others = [row for row, memory in memories.items() if memory.model_number != number]
        if not (others and self._query.include_vectors):
            return memories
        now = rows.memories(others).values()
        held = {memory.row: memory for memory in rows.beside.of_model(number, now)}
        return memories | {
            row: replace(
                memories[row],
                vector=held[row].vector if held[row].content == memories[row].content else b"",
                model_number=number,
            )
            for row in others
        }

    def _memories(self, rows: Rows, wanted: list[int]) -> list[Record]:
        past = self._past(rows)
        memories = self._with_vectors(rows, past.memories(wanted))
        aside = (rows.aside.get(row) for row in wanted)
        own = self._query.agent_id
        self._damaged_count += sum(row is not None and row.may_be_known_to(own) for row in aside)
        access = rows.moment.access(wanted[0], wanted[-1])
        out: list[Record] = []
        for row in wanted:
            memory = memories.get(row)
            if memory is None or memory.status not in self._statuses:
                continue
            self._held[row] = 1
            last_us, count = access.get(row, (None, 0))
            out.append(replace(past.told(memory), last_access_us=last_us, access_count=count))
        self._counts["memory"] += len(out)
        return out

    def _links(self, rows: Rows, wanted: list[int]) -> list[Record]:
        held = [row for row in wanted if self._held[row]]
        links = [
            link for link in rows.moment.links(held, self._revision) if self._is_held(link.target)
        ]
        ids = self._seen_ids(rows, {row for link in links for row in (link.source, link.target)})
        out: list[Record] = [
            LinkLine(
                ids[link.source],
                ids[link.target],
                link.link.type,
                link.link.confidence,
                link.link.note,
            )
            for link in links
            if link.source in ids and link.target in ids
        ]
        self._counts["link"] += len(out)
        return out

    def _dismissals(self, rows: Rows, wanted: list[int]) -> list[Record]:
        held = [row for row in wanted if self._held[row]]
        pairs = [
            dismissal
            for dismissal in rows.moment.dismissals(held, self._revision)
            if self._is_held(dismissal.b)
        ]
        if not pairs:
            return []
        then = self._past(rows).memories(
            [row for dismissal in pairs for row in (dismissal.a, dismissal.b)]
        )
        out: list[Record] = [
            DismissalLine(
                then[dismissal.a].id, then[dismissal.b].id, dismissal.agent_id, dismissal.note
            )
            for dismissal in pairs
            if dismissal.a in then
            and dismissal.b in then
            # A dismissal of other texts does not count.
            and (then[dismissal.a].content_hash, then[dismissal.b].content_hash)
            == (dismissal.hash_a, dismissal.hash_b)
        ]
        self._counts["dismissal"] += len(out)
        return out

    def _past(self, rows: Rows) -> Past:
        return Past(self._state, rows, self._revision, self._query.agent_id)

    def _is_held(self, row: int) -> bool:
        return row < len(self._held) and bool(self._held[row])

    def _seen_ids(self, rows: Rows, wanted: set[int]) -> dict[int, str]:
        """Return ids of those rows that the agent may still see."""
        if not wanted:
            return {}
        sight = Sight(self._state.index, rows, self._query.agent_id)
        return rows.moment.ids([row for row in wanted if sight.sees(row)])

    def _episodes(self) -> Iterator[list[bytes]]:
        ids = self._in_snapshot(lambda rows: rows.moment.episode_ids(self._revision))
        for start in range(0, len(ids), _EPISODES_READ):
            part = ids[start : start + _EPISODES_READ]

            def work(rows: Rows, part: list[str] = part) -> list[Record]:
                found = (self._episode(rows, episode_id) for episode_id in part)
                return [made for made in found if made is not None]

            records = self._in_snapshot(work)
            self._counts["episode"] += len(records)
            yield self._lines(records)

    def _episode(self, rows: Rows, episode_id: str) -> Record | None:
        """Return an episode with those of its ids that are in the file."""
        agent_id = self._query.agent_id
        try:
            then = rows.moment.episode(rows.episode(episode_id), episode_id, self._revision)
        except Corruption:
            self._damaged_count += 1
            return None
        if then is None or not may_see_episode(then, agent_id):
            return None
        if not sees_episode(rows, episode_id, agent_id):
            return None
        row_of = {memory_id: rows.row_of_id(memory_id) for memory_id in then.memory_ids}
        held = {row for row in row_of.values() if row is not None and self._is_held(row)}
        seen = self._seen_ids(rows, held)
        return replace(
            then,
            memory_ids=tuple(
                memory_id for memory_id in then.memory_ids if row_of[memory_id] in seen
            ),
        )
