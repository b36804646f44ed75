"""Tombstones: a text equal to a forgotten memory is reported or refused.

`in_same_words` finds superseded memories too (`outdated`).

Only the maps by hash are used, so that it costs a Remember nothing if nothing was forgotten. A log
(EVENT, AFFECT) records events, which may repeat: it gets no report.
"""

from __future__ import annotations

import numpy as np

from totonoe_core.base import limits
from totonoe_core.base.clock import age_text
from totonoe_core.domain.records import (
    FILE_CATEGORY,
    ForgottenMatch,
    GuardReport,
    Memory,
    Method,
    Status,
)
from totonoe_core.engine.guarding.texts import GuardedText
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.guard import candidates
from totonoe_core.index.arrays import KINDS, STATE_KINDS, STATUSES
from totonoe_core.index.collection_index import payload_hash
from totonoe_core.text.normalize import canonical_form, canonical_hash, snippet


def refusal(state: CollectionState, text: GuardedText, now_us: int) -> GuardReport | None:
    """Return the report if a forgotten memory alone refuses a text; this needs no vector."""
    if not text.policy.refuse_forgotten or text.force:
        return None
    found = match(state, text, canonical_hash(text.content), now_us)
    if found is None:
        return None
    layers = candidates.skipped("forgotten")
    return GuardReport(None, Method.NONE, 1.0, (), layers, forgotten=found)


def match(
    state: CollectionState, text: GuardedText, canonical: int, now_us: int
) -> ForgottenMatch | None:
    """Return the newest forgotten memory that says the same in the same words, or `None`.

    It has the same kind, state kind, payload and typed key, and the agent may see it.

    Parameters
    ----------
    canonical : int
        `canonical_hash` of the text.
    """
    if not text.fields.compared:
        return None
    same = in_same_words(state, text, canonical, Status.FORGOTTEN)
    for memory in sorted(same, key=lambda memory: -memory.revision):
        operation = state.file.rows.history.operation(memory.revision)
        if operation is None:  # forgotten by this operation, whose row is written last
            return None
        if operation.kind != "Expire":  # nobody decided that it should be forgotten
            break
    else:
        return None
    return ForgottenMatch(
        memory_id=memory.id,
        age=age_text(operation.time_us, now_us),
        snippet=snippet(memory.content, limits.SNIPPET_CHARS),
        reason=operation.reason,
        agent_id=operation.agent_id,
        revision=operation.revision,
    )


def in_same_words(
    state: CollectionState, text: GuardedText, canonical: int, status: Status
) -> list[Memory]:
    """Return memories of a status that say the same in the same words.

    At most the TOMBSTONES_READ_MAX newest are looked at. They have the same kind, state kind,
    payload and typed key, and the agent may see them.
    """
    rows = _nominated(state, text, canonical, STATUSES[status])
    found = state.file.rows.memories(rows).values() if rows else ()
    return [memory for memory in found if _says_the_same(memory, text)]


def _nominated(state: CollectionState, text: GuardedText, canonical: int, status: int) -> list[int]:
    """Return rows of the TOMBSTONES_READ_MAX newest memories of a status with equal hashes."""
    index = state.index
    slots = {*index.slots_with_text(text.content_hash), *index.slots_with_words(canonical)}
    gone = sorted(slot for slot in slots if index.arrays.status(slot) == status)
    if not gone:
        return []
    view = index.arrays.writer_view()
    chosen = np.array(gone, np.int64)
    fields = text.fields
    same = view.take("kind", chosen) == KINDS[fields.kind]
    same &= view.take("state_kind", chosen) == STATE_KINDS[fields.state_kind]
    same &= view.take("payload_hash", chosen) == np.uint64(payload_hash(fields))
    file = index.arrays.categories.find(FILE_CATEGORY)
    same &= view.take("category", chosen) != file
    own = view.take("agent", chosen) == index.arrays.agents.find(text.agent_id)
    same &= (view.take("private", chosen) == 0) | own
    rows = view.take("row", chosen[same])[-limits.TOMBSTONES_READ_MAX :]
    return [int(row) for row in rows]


def _says_the_same(memory: Memory, text: GuardedText) -> bool:
    if memory.content_hash == text.content_hash:
        return True
    return canonical_form(memory.content) == canonical_form(text.content)
