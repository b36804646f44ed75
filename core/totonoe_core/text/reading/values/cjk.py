"""Values in Japanese, Chinese and Korean, which write no spaces around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values import numerals, times
from totonoe_core.text.reading.values.cjk_days import (
    clock_at,
    from_year,
    longest,
    relative_at,
)
from totonoe_core.text.reading.values.cjk_figures import (
    half_at,
    measured,
    number_at,
    ordinal_at,
    plain_number,
)
from totonoe_core.text.reading.values.cjk_words import ERAS, KO_COUNTED, CjkGrammar, cjk_grammar
from totonoe_core.text.reading.values.grammar import grammar
from totonoe_core.text.reading.values.quotes import OPENINGS
from totonoe_core.text.reading.values.spaced import value_at
from totonoe_core.text.reading.values.units import Unit, number_key

F = Fraction
Found = tuple[int, int, PieceType, str]

_LATIN = re.compile("[A-Za-z_]{1,4000}|[0-9]{1,4000}")
_VERSION_BEFORE = re.compile(r"(?:バージョン|版本|버전|[Vv]er(?:sion)?\.?) ?\Z")
_NAME_BEFORE = re.compile(r"(?<![A-Za-z0-9])[A-Z][A-Za-z0-9+#]* ?\Z")
_DECIMAL = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4})?(?![A-Za-z0-9.])")


@cache
def _search(language: str) -> re.Pattern[str]:
    starts = re.escape(cjk_grammar(language).starts)
    return re.compile(
        rf"""(?<![A-Za-z0-9_])['"`“„«‹]|[「『《〈‘]|(?:US)?[$€£¥₩₹₽₿](?=\s?\d)"""
        rf"""|(?<![A-Za-z0-9_.])[-+#~./$]{{1,3}}(?=[A-Za-z0-9_])|[0-9½¼¾⅓⅔]|(?<![A-Za-z_])[A-Za-z_]|[{starts}]"""
    )


def scan(text: str, language: str) -> Iterator[Found]:
    """Values of a text in normal width, in order."""
    words, latin = cjk_grammar(language), grammar("")
    search = _search(language).search
    at = 0
    while (match := search(text, at)) is not None:
        at = match.start()
        sign = text[at]
        found: Found | None = None
        if "0" <= sign <= "9" or sign in "½¼¾⅓⅔-":
            found = (
                _dated(text, at)
                or _made(text, at)
                or _version(text, at)
                or number_at(text, at, words)
            )
            if found is not None and found[2] is PieceType.NUMBER:
                found = _version(text, at, after_name=True) or found
        elif sign.isascii() or sign in OPENINGS or sign in "¥€£₩₹₽₿":
            found = value_at(text, at, latin)
            if found is not None and found[3].endswith(" JPY") and language == "zh":
                found = (*found[:3], found[3].removesuffix("JPY") + "CNY")
            if found is not None and sign in "$¥€£₩US":
                found = _money(text, found)
        else:
            found, at = _word(text, at, words)
        if found is not None:
            yield found
            at = found[1]
        elif at == match.start():
            rest = _LATIN.match(text, at)
            at = rest.end() if rest else at + 1


def _dated(text: str, at: int) -> Found | None:
    match = times.ISO_DATE.match(text, at)
    if match is None or not (match["d"] or match["sep"] == "-"):
        return None
    return value_at(text, at, grammar(""))


def _version(text: str, at: int, after_name: bool = False) -> Found | None:
    """Version after its word (版本3), or a decimal after a name (Python 3.10 is no 3.1)."""
    before = (_NAME_BEFORE if after_name else _VERSION_BEFORE).search(text[max(0, at - 24) : at])
    match = None if before is None else _DECIMAL.match(text, at)
    if match is None or (after_name and "." not in match.group()):
        return None
    return at, match.end(), PieceType.VERSION, f"v{match.group()}"


def _made(text: str, at: int) -> Found | None:
    """Made names that begin with a figure: 3D, 192.168.0.1, 1.2.0, 12:30."""
    found = value_at(text, at, grammar(""))
    if found is None or found[2] in (PieceType.NUMBER, PieceType.QUANTITY):
        return None
    return found


def _money(text: str, found: Found) -> Found:
    """US$3万: the scale after a figure with a currency sign."""
    start, end, kind, key = found
    scale = numerals.HAN_SCALES.get(text[end : end + 1])
    if kind is PieceType.QUANTITY and scale is not None:
        value, _, base = key.partition(" ")
        return start, end + 1, kind, f"{number_key(F(value) * scale)} {base}"
    return found


def _word(text: str, at: int, words: CjkGrammar) -> tuple[Found | None, int]:
    """Value that begins with a character of the language, and where to go on without one."""
    head = longest(text, at, words.heads)
    table = "" if head is None else words.heads[head]
    sign = text[at]
    if head is not None and table == "relative":
        return relative_at(text, at, head, words), at
    if head is not None and table == "skip" and not _after_all(text, at, head):
        return None, at + len(head)
    for length in (2, 3):
        if at >= length - 1 and text[at + 1 - length : at + 1] in words.tails:
            return None, at + 1
    if (
        head is not None
        and table == "weekday"
        and not (len(head) == 2 and text[at - 1 : at] in ("一", "两", "每", "几"))
    ):
        return (at, at + len(head), PieceType.DATE, f"date:weekday:{words.weekdays[head]}"), at
    if head is not None and table == "rate":
        found = number_at(text, at + len(head), words)
        if found is not None and found[2] is PieceType.QUANTITY and "/s" not in found[3]:
            return _rated(at, found, words.rates[head]), at
    if head is not None and table == "period":
        after = at + len(head) + text.startswith(" ", at + len(head))
        found = clock_at(text, at, after, words.periods[head], words)
        return found, at + len(head)
    if head is not None and table == "era":
        return _era(text, at, words), at + len(head)
    if sign in "第제":
        return ordinal_at(text, at, words), at + 1
    if text[at : at + 2] in ("正午", "정오"):
        return (at, at + 2, PieceType.TIME, "time:12:00"), at
    if sign in "半반":
        return half_at(text, at, words), at + 1
    if words.language == "ko":
        return _korean(text, at, words), at + 1
    found = number_at(text, at, words)
    if found is None:
        run = numerals.HAN_RUN.match(text, at)
        return None, run.end() if run else at + 1
    return found, at


def _after_all(text: str, at: int, skip: str) -> bool:
    """Whether a word of the skip list is a number here after all: 十分間, 一点半, 一度目."""
    end = at + len(skip)
    if skip == "十分":
        return text[end : end + 1] in ("間", "钟", "后", "後", "以", "前")
    if skip in ("一点", "一點"):
        return text[end : end + 1] in ("钟", "鐘", "半", "整") or text[end : end + 1].isdigit()
    return skip in ("一番", "一度", "一代") and text[end : end + 1] == "目"


def _rated(at: int, found: Found, unit: Unit) -> Found:
    value, _, base = found[3].partition(" ")
    amount = F(value)
    if base == "キロ":
        amount, base = amount * 1000, "m"
    return (
        at,
        found[1],
        PieceType.QUANTITY,
        f"{number_key(amount / unit.factor)} {base}/{unit.base}",
    )


def _era(text: str, at: int, words: CjkGrammar) -> Found | None:
    start = at + 2
    if text.startswith("元年", start):
        year, end = 1, start + 1
    else:
        number = plain_number(text, start, words)
        if number is None or number[0].denominator != 1 or not 0 < number[0] < 100:
            return None
        year, end = int(number[0]), number[1]
    if text[end : end + 1] != "年":
        return None
    return from_year(text, at, end + 1, ERAS[text[at : at + 2]] + year)


def _korean(text: str, at: int, words: CjkGrammar) -> Found | None:
    """Native Korean numbers: alone (셋), or before a counter or unit (세 명, 두 시간)."""
    found = clock_at(text, at, at, "", words)
    if found is not None:
        return found
    name = longest(text, at, words.numbers)
    if name is not None and at and "가" <= text[at - 1] <= "힣":
        return None
    if name is None:
        name = longest(text, at, KO_COUNTED)
        if name is None or (at and "가" <= text[at - 1] <= "힣"):
            return None
        value, end = F(KO_COUNTED[name]), at + len(name)
        gap = end + text.startswith(" ", end)
        if longest(text, gap, words.counters) is None and longest(text, gap, words.units) is None:
            return None
        return measured(text, at, value, end, "", words)
    return measured(text, at, F(words.numbers[name]), at + len(name), "", words)
