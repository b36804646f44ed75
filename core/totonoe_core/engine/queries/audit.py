"""Audit on a collection: reads the inputs of the measures, and builds the report.

It has a thread of its own, a view and a reader's connection; between two steps it checks whether
its caller still waits.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits, plain
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.memories import Remembered
from totonoe_core.domain.records import LinkType, Memory, Method, Status
from totonoe_core.engine.state import open_questions
from totonoe_core.engine.state.futures import shutting_down
from totonoe_core.engine.state.operations import operation_infos
from totonoe_core.engine.state.sight import may_see
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import masks
from totonoe_core.index.arrays import NO_TIME, View
from totonoe_core.rules import audit
from totonoe_core.rules.audit import (
    DAY_US,
    ECHO_WINDOW_S,
    AgentWrites,
    AuditQuery,
    AuditReport,
    NearPair,
)
from totonoe_core.store.seam import Rows
from totonoe_core.text.normalize import snippet

_READ_AT_ONCE = 500
_THERE = tuple(status for status in Status if status is not Status.PURGED)


def report(
    state: CollectionState, rows: Rows, query: AuditQuery, now_us: int, stop: threading.Event
) -> AuditReport:
    """Compute all figures of an Audit. Raises `Unavailable` once `stop` is set."""
    return _Audit(state, rows, query, now_us, stop).report()


class _Audit:
    """One Audit: a view, the caller, and the time."""

    def __init__(
        self,
        state: CollectionState,
        rows: Rows,
        query: AuditQuery,
        now_us: int,
        stop: threading.Event,
    ) -> None:
        self._state = state
        self._rows = rows
        self._query = query
        self._now_us = now_us
        self._stop = stop
        self._since_us = now_us - query.days * DAY_US
        self._info = state.published
        self._index = state.index
        self._view: View = self._index.view()
        readable = masks.readable(self._view, self._index.arrays.agents.find(query.agent_id))
        self._live = masks.of_status(self._view, (Status.ACTIVE,)) & readable
        self._there = masks.of_status(self._view, _THERE) & readable

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise shutting_down()

    def report(self) -> AuditReport:
        """Compute the report step by step."""
        view, query, live = self._view, self._query, self._live
        near = audit.near_duplicates(
            view,
            np.flatnonzero(live & ~masks.files(self._index, view)).astype(np.int64),
            audit.NEAR_DISTANCE_BELOW,
            self._dismissed(),
            self._stop,
        )
        self._go_on()
        contradictions = self._contradictions()
        self._go_on()
        chain_count, longest, end = self._chains()
        self._go_on()
        agents, operations_from_us = self._agents()
        repeat_count, echo_refused_count, repeats_from_us = self._refusals()
        self._go_on()
        recall_at_k, recall_sampled_count = self._index.graph.sampled_recall(
            limits.AUDIT_RECALLS, self._stop
        )
        self._go_on()
        faded = masks.confidences(view, self._info.decay, self._now_us) < query.confidence_below
        near_rows = [
            tuple(view.take("row", np.array(pair[:2], np.int64)).tolist()) for pair in near.pairs
        ]
        shown = contradictions[: limits.AUDIT_SHOWN_MAX]
        memories = self._memories([*near_rows, *shown, (end,)])
        ids = {row: memory.id for row, memory in memories.items()}
        return AuditReport(
            revision=self._info.revision,
            active_count=int(np.count_nonzero(live)),
            examined_count=len(near.examined),
            near_count=near.near_count,
            near_pairs=tuple(
                NearPair(ids[a], ids[b], distance)
                for (a, b), (_, _, distance) in zip(near_rows, near.pairs, strict=True)
                if a in ids and b in ids
            ),
            never_recalled_count=int(np.count_nonzero(live & (view.column("access_count") == 0))),
            contradiction_count=len(contradictions),
            contradictions=tuple((ids[a], ids[b]) for a, b in shown if a in ids and b in ids),
            open_question_count=open_questions.count(self._rows, query.agent_id),
            confidence_below=query.confidence_below,
            faded_count=int(np.count_nonzero(live & faded)),
            chain_count=chain_count,
            longest_chain=longest,
            longest_chain_id=ids.get(end, ""),
            days=query.days,
            operations_from_us=operations_from_us,
            agents=agents,
            repeat_count=repeat_count,
            repeats_from_us=repeats_from_us,
            echo_refused_count=echo_refused_count,
            echo_saved_count=self._echoes(),
            recall_at_k=recall_at_k,
            recall_sampled_count=recall_sampled_count,
            texts={
                memory.id: snippet(memory.content, limits.SNIPPET_CHARS)
                for memory in memories.values()
            },
        )

    def _memories(self, groups: Iterable[Sequence[int]]) -> dict[int, Memory]:
        """Return memories by row that the caller may still see."""
        wanted = list(dict.fromkeys(row for group in groups for row in group))
        agent_id = self._query.agent_id
        return {
            row: memory
            for row, memory in self._rows.memories(wanted).items()
            if may_see(memory, agent_id)
        }

    def _rows_of(self, mask: masks.Mask) -> NDArray[np.int64]:
        return self._view.take("row", np.flatnonzero(mask).astype(np.int64))

    def _dismissed(self) -> NDArray[np.int64]:
        """Return dismissed pairs of live memories, as slots: int64[d, 2]."""
        pairs = self._rows.figures.dismissed(limits.AUDIT_DISMISSALS_MAX)
        found = np.array(pairs, np.int64).reshape(-1, 2)
        slots = np.flatnonzero(self._live).astype(np.int64)
        held = self._view.take("row", slots)
        order = np.argsort(held)
        if not len(held) or not len(found):
            return np.zeros((0, 2), np.int64)
        place = np.minimum(np.searchsorted(held, found, sorter=order), len(held) - 1)
        there = (held[order[place]] == found).all(axis=1)
        found_slots: NDArray[np.int64] = slots[order[place[there]]]
        return found_slots

    def _contradictions(self) -> list[tuple[int, int]]:
        """Return open contradictions, as rows."""
        pairs = np.array(list(self._rows.figures.links_of(LinkType.CONTRADICTS)), np.int64).reshape(
            -1, 2
        )
        open_ = np.isin(pairs, self._rows_of(self._live)).all(axis=1)
        return [(a, b) for a, b in pairs[open_].tolist()]

    def _chains(self) -> tuple[int, int, int]:
        pairs = np.array(self._rows.figures.superseded(), np.int64).reshape(-1, 2)
        seen = np.isin(pairs, self._rows_of(self._there)).all(axis=1)
        return audit.chains(pairs[seen, 0], pairs[seen, 1])

    def _agents(self) -> tuple[tuple[AgentWrites, ...], int]:
        """Return operations by agent and kind, and the time from which they were counted."""
        history = self._rows.history
        first, before = history.revision_at(self._since_us - 1) + 1, history.newest() + 1
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        read_count, from_us = 0, self._since_us
        while before > first:
            self._go_on()
            if read_count >= limits.AUDIT_OPERATIONS_MAX:
                break
            some = history.operations_before(before, min(_READ_AT_ONCE, before - first))
            if not some:
                break
            infos = operation_infos(self._rows, some, self._query.agent_id)
            for info in infos:
                if info is not None:
                    counts[info.agent_id][info.kind] += 1
            read_count += len(some)
            before = some[-1].revision
            if read_count >= limits.AUDIT_OPERATIONS_MAX and before > first:
                from_us = some[-1].time_us
        agents = [
            AgentWrites(agent, tuple(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))))
            for agent, kinds in counts.items()
        ]
        agents.sort(key=lambda agent: (-agent.operation_count, agent.agent_id))
        return tuple(agents), from_us

    def _refusals(self) -> tuple[int, int, int]:
        """Count refused Remembers, those of them that a Recall had just returned; since when."""
        repeat_count = echo_count = 0
        found = self._rows.figures.refusals(self._since_us, limits.AUDIT_REPLIES_MAX)
        for number, (answer, time_us) in enumerate(found):
            if number % _READ_AT_ONCE == 0:
                self._go_on()
            for result in plain.loads(Applied, answer).results:
                if not isinstance(result, Remembered) or result.saved:
                    continue
                duplicate = result.guard.duplicate
                if duplicate is None:
                    continue
                slot = self._index.slot_by_id.get(duplicate.memory_id)
                if slot is None or slot >= self._view.count or not self._there[slot]:
                    continue
                repeat_count += 1
                if duplicate.method is not Method.EXACT:
                    continue
                last_us = int(self._view.value("last_access", slot))
                # Not below the smallest time: `NO_TIME` is the smallest number.
                if last_us != NO_TIME and 0 <= time_us - last_us <= ECHO_WINDOW_S * 1_000_000:
                    echo_count += 1
        oldest_us = self._rows.figures.oldest_reply_us(self._since_us, limits.AUDIT_REPLIES_MAX)
        return repeat_count, echo_count, self._since_us if oldest_us is None else oldest_us

    def _echoes(self) -> int:
        slots = np.flatnonzero(self._there).astype(np.int64)
        text_hash, created, last_access = (
            self._view.take(name, slots) for name in ("text_hash", "created", "last_access")
        )
        window_us = ECHO_WINDOW_S * 1_000_000
        return audit.echoes(text_hash, created, last_access, self._since_us, window_us)
