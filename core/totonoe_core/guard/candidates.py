"""Who might say the same: exact over all live memories, layer by layer.

Every layer asks the whole collection (DESIGN.md §6): no window, no approximate index. The
float32 pass only finds who lies within rounding of the best; `similarity64` decides, so
the answer does not depend on batch, thread or path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits
from totonoe_core.guard.policy import GuardPolicy
from totonoe_core.index.arrays import View
from totonoe_core.index.masks import Mask
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair, scan_above
from totonoe_core.records import LayerReport, Method

SLACK = 1e-5
"""Bound on the float32 error of a similarity; measured 7.3e-7 at 384 dimensions."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The memory that asks to come in.

    `text_nominees` and `words_nominees` are slots whose text, or words in their order
    (`canonical_form`), have the same 64-bit hash; ascending. The hash nominates, and
    `confirm_text` and `confirm_words` decide on the texts themselves.
    """

    vector: NDArray[np.float32]
    tokens: NDArray[np.uint64]
    payload: int
    session: int
    text_nominees: tuple[int, ...]
    words_nominees: tuple[int, ...]
    confirm_text: Callable[[int], bool]
    confirm_words: Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A slot and how near it is, both by float64."""

    slot: int
    cosine: float
    jaccard: float


@dataclass(frozen=True, slots=True)
class Found:
    """What the layers found. `slot` is -1 if nothing refuses.

    `near` are the nearest visible memories, by cosine or by words, for the similar list and
    the links; `similarity` is the refusing layer's, else the best that any layer saw.
    """

    slot: int
    method: Method
    similarity: float
    layers: tuple[LayerReport, ...]
    near: tuple[Candidate, ...]


LAYERS = (Method.EXACT, Method.JACCARD, Method.COSINE, Method.SESSION_COSINE)


def skipped(why: str) -> tuple[LayerReport, ...]:
    """Reports of a guard that did not look at all."""
    return tuple(LayerReport(layer, ran=False, skipped_because=why) for layer in LAYERS)


def similarities(view: View, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32 similarity of every slot: one matrix-vector product for each chunk."""
    out = np.empty(view.count, np.float32)
    for base, size, chunk in view.parts():
        np.dot(chunk.vectors[:size], query, out=out[base : base + size])
    return out


def search(
    view: View, probe: Probe, policy: GuardPolicy, comparable: Mask, visible: Mask, refuse: bool
) -> Found:
    """Asks each layer in order and stops at the first that refuses.

    Parameters
    ----------
    comparable : bool[n]
        Slots that may refuse: live states of the same state kind that the caller may read.
    visible : bool[n]
        Slots that may be shown as similar or linked: live and readable.
    refuse : bool
        False: no layer runs (logs, forced saves), only the neighbours are looked up.

    Notes
    -----
    A slot refuses only if its payload is equal too: equal text with another payload is a
    new value. Ties in similarity go to the slot that was written first.
    """
    by_cosine = similarities(view, probe.vector)
    by_words = _NO_MATCHES
    if refuse and policy.jaccard_above is not None:
        # Not below 0, whatever is shown as similar: the kernel's bounds need a share.
        seen_above = max(0.0, min(policy.jaccard_above, policy.similar_above))
        by_words = jaccard_above(view, probe.tokens, seen_above, comparable)
    near = nearest(view, probe, visible, by_cosine, by_words)
    reports: list[LayerReport] = []
    if refuse:
        layers = _layers(view, probe, policy, comparable, by_cosine, by_words)
        for report, slot, similarity in layers:
            reports.append(report)
            if slot >= 0:
                reports += skipped("an earlier layer refused")[len(reports) :]
                return Found(slot, report.layer, min(1.0, similarity), tuple(reports), near)
    best = max((report.best_similarity or 0.0 for report in reports), default=0.0)
    return Found(-1, Method.NONE, best, tuple(reports), near)


_Outcome = tuple[LayerReport, int, float]
_Matches = tuple[NDArray[np.int64], NDArray[np.float64]]
_NO_MATCHES: _Matches = (np.zeros(0, np.int64), np.zeros(0, np.float64))


def _layers(
    view: View,
    probe: Probe,
    policy: GuardPolicy,
    comparable: Mask,
    by_cosine: NDArray[np.float32],
    by_words: _Matches,
) -> Iterator[_Outcome]:
    """The layers one after the other; a later one is worked out only if it is asked for."""
    refusing = comparable & (view.column("payload_hash") == probe.payload)
    yield exact(probe, policy, refusing)
    yield _jaccard(probe, policy, refusing, by_words)
    yield _cosine(view, probe, policy, comparable, refusing, by_cosine)
    yield _session(view, probe, policy, comparable, refusing, by_cosine)


def _off(layer: Method, why: str = "off in policy") -> _Outcome:
    return LayerReport(layer, ran=False, skipped_because=why), -1, 0.0


def exact(probe: Probe, policy: GuardPolicy, refusing: Mask) -> _Outcome:
    """The layer of equal text, which needs no vector."""
    if not policy.exact:
        return _off(Method.EXACT)
    for slot in probe.text_nominees:
        if refusing[slot] and probe.confirm_text(slot):
            return LayerReport(Method.EXACT, ran=True, best_similarity=1.0), slot, 1.0
    return LayerReport(Method.EXACT, ran=True), -1, 0.0


def _jaccard(probe: Probe, policy: GuardPolicy, refusing: Mask, by_words: _Matches) -> _Outcome:
    threshold = policy.jaccard_above
    if threshold is None:
        return _off(Method.JACCARD)
    if not len(probe.tokens):
        return _off(Method.JACCARD, "no tokens")
    slots, values = by_words
    best = float(values.max()) if len(values) else None
    report = LayerReport(Method.JACCARD, ran=True, best_similarity=best)
    over = (values > threshold) & refusing[slots]
    if not over.any():
        return report, -1, 0.0
    # argmax takes the first of equal values, which is the lowest slot.
    at = int(np.argmax(np.where(over, values, -1.0)))
    return report, int(slots[at]), float(values[at])


def jaccard_above(view: View, tokens: NDArray[np.uint64], threshold: float, mask: Mask) -> _Matches:
    """Slots with a Jaccard similarity above the threshold, ascending, and the similarities."""
    slots, values = [], []
    for base, size, chunk in view.parts():
        rows = np.empty(size, np.int32)
        out = np.empty(size, np.float64)
        found = scan_above(
            chunk.indptr[: size + 1],
            chunk.tokens,
            mask[base : base + size].view(np.uint8),
            tokens,
            threshold,
            rows,
            out,
        )
        slots.append(rows[:found].astype(np.int64) + base)
        values.append(out[:found])
    if not slots:
        return np.zeros(0, np.int64), np.zeros(0, np.float64)
    return np.concatenate(slots), np.concatenate(values)


def _cosine(
    view: View,
    probe: Probe,
    policy: GuardPolicy,
    comparable: Mask,
    refusing: Mask,
    by_cosine: NDArray[np.float32],
) -> _Outcome:
    if policy.cosine_distance_below is None and policy.cosine_at_least is None:
        return _off(Method.COSINE)
    _, best = _best(view, probe, comparable, by_cosine)
    report = LayerReport(Method.COSINE, ran=True, best_similarity=_shown(best))
    slot, similarity = _best_refusing(view, probe, policy, refusing, by_cosine)
    if similarity is None or not cosine_refuses(policy, similarity):
        return report, -1, 0.0
    return report, slot, similarity


def _best_with_same_words(view: View, probe: Probe, refusing: Mask) -> tuple[int, float | None]:
    slots = np.array([slot for slot in probe.words_nominees if refusing[slot]], np.int64)
    if not len(slots):
        return -1, None
    exactly = np.array([similarity64(vector, probe.vector) for vector in view.vectors(slots)])
    for at in np.argsort(-exactly, kind="stable"):
        if probe.confirm_words(int(slots[at])):
            return int(slots[at]), float(exactly[at])
    return -1, None


def _shown(similarity: float | None) -> float | None:
    """A similarity as it is told: two unit float32 vectors can multiply to a little over 1."""
    return None if similarity is None else max(-1.0, min(1.0, similarity))


def cosine_refuses(policy: GuardPolicy, similarity: float) -> bool:
    """Whether a float64 similarity passes the policy's cosine thresholds."""
    below, at_least = policy.cosine_distance_below, policy.cosine_at_least
    return (below is not None and 1.0 - similarity < below) or (
        at_least is not None and similarity >= at_least
    )


def _session(
    view: View,
    probe: Probe,
    policy: GuardPolicy,
    comparable: Mask,
    refusing: Mask,
    by_cosine: NDArray[np.float32],
) -> _Outcome:
    layer, threshold = Method.SESSION_COSINE, policy.session_cosine_at_least
    if threshold is None:
        return _off(layer)
    if probe.session == 0:
        return _off(layer, "no session id")
    same = view.column("session") == probe.session
    _, best = _best(view, probe, comparable & same, by_cosine)
    report = LayerReport(layer, ran=True, best_similarity=_shown(best))
    slot, similarity = _best_refusing(view, probe, policy, refusing & same, by_cosine)
    if similarity is None or similarity < threshold:
        return report, -1, 0.0
    return report, slot, similarity


def _best_refusing(
    view: View,
    probe: Probe,
    policy: GuardPolicy,
    refusing: Mask,
    by_cosine: NDArray[np.float32],
) -> tuple[int, float | None]:
    """The nearest that may refuse by cosine; (-1, None) if there is none."""
    if policy.cosine_needs_same_words:
        return _best_with_same_words(view, probe, refusing)
    return _best(view, probe, refusing, by_cosine)


def _best(
    view: View, probe: Probe, mask: Mask, by_cosine: NDArray[np.float32]
) -> tuple[int, float | None]:
    """Slot and float64 similarity of the nearest in a mask; (-1, None) if it is empty."""
    slots = np.flatnonzero(mask)
    if not len(slots):
        return -1, None
    values = by_cosine[slots]
    # Whoever is best by float64 lies within the slack of the best by float32.
    slots = slots[values >= values.max() - np.float32(SLACK)]
    exactly = np.array([similarity64(vector, probe.vector) for vector in view.vectors(slots)])
    at = int(np.argmax(exactly))
    return int(slots[at]), float(exactly[at])


def nearest(
    view: View,
    probe: Probe,
    visible: Mask,
    by_cosine: NDArray[np.float32],
    by_words: _Matches,
) -> tuple[Candidate, ...]:
    """The nearest visible slots by cosine, and those of most common words, both re-scored.

    At most NEIGHBOURS_SCORED_MAX of each; nearest by cosine first, ties by slot.
    """
    slots = np.flatnonzero(visible)
    limit = limits.NEIGHBOURS_SCORED_MAX
    if len(slots) > limit:
        slots = slots[np.argpartition(-by_cosine[slots], limit - 1)[:limit]]
    worded, shared = by_words
    slots = np.union1d(slots, worded[np.lexsort((worded, -shared))[:limit]])
    found = [
        Candidate(
            int(slot),
            similarity64(vector, probe.vector),
            jaccard_pair(view.tokens(int(slot)), probe.tokens),
        )
        for slot, vector in zip(slots, view.vectors(slots), strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (-one.cosine, one.slot)))
