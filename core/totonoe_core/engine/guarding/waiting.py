"""Texts that wait for a review: a second one with the same text is refused."""

from __future__ import annotations

from totonoe_core.base import limits
from totonoe_core.base.clock import age_text
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.records import Duplicate, GuardReport, Method, Status, Verdict
from totonoe_core.engine.guarding import tombstones
from totonoe_core.engine.guarding.texts import GuardedText
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.guard import candidates, verdict
from totonoe_core.text.normalize import canonical_hash, snippet


def refusal(state: CollectionState, text: GuardedText, now_us: int) -> GuardReport | None:
    """Return the report if a pending memory refuses a text that would wait as well.

    It is in the same words, and the agent may see it. Any other text passes: what nobody confirmed
    may not keep a trusted text out.
    """
    if text.force or not text.fields.compared:
        return None
    same = tombstones.in_same_words(state, text, canonical_hash(text.content), Status.PENDING)
    if not same:
        return None
    memory = min(same, key=lambda memory: memory.row)
    duplicate = Duplicate(
        memory_id=memory.id,
        age=age_text(memory.created_us, now_us),
        snippet=snippet(memory.content, limits.SNIPPET_CHARS),
        similarity=1.0,
        method=Method.EXACT,
        judgement=verdict.judged(text.content, memory.content, 1.0, CAREFUL),
        source=memory.fields.source,
        pending=True,
    )
    layers = candidates.skipped("a memory that waits for a review says the same")
    return GuardReport(duplicate, Method.EXACT, 1.0, (), layers, Verdict.DUPLICATE)
