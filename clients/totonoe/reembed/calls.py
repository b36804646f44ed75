"""Calls that give a collection another model."""

from __future__ import annotations

from totonoe.call.base import Calls
from totonoe.call.lazily import reembed_models as models
from totonoe.call.reopening import Reopened
from totonoe.v1 import reembed_pb2


class ReembedCalls(Calls):
    """Calls that give a collection another model."""

    def reembed(
        self, *, reason: str = "", operation_id: str = "", collection: str | None = None
    ) -> Reopened[models.ReembedEvent]:
        """Replaces a collection's vectors by those of the model that the daemon runs now.

        The collection is written and read meanwhile. Events come until the last one is `done`.
        Closing the stream does not end the work, which goes on also after a restart of the daemon:
        a second call joins it. Under the model before, a call takes back
        the vectors that were kept.

        Raises `FailedPrecondition`, with the reason NOTHING_TO_REEMBED, where the model is the
        collection's already, or REEMBEDDING, while another one is prepared.
        """
        from totonoe.reembed.course import ReembedCourse

        request = self._request(
            reembed_pb2.ReembedRequest,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        course = ReembedCourse(request, self._retry, self._timeout_s)
        return Reopened(self._channel, course, self.address)

    def cancel_reembed(
        self, *, collection: str | None = None, timeout_s: float | None = None
    ) -> models.ReembedCancelled:
        """Cancels a re-embedding that is under way; the collection keeps its model.

        Texts that were saved meanwhile have no vector of that model: they are found by their words,
        until a `reembed` under it gives them one.
        """
        request = self._request(reembed_pb2.CancelReembedRequest, collection=collection)
        return self._run(request, models.ReembedCancelled, timeout_s)
