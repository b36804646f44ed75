"""Reads of one open collection, in the readers' pool: each takes a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core import validate
from totonoe_core.audit import AuditQuery, AuditReport
from totonoe_core.cleanup import (
    CleanedUp,
    CleanUpDuplicates,
    Decay,
    Decayed,
    EndSession,
    Planned,
    SessionEnded,
)
from totonoe_core.clock import Clock
from totonoe_core.commands import Forgotten
from totonoe_core.engine import (
    auditing,
    changes,
    doubles,
    ending,
    episodes,
    explaining,
    fading,
    forgetting,
    history,
    near,
    neighbors,
    past,
    reading,
)
from totonoe_core.engine.futures import stoppable, submit
from totonoe_core.engine.judged_pairs import JudgedPair, judged_pairs
from totonoe_core.engine.sight import seen_by
from totonoe_core.engine.state import CollectionState
from totonoe_core.errors import InvalidArgument
from totonoe_core.queries import (
    AsOf,
    Changes,
    EpisodePage,
    EpisodeRead,
    Filter,
    Gotten,
    HistoryPage,
    NearCluster,
    NearGroups,
    NearQuery,
    Neighborhood,
    NeighborsQuery,
    OperationFilter,
    OperationPage,
    Page,
    RecallQuery,
)
from totonoe_core.records import TimeRange
from totonoe_core.store.reader import ReaderPool, Rows
from totonoe_core.why_not import WhyNot

T = TypeVar("T")


class Reads:
    """What can be read of a collection without its writer. Safe from any thread."""

    def __init__(
        self,
        state: CollectionState,
        readers: ReaderPool,
        searchers: Executor,
        clock: Clock,
        stop: threading.Event,
    ) -> None:
        self._state = state
        self._readers = readers
        self._searchers = searchers
        self._clock = clock
        self._stop = stop
        # Of its own, so that audits, which take seconds, hold up each other and no search.
        self._audits = ThreadPoolExecutor(1, "audit")

    def close(self) -> None:
        """Ends audits and closes the connections."""
        self._audits.shutdown(cancel_futures=True)
        self._readers.close()

    def _with_rows(self, work: Callable[[Rows], T]) -> Future[T]:
        def step() -> T:
            with self._readers.rows() as rows:
                return work(rows)

        return submit(self._searchers, step)

    def seen_by(self, agent_id: str, ids: Sequence[str], *, purged: bool) -> list[str]:
        """Ids that an agent may, or might, see; see `sight.seen_by`."""
        with self._readers.rows() as rows:
            return seen_by(rows, agent_id, ids, purged=purged)

    def get(
        self, agent_id: str, ids: Sequence[str], as_of: AsOf | None, follow_superseded: bool
    ) -> Future[Gotten]:
        """Reads memories by id."""
        validate.id_list(tuple(ids), "ids")
        if as_of is not None:
            return self._with_rows(
                lambda rows: past.get(self._state, rows, agent_id, ids, as_of, follow_superseded)
            )
        return self._with_rows(
            lambda rows: reading.get(self._state, rows, agent_id, ids, follow_superseded)
        )

    def scan(
        self, agent_id: str, where: Filter, page_size: int, page_token: str, as_of: AsOf | None
    ) -> Future[Page]:
        """One page by (created time, id)."""
        validate.where(where)
        reading.check_page(page_size)
        if as_of is not None:
            return self._with_rows(
                lambda rows: past.scan(
                    self._state, rows, agent_id, where, page_size, page_token, as_of
                )
            )
        return self._with_rows(
            lambda rows: reading.scan(
                self._state, rows, agent_id, where, page_size, page_token, self._clock()
            )
        )

    def forget_filter(self, agent_id: str, where: Filter) -> Future[tuple[int, Forgotten, int]]:
        """What a Forget of all that meet a filter would hide."""
        validate.where(where)
        return self._with_rows(
            lambda rows: forgetting.meeting(self._state, rows, agent_id, where, self._clock())
        )

    def judged_pairs(self) -> Future[list[JudgedPair]]:
        """Pairs of which somebody said what they are, for a Calibrate."""
        return self._with_rows(judged_pairs)

    def planned(self, command: Planned) -> Future[Planned]:
        """A clean-up with its plan."""

        def work(rows: Rows) -> Planned:
            state, now_us = self._state, self._clock()
            match command:
                case EndSession():
                    made = ending.plan(state, rows, command, now_us, self._stop)
                    return replace(command, plan=made)
                case CleanUpDuplicates():
                    return replace(command, plan=doubles.plan(state, rows, command, now_us))
                case Decay():
                    return replace(command, plan=fading.plan(state, rows, command, now_us))

        return self._with_rows(work)

    def preview_end_session(self, command: EndSession) -> Future[tuple[int, SessionEnded]]:
        """What an EndSession would answer."""
        validate.command(command, self._clock())
        return self._told(
            lambda rows: ending.plan(self._state, rows, command, self._clock(), self._stop).ended
        )

    def preview_clean_up(self, command: CleanUpDuplicates) -> Future[tuple[int, CleanedUp]]:
        """What a CleanUpDuplicates would answer."""
        validate.command(command, self._clock())
        return self._told(lambda rows: doubles.preview(self._state, rows, command, self._clock()))

    def preview_decay(self, command: Decay) -> Future[tuple[int, Decayed]]:
        """What a Decay would answer."""
        validate.command(command, self._clock())
        return self._told(lambda rows: fading.preview(self._state, rows, command, self._clock()))

    def _told(self, work: Callable[[Rows], T]) -> Future[tuple[int, T]]:
        """An answer with the revision that it is at least of."""
        return self._with_rows(lambda rows: (self._state.published.revision, work(rows)))

    def why_not(
        self,
        memory_id: str,
        query: RecallQuery,
        vector: NDArray[np.float32] | None,
        model_number: int,
        degraded: str,
    ) -> Future[WhyNot]:
        """How a memory stands in a search; `degraded` is why there is no vector."""
        if query.as_of is not None:
            raise InvalidArgument(
                "OUT_OF_RANGE", field="recall.as_of", got="a moment of the past", allowed="none"
            )

        def work(rows: Rows) -> WhyNot:
            asked = reading.Asked(query, vector, model_number, degraded)
            if vector is not None and model_number == self._state.index.model_number:
                # The first vector may have been stored since the query was checked.
                self._state.check_dimension(len(vector))
            return explaining.explain(self._state, rows, memory_id, asked, self._clock())

        return self._with_rows(work)

    def audit(self, query: AuditQuery) -> Future[AuditReport]:
        """How healthy the collection is; stops when its future is cancelled."""
        validate.audit(query)

        def work(stop: threading.Event) -> AuditReport:
            with self._readers.rows() as rows:
                return auditing.report(self._state, rows, query, self._clock(), stop)

        return stoppable(self._audits, self._stop, work)

    def neighbors(self, query: NeighborsQuery) -> Future[Neighborhood]:
        """Follows links."""
        validate.neighbors(query)
        return self._with_rows(lambda rows: neighbors.neighbors(self._state, rows, query))

    def tidy_groups(self, query: NearQuery) -> Future[NearGroups]:
        """Groups of near states, for clusters."""
        validate.near(query)
        return submit(
            self._searchers,
            lambda: near.groups(self._state, query, self._clock(), self._stop),
        )

    def tidy_clusters(self, agent_id: str, group: Sequence[int]) -> Future[list[NearCluster]]:
        """What one group comes to."""
        return self._with_rows(lambda rows: near.clusters(self._state, rows, agent_id, group))

    def history(
        self, agent_id: str, memory_id: str, page_size: int, page_token: str
    ) -> Future[HistoryPage]:
        """One page of the versions of a memory."""
        validate.memory_id(memory_id, "memory_id")
        reading.check_page(page_size)
        return self._with_rows(
            lambda rows: history.history(
                self._state, rows, agent_id, memory_id, page_size, page_token
            )
        )

    def operations(
        self, agent_id: str, where: OperationFilter, page_size: int, page_token: str
    ) -> Future[OperationPage]:
        """One page of operations."""
        validate.operations(where)
        reading.check_page(page_size)
        return self._with_rows(
            lambda rows: history.operations(
                self._state, rows, agent_id, where, page_size, page_token
            )
        )

    def episode(
        self, agent_id: str, episode_id: str, include_memories: bool
    ) -> Future[EpisodeRead]:
        """One episode."""
        validate.episode_id(episode_id, "id")
        return self._with_rows(
            lambda rows: episodes.read(self._state, rows, agent_id, episode_id, include_memories)
        )

    def episodes(
        self, agent_id: str, time: TimeRange, memory_id: str, page_size: int, page_token: str
    ) -> Future[EpisodePage]:
        """One page of episodes."""
        validate.time_range(time, "time")
        if memory_id:
            validate.memory_id(memory_id, "memory_id")
        reading.check_page(page_size)
        return self._with_rows(
            lambda rows: episodes.page(
                self._state, rows, agent_id, time, memory_id, page_size, page_token
            )
        )

    def changes(self, agent_id: str, after_revision: int, where: Filter | None) -> Future[Changes]:
        """Operations after a revision."""
        validate.number(after_revision, "after_revision", 0, 2**62)
        if where is not None:
            validate.where(where)
        return self._with_rows(
            lambda rows: changes.changes(self._state, rows, agent_id, after_revision, where)
        )
