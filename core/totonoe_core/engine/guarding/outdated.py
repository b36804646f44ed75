"""Outdated: a text that says again what a superseded memory said.

Such a text is saved, since it may be true again, and the answer names the live memory that replaced
the old one. But no verdict lets it supersede anything, and it is linked `updated_by` to that live
memory, so that Recall shows the live one first.

Superseded memories are found by the hashes of their words, and by the chains that lead to the live
memories which the guard compared. The same comparison as of live memories decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from totonoe_core.base import limits
from totonoe_core.base.clock import age_text
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.records import (
    GuardReport,
    Memory,
    OutdatedMatch,
    Status,
    Verdict,
)
from totonoe_core.engine.guarding.answering import Neighbours
from totonoe_core.engine.guarding.guarding import Guarding
from totonoe_core.engine.guarding.texts import GuardedText, Texts
from totonoe_core.engine.guarding.tombstones import in_same_words
from totonoe_core.engine.state.ledger import Ledger
from totonoe_core.guard import verdict
from totonoe_core.guard.candidates import WORDS_ABOVE
from totonoe_core.guard.cosines import similarities64_at
from totonoe_core.index.arrays import KINDS, STATE_KINDS
from totonoe_core.index.collection_index import Features, payload_hash
from totonoe_core.index.token_index import jaccard_at
from totonoe_core.text.normalize import canonical_hash, snippet
from totonoe_core.text.reading.budget import ReadingBudget

_STILL_SAID = frozenset({Verdict.DUPLICATE, Verdict.CONTAINED})
"""Verdicts on a replacement by which it still says what the text says."""


def match(
    ledger: Ledger,
    guarding: Guarding,
    text: GuardedText,
    report: GuardReport,
    features: Features | None,
    neighbours: Neighbours | None,
    now_us: int,
    reading: ReadingBudget | None = None,
) -> OutdatedMatch | None:
    """Return the superseded memory that a text certainly says again, or `None`.

    It has the same kind, state kind and payload, and the agent may see it. What replaced it is live
    and visible, does not say the same as the text, and neither refuses the text nor is named by it.

    Parameters
    ----------
    features, neighbours : Features, Neighbours or None
        Of the text; `None` if equal text refused it. Then only equal words are found.
    reading : ReadingBudget or None
        The budget of the operation.
    """
    fields = text.fields
    if text.policy.judged_from is None or text.force or fields.key is not None:
        return None
    if not fields.compared:
        return None
    canonical = canonical_hash(text.content) if features is None else features.canonical
    same = in_same_words(ledger.state, text, canonical, Status.SUPERSEDED)
    found = _newest_replaced(ledger, text, report, same)
    if found is None and neighbours is not None:
        same = _in_chains(ledger, guarding, neighbours, reading)
        found = _newest_replaced(ledger, text, report, same)
    if found is None:
        return None
    old, live = found
    return OutdatedMatch(
        memory_id=old.id,
        age=age_text(old.created_us, now_us),
        snippet=snippet(old.content, limits.SNIPPET_CHARS),
        replaced_by_id=live.id,
        replaced_by_snippet=snippet(live.content, limits.SNIPPET_CHARS),
    )


def _newest_replaced(
    ledger: Ledger, text: GuardedText, report: GuardReport, same: Iterable[Memory]
) -> tuple[Memory, Memory] | None:
    """Return the memory replaced last, and the live one in its place; `None` if there is none."""
    for old in sorted(same, key=lambda memory: (-memory.revision, -memory.row)):
        live = ledger.state.head(ledger.rows, old, text.agent_id)
        if live.status is not Status.ACTIVE or ledger.slot_of(live) in text.replaced:
            continue
        if report.duplicate is not None and report.duplicate.memory_id == live.id:
            continue
        judged = verdict.judged(text.content, live.content, 0.0, CAREFUL)
        if judged.verdict not in _STILL_SAID:
            return old, live
    return None


def _in_chains(
    ledger: Ledger,
    guarding: Guarding,
    neighbours: Neighbours,
    reading: ReadingBudget | None,
) -> list[Memory]:
    """Return memories that the compared live ones replaced, and that say the same as the text."""
    rows, texts = ledger.rows, neighbours.texts
    if not ledger.file.has_superseded:
        return []
    heads = [texts.of(judged.slot).id for judged in neighbours.judged]
    replaced: dict[int, str] = {}
    while heads and (room := limits.OUTDATED_WALKED_MAX - len(replaced)) > 0:
        found = rows.superseded_by_any(heads, room)
        heads = [memory_id for row, memory_id in found.items() if row not in replaced]
        replaced |= found
    alike = _most_alike(texts, list(replaced), limits.OUTDATED_READ_MAX)
    if not alike:
        return []
    judged = guarding.beside(texts.text, texts.features, alike, reading or ReadingBudget())
    same = [
        neighbour.slot for neighbour in judged if neighbour.judgement.verdict is Verdict.DUPLICATE
    ]
    return [ledger.by_slot(slot) for slot in same]


def _most_alike(texts: Texts, rows: Sequence[int], count: int) -> list[int]:
    """Return slots of superseded memories that may say the same as a text.

    They have its kind and payload, and enough words in common or a vector near enough for the
    guard to read a live one. The agent may see them. Most words in common first.
    """
    index, view, text, own = texts.state.index, texts.view, texts.text, texts.features
    known = [index.slot_by_row.get(row) for row in rows]
    slots = np.array(sorted(slot for slot in known if slot is not None), np.int64)
    agent = index.arrays.agents.find(text.agent_id)
    kept = view.take("kind", slots) == KINDS[text.fields.kind]
    kept &= view.take("state_kind", slots) == STATE_KINDS[text.fields.state_kind]
    kept &= view.take("payload_hash", slots) == np.uint64(payload_hash(text.fields))
    kept &= (view.take("private", slots) == 0) | (view.take("agent", slots) == agent)
    slots = slots[kept]
    words = jaccard_at(view, own.tokens, slots)
    enough = words > WORDS_ABOVE
    if not texts.blind and text.policy.judged_from is not None:
        enough |= similarities64_at(view, own.vector, slots) >= text.policy.judged_from
    order = np.lexsort((slots[enough], -words[enough]))[:count]
    return [int(slot) for slot in slots[enough][order]]
