"""Rules for calling a judge, and for applying its opinion. Pure but for the cache.

Only borderline pairs: no difference could be named, and only the wording differs. A named
difference (a number, a name, a denial) is never put to a judge, and so never overruled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from totonoe_core.base import limits
from totonoe_core.domain.records import Evidence, Finding, Judgement, Verdict
from totonoe_core.domain.weights import Weights
from totonoe_core.guard.verdict import Comparison
from totonoe_core.judging.protocol import Opinion, Relation, TextPair
from totonoe_core.judging.settings import JudgeSettings

if TYPE_CHECKING:
    from totonoe_core.judging.service import JudgingService

_REFINEMENT_COSINE_MIN = 0.95
_MORE = frozenset({Finding.ADDED, Finding.MISSING, Finding.FUNCTION_WORD})
"""Findings of a text that has a little more: "in Osaka"."""
_VERDICTS = {
    Relation.SAME: Verdict.DUPLICATE,
    Relation.MORE: Verdict.REFINEMENT,
    Relation.LESS: Verdict.CONTAINED,
    Relation.EXCLUSIVE: Verdict.UPDATE,
    Relation.COMPATIBLE: Verdict.RELATED,
    Relation.UNRELATED: Verdict.RELATED,
}
_EXCLUDING = frozenset({Verdict.UPDATE, Verdict.CONTRADICTION})


def is_borderline(
    compared: Comparison, cosine: float, weights: Weights, settings: JudgeSettings
) -> bool:
    """Return whether a judge could see a difference that the verdict cannot."""
    judgement, features = compared.judgement, compared.features
    if judgement.verdict is Verdict.DUPLICATE:
        return False
    if features is None:
        # Evidence that is cut may hide a named difference after the quoted rest.
        lines = judgement.evidence
        return (
            settings.refinements
            and judgement.verdict in (Verdict.REFINEMENT, Verdict.CONTAINED)
            and not compared.whole_sentences
            and cosine >= _REFINEMENT_COSINE_MIN
            and len(lines) < limits.EVIDENCE_MAX
            and all(line.finding in _MORE for line in lines)
        )
    # RELATED by loose synonyms, which never refuse: the probability says little.
    related = judgement.verdict is Verdict.RELATED
    return related or features.probability(weights) >= settings.asked_from


def is_put_to_judge(
    compared: Comparison,
    cosine: float,
    weights: Weights,
    settings: JudgeSettings,
    texts: tuple[str, str],
    cosine_min: float,
) -> bool:
    """Return whether a judge is asked about two texts.

    Below `cosine_min` no refusal is possible. A long text is not cut: the difference may lie after
    the cut.
    """
    return (
        cosine >= cosine_min
        and max(map(len, texts)) <= limits.JUDGE_TEXT_CHARS_MAX
        and is_borderline(compared, cosine, weights, settings)
    )


def stated_for(opinion: Opinion, pair: TextPair, own: str) -> Opinion:
    """Return the opinion on a pair as one of its text `own` to the other text."""
    return opinion if pair.other == own else opinion.mirrored()


def judged_by(judgement: Judgement, opinion: Opinion) -> Judgement:
    """Return the opinion's verdict on the same evidence, with the judge's name in front.

    Parameters
    ----------
    judgement : Judgement
        Of the new text to the memory.
    opinion : Opinion
        Of the new text (its second) to the memory (its first).
    """
    name = Evidence(Finding.JUDGE, own_text=opinion.by[: limits.EVIDENCE_CHARS])
    evidence = (name, *judgement.evidence)[: limits.EVIDENCE_MAX]
    verdict = _VERDICTS[opinion.relation]
    if opinion.relation is Relation.EXCLUSIVE and judgement.verdict in _EXCLUDING:
        # A judge does not tell a denial from another value.
        verdict = judgement.verdict
    return replace(judgement, verdict=verdict, same_probability=opinion.same, evidence=evidence)


class Hearing:
    """One decision: applies known opinions, and collects the pairs to put to the judge.

    Parameters
    ----------
    service : JudgingService or None
        `None` without a judge: judgements stand as they are.
    cosine_min : float
        Similarity below which no refusal is possible, so no pair is judged.
    may_ask : bool
        False if the pairs of this decision were put to the judge already: it waits no longer.
    """

    def __init__(
        self, service: JudgingService | None, cosine_min: float = 1.0, may_ask: bool = False
    ) -> None:
        self._service = service
        self._cosine_min = cosine_min
        self._may_ask = may_ask
        self.wanted: list[TextPair] = []
        """At most JUDGE_PAIRS_PER_REMEMBER_MAX, nearest first."""

    def heard(
        self,
        compared: Comparison,
        cosine: float,
        weights: Weights,
        own: tuple[str, bytes],
        other: tuple[str, bytes],
    ) -> Judgement:
        """Return the judgement of a comparison, after the judge's opinion if there is one.

        Parameters
        ----------
        own, other : (str, bytes)
            Text and refusing hash of the new text and the memory's.
        """
        service, judgement = self._service, compared.judgement
        if service is None or not is_put_to_judge(
            compared, cosine, weights, service.settings, (own[0], other[0]), self._cosine_min
        ):
            return judgement
        pair = TextPair.of(*own, *other)
        known, opinion = service.look_up(pair)
        if opinion is not None:
            return judged_by(judgement, stated_for(opinion, pair, own[0]))
        if not known and self._may_ask and service.accepts and pair not in self.wanted:
            self.wanted = [*self.wanted, pair][: limits.JUDGE_PAIRS_PER_REMEMBER_MAX]
        return judgement
