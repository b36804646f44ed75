"""Judgements of one decision: how a text relates to each memory that is read.

The texts are compared first, then a judge's opinion is applied. A judge behind a URL is heard on
each pair as it is compared; the daemon's own reads what is still open after all layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.calibration import CAREFUL, bundled, weights_for
from totonoe_core.domain.policy import Action
from totonoe_core.domain.records import TRUST, Judgement, LayerReport, Method, Verdict
from totonoe_core.domain.weights import Weights
from totonoe_core.engine.guarding.texts import GuardedText, Texts
from totonoe_core.guard import verdict
from totonoe_core.guard.candidates import Candidate, GuardResult
from totonoe_core.guard.prefetched import Vector
from totonoe_core.guard.separate import is_separate
from totonoe_core.guard.verdict import Comparison
from totonoe_core.index.collection_index import payload_hash
from totonoe_core.judging import JudgingService, Opinion, TextPair, cascade
from totonoe_core.judging.hearing import Hearing, stated_for
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.text.reading.budget import ReadingBudget


class NeedsOpinion(Exception):  # noqa: N818 - not an error: it is decided again in a moment
    """A judge should decide on pairs of texts first."""

    def __init__(self, pairs: Sequence[TextPair]) -> None:
        super().__init__()
        self.pairs = tuple(pairs)


@dataclass(frozen=True, slots=True)
class JudgedNeighbour:
    """A memory whose text was read; `compared` is what was found, before payload and judge."""

    slot: int
    similarity: float
    judgement: Judgement
    compared: Comparison


class Judgements:
    """Judgements on a text beside the memories that are read, each once.

    Parameters
    ----------
    texts : Texts
        The text, and the memories beside it.
    hearing : Hearing
        The opinions to apply while comparing.
    budget : ReadingBudget
        How much may still be read.
    own_judge : JudgingService or None
        The daemon's own judge, which may keep a text that the readings call a duplicate.
    """

    def __init__(
        self,
        texts: Texts,
        hearing: Hearing,
        budget: ReadingBudget,
        own_judge: JudgingService | None = None,
    ) -> None:
        self._texts, self._text = texts, texts.text
        self._hearing, self._budget, self._own_judge = hearing, budget, own_judge
        self._unheard: dict[int, TextPair] = {}
        """Duplicates by slot of which the own judge has not been asked yet."""
        self._payload = payload_hash(texts.text.fields)
        self.by_slot: dict[int, JudgedNeighbour] = {}

    def judge(self, slot: int, similarity: float) -> Judgement:
        """Return the judgement of a memory, which is read unless it was before.

        Parameters
        ----------
        slot : int
        similarity : float
            As `Texts.similarity` returns it.
        """
        if slot not in self.by_slot:
            self.by_slot[slot] = self._read(slot, similarity)
        return self.by_slot[slot].judgement

    def judge_beside_layers(
        self, refused_by: int, others: Sequence[Candidate], shown: Sequence[Candidate]
    ) -> None:
        """Judge memories that no layer read, although the answer or the save needs them.

        A saved text is compared with the memories that are shown; a refused one with those that its
        duplicate may supersede.

        Parameters
        ----------
        refused_by : int
            Slot of the duplicate, -1 if no layer refuses.
        others, shown : sequence of Candidate
            The comparable memories nearby, and those of them that the answer shows.
        """
        policy, texts = self._text.policy, self._texts
        if policy.judged_from is None:
            return
        if refused_by < 0:
            chosen = [candidate for candidate in shown if self._words_in_common(candidate)]
        elif policy.supersedes:
            chosen = [
                candidate
                for candidate in others
                if candidate in shown or texts.similarity_of(candidate) >= policy.judged_from
            ]
        else:
            chosen = []
        for candidate in chosen:
            self.judge(candidate.slot, texts.similarity_of(candidate))

    def _words_in_common(self, candidate: Candidate) -> bool:
        """Return whether two texts may have a frame in common, judging by their words.

        Reading is the costliest part of a Remember. Of 56 labelled pairs in reach (cosine 0.6 to
        0.75) that share one to two words in ten, and have more than a few, the verdict is RELATED
        for 50, and 5 are likely the same, 3 of them rightly. Without them, on real notes, a
        Remember reads half as many texts, and asks fewer questions, of which more are right
        (docs/quality.md).
        """
        texts = self._texts
        words = len(texts.features.tokens) + len(texts.view.tokens(candidate.slot))
        return candidate.jaccard >= _SHARED_WORDS_MIN or words <= _FEW_WORDS

    def _read(self, slot: int, similarity: float) -> JudgedNeighbour:
        """Compare the text with a memory. Equal content with another payload or key updates."""
        texts, text = self._texts, self._text
        nearness, weights, known = self._weighed(slot, similarity)
        compared = self._compared(slot, nearness, weights, known)
        own, other = (text.content, text.content_hash), texts.of(slot)
        heard = self._hearing.heard(
            compared, nearness, weights, own, (other.content, other.content_hash)
        )
        # Settled again: a judge may call the same what it gives a low probability.
        judgement = self._by_trust(slot, text.policy.settled(heard))
        if texts.view.value("payload_hash", slot) != self._payload:
            other_payload = _WITH_OTHER_PAYLOAD.get(judgement.verdict, judgement.verdict)
            judgement = replace(judgement, verdict=other_payload, hard=True)
        if self._own_judge is not None and text.policy.action(judgement) is Action.REFUSE:
            judgement = self._unless_judge_differs(self._own_judge, slot, compared, judgement)
        return JudgedNeighbour(slot, similarity, judgement, compared)

    def _unless_judge_differs(
        self, service: JudgingService, slot: int, compared: Comparison, judgement: Judgement
    ) -> Judgement:
        """Return the judgement of a duplicate by the readings, with the own judge's opinion."""
        own, other = self._text.content, self._texts.of(slot).content
        if not cascade.may_keep(compared, judgement, own, other):
            return judgement
        put = self._put(slot)
        known, opinion = service.look_up(put)
        if opinion is not None:
            return self._by(opinion, put, cascade.OpenPair(slot, compared, judgement))
        if not known and service.accepts:
            self._unheard[slot] = put
        return judgement

    def _put(self, slot: int) -> TextPair:
        text, other = self._text, self._texts.of(slot)
        return TextPair.of(text.content, text.content_hash, other.content, other.content_hash)

    def _by(self, opinion: Opinion, put: TextPair, pair: cascade.OpenPair) -> Judgement:
        of_own = stated_for(opinion, put, self._text.content)
        return cascade.judged_by(pair, of_own, self._text.policy)

    def ask_of_duplicate(self, slot: int) -> None:
        """Raise `NeedsOpinion` if the own judge may keep a text that a memory refuses."""
        if slot in self._unheard:
            pairs = [self._unheard.pop(slot), *self._unheard.values()]
            raise NeedsOpinion(pairs[: limits.OWN_JUDGE_PAIRS_PER_SAVE_MAX])

    def _weighed(self, slot: int, similarity: float) -> tuple[float, Weights, bool]:
        """Return the similarity to compare by, its weights, and whether the model is bundled."""
        info, next_vector = self._texts.state.info, self._text.next_vector
        if next_vector is not None:
            return *self._by_next_model(next_vector, slot, similarity), False
        if self._texts.by_words(slot):
            return similarity, CAREFUL, False
        return similarity, weights_for(info.calibration, info.model), bundled(info.model)

    def _by_next_model(self, vector: Vector, slot: int, similarity: float) -> tuple[float, Weights]:
        """Return a memory's similarity by the next model, and the weights for it.

        Without a vector of that model yet: the given similarity, and careful weights.
        """
        state, row = self._texts.state, self._texts.of(slot).row
        beside = state.file.rows.beside.embeddings([row]).get(row)
        if state.pending is None or beside is None:
            return similarity, CAREFUL
        if beside.model_number != state.pending.model_number:
            return similarity, CAREFUL
        other = np.frombuffer(beside.vector, np.float32)
        return float(similarity64(vector, other)), weights_for(None, state.pending.model)

    def _compared(self, slot: int, nearness: float, weights: Weights, known: bool) -> Comparison:
        """Compare the two texts, settled by the policy, before anybody is heard."""
        texts, text, budget = self._texts, self._text, self._budget
        own, other = text.content, texts.of(slot).content
        other_words = int(texts.view.value("canonical_hash", slot)) != texts.features.canonical
        compared = verdict.compare(own, other, nearness, weights, budget, other_words, known)
        compared = replace(compared, judgement=text.policy.settled(compared.judgement))
        if (
            compared.whole_sentences
            and text.policy.on_contained is Action.REFUSE
            and compared.judgement.verdict is Verdict.CONTAINED
            and is_separate(own, other, budget)
        ):
            return compared.separate()
        return compared

    def _by_trust(self, slot: int, judgement: Judgement) -> Judgement:
        """Call RELATED what would refuse a text although the memory's source is less trusted.

        Both stay, and somebody is asked whether they say the same.
        """
        if int(self._texts.view.value("source", slot)) >= TRUST[self._text.fields.source]:
            return judgement
        if self._text.policy.action(judgement) is not Action.REFUSE:
            return judgement
        return replace(judgement, verdict=Verdict.RELATED)

    def by_own_judge(self, found: GuardResult, may_ask: bool) -> tuple[GuardResult, bool]:
        """Let the daemon's own judge read what nothing settled; return who refuses by it.

        The second value is true if it had no time for a pair. What was read only for the judge, and
        has no opinion, does not stay. Raises `NeedsOpinion` if it may ask, and a pair is unread.
        """
        service = self._own_judge
        assert service is not None, "who has none does not ask"
        before = set(self.by_slot)
        self._texts.read([candidate.slot for candidate in found.nominated])
        for candidate in found.nominated:
            self.judge(candidate.slot, self._texts.similarity_of(candidate))
        heard, unread = self._heard(service, may_ask)
        for slot in self.by_slot.keys() - before - heard:
            del self.by_slot[slot]
        why_not = "" if heard else "no pair has its opinion"
        report = LayerReport(Method.JUDGE, ran=bool(heard), skipped_because=why_not)
        found = replace(found, layers=(*found.layers, report))
        certain = [
            judged
            for judged in self.by_slot.values()
            if judged.judgement.by_judge
            and judged.judgement.verdict is Verdict.DUPLICATE
            and self._text.policy.action(judged.judgement) is Action.REFUSE
        ]
        if not certain:
            return found, unread
        most = min(certain, key=_most_probable)
        similarity = min(1.0, most.similarity)
        return replace(found, slot=most.slot, method=Method.JUDGE, similarity=similarity), False

    def _heard(self, service: JudgingService, may_ask: bool) -> tuple[set[int], bool]:
        """Apply the own judge's opinions; return their slots, and whether one is missing."""
        open_ones = [
            cascade.OpenPair(judged.slot, judged.compared, judged.judgement)
            for judged in self.by_slot.values()
            if not judged.judgement.by_judge and self._is_for_own_judge(judged)
        ]
        wanted: list[TextPair] = []
        heard = {slot for slot, judged in self.by_slot.items() if judged.judgement.by_judge}
        unread = False
        for pair in cascade.chosen(open_ones):
            put = self._put(pair.slot)
            known, opinion = service.look_up(put)
            if opinion is not None:
                judgement = self._by_trust(pair.slot, self._by(opinion, put, pair))
                self.by_slot[pair.slot] = replace(self.by_slot[pair.slot], judgement=judgement)
                heard.add(pair.slot)
            elif not known and may_ask and service.accepts:
                wanted.append(put)
            else:
                unread |= not known or service.is_late(put)
        if wanted:
            raise NeedsOpinion(wanted)
        return heard, unread

    def _is_for_own_judge(self, judged: JudgedNeighbour) -> bool:
        own, other = self._text.content, self._texts.of(judged.slot).content
        compared, judgement = judged.compared, judged.judgement
        return cascade.is_open(compared, judgement, own, other) or cascade.may_replace(
            compared, judgement, self._text.policy, own, other
        )

    def keep_to_the_answer(self) -> None:
        """Call RELATED what no layer refused, although the policy refuses its verdict.

        Such a pair is only shown. The layers did not read it: more pairs reach a layer than it
        reads.
        """
        for slot, judged in self.by_slot.items():
            if self._text.policy.action(judged.judgement) is Action.REFUSE:
                related = replace(judged.judgement, verdict=Verdict.RELATED)
                self.by_slot[slot] = replace(judged, judgement=related)

    def nearest_first(self) -> tuple[JudgedNeighbour, ...]:
        """Return what was read, the most similar first."""
        read = self.by_slot.values()
        return tuple(sorted(read, key=lambda judged: (-judged.similarity, judged.slot)))


def likely_same(
    text: GuardedText, judged: Iterable[JudgedNeighbour]
) -> tuple[JudgedNeighbour, ...]:
    """Return the memories that probably say the same as a text, the most probable first.

    At most LIKELY_LINKS_PER_SAVE. A memory that the text supersedes is no question.
    """
    likely = [neighbour for neighbour in judged if text.policy.is_likely(neighbour.judgement)]
    return tuple(undecided(text, likely)[: limits.LIKELY_LINKS_PER_SAVE])


def undecided(text: GuardedText, judged: Iterable[JudgedNeighbour]) -> list[JudgedNeighbour]:
    """Return the memories whose relation to a text is open, the most probably same first.

    The caller declared no difference, and the text supersedes none of them by its verdict.
    """
    left = [
        neighbour
        for neighbour in judged
        if neighbour.slot not in text.distinct
        and text.policy.action(neighbour.judgement) is not Action.SUPERSEDE
    ]
    return sorted(left, key=_most_probable)


def _most_probable(judged: JudgedNeighbour) -> tuple[float, int]:
    return -judged.judgement.same_probability, judged.slot


_WITH_OTHER_PAYLOAD = {
    Verdict.DUPLICATE: Verdict.UPDATE,
    Verdict.CONTAINED: Verdict.RELATED,
}
_SHARED_WORDS_MIN = 0.2
_FEW_WORDS = 10
