"""The call that follows the changes of a collection."""

from __future__ import annotations

from typing import Unpack

from totonoe.call.base import Calls
from totonoe.call.lazily import watch_models as models
from totonoe.call.reopening import Reopened
from totonoe.memories.drafts import FilterFields
from totonoe.memories.encoding import encode_filter
from totonoe.v1 import operations_pb2


class WatchCalls(Calls):
    """The call that follows the changes of a collection."""

    def watch(
        self,
        after_revision: int | None = None,
        *,
        heartbeat_s: float = 15.0,
        collection: str | None = None,
        **conditions: Unpack[FilterFields],
    ) -> Reopened[models.WatchEvent]:
        """Follows the changes of a collection, oldest first, until the caller closes the stream.

        It goes on by itself after a lost connection, a restart of the daemon, and when it was cut
        because its events were not taken for 30 seconds. Conditions hold for a memory before or
        after a change. Close the iterator to end it, from another thread too.

        Parameters
        ----------
        after_revision : int or None
            Changes after this one; 0: all there ever were; `None`: from now on.
        heartbeat_s : float
            Seconds of silence, 1 to 300, after which an event without a change comes.

        Raises
        ------
        Unavailable
            No daemon answered before the first event, for as long as the client's `timeout_s`.
        OutOfRange
            The collection has not reached `after_revision`.
        """
        from totonoe.watch.course import WatchCourse

        request = self._request(
            operations_pb2.WatchRequest,
            after_revision=after_revision,
            filter=encode_filter(conditions),
            heartbeat_s=heartbeat_s,
            collection=collection,
        )
        several = self._channel.places.count > 1
        course = WatchCourse(request, self._retry, self._timeout_s, several)
        return Reopened(self._channel, course, self.address)
