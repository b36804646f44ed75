"""Questions: is the evidence among the first k, with diversity and without, and for BM25?

Each conversation and level is a collection of its own, one after the other: the guard then
compares within the conversation, as the labels mean it, and a search looks at nothing
else. (A filter on one collection would have to hide the rest from every search, and
evidence could be refused for a memory that the filter hides.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import DiversityPolicy, GuardPolicy
from totonoe_core.domain.queries import Recalled, RecallQuery
from totonoe_core.domain.records import Fields
from totonoe_server.tools.quality.bm25 import Bm25
from totonoe_server.tools.quality.figures import mean, recall_at, reciprocal_rank
from totonoe_server.tools.quality.files import BenchmarkNote, Question
from totonoe_server.tools.quality.rig import Advance, Rig

K = 10
AT = (1, 5, K)
ON, OFF, WORDS = "diversity_on", "diversity_off", "bm25"
HOW = (ON, OFF, WORDS)
"""Ways to find: ours, with diversity and without, and BM25 over the same memories."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question, the memories that hold its evidence, and what came back."""

    question: Question
    evidence: tuple[str, ...]
    hits: dict[str, tuple[str, ...]]


def levels(told: Iterable[BenchmarkNote]) -> list[str]:
    """Levels of a file in their order; one empty name where it has none."""
    return list(dict.fromkeys(note.level for note in told))


def askable(
    questions: Iterable[Question], told: Sequence[BenchmarkNote]
) -> list[tuple[Question, list[str]]]:
    """Questions with their evidence among the memories `told`, those without left out."""
    conv_of = {note.id: note.conv for note in told}
    found = []
    for question in questions:
        ids = sorted(
            evidence_id
            for evidence_id in question.evidence_ids
            if conv_of.get(evidence_id) == question.conv
        )
        if ids:
            found.append((question, ids))
    return found


def cost(told: Sequence[BenchmarkNote], questions: Sequence[Question]) -> int:
    """How much `measure` will tell `advance` altogether."""
    return len(told) + 2 * len(askable(questions, told))


def measure(
    told: Sequence[BenchmarkNote],
    questions: Sequence[Question],
    policy: GuardPolicy,
    rig: Rig,
    advance: Advance,
) -> dict[str, Any]:
    """Figures for the memories of one level."""
    asked: list[AskedQuestion] = []
    refused: Counter[str] = Counter()
    can_be_asked = askable(questions, told)
    for conv in dict.fromkeys(note.conv for note in told):
        with rig.collection(policy) as name:
            memories = [note for note in told if note.conv == conv]
            memory_of: dict[str, str] = {}
            answers = rig.remember(name, [_remember(note) for note in memories], advance)
            for note, answer in zip(memories, answers, strict=True):
                memory_of[note.id] = answer.memory_id
                if not answer.saved:
                    refused[answer.guard.method.value] += 1
            mine = [pair for pair in can_be_asked if pair[0].conv == conv]
            ours = {
                how: list(
                    rig.recall(name, [_query(question, how) for question, _ in mine], advance)
                )
                for how in (ON, OFF)
            }
        kept = {memory_of[note.id]: note.text for note in reversed(memories)}
        names, words = list(kept), Bm25(list(kept.values()))
        for at, (question, ids) in enumerate(mine):
            evidence = tuple(memory_of[memory_id] for memory_id in ids)
            hits = {how: _ids(ours[how][at]) for how in (ON, OFF)}
            hits[WORDS] = tuple(names[place] for place in words.best(question.text, K))
            asked.append(AskedQuestion(question, evidence, hits))
    categories = sorted({question.question.category for question in asked} - {""})
    return {
        **figures(asked),
        "n_memories": len(told),
        "n_refused": refused.total(),
        "refused_by_method": dict(sorted(refused.items())),
        "n_without_evidence": len(questions) - len(can_be_asked),
        "by_category": {
            category: figures(
                [question for question in asked if question.question.category == category]
            )
            for category in categories
        },
    }


def _remember(note: BenchmarkNote) -> Remember:
    return Remember(
        note.speaker, note.text, Fields(created_us=note.created_us, thread_id=note.thread)
    )


def _query(question: Question, how: str) -> RecallQuery:
    diversity = None if how == ON else DiversityPolicy(enabled=False)
    return RecallQuery("", question.text, k=K, diversity=diversity, touch=False)


def _ids(recalled: Recalled) -> tuple[str, ...]:
    return tuple(hit.memory.id for hit in recalled.hits)


def figures(asked: Sequence[AskedQuestion]) -> dict[str, Any]:
    """Figures over any group of questions."""
    found: dict[str, Any] = {"n": len(asked)}
    for k in AT:
        found[f"recall_at_{k}"] = {
            how: mean(
                recall_at(question.hits[how], [{e} for e in question.evidence], k)
                for question in asked
            )
            for how in HOW
        }
    found["mrr"] = {
        how: mean(
            reciprocal_rank(question.hits[how], [{e} for e in question.evidence])
            for question in asked
        )
        for how in HOW
    }
    return found
