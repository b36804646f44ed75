"""Decides how the stream of `watch` goes on, for as long as the caller reads it."""

from __future__ import annotations

import math
from dataclasses import replace

from totonoe.call import reopening
from totonoe.call.retry import Patience, RetryPolicy
from totonoe.errors import TotonoeError, Unavailable
from totonoe.v1 import operations_pb2
from totonoe.watch.models import WatchEvent
from totonoe.wire.mapping import decoder

_BEHIND_S = 5.0
"""Seconds for which a daemon, of several, may lack a revision that another one has told."""


class WatchCourse(reopening.Course[WatchEvent]):
    """The revision from which a watch goes on, and the decision to go on after a failure.

    Until the first message it is tried for `timeout_s`, as the policy says. After it a watch goes
    on for as long as it is wanted, unless the policy allows one try only.

    Parameters
    ----------
    request : WatchRequest
        Taken over: its `after_revision` follows what was given.
    retry : RetryPolicy
        Bounds of the tries.
    timeout_s : float
        Seconds for the tries before the first message.
    several : bool
        The client has several daemons: the one that is asked next may be behind the last.
    """

    def __init__(
        self,
        request: operations_pb2.WatchRequest,
        retry: RetryPolicy,
        timeout_s: float,
        several: bool = False,
    ) -> None:
        self.request = request
        self._retry = retry
        self._behind = Patience(retry, _BEHIND_S) if several else None
        self._patience = Patience(retry, timeout_s)

    def took(self, message: operations_pb2.WatchResponse) -> WatchEvent:
        """The event of a message that came."""
        self.request.after_revision = message.revision
        if self._behind is not None:
            self._behind.answered()
        endless = self._retry
        if endless.attempts_max != 1:
            endless = replace(endless, attempts_max=None)
        self._patience = Patience(endless, math.inf)
        return decoder(WatchEvent, operations_pb2.WatchResponse)(message)

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it goes on; `None`: it does not."""
        if failure.reason == "WATCH_TOO_SLOW":
            # What it did not take it is told again.
            failure = Unavailable(failure.message, code=failure.code, reason=failure.reason)
        elif failure.reason == "REVISION_OUT_OF_RANGE" and self._behind is not None:
            return self._behind.wait_s(Unavailable(failure.message, code=failure.code))
        return self._patience.wait_s(failure)
