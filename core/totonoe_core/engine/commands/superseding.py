"""Superseding by a Remember: memories that it names, that hold its key, or that it updates.

A saved text supersedes them itself. If the guard refuses a text, the refusing duplicate supersedes
them, in the same operation. Check answers with the same functions.
"""

from __future__ import annotations

from dataclasses import replace

from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import Action
from totonoe_core.domain.records import GuardReport, Memory
from totonoe_core.engine.guarding.guarding import GuardedText, Guarding, Neighbours
from totonoe_core.engine.state.ledger import Ledger, check_state


def named(ledger: Ledger, command: Remember) -> tuple[int, ...]:
    """Return slots of the memories that `supersede_ids` names, each once.

    Raises `NotFound`, `Precondition` (NOT_ACTIVE, APPEND_ONLY), and `InvalidArgument` (BAD_MERGE)
    for a public memory that a private text would replace: all other agents would lose it.
    """
    slots: dict[int, None] = {}
    for memory_id in command.supersede_ids:
        found = ledger.live(memory_id, command.agent_id)
        check_state(found)
        if command.fields.private and not found.fields.private:
            raise _hides_public(found.id, "a private text")
        slots[ledger.slot_of(found)] = None
    return tuple(slots)


def by_saved(
    guarding: Guarding, text: GuardedText, holders: tuple[int, ...], neighbours: Neighbours
) -> tuple[int, ...]:
    """Return slots that a text updates if it is saved; `holders` are those of its key.

    It supersedes those that `Guarding.gives_way` allows, and is linked to all of them.
    """
    return (*text.replaced, *(holders or _by_verdict(guarding, text, neighbours)))


def by_duplicate(
    ledger: Ledger,
    guarding: Guarding,
    text: GuardedText,
    report: GuardReport,
    neighbours: Neighbours | None,
    now_us: int,
) -> tuple[Memory, list[Memory]] | None:
    """Return the duplicate that refuses a text, and the memories that it supersedes.

    Parameters
    ----------
    text : GuardedText
        The refused text. Its `replaced` are the memories named by it.
    neighbours : Neighbours or None
        `None` if an equal text refused it before its vector was known.

    Returns
    -------
    tuple of Memory and list of Memory, or None
        `None` if it supersedes nothing.

    Raises
    ------
    InvalidArgument
        BAD_MERGE: the text names a public memory, and the duplicate is private.
    """
    by_key, by_verdict = text.fields.key is not None, text.policy.supersedes
    if report.duplicate is None or not (text.replaced or by_key or by_verdict):
        return None
    kept = ledger.live(report.duplicate.memory_id, text.agent_id)
    # A private text or duplicate must not replace a public memory.
    private = text.fields.private or kept.fields.private
    text = replace(text, fields=replace(text.fields, private=private))
    for slot in text.replaced:
        if not guarding.gives_way(text, slot):
            public = ledger.by_slot(slot)
            raise _hides_public(public.id, f"{kept.id}, which says the same and is private")
    if neighbours is None and by_verdict and not by_key:
        # The text is that of the duplicate, and so is its vector.
        _, neighbours = guarding.by_all(text, ledger.features_of(kept), now_us)
    own = ledger.slot_of(kept)
    others = [slot for slot in guarding.holders(text) if slot != own]
    others = [slot for slot in others if guarding.gives_way(text, slot)]
    if not by_key and neighbours is not None:
        others = list(_by_verdict(guarding, text, neighbours, without=own))
    gone = [ledger.by_slot(slot) for slot in (*text.replaced, *others)]
    return (kept, gone) if gone else None


def _by_verdict(
    guarding: Guarding, text: GuardedText, neighbours: Neighbours, without: int = -1
) -> tuple[int, ...]:
    """Return the nearest memory that a verdict lets the text supersede.

    At most one: a caller that holds several values of one kind has to choose.
    """
    for judged in neighbours.judged:
        wanted = text.policy.action(judged.judgement.verdict) is Action.SUPERSEDE
        if wanted and judged.slot != without and guarding.gives_way(text, judged.slot):
            return (judged.slot,)
    return ()


def _hides_public(memory_id: str, by: str) -> InvalidArgument:
    return InvalidArgument(
        "BAD_MERGE",
        field="supersede_ids",
        got=f"{memory_id}, which is public, for {by}",
        allowed="private memories: nobody else would see what takes its place",
    )
