"""Comparison of two texts by the guard, without a store."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.calibration import CAREFUL, bundled, weights_for
from totonoe_core.domain.policy import PRESETS, Action, GuardPolicy, Preset, Tokenizer
from totonoe_core.domain.queries import Comparison, PresetOutcome
from totonoe_core.domain.records import Judgement, Method, ModelIdentity
from totonoe_core.engine.state.comparing import weighed_by
from totonoe_core.engine.state.futures import ready, then
from totonoe_core.guard import verdict
from totonoe_core.guard.candidates import WORDS_ABOVE, cosine_refuses
from totonoe_core.index.collection_index import guard_tokens
from totonoe_core.judging import JudgingService, Opinion, TextPair, cascade
from totonoe_core.judging.hearing import stated_for
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair
from totonoe_core.text.normalize import canonical_form, refusing_form, refusing_hash
from totonoe_core.text.reading.budget import ReadingBudget


def compare(
    text_a: str,
    text_b: str,
    vectors: NDArray[np.float32] | None,
    model: ModelIdentity | None,
    judging: JudgingService | None = None,
) -> Future[Comparison]:
    """Compare two texts, and show each preset's decision on the second.

    The daemon's own judge reads them as it does beside a memory; what it does not answer in time
    is compared without it.

    Parameters
    ----------
    vectors : float32[2, dim] or None
        Unit vectors of the texts; `None` without an embedder.
    judging : JudgingService or None
        Only the daemon's own judge is asked.
    """
    cosine = None if vectors is None else similarity64(vectors[0], vectors[1])
    weights = CAREFUL if model is None else weights_for(None, model)
    known = cosine is not None and model is not None and bundled(model)

    def comparing(own: str, other: str, budget: ReadingBudget) -> verdict.Comparison:
        return verdict.compare(own, other, cosine or 0.0, weights, budget, bundled=known)

    compared = comparing(text_b, text_a, ReadingBudget())

    def answer(judgement: Judgement, opinion: Opinion | None = None) -> Comparison:
        outcomes = []
        for preset, policy in PRESETS.items():
            method = refused_by(text_a, text_b, policy, judgement, cosine)
            outcomes.append(PresetOutcome(preset.value, method is not Method.NONE, method.value))
        return Comparison(
            same_text=refusing_form(text_a) == refusing_form(text_b),
            same_words=canonical_form(text_a) == canonical_form(text_b),
            cosine_similarity=None if cosine is None else max(-1.0, min(1.0, cosine)),
            jaccard_similarity=token_jaccard(text_a, text_b, Tokenizer.SCRIPT_AWARE),
            presets=tuple(outcomes),
            model=model,
            judgement=weighed_by(comparing, text_b, text_a, judgement, opinion),
        )

    policy, judgement = PRESETS[Preset.STANDARD], compared.judgement
    settled = policy.settled(judgement)
    if (
        judging is None
        or not judging.is_own
        or not cascade.is_read(compared, settled, text_b, text_a)
    ):
        return ready(answer(judgement))
    pair = TextPair.of(text_b, refusing_hash(text_b), text_a, refusing_hash(text_a))

    def heard(_: None) -> Future[Comparison]:
        opinion = judging.look_up(pair)[1]
        if opinion is None:
            return ready(answer(judgement))
        stated = stated_for(opinion, pair, text_b)
        judged = cascade.judged_by(cascade.OpenPair(0, compared, settled), stated, policy)
        return ready(answer(judged, stated))

    return then(judging.submit([pair]), heard)


def token_jaccard(text_a: str, text_b: str, tokenizer: Tokenizer) -> float:
    """Return the token Jaccard similarity of two texts, 0..1."""
    return jaccard_pair(guard_tokens(text_a, tokenizer), guard_tokens(text_b, tokenizer))


def refused_by(
    text_a: str,
    text_b: str,
    policy: GuardPolicy,
    judgement: Judgement,
    cosine: float | None,
) -> Method:
    """Return the layer by which a policy refuses the second text while the first is stored."""
    if policy.exact and refusing_form(text_a) == refusing_form(text_b):
        return Method.EXACT
    if policy.judged_from is not None:
        if policy.action(policy.settled(judgement)) is not Action.REFUSE:
            return Method.NONE
        if judgement.by_judge:
            return Method.JUDGE
        if canonical_form(text_a) == canonical_form(text_b):
            return Method.JACCARD
        if cosine is not None and cosine >= policy.judged_from:
            return Method.COSINE
        words = token_jaccard(text_a, text_b, policy.tokenizer)
        return Method.JACCARD if words > WORDS_ABOVE else Method.NONE
    if policy.jaccard_above is not None and (
        token_jaccard(text_a, text_b, policy.tokenizer) > policy.jaccard_above
    ):
        return Method.JACCARD
    if cosine is not None and cosine_refuses(policy, cosine):
        return Method.COSINE
    return Method.NONE
