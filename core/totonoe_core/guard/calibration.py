"""Which weights a collection's verdict goes by: fitted to its model, or careful ones.

Cosines of two models cannot be compared, so weights belong to the model that they were fitted
with. With any other, nothing but equal pieces in equal parts makes a duplicate.
"""

from __future__ import annotations

from dataclasses import dataclass

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


CAREFUL = Weights(bias=4.0, cosine=0.0, near=-400.0, light=-400.0, soft=-400.0, moved=0.0)
"""For a model that nothing is known of: every loose end is one too many."""

SHIPPED = (
    Calibration(
        model=ModelIdentity("use-multilingual", "3", "", 512),
        weights=Weights(),
        false_merge_budget=0.005,
        false_merge_rate=0.0,
        duplicate_recall=0.0,
        pair_count=0,
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
