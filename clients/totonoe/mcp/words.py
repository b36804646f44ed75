"""Answers of the tools in words: the data above the advice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from totonoe.consolidate.models import Consolidated, MergeCandidate
from totonoe.enums import Answer, Finding, QuestionKind, Verdict
from totonoe.fence import indented, one_line
from totonoe.graph.models import LostDetail, Merged
from totonoe.history.models import Undone, Version
from totonoe.mcp.withholding import WITHHELD, may_quote, quoted
from totonoe.memories.models import (
    Duplicate,
    Forgotten,
    Judgement,
    Recalled,
    Remembered,
    Similar,
)
from totonoe.questions.models import QuestionPage, Resolved, Reviewed
from totonoe.words.parts import counted, no_longer_said
from totonoe.words.parts import evidence as finding
from totonoe.words.text import (
    FORGOTTEN,
    NOT_SAVED,
    brief,
    existing,
    felt,
    forgot_this,
    probably_same,
    related,
    saved_as,
    says_again,
    shown_similarity,
    snippet,
)

ANSWERS = "answer=same|different|replaces|replaced_by"
NEAREST_BYTES = 48
"""Bytes of the text in the line of the nearest memory."""
_ALIKE = frozenset(
    {
        *(Finding.SAME_TEXT, Finding.SAME_WORDS, Finding.SAME_CONTENT),
        *(Finding.SYNONYM, Finding.JUDGE, Finding.EXCLUSIVE),
    }
)

_WHOLE = frozenset({Finding.SAME_TEXT, Finding.SAME_WORDS, Finding.SAME_CONTENT})


def joined(lines: Iterable[str]) -> str:
    """Return lines as one text. No part of a memory looks like a line of ours."""
    return "\n".join(indented(line) for line in lines)


def undo_line(operation_id: str) -> str:
    """Return how to take an operation back."""
    return f"Take it back with undo(operation_id={operation_id})."


def differences(judgement: Judgement | None) -> list[str]:
    """Return what differs in two texts: "port: 5433 -> 5434"."""
    lines = () if judgement is None else judgement.evidence
    return list(
        dict.fromkeys(
            finding(line, ("only here", "only there"))
            for line in lines
            if line.finding not in _ALIKE
        )
    )


def remembered(answer: Remembered) -> str:
    """Say that a text is saved and what it stands beside, or which memory says the same."""
    lines: list[str] = []
    if answer.duplicate is not None:
        lines += refused(answer.duplicate)
        lines += [
            f"{answer.memory_id} takes the place of {old_id}." for old_id in answer.superseded_ids
        ]
    elif not answer.saved:
        lines += [FORGOTTEN, "If it holds again, call remember with force=true."]
    else:
        lines.append(saved_as(answer))
        lines += [f"It takes the place of {old_id}." for old_id in answer.superseded_ids]
    if answer.outdated is not None:
        lines.append(says_again(answer.outdated))
        newer = answer.outdated
        lines.append(f"- {newer.replaced_by_snippet} (id: {newer.replaced_by_id})")
    if answer.forgotten is not None:
        lines.append(forgot_this(answer.forgotten))
    if answer.saved and answer.similar:
        lines.append("Most related:")
        lines += [related(near) for near in answer.similar]
        lines += _differing(answer)
    if answer.superseded_ids and answer.operation_id:
        lines.append(undo_line(answer.operation_id))
    lines += _maybe_replaced(answer)
    if answer.question is not None:
        lines.append(probably_same(answer.question))
        lines.append(
            f"Answer with resolve(memory_id={answer.memory_id}, "
            f"other_id={answer.question.memory_id}, {ANSWERS})."
        )
    if answer.nearest is not None:
        lines.append(_nearest(answer.memory_id, answer.nearest))
    return joined(lines)


def _nearest(saved_id: str, shown: Similar) -> str:
    """Return the memory that may say the same, and what to call if it does: at most 60 tokens.

    An id takes 11 tokens in a usual vocabulary, so that each stands there once.
    """
    text = one_line(shown.snippet)
    if len(text.encode()) > NEAREST_BYTES:
        # Tokens go by bytes more than by characters: a Chinese one takes about one of its own.
        text = text.encode()[: NEAREST_BYTES - len("…".encode())].decode(errors="ignore") + "…"
    return (
        f"Nearest, {shown.age}: '{text}'. "
        f"If it says the same: resolve {saved_id} {shown.memory_id} same."
    )


def refused(duplicate: Duplicate) -> list[str]:
    """Return the lines of a text that says nothing new."""
    why = f"Found by {duplicate.method}: {', '.join(reasons(duplicate)) or 'similarity alone'}"
    return [NOT_SAVED, *existing(duplicate), why]


def reasons(duplicate: Duplicate) -> list[str]:
    """Return why a memory says the same: "same words", "synonym: lunch = dinner"."""
    lines = () if duplicate.judgement is None else duplicate.judgement.evidence
    return [
        str(line.finding).replace("_", " ")
        if line.finding in _WHOLE
        else finding(line, ("only here", "only there"))
        for line in lines
    ]


def _differing(answer: Remembered) -> Iterable[str]:
    """Yield the verdict on each memory that it was linked to by one, and what differs."""
    for near in answer.similar:
        read = near.judgement
        if read is None or read.verdict not in _LINKED:
            continue
        what = f"{str(read.verdict).capitalize()} of {near.memory_id}"
        what += f": {', '.join(differences(read))}." if differences(read) else "."
        if near.memory_id not in answer.superseded_ids and read.verdict in _NEWER:
            what += (
                f" If {near.memory_id} is no longer true: resolve(memory_id={answer.memory_id}, "
                f"other_id={near.memory_id}, answer=replaces)."
            )
        yield what


_NEWER = (Verdict.UPDATE, Verdict.CONTRADICTION)
_LINKED = (*_NEWER, Verdict.REFINEMENT, Verdict.CONTAINED)


def _maybe_replaced(answer: Remembered) -> Iterable[str]:
    """Yield the questions about memories that no verdict was certain to replace."""
    for memory_id in answer.maybe_replaced_ids:
        yield f"Does it replace {memory_id}? Answer with {_replaces(answer.memory_id, memory_id)}."


def _replaces(memory_id: str, other_id: str) -> str:
    """Return what to call when one memory may take the place of another."""
    return f"resolve(memory_id={memory_id}, other_id={other_id}, answer=replaces|different)"


def nothing(recalled: Recalled, min_relevance: float, conditions: bool) -> str:
    """Say why a recall has no notes; with `conditions`, other than the relevance, it had some."""
    if not recalled.filtered_count:
        why = "no memory meets these conditions" if conditions else "there are no memories yet"
        return f"Nothing found: {why}."
    if not min_relevance:
        return "Nothing found."
    return (
        f"Nothing fits: no memory has a relevance of {min_relevance:g} or more. "
        "min_relevance=0 shows the nearest."
    )


def asked(page: QuestionPage) -> str:
    """Say how to answer open questions."""
    lines = [
        f"Does {question.b.id} replace {question.a.id}? {_replaces(question.b.id, question.a.id)}"
        if question.kind is QuestionKind.REPLACES
        else f"Probably the same ({shown_similarity(question.same_probability)}): "
        f"resolve(memory_id={question.b.id}, other_id={question.a.id}, {ANSWERS})"
        for question in page.questions
    ]
    if page.next_page_token:
        lines.append("More questions are open.")
    if page.pending:
        ids = ", ".join(memory.id for memory in page.pending)
        lines.append(f"{page.pending_count} wait for a person to confirm or reject them: {ids}")
    return joined(lines)


def reviewed(answer: Reviewed) -> str:
    """Say what became of a memory that waited for a review."""
    memory = answer.memory
    if not answer.reviewed:
        known = answer.duplicate_of
        return joined([f"Not confirmed: {known} says the same. {memory.id} still waits."])
    lines = [f"{memory.id} is {memory.status} now."]
    lines += [f"It takes the place of {old_id}." for old_id in answer.superseded_ids]
    lines += [
        f"Does it replace {old_id}? Answer with {_replaces(memory.id, old_id)}."
        for old_id in answer.maybe_replaced_ids
    ]
    return joined([*lines, undo_line(answer.operation_id)])


def version(memory_id: str, version: Version) -> str:
    """Return a version of a memory."""
    operation = version.operation
    said = [f"[{memory_id}] revision {operation.revision}", operation.kind, operation.operation_id]
    if operation.agent_id:
        said.append(f"by {operation.agent_id}")
    if operation.reason:
        said.append(f"reason: {operation.reason}")
    if version.changed:
        said.append(f"changed {', '.join(version.changed)}")
    if operation.undone_by:
        said.append(f"undone by revision {operation.undone_by}")
    text = ""
    if version.memory is not None and (not version.changed or "content" in version.changed):
        text = f"\n    {snippet(version.memory.content)}"
    return one_line(", ".join(said)) + text


def forgotten(answer: Forgotten) -> str:
    """Say what was forgotten, and how to take it back."""
    lines = []
    for memory in answer.forgotten:
        lines += [f"Forgot {brief(quoted(memory))}", felt(memory)]
    return joined([*lines, undo_line(answer.operation_id)])


def merged(answer: Merged) -> str:
    """Say which memory stayed, and what its text lost."""
    if not answer.merged:
        return joined(["Not merged: the text repeats another memory.", *_repeats(answer.duplicate)])
    kept = quoted(answer.memory)
    lines = [
        f"Merged {counted(len(answer.sources), 'memory', 'memories')} into {kept.id}: "
        f"{snippet(kept.content)}"
    ]
    return joined([*lines, *no_longer_said(lost(answer)), undo_line(answer.operation_id)])


def lost(answer: Merged | Resolved) -> list[LostDetail]:
    """Return what a merged text lost, in words only if all of its parts may be quoted.

    The merged memory has the least trusted source of its parts.
    """
    shown = may_quote(answer.memory)
    return [detail if shown else replace(detail, text=WITHHELD) for detail in answer.lost]


def _repeats(duplicate: Duplicate | None) -> tuple[str, ...]:
    return () if duplicate is None else existing(duplicate)


def consolidated(done: Consolidated) -> str:
    """Say what was linked, and which pairs may say the same."""
    lines = [
        f"Consolidation complete. Replayed {counted(done.replay_events, 'event')}, "
        f"updated {counted(done.coactivation_updates, 'co-activation')}, "
        f"created {counted(done.link_updates, 'link')}, "
        f"refreshed {counted(done.refreshed_memories, 'memory', 'memories')}."
    ]
    if done.operation_revision:
        lines.append(undo_line(done.operation_id))
    if not done.merge_candidates:
        return joined([*lines, "No near-duplicate pairs."])
    lines.append(f"Found {counted(len(done.merge_candidates), 'near-duplicate pair')}:")
    for candidate in done.merge_candidates:
        lines += _pair(candidate)
    return joined(lines)


def _pair(candidate: MergeCandidate) -> Sequence[str]:
    similarity = shown_similarity(candidate.similarity)
    verdict = f", {candidate.judgement.verdict}" if candidate.judgement else ""
    return (
        f"- {candidate.memory_a_id} <-> {candidate.memory_b_id} "
        f"(similarity: {similarity}{verdict}, keep: {candidate.keep_id})",
        f"  A: {candidate.snippet_a}",
        f"  B: {candidate.snippet_b}",
    )


def conflicts(answer: Undone) -> list[str]:
    """Return what keeps an operation from being undone."""
    return [
        f"{conflict.memory_id or conflict.episode_id or 'the settings'}: {conflict.kind}"
        + (f" of {conflict.target_id}" if conflict.target_id else "")
        + (f" by revision {conflict.revision}" if conflict.revision else "")
        for conflict in answer.conflicts
    ]


def undone(answer: Undone) -> str:
    """Say what was taken back, or what is in the way."""
    what = f"revision {answer.operation.revision} ({answer.operation.kind})"
    lines = [f"Undone: {what}." if answer.undone else f"Not undone: {what}."]
    lines += [
        f"- {memory.id} is {memory.status}: {snippet(quoted(memory).content)}"
        for memory in answer.memories
    ]
    if answer.conflicts:
        lines += ["In the way:", *(f"- {conflict}" for conflict in conflicts(answer))]
    if answer.undone:
        lines.append(undo_line(answer.operation_id))
    return joined(lines)


def resolved(answer: Resolved, said: Answer) -> str:
    """Say what became of two memories."""
    if not answer.resolved:
        return joined(
            ["Not resolved: the text repeats another memory.", *_repeats(answer.duplicate)]
        )
    if said is Answer.DIFFERENT:
        line = "Different: nobody is asked again, until one of the two texts changes."
    elif said is Answer.SAME:
        line = (
            f"Same: {answer.closed_id} is superseded by {answer.memory.id}: "
            f"{snippet(quoted(answer.memory).content)}"
        )
    else:
        line = f"{answer.memory.id} takes the place of {answer.closed_id}."
    return joined([line, *no_longer_said(lost(answer)), undo_line(answer.operation_id)])
