"""The course of `tidy`: until its first message it is tried again, and then never."""

from __future__ import annotations

from totonoe import reopening
from totonoe.convert_tidy import decode_event
from totonoe.errors import TotonoeError
from totonoe.retry import Attempts
from totonoe.tidy_models import TidyEvent
from totonoe.v1 import tidy_pb2


class Course(reopening.Course[TidyEvent]):
    """One run. What it closed stays closed, whoever leaves the stream."""

    path = "/totonoe.v1.MemoryService/Tidy"
    response = tidy_pb2.TidyResponse

    def __init__(self, request: tidy_pb2.TidyRequest, attempts: Attempts) -> None:
        self.request = request
        self._attempts = attempts
        self._begun = False

    def took(self, message: tidy_pb2.TidyResponse) -> TidyEvent:
        """The event of a message that came."""
        self._begun = True
        return decode_event(message)

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it is tried again; `None`: it is not."""
        return None if self._begun else self._attempts.wait_s(failure)

    def timeout_s(self) -> float | None:
        """What is left of the time for the whole stream."""
        return self._attempts.remaining_s()
