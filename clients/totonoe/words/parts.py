"""Words for parts of answers: counts, evidence, fields, links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from totonoe.enums import Finding
from totonoe.memories.models import Evidence, Link, TypedKey
from totonoe.words.text import age, key_words

if TYPE_CHECKING:
    from totonoe.graph.models import LostDetail
    from totonoe.history.models import HistoryPage


def counted(count: int, one: str, several: str = "") -> str:
    """Return a number of things: "1 memory", "2 memories"."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def recalls(page: HistoryPage) -> str:
    """Return who recalled a memory how often, in words; empty: nobody did."""
    said = [
        f"{recaller.agent_id or 'an agent without a name'} {counted(recaller.count, 'time')}, "
        f"last {age(recaller.last_time)}"
        for recaller in page.recallers
    ]
    if page.other_recall_count:
        said.append(f"others {counted(page.other_recall_count, 'time')}")
    return "; ".join(said)


def evidence(one: Evidence, only: tuple[str, str]) -> str:
    """Return a finding in plain words: "port: 5433 -> 5434"."""
    own, other = one.own_text, one.other_text
    if one.finding in _ALIKE:
        return f"{_ALIKE[one.finding]}: {own if own == other else f'{other} = {own}'}"
    if one.finding is Finding.JUDGE:
        return f"judge: {own}"
    if one.finding is Finding.ORDER and own.casefold() == other.casefold():
        return f"in another place: {own}"
    if own and other:
        return (f"{one.place}: " if one.place else "") + f"{other} -> {own}"
    if own or other:
        return f"{only[0] if own else only[1]}: {own or other}"
    return _WITHOUT_WORDS.get(one.finding, str(one.finding))


def no_longer_said(details: Sequence[LostDetail]) -> list[str]:
    """Return a warning of what a merged text no longer says; nothing if it says everything."""
    found = []
    for detail in details:
        kind = _LOST.get(detail.finding, f"{detail.finding} ")
        found.append(f"- {kind}{detail.text!r} of {detail.memory_id}")
    return ["Warning: the text no longer says", *found] if found else []


def shown_field(name: str, value: object) -> str:
    """Return a field of a memory, given as a JSON value, as text."""
    if name == "key" and isinstance(value, dict):
        return key_words(TypedKey(**value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def shown_link(link: Link) -> str:
    """Return one direction of a link as text."""
    note = f": {link.note}" if link.note else ""
    return f"{link.type} {link.target_id} (confidence {link.confidence:.2f}){note}"


_ALIKE = {
    Finding.SAME_TEXT: "same text",
    Finding.SAME_WORDS: "same words",
    Finding.SAME_CONTENT: "same content",
    Finding.SYNONYM: "synonym",
}
_LOST = {
    Finding.POLARITY: "whether it is so: ",
    Finding.MODALITY: "whether it must be so: ",
    Finding.TENSE: "when it is so: ",
    Finding.ROLE: "who does what: ",
    Finding.QUESTION: "the question: ",
    # The text itself says what these are.
    **dict.fromkeys(
        (
            Finding.MISSING,
            Finding.OPPOSITE,
            Finding.SYMBOL,
            Finding.CONJUNCTION,
            Finding.FUNCTION_WORD,
        ),
        "",
    ),
}
"""Words before a lost text, by its finding. Other findings are plain words themselves."""
_WITHOUT_WORDS = {
    Finding.UNREAD: "not understood",
    Finding.OVER_BUDGET: "not read to the end",
    Finding.EXCLUSIVE: "both cannot be true at once",
}
