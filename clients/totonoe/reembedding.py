"""The course of `reembed`: a stream that is joined again where it broke."""

from __future__ import annotations

import math

from totonoe import reopening
from totonoe.convert_reembed import decode_event
from totonoe.errors import TotonoeError
from totonoe.prepared import ADMIN_SERVICE
from totonoe.reembed_models import ReembedEvent
from totonoe.retry import Attempts, RetryPolicy
from totonoe.v1 import reembed_pb2 as pb


class Course(reopening.Course[ReembedEvent]):
    """Whether it is over, and how long it waits after a failure.

    The same request again joins what is under way, or is told the end of it. Whoever leaves the
    stream ends the telling, not the work.
    """

    path = ADMIN_SERVICE + "Reembed"
    response = pb.ReembedResponse

    def __init__(self, request: pb.ReembedRequest, retry: RetryPolicy) -> None:
        self.request = request
        self._done = False
        self._retry = retry
        self._attempts = Attempts(retry, math.inf)

    def took(self, message: pb.ReembedResponse) -> ReembedEvent:
        """The event of a message."""
        self._attempts = Attempts(self._retry, math.inf)
        event = decode_event(message)
        self._done = event.done is not None
        return event

    def unfinished(self) -> TotonoeError | None:
        """It is through with `done`, and not before."""
        return None if self._done else reopening.cut_short()

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it goes on; `None`: it does not."""
        return self._attempts.wait_s(failure)
