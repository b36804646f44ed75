"""Requests about what was done: undo, history, operations."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe import convert, convert_history, history_models, models, scalars
from totonoe.prepared import MEMORY_SERVICE as _MEMORY
from totonoe.prepared import Caller, Prepared, new_operation_id
from totonoe.v1 import operations_pb2 as operations_pb


class HistoryRequests(Caller):
    """What is asked about the past of a collection."""

    def undo(
        self,
        target: int | str,
        reason: str,
        force: bool,
        partial: bool,
        dry_run: bool,
        operation_id: str,
        collection: str | None,
    ) -> Prepared[history_models.Undone]:
        """Undo of a revision or of an operation id."""
        by_revision = isinstance(target, int) and not isinstance(target, bool)
        if not by_revision and not isinstance(target, str):
            got = type(target).__name__
            raise TypeError(f"target: got a {got}, allowed: a revision or an operation id")
        request = operations_pb.UndoRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            reason=reason,
            force=force,
            partial=partial,
            dry_run=dry_run,
        )
        if isinstance(target, str):
            request.target_operation_id = target
        else:
            request.target_revision = target
        return Prepared(
            _MEMORY + "Undo", request, operations_pb.UndoResponse, convert_history.decode_undone
        )

    def history(
        self, memory_id: str, page_size: int, page_token: str, collection: str | None
    ) -> Prepared[history_models.HistoryPage]:
        """History."""
        request = operations_pb.HistoryRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            memory_id=memory_id,
            page_size=page_size,
            page_token=page_token,
        )
        return Prepared(
            _MEMORY + "History",
            request,
            operations_pb.HistoryResponse,
            convert_history.decode_history,
        )

    def operations(
        self,
        agent_ids: Iterable[str],
        kinds: Iterable[str],
        time: models.TimeRange | None,
        memory_id: str,
        reason_contains: str,
        page_size: int,
        page_token: str,
        collection: str | None,
    ) -> Prepared[history_models.OperationPage]:
        """ListOperations."""
        request = operations_pb.ListOperationsRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            agent_ids=scalars.encode_texts(agent_ids, "agent_ids"),
            kinds=scalars.encode_texts(kinds, "kinds"),
            time=None if time is None else convert.encode_range(time, "time"),
            memory_id=memory_id,
            reason_contains=reason_contains,
            page_size=page_size,
            page_token=page_token,
        )
        return Prepared(
            _MEMORY + "ListOperations",
            request,
            operations_pb.ListOperationsResponse,
            convert_history.decode_operations,
        )
