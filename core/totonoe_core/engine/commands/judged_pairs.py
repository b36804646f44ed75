"""Judged pairs of a collection: dismissed and merged memories, for what learns from answers.

dismissed   two live memories that a caller declared to be no duplicates, with unchanged texts
merged      a memory that a Merge, or a Resolve that says the same, replaced by another one, without
            changing that one's text and without a later Undo

Actions of rules (EndSession, CleanUpDuplicates, Tidy) are no judgements: a verdict fitted to them
would learn the rule. The verdict applies to all agents, so private memories are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from totonoe_core.domain.records import Memory
from totonoe_core.engine.state.ledger import DEAD
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.store.seam import Rows


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Two texts, the older one first, with the cosine of their vectors.

    `same` is true for merged, false for dismissed.
    """

    a: str
    b: str
    cosine: float
    same: bool


def judged_pairs(rows: Rows, model_number: int, most: int) -> list[JudgedPair]:
    """Return the newest judged pairs, at most `most` of each kind.

    Leaves out pairs with a text that has no vector of the model with that number.
    """
    with rows.snapshot():
        found = _dismissed(rows, most) + _merged(rows, most)
    return [
        _pair(first, other, same)
        for first, other, same in found
        if all(memory.vector and memory.model_number == model_number for memory in (first, other))
    ]


def _dismissed(rows: Rows, most: int) -> list[tuple[Memory, Memory, bool]]:
    pairs = rows.dismissed_live(most)
    memories = rows.memories(sorted({row for pair in pairs for row in pair}))
    both = ((memories[a], memories[b]) for a, b in pairs)
    return [(first, other, False) for first, other in both if _public(first, other)]


def _merged(rows: Rows, most: int) -> list[tuple[Memory, Memory, bool]]:
    found = []
    gone = rows.merged_away(most)
    memories = rows.memories(gone)
    for removed in (memories[row] for row in gone):
        row = rows.row_of_id(removed.superseded_by)
        now = {} if row is None else rows.memories([row])
        if row is None or now[row].status in DEAD:
            continue
        revision = removed.revision
        before = rows.history.memories_after(revision - 1, [row]).get(row)
        after = rows.history.memories_after(revision, [row]).get(row)
        if before is None or after is None or before.content_hash != after.content_hash:
            # The merged memory says something of its own.
            continue
        if _public(removed, before, now[row]):
            found.append((removed, before, True))
    return found


def _public(*versions: Memory) -> bool:
    return not any(memory.fields.private for memory in versions)


def _pair(one: Memory, other: Memory, same: bool) -> JudgedPair:
    first, second = sorted((one, other), key=lambda memory: memory.row)
    vectors = [np.frombuffer(memory.vector, np.float32) for memory in (first, second)]
    return JudgedPair(first.content, second.content, float(similarity64(*vectors)), same)
