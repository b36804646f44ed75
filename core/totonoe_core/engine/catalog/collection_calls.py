"""Calls of the embedded engine to one collection, which is opened on first use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.asking import Previewable, Previewed, Query
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.consolidate import ConsolidateQuery
from totonoe_core.domain.queries import (
    TurnRecorded,
)
from totonoe_core.domain.reembed import Reembed
from totonoe_core.domain.transfer import ExportQuery, ImportQuery
from totonoe_core.engine.catalog.collections import Collections
from totonoe_core.engine.collection.collection import Collection
from totonoe_core.engine.seam.streams import Consolidation, Export, Import, Reembedding
from totonoe_core.engine.state.futures import fail, ready, settle, then

T = TypeVar("T")


class CollectionCalls:
    """Part of `EmbeddedEngine`: the calls of `Engine` to one collection."""

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
        opening = self._collections.use(collection, len(requests))
        if (found := opening.ready()) is not None:
            futures = found.apply(requests)
        else:
            futures = self._apply_when_open(opening.future, requests)
        for future in futures:
            future.add_done_callback(lambda _: self._collections.give_back(opening))
        return futures

    def _apply_when_open(
        self, opening: Future[Collection], requests: Sequence[tuple[str, Sequence[Command]]]
    ) -> list[Future[Applied]]:
        futures: list[Future[Applied]] = [Future() for _ in requests]
        context = copy_context()

        def go_on(done: Future[Collection]) -> None:
            # From here on they are running, and can no longer be cancelled.
            going = [
                (future, request)
                for future, request in zip(futures, requests, strict=True)
                if future.set_running_or_notify_cancel()
            ]
            try:
                opened = done.result()
                inner = context.run(opened.apply, [request for _, request in going])
            except BaseException as error:
                for future, _ in going:
                    fail(future, error)
                return
            for (future, _), source in zip(going, inner, strict=True):
                source.add_done_callback(functools.partial(_pass_on, future))

        opening.add_done_callback(go_on)
        return futures

    def preview(self, collection: str, command: Previewable[T]) -> Future[Previewed[T]]:
        """See `Engine.preview`."""
        return self._with(collection, lambda found: found.preview(command))

    def read(self, collection: str, query: Query[T]) -> Future[T]:
        """See `Engine.read`."""
        return self._with(collection, lambda found: found.read(query))

    def record_turn(
        self, collection: str, operation_id: str, agent_id: str
    ) -> Future[TurnRecorded]:
        """See `Engine.record_turn`."""
        return self._with(collection, lambda found: found.turns.record(operation_id, agent_id))

    def await_change(self, collection: str, after_revision: int) -> Future[int]:
        """See `Engine.await_change`."""
        return self._with(collection, lambda found: found.waiters.wait(after_revision))

    def await_revision(self, collection: str, revision: int) -> Future[int]:
        """See `Engine.await_revision`."""
        return self._with(collection, lambda found: found.await_revision(revision))

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
        return self._with(name, lambda collection: ready(collection.info))

    def _with(self, name: str, step: Callable[[Collection], Future[T]]) -> Future[T]:
        return self._collections.call(name, step)


def _pass_on(outer: Future[T], inner: Future[T]) -> None:
    settle(outer, inner.result)
