# Made by clients/generate_async.py from calls.py. Do not edit.
"""The call that follows the changes of a collection."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Unpack

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import watch_models as models
from totonoe.call.reopening import reopened
from totonoe.memories.drafts import FilterFields
from totonoe.memories.encoding import encode_filter
from totonoe.v1 import operations_pb2


class AsyncWatchCalls(AsyncCalls):
    """The call that follows the changes of a collection."""

    def watch(
        self,
        after_revision: int | None = None,
        *,
        heartbeat_s: float = 15.0,
        collection: str | None = None,
        **conditions: Unpack[FilterFields],
    ) -> AsyncGenerator[models.WatchEvent, None]:
        """Follows the changes of a collection, oldest first, until the caller closes the stream.

        See `Client.watch`.
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
        return reopened(self._channel, course, self.address)
