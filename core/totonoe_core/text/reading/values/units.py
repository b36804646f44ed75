"""Units of measure: what a surface names, and one key for every way to write a quantity.

An own table and not pint: the arithmetic has to be exact (90 min = 1.5 h, without floats), units are
written in words of ten languages, and pint does not find a quantity in a sentence. Measured:
`parse_expression("12.5 N").to_base_units()` with pint 0.25 takes 126 µs and 0.15 s to load;
`find_values("12.5 N", "en")`, which also looks for all else, takes 28 µs.

A unit is a factor to the base of its dimension. Base names are part of keys, so they are short
and shared by all languages: "5400 s", "1.5 kg", "12.5 N", "300 CNY". Words and symbols lie in
lexicon/LANG/units.txt, those of any language in lexicon/any/units.txt.
"""

# Rows and tables; a wide character counts as two columns.
# ruff: noqa: E501
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from totonoe_core.text.lexicon import Grammar

F = Fraction
_ONE, _ZERO = F(1), F(0)
_LANGUAGES = frozenset(("en", "ja", "zh", "ko", "de", "fr", "es", "pt", "it", "ru"))


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: `value * factor + offset` is the quantity in the base unit."""

    base: str
    factor: Fraction = _ONE
    offset: Fraction = _ZERO

    def in_base(self, value: Fraction) -> Fraction:
        """Return a value in the base unit."""
        if self.factor != 1:
            value = value * self.factor
        return value + self.offset if self.offset else value


def number_key(value: Fraction) -> str:
    """Canonical text of a number: decimal where it ends, else a fraction in lowest terms."""
    if value.denominator == 1:
        return str(value.numerator)
    twos_and_fives = value.denominator
    for prime in (2, 5):
        while twos_and_fives % prime == 0:
            twos_and_fives //= prime
    if twos_and_fives != 1:
        return f"{value.numerator}/{value.denominator}"
    digits, scale = abs(value.numerator), value.denominator
    places = 0
    while digits % scale:
        digits *= 10
        places += 1
    text = str(digits // scale).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{text[:-places]}.{text[-places:]}"


def quantity_key(value: Fraction, unit: Unit) -> str:
    """Key of a value in a unit."""
    return f"{number_key(unit.in_base(value))} {unit.base}"


def per(unit: Unit, other: Unit) -> Unit:
    """The unit `unit/other`, such as km/h."""
    return Unit(f"{unit.base}/{other.base}", unit.factor / other.factor)


def span_key(span: Fraction, base: str, sign: str) -> str:
    """Key of a day so many seconds or months from now, "-" ago or "+" ahead."""
    if base == "s" and span % 86400 == 0:
        return f"date:relative:{sign}{span // 86400}d"
    return f"date:relative:{sign}{number_key(span)}{'m' if base == 'month' else 's'}"


def unit_of(said: str) -> Unit:
    """Return a unit as a line names it: "kg", "kg * 1/1000", "°C * 5/9 + -160/9"."""
    base, _, rest = said.partition(" * ")
    factor, _, offset = rest.partition(" + ")
    return Unit(base, F(factor or 1), F(offset or 0))


def units_in(lists: Grammar, heading: str) -> dict[str, Unit]:
    """Return the units under a heading by their words."""
    return {word.replace("_", " "): unit_of(said) for word, said in lists.keys(heading).items()}


@cache
def words_of(language: str) -> dict[str, Unit]:
    """Return the units of a language by their words; empty without a list of them."""
    return units_in(Grammar(language, "units"), "units") if language in _LANGUAGES else {}


_ANY = Grammar("any", "units")
SYMBOLS = units_in(_ANY, "symbols") | units_in(_ANY, "currency signs")
_CASE_TELLS = _ANY.words("case tells")
LOWER_SYMBOLS = {
    name.lower(): unit
    for name, unit in SYMBOLS.items()
    if len(name) > 1 and name.lower() not in _CASE_TELLS
}
GLUED = _ANY.words("not behind a space")
"""Symbols that are words or names behind a space: "5 A", "the 3 in"."""
ENDINGS = frozenset(SYMBOLS) | _ANY.words("endings")
"""Letters that make the figure before them a value and not a name: 12.5N, 3rd, 10am."""
CODES = _ANY.words("codes before an amount")
RATES = units_in(_ANY, "rates")
"""By the first character of a Chinese or Japanese word for a time span."""

DAY, TIMES = Unit("s", F(86400)), Unit("times")
TIME_SPANS = frozenset({"s", "month"})
