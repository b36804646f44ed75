"""Candidates of the guard: exact over all live memories, layer by layer.

Every layer covers the whole collection: no window, no approximate index. The float32 pass only
finds the slots within rounding of the best; `similarity64` decides, so the answer does not depend
on batch, thread or path. So are the memories that are shown and linked, unless a policy shows what
is too far for a prefix scan: then the graph may nominate these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.domain.policy import Action, GuardPolicy
from totonoe_core.domain.records import Judgement, LayerReport, Method
from totonoe_core.guard.cosines import PRUNES_FROM, Cosines, similarities64_at
from totonoe_core.guard.prefetched import PrefetchedScan, Similarities
from totonoe_core.index.arrays import View
from totonoe_core.index.hnsw import Graph
from totonoe_core.index.prefix import Prefix
from totonoe_core.index.selection import Selection, at_least, equal
from totonoe_core.index.token_index import TokenIndex, jaccard_at


@dataclass(frozen=True, slots=True)
class Probe:
    """The new memory, as the guard compares it.

    `text_nominees` and `words_nominees` are slots whose text, or words in their order
    (`canonical_form`), have the same 64-bit hash; ascending. The hash only nominates:
    `confirm_text` and `judge`, which takes a slot and its cosine, decide on the texts themselves;
    `fetch` reads the texts of slots that will be judged, by one statement.
    `blind` is the reason for a missing vector (it is zero): then no cosine layer runs. `lacking` is
    true if some memory may have no vector. `judge` compares such a pair by its words. `trust` is
    that in the source of the text (`records.TRUST`).
    """

    vector: NDArray[np.float32]
    tokens: NDArray[np.uint64]
    payload: int
    session: int
    text_nominees: tuple[int, ...]
    words_nominees: tuple[int, ...]
    confirm_text: Callable[[int], bool]
    judge: Callable[[int, float], Judgement]
    fetch: Callable[[Sequence[int]], None]
    blind: str = ""
    lacking: bool = False
    trust: int = 0


class Candidate(NamedTuple):
    """A slot with both float64 similarities, and whether it is comparable.

    A tuple, since a Remember makes sixteen, and a frozen dataclass takes four times as long.
    """

    slot: int
    cosine: float
    jaccard: float
    comparable: bool


@dataclass(frozen=True, slots=True)
class GuardResult:
    """Result of the layers. `slot` is -1 if nothing refuses.

    `near` are the nearest visible memories, by cosine or by words, for the similar list and the
    links; `similarity` is the refusing layer's, else the best that any layer or the search for
    neighbours found. `nominated` are the memories that a judge may read.
    """

    slot: int
    method: Method
    similarity: float
    layers: tuple[LayerReport, ...]
    near: tuple[Candidate, ...]
    nominated: tuple[Candidate, ...] = ()


LAYERS = (Method.EXACT, Method.JACCARD, Method.COSINE, Method.SESSION_COSINE)


def skipped(why: str) -> tuple[LayerReport, ...]:
    """Return the reports of a guard that did not run."""
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
    scanned: PrefetchedScan | None = None,
    known: Similarities | None = None,
    neighbours: bool = True,
    nominate: bool = False,
) -> GuardResult:
    """Run each layer in order and stop at the first that refuses.

    Parameters
    ----------
    comparable : Selection
        Slots that may refuse: live states of the same state kind that the caller may read.
    visible : Selection
        Slots that may be shown as similar or linked: live and readable.
    refuse : bool
        If false, no layer runs (logs, forced saves), and only the neighbours are looked up.
    token_index : TokenIndex
        Of the view's arrays; it may lag.
    prefix, graph : Prefix, Graph or None
        Of the view's arrays; with a prefix, nothing is scored in full if the policy looks at near
        memories only, or if there is a graph too. The decision is the same, but a cosine layer
        that refuses nothing may leave out its best similarity.
    scanned, known : PrefetchedScan, float32[count] or None
        Result of a prefetched scan for the probe's vector; it changes no answer.
    neighbours : bool
        If false, only the refusing layers run; `near` is empty.
    nominate : bool
        Nominate memories for a judge, if no layer refuses.

    Notes
    -----
    A slot refuses only if its payload is equal too: equal text with another payload is a
    new value. Ties in similarity go to the slot that was written first.
    """
    near_from = lowest_near(policy, neighbours)
    cosines = Cosines(view, probe.vector, visible, near_from, prefix, graph, scanned, known)
    nominate = nominate and refuse
    seen_above = _seen_above(probe, policy, neighbours)
    least = min(seen_above, NOMINATED_WORDS_ABOVE) if nominate else seen_above
    all_by_words = _by_words(view, probe, comparable, token_index, least)
    by_words = _above(all_by_words, seen_above) if nominate else all_by_words

    def look() -> tuple[Candidate, ...]:
        if not neighbours:
            return ()
        return nearest(view, probe, policy, comparable, visible, cosines, by_words)

    reports: list[LayerReport] = []
    if refuse:
        layers = _Layers(view, probe, policy, comparable, cosines, by_words)
        for report, slot, similarity in layers.outcomes():
            reports.append(report)
            if slot >= 0:
                near = look()
                reports += skipped("an earlier layer refused")[len(reports) :]
                return GuardResult(slot, report.layer, min(1.0, similarity), tuple(reports), near)
    near = look()
    best = max((report.best_similarity or 0.0 for report in reports), default=0.0)
    if any(report.ran and report.layer is Method.COSINE for report in reports):
        seen = (candidate.cosine for candidate in near if candidate.comparable)
        best = max(best, min(1.0, max(seen, default=0.0)))
    nominated = _nominated(view, probe, comparable, cosines, all_by_words) if nominate else ()
    return GuardResult(-1, Method.NONE, best, tuple(reports), near, nominated)


_Outcome = tuple[LayerReport, int, float]
_Matches = tuple[NDArray[np.int64], NDArray[np.float64]]
WORDS_ABOVE = 0.4
"""Jaccard similarity above which two texts are read at any cosine (docs/quality.md)."""
NOMINATED_FROM = 0.6
"""Cosine similarity from which a judge may read two texts."""
NOMINATED_WORDS_ABOVE = 0.25
"""Jaccard similarity above which a judge may read two texts at any cosine."""
_NO_MATCHES: _Matches = (np.zeros(0, np.int64), np.zeros(0, np.float64))


def _seen_above(probe: Probe, policy: GuardPolicy, neighbours: bool) -> float:
    """Return the Jaccard similarity above which any layer looks at a memory, or it is shown."""
    asked = [policy.similar_above]
    if policy.jaccard_above is not None:
        asked.append(policy.jaccard_above)
    if policy.judged_from is not None or probe.blind or probe.lacking:
        asked.append(WORDS_ABOVE)
    # Not below 0, even if `similar_above` is: the kernel's bounds need a share.
    seen_above = max(0.0, min(asked))
    if not neighbours:
        seen_above = max(seen_above, min(asked[1:], default=1.0))
    return seen_above


def _by_words(
    view: View, probe: Probe, comparable: Selection, token_index: TokenIndex, above: float
) -> _Matches:
    """Return the comparable slots with more common words than `above`, ascending."""
    if above >= 1.0:
        return _NO_MATCHES
    # The few that are found are checked: a mask of all slots costs more than the search.
    slots, values = token_index.above(view, probe.tokens, above, np.ones(view.count, np.bool_))
    kept = comparable.at(slots)
    return slots[kept], values[kept]


def _above(matches: _Matches, above: float) -> _Matches:
    slots, values = matches
    enough = values > above
    return slots[enough], values[enough]


def _nominated(
    view: View, probe: Probe, comparable: Selection, cosines: Cosines, by_words: _Matches
) -> tuple[Candidate, ...]:
    """Return memories that may say the same: the nearest, and those with most common words.

    At most NOMINATED_MAX of each, with an equal payload; nearest by cosine first, ties by slot.
    """
    same_payload = comparable.narrowed(equal("payload_hash", probe.payload))
    worded, shared = by_words
    kept = same_payload.at(worded)
    worded, shared = worded[kept], shared[kept]
    slots = worded[np.lexsort((worded, -shared))[: limits.NOMINATED_MAX]]
    if not probe.blind:
        near = cosines.nominated(same_payload, limits.NOMINATED_MAX, NOMINATED_FROM)
        slots = np.union1d(slots, near)
    slots = np.sort(slots)
    exactly = similarities64_at(view, probe.vector, slots)
    words = jaccard_at(view, probe.tokens, slots)
    order = np.lexsort((slots, -exactly))
    columns = (slots, exactly, words, np.ones(len(slots), np.bool_))
    return tuple(map(Candidate, *(column[order].tolist() for column in columns)))


def _off(layer: Method, why: str = "off in policy") -> _Outcome:
    return LayerReport(layer, ran=False, skipped_because=why), -1, 0.0


def exact(
    policy: GuardPolicy,
    refusing: Selection,
    nominees: Sequence[int],
    confirm: Callable[[int], bool],
) -> _Outcome:
    """Run the layer of equal text, which needs no vector; nominees and check as of a probe."""
    if not policy.exact:
        return _off(Method.EXACT)
    slots = np.array(nominees, np.int64)
    for slot in slots[refusing.at(slots)].tolist():
        if confirm(slot):
            return LayerReport(Method.EXACT, ran=True, best_similarity=1.0), slot, 1.0
    return LayerReport(Method.EXACT, ran=True), -1, 0.0


class _Layers:
    """The layers of one search, with what they share."""

    def __init__(
        self,
        view: View,
        probe: Probe,
        policy: GuardPolicy,
        comparable: Selection,
        cosines: Cosines,
        by_words: _Matches,
    ) -> None:
        self._view, self._probe, self._policy = view, probe, policy
        self._comparable, self._cosines, self._by_words = comparable, cosines, by_words
        self._refusing = comparable.narrowed(equal("payload_hash", probe.payload))
        # Only equal text refuses whatever its source.
        self._trusted = self._refusing.narrowed(at_least("source", probe.trust))
        # More if all holders of a value may go.
        self._read_max = (
            limits.SAME_VALUE_MAX if policy.supersedes else limits.VERDICT_CANDIDATES_MAX
        )

    def outcomes(self) -> Iterator[_Outcome]:
        """Yield the outcome of each layer; a layer is computed only when it is reached."""
        probe = self._probe
        yield exact(self._policy, self._refusing, probe.text_nominees, probe.confirm_text)
        yield self._jaccard()
        yield self._cosine()
        yield self._session()

    def _jaccard(self) -> _Outcome:
        threshold = self._policy.jaccard_above
        unread_count = 0
        if self._policy.judged_from is not None:
            outcome = self._same_words()
            if outcome[1] < 0:
                outcome = self._judged_by_words()
            if outcome[1] >= 0 or threshold is None:
                return outcome
            unread_count = outcome[0].unread_count
        if threshold is None:
            return _off(Method.JACCARD)
        if not len(self._probe.tokens):
            return _off(Method.JACCARD, "no tokens")
        slots, values = self._by_words
        best = float(values.max()) if len(values) else None
        report = LayerReport(Method.JACCARD, True, best_similarity=best, unread_count=unread_count)
        over = (values > threshold) & self._trusted.at(slots)
        if not over.any():
            return report, -1, 0.0
        # argmax takes the first of equal values, which is the lowest slot.
        at = int(np.argmax(np.where(over, values, -1.0)))
        return report, int(slots[at]), float(values[at])

    def _same_words(self) -> _Outcome:
        """Refuse the same words in the same order at any cosine.

        Some models move by half for a full stop or capitals.
        """
        nominees = np.array(self._probe.words_nominees, np.int64)
        # Cut after: earlier versions and superseded memories would take the places of live ones.
        slots = nominees[self._comparable.at(nominees)][: self._read_max].tolist()
        slot, _, unread_count = self._first_refused([(slot, 1.0, 1.0) for slot in slots])
        best = 1.0 if slot >= 0 else None
        report = LayerReport(Method.JACCARD, True, best_similarity=best, unread_count=unread_count)
        return report, slot, best or 0.0

    def _judged_by_words(self) -> _Outcome:
        """Read the memories with the most common words, at any cosine.

        Those that the layer of the cosine reads are left to it. Exact, as that layer is: the order
        is that of the Jaccard similarity, ties by slot.
        """
        slots, values = self._by_words
        enough = values > WORDS_ABOVE
        slots, values = slots[enough], values[enough]
        if len(slots) and not self._probe.blind:
            left = ~np.isin(slots, self._nearest_read[0])
            slots, values = slots[left], values[left]
        chosen = np.sort(np.lexsort((slots, -values))[: self._read_max])
        slots, values = slots[chosen], values[chosen]
        compared_by = values
        if not self._probe.blind:
            exactly = similarities64_at(self._view, self._probe.vector, slots)
            compared_by = np.where(self._view.has_vector(slots), exactly, values)
        order = np.lexsort((slots, -values))
        best = float(values[order[0]]) if len(order) else None
        columns = (slots, compared_by, values)
        most_first = zip(*(column[order].tolist() for column in columns), strict=True)
        slot, value, unread_count = self._first_refused(list(most_first))
        report = LayerReport(Method.JACCARD, True, best_similarity=best, unread_count=unread_count)
        return report, slot, value

    def _cosine(self) -> _Outcome:
        policy, blind = self._policy, self._probe.blind
        by_threshold = (
            policy.cosine_distance_below is not None or policy.cosine_at_least is not None
        )
        if blind and (by_threshold or policy.judged_from is not None):
            return _off(Method.COSINE, blind)
        unread_count = 0
        if policy.judged_from is not None:
            outcome = self._judged()
            if outcome[1] >= 0 or not by_threshold:
                return outcome
            unread_count = outcome[0].unread_count
        if not by_threshold:
            return _off(Method.COSINE)
        at_least = _lowest_refused(policy)
        slot, similarity = self._cosines.best(self._trusted, at_least)
        _, best = self._cosines.best(self._comparable, at_least)
        report = LayerReport(
            Method.COSINE, True, best_similarity=_shown(best), unread_count=unread_count
        )
        if similarity is None or not cosine_refuses(policy, similarity):
            return report, -1, 0.0
        return report, slot, similarity

    def _judged(self) -> _Outcome:
        """Read the nearest above a similarity; the first that the verdict refuses decides."""
        slots, exactly = self._nearest_read
        best = _shown(float(exactly[0])) if len(exactly) else None
        nearest_first = zip(slots.tolist(), exactly.tolist(), exactly.tolist(), strict=True)
        slot, similarity, unread_count = self._first_refused(list(nearest_first))
        report = LayerReport(Method.COSINE, True, best_similarity=best, unread_count=unread_count)
        return report, slot, similarity

    @cached_property
    def _nearest_read(self) -> _Matches:
        """The slots that the layer of the cosine reads, nearest first.

        They are the nearest ones and, of some more, those with the most words in common: a vector
        hardly knows which of many notes of one form has the same number or name.
        """
        from_cosine, limit = self._policy.judged_from, self._read_max
        assert from_cosine is not None
        slots, exactly = self._cosines.reaching(
            self._comparable, from_cosine, limits.VERDICT_LOOKED_AT_MAX
        )
        if len(slots) <= limit:
            return slots, exactly
        ascending = np.argsort(slots)
        words = np.empty(len(slots))
        words[ascending] = jaccard_at(self._view, self._probe.tokens, slots[ascending])
        # `slots` are nearest first, so that a stable sort leaves the nearer of equal ones in front.
        chosen = np.union1d(np.arange(limit), np.argsort(-words, kind="stable")[:limit])
        return slots[chosen], exactly[chosen]

    def _first_refused(self, nearest: Sequence[tuple[int, float, float]]) -> tuple[int, float, int]:
        """Return slot and similarity of the first that the verdict refuses, or -1 and 0.

        `nearest` are slots, the similarities that the verdict gets, and those to report. Also
        returns the number of pairs that were not read to their end.
        """
        unread_count = 0
        self._probe.fetch([slot for slot, _, _ in nearest])
        for slot, compared_by, similarity in nearest:
            judgement = self._probe.judge(slot, compared_by)
            if self._policy.action(judgement) is Action.REFUSE:
                return slot, similarity, unread_count
            unread_count += judgement.over_budget
        return -1, 0.0, unread_count

    def _session(self) -> _Outcome:
        layer, threshold = Method.SESSION_COSINE, self._policy.session_cosine_at_least
        if threshold is None:
            return _off(layer)
        if self._probe.session == 0:
            return _off(layer, "no session id")
        if self._probe.blind:
            return _off(layer, self._probe.blind)
        same = equal("session", self._probe.session)
        slot, similarity = self._cosines.best(self._trusted.narrowed(same), threshold)
        _, best = self._cosines.best(self._comparable.narrowed(same), threshold)
        report = LayerReport(layer, ran=True, best_similarity=_shown(best))
        if similarity is None or similarity < threshold:
            return report, -1, 0.0
        return report, slot, similarity


def _shown(similarity: float | None) -> float | None:
    """Return a similarity for reports: two unit float32 vectors can multiply to a little over 1."""
    return None if similarity is None else max(-1.0, min(1.0, similarity))


def cosine_refuses(policy: GuardPolicy, similarity: float) -> bool:
    """Return whether a float64 similarity passes the policy's cosine thresholds."""
    below, at_least = policy.cosine_distance_below, policy.cosine_at_least
    return (below is not None and 1.0 - similarity < below) or (
        at_least is not None and similarity >= at_least
    )


def _lowest_refused(policy: GuardPolicy) -> float:
    """Return the lowest similarity that passes the policy's cosine thresholds."""
    below, at_least = policy.cosine_distance_below, policy.cosine_at_least
    refused = math.inf if at_least is None else at_least
    # 1 - distance is rounded: a little lower, so that no refusing similarity is below it.
    return refused if below is None else min(refused, 1.0 - below - 1e-12)


def scanned_from(policy: GuardPolicy, neighbours: bool = True) -> float | None:
    """Return the lowest similarity of a policy's prefix scan; `None` if it needs none."""
    asked = (
        policy.judged_from,
        _lowest_refused(policy),
        policy.session_cosine_at_least,
        lowest_near(policy, neighbours),
    )
    scanned = (cosine for cosine in asked if cosine is not None and PRUNES_FROM <= cosine <= 1.0)
    return min(scanned, default=None)


def nearest(
    view: View,
    probe: Probe,
    policy: GuardPolicy,
    comparable: Selection,
    visible: Selection,
    cosines: Cosines,
    by_words: _Matches,
) -> tuple[Candidate, ...]:
    """Return the nearest visible slots by cosine, and those with most common words, both re-scored.

    At most NEIGHBOURS_SCORED_MAX of each; nearest by cosine first, ties by slot. By cosine only
    those that the policy shows, links or reads.
    """
    limit = limits.NEIGHBOURS_SCORED_MAX
    slots = cosines.nearest(visible, limit, lowest_near(policy))
    worded, shared = by_words
    if len(worded):
        slots = np.union1d(slots, worded[np.lexsort((worded, -shared))[:limit]])
    exactly = similarities64_at(view, probe.vector, slots)
    words = jaccard_at(view, probe.tokens, slots)
    order = np.lexsort((slots, -exactly))
    columns = (slots, exactly, words, comparable.at(slots))
    return tuple(map(Candidate, *(column[order].tolist() for column in columns)))


def lowest_near(policy: GuardPolicy, neighbours: bool = True) -> float:
    """Return the lowest cosine similarity at which a policy does anything with a memory.

    Infinity if no neighbours are looked for.
    """
    if not neighbours:
        return math.inf
    linked = 1.0 - policy.link_distance_below if policy.link_distance_below else 1.0
    judged = 1.0 if policy.judged_from is None else policy.judged_from
    return min(policy.similar_above, linked, judged)
