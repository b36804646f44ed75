"""When a judge is asked, what an opinion does, and how long anybody waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from support.judges import ScriptedJudge, pair, service
from support.waits import wait_s, wait_until
from totonoe_core.base import errors, limits
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.records import Evidence, Finding, Judgement, Verdict
from totonoe_core.domain.weights import Features
from totonoe_core.guard.verdict import Comparison, compare
from totonoe_core.judging import (
    JudgeSettings,
    JudgingService,
    Opinion,
    Relation,
    TextPair,
    open_service,
)
from totonoe_core.judging.hearing import Hearing, is_borderline, judged_by
from totonoe_core.judging.protocol import JudgeFailed
from totonoe_core.judging.settings import make_judge

HAPPY, GLAD = "The neighbour has a loud dog", "The neighbour has a loud puppy"


@contextmanager
def running(judge: ScriptedJudge, **settings: Any) -> Iterator[JudgingService]:
    one = service(judge, **settings)
    try:
        yield one
    finally:
        judge.release()
        one.close()


# -- Borderline


def test_pair_where_a_difference_is_named_is_never_borderline() -> None:
    settings = JudgeSettings(asked_from=0.0, refinements=True)
    for own, other in (
        ("The server listens on port 8080", "The server listens on port 8081"),
        ("The server listens on port 8080", "The server does not listen on port 8080"),
        ("Ann manages Bob", "Bob manages Ann"),
        ("Ann manages the team", "Tom manages the team"),
    ):
        compared = compare(own, other, 0.99, CAREFUL)
        assert compared.features is None
        assert not is_borderline(compared, 0.99, CAREFUL, settings)


def test_rewording_that_is_not_sure_is_borderline_and_a_duplicate_is_not() -> None:
    doubtful = compare(HAPPY, GLAD, 0.9, CAREFUL)
    assert doubtful.judgement.verdict is Verdict.RELATED
    assert is_borderline(doubtful, 0.9, CAREFUL, JudgeSettings())
    weights = replace(CAREFUL, near=0.0)
    assert compare(HAPPY, GLAD, 0.9, weights).judgement.verdict is Verdict.RELATED
    sure = compare("The gate is not open", "The gate is closed", 0.9, weights)
    assert sure.judgement.verdict is Verdict.DUPLICATE
    assert not is_borderline(sure, 0.9, weights, JudgeSettings())


@pytest.mark.parametrize(("asked_from", "borderline"), [(0.0, True), (0.4, True), (0.6, False)])
def test_one_sided_rewording_is_borderline_from_a_probability_on(
    asked_from: float, borderline: bool
) -> None:
    features, weights = Features(cosine=0.0), replace(CAREFUL, bias=0.0)
    assert features.probability(weights) == 0.5
    compared = Comparison(Judgement(Verdict.REFINEMENT, 0.5, ()), features)
    settings = JudgeSettings(asked_from=asked_from)
    assert is_borderline(compared, 0.9, weights, settings) is borderline


def test_added_detail_is_borderline_only_as_an_option_and_near() -> None:
    compared = compare(
        "The old staging server listens on the port",
        "The staging server listens on the port",
        0.96,
        CAREFUL,
    )
    assert compared.judgement.verdict is Verdict.REFINEMENT
    assert not is_borderline(compared, 0.96, CAREFUL, JudgeSettings())
    option = JudgeSettings(refinements=True)
    assert is_borderline(compared, 0.96, CAREFUL, option)
    assert not is_borderline(compared, 0.94, CAREFUL, option)


def test_added_detail_with_a_name_is_never_borderline() -> None:
    option = JudgeSettings(refinements=True)
    added, named = Evidence(Finding.ADDED), Evidence(Finding.QUANTIFIER)
    for evidence, borderline in (
        ((added, added), True),
        ((added, named), False),
        # Cut: what has a name may stand behind the cut.
        ((added,) * limits.EVIDENCE_MAX, False),
    ):
        compared = Comparison(Judgement(Verdict.REFINEMENT, 0.8, evidence))
        assert is_borderline(compared, 0.99, CAREFUL, option) is borderline


def test_whole_sentences_more_are_never_borderline() -> None:
    long = "The pump in the left hall is loud. " * 20
    compared = compare(long + "Its seal was changed in May.", long, 0.999, CAREFUL)
    assert compared.judgement.verdict is Verdict.REFINEMENT
    assert not is_borderline(compared, 0.999, CAREFUL, JudgeSettings(refinements=True))


# -- Opinions


def opinion(relation: Relation, confidence: float = 0.75, by: str = "scripted") -> Opinion:
    made = Opinion.on(relation, confidence, by)
    assert made is not None
    return made


def test_opinion_for_the_other_order_exchanges_more_and_less_alone() -> None:
    one = Opinion(0.3, (0.2, 0.4, 0.1, 0.15, 0.05, 0.1), "a judge")
    assert one.mirrored() == Opinion(0.3, (0.2, 0.1, 0.4, 0.15, 0.05, 0.1), "a judge")
    assert one.mirrored().mirrored() == one
    for relation in Relation:
        assert opinion(relation).relation is relation
        assert opinion(relation).mirrored().relation is relation.mirrored


@pytest.mark.parametrize(
    ("relation", "same"), [(Relation.SAME, 0.75), (Relation.MORE, 0.25), (Relation.UNRELATED, 0.25)]
)
def test_opinion_on_one_relation_shares_out_what_is_left(relation: Relation, same: float) -> None:
    one = opinion(relation)
    assert (one.same, one.relation, sum(one.relations)) == (same, relation, pytest.approx(1.0))
    assert sorted(one.relations)[:5] == [0.05] * 5


@pytest.mark.parametrize("confidence", [-0.1, 0.0, 1 / 6, 1.1, float("nan"), float("inf")])
def test_relation_that_is_no_more_probable_than_others_is_no_opinion(confidence: float) -> None:
    assert Opinion.on(Relation.SAME, confidence, "a judge") is None


@pytest.mark.parametrize(
    ("same", "relations"),
    [
        (1.1, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
        (float("nan"), (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
        (0.5, (1.0, 0.0, 0.0, 0.0, 0.0, 0.1)),
        (0.5, (1.1, -0.1, 0.0, 0.0, 0.0, 0.0)),
        (0.5, (1.0, 0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_opinion_out_of_bounds_is_not_made(same: float, relations: Any) -> None:
    with pytest.raises(ValueError, match="opinion"):
        Opinion(same, relations, "a judge")


@pytest.mark.parametrize(
    ("relation", "before", "after"),
    [
        (Relation.SAME, Verdict.RELATED, Verdict.DUPLICATE),
        (Relation.MORE, Verdict.CONTAINED, Verdict.REFINEMENT),
        (Relation.LESS, Verdict.REFINEMENT, Verdict.CONTAINED),
        (Relation.EXCLUSIVE, Verdict.RELATED, Verdict.UPDATE),
        (Relation.EXCLUSIVE, Verdict.UPDATE, Verdict.UPDATE),
        (Relation.EXCLUSIVE, Verdict.CONTRADICTION, Verdict.CONTRADICTION),
        (Relation.COMPATIBLE, Verdict.REFINEMENT, Verdict.RELATED),
        (Relation.UNRELATED, Verdict.REFINEMENT, Verdict.RELATED),
    ],
)
def test_relation_of_the_new_text_to_the_memory_is_a_verdict(
    relation: Relation, before: Verdict, after: Verdict
) -> None:
    assert judged_by(Judgement(before, 0.4), opinion(relation)).verdict is after


def test_opinion_names_verdict_and_judge_and_keeps_the_evidence() -> None:
    before = Judgement(Verdict.RELATED, 0.4, (Evidence(Finding.SYNONYM),) * limits.EVIDENCE_MAX)
    after = judged_by(before, opinion(Relation.EXCLUSIVE, 0.7, "j" * 100))
    assert (after.verdict, after.same_probability) == (Verdict.UPDATE, pytest.approx(0.3))
    assert after.evidence[0] == Evidence(Finding.JUDGE, own_text="j" * limits.EVIDENCE_CHARS)
    assert after.evidence[1:] == before.evidence[:-1]


def heard(hearing: Hearing, own: str = GLAD, other: str = HAPPY, cosine: float = 0.9) -> Judgement:
    compared = compare(own, other, cosine, CAREFUL)
    texts = [(text, text.encode()[-16:]) for text in (own, other)]
    return hearing.heard(compared, cosine, CAREFUL, texts[0], texts[1])


def test_hearing_collects_a_few_pairs_and_only_if_it_may_ask() -> None:
    with running(ScriptedJudge()) as judging:
        hearing = Hearing(judging, 0.8, may_ask=True)
        for number in range(10):
            end = f" of ours{'!' * number}"
            assert heard(hearing, GLAD + end, HAPPY + end).verdict is Verdict.RELATED
        assert len(hearing.wanted) == limits.JUDGE_PAIRS_PER_REMEMBER_MAX
        waits_no_more, without = Hearing(judging, 0.8), Hearing(None, 0.8, may_ask=True)
        for silent in (waits_no_more, without, Hearing(judging, 0.95, may_ask=True)):
            heard(silent)
            assert not silent.wanted


def test_hearing_does_not_ask_about_a_text_it_would_have_to_cut() -> None:
    with running(ScriptedJudge()) as judging:
        hearing = Hearing(judging, 0.8, may_ask=True)
        blanks = " " * limits.JUDGE_TEXT_CHARS_MAX
        assert heard(hearing, GLAD + blanks, HAPPY).verdict is Verdict.RELATED
        assert not hearing.wanted


def test_opinion_is_known_whichever_text_comes_first() -> None:
    judge = ScriptedJudge()
    with running(judge) as judging:
        hearing = Hearing(judging, 0.8, may_ask=True)
        heard(hearing)
        judging.submit(hearing.wanted).result(wait_s())
        for own, other in ((GLAD, HAPPY), (HAPPY, GLAD)):
            again = Hearing(judging, 0.8, may_ask=True)
            found = heard(again, own, other)
            assert (found.verdict, found.same_probability) == (Verdict.DUPLICATE, 0.75)
            assert not again.wanted
    assert len(judge.pairs) == 1


@pytest.mark.parametrize(
    ("relation", "of_glad", "of_happy"),
    [
        (Relation.MORE, Verdict.REFINEMENT, Verdict.CONTAINED),
        (Relation.LESS, Verdict.CONTAINED, Verdict.REFINEMENT),
    ],
)
def test_who_has_more_is_said_for_the_order_of_the_caller(
    relation: Relation, of_glad: Verdict, of_happy: Verdict
) -> None:
    with running(ScriptedJudge(relation, of=GLAD)) as judging:
        hearing = Hearing(judging, 0.8, may_ask=True)
        heard(hearing)
        judging.submit(hearing.wanted).result(wait_s())
        assert heard(hearing, GLAD, HAPPY).verdict is of_glad
        assert heard(hearing, HAPPY, GLAD).verdict is of_happy


# -- The service


def test_pair_is_asked_once_and_then_known() -> None:
    judge = ScriptedJudge(Relation.EXCLUSIVE)
    with running(judge) as judging:
        judge.hold()
        first, second = judging.submit([pair("a")]), judging.submit([pair("a"), pair("b")])
        judge.release()
        first.result(wait_s())
        second.result(wait_s())
        judging.submit([pair("a")]).result(0)
        assert [judged.one for judged in judge.pairs] == ["a", "b"]
        assert judging.look_up(pair("a")) == (True, opinion(Relation.EXCLUSIVE))
        assert judging.stats().opinions_count == 2
    assert judge.closed


def test_pair_given_twice_is_asked_about_once() -> None:
    judge = ScriptedJudge()
    with running(judge) as judging:
        judging.submit([pair("a"), pair("a")]).result(wait_s())
        judging.submit([pair("b")]).result(wait_s())
        assert [judged.one for judged in judge.pairs] == ["a", "b"]


def test_pairs_that_wait_are_asked_about_in_batches() -> None:
    judge = ScriptedJudge(batch_max=3)
    with running(judge) as judging:
        judge.hold()
        first = judging.submit([pair("a")])
        assert judge.asked.wait(wait_s())
        others = judging.submit([pair(name) for name in "bcde"])
        judge.release()
        first.result(wait_s())
        others.result(wait_s())
        assert judge.batches == [1, 3, 1]
        assert [judged.one for judged in judge.pairs] == list("abcde")
        assert all(judging.look_up(pair(name))[0] for name in "abcde")
        assert judging.stats().opinions_count == 5


def test_batch_has_a_limit_whatever_the_judge_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JUDGE_BATCH_PAIRS_MAX", 2)
    judge = ScriptedJudge(batch_max=1000)
    with running(judge) as judging:
        judging.submit([pair(name) for name in "abcde"]).result(wait_s())
        assert max(judge.batches) == 2


def test_batch_that_fails_is_one_failure_of_all_its_pairs() -> None:
    judge = ScriptedJudge(batch_max=8)
    judge.error = JudgeFailed("HTTP 500")
    with running(judge) as judging:
        judging.submit([pair(name) for name in "abcd"]).result(wait_s())
        assert judging.stats().failed_count == 4
        assert judging.accepts
        assert judging.look_up(pair("a")) == (False, None)


def test_fewer_opinions_than_pairs_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = ScriptedJudge()
    monkeypatch.setattr(judge, "ask", lambda _: [])
    with running(judge) as judging:
        judging.submit([pair("a")]).result(wait_s())
        assert judging.stats().failed_count == 1
        assert judging.look_up(pair("a")) == (False, None)


def test_pair_without_an_opinion_is_not_asked_about_again() -> None:
    judge = ScriptedJudge(None)
    with running(judge) as judging:
        judging.submit([pair("a")]).result(wait_s())
        assert judging.look_up(pair("a")) == (True, None)
        judging.submit([pair("a")]).result(0)
        assert len(judge.pairs) == 1
        assert judging.stats().none_count == 1


def test_deadline_ends_the_wait_and_the_late_answer_is_kept() -> None:
    judge = ScriptedJudge()
    judge.hold()
    with running(judge, deadline_s=0.01) as judging:
        judging.submit([pair("a")]).result(wait_s())
        assert judging.look_up(pair("a")) == (False, None)
        assert judging.stats().late_count == 1
        judge.release()
        wait_until(lambda: judging.look_up(pair("a"))[0])


def test_pair_that_nobody_waits_for_any_more_is_not_asked_about() -> None:
    judge = ScriptedJudge()
    judge.hold()
    with running(judge, deadline_s=0.01) as judging:
        judging.submit([pair("a")])
        judging.submit([pair("b")]).result(wait_s())
        judge.release()
        wait_until(lambda: judging.look_up(pair("a"))[0])
        judging.submit([pair("c")]).result(wait_s())
        assert "b" not in [judged.one for judged in judge.pairs]


def late(judging: JudgingService, judge: ScriptedJudge) -> None:
    judge.hold()
    judging.submit([pair(f"late {judging.stats().late_count}")]).result(wait_s())
    judge.release()


def failing(judging: JudgingService, judge: ScriptedJudge) -> None:
    judge.error = JudgeFailed("HTTP 500")
    judging.submit([pair(f"failed {judging.stats().failed_count}")]).result(wait_s())


@pytest.mark.parametrize(("misfortune", "deadline_s"), [(late, 0.01), (failing, 10.0)])
def test_judge_that_fails_in_a_row_is_left_alone(
    misfortune: Callable[..., None], deadline_s: float
) -> None:
    judge = ScriptedJudge()
    with running(judge, deadline_s=deadline_s) as judging:
        for _ in range(3):
            assert judging.accepts
            misfortune(judging, judge)
        assert not judging.accepts
        assert judging.stats().paused_count == 1
        asked_count = len(judge.pairs)
        judging.submit([pair("new")]).result(0)
        assert len(judge.pairs) == asked_count


def test_judge_is_asked_again_after_the_pause_and_paused_by_one_more_failure() -> None:
    judge = ScriptedJudge()
    with running(judge, pause_s=0.0) as judging:
        for _ in range(4):
            failing(judging, judge)
        assert judging.stats().paused_count == 2
        judge.error = None
        judging.submit([pair("good")]).result(wait_s())
        assert judging.look_up(pair("good"))[0]
        failing(judging, judge)
        assert judging.stats().paused_count == 2


def test_failure_of_any_kind_is_no_opinion_and_is_asked_about_again() -> None:
    judge = ScriptedJudge()
    judge.error = ZeroDivisionError("a bug")
    with running(judge) as judging:
        judging.submit([pair("a")]).result(wait_s())
        assert judging.look_up(pair("a")) == (False, None)
        judge.error = None
        judging.submit([pair("a")]).result(wait_s())
        assert judging.look_up(pair("a"))[0]


def test_full_queue_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JUDGE_QUEUE_PAIRS_MAX", 2)
    judge = ScriptedJudge()
    judge.hold()
    with running(judge) as judging:
        waiting = [judging.submit([pair("a")]), judging.submit([pair("b")])]
        assert not judging.accepts
        judging.submit([pair("c")]).result(0)
        judge.release()
        for future in waiting:
            future.result(wait_s())
        assert judging.accepts


def test_cache_forgets_what_was_unused_for_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JUDGE_CACHE_PAIRS_MAX", 2)
    with running(ScriptedJudge()) as judging:
        for name in ("a", "b"):
            judging.submit([pair(name)]).result(wait_s())
        assert judging.look_up(pair("a"))[0]
        judging.submit([pair("c")]).result(wait_s())
        assert [judging.look_up(pair(name))[0] for name in "abc"] == [True, False, True]


def test_close_lets_everybody_go_on_and_asks_nobody() -> None:
    judge = ScriptedJudge()
    judge.hold()
    judging = service(judge)
    waiting = judging.submit([pair("a"), pair("b")])
    assert judge.asked.wait(wait_s())
    # By the first callback, before `close` waits for the judge.
    waiting.add_done_callback(lambda _: judge.release())
    judging.close()
    judging.close()
    waiting.result(0)
    judging.submit([pair("c")]).result(0)
    assert not judging.accepts
    assert [judged.one for judged in judge.pairs] == ["a"]


def test_pair_keeps_one_order_and_one_key() -> None:
    assert (
        TextPair.of("x", b"2", "y", b"1")
        == TextPair.of("y", b"1", "x", b"2")
        == TextPair(b"12", "y", "x")
    )
    assert (
        TextPair.of("x", b"1", "y", b"1")
        == TextPair.of("y", b"1", "x", b"1")
        == TextPair(b"11", "x", "y")
    )


# -- Settings


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": "oracle"}, "kind"),
        ({"deadline_s": 0}, "deadline_s"),
        ({"deadline_s": 10.5}, "deadline_s"),
        ({"asked_from": 1.5}, "asked_from"),
        ({"kind": "openai", "url": "http://h/v1"}, "model"),
        ({"kind": "openai", "model": "m", "url": "ftp://h"}, "url"),
        ({"kind": "openai", "model": "m", "url": "http://me:secret@h/v1"}, "url"),
        ({"kind": "nli"}, "kind"),
        ({"kind": "decisions", "url": "http://h/v1"}, "model"),
        ({"kind": "decisions", "model": "m", "url": "http://h/v1?key=secret"}, "url"),
        ({"dialect": "jev"}, "dialect"),
        ({"agreed_from": 0.5}, "agreed_from"),
        ({"agreed_from": 1.1}, "agreed_from"),
    ],
)
def test_settings_out_of_bounds_are_refused_by_name(given: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.Precondition) as raised:
        JudgeSettings(**given)
    assert raised.value.reason == "JUDGE_MISCONFIGURED"
    assert raised.value.details["field"] == f"judge.{field}"
    assert "secret" not in str(raised.value)


def test_no_judge_starts_nothing() -> None:
    assert open_service(JudgeSettings()) is None
    with pytest.raises(errors.Precondition):
        make_judge(JudgeSettings())


def test_own_judge_that_is_late_goes_on_judging_and_is_not_paused() -> None:
    judge = ScriptedJudge()
    with running(judge, kind="own", deadline_s=0.02) as one:
        judge.hold()
        pairs = [pair(f"{n}") for n in range(5)]
        futures = [one.submit([each]) for each in pairs]
        for future in futures:
            future.result(wait_s())
        assert one.stats().late_count == 5
        assert one.accepts
        # Nobody waits for them a second time.
        assert all(one.look_up(each) == (True, None) for each in pairs)
        judge.release()
        # The pairs that nobody waits for any more are known to the next save.
        wait_until(lambda: all(one.look_up(each)[1] for each in pairs))


def test_late_pairs_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JUDGE_LATE_PAIRS_MAX", 2)
    judge = ScriptedJudge()
    with running(judge, kind="own", deadline_s=0.02) as one:
        judge.hold()
        one.submit([pair("busy")])
        assert judge.asked.wait(wait_s())
        late = [pair(f"{n}") for n in range(5)]
        for each in late:
            one.submit([each]).result(wait_s())
        judge.release()
        wait_until(lambda: one.look_up(late[-1])[1])
        assert [one.look_up(each)[1] is not None for each in late] == [
            False,
            False,
            False,
            True,
            True,
        ]
