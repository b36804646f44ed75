"""Answer of the guard: a report with ids and snippets, made from what was found and judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from totonoe_core.base import limits
from totonoe_core.base.clock import age_text
from totonoe_core.domain.records import (
    Duplicate,
    GuardReport,
    Judgement,
    Method,
    SimilarMemory,
    Verdict,
)
from totonoe_core.engine.guarding.judging import JudgedNeighbour, undecided
from totonoe_core.engine.guarding.texts import Texts
from totonoe_core.guard import candidates
from totonoe_core.guard.candidates import Candidate, GuardResult
from totonoe_core.text.normalize import snippet
from totonoe_core.text.reading.budget import ReadingBudget


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Memories that a save may link to or supersede, nearest first.

    `likely` are those that probably say the same, the most probable first. `reading` is the rest of
    the decision's budget. `unread` is true if the daemon's own judge had no time for some of them.
    """

    near: tuple[Candidate, ...]
    judged: tuple[JudgedNeighbour, ...]
    likely: tuple[JudgedNeighbour, ...]
    texts: Texts
    reading: ReadingBudget
    unread: bool = False


def shown(near: Sequence[Candidate], above: float) -> list[Candidate]:
    """Return at most SIMILAR_SHOWN_MAX candidates that are near enough to show, nearest first."""
    chosen = [candidate for candidate in near if max(candidate.cosine, candidate.jaccard) > above]
    chosen.sort(key=lambda candidate: (-max(candidate.cosine, candidate.jaccard), candidate.slot))
    return chosen[: limits.SIMILAR_SHOWN_MAX]


def reported(
    texts: Texts,
    found: GuardResult,
    near: Sequence[Candidate],
    judged: Mapping[int, JudgedNeighbour],
    now_us: int,
    why_not: str,
) -> GuardReport:
    """Return the report of the layers.

    Parameters
    ----------
    near : sequence of Candidate
        The memories to show.
    judged : mapping of slot to JudgedNeighbour
        What was read.
    why_not : str
        The reason why no layer ran; empty if they ran.
    """
    duplicate = None
    if found.slot >= 0:
        judgement = judged[found.slot].judgement if found.slot in judged else None
        duplicate = duplicate_at(
            texts, found.slot, found.similarity, found.method, judgement, now_us
        )
    return GuardReport(
        duplicate,
        found.method,
        found.similarity,
        _similar(texts, near, judged, now_us),
        found.layers or candidates.skipped(why_not),
        None if why_not else _gravest(found.slot, judged, bool(near)),
    )


def duplicate_at(
    texts: Texts,
    slot: int,
    similarity: float,
    method: Method,
    judgement: Judgement | None,
    now_us: int,
) -> Duplicate:
    """Return the memory that refuses a text, as the answer shows it."""
    excerpt = texts.of(slot)
    return Duplicate(
        memory_id=excerpt.id,
        age=age_text(excerpt.created_us, now_us),
        snippet=snippet(excerpt.content, limits.SNIPPET_CHARS),
        similarity=min(1.0, similarity),
        method=method,
        judgement=judgement,
        source=texts.source_of(slot),
    )


def with_one(report: GuardReport, neighbours: Neighbours, now_us: int) -> GuardReport:
    """Return the report with the memory to ask about, or else with the one to show."""
    texts, text, likely = neighbours.texts, neighbours.texts.text, neighbours.likely
    chosen = likely or undecided(
        text,
        [neighbour for neighbour in neighbours.judged if text.policy.is_shown(neighbour.judgement)],
    )
    if not chosen:
        return report
    first = chosen[0]
    (memory,) = _similar(texts, [_as_candidate(texts, first)], {first.slot: first}, now_us)
    return replace(report, question=memory) if likely else replace(report, nearest=memory)


def with_linked(
    report: GuardReport, linked: Iterable[str], neighbours: Neighbours, now_us: int
) -> GuardReport:
    """Return the report with every memory that a save was linked to among the similar ones."""
    texts = neighbours.texts
    shown_ids = {memory.memory_id for memory in report.similar}
    slots = texts.state.index.slot_by_id
    missing = [
        slots.get(memory_id) for memory_id in dict.fromkeys(linked) if memory_id not in shown_ids
    ]
    judged = {neighbour.slot: neighbour for neighbour in neighbours.judged}
    compared = {candidate.slot: candidate for candidate in neighbours.near}
    # A memory that the caller named was not compared, and needs no showing.
    chosen = [
        compared[slot] if slot in compared else _as_candidate(texts, judged[slot])
        for slot in missing
        if slot is not None and (slot in compared or slot in judged)
    ]
    texts.read([candidate.slot for candidate in chosen])
    added = _similar(texts, chosen, judged, now_us)
    return replace(report, similar=(*report.similar, *added)) if added else report


def _similar(
    texts: Texts, chosen: Sequence[Candidate], judged: Mapping[int, JudgedNeighbour], now_us: int
) -> tuple[SimilarMemory, ...]:
    return tuple(
        SimilarMemory(
            memory_id=excerpt.id,
            cosine_similarity=max(-1.0, min(1.0, candidate.cosine)),
            jaccard_similarity=candidate.jaccard,
            snippet=snippet(excerpt.content, limits.SNIPPET_CHARS),
            age=age_text(excerpt.created_us, now_us),
            same_text=texts.is_equal(candidate.slot),
            judgement=judged[candidate.slot].judgement if candidate.slot in judged else None,
            revision=excerpt.revision,
            source=texts.source_of(candidate.slot),
        )
        for candidate in chosen
        for excerpt in (texts.of(candidate.slot),)
    )


def _as_candidate(texts: Texts, judged: JudgedNeighbour) -> Candidate:
    """Return a memory that was read with both its similarities."""
    return Candidate(
        slot=judged.slot,
        cosine=0.0 if texts.by_words(judged.slot) else judged.similarity,
        jaccard=texts.shared_words(judged.slot),
        comparable=True,
    )


def _gravest(refused_by: int, judged: Mapping[int, JudgedNeighbour], near: bool) -> Verdict:
    """Return the gravest verdict on any memory that was read."""
    if refused_by >= 0:
        return judged[refused_by].judgement.verdict if refused_by in judged else Verdict.DUPLICATE
    verdicts = {neighbour.judgement.verdict for neighbour in judged.values()}
    verdicts.add(Verdict.RELATED if near else Verdict.NEW)
    return next(verdict for verdict in _GRAVEST_FIRST if verdict in verdicts)


_GRAVEST_FIRST = (
    Verdict.CONTRADICTION,
    Verdict.UPDATE,
    Verdict.REFINEMENT,
    Verdict.CONTAINED,
    # For a policy that keeps duplicates.
    Verdict.DUPLICATE,
    Verdict.RELATED,
    Verdict.NEW,
)
