"""Tidy on a collection: closes exact doubles, counts turns. On its writer thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import plain
from totonoe_core.domain import blast, tidy
from totonoe_core.domain.blast import Blast
from totonoe_core.domain.records import FILE_CATEGORY, TRUST, Kind, StateKind
from totonoe_core.domain.tidy import ClosedDoubles, Doubles, Tidied, Tidy, TidyState
from totonoe_core.engine.commands import planning
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.index.arrays import KINDS, NEVER, NO_TIME, STATE_KINDS
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.masks import Mask
from totonoe_core.index.selection import Columns, Condition, Selection, equal, readable
from totonoe_core.store.seam import CollectionFile, Rows

_SETTING = "tidy"
_KIND_OF = {code: kind for kind, code in STATE_KINDS.items()}


# -- State between runs


def state_of(rows: Rows) -> TidyState:
    """Return the collection's kept state of tidying."""
    text = rows.setting(_SETTING)
    return TidyState() if text is None else plain.loads(TidyState, text)


def keep_state(file: CollectionFile, state: TidyState) -> None:
    """Write the state, within a transaction. It is bookkeeping: no operation, no before image."""
    file.put_setting(_SETTING, plain.dumps(state), revision=0, before=None)


# -- Choice of states


def tidied_now(index: CollectionIndex, now_us: int) -> Condition:
    """Select states that are valid now.

    Long moods, which grow, are never tidied; nor are whole files, nor what expires by itself.
    """
    state, long_mood = KINDS[Kind.STATE], STATE_KINDS[StateKind.LONG_MOOD]
    file = index.arrays.categories.find(FILE_CATEGORY)

    def condition(columns: Columns) -> Mask:
        begin, end = columns("valid_from"), columns("valid_to")
        mask: Mask = (columns("kind") == state) & (columns("state_kind") != long_mood)
        mask &= columns("category") != file
        mask &= (begin == NO_TIME) | (begin < now_us)
        mask &= (end == NO_TIME) | (end > now_us)
        mask &= columns("expires") == NEVER
        return mask

    return condition


def window(rows: NDArray[np.int64], after: int, read_max: int) -> tuple[NDArray[np.bool_], int]:
    """Return a mask of the first rows after one, and where to go on: 0 means from the beginning."""
    behind = np.sort(rows[rows > after])
    if len(behind) <= read_max:
        return rows > after, 0
    last = int(behind[read_max - 1])
    return (rows > after) & (rows <= last), last


def counted(codes: Iterable[int]) -> tuple[tuple[StateKind, int], ...]:
    """Count codes by state kind."""
    counts = Counter(_KIND_OF[code] for code in codes)
    return tuple((kind, counts[kind]) for kind in StateKind if counts[kind])


@dataclass(frozen=True, slots=True)
class _Findings:
    """Findings of a run: groups to close, figures, and where the next run begins."""

    doubles: list[Doubles]
    read_counts: tuple[tuple[StateKind, int], ...]
    more: bool
    cursor: int
    blast: Blast


class Tidying:
    """Carries out Tidy on one collection."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def preview(self, command: Tidy, now_us: int) -> Tidied:
        """Return the doubles that a Tidy would close, even if the limit of the day is reached."""
        return self._answer(self._found(command, now_us))

    def tidy(self, operation: Operation, command: Tidy) -> Tidied:
        """Close exact doubles, the oldest first, as many as the blast radius allows.

        Raises `Quota` (BLAST_RADIUS) if it allows nothing more today. A run of the daemon's own
        returns `over` instead, so that its turn is done.
        """
        found = self._found(command, operation.now_us)
        if not command.turn:
            blast.refuse_over(found.blast, self._ledger.state.info.name)
        clusters = []
        if not found.blast.over:
            clusters = [
                self._close(operation, doubles, f"{operation.revision}-{number}")
                for number, doubles in enumerate(found.doubles, 1)
            ]
        answer = self._answer(found)
        file = self._ledger.file
        state = state_of(file.rows)
        keep_state(
            file,
            replace(
                state,
                due=0 if command.turn else state.due,
                # Doubles that were not closed are read again.
                cursor=state.cursor if found.blast.over or found.more else found.cursor,
                runs=state.runs + bool(clusters),
                closed=state.closed + sum(len(doubles.closed_ids) for doubles in clusters),
                last_us=operation.now_us,
                over=found.blast.over,
            ),
        )
        return replace(answer, clusters=tuple(clusters))

    def _close(self, operation: Operation, doubles: Doubles, cluster_id: str) -> ClosedDoubles:
        ledger = self._ledger
        # The kept one is touched too: an Undo then restores the doubles in spite of it.
        fields = doubles.kept.fields
        fields = replace(fields, payload=tidy.noted(fields.payload, cluster=cluster_id))
        ledger.replace(operation, doubles.kept, replace(doubles.kept, fields=fields))
        for memory in doubles.closed:
            payload = tidy.noted(memory.fields.payload, cluster=cluster_id)
            # All of them are valid now.
            ended = replace(memory.fields, payload=payload, valid_to_us=operation.now_us)
            ledger.close(operation, memory, ended)
        return _closed(doubles, cluster_id)

    def _found(self, command: Tidy, now_us: int) -> _Findings:
        """Find the doubles to close.

        Columns nominate and rows decide. States before the window are considered only as doubles of
        those in it.
        """
        index, policy = self._ledger.index, self._ledger.state.info.tidy
        arrays, view = index.arrays, index.arrays.writer_view()
        seen = (
            equal("private", 0) if command.turn else readable(arrays.agents.find(command.agent_id))
        )
        wanted = Selection(view, seen, tidied_now(index, now_us), pending=arrays.pending_status)
        slots = np.flatnonzero(wanted.all())
        rows, kinds = view.take("row", slots), view.take("state_kind", slots)
        before = state_of(self._ledger.rows)
        within, cursor = window(rows, before.cursor, policy.read_max)
        said = np.stack(
            [
                view.take("text_hash", slots),
                view.take("payload_hash", slots),
                (kinds.astype(np.uint64) * 2 + view.take("private", slots)) * len(TRUST)
                + view.take("source", slots),
            ],
            axis=1,
        )
        found, unread = self._doubles(rows, said, within, policy.read_max)
        count = sum(len(doubles.closed) for doubles in found)
        closing = min(count, policy.closes_max, command.limit or policy.closes_max)
        may = planning.blast_of(self._ledger.state, self._ledger.rows, closing, now_us).fitted()
        # Doubles that are all protected are not left for a later run.
        more = bool(found) and (unread or count > may.closing)
        kept = tidy.cut(found, may.closing)
        return _Findings(kept, counted(kinds[within].tolist()), more, cursor, may)

    def _doubles(
        self,
        rows: NDArray[np.int64],
        said: NDArray[np.uint64],
        within: NDArray[np.bool_],
        read_max: int,
    ) -> tuple[list[Doubles], bool]:
        """Return exact doubles among rows with equal hashes, and whether some were not read."""
        slots = _shared(said[:, 0])
        if len(slots):
            # Only then in full: nearly every text is unique, and rows are costly to sort.
            _, group, sizes = np.unique(
                said[slots], axis=0, return_inverse=True, return_counts=True
            )
            group = group.reshape(-1)
            touched = np.zeros(len(sizes), np.bool_)
            touched[group[within[slots]]] = True
            chosen = (sizes[group] > 1) & touched[group]
            # Whole groups, by their oldest member.
            first = np.full(len(sizes), np.iinfo(np.int64).max)
            np.minimum.at(first, group[chosen], rows[slots[chosen]])
            order = np.lexsort((rows[slots[chosen]], first[group[chosen]]))
            slots = slots[chosen][order]
        read = rows[slots[:read_max]].tolist()
        doubles = tidy.doubles(self._ledger.rows.memories(read).values())
        return doubles, len(slots) > read_max

    def _answer(self, found: _Findings) -> Tidied:
        closing = [memory.fields.state_kind for each in found.doubles for memory in each.closed]
        return Tidied(
            clusters=tuple(_closed(doubles, "") for doubles in found.doubles),
            read_counts=found.read_counts,
            closed_counts=counted(STATE_KINDS[kind] for kind in closing),
            complete=not found.cursor,
            more=found.more,
            over=found.blast.over,
            allowed=found.blast.allowed,
            today=found.blast.today,
        )


def _shared(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the positions of hashes that occur more than once."""
    _, group, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
    return np.flatnonzero(sizes[group] > 1)


def _closed(doubles: Doubles, cluster_id: str) -> ClosedDoubles:
    closed, protected = (
        tuple(memory.id for memory in some) for some in (doubles.closed, doubles.protected)
    )
    return ClosedDoubles(doubles.kept.id, closed, protected, cluster_id)
