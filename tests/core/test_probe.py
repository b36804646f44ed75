"""The probe set with the bundled model: no class of it gets worse.

What is held is in probe_floors.json, which `python -m bench.quality_fit --write` makes with the
weights; this test embeds some 4,600 short texts (8 to 15 seconds of one core).
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np

from bench import quality_fit
from totonoe_core.base.limits import EMBED_BATCH_TEXTS_MAX
from totonoe_core.domain import shipped
from totonoe_core.domain.calibration import SHIPPED, Fitted, weights_for
from totonoe_core.domain.records import Verdict
from totonoe_core.embedding import EmbedderSettings, make_embedder
from totonoe_core.guard.probe import probe_pairs
from totonoe_core.guard.verdict import compare
from totonoe_core.kernels.cosine import similarity64

FLOORS = Path(__file__).with_name("probe_floors.json")
MARGIN = 1
"""Pairs. Another machine's arithmetic may move one that lies at the threshold."""


def test_no_class_of_the_probe_set_gets_worse() -> None:
    floors = json.loads(FLOORS.read_text(encoding="utf-8"))
    pairs = probe_pairs()
    texts = [text for pair in pairs for text in (pair.a, pair.b)]
    # Of like length together: a batch is as wide as its longest text.
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    embedder = make_embedder(EmbedderSettings(kind="use"))
    vectors = np.zeros((len(texts), embedder.identity.dimension), np.float32)
    for first in range(0, len(order), EMBED_BATCH_TEXTS_MAX):
        batch = order[first : first + EMBED_BATCH_TEXTS_MAX]
        vectors[batch] = embedder.embed([texts[at] for at in batch])
    weights = weights_for(None, embedder.identity)

    counts: Counter[tuple[str, str, str]] = Counter()
    for at, pair in enumerate(pairs):
        cosine = similarity64(vectors[2 * at], vectors[2 * at + 1])
        verdict = compare(pair.b, pair.a, cosine, weights).judgement.verdict
        if verdict is Verdict.DUPLICATE:
            counts[pair.language, pair.name, "found" if pair.same else "merged"] += 1
        counts[pair.language, pair.name, "right"] += verdict in pair.verdicts

    assert {(pair.language, pair.name) for pair in pairs} == {
        (language, name) for language, classes in floors.items() for name in classes
    }
    worse = [
        (language, name, kind, "was", was, "is", counts[language, name, kind])
        for language, classes in floors.items()
        for name, kinds in classes.items()
        for kind, was in kinds.items()
        if (counts[language, name, kind] - was) * (-1 if kind == "merged" else 1) < -MARGIN
    ]
    assert not worse


def test_shipped_weights_are_what_the_fit_writes() -> None:
    assert quality_fit.module(Fitted(SHIPPED[0], (), ())) == Path(shipped.__file__).read_text()
