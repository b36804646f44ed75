"""The daemon's own judge in the guard: whom it reads, whom it refuses, what its relation says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import Store, opened, remember, vector_at, vector_of
from support.judges import ScriptedJudge, SureJudge, by_the_judge_alone, service
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import Action
from totonoe_core.domain.records import Finding, LinkType, Method, Verdict
from totonoe_core.domain.shipped import WEIGHTS
from totonoe_core.guard import features, probability
from totonoe_core.guard.verdict import compare
from totonoe_core.judging import Opinion, Relation, TextPair, cascade
from totonoe_core.judging.protocol import JudgeFailed

BASE = vector_of("base")
SAID = "The neighbour has a loud dog"
AGAIN = "Next door there is a noisy animal that barks"
CERTAIN = ("guard.certain_from", 0.7)


@contextmanager
def judged(
    path: Path, judge: ScriptedJudge, *, certain: bool = True, **more: Any
) -> Iterator[Store]:
    with opened(path, judging=service(judge, kind="own", **more)) as store:
        if certain:
            store.set(CERTAIN)
        yield store
        judge.release()


def near(content: str = AGAIN, cosine: float = 0.65, **more: Any) -> Remember:
    return remember(content, vector=vector_at(BASE, cosine), **more)


@pytest.fixture(autouse=True)
def _by_the_judge_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    by_the_judge_alone(monkeypatch)


def test_certain_restatement_is_refused_by_the_judge(tmp_path: Path) -> None:
    judge = SureJudge()
    with judged(tmp_path, judge) as store:
        known = store.save(SAID, vector=BASE)
        answer = store.do(near())
        assert (answer.saved, answer.memory_id) == (False, known)
        duplicate = answer.guard.duplicate
        assert (duplicate.method, answer.guard.method) == (Method.JUDGE, Method.JUDGE)
        assert duplicate.judgement.same_probability == pytest.approx(0.9)
        ground = duplicate.judgement.evidence[0]
        assert (ground.finding, ground.own_text) == (Finding.JUDGE, "own:test")
        last = answer.guard.layers[-1]
        assert (last.layer, last.ran) == (Method.JUDGE, True)


def test_judge_refuses_nothing_where_the_policy_does_not_say_from_where(tmp_path: Path) -> None:
    with judged(tmp_path, SureJudge(), certain=False) as store:
        store.set(("guard.certain_from", None))
        known = store.save(SAID, vector=BASE)
        answer = store.do(near())
        assert answer.saved
        assert answer.guard.question.memory_id == known
        assert answer.guard.question.judgement.same_probability == pytest.approx(0.9)
        assert LinkType.LIKELY_SAME in {link.type for link in answer.links}


def test_less_certain_opinion_is_asked_about(tmp_path: Path) -> None:
    judge = SureJudge()
    judge.confidence = 0.65
    with judged(tmp_path, judge) as store:
        known = store.save(SAID, vector=BASE)
        answer = store.do(near())
        assert (answer.saved, answer.guard.question.memory_id) == (True, known)


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("The server listens on port 8080", "The server listens on port 8081"),
        ("Ann manages Bob", "Bob manages Ann"),
        ("The build runs on Mondays", "The build runs on Tuesdays"),
    ],
)
def test_hard_difference_is_never_overruled(tmp_path: Path, said: str, again: str) -> None:
    with judged(tmp_path, SureJudge()) as store:
        store.save(said, vector=BASE)
        answer = store.do(near(again, 0.97))
        assert (answer.saved, answer.guard.question) == (True, None)


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("The staging database listens on port 5433", "Port of staging database: 5434"),
        # Not read: digits speak.
        ("서버는 포트 8080에서 실행됩니다", "서버가 실행되는 포트는 8081입니다"),
    ],
)
def test_doubtful_difference_is_asked_about_and_never_refused(
    tmp_path: Path, said: str, again: str
) -> None:
    with judged(tmp_path, SureJudge()) as store:
        known = store.save(said, vector=BASE)
        answer = store.do(near(again, 0.97))
        assert (answer.saved, answer.guard.question.memory_id) == (True, known)


@pytest.mark.parametrize("again", [SAID, "the neighbour has a loud dog!"])
def test_equal_words_are_refused_without_the_judge(tmp_path: Path, again: str) -> None:
    judge = SureJudge()
    with judged(tmp_path, judge) as store:
        store.save(SAID, vector=BASE)
        answer = store.do(near(again))
        assert not answer.saved
        assert answer.guard.method in (Method.EXACT, Method.JACCARD)
        assert not judge.pairs


BY_READINGS = "The client retries reads but not writes.", "The client retries writes but not reads."
"""An exchange of words that the readings miss."""


@pytest.mark.parametrize(
    ("relation", "verdict"),
    [(Relation.EXCLUSIVE, Verdict.UPDATE), (Relation.UNRELATED, Verdict.RELATED)],
)
def test_judge_that_is_against_it_keeps_a_duplicate_by_the_readings(
    tmp_path: Path, relation: Relation, verdict: Verdict
) -> None:
    said, again = BY_READINGS
    judge = SureJudge(relation)
    with judged(tmp_path / "with", judge) as store, opened(tmp_path / "without") as other:
        known = store.save(said, vector=BASE)
        other.save(said, vector=BASE)
        assert not other.do(near(again, 0.97)).saved
        checked = store.check(near(again, 0.97))
        answer = store.do(near(again, 0.97))
        assert answer.saved
        assert answer.guard == checked.guard
        assert (answer.guard.verdict, answer.guard.question) == (verdict, None)
        (similar,) = answer.guard.similar
        assert similar.memory_id == known
        by_judge, order = similar.judgement.evidence
        assert (by_judge.finding, order.finding) == (Finding.JUDGE, Finding.ORDER)
        assert order.own_text == "client retries writes but not reads"
        assert order.other_text == "client retries reads but not writes"
        assert similar.judgement.same_probability < 0.1
        assert len(judge.pairs) == 1


def test_what_the_judge_keeps_against_the_readings_replaces_nothing(tmp_path: Path) -> None:
    said, again = BY_READINGS
    with judged(tmp_path, SureJudge(Relation.EXCLUSIVE)) as store:
        store.save(said, vector=BASE)
        answer = store.do(replacing(again))
        assert (answer.saved, answer.superseded_ids) == (True, ())


def test_judge_that_is_for_it_leaves_a_duplicate_by_the_readings_as_it_is(tmp_path: Path) -> None:
    said, again = BY_READINGS
    judge = SureJudge()
    with judged(tmp_path / "with", judge) as store, opened(tmp_path / "without") as other:
        for item in (store, other):
            item.save(said, vector=BASE)
        found, without = store.do(near(again, 0.97)), other.do(near(again, 0.97))
        assert not found.saved
        assert (found.guard.method, found.guard.duplicate.judgement) == (
            without.guard.method,
            without.guard.duplicate.judgement,
        )
        assert len(judge.pairs) == 1


def test_duplicate_by_the_readings_is_refused_where_the_judge_is_late(tmp_path: Path) -> None:
    said, again = BY_READINGS
    judge = SureJudge(Relation.EXCLUSIVE)
    with judged(tmp_path, judge, deadline_s=0.02) as store:
        store.save(said, vector=BASE)
        judge.hold()
        assert not store.do(near(again, 0.97)).saved
        judge.release()


def test_judge_is_heard_on_each_memory_that_the_readings_call_a_duplicate(tmp_path: Path) -> None:
    said, again = BY_READINGS
    judge = SureJudge(Relation.EXCLUSIVE)
    with judged(tmp_path, judge) as store:
        store.save(said, vector=BASE)
        store.save(f"{said} Please.", vector=vector_at(BASE, 0.99), force=True)
        assert store.do(near(again, 0.97)).saved
        assert len(judge.pairs) == 2


@pytest.mark.parametrize(
    ("relation", "verdict", "link"),
    [
        (Relation.EXCLUSIVE, Verdict.UPDATE, LinkType.UPDATES),
        (Relation.MORE, Verdict.REFINEMENT, LinkType.REFINES),
        (Relation.LESS, Verdict.CONTAINED, LinkType.REFINED_BY),
        (Relation.COMPATIBLE, Verdict.RELATED, LinkType.RELATED),
        (Relation.UNRELATED, Verdict.RELATED, LinkType.RELATED),
    ],
)
def test_relation_is_verdict_and_link(
    tmp_path: Path, relation: Relation, verdict: Verdict, link: LinkType
) -> None:
    with judged(tmp_path, SureJudge(relation, of=AGAIN)) as store:
        known = store.save(SAID, vector=BASE)
        answer = store.do(near(cosine=0.8))
        assert answer.saved
        assert answer.guard.verdict is verdict
        assert [(other.target_id, other.type) for other in answer.links] == [(known, link)]


def test_judge_reads_few_pairs_a_save(tmp_path: Path) -> None:
    judge = SureJudge(Relation.COMPATIBLE)
    with judged(tmp_path, judge) as store:
        for number, name in enumerate(("Ada", "Bea", "Cleo", "Dora", "Eva", "Fay", "Gus")):
            vector = vector_at(BASE, 0.70 + number / 100, seed=number)
            store.save(f"{name} owns a boat and a {'red ' * number}kite", vector=vector, force=True)
        judge.pairs.clear()
        store.do(remember(AGAIN, vector=BASE))
        assert 1 <= len(judge.pairs) <= limits.OWN_JUDGE_PAIRS_PER_SAVE_MAX


def test_pair_out_of_reach_is_not_judged(tmp_path: Path) -> None:
    judge = SureJudge()
    with judged(tmp_path, judge) as store:
        store.save(SAID, vector=BASE)
        assert store.do(near(cosine=0.5)).saved
        assert not judge.pairs


def test_check_says_what_remember_would(tmp_path: Path) -> None:
    with judged(tmp_path, SureJudge()) as store:
        store.save(SAID, vector=BASE)
        checked = store.check(near())
        assert not checked.would_save
        assert store.do(near()).guard == checked.guard


def test_late_judge_delays_a_save_once_and_is_known_to_the_next(tmp_path: Path) -> None:
    judge = SureJudge()
    with judged(tmp_path, judge, deadline_s=0.02) as store:
        store.save(SAID, vector=BASE)
        judge.hold()
        assert store.do(near()).saved
        assert len(judge.pairs) == 1
        judge.release()


def test_failing_judge_changes_nothing(tmp_path: Path) -> None:
    judge = SureJudge()
    judge.error = JudgeFailed("down")
    with judged(tmp_path / "with", judge) as store, opened(tmp_path / "without") as other:
        for item in (store, other):
            item.save(SAID, vector=BASE)
        found, without = store.do(near(cosine=0.8)), other.do(near(cosine=0.8))
        assert found.saved
        assert found.guard.verdict is without.guard.verdict
        assert [s.judgement for s in found.guard.similar] == [
            s.judgement for s in without.guard.similar
        ]


def test_other_payload_is_kept_whatever_the_judge_says(tmp_path: Path) -> None:
    with judged(tmp_path, SureJudge()) as store:
        store.save(SAID, vector=BASE, payload={"room": "12"})
        assert store.do(near(payload={"room": "14"})).saved


RESTATED = [
    f"{start} {end}"
    for start in ("Next door", "Close by", "Over there", "On the left", "Behind the wall",
                  "Upstairs", "In that house", "Down the road")
    for end in ("lives a noisy animal", "something barks all day", "a hound makes a racket",
                "they keep a boisterous pet")
]  # fmt: skip


def test_of_many_that_say_the_same_at_once_in_other_words_one_is_saved(tmp_path: Path) -> None:
    assert len(set(RESTATED)) == 32
    judge = SureJudge(batch_max=8)
    with judged(tmp_path, judge) as store:
        futures = [
            store.engine.apply(store.collection, "", [near(text, 0.99, agent=f"agent {number}")])
            for number, text in enumerate(RESTATED)
        ]
        answers = [future.result(wait_s()).results[0] for future in futures]
        assert sum(answer.saved for answer in answers) == 1
        [kept] = [answer.memory_id for answer in answers if answer.saved]
        assert {answer.memory_id for answer in answers} == {kept}


class KnowsOneTwin(SureJudge):
    """Calls two texts the same only if neither is the first memory."""

    def _says(self, pair: TextPair) -> Opinion | None:
        if SAID in (pair.one, pair.other):
            return Opinion.on(Relation.COMPATIBLE, self.confidence, "own:test")
        return super()._says(pair)


def test_what_was_saved_while_the_judge_read_is_judged_too(tmp_path: Path) -> None:
    judge = KnowsOneTwin()
    with judged(tmp_path, judge) as store:
        store.save(SAID, vector=BASE)
        judge.hold()
        both = RESTATED[:2]
        futures = [store.engine.apply(store.collection, "", [near(text, 0.9)]) for text in both]
        assert judge.asked.wait(wait_s())
        judge.release()
        answers = [future.result(wait_s()).results[0] for future in futures]
        assert sorted(answer.saved for answer in answers) == [False, True]


# -- The rules


def test_probability_is_of_the_features_and_of_the_judge() -> None:
    said = [Opinion.on(Relation.SAME, 0.9, "a"), Opinion.on(Relation.UNRELATED, 0.9, "a")]
    rows = [
        features.judged(opinion.same, opinion.relations) for opinion in said if opinion is not None
    ]
    assert [len(row) for row in rows] == 2 * [len(features.JUDGE_NAMES)]
    seen = np.zeros(len(features.NAMES))
    likely, unlikely = (probability.same_probability_judged(seen, row) for row in rows)
    assert 0.0 < unlikely < likely < 1.0
    seen[features.NAMES.index("digits_differ")] = 2.0
    assert probability.same_probability_judged(seen, rows[0]) <= likely


@pytest.mark.parametrize(
    ("own", "other", "may"),
    [
        (AGAIN, SAID, True),
        ("Where is the noisy hound?", "Where does the loud dog live?", False),
        ("Review: the neighbour has a loud dog", SAID, False),
        (SAID, "The neighbour has a loud dog called Rex", False),
        ("The spare key is in the cupboard.", "The spare key is on the cupboard.", False),
        ("The spare key hangs in the cupboard.", "The spare key lies on the cupboard.", True),
    ],
)
def test_no_judge_refuses_a_question_or_added_words_or_one_other_function_word(
    own: str, other: str, may: bool
) -> None:
    compared = compare(own, other, 0.9, WEIGHTS)
    assert cascade.may_refuse(compared, compared.judgement) is may


def test_features_of_a_judge_do_not_depend_on_the_order_of_the_texts() -> None:
    opinion = Opinion(0.0, (0.1, 0.5, 0.2, 0.1, 0.1, 0.0), "a")
    back = opinion.mirrored()
    here = features.judged(opinion.same, opinion.relations)
    assert np.array_equal(here, features.judged(back.same, back.relations))
    assert np.isfinite(here).all()
    assert np.isfinite(features.judged(1.0, back.relations)).all()


def test_denial_that_excludes_is_a_contradiction(tmp_path: Path) -> None:
    said, denied = "The old bridge is open for trucks", "Trucks are not let over the old bridge"
    with judged(tmp_path, SureJudge(Relation.EXCLUSIVE, of=denied)) as store:
        store.save(said, vector=BASE)
        answer = store.do(near(denied, 0.9))
        assert answer.saved
        assert answer.guard.verdict in (Verdict.CONTRADICTION, Verdict.UPDATE)
    assert Finding.POLARITY in cascade._DENIALS


@pytest.mark.parametrize(
    ("said", "new", "relation", "verdict"),
    [
        ("Yusuf is allergic to dust", "Yusuf is not allergic to latex", "exclusive", "related"),
        ("Kofi can eat rice", "Kofi can't eat lentils", "exclusive", "related"),
        ("Kofi can eat rice", "Kofi can't eat rice", "exclusive", "contradiction"),
        (
            "The demo is on Thursday, not on Tuesday",
            "The demo is on Tuesday",
            "less",
            "contradiction",
        ),
        ("The port is 9000, not 9100", "The port is 9100", "less", "contradiction"),
        ("The demo is on Thursday", "The demo is on Thursday in room 5", "more", "refinement"),
    ],
)
def test_denial_counts_beside_the_relation(
    tmp_path: Path, said: str, new: str, relation: str, verdict: str
) -> None:
    with judged(tmp_path, SureJudge(Relation(relation), of=new)) as store:
        store.save(said, vector=BASE)
        answer = store.do(near(new, 0.75))
        assert answer.saved
        assert answer.guard.verdict == Verdict(verdict)


def test_memory_that_refuses_is_not_among_the_similar_ones_too(tmp_path: Path) -> None:
    with judged(tmp_path, SureJudge()) as store:
        known = store.save(SAID, vector=BASE)
        answer = store.do(near(cosine=0.9))
        assert answer.guard.duplicate.memory_id == known
        assert not answer.guard.similar


# -- What a verdict replaces

ON_MONDAY, ON_TUESDAY = "The build runs on Mondays", "The build runs on Tuesdays"


def replacing(content: str) -> Remember:
    """A text near the first that supersedes what it updates."""
    return replace(near(content, 0.8), actions=((Verdict.UPDATE, Action.SUPERSEDE),))


@pytest.mark.parametrize(("confidence", "replaced"), [(0.95, True), (0.9, False)])
def test_judge_that_is_certain_says_what_a_hard_difference_replaces(
    tmp_path: Path, confidence: float, replaced: bool
) -> None:
    judge = SureJudge(Relation.EXCLUSIVE)
    judge.confidence = confidence
    with judged(tmp_path, judge) as store:
        old = store.save(ON_MONDAY, vector=BASE)
        answer = store.do(replacing(ON_TUESDAY))
        assert answer.saved
        assert answer.superseded_ids == ((old,) if replaced else ())
        assert answer.guard.maybe_replaced_ids == (() if replaced else (old,))
        (similar,) = [memory for memory in answer.guard.similar if memory.memory_id == old]
        found = [line.finding for line in similar.judgement.evidence]
        assert found[0] is Finding.JUDGE
        assert (found[1] is Finding.EXCLUSIVE) is replaced
        assert similar.judgement.hard


def test_judge_reads_a_hard_difference_only_where_a_verdict_may_supersede(tmp_path: Path) -> None:
    judge = SureJudge(Relation.EXCLUSIVE)
    with judged(tmp_path, judge) as store:
        store.save(ON_MONDAY, vector=BASE)
        store.do(near(ON_TUESDAY, 0.8))
        assert not judge.pairs


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # What happened stays true.
        ("We deployed version 1.2", "We deployed version 1.3"),
        # The rule is certain.
        ("The timeout is 30 s", "The timeout is 60 s"),
    ],
)
def test_judge_is_not_asked_about_what_is_known(tmp_path: Path, old: str, new: str) -> None:
    judge = SureJudge(Relation.EXCLUSIVE)
    with judged(tmp_path, judge) as store:
        store.save(old, vector=BASE)
        store.do(replacing(new))
        assert not judge.pairs


def test_judge_that_calls_a_hard_difference_the_same_changes_nothing(tmp_path: Path) -> None:
    with judged(tmp_path, SureJudge(Relation.SAME)) as store:
        old = store.save(ON_MONDAY, vector=BASE)
        answer = store.do(replacing(ON_TUESDAY))
        assert (answer.saved, answer.superseded_ids) == (True, ())
        assert answer.guard.question is None
        assert answer.guard.maybe_replaced_ids == (old,)
