"""The daemon's own judge behind the saves: what was imported, what was late, merge candidates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.engines import Store, opened, remember, vector_at, vector_of
from support.judges import ScriptedJudge, SureJudge, by_the_judge_alone, service
from support.waits import wait_s, wait_until
from totonoe_core.base import limits
from totonoe_core.domain.consolidate import Consolidated, ConsolidateQuery, Scored
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.records import Finding, Verdict
from totonoe_core.judging import Relation
from totonoe_core.judging.protocol import JudgeFailed

BASE = vector_of("base")
SAID = "The neighbour has a loud dog"
AGAIN = "Next door there is a noisy animal that barks"


@pytest.fixture(autouse=True)
def _by_the_judge_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    by_the_judge_alone(monkeypatch)


@contextmanager
def judged(path: Path, judge: ScriptedJudge, **more: Any) -> Iterator[Store]:
    with opened(path, judging=service(judge, **({"kind": "own"} | more))) as store:
        yield store
        judge.release()


def unasked(store: Store, *texts: str, cosine: float = 0.65) -> list[str]:
    """Save texts that nobody compares for questions, and have the policy ask from then on."""
    store.set(("guard.likely_from", None))
    vectors = [BASE, *(vector_at(BASE, cosine) for _ in texts[1:])]
    ids = [
        store.do(remember(text, vector=vector, force=True)).memory_id
        for text, vector in zip(texts, vectors, strict=True)
    ]
    store.set(("guard.likely_from", 0.5))
    return ids


# -- Scored later


def test_consolidate_asks_the_judge_about_what_no_save_compared(tmp_path: Path) -> None:
    judge = SureJudge()
    with judged(tmp_path, judge) as store:
        first, second = unasked(store, SAID, AGAIN)
        assert not judge.pairs
        assert store.consolidate().scored == Scored(scored_count=2, link_count=1)
        assert store.likely(first) == {second: pytest.approx(0.9)}
        assert len(judge.pairs) == 1, "each pair once"


def test_consolidate_asks_few_pairs_at_a_time_and_scores_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "JUDGE_PAIRS_PER_SCORE", 2)
    judge = SureJudge(batch_max=100)
    with judged(tmp_path, judge) as store:
        unasked(store, SAID, AGAIN, "A loud dog lives beside us", "Our neighbours keep a dog")
        scored = store.consolidate().scored
        assert (scored.scored_count, scored.left_count) == (4, 0)
        assert scored.link_count >= 3
        assert max(judge.batches) <= 2 * limits.OWN_JUDGE_PAIRS_PER_SAVE_MAX


def test_judge_that_is_paid_for_is_asked_about_saves_only(tmp_path: Path) -> None:
    judge = SureJudge()
    paid = {"kind": "decisions", "model": "m", "url": "http://127.0.0.1:1/v1"}
    with judged(tmp_path, judge, **paid) as store:
        unasked(store, SAID, "The neighbour has a loud puppy", cosine=0.9)
        assert store.consolidate(distance_below=0.5).scored.scored_count == 2
        assert not judge.pairs


def test_consolidate_scores_without_a_judge_that_fails(tmp_path: Path) -> None:
    judge = SureJudge()
    judge.error = JudgeFailed("down")
    with judged(tmp_path, judge) as store:
        unasked(store, SAID, AGAIN)
        assert store.consolidate().scored.scored_count == 2


def test_save_that_did_not_wait_for_the_judge_is_scored_by_the_next_consolidate(
    tmp_path: Path,
) -> None:
    judge = SureJudge()
    with judged(tmp_path, judge, deadline_s=0.02) as store:
        first = store.save(SAID, vector=BASE)
        assert store.stats().unscored_count == 0
        judge.hold()
        second = store.do(remember(AGAIN, vector=vector_at(BASE, 0.65))).memory_id
        assert second != first
        assert store.stats().unscored_count == 1
        assert store.likely(second) == {}
        judge.release()
        wait_until(lambda: store.more["judging"].stats().opinions_count == 1)
        assert store.consolidate().scored == Scored(scored_count=1, link_count=1)
        assert store.likely(second) == {first: pytest.approx(0.9)}
        assert store.stats().unscored_count == 0


# -- Merge candidates


def test_candidates_have_the_opinion_of_the_judge(tmp_path: Path) -> None:
    judge = SureJudge()
    with judged(tmp_path, judge) as store:
        unasked(store, SAID, AGAIN, cosine=0.8)
        (found,) = store.consolidate(distance_below=0.3).candidates
        assert found.judgement.same_probability == pytest.approx(0.9)
        assert found.judgement.evidence[0].finding is Finding.JUDGE
        assert found.judgement.verdict is Verdict.DUPLICATE
        assert len(judge.pairs) == 1, "Score asked about it already"


def test_what_the_judge_calls_exclusive_comes_last(tmp_path: Path) -> None:
    with judged(tmp_path, SureJudge(Relation.EXCLUSIVE)) as store:
        first, second, third = unasked(store, SAID, AGAIN, SAID, cosine=0.8)
        found = store.consolidate(distance_below=0.5).candidates
        assert {found[0].memory_a_id, found[0].memory_b_id} == {first, third}, "equal texts"
        (last,) = [
            candidate
            for candidate in found
            if {candidate.memory_a_id, candidate.memory_b_id} == {first, second}
        ]
        assert last.judgement.same_probability < 0.2
        assert last.judgement.verdict is Verdict.RELATED
        assert last.judgement.by_judge


def test_candidates_beyond_the_limit_are_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MERGE_CANDIDATES_JUDGED_MAX", 1)
    judge = SureJudge()
    with judged(tmp_path, judge) as store:
        unasked(store, SAID, AGAIN, "There is a cat upstairs", cosine=0.8)
        store.set(("guard.likely_from", None))
        found = store.consolidate(distance_below=0.5).candidates
        assert len(judge.pairs) == 1
        assert len(found) > 1
        assert sum(candidate.judgement.by_judge for candidate in found) == 1


def test_memory_purged_while_the_judge_read_it_is_no_candidate(tmp_path: Path) -> None:
    judge = SureJudge()
    with judged(tmp_path, judge) as store:
        first, _ = unasked(store, SAID, AGAIN, cosine=0.8)
        store.set(("guard.likely_from", None))
        judge.hold()
        query = ConsolidateQuery("anna", window_hours=0.0, distance_below=0.3)
        run = store.engine.consolidate("default", "", query).result(wait_s())
        assert judge.asked.wait(wait_s())
        store.do(Purge("anna", (first,)))
        judge.release()
        while messages := run.read().result(wait_s()):
            last = messages[-1].told
        assert isinstance(last, Consolidated)
        assert last.candidates == ()
