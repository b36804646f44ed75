"""Calls of the asyncio client about tidying: turns, runs, plans."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable

from totonoe import tidy_models
from totonoe.calls import AsyncCalls
from totonoe.reopening import reopened
from totonoe.requests_tidy import Plan
from totonoe.tidying import Course


class AsyncTidyCalls(AsyncCalls):
    """What an asyncio client does to keep a collection tidy."""

    async def record_turn(
        self,
        *,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> tidy_models.TurnRecorded:
        """Counts a turn of a conversation; as `Client.record_turn`."""
        return await self._run(self._requests.record_turn(operation_id, collection), timeout_s)

    def tidy(
        self,
        *,
        apply: bool = False,
        plan: bool = False,
        reason: str = "",
        distance_below: float | None = None,
        clusters_max: int = 0,
        page_token: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[tidy_models.TidyEvent, None]:
        """Closes or tells exact doubles, and tells near states; as `Client.tidy`."""
        request = self._requests.tidy(
            apply,
            plan,
            reason,
            distance_below,
            clusters_max,
            page_token,
            operation_id,
            collection,
        )
        course = Course(request, self._attempts(timeout_s))
        return reopened(self._channel, course, self.address)

    async def apply_tidy_plan(
        self,
        plan: Plan,
        *,
        only: Iterable[int] = (),
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> tidy_models.PlanApplied:
        """Carries out a plan, or some updates of it; as `Client.apply_tidy_plan`."""
        prepared = self._requests.apply_tidy_plan(plan, only, reason, operation_id, collection)
        return await self._run(prepared, timeout_s)
