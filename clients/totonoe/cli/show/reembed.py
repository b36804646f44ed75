"""Answers about new vectors for a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from totonoe.cli.printing import line
from totonoe.cli.stepping import step

if TYPE_CHECKING:
    from totonoe.collections.models import EmbeddingModel
    from totonoe.reembed.models import Reembedded


def reembedded(done: Reembedded | None) -> None:
    """Print the new model, or for `None` that the work continues."""
    if done is None:
        line(f"Under way. Watch it with: {step('reembed')}")
        return
    line(
        f"{done.memory_count} memories have vectors of {_model(done.after)} "
        f"in place of {_model(done.before)}; {done.embedded_count} texts embedded. "
        f"Revision {done.revision}."
    )
    if done.thresholds_reset:
        line(f"The guard's cosine thresholds are others now: {step('collections', 'show')}")
    if not done.calibrated:
        line(f"Fit the verdict to the model with: {step('calibrate')}")


def _model(model: EmbeddingModel) -> str:
    """Return name, version and dimension, if known."""
    dimension = f"({model.dimension})" if model.dimension else ""
    return " ".join(filter(None, (model.name, model.version, dimension)))
