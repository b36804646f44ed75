"""Calibration of a collection's model: embeds, reads and fits the probe set, off the writer.

Judged pairs of the collection itself have their vectors, and are fitted to as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, Future

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.domain.calibration import Fitted
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine.commands.judged_pairs import JudgedPair
from totonoe_core.engine.state.futures import ready, submit, then
from totonoe_core.guard.calibrate import OWN, calibrated, labelled
from totonoe_core.guard.probe import REPORTED_ONLY, ProbePair, probe_pairs
from totonoe_core.kernels.cosine import similarity64

Vectors = NDArray[np.float32]


def fitted(
    service: EmbeddingService,
    model: ModelIdentity,
    budget: float,
    created_us: int,
    executor: Executor,
    own: Sequence[JudgedPair],
) -> Future[Fitted]:
    """Fit weights to the model's cosines of the probe set.

    `service` embeds, `executor` fits. The judged pairs `own` count among the others. Texts are
    submitted one batch after the other, so that others' texts come in between.
    """

    def embedded(pairs: list[ProbePair]) -> Future[Fitted]:
        texts = [text for pair in pairs for text in (pair.a, pair.b)]
        return then(
            _vectors(service, texts),
            lambda vectors: submit(
                executor, lambda: _fitted(pairs, vectors, own, model, budget, created_us)
            ),
        )

    return then(submit(executor, probe_pairs), embedded)


def _vectors(service: EmbeddingService, texts: Sequence[str]) -> Future[Vectors]:
    found: list[Vectors] = []

    def go_on(at: int) -> Future[Vectors]:
        if at >= len(texts):
            return ready(np.concatenate(found))

        def kept(part: Vectors) -> Future[Vectors]:
            found.append(part)
            return go_on(at + limits.CALIBRATION_BATCH_TEXTS)

        return then(service.submit(texts[at : at + limits.CALIBRATION_BATCH_TEXTS]), kept)

    return go_on(0)


def _fitted(
    pairs: Sequence[ProbePair],
    vectors: Vectors,
    own: Sequence[JudgedPair],
    model: ModelIdentity,
    budget: float,
    created_us: int,
) -> Fitted:
    rows = [
        labelled(
            pair.a,
            pair.b,
            similarity64(vectors[2 * at], vectors[2 * at + 1]),
            pair.same,
            name=pair.name,
            language=pair.language,
            source=pair.language,
            counts=pair.name not in REPORTED_ONLY,
        )
        for at, pair in enumerate(pairs)
    ]
    rows += [
        labelled(
            pair.a,
            pair.b,
            pair.cosine,
            pair.same,
            name="merged" if pair.same else "dismissed",
            source=OWN,
        )
        for pair in own
    ]
    return calibrated(rows, model, budget, created_us)
