"""The call that puts a collection in order."""

from __future__ import annotations

from totonoe.call.base import Calls
from totonoe.call.lazily import consolidate_models as models
from totonoe.call.reopening import Reopened
from totonoe.v1 import consolidate_pb2


class ConsolidateCalls(Calls):
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
    ) -> Reopened[models.ConsolidateEvent]:
        """Links what was recalled together, then looks for pairs that may say the same.

        Nothing is merged: `merge`, `dismiss` or `forget` is the caller's to do. Events come as
        they are found, the last one is `done` with the kept pairs. A stream that breaks goes on
        where it was; one that is closed may be gone on with within 300 seconds.

        Parameters
        ----------
        window_hours : float or None
            A pair counts if a side was created within; 0: whenever. `None`: 24.
        distance_below : float or None
            Cosine distance of a pair, 0 to 0.5. `None`: 0.10.
        jaccard_above : float or None
            Pairs by their words too, 0.2 to 0.99. `None`: by distance only.
        max_merge_candidates : int or None
            How many pairs are kept, the most probable of the nearest; 0: 1,000, the most. `None`:
            5.
        since_revision : int
            Only pairs with a side that changed after it; `revision` of the `done` before.
        max_replay_events : int or None
            How many recalls are used up, 0 to 1,000. `None`: 100.
        resume_token : str
            Of the last event of a stream that was closed; all else must be the same.
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
        return Reopened(self._channel, course, self.address)
