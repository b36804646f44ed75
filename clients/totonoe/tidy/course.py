"""Decides how the stream of `tidy` goes on: it is tried again until its first message."""

from __future__ import annotations

from totonoe.call import reopening
from totonoe.call.retry import Attempts
from totonoe.errors import TotonoeError
from totonoe.tidy.models import (
    TidyCluster,
    TidyDone,
    TidyDoubles,
    TidyEvent,
    TidyProgress,
)
from totonoe.v1 import tidy_pb2
from totonoe.wire.mapping import decoder


class TidyCourse(reopening.Course[TidyEvent]):
    """One run. Leaving the stream does not undo what the run closed."""

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
        """The rest of the time for the whole stream, in seconds."""
        return self._attempts.remaining_s()


_KINDS = {
    "doubles": TidyDoubles,
    "cluster": TidyCluster,
    "done": TidyDone,
    "progress": TidyProgress,
}


def decode_event(message: tidy_pb2.TidyResponse) -> TidyEvent:
    """Reads a message of a Tidy. A kind that this client does not know counts as progress."""
    kind = message.WhichOneof("message") or "progress"
    held = getattr(message, kind)
    model: type[TidyEvent] = _KINDS[kind]
    return decoder(model, type(held))(held)
