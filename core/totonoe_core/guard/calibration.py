"""Which weights a collection's verdict goes by: fitted to its model, or careful ones.

Cosines of two models cannot be compared, so weights belong to the model that they were fitted
with. With any other, nothing but equal pieces in equal parts makes a duplicate.
"""

from __future__ import annotations

from dataclasses import dataclass

from totonoe_core.guard import shipped
from totonoe_core.guard.weights import Weights
from totonoe_core.records import ModelIdentity


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights with the model they were fitted to, and what they did on the pairs they saw.

    Attributes
    ----------
    false_merge_budget, false_merge_rate : float
        Share of different pairs that may be, and that were, called duplicates, 0..1.
    duplicate_recall : float
        Share of restatements called duplicates on the same pairs, 0..1.
    created_us : int or None
        `None`: it ships with the daemon.
    """

    model: ModelIdentity
    weights: Weights
    false_merge_budget: float
    false_merge_rate: float
    duplicate_recall: float
    pair_count: int
    created_us: int | None = None

    def fits(self, model: ModelIdentity) -> bool:
        """Whether it was made with this model."""
        return (self.model.name, self.model.version, self.model.dimension) == (
            model.name,
            model.version,
            model.dimension,
        )


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What the verdict would do at one threshold; shares of different and of same pairs, 0..1."""

    at_least: float
    false_merge_rate: float
    duplicate_recall: float


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Pairs of one class and language: how many there are, and were called duplicates."""

    name: str
    language: str
    same_count: int
    found_count: int
    different_count: int
    merged_count: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """A calibration, its operating curve by rising threshold, and its figures by class.

    `dismissed_count` and `merged_count` pairs of it are the collection's own.
    """

    calibration: Calibration
    curve: tuple[CurvePoint, ...]
    classes: tuple[ClassFigures, ...]
    dismissed_count: int = 0
    merged_count: int = 0


FALSE_MERGE_BUDGET = 0.005
"""Where a caller names none."""
FALSE_MERGE_BUDGET_MAX = 0.2

CAREFUL = Weights(
    bias=4.0, cosine=0.0, near=-400.0, light=-400.0, soft=-400.0, moved=0.0, at_least=0.9
)
"""For a model that nothing is known of: every loose end is one too many."""

SHIPPED = (
    Calibration(
        model=ModelIdentity(shipped.MODEL, shipped.VERSION, "", shipped.DIMENSION),
        weights=shipped.WEIGHTS,
        false_merge_budget=shipped.FALSE_MERGE_BUDGET,
        false_merge_rate=shipped.FALSE_MERGE_RATE,
        duplicate_recall=shipped.DUPLICATE_RECALL,
        pair_count=shipped.PAIR_COUNT,
    ),
)


def effective(own: Calibration | None, model: ModelIdentity) -> Calibration | None:
    """The calibration that counts for a model: the collection's own, else the shipped one."""
    if own is not None and own.fits(model):
        return own
    return next((one for one in SHIPPED if one.fits(model)), None)


def weights_for(own: Calibration | None, model: ModelIdentity) -> Weights:
    """The weights that a verdict goes by."""
    found = effective(own, model)
    return CAREFUL if found is None else found.weights
