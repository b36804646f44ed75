"""When a judge is asked, and what its opinion makes of a judgement. Pure but for the cache asked.

Only the borderline: no difference could be named, and how far the wording differs is a matter of
degree. What was named (a number, a name, a denial) is never put to a judge, and so never overruled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from totonoe_core import limits
from totonoe_core.guard.verdict import Comparison
from totonoe_core.guard.weights import Weights
from totonoe_core.judging.protocol import Opinion, Pair
from totonoe_core.judging.settings import JudgeSettings
from totonoe_core.records import Evidence, Finding, Judgement, Verdict

if TYPE_CHECKING:
    from totonoe_core.judging.service import JudgingService

_REFINEMENT_COSINE_MIN = 0.95


def is_borderline(
    compared: Comparison, cosine: float, weights: Weights, settings: JudgeSettings
) -> bool:
    """Whether a judge could see what the verdict cannot."""
    judgement, features = compared.judgement, compared.features
    if judgement.verdict is Verdict.DUPLICATE:
        return False
    if features is None:
        # Confidence is the share in common: 1 where one has whole sentences more, which say more.
        # Evidence that is cut may hide a difference with a name behind what is left over.
        found = judgement.evidence
        return (
            settings.refinements
            and judgement.verdict is Verdict.REFINEMENT
            and judgement.confidence < 1.0
            and cosine >= _REFINEMENT_COSINE_MIN
            and len(found) < limits.EVIDENCE_MAX
            and all(one.finding in (Finding.ADDED, Finding.MISSING) for one in found)
        )
    # RELATED by loose synonyms, which weigh so much that their probability says little.
    related = judgement.verdict is Verdict.RELATED
    return related or features.probability(weights) >= settings.asked_from


def judged_by(judgement: Judgement, opinion: Opinion) -> Judgement:
    """The opinion's verdict on the same evidence, with the judge's name as its first ground."""
    name = Evidence(Finding.JUDGE, own_text=opinion.by[: limits.EVIDENCE_CHARS])
    evidence = (name, *judgement.evidence)[: limits.EVIDENCE_MAX]
    return Judgement(opinion.verdict, opinion.confidence, evidence)


class Hearing:
    """One decision: applies opinions that are known, and collects the pairs to ask about.

    Parameters
    ----------
    service : JudgingService or None
        None: no judge, judgements stand as they are.
    cosine_min : float
        Similarity below which nothing could be refused, so nothing is asked.
    may_ask : bool
        False: whoever decides was asked about already, and waits no longer.
    """

    def __init__(
        self, service: JudgingService | None, cosine_min: float = 1.0, may_ask: bool = False
    ) -> None:
        self._service = service
        self._cosine_min = cosine_min
        self._may_ask = may_ask
        self.wanted: list[Pair] = []
        """At most JUDGE_PAIRS_PER_REMEMBER_MAX, nearest first."""

    def heard(
        self,
        compared: Comparison,
        cosine: float,
        weights: Weights,
        own: tuple[str, bytes],
        other: tuple[str, bytes],
    ) -> Judgement:
        """The judgement of a comparison, an opinion considered where there is one.

        Parameters
        ----------
        own, other : (str, bytes)
            Text and refusing hash of the new text and the memory's.
        """
        service, judgement = self._service, compared.judgement
        if service is None or cosine < self._cosine_min:
            return judgement
        # Not cut: what lies behind the cut may be what differs.
        if max(len(own[0]), len(other[0])) > limits.JUDGE_TEXT_CHARS_MAX:
            return judgement
        if not is_borderline(compared, cosine, weights, service.settings):
            return judgement
        pair = Pair.of(*own, *other)
        known, opinion = service.look_up(pair)
        if opinion is not None:
            return judged_by(judgement, opinion)
        if not known and self._may_ask and service.accepts and pair not in self.wanted:
            self.wanted = [*self.wanted, pair][: limits.JUDGE_PAIRS_PER_REMEMBER_MAX]
        return judgement
