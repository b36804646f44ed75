"""Superseding by a Remember: memories that it names, that hold its key, or that it updates.

A saved text supersedes them itself. If the guard refuses a text, the refusing duplicate supersedes
them, in the same operation. Check answers with the same functions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import Action
from totonoe_core.domain.records import Finding, GuardReport, Judgement, Memory, Verdict
from totonoe_core.engine.guarding import outdated
from totonoe_core.engine.guarding.guarding import GuardedText, Guarding, Neighbours
from totonoe_core.engine.state.ledger import Ledger, check_state
from totonoe_core.guard.verdict import compare
from totonoe_core.index.collection_index import Features
from totonoe_core.text.reading.budget import ReadingBudget


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
    guarding: Guarding,
    text: GuardedText,
    report: GuardReport,
    holders: tuple[int, ...],
    neighbours: Neighbours,
) -> tuple[int, ...]:
    """Return slots that a text updates if it is saved; `holders` are those of its key.

    It supersedes those that `Guarding.gives_way` allows, and is linked to all of them.
    """
    return (*text.replaced, *(holders or _by_verdict(guarding, text, report, neighbours)))


def looked_back(
    ledger: Ledger,
    guarding: Guarding,
    text: GuardedText,
    decided: tuple[GuardReport, Features | None, Neighbours | None],
    now_us: int,
    reading: ReadingBudget | None = None,
) -> tuple[GuardReport, Neighbours | None]:
    """Return the report with the superseded memory that a text says again, and its neighbours.

    Parameters
    ----------
    decided : tuple of GuardReport, Features or None, Neighbours or None
        `None` if an equal text refused it before its vector was known. Where a verdict may
        supersede, the neighbours are looked up then.
    reading : ReadingBudget or None
        The budget of the operation.
    """
    report, features, neighbours = decided
    by_verdict = text.policy.supersedes and text.fields.key is None
    if report.duplicate is not None and neighbours is None and by_verdict:
        # The text is that of the duplicate, and so is its vector.
        features = ledger.features_of(ledger.live(report.duplicate.memory_id, text.agent_id))
        _, neighbours = guarding.by_all(text, features, now_us)
    found = outdated.match(ledger, guarding, text, report, features, neighbours, now_us, reading)
    return replace(report, outdated=found), neighbours


def by_duplicate(
    ledger: Ledger,
    guarding: Guarding,
    text: GuardedText,
    report: GuardReport,
    neighbours: Neighbours | None,
) -> tuple[Memory, list[Memory]] | None:
    """Return the duplicate that refuses a text, and the memories that it supersedes.

    Parameters
    ----------
    text : GuardedText
        The refused text. Its `replaced` are the memories named by it.
    report, neighbours : GuardReport, Neighbours or None
        From `looked_back`.

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
    own = ledger.slot_of(kept)
    others = [slot for slot in guarding.holders(text) if slot != own]
    others = [slot for slot in others if guarding.gives_way(text, slot)]
    if not by_key and neighbours is not None:
        others = list(_by_verdict(guarding, text, report, neighbours, without=own))
    gone = [ledger.by_slot(slot) for slot in (*text.replaced, *others)]
    return (kept, gone) if gone else None


def _by_verdict(
    guarding: Guarding,
    text: GuardedText,
    report: GuardReport,
    neighbours: Neighbours,
    without: int = -1,
) -> tuple[int, ...]:
    """Return the nearest memory that a verdict lets the text supersede, and those that say as much.

    A caller that holds several values of one kind has to choose: of an update, only memories go
    that certainly hold the same old value as the nearest one. A text that says again what was
    replaced supersedes nothing.
    """
    if report.outdated is not None:
        return ()
    given_up = {
        judged.slot: judged.judgement
        for judged in neighbours.judged
        if text.policy.action(judged.judgement) is Action.SUPERSEDE
        and judged.slot != without
        and guarding.gives_way(text, judged.slot)
    }
    nearest = next(iter(given_up), -1)
    if nearest < 0 or given_up[nearest].verdict is not Verdict.UPDATE:
        return (nearest,) if nearest >= 0 else ()
    updated = [
        slot
        for slot, judgement in given_up.items()
        if judgement.verdict is Verdict.UPDATE
        and _kinds(judgement) == _kinds(given_up[nearest])  # else it holds another value
    ]
    worded = [
        slot
        for slot in guarding.in_words_of(text, nearest)
        if slot not in (without, *text.replaced) and guarding.gives_way(text, slot)
    ]
    nominated = dict.fromkeys((nearest, *worded[: limits.SAME_VALUE_MAX], *updated))
    same = _with_one_value(neighbours, list(nominated))
    return tuple(itertools.islice(same, limits.SAME_VALUE_MAX))


def _kinds(judgement: Judgement) -> frozenset[Finding]:
    return frozenset(one.finding for one in judgement.evidence)


def _with_one_value(neighbours: Neighbours, slots: Sequence[int]) -> Iterator[int]:
    """Yield the first slot, and those that certainly say the same, with the same payload."""
    texts, first = neighbours.texts, slots[0]
    texts.read(slots)
    own, payload = texts.of(first).content, texts.view.value("payload_hash", first)
    yield first
    for slot in slots[1:]:
        if texts.view.value("payload_hash", slot) == payload:
            found = compare(texts.of(slot).content, own, 0.0, CAREFUL, neighbours.reading)
            if found.judgement.verdict is Verdict.DUPLICATE:
                yield slot


def _hides_public(memory_id: str, by: str) -> InvalidArgument:
    return InvalidArgument(
        "BAD_MERGE",
        field="supersede_ids",
        got=f"{memory_id}, which is public, for {by}",
        allowed="private memories: nobody else would see what takes its place",
    )
