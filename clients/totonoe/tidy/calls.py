"""Calls about tidying: turns, runs, plans."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe.call.base import Calls
from totonoe.call.lazily import tidy_models as models
from totonoe.call.lazily import tidy_plans as plans
from totonoe.call.reopening import Reopened
from totonoe.v1 import tidy_pb2


class TidyCalls(Calls):
    """Calls that keep a collection tidy."""

    def record_turn(
        self,
        *,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.TurnRecorded:
        """Counts a turn of a conversation; the daemon begins to tidy when a run is due.

        That is every so many turns, in collections whose policy `tidy` is enabled. It is no
        operation for Undo; a call that is tried again counts once, as its operation id does.
        """
        request = self._request(
            tidy_pb2.RecordTurnRequest, operation_id=operation_id, collection=collection
        )
        return self._run(request, models.TurnRecorded, timeout_s)

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
    ) -> Reopened[models.TidyEvent]:
        """Finds or closes exact duplicates, and finds clusters of near states for a plan.

        An iterator of `TidyProgress`, `TidyDoubles`, `TidyCluster`, and one `TidyDone` at the end.
        Nothing is sent before its first message is asked for, and nothing changed without `apply`.

        Parameters
        ----------
        apply : bool
            Close the exact duplicates, as one operation that `undo` takes back.
        plan : bool
            Look for near states too.
        distance_below : float or None
            Of a plan: nearer than this cosine distance, up to 0.5; `None`: 0.1.
        clusters_max : int
            Of a plan: clusters at most, up to 200; 0: 50.
        page_token : str
            Of a plan: `next_page_token` of the tidy before.
        limit : int
            Exact duplicates to close at most, the oldest first; 0: the limit of the policy.
        timeout_s : float or None
            Seconds for the whole stream.
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
        return Reopened(self._channel, course, self.address)

    def apply_tidy_plan(
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

        Parameters
        ----------
        plan : str, mapping, or iterable of TidyUpdate
            Its JSON form, `{"state_updates": [...]}`, as text or as an object; or its updates.
        only : iterable of int
            Only these, by their place from 0. Empty: all.

        Raises
        ------
        StaleRevision
            If a state changed since the plan was made; nothing was done.
        """
        request = self._request(
            tidy_pb2.ApplyTidyPlanRequest,
            only=list(only),
            reason=reason,
            operation_id=operation_id,
            collection=collection,
            **plans.encode_plan(plan),
        )
        return self._run(request, models.PlanApplied, timeout_s)
