"""Calls that clean up by rule: ends of sessions, exact duplicates, decay."""

from __future__ import annotations

from totonoe.call.base import Calls
from totonoe.call.lazily import cleanup_models as models
from totonoe.enums import GroupByWord, MeasureWord
from totonoe.v1 import cleanup_pb2


class CleanupCalls(Calls):
    """Calls that clean up by rule. Each run is one operation, which `undo` takes back.

    No rule takes what is protected: categories `constraint`, `postmortem` and `gotcha`, confidence
    from 0.95 on, memories with a perception type, logs and long moods, and other agents' private
    memories.
    """

    def end_session(
        self,
        session_id: str = "",
        *,
        by: GroupByWord | None = None,
        measure: MeasureWord | None = None,
        threshold: float | None = None,
        dry_run: bool = False,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.SessionEnded:
        """Merges memories that a session said several times over into one each.

        Memories of one category are grouped if every two of them are similar. The one with the
        highest confidence stays, then the most recalled, then the newest. What updates or
        contradicts another one stays apart. Fewer than 3 that could be grouped: nothing happens.

        Parameters
        ----------
        session_id : str
            Needed, unless `by` says `agent`.
        by : GroupBy, str or None
            `session` (default), or `agent`: the caller's own memories of every session.
        measure : Measure, str or None
            `jaccard` (default) of the words, `cosine` of the vectors, or `verdict`: near, and
            called a duplicate once both texts are read.
        threshold : float or None
            Similarity that must be exceeded, 0 to 1. `None`: 0.50, 0.85 and 0.75.
        dry_run : bool
            Only report what would be superseded.
        """
        request = self._request(
            cleanup_pb2.EndSessionRequest,
            session_id=session_id,
            by=by,
            measure=measure,
            threshold=threshold,
            dry_run=dry_run,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.SessionEnded, timeout_s)

    def clean_up_duplicates(
        self,
        *,
        apply: bool = False,
        limit: int = 200,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.CleanedUp:
        """Finds live memories that are equal in text, state kind, payload and key.

        Nothing is changed unless `apply` is set: then all but the one with the highest confidence
        (or the newest) are superseded by it, the oldest first, at most `limit` (1 to 200) and as
        many as the collection allows a day (`blast`).

        Raises
        ------
        QuotaExceeded
            BLAST_RADIUS: the collection allows no more today (`blast`). Nothing was changed.
        """
        request = self._request(
            cleanup_pb2.CleanUpDuplicatesRequest,
            apply=apply,
            limit=limit,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.CleanedUp, timeout_s)

    def decay(
        self,
        *,
        close_below: float | None = None,
        dry_run: bool = False,
        limit: int = 1000,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Decayed:
        """Reports faded confidence and, with `close_below`, closes the memories below that value.

        Confidence fades by a pure function of its base and the last access: looking at it, however
        often, changes nothing.

        Parameters
        ----------
        close_below : float or None
            Close live memories whose effective confidence lies below this, 0 to 1.
        dry_run : bool
            Only report what would be closed.
        limit : int
            How many to close at most, the most faded first, 1 to 1,000.

        Raises
        ------
        QuotaExceeded
            BLAST_RADIUS: it would be more than the collection allows a day (`blast`). Nothing was
            changed.
        """
        request = self._request(
            cleanup_pb2.DecayRequest,
            close_below=close_below,
            dry_run=dry_run,
            limit=limit,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.Decayed, timeout_s)
