"""The asyncio client's call that puts a collection in order."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from totonoe.calls import AsyncCalls
from totonoe.consolidate_models import ConsolidateEvent
from totonoe.consolidating import Course
from totonoe.reopening import reopened


class AsyncConsolidateCalls(AsyncCalls):
    """What an asyncio client does to put a collection in order."""

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
    ) -> AsyncGenerator[ConsolidateEvent, None]:
        """Links what was recalled together, then looks for pairs that may say the same.

        As `Client.consolidate`. Close it with `aclose`.
        """
        request = self._requests.consolidate(
            window_hours,
            distance_below,
            jaccard_above,
            max_merge_candidates,
            since_revision,
            max_replay_events,
            resume_token,
            operation_id,
            collection,
        )
        return reopened(self._channel, Course(request, self._retry), self.address)
