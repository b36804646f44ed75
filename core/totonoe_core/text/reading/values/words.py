"""Words of values in each language: numbers, months, weekdays, counters, what stands beside them.

They are in lexicon/LANG/values.txt, a heading for each attribute of `Words` that comes from a list;
those of any language in lexicon/any/values.txt.
"""

# Rows and tables; a wide character counts as two columns.
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from totonoe_core.text.lexicon import Grammar
from totonoe_core.text.reading.values import units
from totonoe_core.text.reading.values.units import Unit

CJK = frozenset(("ja", "zh", "ko"))
"""Written without spaces around values."""
_SPACED = frozenset(("en", "de", "fr", "es", "pt", "it", "ru"))
COMMA_LANGUAGES = _SPACED - {"en"}
"""A comma before the decimals."""
_WORD_CHARS_MAX = 8


def _ints(keys: Mapping[str, str]) -> dict[str, int]:
    return {word: int(number) for word, number in keys.items()}


ANY = Grammar("any", "values")
PARTS_OF_DAY = ANY.keys("parts of the day")
VERSIONS = ANY.words("versions")
ORDINAL_UNITS = ANY.keys("counted by their ordinal")
FRACTIONS = {sign: Fraction(said) for sign, said in ANY.keys("fractions").items()}
HAN_DIGITS, HAN_TENS = _ints(ANY.keys("Han digits")), _ints(ANY.keys("Han tens"))
HAN_SCALES = _ints(ANY.keys("Han scales"))
HAN = "".join((*HAN_DIGITS, *HAN_TENS, *HAN_SCALES))
FIGURE_SCALES = _ints(ANY.keys("scales behind figures"))
FORMAL_DIGITS = frozenset("".join(ANY.words("formal digits")))


@dataclass(frozen=True, slots=True)
class Words:
    """Words of one language, in lower case, as rows need them. Lists that it has not are empty."""

    language: str
    numbers: dict[str, int]
    """Number words that add up (to 999)."""
    scales: dict[str, int]
    """Number words that multiply: thousand."""
    ordinals: dict[str, int]
    parts: dict[str, Fraction]
    """Names of fractions."""
    and_a_half: dict[str, Fraction]
    """Words for a number and a half: anderthalb."""
    joins: frozenset[str]
    one: frozenset[str]
    """Words for one that are articles or pronouns: no number when they stand alone."""
    not_alone: frozenset[str]
    not_before: frozenset[str]
    """Words before "one" that make it a pronoun."""
    not_behind: frozenset[str]
    ordinal_ending: re.Pattern[str] | None
    months: dict[str, int]
    month_words: frozenset[str]
    """Months that are other words, or names, too."""
    unsure_months: frozenset[str]
    """Months that are read alone only behind a preposition."""
    weekdays: dict[str, int]
    capital_weekdays: frozenset[str]
    days: dict[str, str]
    """Keys of days and hours with a name: Friday, Fridays, the day after tomorrow, noon."""
    hours: dict[str, int]
    """Korean hours before the word for o'clock."""
    to: frozenset[str]
    of: frozenset[str]
    clock: frozenset[str]
    """Behind an hour: o'clock."""
    before_hour: frozenset[str]
    before_hour_alone: frozenset[str]
    """Words before an hour that need no other sign of one."""
    alone: re.Pattern[str] | None
    """Words that must follow an hour which no other sign marks."""
    before_year: frozenset[str]
    units: dict[str, Unit]
    starts: frozenset[str]
    """Every word that may begin a value, or every character (ja, zh, ko)."""
    counted: dict[str, int]
    """Korean numbers that stand only before a counter."""
    tails: frozenset[str]
    """Words in which a numeral comes last and is no number (唯一)."""
    after_all: dict[str, frozenset[str]]
    """Words without a number (十分) that have one before these characters (十分間)."""
    counters: frozenset[str]
    """Generic counters: they carry the number alone."""
    periods: dict[str, str]
    """Parts of the day before an hour: am, noon, pm, night."""
    eras: dict[str, int]
    o_clock: re.Pattern[str] | None
    heads: dict[str, str]
    """Words of the lists above with which a value may begin -> which list it is (ja, zh, ko)."""


class _Lists(Grammar):
    """Lists of a language, those that it has not empty."""

    def __init__(self, language: str) -> None:
        known = language in CJK or language in _SPACED
        self.lines = defaultdict(list, Grammar(language, "values").lines if known else {})

    def numbers(self, heading: str) -> dict[str, int]:
        return _ints(self.keys(heading))

    def pattern(self, heading: str, before: str = "") -> re.Pattern[str] | None:
        return next((re.compile(before + line) for line in self.lines[heading]), None)


@cache
def words_of(language: str) -> Words:
    """Return the words of a language; without lists of its own, figures and symbols alone."""
    lists = _Lists(language)
    weekdays, periods = lists.numbers("weekdays"), lists.keys("parts of the day")
    eras, days = lists.numbers("eras"), _days(lists, weekdays)
    tables: dict[str, Iterable[str]] = {
        "period": periods, "skip": lists.words("no numbers"), "day": days, "era": eras,
    }  # fmt: skip
    cjk = language in CJK
    return Words(
        language=language,
        numbers=lists.numbers("numbers"),
        scales=lists.numbers("scales"),
        ordinals=lists.numbers("ordinals"),
        parts=_fractions(lists, "parts"),
        and_a_half=_fractions(lists, "and a half"),
        joins=lists.words("joins"),
        one=lists.words("one or an article"),
        not_alone=lists.words("not alone"),
        not_before=lists.words("not before a number"),
        not_behind=lists.words("not behind a number"),
        ordinal_ending=lists.pattern("ordinal ending"),
        months=lists.numbers("months"),
        month_words=lists.words("months that are words"),
        unsure_months=lists.words("months after a preposition"),
        weekdays=weekdays,
        capital_weekdays=lists.words("weekdays with a capital"),
        days=days,
        hours=lists.numbers("hours before o'clock"),
        to=lists.words("between the ends of a range"),
        of=lists.words("of a month"),
        clock=lists.words("behind an hour"),
        before_hour=lists.words("before an hour"),
        before_hour_alone=lists.words("before an hour alone"),
        alone=lists.pattern("behind an hour alone"),
        before_year=lists.words("before a year"),
        units=units.words_of(language or "en"),
        starts=_characters(language, lists, tables) if cjk else _first_words(lists),
        counted=lists.numbers("counted"),
        tails=lists.words("numbers at their end"),
        after_all={
            key: frozenset(words.split())
            for key, _, words in (line.partition(": ") for line in lists.lines["numbers after all"])
        },
        counters=lists.words("counters"),
        periods=periods,
        eras=eras,
        o_clock=lists.pattern("o'clock", " ?"),
        heads={word: name for name, table in tables.items() for word in table} if cjk else {},
    )


def _fractions(lists: _Lists, heading: str) -> dict[str, Fraction]:
    return {word: Fraction(said) for word, said in lists.keys(heading).items()}


def _days(lists: _Lists, weekdays: Mapping[str, int]) -> dict[str, str]:
    """Return the keys of days and hours with a name."""
    days = {word: f"time:{int(hour):02d}:00" for word, hour in lists.keys("hours").items()}
    days |= {word: f"date:every-weekday:{day}" for word, day in lists.keys("every weekday").items()}
    days |= {word: f"date:weekday:{day}" for word, day in weekdays.items()}
    for word, day in lists.keys("relative days").items():
        days[word] = f"date:{'' if day.startswith('every') else 'relative:'}{day}"
    return days


def _first_words(lists: _Lists) -> frozenset[str]:
    """Return words that may begin a value, of phrases the first."""
    starts = {*lists.words("begin"), *lists.keys("hours"), *lists.keys("every weekday")}
    for heading in ("numbers", "scales", "ordinals", "months", "and a half"):
        starts |= lists.keys(heading).keys()
    relative = lists.keys("relative days")
    for phrase in (*relative, *lists.keys("weekdays")):
        starts.add(phrase.replace("-", " ").split()[0])
    starts |= {phrase.partition("'")[0] for phrase in relative}
    codes = {code.lower() for code in units.CODES}
    return frozenset(starts | codes | VERSIONS | FRACTIONS.keys() | {"v"})


def _characters(
    language: str, lists: _Lists, tables: Mapping[str, Iterable[str]]
) -> frozenset[str]:
    """Return characters with which a value may begin, Latin and figures apart."""
    heads = (*lists.keys("numbers"), *(word for name, table in tables.items() if name != "skip"
             for word in table))  # fmt: skip
    return frozenset(word[0] for word in (*heads, *lists.words("begin"))) | (
        frozenset() if language == "ko" else frozenset(HAN) - {"○"}
    )


def is_numeral(words: Words, word: str) -> bool:
    """Return whether a number in words may begin with a word."""
    return word in words.numbers or word in words.scales or word in words.ordinals


def longest(text: str, at: int, table: Mapping[str, object] | Set[str]) -> str | None:
    """Return the longest word of a table that stands at a place."""
    for length in range(_WORD_CHARS_MAX, 0, -1):
        word = text[at : at + length]
        if word in table:
            return word
    return None
