"""The course of `consolidate`: a stream that goes on where it broke."""

from __future__ import annotations

import math

from totonoe import reopening
from totonoe.consolidate_models import ConsolidateEvent
from totonoe.convert_consolidate import decode_event
from totonoe.errors import InvalidArgument, TotonoeError
from totonoe.retry import Attempts, RetryPolicy
from totonoe.v1 import consolidate_pb2 as pb


class Course(reopening.Course[ConsolidateEvent]):
    """What is asked next, what of the answer is new, and whether it goes on after a failure.

    A daemon that was started anew knows no token: then the run begins again, and what was told is
    not told twice. Its first phase has the operation id of the first time.
    """

    path = "/totonoe.v1.MemoryService/Consolidate"
    response = pb.ConsolidateResponse

    def __init__(self, request: pb.ConsolidateRequest, retry: RetryPolicy) -> None:
        self.request = request
        self._done = False
        self._retry = retry
        self._attempts = Attempts(retry, math.inf)
        self._own_token = ""
        self._told: set[tuple[str, ...]] = set()

    def took(self, message: pb.ConsolidateResponse) -> ConsolidateEvent | None:
        """The event of a message; `None`: it was told before."""
        self._attempts = Attempts(self._retry, math.inf)
        self.request.resume_token = self._own_token = message.resume_token
        event = decode_event(message)
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
        """It is through with `done`, and not before."""
        return None if self._done else reopening.cut_short()

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it goes on; `None`: it does not."""
        token = self.request.resume_token
        gone = isinstance(failure, InvalidArgument) and failure.reason == "BAD_PAGE_TOKEN"
        if gone and token and token == self._own_token:
            self.request.resume_token = self._own_token = ""
            return 0.0
        return self._attempts.wait_s(failure)
