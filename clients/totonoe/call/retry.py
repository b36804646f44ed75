"""Decides when a failed call is tried again, and after how long.

Only `Unavailable` is: the connection was refused, or the daemon starts, stops or is busy. It is
tried until the deadline of the call. The operation id is the same on each try, so that a second
try is safe even if an answer was lost on the way.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from totonoe.errors import TotonoeError, Unavailable


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits how often and how fast calls are tried again, at most until their deadline.

    Attributes
    ----------
    attempts_max : int or None
        Tries in all; 1 means never again; `None`: as many as fit before the deadline.
    backoff_initial_s, backoff_max_s : float
        Wait before the second try, doubled for each further one up to the maximum. A
        longer wait that the daemon asks for wins.
    jitter : float
        Share of the wait, 0 to 1, that is drawn at random, so that many clients do not
        come back at once.

    Raises
    ------
    ValueError
        If a value is outside its range.
    """

    attempts_max: int | None = None
    backoff_initial_s: float = 0.05
    backoff_max_s: float = 1.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        if self.attempts_max is not None and self.attempts_max < 1:
            raise ValueError(f"attempts_max: got {self.attempts_max}, allowed: 1 or more")
        if not 0 <= self.backoff_initial_s <= self.backoff_max_s:
            raise ValueError("backoff_initial_s must lie between 0 and backoff_max_s")
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter: got {self.jitter}, allowed: 0 to 1")


def checked_timeout_s(timeout_s: float) -> float:
    """The deadline in seconds, infinity for none. Raises `ValueError` unless above 0."""
    if not timeout_s > 0:
        raise ValueError(f"timeout_s: got {timeout_s}, allowed: above 0")
    return timeout_s


class Attempts:
    """The tries of one call: how much time is left, and whether there is another one.

    Parameters
    ----------
    policy : RetryPolicy
        Bounds.
    timeout_s : float
        Seconds for all tries together; infinity for no deadline.
    clock : callable
        Monotonic seconds.
    draw : callable
        Random number in [0, 1).
    """

    def __init__(
        self,
        policy: RetryPolicy,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._draw = draw
        self._begun_s = clock()
        self._deadline_s = self._begun_s + timeout_s
        self._failed_count = 0
        self.place: int | None = None
        """Number of the daemon that was asked last; see `places`. `None`: that of a stream."""
        self.collection: str | None = None
        """The collection that the call is about; `None`: none, or there is one daemon."""
        self.moved_on = False
        """True once another daemon is asked than the one before."""
        self.behind_count = 0
        """Daemons that had not seen the revision that is wanted."""

    def remaining_s(self) -> float | None:
        """Seconds until the deadline, at least 0; `None` if there is no deadline."""
        if math.isinf(self._deadline_s):
            return None
        return max(0.0, self._deadline_s - self._clock())

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds to wait before the next try; `None`: give up and raise `failure`.

        An `Unavailable` that is given up says from then on how often and how long it was tried.
        """
        self._failed_count += 1
        if not isinstance(failure, Unavailable):
            return None
        wait_s = self._backoff_s(failure)
        remaining_s = self.remaining_s()
        attempts_max = self._policy.attempts_max
        if (remaining_s is not None and wait_s >= remaining_s) or (
            attempts_max is not None and self._failed_count >= attempts_max
        ):
            failure.tried_count = self._failed_count
            failure.tried_s = self._clock() - self._begun_s
            return None
        return wait_s

    def _backoff_s(self, failure: Unavailable) -> float:
        doubled = self._policy.backoff_initial_s * 2.0 ** min(self._failed_count - 1, 64)
        wait_s = min(doubled, self._policy.backoff_max_s)
        wait_s *= 1.0 - self._policy.jitter * self._draw()
        if failure.retry_delay_s is not None:
            # Never earlier than asked for; the jitter comes on top.
            wait_s = max(wait_s, failure.retry_delay_s * (1.0 + 0.1 * self._draw()))
        return wait_s


class Patience:
    """The tries of a stream that has no deadline: time counts from the first failure in a row.

    Parameters
    ----------
    policy : RetryPolicy
        Bounds.
    timeout_s : float
        Seconds without an answer after which it is given up; infinity for no limit.
    """

    def __init__(self, policy: RetryPolicy, timeout_s: float) -> None:
        self._policy = policy
        self._timeout_s = timeout_s
        self._outage: Attempts | None = None

    def answered(self) -> None:
        """Ends the row of failures."""
        self._outage = None

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds to wait before the next try; `None`: give up and raise `failure`."""
        if self._outage is None:
            self._outage = Attempts(self._policy, self._timeout_s)
        return self._outage.wait_s(failure)
