# Made by clients/generate_async.py from calls.py. Do not edit.
"""Calls that give a collection another model."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import reembed_models as models
from totonoe.call.reopening import reopened
from totonoe.v1 import reembed_pb2


class AsyncReembedCalls(AsyncCalls):
    """Calls that give a collection another model."""

    def reembed(
        self, *, reason: str = "", operation_id: str = "", collection: str | None = None
    ) -> AsyncGenerator[models.ReembedEvent, None]:
        """Replaces a collection's vectors by those of the model that the daemon runs now.

        See `Client.reembed`.
        """
        from totonoe.reembed.course import ReembedCourse

        request = self._request(
            reembed_pb2.ReembedRequest,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        course = ReembedCourse(request, self._retry, self._timeout_s)
        return reopened(self._channel, course, self.address)

    async def cancel_reembed(
        self, *, collection: str | None = None, timeout_s: float | None = None
    ) -> models.ReembedCancelled:
        """Cancels a re-embedding that is under way; the collection keeps its model.

        See `Client.cancel_reembed`.
        """
        request = self._request(reembed_pb2.CancelReembedRequest, collection=collection)
        return await self._run(request, models.ReembedCancelled, timeout_s)
