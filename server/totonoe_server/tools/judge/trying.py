"""Asks a judge about every pair, and works out what the guard would do with its answers.

The guard asks a judge about few pairs only (`judging/hearing.py`). So there are two parts: the
judge by itself, on all pairs; and the guard with and without it, where it would be asked.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.calibration import weights_for
from totonoe_core.domain.policy import Action, GuardPolicy, Tokenizer
from totonoe_core.domain.records import Method, ModelIdentity, Verdict
from totonoe_core.engine.pairs import PairOfTexts, read_pair
from totonoe_core.guard.candidates import NOMINATED_FROM, NOMINATED_WORDS_ABOVE
from totonoe_core.judging import (
    Judge,
    JudgeFailed,
    JudgeSettings,
    Opinion,
    Relation,
    TextPair,
    cascade,
)
from totonoe_core.judging.hearing import is_put_to_judge, judged_by, stated_for
from totonoe_core.text.normalize import refusing_hash, snippet
from totonoe_server.tools.judge.pairs import LabelledPair
from totonoe_server.tools.quality.figures import auc, mean, share
from totonoe_server.tools.quality.rig import Advance, Rig, windowed

FAILURES_MAX = 10
"""Failures in a row after which the judge is given up."""
_WRONG_SHOWN_MAX = 20
_SNIPPET_CHARS = 60
NO_OPINION = "no opinion"
NO_ANSWER = "no answer"


class JudgeGoneError(Exception):
    """The judge fails again and again. The message says how, and quotes no text."""


class Change(StrEnum):
    """Change that a judge's answer makes."""

    REFUSED = "newly refused"
    ASKED = "newly asked"
    NOT_ASKED = "no longer asked"


@dataclass(frozen=True, slots=True)
class Answer:
    """A judge's answer on a pair.

    Attributes
    ----------
    opinion : Opinion or None
        Of b to a.
    failure : str
        Why there is no answer; empty if there is one.
    wall_s, share_s : float
        Seconds until it came, and its share of them: a batch comes at once.
    """

    opinion: Opinion | None
    failure: str
    wall_s: float
    share_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """Decision of the guard on the second text of a pair while the first is stored."""

    refused: bool
    asked: bool


@dataclass(frozen=True, slots=True)
class TriedPair:
    """A pair with what the guard does without the judge, and with it.

    `answer` is `None` if the judge cannot be asked: there is none, or a text is too long.
    """

    pair: LabelledPair
    probability: float
    before: Outcome
    after: Outcome
    put_to_judge: bool
    answer: Answer | None

    @property
    def change(self) -> Change | None:
        """Change of the outcome; `None` for none."""
        if self.after.refused:
            return None if self.before.refused else Change.REFUSED
        if self.after.asked is not self.before.asked:
            return Change.ASKED if self.after.asked else Change.NOT_ASKED
        return None

    @property
    def wrong(self) -> bool:
        """Whether the change is against the label."""
        return self.change is not None and self.pair.same is (self.change is Change.NOT_ASKED)


def ask_all(
    judge: Judge, pairs: Sequence[LabelledPair], advance: Advance
) -> tuple[list[Answer | None], float]:
    """Return the answers on all pairs in their order, and the CPU seconds of this process.

    Raises
    ------
    JudgeGoneError
        It failed FAILURES_MAX times in a row, or on every pair.
    """
    short = [pair for pair in pairs if max(len(pair.a), len(pair.b)) <= limits.JUDGE_TEXT_CHARS_MAX]
    advance(len(pairs) - len(short))
    batches = _batches(short, min(judge.batch_max, limits.JUDGE_BATCH_PAIRS_MAX))
    answers: dict[int, Answer] = {}
    failures_in_row = 0
    began_s = time.process_time()
    pool, ask = ThreadPoolExecutor(judge.thread_count), _asker(judge)
    under_way = 2 * judge.thread_count
    try:
        asked = windowed(batches, lambda batch: pool.submit(ask, batch), under_way)
        for batch, found in zip(batches, asked, strict=True):
            answers.update((pair.line, answer) for pair, answer in zip(batch, found, strict=True))
            failures_in_row = failures_in_row + 1 if found[0].failure else 0
            if failures_in_row == FAILURES_MAX:
                raise JudgeGoneError(
                    f"the judge failed {FAILURES_MAX} times in a row ({found[0].failure})"
                )
            advance(len(batch))
        if answers and all(answer.failure for answer in answers.values()):
            raise JudgeGoneError(f"the judge failed on every pair ({found[0].failure})")
    finally:
        pool.shutdown(cancel_futures=True)
    cpu_s = time.process_time() - began_s
    return [answers.get(pair.line) for pair in pairs], cpu_s


def _batches(pairs: Sequence[LabelledPair], size: int) -> list[Sequence[LabelledPair]]:
    return [pairs[at : at + size] for at in range(0, len(pairs), size)]


def _asker(judge: Judge) -> Callable[[Sequence[LabelledPair]], list[Answer]]:
    def ask(batch: Sequence[LabelledPair]) -> list[Answer]:
        pairs = [
            TextPair.of(pair.b, refusing_hash(pair.b), pair.a, refusing_hash(pair.a))
            for pair in batch
        ]
        began_s, failure = time.monotonic(), ""
        opinions: Sequence[Opinion | None] = [None] * len(batch)
        try:
            said = judge.ask(pairs)
            if len(said) == len(batch):
                opinions = said
            else:
                failure = "another number of opinions than of pairs"
        except JudgeFailed as error:
            failure = str(error)
        # As in the daemon: any exception is no answer. Its message may hold a text.
        except Exception as error:
            failure = type(error).__name__
        wall_s = time.monotonic() - began_s
        return [
            Answer(
                opinion and stated_for(opinion, pair, labelled.b),
                failure,
                wall_s,
                wall_s / len(batch),
            )
            for labelled, pair, opinion in zip(batch, pairs, opinions, strict=True)
        ]

    return ask


def try_all(
    pairs: Sequence[LabelledPair],
    policy: GuardPolicy,
    rig: Rig,
    settings: JudgeSettings,
    answers: Sequence[Answer | None],
    advance: Advance,
) -> list[TriedPair]:
    """Return what the guard does with each pair. `advance` is told each text that is embedded."""
    texts = list(itertools.chain.from_iterable((pair.a, pair.b) for pair in pairs))
    vectors = rig.vectors(texts, advance).reshape(len(pairs), 2, -1)
    return [
        _tried(pair, read_pair(pair.a, pair.b, two, rig.model), policy, rig.model, settings, answer)
        for pair, two, answer in zip(pairs, vectors, answers, strict=True)
    ]


def _tried(
    pair: LabelledPair,
    found: PairOfTexts,
    policy: GuardPolicy,
    model: ModelIdentity,
    settings: JudgeSettings,
    answer: Answer | None,
) -> TriedPair:
    settled = policy.settled(found.compared.judgement)
    compared = replace(found.compared, judgement=settled)
    before = after = _outcome(replace(found, compared=compared), policy)
    if settings.kind == "own":
        return _tried_by_own(pair, replace(found, compared=compared), policy, answer, before)
    texts, weights, cosine_min = (pair.b, pair.a), weights_for(None, model), policy.judged_from
    put_to_judge = (
        settings.kind != "none"
        and not before.refused
        and cosine_min is not None
        and is_put_to_judge(compared, found.cosine, weights, settings, texts, cosine_min)
    )
    if put_to_judge and answer is not None and answer.opinion is not None:
        heard = policy.settled(judged_by(settled, answer.opinion))
        after = _outcome(replace(found, compared=replace(compared, judgement=heard)), policy)
    probability = found.compared.judgement.same_probability
    return TriedPair(pair, probability, before, after, put_to_judge, answer)


def _tried_by_own(
    pair: LabelledPair,
    texts: PairOfTexts,
    policy: GuardPolicy,
    answer: Answer | None,
    before: Outcome,
) -> TriedPair:
    """Return what the daemon's own judge changes: it reads after all layers."""
    compared = texts.compared
    words = texts.jaccard(Tokenizer.SCRIPT_AWARE)
    read = compared, compared.judgement, pair.b, pair.a
    nominated = texts.cosine >= NOMINATED_FROM or words > NOMINATED_WORDS_ABOVE
    put_to_judge = (
        cascade.may_keep(*read) if before.refused else nominated and cascade.is_open(*read)
    )
    after = before
    if put_to_judge and answer is not None and answer.opinion is not None:
        opened = cascade.OpenPair(0, compared, compared.judgement)
        heard = cascade.judged_by(opened, answer.opinion, policy)
        duplicate = heard.verdict is Verdict.DUPLICATE
        refused = duplicate and policy.action(heard) is Action.REFUSE
        after = Outcome(refused, not refused and policy.is_likely(heard))
    return TriedPair(pair, compared.judgement.same_probability, before, after, put_to_judge, answer)


def _outcome(texts: PairOfTexts, policy: GuardPolicy) -> Outcome:
    refused = texts.refused_by(policy) is not Method.NONE
    return Outcome(refused, not refused and policy.is_likely(texts.compared.judgement))


def figures(tried: Sequence[TriedPair], settings: JudgeSettings, cpu_s: float) -> dict[str, Any]:
    """Return the report's figures: plain data, shares 0..1, times in milliseconds."""
    same = np.array([pair.pair.same for pair in tried], np.bool_)
    found: dict[str, Any] = {
        "rows": len(tried),
        "same_count": int(np.count_nonzero(same)),
        "different_count": int(np.count_nonzero(~same)),
        "guard": {
            "auc": auc(np.array([pair.probability for pair in tried]), same),
            **_outcomes((pair.pair.same, pair.before) for pair in tried),
        },
    }
    if settings.kind == "none":
        return found
    found["judge"] = _of_judge(tried, settings, cpu_s)
    found["with_judge"] = {
        "put_to_judge_count": sum(pair.put_to_judge for pair in tried),
        **_outcomes((pair.pair.same, pair.after) for pair in tried),
        "changes": {change.value: _of_change(tried, change) for change in Change},
    }
    wrong = [pair for pair in tried if pair.wrong]
    found["wrong"] = [_shown(pair) for pair in wrong[:_WRONG_SHOWN_MAX]]
    found["wrong_count"] = len(wrong)
    found["relations"] = _relations(tried)
    return found


def _outcomes(labelled: Iterable[tuple[bool, Outcome]]) -> dict[str, Any]:
    groups: dict[bool, list[Outcome]] = {True: [], False: []}
    for same, outcome in labelled:
        groups[same].append(outcome)
    return {
        name: {
            label: share(sum(getattr(outcome, name) for outcome in groups[same]), len(groups[same]))
            for label, same in (("same", True), ("different", False))
        }
        for name in ("refused", "asked")
    }


def _of_judge(tried: Sequence[TriedPair], settings: JudgeSettings, cpu_s: float) -> dict[str, Any]:
    asked = [pair for pair in tried if pair.answer is not None]
    answers = [pair.answer for pair in tried if pair.answer is not None]
    sure = [
        (pair, pair.answer.opinion)
        for pair in asked
        if pair.answer is not None and pair.answer.opinion is not None
    ]
    same = np.array([pair.pair.same for pair, _ in sure], np.bool_)
    failures = Counter(answer.failure for answer in answers if answer.failure)
    wall_ms = mean(1000.0 * answer.share_s for answer in answers)
    return {
        "name": sure[0][1].by if sure else settings.kind,
        "asked_count": len(asked),
        "opinion_count": len(sure),
        "no_opinion_count": len(asked) - len(sure) - failures.total(),
        "failed_count": failures.total(),
        "failures": dict(failures.most_common()),
        "too_long_count": len(tried) - len(asked),
        "late_count": sum(answer.wall_s > settings.patience_s for answer in answers),
        "auc": auc(np.array([opinion.same for _, opinion in sure]), same),
        "auc_of_guard": auc(np.array([pair.probability for pair, _ in sure]), same),
        "wall_ms": wall_ms,
        "cpu_ms": share(1000.0 * cpu_s, len(asked)),
    }


def _of_change(tried: Sequence[TriedPair], change: Change) -> dict[str, int]:
    pairs = [pair for pair in tried if pair.change is change]
    return {"count": len(pairs), "wrong_count": sum(pair.wrong for pair in pairs)}


def _shown(pair: TriedPair) -> dict[str, Any]:
    assert pair.change is not None
    texts = {"a": snippet(pair.pair.a, _SNIPPET_CHARS), "b": snippet(pair.pair.b, _SNIPPET_CHARS)}
    return {"line": pair.pair.line, "change": pair.change.value, **texts}


def _relations(tried: Sequence[TriedPair]) -> dict[str, dict[str, int]]:
    """Count what the judge says by what the line says: its relation, or else its label."""
    columns = [*(relation.value for relation in Relation), NO_OPINION, NO_ANSWER]
    counts: dict[str, Counter[str]] = {}
    for pair in tried:
        labelled = pair.pair.relation or ("label 1" if pair.pair.same else "label 0")
        counts.setdefault(str(labelled), Counter())[_said(pair.answer)] += 1
    rows = [*(relation.value for relation in Relation), "label 1", "label 0"]
    return {
        row: {column: counts[row][column] for column in columns} for row in rows if row in counts
    }


def _said(answer: Answer | None) -> str:
    if answer is None or answer.failure:
        return NO_ANSWER
    return NO_OPINION if answer.opinion is None else answer.opinion.relation.value
