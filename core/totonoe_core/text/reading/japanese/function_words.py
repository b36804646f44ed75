"""Function words of Japanese whose meaning no piece carries, and those that may be ignored.

Every particle, linking form, aspect and conjunction counts, unless it stands on the closed list
below, or another part of the reading says it: the role of a piece (が, を, the に of a passive
clause), its modality, tense or denial.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from totonoe_core.text.reading.japanese.grammar import LISTS
from totonoe_core.text.reading.japanese.phrase import PREDICATE, Phrase
from totonoe_core.text.reading.japanese.words import Word
from totonoe_core.text.reading.model import FunctionKind, FunctionWord, Role

IGNORED: Final = LISTS.keys("ignored")
"""Function words that another wording may leave out, each with the reason."""
EQUAL: Final = LISTS.keys("equal")
STATES: Final = LISTS.words("states")
HABITS: Final = LISTS.words("habits")
_BEFORE_TIMES: Final = frozenset(("", "に", "で", "time"))
"""Said behind a date or a time of day, or left out."""
_LINKS_READ: Final = frozenset(("", "rel", "noun", "te", "quote", "and", "but"))
"""Links of a predicate that the roles carry, or that join as a full stop does."""


def word_of(word: Word) -> FunctionWord | None:
    """Return the function word that no phrase took, if it counts."""
    if word.base in IGNORED:
        return None
    key = EQUAL.get(word.base, word.base)
    return FunctionWord(word.start, word.end, key, _kind(key))


def _kind(key: str) -> FunctionKind:
    joins = key in ("か", "because", "if", "so", "even", "although", "ながら")
    return FunctionKind.CONJUNCTION if joins else FunctionKind.RELATION


def function_words(
    phrases: Iterable[Phrase], left: Iterable[FunctionWord]
) -> tuple[FunctionWord, ...]:
    """Return the function words that count, in text order.

    Parameters
    ----------
    phrases : iterable of Phrase
        With their parts.
    left : iterable of FunctionWord
        Those that the phrases do not hold: aspects, も, and what no rule has read.
    """
    rows = list(phrases)
    words = list(left)
    habit = any(_is_habit(word) for phrase in rows for word in phrase.words)
    for phrase in rows:
        word = phrase.words[-1]
        state = habit or word.normal in STATES or word.key in STATES
        state = state or phrase.link == "rel"  # 帽子をかぶっている人 is 帽子をかぶった人
        words += [aspect for aspect in phrase.aspects if not state or aspect.key != "ている"]
        key = _joined(phrase) if phrase.sort == PREDICATE else _case(phrase)
        if key:
            start, end = word.end, phrase.until
            if end <= start:
                start, end = word.start, word.end
            words.append(FunctionWord(start, end, key, _kind(key)))
    return tuple(sorted(words, key=_start))


def _is_habit(word: Word) -> bool:
    return word.key in HABITS or (word.value is not None and ":every" in word.value.key)


def _start(word: FunctionWord) -> int:
    return word.start


def _joined(phrase: Phrase) -> str:
    """Return what joins a clause to the next, "" for nothing that counts."""
    if phrase.link == "noun":
        return _case(phrase)
    return "" if phrase.link in _LINKS_READ else phrase.link


def _case(phrase: Phrase) -> str:
    """Return the particle of a thing, "" if its role says as much, or it is ignored."""
    case = phrase.case
    if case in ("や", "とか", "か"):
        return EQUAL.get(case, case)
    if phrase.role == "prep:と":
        return "と"  # 田中と話す counts; 田中と佐藤 only joins
    if phrase.role.startswith("prep:"):
        case = phrase.role.removeprefix("prep:")
    elif phrase.role != Role.UNKNOWN or case in _BEFORE_TIMES:
        return ""
    return "" if case in IGNORED else case
