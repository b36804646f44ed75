"""The calls of the embedded engine that go to one collection, which is opened on first use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from totonoe_core import limits
from totonoe_core.audit import AuditQuery, AuditReport
from totonoe_core.cleanup import (
    CleanedUp,
    CleanUpDuplicates,
    Decay,
    Decayed,
    EndSession,
    SessionEnded,
)
from totonoe_core.commands import (
    Applied,
    Calibrate,
    Calibrated,
    CollectionInfo,
    Command,
    Forget,
    Forgotten,
    Purge,
    Purged,
    Remember,
    Undo,
    Undone,
)
from totonoe_core.consolidate import ConsolidateQuery
from totonoe_core.engine.collection import Collection
from totonoe_core.engine.collections import Collections
from totonoe_core.engine.futures import fail, ready, settle, then
from totonoe_core.engine.streams import Consolidation, Export, Import, Reembedding
from totonoe_core.errors import (
    InvalidArgument,
)
from totonoe_core.queries import (
    AsOf,
    Changes,
    Checked,
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
    Recalled,
    RecallQuery,
    TurnRecorded,
)
from totonoe_core.records import TimeRange
from totonoe_core.reembed import Reembed
from totonoe_core.tidy import Tidied, Tidy
from totonoe_core.transfer import ExportQuery, ImportQuery
from totonoe_core.why_not import WhyNot

T = TypeVar("T")


class CollectionCalls:
    """What `Engine` has for one collection; `EmbeddedEngine` is this and the rest."""

    _collections: Collections

    def apply(
        self, collection: str, operation_id: str, commands: Sequence[Command]
    ) -> Future[Applied]:
        """See `Engine.apply`."""
        return self.apply_all(collection, [(operation_id, commands)])[0]

    def apply_all(
        self, collection: str, requests: Sequence[tuple[str, Sequence[Command]]]
    ) -> list[Future[Applied]]:
        """See `Engine.apply_all`."""
        for _, commands in requests:
            if not 1 <= len(commands) <= limits.COMMANDS_PER_OPERATION_MAX:
                raise InvalidArgument(
                    "LIMIT_EXCEEDED",
                    field="commands",
                    got=len(commands),
                    allowed=f"1 to {limits.COMMANDS_PER_OPERATION_MAX}",
                )
        one = self._collections.use(collection, len(requests))
        if (found := one.ready()) is not None:
            futures = found.apply(requests)
        else:
            futures = self._apply_when_open(one.future, requests)
        for future in futures:
            future.add_done_callback(lambda _: self._collections.give_back(one))
        return futures

    def _apply_when_open(
        self, opened: Future[Collection], requests: Sequence[tuple[str, Sequence[Command]]]
    ) -> list[Future[Applied]]:
        futures: list[Future[Applied]] = [Future() for _ in requests]

        def go_on(done: Future[Collection]) -> None:
            # From here on they are under way, and can no longer be cancelled.
            going = [
                (future, request)
                for future, request in zip(futures, requests, strict=True)
                if future.set_running_or_notify_cancel()
            ]
            try:
                inner = done.result().apply([request for _, request in going])
            except BaseException as error:
                for future, _ in going:
                    fail(future, error)
                return
            for (future, _), one in zip(going, inner, strict=True):
                one.add_done_callback(functools.partial(_pass_on, future))

        opened.add_done_callback(go_on)
        return futures

    def check(self, collection: str, command: Remember) -> Future[Checked]:
        """See `Engine.check`."""
        return self._with(collection, lambda found: found.check(command))

    def preview_forget(self, collection: str, command: Forget) -> Future[tuple[int, Forgotten]]:
        """See `Engine.preview_forget`."""
        return self._with(collection, lambda found: found.previewing.forget(command))

    def preview_forget_filter(
        self, collection: str, agent_id: str, where: Filter
    ) -> Future[tuple[int, Forgotten, int]]:
        """See `Engine.preview_forget_filter`."""
        return self._with(collection, lambda found: found.reads.forget_filter(agent_id, where))

    def preview_undo(self, collection: str, command: Undo) -> Future[tuple[int, Undone]]:
        """See `Engine.preview_undo`."""
        return self._with(collection, lambda found: found.previewing.undo(command))

    def preview_purge(self, collection: str, command: Purge) -> Future[tuple[int, Purged]]:
        """See `Engine.preview_purge`."""
        return self._with(collection, lambda found: found.previewing.purge(command))

    def preview_tidy(self, collection: str, command: Tidy) -> Future[tuple[int, Tidied]]:
        """See `Engine.preview_tidy`."""
        return self._with(collection, lambda found: found.previewing.tidy(command))

    def tidy_groups(self, collection: str, query: NearQuery) -> Future[NearGroups]:
        """See `Engine.tidy_groups`."""
        return self._with(collection, lambda found: found.reads.tidy_groups(query))

    def tidy_clusters(
        self, collection: str, agent_id: str, group: Sequence[int]
    ) -> Future[list[NearCluster]]:
        """See `Engine.tidy_clusters`."""
        return self._with(collection, lambda found: found.reads.tidy_clusters(agent_id, group))

    def record_turn(
        self, collection: str, operation_id: str, agent_id: str
    ) -> Future[TurnRecorded]:
        """See `Engine.record_turn`."""
        return self._with(collection, lambda found: found.turns.record(operation_id, agent_id))

    def preview_calibration(
        self, collection: str, command: Calibrate
    ) -> Future[tuple[int, Calibrated]]:
        """See `Engine.preview_calibration`."""
        return self._with(collection, lambda found: found.previewing.calibration(command))

    def preview_end_session(
        self, collection: str, command: EndSession
    ) -> Future[tuple[int, SessionEnded]]:
        """See `Engine.preview_end_session`."""
        return self._with(collection, lambda found: found.reads.preview_end_session(command))

    def preview_clean_up(
        self, collection: str, command: CleanUpDuplicates
    ) -> Future[tuple[int, CleanedUp]]:
        """See `Engine.preview_clean_up`."""
        return self._with(collection, lambda found: found.reads.preview_clean_up(command))

    def preview_decay(self, collection: str, command: Decay) -> Future[tuple[int, Decayed]]:
        """See `Engine.preview_decay`."""
        return self._with(collection, lambda found: found.reads.preview_decay(command))

    def search(self, collection: str, query: RecallQuery) -> Future[Recalled]:
        """See `Engine.search`."""
        return self._with(collection, lambda found: found.search(query))

    def why_not(self, collection: str, memory_id: str, query: RecallQuery) -> Future[WhyNot]:
        """See `Engine.why_not`."""
        return self._with(collection, lambda found: found.why_not(memory_id, query))

    def get(
        self,
        collection: str,
        agent_id: str,
        ids: Sequence[str],
        *,
        as_of: AsOf | None = None,
        follow_superseded: bool = False,
    ) -> Future[Gotten]:
        """See `Engine.get`."""
        return self._with(
            collection, lambda found: found.reads.get(agent_id, ids, as_of, follow_superseded)
        )

    def scan(
        self,
        collection: str,
        agent_id: str,
        where: Filter,
        page_size: int,
        page_token: str,
        *,
        as_of: AsOf | None = None,
    ) -> Future[Page]:
        """See `Engine.scan`."""
        return self._with(
            collection,
            lambda found: found.reads.scan(agent_id, where, page_size, page_token, as_of),
        )

    def neighbors(self, collection: str, query: NeighborsQuery) -> Future[Neighborhood]:
        """See `Engine.neighbors`."""
        return self._with(collection, lambda found: found.reads.neighbors(query))

    def history(
        self, collection: str, agent_id: str, memory_id: str, page_size: int, page_token: str
    ) -> Future[HistoryPage]:
        """See `Engine.history`."""
        return self._with(
            collection,
            lambda found: found.reads.history(agent_id, memory_id, page_size, page_token),
        )

    def operations(
        self,
        collection: str,
        agent_id: str,
        where: OperationFilter,
        page_size: int,
        page_token: str,
    ) -> Future[OperationPage]:
        """See `Engine.operations`."""
        return self._with(
            collection, lambda found: found.reads.operations(agent_id, where, page_size, page_token)
        )

    def episode(
        self, collection: str, agent_id: str, episode_id: str, include_memories: bool
    ) -> Future[EpisodeRead]:
        """See `Engine.episode`."""
        return self._with(
            collection, lambda found: found.reads.episode(agent_id, episode_id, include_memories)
        )

    def episodes(
        self,
        collection: str,
        agent_id: str,
        time: TimeRange,
        memory_id: str,
        page_size: int,
        page_token: str,
    ) -> Future[EpisodePage]:
        """See `Engine.episodes`."""
        return self._with(
            collection,
            lambda found: found.reads.episodes(agent_id, time, memory_id, page_size, page_token),
        )

    def changes(
        self, collection: str, agent_id: str, after_revision: int, where: Filter | None
    ) -> Future[Changes]:
        """See `Engine.changes`."""
        return self._with(
            collection, lambda found: found.reads.changes(agent_id, after_revision, where)
        )

    def await_change(self, collection: str, after_revision: int) -> Future[int]:
        """See `Engine.await_change`."""
        return self._with(collection, lambda found: found.waiters.wait(after_revision))

    def audit(self, collection: str, query: AuditQuery) -> Future[AuditReport]:
        """See `Engine.audit`."""
        return self._with(collection, lambda found: found.reads.audit(query))

    def export(self, collection: str, query: ExportQuery) -> Future[Export]:
        """See `Engine.export`."""
        return self._with(collection, lambda found: ready(found.transfers.export(query)))

    def begin_import(
        self, collection: str, operation_id: str, query: ImportQuery
    ) -> Future[Import]:
        """See `Engine.begin_import`."""
        return self._with(
            collection, lambda found: ready(found.transfers.begin_import(operation_id, query))
        )

    def consolidate(
        self, collection: str, operation_id: str, query: ConsolidateQuery
    ) -> Future[Consolidation]:
        """See `Engine.consolidate`."""
        return self._with(collection, lambda found: found.consolidating.start(operation_id, query))

    def reembed(self, collection: str, operation_id: str, command: Reembed) -> Future[Reembedding]:
        """See `Engine.reembed`."""

        def start(found: Collection) -> Future[Reembedding]:
            return then(found.reembedding.start(operation_id, command), ready)

        return self._with(collection, start)

    def cancel_reembed(self, collection: str) -> Future[int]:
        """See `Engine.cancel_reembed`."""
        return self._with(collection, lambda found: found.reembedding.cancel())

    def get_collection(self, name: str) -> Future[CollectionInfo]:
        """See `Engine.get_collection`."""
        return self._with(name, lambda found: ready(found.info))

    def _with(self, name: str, step: Callable[[Collection], Future[T]]) -> Future[T]:
        return self._collections.call(name, step)


def _pass_on(outer: Future[T], inner: Future[T]) -> None:
    settle(outer, inner.result)
