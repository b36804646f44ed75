# Made by clients/generate_async.py from calls.py. Do not edit.
"""The call that puts a collection in order."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import consolidate_models as models
from totonoe.call.reopening import reopened
from totonoe.v1 import consolidate_pb2


class AsyncConsolidateCalls(AsyncCalls):
    """The call that puts a collection in order."""

    def consolidate(
        self,
        *,
        window_hours: float | None = None,
        distance_below: float | None = None,
        jaccard_above: float | None = None,
        max_merge_candidates: int | None = None,
        since_revision: int = 0,
        max_replay_events: int | None = None,
        resume_token: str = "",
        operation_id: str = "",
        collection: str | None = None,
    ) -> AsyncGenerator[models.ConsolidateEvent, None]:
        """Links what was recalled together, then looks for pairs that may say the same.

        See `Client.consolidate`.
        """
        from totonoe.consolidate.course import ConsolidateCourse

        request = self._request(
            consolidate_pb2.ConsolidateRequest,
            window_hours=window_hours,
            distance_below=distance_below,
            jaccard_above=jaccard_above,
            max_merge_candidates=max_merge_candidates,
            since_revision=since_revision,
            max_replay_events=max_replay_events,
            resume_token=resume_token,
            operation_id=operation_id,
            collection=collection,
        )
        course = ConsolidateCourse(request, self._retry, self._timeout_s)
        return reopened(self._channel, course, self.address)
