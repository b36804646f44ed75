"""Limit quotes outside of the fence to words of the user and of agents.

Only `recall`, `get_memory` and the like put notes into a fence. Other answers quote a line of a
memory beside what to call next. There a text of a tool or of a stranger could ask for something, so
that it is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from totonoe import fence
from totonoe.consolidate.models import Consolidated, MergeCandidate
from totonoe.errors import TotonoeError
from totonoe.memories.models import Duplicate, Judgement, Memory, OutdatedMatch, Remembered, Similar

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient

WITHHELD = "(text of a tool or a stranger: get_memory shows it)"


def may_quote(memory: Memory) -> bool:
    """Return whether the text of a memory may stand outside of the fence."""
    return fence.may_quote(memory.source)


def quoted(memory: Memory) -> Memory:
    """Return a memory, without a text that may not be quoted."""
    return memory if may_quote(memory) else replace(memory, content=WITHHELD)


async def quotable(client: AsyncClient, ids: Iterable[str]) -> frozenset[str]:
    """Return the ids of memories that may be quoted; none if they cannot be read."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return frozenset()
    try:
        found = await client.get_many(wanted)
    except TotonoeError:
        return frozenset()
    return frozenset(memory.id for memory in found.memories if may_quote(memory))


async def remembered(client: AsyncClient, answer: Remembered) -> Remembered:
    """Return an answer that quotes only what may be quoted."""
    match = answer.outdated
    known = await quotable(client, () if match is None else (match.replaced_by_id,))
    return replace(
        answer,
        duplicate=duplicate(answer.duplicate),
        question=_similar(answer.question),
        nearest=_similar(answer.nearest),
        similar=tuple(found for memory in answer.similar if (found := _similar(memory))),
        outdated=_outdated(match, known),
    )


def duplicate(duplicate: Duplicate | None) -> Duplicate | None:
    """Return what refused a text, without a text that may not be quoted."""
    if duplicate is None or fence.may_quote(duplicate.source):
        return duplicate
    return replace(duplicate, snippet=WITHHELD, judgement=_judgement(duplicate.judgement))


def consolidated(done: Consolidated, known: Collection[str]) -> Consolidated:
    """Return pairs that quote only memories of these ids."""
    return replace(
        done,
        merge_candidates=tuple(_candidate(candidate, known) for candidate in done.merge_candidates),
    )


def _candidate(candidate: MergeCandidate, known: Collection[str]) -> MergeCandidate:
    return replace(
        candidate,
        snippet_a=candidate.snippet_a if candidate.memory_a_id in known else WITHHELD,
        snippet_b=candidate.snippet_b if candidate.memory_b_id in known else WITHHELD,
    )


def _similar(memory: Similar | None) -> Similar | None:
    if memory is None or fence.may_quote(memory.source):
        return memory
    return replace(memory, snippet=WITHHELD, judgement=_judgement(memory.judgement))


def _outdated(match: OutdatedMatch | None, known: Collection[str]) -> OutdatedMatch | None:
    if match is None or match.replaced_by_id in known:
        return match
    return replace(match, snippet=WITHHELD, replaced_by_snippet=WITHHELD)


def _judgement(judgement: Judgement | None) -> Judgement | None:
    """Return a judgement without evidence, whose words are those of the memory."""
    return None if judgement is None else replace(judgement, evidence=())
