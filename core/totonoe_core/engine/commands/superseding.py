"""Superseding by a Remember: memories that it names, that hold its key, or that it updates.

A saved text supersedes them itself. If the guard refuses a text, the refusing duplicate supersedes
them, in the same operation. Check answers with the same functions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import Action
from totonoe_core.domain.records import (
    SHARED,
    GuardReport,
    Judgement,
    Memory,
    Verdict,
    least_trusted,
)
from totonoe_core.engine.guarding import outdated, replaceable
from totonoe_core.engine.guarding.answering import Neighbours
from totonoe_core.engine.guarding.guarding import Guarding
from totonoe_core.engine.guarding.texts import GuardedText
from totonoe_core.engine.state.ledger import Ledger, check_state
from totonoe_core.guard.exclusive import certainly_exclusive
from totonoe_core.guard.sentences import form_of
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
        memory = ledger.live(memory_id, command.agent_id)
        check_state(memory)
        if command.fields.private and not memory.fields.private:
            raise _hides_public(memory.id, "a private text")
        slots[ledger.slot_of(memory)] = None
    return tuple(slots)


def by_saved(
    text: GuardedText,
    report: GuardReport,
    holders: tuple[int, ...],
    neighbours: Neighbours,
) -> tuple[tuple[int, ...], GuardReport]:
    """Return slots that a text updates if it is saved, and the report with what it may replace.

    It supersedes those that `replaceable.gives_way` allows, and is linked to all of them. `holders`
    are those of its key. The report asks about none of them, and shows none as the nearest.
    """
    texts = neighbours.texts
    if holders or text.fields.key is not None:
        beside = [slot for slot in holders if replaceable.is_less_trusted(texts.state, text, slot)]
        held = (texts.of(slot).id for slot in beside[: limits.SIMILAR_SHOWN_MAX])
        return (*text.replaced, *holders), replace(report, maybe_replaced_ids=tuple(held))
    gone, asked = _by_verdict(text, report, neighbours)
    ids = (texts.of(slot).id for slot in asked[: limits.SIMILAR_SHOWN_MAX])
    report = replace(report, maybe_replaced_ids=tuple(ids))
    gone_ids = {texts.of(slot).id for slot in gone}
    if report.question is not None and report.question.memory_id in gone_ids:
        report = replace(report, question=None)
    if report.nearest is not None and report.nearest.memory_id in gone_ids:
        report = replace(report, nearest=None)
    return (*text.replaced, *gone), report


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
    match = outdated.match(ledger, guarding, text, report, features, neighbours, now_us, reading)
    return replace(report, outdated=match), neighbours


def by_duplicate(
    ledger: Ledger,
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
    # Nor may a less trusted one replace what nobody names.
    source = least_trusted((text.fields.source, kept.fields.source))
    text = replace(text, fields=replace(text.fields, private=private, source=source))
    for slot in text.replaced:
        if not replaceable.gives_way(ledger.state, text, slot):
            public = ledger.by_slot(slot)
            raise _hides_public(public.id, f"{kept.id}, which says the same and is private")
    own = ledger.slot_of(kept)
    others = [slot for slot in replaceable.holders(ledger.state, text) if slot != own]
    others = [slot for slot in others if replaceable.gives_way(ledger.state, text, slot)]
    if not by_key and neighbours is not None:
        others = list(_by_verdict(text, report, neighbours, without=own)[0])
    gone = [ledger.by_slot(slot) for slot in (*text.replaced, *others)]
    return (kept, gone) if gone else None


def _by_verdict(
    text: GuardedText,
    report: GuardReport,
    neighbours: Neighbours,
    without: int = -1,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the memories that a text certainly replaces, and those that it may replace.

    The first are the nearest that certainly excludes it and all that certainly hold the same old
    value. About the others the caller is asked: both may be true, or they hold several values. A
    text that says again what was replaced supersedes nothing.
    """
    if report.outdated is not None:
        return (), ()
    texts = neighbours.texts
    state = texts.state
    given_up = {
        judged.slot: judged.judgement
        for judged in neighbours.judged
        if text.policy.action(judged.judgement) is Action.SUPERSEDE
        and judged.slot != without
        and (
            replaceable.gives_way(state, text, judged.slot)
            or replaceable.is_less_trusted(state, text, judged.slot)
        )
    }
    texts.read(list(given_up))
    old = {
        slot: value
        for slot, judgement in given_up.items()
        if replaceable.gives_way(state, text, slot)
        and (value := _old_value(text.content, texts.of(slot).content, judgement)) is not None
    }
    gone = _holders(text, neighbours, old, without)
    return gone, tuple(slot for slot in given_up if slot not in gone)


def _old_value(own: str, other: str, judgement: Judgement) -> str | None:
    """Return the words of a memory that a text certainly replaces; `None` if that is not certain.

    Empty: all of it. A refinement says all that the memory says, and so does equal text with
    another payload.
    """
    if judgement.verdict not in (Verdict.UPDATE, Verdict.CONTRADICTION):
        return ""
    if any(line.finding in SHARED for line in judgement.evidence):
        return ""
    places = certainly_exclusive(own, other, judgement)
    return " ".join(form_of(other[slice(*place)]) for _, place in places) if places else None


def _holders(
    text: GuardedText,
    neighbours: Neighbours,
    old: Mapping[int, str],
    without: int,
) -> tuple[int, ...]:
    """Return the nearest memory with an old value, and those that hold the same one.

    These are excluded by the same value, or certainly say what the nearest says.
    """
    if not old:
        return ()
    nearest, state = next(iter(old)), neighbours.texts.state
    same_value = [slot for slot, value in old.items() if value and value == old[nearest]]
    alike = [
        slot
        for slot in (
            *replaceable.in_words_of(state, text, nearest)[: limits.SAME_VALUE_MAX],
            *(neighbour.slot for neighbour in neighbours.judged),
        )
        if slot not in (without, *text.replaced) and replaceable.gives_way(state, text, slot)
    ]
    nominated = [slot for slot in dict.fromkeys(alike) if slot not in same_value]
    found = (
        *_of_one_payload(neighbours, [nearest, *same_value]),
        *_saying(neighbours, nearest, nominated),
    )
    return tuple(itertools.islice(dict.fromkeys(found), limits.SAME_VALUE_MAX))


def _of_one_payload(neighbours: Neighbours, slots: Sequence[int]) -> Iterator[int]:
    """Yield those with the payload of the first."""
    view = neighbours.texts.view
    payload = view.value("payload_hash", slots[0])
    yield from (slot for slot in slots if view.value("payload_hash", slot) == payload)


def _saying(neighbours: Neighbours, first: int, slots: Sequence[int]) -> Iterator[int]:
    """Yield the slots that certainly say the same as the first, with the same payload."""
    texts = neighbours.texts
    texts.read(slots)
    own = texts.of(first).content
    for slot in _of_one_payload(neighbours, [first, *slots]):
        if slot != first:
            comparison = compare(texts.of(slot).content, own, 0.0, CAREFUL, neighbours.reading)
            if comparison.judgement.verdict is Verdict.DUPLICATE:
                yield slot


def _hides_public(memory_id: str, by: str) -> InvalidArgument:
    return InvalidArgument(
        "BAD_MERGE",
        field="supersede_ids",
        got=f"{memory_id}, which is public, for {by}",
        allowed="private memories: nobody else would see what takes its place",
    )
