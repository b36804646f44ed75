"""How far each finding moves the probability that two texts say the same."""

from __future__ import annotations

import pytest

from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.policy import PRESETS, Preset
from totonoe_core.domain.records import Evidence, Finding, Judgement, Verdict
from totonoe_core.engine.state.comparing import weighed_by
from totonoe_core.guard.verdict import Comparison, compare
from totonoe_core.guard.weighing import weighed
from totonoe_core.judging import Opinion, cascade
from totonoe_core.judging.cascade import OpenPair, judged_by
from totonoe_core.text.reading.budget import ReadingBudget

COSINE = 0.9


def compared(own: str, other: str, budget: ReadingBudget | None = None) -> Comparison:
    return compare(own, other, COSINE, CAREFUL, budget, bundled=True)


def weigh(own: str, other: str, opinion: Opinion | None = None) -> Judgement:
    """The judgement with weights; of a judge too, if it has an opinion."""
    found = compared(own, other)
    judgement = found.judgement
    if opinion is not None:
        judgement = judged_by(OpenPair(0, found, judgement), opinion, PRESETS[Preset.STANDARD])
    return weighed_by(compared, own, other, judgement, opinion)


def weights(judgement: Judgement) -> dict[Finding, float | None]:
    return {line.finding: line.weight for line in judgement.evidence}


def probability(own: str, other: str) -> float:
    return compared(own, other).judgement.same_probability


@pytest.mark.parametrize(
    ("own", "other", "without"),
    [
        # The new text gets the memory's word.
        ("The port is 5434.", "The port is 5433.", "The port is 5433."),
        ("Ana prefers a dark scheme.", "Ana likes the dark theme.", "Ana prefers a dark theme."),
    ],
)
def test_one_finding_weighs_the_probability_less_the_one_without_it(
    own: str, other: str, without: str
) -> None:
    judgement = weigh(own, other)
    (weight,) = (line.weight for line in judgement.evidence)
    assert weight == judgement.same_probability - probability(without, other)
    assert weight < 0


def test_two_findings_weigh_in_the_mean_of_beside_each_other_and_alone() -> None:
    own, other = "It runs at two on the old server.", "It runs at three on the new server."
    judgement = weigh(own, other)
    alone = probability("It runs at two on the new server.", other)
    another = probability("It runs at three on the old server.", other)
    with_all = judgement.same_probability
    found = weights(judgement)
    assert found[Finding.TIME] == (with_all - another + alone - 1.0) / 2
    assert found[Finding.OPPOSITE] == (with_all - alone + another - 1.0) / 2
    # Together they are what makes the texts differ.
    assert sum(line.weight or 0.0 for line in judgement.evidence) == pytest.approx(with_all - 1.0)


def test_what_one_text_has_more_is_cut_out_of_it() -> None:
    more, less = "We meet on Monday in Oslo.", "We meet on Monday."
    for own, other in ((more, less), (less, more)):
        judgement = weigh(own, other)
        none = probability("We meet on Monday  .", less)
        total = sum(line.weight or 0.0 for line in judgement.evidence)
        assert total == pytest.approx(judgement.same_probability - none)
        assert total < -0.2


@pytest.mark.parametrize(
    ("own", "other", "finding"),
    [
        ("The cat sleeps.", "The cat sleeps.", Finding.SAME_TEXT),
        ("Tom owns the API and Ana the page.", "Ana owns the API and Tom the page.", Finding.ROLE),
        # The denial stands beside the words that it is about.
        ("Never restart the queue.", "Restart the queue.", Finding.POLARITY),
    ],
)
def test_what_no_other_words_take_out_has_no_weight(own: str, other: str, finding: Finding) -> None:
    evidence = Evidence(finding, (0, len(own)), (0, len(other)))
    judgement = Judgement(Verdict.RELATED, 0.5, (evidence,))
    assert weights(weighed(own, other, judgement, lambda *_: 1.0)) == {finding: None}
    assert weights(weigh(own, other)).get(finding) is None


def test_judge_weighs_what_it_moved_and_says_the_same_of_the_rest() -> None:
    own, other = "Ana prefers a dark scheme.", "Ana likes the dark theme."
    opinion = Opinion(0.99, (0.99, 0.002, 0.002, 0.002, 0.002, 0.002), "own:test")
    judgement = weigh(own, other, opinion)
    plain = compared(own, other)
    name, *rest = judgement.evidence
    assert name.finding is Finding.JUDGE
    assert name.weight == judgement.same_probability - plain.judgement.same_probability > 0
    (replaced,) = (line for line in rest if line.own_text == "scheme")
    without = compared("Ana prefers a dark theme.", other)
    assert replaced.weight == judgement.same_probability - cascade.probability_with(
        without, opinion
    )


def test_judge_of_a_hard_difference_moves_nothing() -> None:
    opinion = Opinion(0.01, (0.01, 0.002, 0.002, 0.982, 0.002, 0.002), "own:test")
    judgement = weigh("The port is 5434.", "The port is 5433.", opinion)
    assert judgement.hard
    found = weights(judgement)
    assert found[Finding.JUDGE] is None
    number = found[Finding.NUMBER]
    assert number is not None and number < -0.5


def test_what_is_not_read_to_the_end_has_no_weight() -> None:
    own, other = "The port is 5434 in Oslo.", "The port is 5433 in Rome."
    judgement = compared(own, other).judgement
    read: list[tuple[str, str]] = []

    def reread(here: str, there: str) -> float | None:
        read.append((here, there))
        return 0.25 if len(read) == 1 else None

    found = [line.weight for line in weighed(own, other, judgement, reread).evidence]
    assert set(found) == {None} and len(read) > 1


def test_texts_are_read_once() -> None:
    own, other = "The port is 5434.", "The port is 5433."
    stretch = (12, 16)
    found = tuple(
        Evidence(finding, stretch, stretch) for finding in (Finding.NUMBER, Finding.REPLACED)
    )
    read: list[tuple[str, str]] = []

    def reread(here: str, there: str) -> float:
        read.append((here, there))
        return 1.0

    weighed(own, other, Judgement(Verdict.UPDATE, 0.5, found), reread)
    assert read == [(other, other)]
