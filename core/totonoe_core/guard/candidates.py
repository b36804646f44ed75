"""Who might say the same: exact over all live memories, layer by layer.

Every layer asks the whole collection (DESIGN.md §6): no window, no approximate index. The
float32 pass only finds who lies within rounding of the best; `similarity64` decides, so
the answer does not depend on batch, thread or path. Neighbours that are only shown and
linked may be nominated by the graph, after the decision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits
from totonoe_core.guard.ahead import Scanned, Similarities
from totonoe_core.guard.cosines import PRUNES_FROM, Cosines, similarities64_at
from totonoe_core.guard.policy import Action, GuardPolicy
from totonoe_core.index.arrays import View
from totonoe_core.index.hnsw import Graph
from totonoe_core.index.prefix import Prefix
from totonoe_core.index.selection import Selection, equal
from totonoe_core.index.token_index import TokenIndex, jaccard_at
from totonoe_core.records import Judgement, LayerReport, Method


@dataclass(frozen=True, slots=True)
class Probe:
    """The memory that asks to come in.

    `text_nominees` and `words_nominees` are slots whose text, or words in their order
    (`canonical_form`), have the same 64-bit hash; ascending. The hash nominates, and
    `confirm_text` and `judge`, which takes a slot and its cosine, decide on the texts themselves.
    `blind` says why there is no vector, where there is none (it is zero): then no cosine layer
    runs, and the words nominate what is judged.
    """

    vector: NDArray[np.float32]
    tokens: NDArray[np.uint64]
    payload: int
    session: int
    text_nominees: tuple[int, ...]
    words_nominees: tuple[int, ...]
    confirm_text: Callable[[int], bool]
    judge: Callable[[int, float], Judgement]
    blind: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A slot, how near it is, both by float64, and whether it is comparable."""

    slot: int
    cosine: float
    jaccard: float
    comparable: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What the layers found. `slot` is -1 if nothing refuses.

    `near` are the nearest visible memories, by cosine or by words, for the similar list and
    the links; `similarity` is the refusing layer's, else the best that any layer or the
    look for neighbours saw.
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


def search(
    view: View,
    probe: Probe,
    policy: GuardPolicy,
    comparable: Selection,
    visible: Selection,
    refuse: bool,
    token_index: TokenIndex,
    prefix: Prefix | None = None,
    graph: Graph | None = None,
    scanned: Scanned | None = None,
    known: Similarities | None = None,
    neighbours: bool = True,
) -> Found:
    """Asks each layer in order and stops at the first that refuses.

    Parameters
    ----------
    comparable : Selection
        Slots that may refuse: live states of the same state kind that the caller may read.
    visible : Selection
        Slots that may be shown as similar or linked: live and readable.
    refuse : bool
        False: no layer runs (logs, forced saves), only the neighbours are looked up.
    token_index : TokenIndex
        Of the view's arrays; it may lag.
    prefix, graph : Prefix, Graph or None
        Of the view's arrays; where both are made, nothing else is scored in full. The
        decision is the same, but a cosine layer that refuses nothing may not know its best
        similarity, and leaves it out.
    scanned, known : Scanned, float32[count] or None
        What a scan ahead found for the probe's vector; it changes no answer.
    neighbours : bool
        False: only what refuses is asked; `near` is empty.

    Notes
    -----
    A slot refuses only if its payload is equal too: equal text with another payload is a
    new value. Ties in similarity go to the slot that was written first.
    """
    cosines = Cosines(view, probe.vector, comparable, prefix, graph, scanned, known, neighbours)
    by_words = _NO_MATCHES
    asked_above = policy.jaccard_above
    if probe.blind:
        asked_above = _BLIND_WORDS_ABOVE if asked_above is None else asked_above
    if refuse and asked_above is not None:
        # Not below 0, whatever is shown as similar: the kernel's bounds need a share.
        seen_above = max(0.0, min(asked_above, policy.similar_above))
        if seen_above < 1.0:
            by_words = token_index.above(view, probe.tokens, seen_above, comparable.all())

    def look() -> tuple[Candidate, ...]:
        return nearest(view, probe, comparable, visible, cosines, by_words) if neighbours else ()

    reports: list[LayerReport] = []
    if refuse:
        layers = _layers(probe, policy, comparable, cosines, by_words)
        for report, slot, similarity in layers:
            reports.append(report)
            if slot >= 0:
                near = look()
                reports += skipped("an earlier layer refused")[len(reports) :]
                return Found(slot, report.layer, min(1.0, similarity), tuple(reports), near)
    near = look()
    best = max((report.best_similarity or 0.0 for report in reports), default=0.0)
    if any(report.ran and report.layer is Method.COSINE for report in reports):
        seen = (one.cosine for one in near if one.comparable)
        best = max(best, min(1.0, max(seen, default=0.0)))
    return Found(-1, Method.NONE, best, tuple(reports), near)


_Outcome = tuple[LayerReport, int, float]
_Matches = tuple[NDArray[np.int64], NDArray[np.float64]]
_BLIND_WORDS_ABOVE = 0.4
_NO_MATCHES: _Matches = (np.zeros(0, np.int64), np.zeros(0, np.float64))


def _layers(
    probe: Probe,
    policy: GuardPolicy,
    comparable: Selection,
    cosines: Cosines,
    by_words: _Matches,
) -> Iterator[_Outcome]:
    """The layers one after the other; a later one is worked out only if it is asked for."""
    refusing = comparable.narrowed(equal("payload_hash", probe.payload))
    yield exact(probe, policy, refusing)
    yield _jaccard(probe, policy, comparable, refusing, by_words)
    yield _cosine(probe, policy, comparable, refusing, cosines)
    yield _session(probe, policy, comparable, refusing, cosines)


def _off(layer: Method, why: str = "off in policy") -> _Outcome:
    return LayerReport(layer, ran=False, skipped_because=why), -1, 0.0


def exact(probe: Probe, policy: GuardPolicy, refusing: Selection) -> _Outcome:
    """The layer of equal text, which needs no vector."""
    if not policy.exact:
        return _off(Method.EXACT)
    nominees = np.array(probe.text_nominees, np.int64)
    for slot in nominees[refusing.at(nominees)].tolist():
        if probe.confirm_text(slot):
            return LayerReport(Method.EXACT, ran=True, best_similarity=1.0), slot, 1.0
    return LayerReport(Method.EXACT, ran=True), -1, 0.0


def _jaccard(
    probe: Probe,
    policy: GuardPolicy,
    comparable: Selection,
    refusing: Selection,
    by_words: _Matches,
) -> _Outcome:
    threshold = policy.jaccard_above
    if policy.judged_from is not None:
        outcome = _same_words(probe, policy, comparable)
        if outcome[1] < 0 and probe.blind:
            outcome = _judged_by_words(probe, policy, comparable, by_words)
        if outcome[1] >= 0 or threshold is None:
            return outcome
    if threshold is None:
        return _off(Method.JACCARD)
    if not len(probe.tokens):
        return _off(Method.JACCARD, "no tokens")
    slots, values = by_words
    best = float(values.max()) if len(values) else None
    report = LayerReport(Method.JACCARD, ran=True, best_similarity=best)
    over = (values > threshold) & refusing.at(slots)
    if not over.any():
        return report, -1, 0.0
    # argmax takes the first of equal values, which is the lowest slot.
    at = int(np.argmax(np.where(over, values, -1.0)))
    return report, int(slots[at]), float(values[at])


def _same_words(probe: Probe, policy: GuardPolicy, comparable: Selection) -> _Outcome:
    """The same words in the same order refuse whatever the cosine: some models move by half
    for a full stop or capitals."""
    nominees = np.array(probe.words_nominees[: limits.VERDICT_CANDIDATES_MAX], np.int64)
    for slot in nominees[comparable.at(nominees)].tolist():
        if policy.action(probe.judge(slot, 1.0).verdict) is Action.REFUSE:
            return LayerReport(Method.JACCARD, ran=True, best_similarity=1.0), slot, 1.0
    return LayerReport(Method.JACCARD, ran=True), -1, 0.0


def _judged_by_words(
    probe: Probe, policy: GuardPolicy, comparable: Selection, by_words: _Matches
) -> _Outcome:
    """What the cosine would nominate, the words do: those of most common words are read."""
    slots, values = by_words
    asked = comparable.at(slots) & (values > _BLIND_WORDS_ABOVE)
    slots, values = slots[asked], values[asked]
    order = np.lexsort((slots, -values))[: limits.VERDICT_CANDIDATES_MAX]
    best = float(values[order[0]]) if len(order) else None
    report = LayerReport(Method.JACCARD, ran=True, best_similarity=best)
    for slot, value in zip(slots[order].tolist(), values[order].tolist(), strict=True):
        if policy.action(probe.judge(slot, value).verdict) is Action.REFUSE:
            return report, slot, value
    return report, -1, 0.0


def _cosine(
    probe: Probe,
    policy: GuardPolicy,
    comparable: Selection,
    refusing: Selection,
    cosines: Cosines,
) -> _Outcome:
    by_threshold = policy.cosine_distance_below is not None or policy.cosine_at_least is not None
    if probe.blind and (by_threshold or policy.judged_from is not None):
        return _off(Method.COSINE, probe.blind)
    if policy.judged_from is not None:
        outcome = _judged(probe, policy, policy.judged_from, comparable, cosines)
        if outcome[1] >= 0 or not by_threshold:
            return outcome
    if not by_threshold:
        return _off(Method.COSINE)
    at_least = _lowest_refused(policy)
    slot, similarity = cosines.best(refusing, at_least)
    _, best = cosines.best(comparable, at_least)
    report = LayerReport(Method.COSINE, ran=True, best_similarity=_shown(best))
    if similarity is None or not cosine_refuses(policy, similarity):
        return report, -1, 0.0
    return report, slot, similarity


def _judged(
    probe: Probe,
    policy: GuardPolicy,
    judged_from: float,
    comparable: Selection,
    cosines: Cosines,
) -> _Outcome:
    """The nearest that reach a similarity are read; the first that the verdict refuses decides."""
    slots, exactly = cosines.reaching(comparable, judged_from, limits.VERDICT_CANDIDATES_MAX)
    best = float(exactly[0]) if len(exactly) else None
    report = LayerReport(Method.COSINE, ran=True, best_similarity=_shown(best))
    for slot, similarity in zip(slots.tolist(), exactly.tolist(), strict=True):
        if policy.action(probe.judge(slot, similarity).verdict) is Action.REFUSE:
            return report, slot, similarity
    return report, -1, 0.0


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
    probe: Probe,
    policy: GuardPolicy,
    comparable: Selection,
    refusing: Selection,
    cosines: Cosines,
) -> _Outcome:
    layer, threshold = Method.SESSION_COSINE, policy.session_cosine_at_least
    if threshold is None:
        return _off(layer)
    if probe.session == 0:
        return _off(layer, "no session id")
    if probe.blind:
        return _off(layer, probe.blind)
    same = equal("session", probe.session)
    asked = refusing.narrowed(same)
    slot, similarity = cosines.best(asked, threshold)
    _, best = cosines.best(comparable.narrowed(same), threshold)
    report = LayerReport(layer, ran=True, best_similarity=_shown(best))
    if similarity is None or similarity < threshold:
        return report, -1, 0.0
    return report, slot, similarity


def _lowest_refused(policy: GuardPolicy) -> float:
    """No lower similarity passes the policy's cosine thresholds; all above it do."""
    below, at_least = policy.cosine_distance_below, policy.cosine_at_least
    refused = math.inf if at_least is None else at_least
    # 1 - distance is rounded: a little lower, so that nothing which refuses is below it.
    return refused if below is None else min(refused, 1.0 - below - 1e-12)


def scanned_from(policy: GuardPolicy) -> float | None:
    """The lowest similarity that a policy has the prefix scanned for; `None`: it has it not."""
    asked = (policy.judged_from, _lowest_refused(policy), policy.session_cosine_at_least)
    scanned = (one for one in asked if one is not None and PRUNES_FROM <= one <= 1.0)
    return min(scanned, default=None)


def nearest(
    view: View,
    probe: Probe,
    comparable: Selection,
    visible: Selection,
    cosines: Cosines,
    by_words: _Matches,
) -> tuple[Candidate, ...]:
    """The nearest visible slots by cosine, and those of most common words, both re-scored.

    At most NEIGHBOURS_SCORED_MAX of each; nearest by cosine first, ties by slot.
    """
    limit = limits.NEIGHBOURS_SCORED_MAX
    slots = cosines.nearest(visible, limit)
    worded, shared = by_words
    if len(worded):
        slots = np.union1d(slots, worded[np.lexsort((worded, -shared))[:limit]])
    exactly = similarities64_at(view, probe.vector, slots)
    words = jaccard_at(view, probe.tokens, slots)
    order = np.lexsort((slots, -exactly))
    columns = (slots, exactly, words, comparable.at(slots))
    return tuple(map(Candidate, *(column[order].tolist() for column in columns)))
