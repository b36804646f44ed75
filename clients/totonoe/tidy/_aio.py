# Made by clients/generate_async.py from calls.py. Do not edit.
"""Calls about tidying: turns, runs, plans."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import tidy_models as models
from totonoe.call.lazily import tidy_plans as plans
from totonoe.call.reopening import reopened
from totonoe.v1 import tidy_pb2


class AsyncTidyCalls(AsyncCalls):
    """Calls that keep a collection tidy."""

    async def record_turn(
        self,
        *,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.TurnRecorded:
        """Counts a turn of a conversation; the daemon begins to tidy when a run is due.

        See `Client.record_turn`.
        """
        request = self._request(
            tidy_pb2.RecordTurnRequest, operation_id=operation_id, collection=collection
        )
        return await self._run(request, models.TurnRecorded, timeout_s)

    def tidy(
        self,
        *,
        apply: bool = False,
        plan: bool = False,
        reason: str = "",
        distance_below: float | None = None,
        clusters_max: int = 0,
        page_token: str = "",
        limit: int = 0,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[models.TidyEvent, None]:
        """Finds or closes exact duplicates, and finds clusters of near states for a plan.

        See `Client.tidy`.
        """
        from totonoe.tidy.course import TidyCourse

        request = self._request(
            tidy_pb2.TidyRequest,
            apply=apply,
            plan=plan,
            reason=reason,
            distance_below=distance_below,
            clusters_max=clusters_max,
            page_token=page_token,
            limit=limit,
            operation_id=operation_id,
            collection=collection,
        )
        course = TidyCourse(request, self._attempts(timeout_s))
        return reopened(self._channel, course, self.address)

    async def apply_tidy_plan(
        self,
        plan: plans.Plan,
        *,
        only: Iterable[int] = (),
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.PlanApplied:
        """Carries out a plan, or some updates of it, as one operation that `undo` takes back.

        See `Client.apply_tidy_plan`.
        """
        request = self._request(
            tidy_pb2.ApplyTidyPlanRequest,
            only=list(only),
            reason=reason,
            operation_id=operation_id,
            collection=collection,
            **plans.encode_plan(plan),
        )
        return await self._run(request, models.PlanApplied, timeout_s)
