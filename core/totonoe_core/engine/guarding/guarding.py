"""The guard on a collection: a text in; who refuses it, and what is beside it, out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.records import TRUST, GuardReport, Method, Verdict
from totonoe_core.engine.guarding import answering
from totonoe_core.engine.guarding.answering import Neighbours
from totonoe_core.engine.guarding.judging import (
    JudgedNeighbour,
    Judgements,
    NeedsOpinion,
    likely_same,
)
from totonoe_core.engine.guarding.texts import GuardedText, Texts
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.guard import candidates, verdict
from totonoe_core.guard.candidates import GuardResult, Probe
from totonoe_core.guard.prefetched import PrefetchedScan
from totonoe_core.index.collection_index import Features, payload_hash
from totonoe_core.index.selection import equal
from totonoe_core.judging import JudgingService
from totonoe_core.judging.hearing import Hearing
from totonoe_core.text.reading.budget import ReadingBudget


class Guarding:
    """The guard of one collection, on its writer thread."""

    def __init__(self, state: CollectionState, judging: JudgingService | None = None) -> None:
        self._state = state
        self._judging = judging
        self._own_judge = judging if judging is not None and judging.is_own else None

    @property
    def has_own_judge(self) -> bool:
        """Return whether the daemon's own judge reads what the layers leave open."""
        return self._own_judge is not None

    def by_text(self, text: GuardedText, now_us: int) -> GuardReport | None:
        """Return the report if equal text alone refuses; `None` if a vector is needed to decide."""
        nominees = self._state.index.slots_with_text(text.content_hash)
        if not text.policy.exact or not nominees or text.why_never_refused:
            return None
        texts = Texts(self._state, text)
        refusing = texts.comparable.narrowed(equal("payload_hash", payload_hash(text.fields)))
        report, slot, _ = candidates.exact(text.policy, refusing, nominees, texts.is_equal)
        if slot < 0:
            return None
        layers = (report, *candidates.skipped("an earlier layer refused")[1:])
        judgement = verdict.judged(text.content, text.content, 1.0, CAREFUL)
        duplicate = answering.duplicate_at(texts, slot, 1.0, Method.EXACT, judgement, now_us)
        return GuardReport(duplicate, Method.EXACT, 1.0, (), layers, Verdict.DUPLICATE)

    def by_all(
        self,
        text: GuardedText,
        features: Features,
        now_us: int,
        may_ask: bool = False,
        neighbours: bool = True,
        reading: ReadingBudget | None = None,
    ) -> tuple[GuardReport, Neighbours]:
        """Return the report of all layers, and the neighbours for links and superseding.

        Raises `NeedsOpinion` if it may ask a judge and nothing refuses without one. The daemon's
        own judge reads after all layers, and what the readings call a duplicate
        (`judging.cascade`). Without `neighbours` only refusals are searched. READ_PIECES_MAX are
        read, the nearest first, and no more than `reading`, the budget of the operation, has left.
        """
        policy = text.policy
        own_judge = None if policy.judged_from is None else self._own_judge
        hearing = Hearing(None)
        if policy.judged_from is not None and own_judge is None:
            hearing = Hearing(self._judging, policy.judged_from, may_ask)
        budget = ReadingBudget(limits.READ_PIECES_MAX, within=reading)
        texts = Texts(self._state, text, features)
        why_not = text.why_never_refused or ("typed key" if text.fields.key is not None else "")
        judgements = Judgements(texts, hearing, budget, None if why_not else own_judge)
        found = self._searched(texts, judgements, not why_not, neighbours, own_judge is not None)
        if may_ask:
            judgements.ask_of_duplicate(found.slot)
        others = [
            candidate
            for candidate in found.near
            if candidate.comparable and candidate.slot != found.slot
        ]
        shown = answering.shown(others, policy.similar_above)
        texts.read([candidate.slot for candidate in shown])
        unread = False
        if not why_not:
            judgements.judge_beside_layers(found.slot, others, shown)
        if found.slot < 0:
            if hearing.wanted:
                raise NeedsOpinion(hearing.wanted)
            if own_judge is not None and not why_not:
                found, unread = judgements.by_own_judge(found, may_ask)
                shown = [candidate for candidate in shown if candidate.slot != found.slot]
        if found.slot < 0:
            judgements.keep_to_the_answer()
        report = answering.reported(texts, found, shown, judgements.by_slot, now_us, why_not)
        nearest = judgements.nearest_first()
        likely = likely_same(text, nearest)
        beside = Neighbours(found.near, nearest, likely, texts, budget, unread)
        if report.duplicate is None:
            report = answering.with_one(report, beside, now_us)
        return report, beside

    def beside(
        self, text: GuardedText, features: Features, slots: Sequence[int], reading: ReadingBudget
    ) -> tuple[JudgedNeighbour, ...]:
        """Judge some memories whatever their similarity; nobody is asked for an opinion."""
        texts = Texts(self._state, text, features)
        budget = ReadingBudget(limits.READ_PIECES_MAX, within=reading)
        judgements = Judgements(texts, Hearing(None), budget)
        texts.read(slots)
        for slot in slots:
            judgements.judge(slot, texts.similarity(slot))
        return tuple(judgements.by_slot.values())

    def _searched(
        self,
        texts: Texts,
        judgements: Judgements,
        refuse: bool,
        neighbours: bool,
        nominate: bool,
    ) -> GuardResult:
        """Run the layers, with a prefetched scan if the writer made one for the vector."""
        index, text, features = self._state.index, texts.text, texts.features
        scan = None
        if refuse and not texts.blind:
            scan = self._state.scans.of(index, features.vector, text.policy)
        return candidates.search(
            texts.view,
            self._probe(texts, judgements),
            text.policy,
            texts.comparable,
            texts.visible,
            refuse=refuse,
            token_index=index.token_index,
            prefix=index.prefix,
            graph=index.graph,
            scanned=scan if isinstance(scan, PrefetchedScan) else None,
            known=scan if isinstance(scan, np.ndarray) else None,
            neighbours=neighbours,
            nominate=nominate,
        )

    def _probe(self, texts: Texts, judgements: Judgements) -> Probe:
        """Return a text as the layers compare it."""
        index, text, features = self._state.index, texts.text, texts.features
        return Probe(
            vector=features.vector,
            tokens=features.tokens,
            payload=payload_hash(text.fields),
            session=index.arrays.sessions.find(text.fields.session_id),
            text_nominees=index.slots_with_text(text.content_hash),
            words_nominees=index.slots_with_words(features.canonical),
            confirm_text=texts.is_equal,
            judge=judgements.judge,
            fetch=texts.read,
            blind=texts.blind,
            lacking=index.arrays.may_lack,
            trust=TRUST[text.fields.source],
        )
