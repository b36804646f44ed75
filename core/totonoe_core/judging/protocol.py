"""Interface of a judge: two texts in, an opinion with one verdict out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from totonoe_core.base import errors
from totonoe_core.domain.records import Verdict

VERDICTS = (
    Verdict.DUPLICATE,
    Verdict.UPDATE,
    Verdict.CONTRADICTION,
    Verdict.REFINEMENT,
    Verdict.RELATED,
)
"""Verdicts that an opinion may give. Only the guard says NEW."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A judge's opinion on a pair.

    Attributes
    ----------
    verdict : Verdict
        One of `VERDICTS`.
    confidence : float
        0..1, as the judge says; not calibrated.
    by : str
        Name of the judge.
    """

    verdict: Verdict
    confidence: float
    by: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts in a fixed order, and a key that equal pairs share."""

    key: bytes
    one: str
    other: str

    @classmethod
    def of(cls, own: str, own_hash: bytes, other: str, other_hash: bytes) -> Pair:
        """Make the pair of two texts with their refusing hashes."""
        if other_hash < own_hash:
            own, own_hash, other, other_hash = other, other_hash, own, own_hash
        return cls(own_hash + other_hash, own, other)


class JudgeFailed(Exception):  # noqa: N818 - reads as what happened
    """The judge did not answer at all. The message quotes neither text nor answer."""


class Judge(Protocol):
    """Reads a pair in the calling thread; `thread_count` threads may ask at once."""

    @property
    def thread_count(self) -> int:
        """Number of pairs that it can read at once."""
        ...

    def ask(self, pair: Pair) -> Opinion | None:
        """Return its opinion; `None` if it has none on this pair.

        Raises
        ------
        JudgeFailed
            It cannot answer now. Any other exception counts as the same.
        """
        ...

    def close(self) -> None:
        """Release its resources."""
        ...


def misconfigured(*, field: str, got: object, allowed: str) -> errors.Precondition:
    """Return the error for a judge that cannot run as configured; the daemon does not start."""
    return errors.Precondition(
        "JUDGE_MISCONFIGURED",
        f"judge.{field}: got {got}, allowed: {allowed}",
        field=f"judge.{field}",
        got=got,
        allowed=allowed,
    )
