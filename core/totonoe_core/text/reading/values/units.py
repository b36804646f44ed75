"""Units of measure: what a surface names, and one key for every way to write a quantity.

An own table and not pint: the arithmetic has to be exact (90 min = 1.5 h, without floats), units are
written in words of ten languages, and pint does not find a quantity in a sentence. Measured:
`parse_expression("12.5 N").to_base_units()` with pint 0.25 takes 126 µs and 0.15 s to load;
`find_values("12.5 N", "en")`, which also looks for all else, takes 28 µs.

A unit is a factor to the base of its dimension. Base names are part of keys, so they are short
and shared by all languages: "5400 s", "1.5 kg", "12.5 N", "300 CNY".
"""

# Tables of words; a wide character counts as two columns.
# ruff: noqa: E501
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from totonoe_core.text.lexicon import Grammar

F = Fraction
_ONE, _ZERO = F(1), F(0)


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: `value * factor + offset` is the quantity in the base unit."""

    base: str
    factor: Fraction = _ONE
    offset: Fraction = _ZERO


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
    return f"{number_key(value * unit.factor + unit.offset)} {unit.base}"


def per(unit: Unit, other: Unit) -> Unit:
    """The unit `unit/other`, such as km/h."""
    return Unit(f"{unit.base}/{other.base}", unit.factor / other.factor)


SECOND, MONTH = Unit("s"), Unit("month")
MINUTE, HOUR, DAY, WEEK = (Unit("s", F(n)) for n in (60, 3600, 86400, 604800))
YEAR, QUARTER, DECADE, CENTURY = (Unit("month", F(n)) for n in (12, 3, 120, 1200))
TIMES, FOLD, PERCENT, REQUEST = Unit("times"), Unit("x"), Unit("%"), Unit("req")
CELSIUS = Unit("°C")
FAHRENHEIT = Unit("°C", F(5, 9), F(-160, 9))
TIME_SPANS = frozenset({"s", "month"})

_PREFIXES = {
    "p": F(1, 10**12), "n": F(1, 10**9), "µ": F(1, 10**6), "μ": F(1, 10**6), "u": F(1, 10**6),
    "m": F(1, 1000), "c": F(1, 100), "d": F(1, 10), "": F(1), "h": F(100), "k": F(1000),
    "M": F(10**6), "G": F(10**9), "T": F(10**12), "P": F(10**15),
}  # fmt: skip
# Symbol -> base, factor, prefixes in use. Only those that are written: "5 G" and "3D" are names.
_SYMBOLS = {
    "m": ("m", F(1), ("n", "µ", "μ", "u", "m", "c", "d", "", "k")),
    "g": ("kg", F(1, 1000), ("µ", "μ", "m", "", "k")),
    "t": ("kg", F(1000), ("",)),
    "s": ("s", F(1), ("n", "µ", "μ", "u", "m", "")),
    "l": ("l", F(1), ("µ", "μ", "m", "c", "d", "")),
    "L": ("l", F(1), ("µ", "μ", "m", "c", "d", "")),
    "N": ("N", F(1), ("m", "", "k")),
    "Nm": ("Nm", F(1), ("m", "", "k")),
    "V": ("V", F(1), ("µ", "μ", "m", "", "k")),
    "A": ("A", F(1), ("µ", "μ", "m", "")),
    "Ah": ("Ah", F(1), ("m", "")),
    "W": ("W", F(1), ("µ", "μ", "m", "", "k", "M", "G")),
    "Wh": ("J", F(3600), ("m", "", "k", "M", "G")),
    "J": ("J", F(1), ("m", "", "k", "M")),
    "Hz": ("Hz", F(1), ("m", "", "k", "M", "G", "T")),
    "Pa": ("Pa", F(1), ("", "h", "k", "M")),
    "bar": ("Pa", F(100000), ("m", "")),
    "Ω": ("Ω", F(1), ("m", "", "k", "M")),
    "B": ("B", F(1), ("k", "M", "G", "T", "P")),
    "bps": ("bit/s", F(1), ("", "k", "M", "G")),
    "bit": ("bit", F(1), ("", "k", "M", "G")),
    "cal": ("cal", F(1), ("", "k")),
    "F": ("F", F(1), ("p", "n", "µ", "μ", "u")),
}

SYMBOLS: dict[str, Unit] = {
    prefix + symbol: Unit(base, factor * _PREFIXES[prefix])
    for symbol, (base, factor, prefixes) in _SYMBOLS.items()
    for prefix in prefixes
}
SYMBOLS |= {
    "KB": Unit("B", F(1000)), "kb": Unit("B", F(1000)), "mb": Unit("B", F(10**6)),
    "gb": Unit("B", F(10**9)), "tb": Unit("B", F(10**12)), "Mb": Unit("bit", F(10**6)),
    "Gb": Unit("bit", F(10**9)), "KiB": Unit("B", F(2**10)), "MiB": Unit("B", F(2**20)),
    "GiB": Unit("B", F(2**30)), "TiB": Unit("B", F(2**40)), "min": MINUTE, "mins": MINUTE,
    "sec": SECOND, "secs": SECOND, "msec": Unit("s", F(1, 1000)), "h": HOUR, "hr": HOUR,
    "hrs": HOUR, "d": DAY, "wk": WEEK, "wks": WEEK, "yr": YEAR, "yrs": YEAR,
    "kmh": Unit("m/s", F(5, 18)), "kph": Unit("m/s", F(5, 18)),
    "mph": Unit("m/s", F(1609344, 3600000)), "ha": Unit("m²", F(10000)), "m²": Unit("m²"),
    "m2": Unit("m²"), "km²": Unit("m²", F(10**6)), "km2": Unit("m²", F(10**6)),
    "cm²": Unit("m²", F(1, 10000)), "cm2": Unit("m²", F(1, 10000)), "m³": Unit("m³"),
    "m3": Unit("m³"), "cm³": Unit("m³", F(1, 10**6)), "cc": Unit("m³", F(1, 10**6)),
    "ft": Unit("m", F(3048, 10000)), "yd": Unit("m", F(9144, 10000)),
    "mi": Unit("m", F(1609344, 1000)), "inch": Unit("m", F(254, 10000)),
    "lb": Unit("kg", F(45359237, 10**8)), "lbs": Unit("kg", F(45359237, 10**8)),
    "oz": Unit("kg", F(45359237, 16 * 10**8)), "psi": Unit("psi"), "N·m": Unit("Nm"),
    "N*m": Unit("Nm"), "rpm": Unit("rpm"), "RPM": Unit("rpm"), "dB": Unit("dB"), "px": Unit("px"),
    "fps": Unit("frame/s"), "FPS": Unit("frame/s"), "rps": Unit("req/s"), "RPS": Unit("req/s"),
    "qps": Unit("req/s"), "QPS": Unit("req/s"), "°C": CELSIUS, "℃": CELSIUS, "°F": FAHRENHEIT,
    "℉": FAHRENHEIT, "°": Unit("°"), "deg": Unit("°"), "rad": Unit("rad"), "%": PERCENT,
    "％": PERCENT, "‰": Unit("%", F(1, 10)), "ppm": Unit("%", F(1, 10000)), "pp": Unit("pp"),
    "x": FOLD, "X": FOLD, "×": FOLD, "㎏": Unit("kg"), "㎞": Unit("m", F(1000)),
    "㎝": Unit("m", F(1, 100)), "㎜": Unit("m", F(1, 1000)), "㎡": Unit("m²"),
}  # fmt: skip

CURRENCY_SIGNS: dict[str, Unit] = {
    "$": Unit("USD"), "US$": Unit("USD"), "€": Unit("EUR"), "£": Unit("GBP"), "¥": Unit("JPY"),
    "￥": Unit("JPY"), "₩": Unit("KRW"), "₹": Unit("INR"), "₽": Unit("RUB"), "₿": Unit("BTC"),
    "₫": Unit("VND"), "฿": Unit("THB"),
}  # fmt: skip
_CODES = [
    "USD",
    "EUR",
    "GBP",
    "JPY",
    "CNY",
    "RMB",
    "KRW",
    "INR",
    "RUB",
    "CHF",
    "AUD",
    "CAD",
    "HKD",
    "TWD",
    "SGD",
    "BRL",
    "BTC",
    "ETH",
]
SYMBOLS |= CURRENCY_SIGNS
SYMBOLS |= {code: Unit("CNY" if code == "RMB" else code) for code in _CODES}

_LANGUAGES = frozenset(("en", "ja", "zh", "ko", "de", "fr", "es", "pt", "it", "ru"))


def _unit(said: str) -> Unit:
    """Return a unit as a line names it: "kg", "kg * 1/1000", "°C * 5/9 + -160/9"."""
    base, _, rest = said.partition(" * ")
    factor, _, offset = rest.partition(" + ")
    return Unit(base, F(factor or 1), F(offset or 0))


@cache
def words_of(language: str) -> dict[str, Unit]:
    """Return the units of a language by their words; empty without a list of them."""
    if language not in _LANGUAGES:
        return {}
    return {word: _unit(said) for word, said in Grammar(language, "units").keys("units").items()}
