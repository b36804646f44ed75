"""Rows: each says where a value of one kind may begin, what it looks like, and what it makes.

A row stands for one way to write something. It is tried at a place of the text when its signs, its
language and its expression allow it; the first row of a group that makes something wins. Its name
heads its examples in tests/data/values.txt: a row that no example needs goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from totonoe_core.text.reading.model import PieceType, quick
from totonoe_core.text.reading.values.units import Unit
from totonoe_core.text.reading.values.words import CJK, FRACTIONS, Words, words_of

FoundValue = tuple[int, int, PieceType, str]
"""Start, end, type and key of a value."""
ALWAYS = re.compile("")
SPACED, JZK = "spaced", "ja zh ko"
ALL = f"{SPACED} {JZK}"


@quick
class Number:
    """A number in a text; `key` is its text where that says more than the value (007, 3/20)."""

    value: Fraction
    end: int
    ordinal: bool = False
    in_words: bool = False
    key: str = ""
    surface: str = ""
    """As it is written without separators, as long as nothing behind it was taken in."""


@dataclass(frozen=True, slots=True)
class Row:
    """One way to write something.

    Parameters
    ----------
    name : str
        Unique; a heading of tests/data/values.txt.
    firsts : str
        Signs with which it begins, as `sign_of` names them; for a word of a list the list's name.
    pattern : re.Pattern
        Has to match at the place, or behind the number for rows of that group.
    make : callable
        `make(scan, at, match)`: what was found, or None. A row of what stands behind a number
        makes it of `(scan, at, number, match)`, an ending of a number of `(scan, number, match)`.
    languages : str
        Codes of languages; SPACED for all with spaces between words, and texts of none.
    begins : callable
        Whether a word of the lists, in lower case, may begin it; asked once for each word.
    """

    name: str
    firsts: str
    pattern: re.Pattern[str]
    make: Callable[..., Any]
    languages: str
    begins: Callable[[Words, str], bool]

    def reads(self, language: str) -> bool:
        """Whether the row is one of a language."""
        languages = self.languages.split()
        return language in languages or (SPACED in languages and language not in CJK)


def row(
    name: str,
    firsts: str,
    pattern: str | re.Pattern[str],
    make: Callable[..., Any],
    languages: str = SPACED,
    begins: Callable[[Words, str], bool] = lambda _words, _word: True,
) -> Row:
    """Return a row; its expression in text is compiled."""
    return Row(name, firsts, re.compile(pattern), make, languages, begins)


Entries = tuple[tuple[Callable[..., re.Match[str] | None], Callable[..., Any]], ...]
Groups = dict[str, Sequence[Row]]
"""Rows by what they find: "value", "made" (names), "number", "ending" (of a number), "amount",
"behind" (a number), "unit", "clock"."""


class Rules:
    """The rows that read one language.

    Parameters
    ----------
    language : str
        ISO 639-1 code, or "".
    groups : dict of sequence of Row
        Rows in the order in which they are tried.
    """

    def __init__(self, language: str, groups: Groups) -> None:
        self.words: Words = words_of(language)
        self._language, self._groups = language, groups
        self.values = {
            name: self._entries("value", name)
            for name in ("0", "q", "$", "-", "½", "+", "*", "/", "_", "字",
                         "day", "period", "era")
        }  # fmt: skip
        self._of_word: dict[str, Entries] = {}
        self.numbers = {name: self._entries("number", name) for name in ("0", "a", "-", "½", "字")}
        self.amounts = self._entries("amount")
        self.endings = {name: self._entries("ending", name) for name in ("0", "a")}
        self.behind = self._entries("behind")
        self.units = self._entries("unit")
        self.clock = self._entries("clock")
        made = [row for row in groups["made"] if row.reads(language)]
        self.make_of = {f"made{number}": row.make for number, row in enumerate(made)}
        self.made = re.compile(
            "|".join(f"(?P<made{n}>{row.pattern.pattern})" for n, row in enumerate(made)), re.ASCII
        )
        """Names are found by one expression; each row of the group is one of its choices."""

    def of_word(self, word: str) -> Entries:
        """Return the rows of values that may begin with a word of the lists, in lower case.

        As many are kept as the lists have words.
        """
        if word not in self._of_word:
            self._of_word[word] = self._entries("value", "a", word)
        return self._of_word[word]

    @cached_property
    def latin(self) -> Rules:
        """The rows of no language, for the Latin parts of a text without spaces."""
        return Rules("", self._groups)

    def _entries(self, group: str, first: str = "", word: str = "") -> Entries:
        return tuple(
            (row.pattern.match, row.make)
            for row in self._groups[group]
            if row.reads(self._language)
            and (not first or first in row.firsts.split())
            and (not word or row.begins(self.words, word))
        )


_SIGNS = dict.fromkeys("0123456789", "0") | dict.fromkeys(FRACTIONS, "½")
_SIGNS |= {"-": "-", "+": "+", "*": "*"} | dict.fromkeys("$€£¥₩₹₽₿₫฿", "$")
_SIGNS |= dict.fromkeys("「『《〈“„«‹‘\"'`", "q")


def sign_of(sign: str) -> str:
    """Name of a sign by what may begin with it: 0 a figure, a a letter, q a quotation, ..."""
    found = _SIGNS.get(sign)
    return found if found is not None else "a" if sign.isalpha() else "/"


class Scan:
    """A text that is being read; what was found at a place is found once."""

    __slots__ = ("_amounts", "_numbers", "_units", "rules", "text", "words")

    def __init__(self, text: str, rules: Rules) -> None:
        self.text, self.rules, self.words = text, rules, rules.words
        self._numbers: dict[int, Number | None] = {}
        self._amounts: dict[int, Number | None] = {}
        self._units: dict[int, tuple[Unit, int] | None] = {}

    def first(self, entries: Entries, at: int) -> Any:
        """Return what the first row makes at a place; None if none makes anything."""
        text = self.text
        for match_at, make in entries:
            if (match := match_at(text, at)) is not None:
                found = make(self, at, match)
                if found is not None:
                    return found
        return None

    def value(self, at: int) -> FoundValue | None:
        """Return the value that begins at a place."""
        found: FoundValue | None = self.first(self.rules.values[sign_of(self.text[at])], at)
        return found

    def number(self, at: int) -> Number | None:
        """Return the number at a place, in figures or in words, with what belongs to it."""
        if at not in self._numbers:
            sign = sign_of(self.text[at : at + 1] or " ")
            if sign in "a/" and self.words.language in CJK:
                sign = "字"
            self._numbers[at] = self.first(self.rules.numbers.get(sign, ()), at)
        return self._numbers[at]

    def amount(self, at: int) -> Number | None:
        """Return the number at a place; "an" and "half" before what they measure are numbers."""
        if at not in self._amounts:
            self._amounts[at] = self.first(self.rules.amounts, at) or self.number(at)
        return self._amounts[at]

    def unit(self, at: int) -> tuple[Unit, int] | None:
        """Return the unit at a place, and its end: kg, " hours", "-year", km/h."""
        if at not in self._units:
            self._units[at] = self.first(self.rules.units, at)
        return self._units[at]

    def behind(self, at: int, number: Number) -> FoundValue | None:
        """Return the value of the number that begins at a place, by what stands behind it."""
        for match_at, make in self.rules.behind:
            if (match := match_at(self.text, number.end)) is not None:
                found: FoundValue | None = make(self, at, number, match)
                if found is not None:
                    return found
        return None

    def clock(self, at: int) -> FoundValue | None:
        """Return the time of day at a place, of a language without spaces."""
        found: FoundValue | None = self.first(self.rules.clock, at)
        return found

    def ended(self, number: Number, group: str) -> Number:
        """Return a number with what stands behind it and belongs to it."""
        for match_at, make in self.rules.endings[group]:
            if number.ordinal:
                break
            if (match := match_at(self.text, number.end)) is not None:
                number = make(self, number, match) or number
        return number


def all_rows(groups: Groups) -> Iterable[Row]:
    """Return the rows of all groups."""
    return (row for rows in groups.values() for row in rows)
