"""Calls about the past of a collection: undo, history, operations, purge."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe.call.base import Calls
from totonoe.call.lazily import history_models as models
from totonoe.enums import SnapshotUse, SnapshotUseWord
from totonoe.memories.models import TimeRange
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import operations_pb2 as operations_pb
from totonoe.wire.scalars import encode_ids


class HistoryCalls(Calls):
    """Calls that show the past and take it back."""

    def undo(
        self,
        target: int | str,
        *,
        reason: str = "",
        force: bool = False,
        partial: bool = False,
        own_only: bool = False,
        dry_run: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Undone:
        """Undoes an operation: all that it touched is again what it was before.

        An undo is an operation too, and can be undone. If the only conflicts are texts that
        other memories repeat now, the answer says so (`undone` is false) and nothing is changed.

        Parameters
        ----------
        target : int or str
            Revision that the operation made, or its operation id. That of `delete_collection`,
            with the collection's name, brings the collection back.
        force : bool
            Bring a text back even if it now repeats another live memory.
        partial : bool
            Take back what is unchanged since, and list the rest as conflicts.
        own_only : bool
            Refuse (PermissionDenied) an operation of another agent.
        dry_run : bool
            Only report what would be taken back, and every conflict.

        Raises
        ------
        UndoRefused
            If something changed since, without `partial`; nothing was changed.
        """
        by_revision = isinstance(target, int) and not isinstance(target, bool)
        if not by_revision and not isinstance(target, str):
            got = type(target).__name__
            raise TypeError(f"target: got a {got}, allowed: a revision or an operation id")
        request = self._request(
            operations_pb.UndoRequest,
            target_revision=target if by_revision else None,
            target_operation_id=None if by_revision else target,
            reason=reason,
            force=force,
            partial=partial,
            own_only=own_only,
            dry_run=dry_run,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.Undone, timeout_s)

    def history(
        self,
        memory_id: str,
        *,
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.HistoryPage:
        """Returns a page of a memory's versions, newest first, each with its agent and reason.

        Forgotten memories have one too. `page_size` is 1 to 1,000.
        """
        request = self._request(
            operations_pb.HistoryRequest,
            memory_id=memory_id,
            page_size=page_size,
            page_token=page_token,
            collection=collection,
        )
        return self._run(request, models.HistoryPage, timeout_s)

    def operations(
        self,
        *,
        agent_ids: Iterable[str] = (),
        kinds: Iterable[str] = (),
        time: TimeRange | None = None,
        memory_id: str = "",
        reason_contains: str = "",
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.OperationPage:
        """Returns a page of a collection's operations, newest first; `page_size` 1 to 1,000.

        A page may be short, or empty, and still have a next one: a call looks through a
        limited number of operations for those that meet the conditions.

        Parameters
        ----------
        agent_ids : iterable of str
            Done by any of these agents.
        kinds : iterable of str
            Of any of these kinds: `Remember`, `Update`, `Forget`, `Merge`, `Undo` ...
        time : TimeRange or None
            Done within.
        memory_id : str
            Only those on this memory.
        reason_contains : str
            Only those with this text in the reason, case ignored.
        """
        request = self._request(
            operations_pb.ListOperationsRequest,
            agent_ids=agent_ids,
            kinds=kinds,
            time=time,
            memory_id=memory_id,
            reason_contains=reason_contains,
            page_size=page_size,
            page_token=page_token,
            collection=collection,
        )
        return self._run(request, models.OperationPage, timeout_s)

    def purge(
        self,
        ids: str | Iterable[str],
        *,
        reason: str = "",
        dry_run: bool = False,
        snapshots: SnapshotUseWord = SnapshotUse.LIST,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Purged:
        """Erases the bytes of memories wherever they are stored. Final: there is no undo.

        Of several ids unknown ones are listed; a single unknown one raises `NotFound`.

        Parameters
        ----------
        reason : str
            Why, for the history; it must not hold what is to be purged.
        dry_run : bool
            Only report what would be purged.
        snapshots : SnapshotUse or str
            Handling of snapshots that hold any of them: `list`, `rewrite` or `delete`. A second
            call with the same ids does it for memories that are purged already.
        """
        request = self._request(
            admin_pb.PurgeRequest,
            ids=encode_ids(ids, "ids"),
            reason=reason,
            dry_run=dry_run,
            snapshots=snapshots,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.Purged, timeout_s)
