"""Decides how the stream of `consolidate` goes on where it broke."""

from __future__ import annotations

from totonoe.call import reopening
from totonoe.call.retry import Patience, RetryPolicy
from totonoe.consolidate.models import ConsolidateEvent
from totonoe.errors import InvalidArgument, TotonoeError
from totonoe.v1 import consolidate_pb2 as pb
from totonoe.wire.mapping import decoder


class ConsolidateCourse(reopening.Course[ConsolidateEvent]):
    """The next request, the events that are new, and the decision to go on after a failure.

    A daemon that was restarted knows no token. Then the run begins again, and the caller gets no
    event twice. The first phase has the operation id of the first run.
    """

    def __init__(
        self, request: pb.ConsolidateRequest, retry: RetryPolicy, timeout_s: float
    ) -> None:
        self.request = request
        self._done = False
        self._patience = Patience(retry, timeout_s)
        self._own_token = ""
        self._told: set[tuple[str, ...]] = set()

    def took(self, message: pb.ConsolidateResponse) -> ConsolidateEvent | None:
        """Takes a message, and returns its event; `None`: the caller got it before."""
        self._patience.answered()
        self.request.resume_token = self._own_token = message.resume_token
        event = decoder(ConsolidateEvent, pb.ConsolidateResponse)(message)
        self._done = event.done is not None
        key: tuple[str, ...] | None = None
        if event.candidate is not None:
            key = ("pair", event.candidate.memory_a_id, event.candidate.memory_b_id)
        elif event.cluster is not None:
            key = event.cluster.memory_ids
        if key is None:
            return event
        if key in self._told:
            return None
        self._told.add(key)
        return event

    def unfinished(self) -> TotonoeError | None:
        """The stream is complete with `done`, and not before."""
        return None if self._done else reopening.cut_short()

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it goes on; `None`: it does not."""
        token = self.request.resume_token
        gone = isinstance(failure, InvalidArgument) and failure.reason == "BAD_PAGE_TOKEN"
        if gone and token and token == self._own_token:
            self.request.resume_token = self._own_token = ""
            return 0.0
        return self._patience.wait_s(failure)
