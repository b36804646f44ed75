"""The course of `watch`: a stream that goes on for as long as it is wanted."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

from totonoe import reopening
from totonoe.convert_watch import decode_event
from totonoe.errors import TotonoeError, Unavailable
from totonoe.retry import Attempts, RetryPolicy
from totonoe.v1 import operations_pb2
from totonoe.watch_models import WatchEvent


class Course(reopening.Course[WatchEvent]):
    """From where a watch goes on, and whether and when it does after a failure.

    Until the first message the policy's number of tries holds. After it a watch goes on for as
    long as it is wanted, unless the policy allows one try only.

    Parameters
    ----------
    request : WatchRequest
        Taken over: its `after_revision` follows what was given.
    """

    path = "/totonoe.v1.MemoryService/Watch"
    response = operations_pb2.WatchResponse

    def __init__(self, request: operations_pb2.WatchRequest, retry: RetryPolicy) -> None:
        self.request = request
        self._retry = retry
        self._attempts = Attempts(retry, math.inf)

    def took(self, message: operations_pb2.WatchResponse) -> WatchEvent:
        """The event of a message that came."""
        self.request.after_revision = message.revision
        patient = self._retry
        if patient.attempts_max > 1:
            patient = replace(patient, attempts_max=sys.maxsize)
        self._attempts = Attempts(patient, math.inf)
        return decode_event(message)

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it goes on; `None`: it does not."""
        if failure.reason == "WATCH_TOO_SLOW":
            # What it did not take it is told again.
            failure = Unavailable(failure.message, code=failure.code, reason=failure.reason)
        return self._attempts.wait_s(failure)
