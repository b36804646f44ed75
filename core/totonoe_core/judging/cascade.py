"""Rules of the daemon's own judge: which pairs it reads, and what its opinion does. Pure.

equal text, equal words          refused before
a duplicate by the readings      refused, unless the judge is against it
a hard difference                never overruled; put to the judge only for whether it replaces
a doubtful difference            never refused, nor a question, nor what only adds words or differs
                                 in a function word alone; for the rest the judge decides
the judge                        certain: refused; else its relation is the verdict
the caller                       asked about what is likely
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from totonoe_core.base import limits
from totonoe_core.domain.policy import Action, GuardPolicy
from totonoe_core.domain.records import SHARED, Evidence, Finding, Judgement, Verdict
from totonoe_core.guard.exclusive import certainly_exclusive, tells_what_happened
from totonoe_core.guard.features import NAMES, judged
from totonoe_core.guard.probability import is_doubtful, same_probability_judged
from totonoe_core.guard.verdict import Comparison
from totonoe_core.judging.protocol import RELATIONS, Opinion, Relation
from totonoe_core.text.normalize import canonical_form

_SURELY_DIFFERENT, _SURELY_SAME = 0.01, 0.995
"""Probabilities of the features alone, beyond which a pair is not put to the judge.

Of pairs that say the same (bench/judge/groups) 0.6 % are below the first; of those that differ 4 %.
Below 0.02 it would be 3 % and 12 %.
"""
_AGAINST_BELOW = 0.2
"""Probability by the judge alone below which a duplicate by the readings is none.

The readings miss an exchange of words that the judge sees ("retries reads but not writes", "retries
writes but not reads"). Of 1,925 restatements that they call duplicates 12 are below, of 85
look-alikes 64 (labelled pairs and groups, most of these learned by the network).
"""
_VERDICTS = {
    Relation.MORE: Verdict.REFINEMENT,
    Relation.LESS: Verdict.CONTAINED,
    Relation.EXCLUSIVE: Verdict.UPDATE,
}
_EXCLUSIVE = RELATIONS.index(Relation.EXCLUSIVE)
_EXCLUSIVE_FROM = 0.92
"""Probability from which both texts certainly cannot be true at once, beside a hard difference.

Of such pairs of topics kept aside 97 of a hundred are labelled so (`make judge-figures`, part
"exclusive"); without a hard difference the judge is right in nine of ten only.
"""
_DENIALS = frozenset({Finding.POLARITY, Finding.OPPOSITE})
_CERTAIN = NAMES.index("certain")
_OWN_WORDS = [NAMES.index("words_only_fewer"), NAMES.index("words_only_more")]
_DIGITS = [NAMES.index("digits_differ"), NAMES.index("digits_one_sided")]


@dataclass(frozen=True, slots=True)
class OpenPair:
    """A pair that the guard read, and could not settle.

    Attributes
    ----------
    slot : int
    compared : Comparison
    judgement : Judgement
        By which the policy would act.
    """

    slot: int
    compared: Comparison
    judgement: Judgement


def may_replace(
    compared: Comparison, judgement: Judgement, policy: GuardPolicy, own: str, other: str
) -> bool:
    """Return whether the judge may say that a text replaces a memory from which it differs hard.

    What happened stays true: "We deployed 1.2", "We deployed 1.3".
    """
    return (
        compared.judgement.hard
        and policy.action(judgement) is Action.SUPERSEDE
        and max(len(own), len(other)) <= limits.JUDGE_TEXT_CHARS_MAX
        and not certainly_exclusive(own, other, judgement)
        and not tells_what_happened(own, other, judgement)
    )


def may_keep(compared: Comparison, judgement: Judgement, own: str, other: str) -> bool:
    """Return whether the judge may keep a text that the readings call a duplicate of another.

    Not one with the same words in the same order.
    """
    return (
        judgement.verdict is Verdict.DUPLICATE
        and not judgement.by_judge
        and not compared.whole_sentences
        and max(len(own), len(other)) <= limits.JUDGE_TEXT_CHARS_MAX
        and canonical_form(own) != canonical_form(other)
    )


def is_open(compared: Comparison, judgement: Judgement, own: str, other: str) -> bool:
    """Return whether the judge may change what becomes of a pair."""
    if judgement.hard or judgement.verdict is Verdict.DUPLICATE or compared.whole_sentences:
        return False
    # Not cut: the difference may lie after the cut.
    if max(len(own), len(other)) > limits.JUDGE_TEXT_CHARS_MAX:
        return False
    return _SURELY_DIFFERENT <= judgement.same_probability <= _SURELY_SAME


def is_read(compared: Comparison, judgement: Judgement, own: str, other: str) -> bool:
    """Return whether a judge that reads two texts alone may change what is said of them."""
    read = compared, judgement, own, other
    return is_open(*read) or may_keep(*read)


def chosen(pairs: list[OpenPair]) -> list[OpenPair]:
    """Return the pairs to judge, the most probable first.

    At most OWN_JUDGE_PAIRS_PER_SAVE_MAX, and as many that differ hard.
    """
    order = sorted(pairs, key=lambda pair: (-pair.judgement.same_probability, pair.slot))
    most = limits.OWN_JUDGE_PAIRS_PER_SAVE_MAX
    hard = [pair for pair in order if pair.judgement.hard][:most]
    return [pair for pair in order if not pair.judgement.hard][:most] + hard


def judged_by(pair: OpenPair, opinion: Opinion, policy: GuardPolicy) -> Judgement:
    """Return the judgement of a pair by the guard and the judge together.

    Parameters
    ----------
    pair : OpenPair
    opinion : Opinion
        Of the new text (its second) to the memory (its first).
    policy : GuardPolicy
        Says from which probability on it is certain.

    Returns
    -------
    Judgement
        Of a hard difference with the same verdict, and EXCLUSIVE in its evidence if both certainly
        cannot be true at once. Of a duplicate by the readings the same, unless the judge is against
        it.
    """
    before = pair.judgement
    name = Evidence(Finding.JUDGE, own_text=opinion.by[: limits.EVIDENCE_CHARS])
    if before.hard:
        added = [name]
        if opinion.relations[_EXCLUSIVE] >= _EXCLUSIVE_FROM:
            added.append(Evidence(Finding.EXCLUSIVE))
        return replace(before, evidence=(*added, *before.evidence)[: limits.EVIDENCE_MAX])
    by_readings = before.verdict is Verdict.DUPLICATE
    if by_readings and opinion.same >= _AGAINST_BELOW:
        return before
    judgement = replace(
        before,
        verdict=_verdict(before, opinion.relation),
        # The features say that it is a duplicate, which it is not.
        same_probability=opinion.same if by_readings else probability_with(pair.compared, opinion),
        evidence=(name, *before.evidence)[: limits.EVIDENCE_MAX],
    )
    if by_readings:
        return replace(judgement, evidence=(name, *_exchanged(before.evidence)))
    same = opinion.relation is Relation.SAME and may_refuse(pair.compared, before)
    if same and policy.is_certain(judgement):
        return replace(judgement, verdict=Verdict.DUPLICATE)
    return judgement


def _exchanged(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence of a duplicate by the readings that is none: what they call the same is not.

    Left as it is, the newer text would say all that the memory says, and might replace it.
    """
    differing = [line for line in evidence if line.own_text != line.other_text]
    return [
        replace(line, finding=Finding.ORDER) if line.finding in SHARED else line
        for line in differing
    ]


def may_refuse(compared: Comparison, judgement: Judgement) -> bool:
    """Return whether a judge that is certain may refuse a pair.

    Not if a difference may be one of meaning, or may be unknown since the texts were not read for
    certain: then the same digits must stand in both. Not if one text only adds words ("Review: the
    parser"), which may say more; nor a question, which is no statement that could be the same; nor
    against the readings; nor if a function word is all that differs ("in the cupboard", "on the
    cupboard"), which a judge overlooks.
    """
    seen = compared.pair_features
    if seen is None or is_doubtful(compared.placed) or judgement.over_budget or compared.asks:
        return False
    if seen[_OWN_WORDS].min() == 0.0:
        return False
    said = [line.finding for line in judgement.evidence if line.own_text or line.other_text]
    if said and all(finding is Finding.FUNCTION_WORD for finding in said):
        return False
    # NaN if there are no readings.
    return bool(seen[_CERTAIN] == 1.0 or not (seen[_DIGITS] != 0.0).any())


def _verdict(before: Judgement, relation: Relation) -> Verdict:
    """Return the verdict of a relation, beside the denials that the guard has read.

    Who denies a statement says neither more nor less than it. Who denies it of another object
    ("likes tea", "does not like coffee"), which the guard has read as no contradiction, does not
    contradict it.
    """
    verdict = _VERDICTS.get(relation, Verdict.RELATED)
    if verdict is Verdict.RELATED or not any(line.finding in _DENIALS for line in before.evidence):
        return verdict
    if before.verdict is Verdict.CONTRADICTION:
        return Verdict.CONTRADICTION
    if verdict is not Verdict.UPDATE:
        return verdict
    replaced = [line for line in before.evidence if line.own_text and line.other_text]
    another = any(line.finding not in _DENIALS for line in replaced)
    return Verdict.RELATED if another else Verdict.CONTRADICTION


def probability_with(compared: Comparison, opinion: Opinion) -> float:
    """Return the probability by the features and the judge; by the judge if there are none."""
    seen = compared.pair_features
    if seen is None:
        return opinion.same
    return same_probability_judged(seen, judged(opinion.same, opinion.relations))
