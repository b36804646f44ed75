"""Calibrations of the verdict: weights fitted to a collection's model, or careful defaults.

Cosines of two models cannot be compared, so weights belong to the model that they were fitted to.
With any other model, only equal pieces in equal parts make a duplicate.
"""

from __future__ import annotations

from dataclasses import dataclass

from totonoe_core.domain import shipped
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.domain.weights import Weights


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights with the model that they were fitted to, and their error rates on the pairs used.

    Attributes
    ----------
    false_merge_budget, false_merge_rate : float
        Allowed and measured share of different pairs that were called duplicates, 0..1.
    duplicate_recall : float
        Share of restatements called duplicates on the same pairs, 0..1.
    created_us : int or None
        `None` if it ships with the daemon.
    """

    model: ModelIdentity
    weights: Weights
    false_merge_budget: float
    false_merge_rate: float
    duplicate_recall: float
    pair_count: int
    created_us: int | None = None

    def fits(self, model: ModelIdentity) -> bool:
        """Return whether the calibration was made with this model."""
        return (self.model.name, self.model.version, self.model.dimension) == (
            model.name,
            model.version,
            model.dimension,
        )


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Result of the verdict at one threshold: shares of different and of same pairs, 0..1."""

    at_least: float
    false_merge_rate: float
    duplicate_recall: float


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Pairs of one class and language: their number, and how many were called duplicates."""

    name: str
    language: str
    same_count: int
    found_count: int
    different_count: int
    merged_count: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """A calibration, its operating curve by rising threshold, and its figures by class.

    `dismissed_count` and `merged_count` of its pairs come from the collection itself.
    """

    calibration: Calibration
    curve: tuple[CurvePoint, ...]
    classes: tuple[ClassFigures, ...]
    dismissed_count: int = 0
    merged_count: int = 0


FALSE_MERGE_BUDGET = 0.005
"""Budget if the caller names none."""
FALSE_MERGE_BUDGET_MAX = 0.2

CAREFUL = Weights(
    bias=4.0, cosine=0.0, near=-400.0, light=-400.0, soft=-400.0, moved=0.0, at_least=0.9
)
"""Weights for an unknown model: they call nothing a duplicate that has a loose end."""

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
    """Return the calibration to use with a model: the collection's own, else the shipped one."""
    if own is not None and own.fits(model):
        return own
    return next((calibration for calibration in SHIPPED if calibration.fits(model)), None)


def bundled(model: ModelIdentity) -> bool:
    """Return whether a model is a bundled one, whose cosines `same_probability` was fitted with."""
    return any(calibration.fits(model) for calibration in SHIPPED)


def weights_for(own: Calibration | None, model: ModelIdentity) -> Weights:
    """Return the weights that the verdict uses with a model."""
    calibration = effective(own, model)
    return CAREFUL if calibration is None else calibration.weights
