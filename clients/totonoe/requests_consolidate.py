"""The request of a consolidation."""

from __future__ import annotations

from totonoe.prepared import Caller, new_operation_id
from totonoe.v1 import consolidate_pb2 as pb


class ConsolidateRequests(Caller):
    """What is asked to put a collection in order."""

    def consolidate(
        self,
        window_hours: float | None,
        distance_below: float | None,
        jaccard_above: float | None,
        max_merge_candidates: int | None,
        since_revision: int,
        max_replay_events: int | None,
        resume_token: str,
        operation_id: str,
        collection: str | None,
    ) -> pb.ConsolidateRequest:
        """Consolidate."""
        return pb.ConsolidateRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            window_hours=window_hours,
            distance_below=distance_below,
            jaccard_above=jaccard_above,
            max_merge_candidates=max_merge_candidates,
            since_revision=since_revision,
            max_replay_events=max_replay_events,
            resume_token=resume_token,
        )
