"""Reads of one open collection, in the readers' pool: each takes a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.base.fair_pool import ReadPool
from totonoe_core.domain.asking import Previewed, Query
from totonoe_core.domain.cleanup import (
    CleanedUp,
    CleanUpDuplicates,
    Decay,
    Decayed,
    EndSession,
    Planned,
    SessionEnded,
)
from totonoe_core.domain.expiry import GONE
from totonoe_core.domain.memories import ForgetMatching, Matching
from totonoe_core.domain.queries import (
    Changes,
    ChangesQuery,
    ClustersQuery,
    EpisodePage,
    EpisodeQuery,
    EpisodeRead,
    EpisodesQuery,
    GetQuery,
    Gotten,
    HistoryPage,
    HistoryQuery,
    ListQuery,
    NamespacePage,
    NamespacesQuery,
    NearCluster,
    NearGroups,
    NearQuery,
    Neighborhood,
    NeighborsQuery,
    OperationPage,
    OperationsQuery,
    Page,
)
from totonoe_core.domain.questions import QuestionPage, QuestionsQuery
from totonoe_core.engine.commands import clean_up_duplicates, decay, end_session, episodes, forget
from totonoe_core.engine.commands.judged_pairs import JudgedPair, judged_pairs
from totonoe_core.engine.queries import audit as auditing
from totonoe_core.engine.queries import history, near, neighbors, past, questions, watch
from totonoe_core.engine.queries import why_not as explaining
from totonoe_core.engine.state import reading
from totonoe_core.engine.state.futures import stoppable, submit
from totonoe_core.engine.state.sight import seen_by
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.rules import validate
from totonoe_core.rules.audit import AuditQuery, AuditReport
from totonoe_core.search.why_not import WhyNot, WhyNotQuery
from totonoe_core.store.seam import ReaderPool, Rows

T = TypeVar("T")
GotOrPage = TypeVar("GotOrPage", Gotten, Page)


class Reads:
    """The reads of a collection that do not need its writer. Safe from any thread.

    `touch(rows)` counts a read of memories that is no Recall.
    """

    def __init__(
        self,
        state: CollectionState,
        readers: ReaderPool,
        searchers: ReadPool,
        clock: Clock,
        stop: threading.Event,
        touch: Callable[[Sequence[int]], None],
    ) -> None:
        self._state = state
        self._readers = readers
        self._searchers = searchers
        self._clock = clock
        self._stop = stop
        self._touch = touch
        # A pool of its own, so that audits, which take seconds, delay each other and no search.
        self._audits = ThreadPoolExecutor(1, "audit")
        self._by_query: dict[type, Callable[[Any], Future[Any]]] = {
            GetQuery: self.get,
            ListQuery: self._list,
            NamespacesQuery: self._namespaces,
            HistoryQuery: self._history,
            OperationsQuery: self._operations,
            EpisodeQuery: self._episode,
            EpisodesQuery: self._episodes,
            ChangesQuery: self._changes,
            NeighborsQuery: self._neighbors,
            NearQuery: self._near,
            ClustersQuery: self._clusters,
            AuditQuery: self._audit,
            QuestionsQuery: self._questions,
        }

    def close(self) -> None:
        """End audits and close the connections."""
        self._audits.shutdown(cancel_futures=True)
        self._readers.close()

    def _with_rows(self, work: Callable[[Rows], T], rows_max: int = 1) -> Future[T]:
        """Run work that reads so many whole memories at most; more are read beside the others."""

        def step() -> T:
            with self._readers.rows() as rows:
                return work(rows)

        return submit(self._searchers.of(rows_max), step)

    def seen_by(self, agent_id: str, ids: Sequence[str], *, purged: bool) -> list[str]:
        """Return ids that an agent may, or might, see; see `sight.seen_by`."""
        with self._readers.rows() as rows:
            return seen_by(rows, agent_id, ids, purged=purged)

    def read(self, query: Query[Any]) -> Future[Any]:
        """Answer a query that needs no vector."""
        return self._by_query[type(query)](query)

    def get(self, query: GetQuery) -> Future[Gotten]:
        """Read memories by id."""
        validate.id_list(query.ids, "ids")
        validate.touching(query.touch, query.as_of is not None)
        if query.as_of is not None:
            return self._with_rows(
                lambda rows: past.get(self._state, rows, query, self._clock()), len(query.ids)
            )
        return self._with_rows(
            lambda rows: self._touched(query, reading.get(self._state, rows, query, self._clock())),
            len(query.ids),
        )

    def _touched(self, query: GetQuery | ListQuery, page: GotOrPage) -> GotOrPage:
        """Count the access of an answer, if the query says so, for memories that are there."""
        if query.touch:
            self._touch([memory.row for memory in page.memories if memory.status not in GONE])
        return page

    def _list(self, query: ListQuery) -> Future[Page]:
        validate.where(query.where)
        reading.check_page(query.page_size)
        validate.touching(query.touch, query.as_of is not None)
        scan = reading.scan if query.as_of is None else past.scan
        return self._with_rows(
            lambda rows: self._touched(query, scan(self._state, rows, query, self._clock())),
            query.page_size,
        )

    def _namespaces(self, query: NamespacesQuery) -> Future[NamespacePage]:
        validate.namespaces(query)
        return submit(
            self._searchers, lambda: reading.namespaces(self._state, query, self._clock())
        )

    def forget_matching(self, command: ForgetMatching) -> Future[Previewed[Matching]]:
        """Shows what a Forget of all that meet a filter would hide."""
        validate.where(command.where)
        return self._with_rows(
            lambda rows: forget.matching(self._state, rows, command, self._clock()),
            limits.IDS_PER_REQUEST_MAX,
        )

    def judged_pairs(self, most: int) -> Future[list[JudgedPair]]:
        """Return pairs that callers answered, the newest of each kind, at most `most` of each."""
        number = self._state.published.model_number
        return self._with_rows(lambda rows: judged_pairs(rows, number, most))

    def planned(self, command: Planned) -> Future[Planned]:
        """Return a clean-up command with its plan."""

        def work(rows: Rows) -> Planned:
            state, now_us = self._state, self._clock()
            match command:
                case EndSession():
                    made = end_session.plan(state, rows, command, now_us, self._stop)
                    return replace(command, plan=made)
                case CleanUpDuplicates():
                    return replace(
                        command, plan=clean_up_duplicates.plan(state, rows, command, now_us)
                    )
                case Decay():
                    return replace(command, plan=decay.plan(state, rows, command, now_us))

        return self._with_rows(work)

    def end_session(self, command: EndSession) -> Future[Previewed[SessionEnded]]:
        """Shows what an EndSession would answer."""
        validate.command(command, self._clock())
        return self._previewed(
            lambda rows: (
                end_session.plan(self._state, rows, command, self._clock(), self._stop).ended
            )
        )

    def clean_up_duplicates(self, command: CleanUpDuplicates) -> Future[Previewed[CleanedUp]]:
        """Shows what a CleanUpDuplicates would answer."""
        validate.command(command, self._clock())
        return self._previewed(
            lambda rows: clean_up_duplicates.preview(self._state, rows, command, self._clock())
        )

    def decay(self, command: Decay) -> Future[Previewed[Decayed]]:
        """Shows what a Decay would answer."""
        validate.command(command, self._clock())
        return self._previewed(
            lambda rows: decay.preview(self._state, rows, command, self._clock())
        )

    def _previewed(self, work: Callable[[Rows], T]) -> Future[Previewed[T]]:
        """An answer with the revision that it is at least of."""
        return self._with_rows(lambda rows: Previewed(self._state.published.revision, work(rows)))

    def why_not(
        self,
        query: WhyNotQuery,
        vector: NDArray[np.float32] | None,
        model_number: int,
        degraded: str,
    ) -> Future[WhyNot]:
        """Return a memory's place in a search; `degraded` is the reason for a missing vector."""
        if query.recall.as_of is not None:
            raise InvalidArgument(
                "OUT_OF_RANGE", field="recall.as_of", got="a moment of the past", allowed="none"
            )

        def work(rows: Rows) -> WhyNot:
            asked = reading.EmbeddedQuery(query.recall, vector, model_number, degraded)
            if vector is not None and model_number == self._state.index.model_number:
                # The first vector may have been stored after the query was checked.
                self._state.check_dimension(len(vector))
            return explaining.explain(self._state, rows, query.memory_id, asked, self._clock())

        return self._with_rows(work)

    def _audit(self, query: AuditQuery) -> Future[AuditReport]:
        """Stops when its future is cancelled."""
        validate.audit(query)

        def work(stop: threading.Event) -> AuditReport:
            with self._readers.rows() as rows:
                return auditing.report(self._state, rows, query, self._clock(), stop)

        return stoppable(self._audits, self._stop, work)

    def _neighbors(self, query: NeighborsQuery) -> Future[Neighborhood]:
        validate.neighbors(query)
        return self._with_rows(
            lambda rows: neighbors.neighbors(self._state, rows, query), query.limit
        )

    def _near(self, query: NearQuery) -> Future[NearGroups]:
        validate.near(query)
        return self._with_rows(
            lambda rows: near.groups(self._state, rows, query, self._clock(), self._stop)
        )

    def _clusters(self, query: ClustersQuery) -> Future[tuple[NearCluster, ...]]:
        validate.id_list(query.memory_ids, "memory_ids")
        return self._with_rows(lambda rows: near.clusters(self._state, rows, query))

    def _history(self, query: HistoryQuery) -> Future[HistoryPage]:
        validate.memory_id(query.memory_id, "memory_id")
        reading.check_page(query.page_size)
        return self._with_rows(
            lambda rows: history.history(self._state, rows, query), query.page_size
        )

    def _operations(self, query: OperationsQuery) -> Future[OperationPage]:
        validate.operations(query.where)
        reading.check_page(query.page_size)
        return self._with_rows(lambda rows: history.operations(self._state, rows, query))

    def _episode(self, query: EpisodeQuery) -> Future[EpisodeRead]:
        validate.episode_id(query.episode_id, "id")
        return self._with_rows(lambda rows: episodes.read(self._state, rows, query))

    def _episodes(self, query: EpisodesQuery) -> Future[EpisodePage]:
        validate.time_range(query.time, "time")
        if query.memory_id:
            validate.memory_id(query.memory_id, "memory_id")
        reading.check_page(query.page_size)
        return self._with_rows(lambda rows: episodes.page(self._state, rows, query))

    def _questions(self, query: QuestionsQuery) -> Future[QuestionPage]:
        if query.memory_id or query.other_id:
            validate.memory_id(query.memory_id, "memory_id")
        if query.other_id:
            validate.memory_id(query.other_id, "other_id")
        validate.number(query.page_size, "page_size", 1, limits.QUESTIONS_PAGE_MAX)
        return self._with_rows(lambda rows: questions.page(self._state, rows, query, self._clock()))

    def _changes(self, query: ChangesQuery) -> Future[Changes]:
        validate.number(query.after_revision, "after_revision", 0, 2**62)
        if query.where is not None:
            validate.where(query.where)
        return self._with_rows(lambda rows: watch.changes(self._state, rows, query))
