"""The asyncio client's calls that give a collection another model."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from totonoe.calls import AsyncCalls
from totonoe.reembed_models import ReembedCancelled, ReembedEvent
from totonoe.reembedding import Course
from totonoe.reopening import reopened


class AsyncReembedCalls(AsyncCalls):
    """What an asyncio client does to give a collection another model."""

    def reembed(
        self, *, reason: str = "", operation_id: str = "", collection: str | None = None
    ) -> AsyncGenerator[ReembedEvent, None]:
        """Gives a collection the vectors of the daemon's model; as `Client.reembed`.

        Close it with `aclose`: the work goes on.
        """
        request = self._requests.reembed(reason, operation_id, collection)
        return reopened(self._channel, Course(request, self._retry), self.address)

    async def cancel_reembed(
        self, *, collection: str | None = None, timeout_s: float | None = None
    ) -> ReembedCancelled:
        """Ends a re-embedding that is under way; as `Client.cancel_reembed`."""
        return await self._run(self._requests.cancel_reembed(collection), timeout_s)
