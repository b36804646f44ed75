"""Requests that clean up by rule: ends of sessions, exact doubles, what has faded."""

from __future__ import annotations

from totonoe import cleanup_models, convert_cleanup
from totonoe.enums import GroupBy, Measure
from totonoe.prepared import MEMORY_SERVICE as _MEMORY
from totonoe.prepared import Caller, Prepared, new_operation_id
from totonoe.v1 import cleanup_pb2


class CleanupRequests(Caller):
    """What is asked of the rules that clean up."""

    def end_session(
        self,
        session_id: str,
        by: GroupBy | str | None,
        measure: Measure | str | None,
        threshold: float | None,
        dry_run: bool,
        reason: str,
        operation_id: str,
        collection: str | None,
    ) -> Prepared[cleanup_models.SessionEnded]:
        """EndSession."""
        request = cleanup_pb2.EndSessionRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            session_id=session_id,
            by=None if by is None else convert_cleanup.GROUP_BY.encode(by, "by"),
            measure=None if measure is None else convert_cleanup.MEASURE.encode(measure, "measure"),
            threshold=threshold,
            dry_run=dry_run,
            reason=reason,
        )
        return Prepared(
            _MEMORY + "EndSession",
            request,
            cleanup_pb2.EndSessionResponse,
            convert_cleanup.decode_session_ended,
        )

    def clean_up_duplicates(
        self, apply: bool, limit: int, reason: str, operation_id: str, collection: str | None
    ) -> Prepared[cleanup_models.CleanedUp]:
        """CleanUpDuplicates."""
        request = cleanup_pb2.CleanUpDuplicatesRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            apply=apply,
            limit=limit,
            reason=reason,
        )
        return Prepared(
            _MEMORY + "CleanUpDuplicates",
            request,
            cleanup_pb2.CleanUpDuplicatesResponse,
            convert_cleanup.decode_cleaned_up,
        )

    def decay(
        self,
        close_below: float | None,
        dry_run: bool,
        limit: int,
        reason: str,
        operation_id: str,
        collection: str | None,
    ) -> Prepared[cleanup_models.Decayed]:
        """Decay."""
        request = cleanup_pb2.DecayRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            close_below=close_below,
            dry_run=dry_run,
            limit=limit,
            reason=reason,
        )
        return Prepared(
            _MEMORY + "Decay", request, cleanup_pb2.DecayResponse, convert_cleanup.decode_decayed
        )
