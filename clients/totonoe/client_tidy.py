"""Calls of the blocking client about tidying: turns, runs, plans."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe import tidy_models
from totonoe.calls import Calls
from totonoe.reopening import Reopened
from totonoe.requests_tidy import Plan
from totonoe.tidying import Course


class TidyCalls(Calls):
    """What a blocking client does to keep a collection tidy."""

    def record_turn(
        self,
        *,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> tidy_models.TurnRecorded:
        """Counts a turn of a conversation, and has the daemon tidy where one is due.

        That is every so many turns, in collections whose policy `tidy` is enabled. It is no
        operation for Undo; a call that is tried again counts once, as its operation id does.
        """
        return self._run(self._requests.record_turn(operation_id, collection), timeout_s)

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
    ) -> Reopened[tidy_models.TidyEvent]:
        """Closes or tells exact doubles, and tells clusters of near states for a plan.

        An iterator of `TidyProgress`, `TidyDoubles`, `TidyCluster`, and one `TidyDone` at the end.
        Nothing is sent before its first message is asked for, and nothing changed without `apply`.

        Parameters
        ----------
        apply : bool
            Close the exact doubles, as one operation that `undo` takes back.
        plan : bool
            Look for near states too.
        distance_below : float or None
            Of a plan: nearer than this cosine distance, up to 0.5; `None`: 0.1.
        clusters_max : int
            Of a plan: clusters told at most, up to 200; 0: 50.
        page_token : str
            Of a plan: `next_page_token` of the tidy before.
        timeout_s : float or None
            Seconds for the whole stream.
        """
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
        return Reopened(self._channel, course, self.address)

    def apply_tidy_plan(
        self,
        plan: Plan,
        *,
        only: Iterable[int] = (),
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> tidy_models.PlanApplied:
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
        prepared = self._requests.apply_tidy_plan(plan, only, reason, operation_id, collection)
        return self._run(prepared, timeout_s)
