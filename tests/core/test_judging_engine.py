"""A judge beside the writer: whom it refuses, and that nobody waits for it longer than said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.engines import Store, opened, remember, update, vector_at, vector_of
from support.judges import ScriptedJudge, service
from support.waits import wait_s
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.records import Finding, Kind, LinkType, Method, StateKind, Verdict
from totonoe_core.judging import Relation

BASE = vector_of("base")
HAPPY, GLAD = "The neighbour has a loud dog", "The neighbour has a loud puppy"


@contextmanager
def judged(path: Path, judge: ScriptedJudge, **settings: Any) -> Iterator[Store]:
    with opened(path, judging=service(judge, **settings)) as store:
        yield store
        judge.release()


def near(content: str = GLAD, cosine: float = 0.9, **more: Any) -> Remember:
    return remember(content, vector=vector_at(BASE, cosine), **more)


def test_duplicate_by_opinion_is_refused_with_the_judge_as_its_ground(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    with judged(tmp_path, judge) as store:
        known = store.save(HAPPY, vector=BASE)
        answer = store.do(near())
        assert (answer.saved, answer.memory_id) == (False, known)
        duplicate = answer.guard.duplicate
        assert (duplicate.method, answer.guard.verdict) == (Method.COSINE, Verdict.DUPLICATE)
        assert duplicate.judgement.same_probability == 0.75
        ground = duplicate.judgement.evidence[0]
        assert (ground.finding, ground.own_text) == (Finding.JUDGE, "scripted")
        assert {judge.pairs[0].one, judge.pairs[0].other} == {HAPPY, GLAD}


@pytest.mark.parametrize(("likely_from", "saved"), [(0.74, False), (0.76, True)])
def test_opinion_below_what_is_likely_refuses_nothing(
    tmp_path: Path, likely_from: float, saved: bool
) -> None:
    with judged(tmp_path, ScriptedJudge(Relation.SAME)) as store:
        store.set(("guard.likely_from", likely_from))
        store.save(HAPPY, vector=BASE)
        answer = store.do(near())
        assert answer.saved is saved
        assert answer.guard.verdict is (Verdict.RELATED if saved else Verdict.DUPLICATE)


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
def test_other_opinions_name_verdict_and_link(
    tmp_path: Path, relation: Relation, verdict: Verdict, link: LinkType
) -> None:
    with judged(tmp_path, ScriptedJudge(relation, of=GLAD)) as store:
        known = store.save(HAPPY, vector=BASE)
        answer = store.do(near())
        assert answer.saved
        assert answer.guard.verdict is verdict
        assert [(other.target_id, other.type) for other in answer.links] == [(known, link)]


def test_named_difference_is_not_put_to_the_judge(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    with judged(tmp_path, judge, asked_from=0.0, refinements=True) as store:
        store.save("The server listens on port 8080", vector=BASE)
        answer = store.do(near("The server listens on port 8081", 0.99))
        assert (answer.saved, answer.guard.verdict) == (True, Verdict.UPDATE)
        assert not judge.pairs


def test_answer_is_asked_for_once(tmp_path: Path) -> None:
    judge = ScriptedJudge(Relation.COMPATIBLE)
    with judged(tmp_path, judge) as store:
        store.save(HAPPY, vector=BASE)
        assert store.check(near()).would_save
        first = store.do(near(), operation_id="op")
        assert store.do(near(), operation_id="op") == first
        assert not store.do(near()).saved
        assert len(judge.pairs) == 1


def test_check_says_what_remember_would(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    with judged(tmp_path, judge) as store:
        known = store.save(HAPPY, vector=BASE)
        checked = store.check(near())
        assert not checked.would_save
        assert checked.guard.duplicate.memory_id == known
        assert store.do(near()).guard == checked.guard


def test_update_to_a_duplicate_by_opinion_is_refused(tmp_path: Path) -> None:
    with judged(tmp_path, ScriptedJudge()) as store:
        known = store.save(HAPPY, vector=BASE)
        other = store.save("The pump is loud")
        answer = store.do(update(other, content=GLAD, vector=vector_at(BASE, 0.9)))
        assert (answer.updated, answer.guard.duplicate.memory_id) == (False, known)


def test_logs_forced_saves_and_other_agents_private_memories_are_not_asked_about(
    tmp_path: Path,
) -> None:
    judge = ScriptedJudge()
    with judged(tmp_path, judge) as store:
        store.save(HAPPY, vector=BASE, private=True, agent="bert")
        assert store.do(near()).saved
        store.save("The customer is content with the answer", vector=BASE, force=True)
        assert store.do(near(force=True)).saved
        assert store.do(near(kind=Kind.EVENT, state_kind=StateKind.NONE)).saved
        assert not judge.pairs
        assert not store.do(near(HAPPY)).saved
        assert judge.pairs


def test_deadline_passes_and_the_text_is_saved_as_without_a_judge(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    judge.hold()
    with opened(tmp_path / "without") as store:
        store.save(HAPPY, vector=BASE)
        without = store.do(near())
    with judged(tmp_path / "with", judge, deadline_s=0.02) as store:
        store.save(HAPPY, vector=BASE)
        answer = store.do(near())
        assert answer.saved
        assert answer.guard.verdict is without.guard.verdict
        assert answer.guard.similar[0].judgement == without.guard.similar[0].judgement


@pytest.mark.parametrize("wrong", ["nothing", "an error"])
def test_judge_without_an_answer_changes_nothing(tmp_path: Path, wrong: str) -> None:
    judge = ScriptedJudge(None)
    judge.error = RuntimeError("down") if wrong == "an error" else None
    with judged(tmp_path, judge) as store:
        store.save(HAPPY, vector=BASE)
        answer = store.do(near())
        assert (answer.saved, answer.guard.verdict) == (True, Verdict.RELATED)


def test_nobody_waits_behind_a_write_that_waits_for_the_judge(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    with judged(tmp_path, judge) as store:
        known = store.save(HAPPY, vector=BASE)
        judge.hold()
        batch = [("", [near()]), ("", [remember("The pump is loud")])]
        slow, behind = store.engine.apply_all("default", batch)
        assert behind.result(wait_s()).results[0].saved
        assert store.save("The seal is new")
        assert judge.asked.wait(wait_s())
        assert not slow.done()
        judge.release()
        assert slow.result(wait_s()).results[0].memory_id == known


def test_two_at_once_who_wait_for_the_judge_are_decided_one_after_the_other(
    tmp_path: Path,
) -> None:
    judge = ScriptedJudge(Relation.COMPATIBLE)
    with judged(tmp_path, judge) as store:
        store.save(HAPPY, vector=BASE)
        judge.hold()
        both = store.engine.apply_all("default", [("", [near()]), ("", [near(agent="bert")])])
        assert judge.asked.wait(wait_s())
        judge.release()
        answers = [future.result(wait_s()).results[0] for future in both]
        assert sorted(answer.saved for answer in answers) == [False, True]
        assert answers[0].memory_id == answers[1].memory_id
        assert len(judge.pairs) == 1


def test_closed_judge_is_no_judge(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    judging = service(judge)
    with opened(tmp_path, judging=judging) as store:
        store.save(HAPPY, vector=BASE)
        judging.close()
        assert store.do(near()).saved
        assert not judge.pairs


def test_closing_engine_decides_what_waits_for_the_judge(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    with opened(tmp_path, judging=service(judge)) as store:
        store.save(HAPPY, vector=BASE)
        judge.hold()
        waiting = store.engine.apply("default", "", [near()])
        assert judge.asked.wait(wait_s())
        waiting.add_done_callback(lambda _: judge.release())
    assert waiting.result(wait_s()).results[0].saved
