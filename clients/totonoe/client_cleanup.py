"""Calls of the blocking client that clean up by rule: sessions, exact doubles, what has faded."""

from __future__ import annotations

from totonoe import cleanup_models
from totonoe.calls import Calls
from totonoe.enums import GroupBy, Measure


class CleanupCalls(Calls):
    """What a blocking client has cleaned up. Each run is one operation, which `undo` takes back.

    No rule takes what is protected: categories `constraint`, `postmortem` and `gotcha`, confidence
    from 0.95 on, memories with a perception type, logs and long moods, and other agents' private
    memories.
    """

    def end_session(
        self,
        session_id: str = "",
        *,
        by: GroupBy | str | None = None,
        measure: Measure | str | None = None,
        threshold: float | None = None,
        dry_run: bool = False,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> cleanup_models.SessionEnded:
        """Puts one memory in the place of those that a session said several times over.

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
            Only tell what would be superseded.
        """
        prepared = self._requests.end_session(
            session_id, by, measure, threshold, dry_run, reason, operation_id, collection
        )
        return self._run(prepared, timeout_s)

    def clean_up_duplicates(
        self,
        *,
        apply: bool = False,
        limit: int = 200,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> cleanup_models.CleanedUp:
        """Finds live memories that are equal in text, state kind, payload and key.

        Nothing is changed unless `apply` is set: then all but the one with the highest confidence
        (or the newest) are superseded by it, at most `limit` (1 to 200).

        Raises
        ------
        QuotaExceeded
            BLAST_RADIUS: it would be more than the collection allows a day (`blast`). Nothing was
            changed.
        """
        prepared = self._requests.clean_up_duplicates(
            apply, limit, reason, operation_id, collection
        )
        return self._run(prepared, timeout_s)

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
    ) -> cleanup_models.Decayed:
        """Tells what has faded and, with `close_below`, closes what lies below it.

        Confidence fades by a pure function of its base and the last access: looking at it, however
        often, changes nothing.

        Parameters
        ----------
        close_below : float or None
            Close live memories whose effective confidence lies below this, 0 to 1.
        dry_run : bool
            Only tell what would be closed.
        limit : int
            How many to close at most, the most faded first, 1 to 1,000.

        Raises
        ------
        QuotaExceeded
            BLAST_RADIUS: it would be more than the collection allows a day (`blast`). Nothing was
            changed.
        """
        prepared = self._requests.decay(
            close_below, dry_run, limit, reason, operation_id, collection
        )
        return self._run(prepared, timeout_s)
