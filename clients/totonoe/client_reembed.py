"""The blocking client's calls that give a collection another model."""

from __future__ import annotations

from totonoe.calls import Calls
from totonoe.reembed_models import ReembedCancelled, ReembedEvent
from totonoe.reembedding import Course
from totonoe.reopening import Reopened


class ReembedCalls(Calls):
    """What a blocking client does to give a collection another model."""

    def reembed(
        self, *, reason: str = "", operation_id: str = "", collection: str | None = None
    ) -> Reopened[ReembedEvent]:
        """Gives a collection the vectors of the model that the daemon runs by now.

        The collection is written and read meanwhile. Events come until the last one is `done`.
        Closing the stream ends nothing but the telling: a second call joins what is under way,
        which goes on also after a restart of the daemon. Under the model before, a call takes back
        the vectors that were kept.

        Raises `FailedPrecondition`, with the reason NOTHING_TO_REEMBED, where the model is the
        collection's already, or REEMBEDDING, while another one is prepared.
        """
        request = self._requests.reembed(reason, operation_id, collection)
        return Reopened(self._channel, Course(request, self._retry), self.address)

    def cancel_reembed(
        self, *, collection: str | None = None, timeout_s: float | None = None
    ) -> ReembedCancelled:
        """Ends a re-embedding that is under way; the collection keeps its model.

        Texts that were saved meanwhile have no vector of that model: they are found by their words,
        until a `reembed` under it gives them one.
        """
        return self._run(self._requests.cancel_reembed(collection), timeout_s)
