"""Numbers with what belongs to them: scale, ordinal ending, unit, rate, range."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values import numerals, units
from totonoe_core.text.reading.values.grammar import Grammar
from totonoe_core.text.reading.values.units import Unit, number_key, per, quantity_key

F = Fraction
Found = tuple[int, int, PieceType, str]

_ENDINGS = {
    "en": r"(?:st|nd|rd|th)(?!\w)", "fr": r"(?:er|re|e|ème|nd|nde)(?!\w)", "es": r"\.?[ºª]",
    "pt": r"\.?[ºª]", "it": r"[ºª]", "ru": r"-(?:й|я|е|го|му|м|ая|ой)(?!\w)",
}  # fmt: skip
ORDINAL = {language: re.compile(ending) for language, ending in _ENDINGS.items()}
MEASURES = frozenset(units.SYMBOLS) | frozenset(
    ["st", "nd", "rd", "th", "am", "pm", "k", "K", "M", "bn", "mn", "e", "er", "re", "s"]
) | {"m", "h", "x"}  # fmt: skip

_SLASH = re.compile(r"/(\d{1,2})(?![\d/]|\.\d|\w)", re.ASCII)
_LETTER_SCALE = re.compile(r"([kK]|[mM](?=n|il|io)(?:n|il|io)\.?|M|bn|[mM]rd)(?![\w/])")
_LETTER_SCALES = {"k": 1000, "m": 10**6, "b": 10**9}
_SCALE_WORD = re.compile(r"[ -]([^\W\d_]{2,12})\.?")
_AND_PART = re.compile(
    r" (?:and|y|e|et|und|с) (?:(?:a|an|one|un|une|una) )?(half|quarter|demie?|media|medio|meia|"
    r"meio|mezzo|mezza|половиной)(?!\w)"
)
_SYMBOL = re.compile(
    r"(?:[ -]|  ?)?((?:US)?[$€£¥₩₹₽]|[%％‰]|[°℃℉][CF]?|[^\W\d_]{1,5}[²³23]?(?:[·*]m)?)(?![\w])"
)
_UNIT_WORD = re.compile(r"(?:[ -]|  ?)?((?:square|cubic) )?([^\W\d_]{1,20})(?![\w])")
_RATE = re.compile(
    r"(?: ?/ ?| per | a | an | pro | par | por | al | в | each | every )([^\W\d_]{1,12})(?!\w)"
)
_COUNTED_RATE = re.compile(
    r" (requests?|queries|messages?|events?|calls?|frames?|tokens?|words?|people|users?|items?)"
    r"(?:/| per | an? | each | every )([^\W\d_]{1,8})(?!\w)"
)
_DEGREES = re.compile(r" ?(?:degrees? |°)?(celsius|centigrade|fahrenheit)(?!\w)", re.IGNORECASE)
_PER_CENT = re.compile(
    r" (?:per cent|por ciento|por cento|pour cent|per cento)(?!\w)", re.IGNORECASE
)
_RANGE = re.compile(r" ?[-–—~〜～] ?| ([^\W\d_]{1,7}) ")
_COMPARED = re.compile(
    r" (?:faster|slower|more|less|as|larger|bigger|higher|smaller|better|the|cheaper|lower)(?!\w)"
)
_SPAN = re.compile(r"(\d{1,3})h(\d{1,2})m(?:in)?(?!\w)", re.ASCII)
# "Python 3.10" is no 3.1: a decimal after a name is a version.
_DECIMAL = re.compile(r"\d{1,4}\.\d{1,4}(?![\w.]|,\d)", re.ASCII)
_NAME_BEFORE = re.compile(r"(?<!\w)[A-Z][\w+#]* ?\Z")
_MULTIPLE = {"once": 1, "twice": 2, "thrice": 3}
_RATE_UNITS = {
    "second",
    "sec",
    "s",
    "minute",
    "min",
    "hour",
    "hr",
    "h",
    "day",
    "week",
    "month",
    "year",
}


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text; `key` is its text where that says more than the value (007)."""

    value: Fraction
    end: int
    ordinal: bool = False
    in_words: bool = False
    key: str = ""


def number_at(text: str, at: int, words: Grammar) -> Number | None:
    """Number in figures or in words at a place."""
    start = at + 1 if text[at : at + 1] == "-" else at
    sign = text[start : start + 1]
    if sign in numerals.FRACTION_SIGNS and sign:
        return Number(numerals.FRACTION_SIGNS[sign], start + 1)
    if not ("0" <= sign <= "9"):
        return None if start > at else _in_words(text, at, words)
    figures = numerals.figures_at(text, start, words.language)
    if figures is None:
        return None
    value, end, surface = figures
    key = ""
    if len(surface) > 1 and surface[0] == "0" and surface[1] != ".":
        key = surface
    if text[end : end + 1] in numerals.FRACTION_SIGNS and end < len(text):
        value += numerals.FRACTION_SIGNS[text[end]]
        end += 1
    elif (match := _SLASH.match(text, end)) is not None and surface.isdigit():
        if 0 < int(surface) < int(match[1]) <= 16:
            value, end = value / int(match[1]), match.end()
        else:
            key, end = f"{surface}/{match[1]}", match.end()
    if start > at:
        value, key = -value, f"-{key}" if key else ""
    ending = ORDINAL.get(words.language)
    if ending is not None and (match := ending.match(text, end)) is not None:
        return Number(value, match.end(), ordinal=True)
    scaled, scale_end = _scaled(text, value, end, words)
    if scale_end != end:
        value, end, key = scaled, scale_end, ""
    if (match := _AND_PART.match(text, end)) is not None:
        value += F(1, 4) if match[1] == "quarter" else F(1, 2)
        end = match.end()
    return Number(value, end, key=key)


def _scaled(text: str, value: Fraction, end: int, words: Grammar) -> tuple[Fraction, int]:
    match = _LETTER_SCALE.match(text, end)
    if match is not None:
        letters = match[1].lower()
        scale = 10**9 if letters == "mrd" else _LETTER_SCALES[letters[0]]
        return value * scale, match.end()
    match = _SCALE_WORD.match(text, end)
    if match is not None:
        word_scale = words.numbers.scales.get(match[1].lower())
        if word_scale is not None:
            return value * word_scale, match.end(1)
    return value, end


def _in_words(text: str, at: int, words: Grammar) -> Number | None:
    found = numerals.words_at(text, at, words.numbers)
    if found is None:
        return None
    value, end, ordinal = found
    if ordinal:
        return Number(value, end, ordinal=True, in_words=True)
    if (match := _AND_PART.match(text, end)) is not None:
        return Number(
            value + (F(1, 4) if match[1] == "quarter" else F(1, 2)), match.end(), False, True
        )
    match = _SCALE_WORD.match(text, end)
    if match is not None and (part := words.numbers.parts.get(match[1].lower())) is not None:
        plural = match[1].lower().endswith("s") or words.language != "en"
        if plural or value == 1:
            return Number(value * part, match.end(1), False, True)
    return Number(value, end, False, True)


def unit_at(text: str, at: int, words: Grammar) -> tuple[Unit, int] | None:
    """Unit that follows a number: kg, " hours", "-year", " °C", " degrees Celsius", km/h."""
    degrees = _DEGREES.match(text, at)
    if degrees is not None:
        kelvin = units.FAHRENHEIT if degrees[1][0] in "fF" else units.CELSIUS
        return kelvin, degrees.end()
    percent = _PER_CENT.match(text, at)
    if percent is not None:
        return units.PERCENT, percent.end()
    unit: Unit | None = None
    match = _SYMBOL.match(text, at)
    if match is not None:
        unit, end = units.SYMBOLS.get(match[1]), match.end()
        spaced = text[at] in "   -"
        if unit is None and not match[1].isupper():
            unit = words.lower_symbols.get(match[1].lower())
        if unit is not None and spaced and match[1] in ("x", "X", "d", "A", "t", "F", "L", "in"):
            unit = None
        if unit is None:
            unit = words.unit_words.get(match[1].lower())
    if unit is None:
        match = _UNIT_WORD.match(text, at)
        if match is None:
            return None
        unit, end = words.unit_words.get(match[2].lower()), match.end()
        if unit is None:
            return None
        if match[1]:
            power = 2 if match[1][0] == "s" else 3
            unit = Unit(unit.base + "²³"[power - 2], unit.factor**power)
    return rate_at(text, unit, end, words)


def rate_at(text: str, unit: Unit, end: int, words: Grammar) -> tuple[Unit, int]:
    """The unit over the one that follows ("per month", "/h", "a day"), or itself."""
    rate = _RATE.match(text, end)
    if rate is None:
        return unit, end
    other = words.unit_words.get(rate[1].lower()) or units.SYMBOLS.get(rate[1])
    if other is None or other.base not in ("s", "month", "m", "l", "kg", "m²", "m³"):
        return unit, end
    return per(unit, other), rate.end()


def figure_at(text: str, at: int, words: Grammar) -> Found | None:
    """Number, quantity or range at a place."""
    word = _UNIT_WORD.match(text, at)
    if word is not None and word[2].lower() in _MULTIPLE and words.language == "en":
        return _multiple(text, at, word.end(), _MULTIPLE[word[2].lower()], words)
    span = _SPAN.match(text, at)
    if span is not None:
        seconds = int(span[1]) * 3600 + int(span[2]) * 60
        return at, span.end(), PieceType.QUANTITY, f"{seconds} s"
    number = _article_number(text, at, words) or number_at(text, at, words)
    if number is None:
        return None
    end = number.end
    if number.ordinal:
        if number.in_words and _no_ordinal(text, at, end, words):
            return None
        return at, end, PieceType.NUMBER, f"no.{number_key(number.value)}"
    found = _range(text, at, number, words)
    if found is not None:
        return found
    quantity = unit_at(text, end, words)
    if quantity is not None:
        unit, end = quantity
        if unit is units.TIMES and _COMPARED.match(text, end):
            unit = units.FOLD
        value = number.value
        if number.key and not number.key.isdigit():
            key = f"{number.key} {number_key(unit.factor)} {unit.base}"
            return at, end, PieceType.QUANTITY, key
        value, end = _more(text, value * unit.factor + unit.offset, unit, end, words)
        return at, end, PieceType.QUANTITY, f"{number_key(value)} {unit.base}"
    counted = _COUNTED_RATE.match(text, end)
    if counted is not None:
        other = words.unit_words.get(counted[2].lower()) or units.SYMBOLS.get(counted[2])
        if other is not None and other.base in units.TIME_SPANS:
            what = {"queries": "query", "people": "person"}.get(counted[1], counted[1].rstrip("s"))
            what = "req" if what == "request" else what
            key = quantity_key(number.value, per(Unit(what), other))
            return at, counted.end(), PieceType.QUANTITY, key
    if number.in_words and _no_number(text, at, end, words):
        return None
    if _DECIMAL.match(text, at) and _NAME_BEFORE.search(text[max(0, at - 24) : at]):
        return at, end, PieceType.VERSION, f"v{text[at:end]}"
    return at, end, PieceType.NUMBER, number.key or number_key(number.value)


def _multiple(text: str, at: int, end: int, times: int, words: Grammar) -> Found | None:
    if times > 1 and _COMPARED.match(text, end):
        return at, end, PieceType.QUANTITY, f"{times} x"
    unit = units.TIMES
    rate = _RATE.match(text, end)
    if rate is not None and (other := words.unit_words.get(rate[1].lower())) is not None:
        unit, end = per(unit, other), rate.end()
    elif times == 1:
        return None  # "once the server is up"
    return at, end, PieceType.QUANTITY, quantity_key(F(times), unit)


_MORE = re.compile(r",? (?:and |und |et |y |e )?|(?<=[a-z])")


def _more(text: str, value: Fraction, unit: Unit, end: int, words: Grammar) -> tuple[Fraction, int]:
    """Add the smaller parts of a quantity: 1 h 30 min, 5 feet 3 inches, an hour and a half."""
    half = _AND_PART.match(text, end)
    if half is not None and unit.base in units.TIME_SPANS:
        return value + unit.factor * (F(1, 4) if half[1] == "quarter" else F(1, 2)), half.end()
    if unit.base not in ("s", "month", "m", "kg") or unit.offset:
        return value, end
    for _ in range(3):
        join = _MORE.match(text, end)
        if join is None or not "0" <= text[join.end() : join.end() + 1] <= "9":
            break
        number = number_at(text, join.end(), words)
        next_unit = None if number is None else unit_at(text, number.end, words)
        if number is None or next_unit is None:
            break
        other, other_end = next_unit
        if other.base != unit.base or other.factor >= unit.factor:
            break
        value, end, unit = value + number.value * other.factor, other_end, other
    return value, end


def _range(text: str, at: int, number: Number, words: Grammar) -> Found | None:
    """Range from a number to a greater one: 3-5 days, 3 to 5, 10 % to 20 %."""
    end = number.end
    first = unit_at(text, end, words)
    if first is not None:
        end = first[1]
    match = _RANGE.match(text, end)
    if match is None or (match[1] and match[1].lower() not in words.to):
        return None
    if number.key or (not match[1] and number.in_words):
        return None
    last = number_at(text, match.end(), words)
    if last is None or last.ordinal or last.key or (not match[1] and last.value <= number.value):
        return None
    if text[last.end : last.end + 1] in ("-", ":") and text[last.end + 1 : last.end + 2].isdigit():
        return None
    second = unit_at(text, last.end, words)
    if first is not None and (second is None or second[0].base != first[0].base):
        return None
    if second is None:
        key = f"{number_key(number.value)}..{number_key(last.value)}"
        return at, last.end, PieceType.NUMBER, key
    unit, end = second
    low = number.value * (first[0].factor if first else unit.factor)
    key = f"{number_key(low)}..{number_key(last.value * unit.factor)} {unit.base}"
    return at, end, PieceType.QUANTITY, key


_ARTICLE = re.compile(
    r"(?:an?|one) (?P<scale>hundred|thousand|million|billion|dozen)(?!\w)"
    r"|(?:an?|one) (?P<part>half|third|quarter|tenth|fifth)(?= of| an? |-)(?! to| past)"
    r"|half a (?P<dozen>dozen)(?!\w)"
    r"|(?P<half>half)(?: an?|(?= of| the))(?!\w)"
    r"|(?P<one>an?|the)(?= (?:hour|minute|week|month|year|kilomet(?:er|re)|mile|kilo|"
    r"lit(?:re|er)|fortnight|decade|century|day)(?!\w))"
)
_SPAN_BEFORE = re.compile(
    r"(?:\A|\W)(?:in|for|within|after|takes?|took|lasts?|lasted|about|than|every|once|over|under|"
    r"nearly|almost|exactly|wait) \Z",
    re.IGNORECASE,
)
_AND_A_HALF = re.compile(r" \w{4,8} and a (?:half|quarter)(?!\w)")
_PARTS = {
    "half": F(1, 2),
    "third": F(1, 3),
    "quarter": F(1, 4),
    "tenth": F(1, 10),
    "fifth": F(1, 5),
}


def _article_number(text: str, at: int, words: Grammar) -> Number | None:
    """English "a hundred", "half an hour", "a third of", "within an hour"."""
    if words.language != "en" or text[at] not in "aohAOHTt":
        return None
    match = _ARTICLE.match(text[at : at + 24].lower())
    if match is None:
        return None
    end = at + match.end()
    if match["scale"]:
        found = numerals.words_at(text, at + match.start("scale"), words.numbers)
        return None if found is None else Number(found[0], found[1], in_words=True)
    if match["part"]:
        return Number(_PARTS[match["part"]], end)
    if match["dozen"]:
        return Number(F(6), end)
    if match["half"]:
        if text[end - 2 : end] in (" a", "an") and unit_at(text, end, words) is None:
            return None
        return Number(F(1, 2), end)
    if match["one"] == "the":
        return None
    if not _SPAN_BEFORE.search(text[max(0, at - 9) : at]) and not _AND_A_HALF.match(text, end):
        return None
    return Number(F(1), end)


_BEFORE = re.compile(r"([^\W\d_]{1,12})[ -]\Z")
_NO_ONE_BEFORE = frozenset(
    [
        "this",
        "that",
        "which",
        "another",
        "the",
        "each",
        "every",
        "no",
        "any",
        "some",
        "other",
        "last",
        "next",
        "first",
        "new",
        "old",
        "good",
        "bad",
        "big",
        "only",
        "same",
        "right",
        "wrong",
        "my",
        "your",
        "his",
        "her",
        "its",
        "our",
        "their",
        "such",
        "many",
    ]
)
_PARTY = re.compile("[ -]part(?:y|ies)")
_AFTER = re.compile(r"(?: ([^\W\d_]{1,12}))?")
_NO_ONE_AFTER = frozenset(
    [
        "of",
        "is",
        "was",
        "are",
        "were",
        "can",
        "could",
        "should",
        "would",
        "will",
        "may",
        "might",
        "must",
        "has",
        "had",
        "have",
        "who",
        "that",
        "which",
        "and",
        "or",
        "to",
        "for",
        "in",
        "on",
        "at",
        "by",
        "with",
        "another",
        "does",
        "did",
        "cannot",
        "needs",
        "wants",
    ]
)


def _no_number(text: str, at: int, end: int, words: Grammar) -> bool:
    """Whether a number word is another word here: pronoun, article, noun."""
    surface = text[at:end].lower()
    if surface in words.not_alone:
        return True
    if surface not in words.numbers.one_is_article:
        return False
    if words.language != "en":
        return True
    before = _BEFORE.search(text[max(0, at - 14) : at])
    if before is not None and before[1].lower() in _NO_ONE_BEFORE:
        return True
    after = _AFTER.match(text, end)
    return after is None or after[1] is None or after[1].lower() in _NO_ONE_AFTER


def _no_ordinal(text: str, at: int, end: int, words: Grammar) -> bool:
    if words.language != "en":
        return text[at:end].lower() in words.not_alone
    before = _BEFORE.search(text[max(0, at - 14) : at])
    word = before[1].lower() if before is not None else ""
    surface = text[at:end].lower()
    if surface == "second" and word in ("per", "each", "every", "one", "a", "split"):
        return word != "a" or _AFTER.match(text, end)[1] is None  # type: ignore[index]
    if surface == "third" and _PARTY.match(text, end):
        return True
    return surface == "first" and (word == "at" or text[end : end + 1] == ",")
