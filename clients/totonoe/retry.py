"""When a failed call is tried again, and after how long.

Only `Unavailable` is: the daemon changed nothing then, and the operation id, the same on
each attempt, makes a second try safe even if an answer was lost on the way.
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
    """How often and how fast calls are tried again.

    Attributes
    ----------
    attempts_max : int
        Tries in all; 1 means never again.
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

    attempts_max: int = 5
    backoff_initial_s: float = 0.1
    backoff_max_s: float = 2.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        if self.attempts_max < 1:
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
        self._deadline_s = clock() + timeout_s
        self._failed_count = 0

    def remaining_s(self) -> float | None:
        """Seconds until the deadline, at least 0; `None` if there is no deadline."""
        if math.isinf(self._deadline_s):
            return None
        return max(0.0, self._deadline_s - self._clock())

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds to wait before the next try; `None`: give up and raise `failure`."""
        self._failed_count += 1
        if not isinstance(failure, Unavailable) or self._failed_count >= self._policy.attempts_max:
            return None
        doubled = self._policy.backoff_initial_s * 2.0 ** min(self._failed_count - 1, 64)
        wait_s = min(doubled, self._policy.backoff_max_s)
        wait_s *= 1.0 - self._policy.jitter * self._draw()
        if failure.retry_delay_s is not None:
            # Never earlier than asked for; the jitter comes on top.
            wait_s = max(wait_s, failure.retry_delay_s * (1.0 + 0.1 * self._draw()))
        remaining_s = self.remaining_s()
        if remaining_s is not None and wait_s >= remaining_s:
            return None
        return wait_s
