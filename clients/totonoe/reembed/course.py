"""Decides how the stream of `reembed` is joined again where it broke."""

from __future__ import annotations

from totonoe.call import reopening
from totonoe.call.retry import Patience, RetryPolicy
from totonoe.errors import TotonoeError
from totonoe.reembed.models import ReembedEvent
from totonoe.v1 import reembed_pb2 as pb
from totonoe.wire.mapping import decoder


class ReembedCourse(reopening.Course[ReembedEvent]):
    """The end of a re-embedding, and the wait after a failure.

    The same request again joins the work that is under way, or gets its end. Leaving the stream
    does not end the work.
    """

    def __init__(self, request: pb.ReembedRequest, retry: RetryPolicy, timeout_s: float) -> None:
        self.request = request
        self._done = False
        self._patience = Patience(retry, timeout_s)

    def took(self, message: pb.ReembedResponse) -> ReembedEvent:
        """The event of a message."""
        self._patience.answered()
        event = decoder(ReembedEvent, pb.ReembedResponse)(message)
        self._done = event.done is not None
        return event

    def unfinished(self) -> TotonoeError | None:
        """The stream is complete with `done`, and not before."""
        return None if self._done else reopening.cut_short()

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it goes on; `None`: it does not."""
        return self._patience.wait_s(failure)
