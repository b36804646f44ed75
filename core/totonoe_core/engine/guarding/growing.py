"""Growth: a scope has one SUMMARY and one LONG_MOOD of a source; a second text is its next version.

Remember, Check, RememberMany and a tidy plan with a new state all follow this rule. A grown memory
keeps id, agent, created time and links.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.records import TRUST, Fields, Kind, Memory, StateKind, said_payload
from totonoe_core.engine.state.ledger import Ledger
from totonoe_core.index.arrays import KINDS, NO_TIME, STATE_KINDS
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.lexical import name_of
from totonoe_core.index.masks import Mask
from totonoe_core.index.selection import Columns, Condition, Selection

GROWN = frozenset({StateKind.SUMMARY, StateKind.LONG_MOOD})
"""State kinds with one memory in each scope."""


def grown_by(ledger: Ledger, command: Remember, now_us: int) -> Memory | None:
    """Return the live memory that a Remember grows, the newest of its scope; `None` for a new one.

    `None` for a forced text, for one with a typed key or `supersede_ids`, which name what they
    replace, and for one whose validity is over. A text with an external id is the next version of
    the memory that has it, or of none.
    """
    said = command.fields
    if not said.compared or said.state_kind not in GROWN:
        return None
    if command.force or command.supersede_ids or said.key is not None or _over(said, now_us):
        return None
    index = ledger.index
    view, pending = index.arrays.writer_view(), index.arrays.pending_status
    scope = Selection(view, _scope_of(index, command, now_us), pending=pending)
    if said.external_id:
        holder = ledger.external_id_holder(said, command.agent_id)
        if holder is None:
            return None
        return holder if scope.at(np.array([ledger.slot_of(holder)], np.int64))[0] else None
    slots = np.flatnonzero(scope.all())
    if not len(slots):
        return None
    order = np.lexsort((view.take("row", slots), view.take("created", slots)))
    return ledger.by_slot(int(slots[order[-1]]))


def fields_after(before: Fields, said: Fields) -> Fields:
    """Return fields of a grown memory: the given ones, and the old ones for the rest.

    A field is given if it differs from its default. Evidence is joined, since the text rests on all
    of it; the two ends of validity belong together.
    """
    named = {name: value for name in _NAMES if (value := getattr(said, name)) != _UNSAID[name]}
    if named.keys() & {"valid_from_us", "valid_to_us"}:
        named |= {"valid_from_us": said.valid_from_us, "valid_to_us": said.valid_to_us}
    if not said_payload(said.payload):
        # At most the notes of tidying.
        named["payload"] = before.payload | said.payload
    named["evidence_ids"] = joined_evidence(before, said.evidence_ids)
    return replace(before, **named)


def joined_evidence(before: Fields, evidence_ids: tuple[str, ...]) -> tuple[str, ...]:
    """Return earlier and new evidence, each once, up to the limit of a memory."""
    joined = tuple(dict.fromkeys((*before.evidence_ids, *evidence_ids)))
    return joined[: limits.EVIDENCE_IDS_PER_MEMORY_MAX]


def _over(said: Fields, now_us: int) -> bool:
    return said.valid_to_us is not None and said.valid_to_us <= now_us


def _scope_of(index: CollectionIndex, command: Remember, now_us: int) -> Condition:
    """Select one state kind, category and source, not over; one thread, else session, else agent.

    A private text grows its agent's private memories only, a public one public ones.
    """
    said, arrays = command.fields, index.arrays
    agent = arrays.agents.find(command.agent_id)
    wanted = [
        ("category", arrays.categories.find(said.category)),
        ("private", int(said.private)),
        ("key_hash", 0),
        # A less trusted text replaces no more trusted one, nor makes one of its own of it.
        ("source", TRUST[said.source]),
        ("namespace", arrays.namespaces.find(name_of(said.namespace))),
    ]
    if said.thread_id:
        wanted.append(("thread", arrays.threads.find(said.thread_id)))
    else:
        wanted.append(("thread", 0))
        wanted.append(("session", arrays.sessions.find(said.session_id)))
    if said.private or not (said.thread_id or said.session_id):
        wanted.append(("agent", agent))
    kind, state_kind = KINDS[Kind.STATE], STATE_KINDS[said.state_kind]

    def condition(columns: Columns) -> Mask:
        mask: Mask = (columns("state_kind") == state_kind) & (columns("kind") == kind)
        # Few memories are of these kinds, so that most chunks end at this condition.
        if mask.any():
            for name, value in wanted:
                mask &= columns(name) == value
            end = columns("valid_to")
            mask &= (end == NO_TIME) | (end > now_us)
        return mask

    return condition


_NAMES = tuple(item.name for item in fields(Fields) if item.name != "created_us")
_UNSAID = {name: getattr(Fields(), name) for name in _NAMES}
