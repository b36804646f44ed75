"""Words of the grammar of values in each spaced language, found by their first word."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from totonoe_core.text.reading.values import numerals, times, units
from totonoe_core.text.reading.values.units import Unit


@dataclass(frozen=True, slots=True)
class Grammar:
    """What `spaced` needs of a language; all words in lower case."""

    language: str
    numbers: numerals.NumberWords
    months: dict[str, int]
    weekdays: dict[str, int]
    every_weekday: dict[str, int]
    relative: dict[str, str]
    unit_words: dict[str, Unit]
    lower_symbols: dict[str, Unit]
    to: frozenset[str]
    """Between the ends of a range."""
    of: frozenset[str]
    """Between day, month and year."""
    am: frozenset[str]
    pm: frozenset[str]
    clock: frozenset[str]
    """After an hour: o'clock, Uhr."""
    year_after: frozenset[str]
    """Before a year or a month: in, since."""
    version: frozenset[str]
    not_alone: frozenset[str]
    starts: frozenset[str]
    """Every word that may begin a value."""


_TO = {
    "en": "to through until till", "de": "bis", "fr": "à", "es": "a", "pt": "a", "it": "a",
    "ru": "до",
}  # fmt: skip
_OF = {"en": "of", "es": "de del", "pt": "de do", "fr": "", "de": "", "it": "", "ru": ""}
_CLOCK = {"de": "uhr", "fr": "heures heure", "pt": "horas", "es": "horas", "ru": "часов часа"}
_IN = {
    "en": "in since until by from during of before after on year next last every this",
    "de": "in im seit bis ab von jahr anfang ende", "fr": "en depuis avant après mi",
    "ru": "в с до",
    "es": "en desde hasta de del", "pt": "em desde até de", "it": "nel dal a in del",
}  # fmt: skip
_VERSION = "version versions ver release versión versão versione версия версии"
_AM = {"en": "morning", "es": "mañana", "pt": "manhã", "fr": "matin", "it": "mattina", "ru": "утра"}
_PM = {
    "en": "afternoon evening", "es": "tarde noche", "pt": "tarde noite", "ru": "дня вечера",
    "fr": "après-midi soir", "it": "pomeriggio sera",
}  # fmt: skip
_EXTRA = {
    "en": "a an half quarter noon midday midnight twice thrice next last this every rev no number "
    "day the aged couple double once",
    "de": "halb viertel ein eine einen mittag mitternacht anderthalb eineinhalb",
    "fr": "midi minuit", "ru": "полтора полдень полночь", "es": "mediodía medianoche",
    "pt": "meio-dia meia-noite", "it": "mezzogiorno mezzanotte", "": "",
}  # fmt: skip


def _set(table: dict[str, str], language: str) -> frozenset[str]:
    return frozenset(table.get(language, "").split())


@cache
def grammar(language: str) -> Grammar:
    """Grammar of a language; for one that has none, that of figures alone."""
    numbers = numerals.WORDS.get(language, numerals.NO_WORDS)
    months = times.MONTHS.get(language, {})
    weekdays = times.WEEKDAYS.get(language, {})
    every = times.EVERY.get(language, {})
    relative = times.RELATIVE.get(language, {})
    extra = _set(_EXTRA, language)
    starts = {*numbers.values, *numbers.scales, *numbers.ordinals, *months, *every, *extra}
    starts |= {phrase.replace("-", " ").split()[0] for phrase in (*relative, *weekdays)}
    starts |= {phrase.partition("'")[0] for phrase in relative}
    starts |= {"usd", "eur", "gbp", "jpy", "cny", "rmb", "krw", "chf"}
    starts |= set(numerals.FRACTION_SIGNS) | set(_VERSION.split()) | {"v", "q"}
    return Grammar(
        language, numbers, months, weekdays, every, relative,
        units.words_of(language or "en"),
        {name.lower(): unit for name, unit in units.SYMBOLS.items()
         if len(name) > 1 and name.lower() not in ("mw", "mpa", "mj", "mv", "ma", "pa", "mn")},
        _set(_TO, language), _set(_OF, language), _set(_AM, language), _set(_PM, language),
        _set(_CLOCK, language), _set(_IN, language), frozenset(_VERSION.split()),
        numerals.NOT_ALONE.get(language, frozenset()), frozenset(starts),
    )  # fmt: skip
