"""Interface of a judge: pairs of texts in, for each an opinion with six probabilities out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from totonoe_core.base import errors


class Relation(StrEnum):
    """Relation of the second text of a pair to the first, in the order of `Opinion.relations`."""

    SAME = "same"
    """Both say the same, whatever the wording."""
    MORE = "more"
    """The second says all that the first says, and more."""
    LESS = "less"
    """The first says all that the second says, and more."""
    EXCLUSIVE = "exclusive"
    """Both cannot be true now."""
    COMPATIBLE = "compatible"
    """Both may be true, about one thing."""
    UNRELATED = "unrelated"
    """They are about different things."""

    @property
    def mirrored(self) -> Relation:
        """The relation of the first text to the second."""
        return _MIRRORED.get(self, self)


_MIRRORED = {Relation.MORE: Relation.LESS, Relation.LESS: Relation.MORE}
RELATIONS = tuple(Relation)
_SUM_TOLERANCE = 1e-3

Relations = tuple[float, float, float, float, float, float]
"""Probabilities of `RELATIONS`, in their order; the sum is 1."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A judge's opinion on a pair, stated for the order of its texts.

    Attributes
    ----------
    same : float
        Probability that both texts say the same, 0..1.
    relations : tuple of 6 floats
        Probabilities of `RELATIONS`, in their order; the sum is 1. A judge may know `same` better
        than the first of them.
    by : str
        Name and version of the judge.

    Raises
    ------
    ValueError
        A number is outside its range.
    """

    same: float
    relations: Relations
    by: str

    def __post_init__(self) -> None:
        numbers = (self.same, *self.relations)
        if len(self.relations) != len(RELATIONS) or not all(
            0.0 <= number <= 1.0 for number in numbers
        ):
            raise ValueError(f"opinion: got {numbers}, allowed: 1 + {len(RELATIONS)} of 0..1")
        if not math.isclose(sum(self.relations), 1.0, abs_tol=_SUM_TOLERANCE):
            raise ValueError(f"opinion.relations: got {self.relations}, allowed: a sum of 1")

    @classmethod
    def on(cls, relation: Relation, confidence: float, by: str) -> Opinion | None:
        """Make the opinion of a judge that names one relation; the others share what is left.

        Returns
        -------
        Opinion or None
            `None` if another relation would be as probable as the named one.
        """
        rest = (1.0 - confidence) / (len(RELATIONS) - 1)
        if not rest < confidence <= 1.0:
            return None
        one, two, three, four, five, six = (
            confidence if each is relation else rest for each in RELATIONS
        )
        # Nothing says how much of what is left is "same": it may be all.
        same = confidence if relation is Relation.SAME else 1.0 - confidence
        return cls(same, (one, two, three, four, five, six), by)

    @property
    def relation(self) -> Relation:
        """The most probable relation; of equal ones the first."""
        return RELATIONS[self.relations.index(max(self.relations))]

    def mirrored(self) -> Opinion:
        """Return the same opinion for the texts in the other order."""
        same, more, less, *others = self.relations
        exclusive, compatible, unrelated = others
        return replace(self, relations=(same, less, more, exclusive, compatible, unrelated))


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts in a fixed order, and a key that equal pairs share.

    Whichever text a caller has first, a judge reads the same pair, so it says the same.
    """

    key: bytes
    one: str
    other: str

    @classmethod
    def of(cls, own: str, own_hash: bytes, other: str, other_hash: bytes) -> TextPair:
        """Make the pair of two texts with their refusing hashes."""
        if (other_hash, other) < (own_hash, own):
            own, own_hash, other, other_hash = other, other_hash, own, own_hash
        return cls(own_hash + other_hash, own, other)


class JudgeFailed(Exception):  # noqa: N818 - reads as what happened
    """The judge did not answer at all. The message quotes neither text nor answer."""


class Judge(Protocol):
    """Reads pairs in the calling thread; `thread_count` threads may ask at once."""

    @property
    def thread_count(self) -> int:
        """Number of threads that may ask at once."""
        ...

    @property
    def batch_max(self) -> int:
        """Largest number of pairs in one `ask`, from 1 on; more than one only if that is faster."""
        ...

    @property
    def cpu_s(self) -> float:
        """CPU seconds of its own processes; 0 if it has none."""
        ...

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Opinion | None]:
        """Return its opinions on 1 to `batch_max` pairs.

        Returns
        -------
        sequence of (Opinion or None), one for each pair in their order
            Each of `pair.other` to `pair.one`; `None` if it has none on that pair.

        Raises
        ------
        JudgeFailed
            It cannot answer now, about none of them. Any other exception counts as the same.
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
