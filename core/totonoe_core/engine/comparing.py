"""Two texts as the guard sees them, with no store."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from totonoe_core.guard.candidates import cosine_refuses
from totonoe_core.guard.policy import PRESETS, GuardPolicy, Tokenizer
from totonoe_core.index.collection_index import guard_tokens
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair
from totonoe_core.queries import Comparison, PresetOutcome
from totonoe_core.records import Method, ModelIdentity
from totonoe_core.text.normalize import canonical_form, refusing_form


def compare(
    text_a: str,
    text_b: str,
    vectors: NDArray[np.float32] | None,
    model: ModelIdentity | None,
) -> Comparison:
    """Similarities of two texts, and what each preset would do with the second.

    Parameters
    ----------
    vectors : float32[2, dim] or None
        Unit vectors of the texts; `None` without an embedder.
    """
    same_text = refusing_form(text_a) == refusing_form(text_b)
    same_words = canonical_form(text_a) == canonical_form(text_b)
    cosine = None if vectors is None else similarity64(vectors[0], vectors[1])
    outcomes = []
    for preset, policy in PRESETS.items():
        method = verdict(text_a, text_b, policy, same_text, same_words, cosine)
        outcomes.append(PresetOutcome(preset.value, method is not Method.NONE, method.value))
    return Comparison(
        same_text=same_text,
        same_words=same_words,
        cosine_similarity=None if cosine is None else max(-1.0, min(1.0, cosine)),
        jaccard_similarity=token_jaccard(text_a, text_b, Tokenizer.SCRIPT_AWARE),
        presets=tuple(outcomes),
        model=model,
    )


def token_jaccard(text_a: str, text_b: str, tokenizer: Tokenizer) -> float:
    """Token Jaccard similarity of two texts, 0..1."""
    return jaccard_pair(guard_tokens(text_a, tokenizer), guard_tokens(text_b, tokenizer))


def verdict(
    text_a: str,
    text_b: str,
    policy: GuardPolicy,
    same_text: bool,
    same_words: bool,
    cosine: float | None,
) -> Method:
    """Layer by which a policy refuses the second text while the first is stored."""
    if policy.exact and same_text:
        return Method.EXACT
    if policy.jaccard_above is not None and (
        token_jaccard(text_a, text_b, policy.tokenizer) > policy.jaccard_above
    ):
        return Method.JACCARD
    if (
        cosine is not None
        and cosine_refuses(policy, cosine)
        and (same_words or not policy.cosine_needs_same_words)
    ):
        return Method.COSINE
    return Method.NONE
