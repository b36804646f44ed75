"""Numbers in figures and in words, as exact fractions, with what belongs to them.

text2num, cn2an and kanjize were looked at: none gives offsets into a sentence, each reads some of the
languages only (in 3, 13 and 4 µs a number), and they differ in what they take for a number.
"""

# Rows and tables; a wide character counts as two columns.
# ruff: noqa: E501
from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from totonoe_core.text.reading.values.rows import ALL, ALWAYS, JZK, Number, Row, Scan, row
from totonoe_core.text.reading.values.units import TIME_SPANS
from totonoe_core.text.reading.values.words import (
    COMMA_LANGUAGES,
    FIGURE_SCALES,
    FORMAL_DIGITS,
    FRACTIONS,
    HAN,
    HAN_DIGITS,
    HAN_SCALES,
    HAN_TENS,
    Words,
    longest,
)

F = Fraction
_IGNORE = re.IGNORECASE

# Superscript after a figure (10² is neither 10 nor 102), or an exponent (1e-3).
_POWER = re.compile("[⁺⁻]?[⁰¹²³⁴-⁹]{1,2}(?![⁰¹²³⁴-⁹])|[eE]([+-]?[0-9]{1,2})(?![A-Za-z0-9_.])")
_PLAIN_DIGITS = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_EXPONENT_MAX = 40
_POINT = re.compile(
    r"(?P<whole>\d{1,3}(?:(?P<sep>[,  '’])\d{3})(?:(?P=sep)\d{3}){0,10}(?!\d)|\d{1,40})"
    r"(?:\.(?P<part>\d{1,40})(?!\d))?(?P<point>)",
    re.ASCII,
)
_COMMA = re.compile(
    r"(?P<whole>\d{1,3}(?:(?P<sep>[.   '’])\d{3})(?:(?P=sep)\d{3}){0,10}(?!\d)|\d{1,40})"
    r"(?:,(?P<part>\d{1,40})(?!\d)|\.(?P<point>\d{1,2}|\d{4,40})(?![\d.]))?",
    re.ASCII,
)


@lru_cache(4_096)
def _fraction(figures: str) -> Fraction:
    # To make one takes as long as to find its figures.
    return F(figures)


def figures_at(text: str, at: int, language: str) -> Number | None:
    """Number in figures at a place.

    Thousands are separated by a comma (by point, space or apostrophe in languages with a decimal
    comma), in groups of three only: "24,25" is no 2425.
    """
    match = (_COMMA if language in COMMA_LANGUAGES else _POINT).match(text, at)
    if match is None:
        return None
    whole, separator, part, point = match.group("whole", "sep", "part", "point")
    if separator:
        whole = whole.replace(separator, "")
    part = part or point
    surface = f"{whole}.{part}" if part else whole
    value, end = _fraction(surface), match.end()
    if (match := _POWER.match(text, end)) is not None:
        power = int(match[1] or match.group().translate(_PLAIN_DIGITS))
        if abs(power) <= _EXPONENT_MAX and (value or match[1]):
            value = value * F(10) ** power if match[1] else value**power
            end, surface = match.end(), str(value)
    if (sign := FRACTIONS.get(text[end : end + 1])) is not None:
        value, end, surface = value + sign, end + 1, "½"
    zeros = len(surface) > 1 and surface[0] == "0" and surface[1] != "."
    return Number(value, end, key=surface if zeros else "", surface=surface)


# --- With spaces between words -------------------------------------------------------------

_WORD = re.compile(r"[ -]?([^\W\d_]{1,60})")
_PARTS_MAX = 24


def words_at(text: str, at: int, words: Words) -> Number | None:
    """Number in words at the beginning of a word."""
    total = section = 0
    room = 10**15  # the next part has to be less than this
    end, started, joined = at, False, False
    position = at
    for _ in range(_PARTS_MAX):
        match = _WORD.match(text, position)
        if match is None or (not started and match.start(1) != at):
            break
        word = match[1].lower()
        value = words.numbers.get(word)
        if value is None and started and word in words.joins and not joined:
            joined, position = True, match.end()
            continue
        if value is not None:
            if value == 20 and section % 100 == 4 and words.language == "fr":
                section += 76  # quatre-vingt
                room = 20
            elif value < room and (not started or value):
                section += value
                # soixante-dix-sept: sixty and ten may take more than other tens.
                room = 10 if value == 10 and words.language == "fr" else _room_after(value)
            else:
                break
        elif (scale := words.scales.get(word)) is not None and not joined:
            if scale == 100:
                if section % 100 == 0 and section:
                    break
                section, room = (section or 1) * 100, 100
            else:
                total, section = total + (section or 1) * scale, 0
                room = min(scale, 1000)
        elif (ordinal := words.ordinals.get(word)) is not None and ordinal < room:
            return Number(F(total + section + ordinal), match.end(), True, True)
        else:
            break
        started, joined = True, False
        position = end = match.end()
    return Number(F(total + section), end, False, True, surface=text[at:end]) if started else None


def _room_after(value: int) -> int:
    if value < 20:
        return 0
    if value < 100:
        return (20 if value == 60 else 10) if value % 10 == 0 else 0
    return 100


def _figures(scan: Scan, at: int, _match: re.Match[str]) -> Number | None:
    number = figures_at(scan.text, at, scan.words.language)
    return None if number is None else scan.ended(number, "0")


def _negative(scan: Scan, at: int, _match: re.Match[str]) -> Number | None:
    number = scan.number(at + 1)
    if number is None:
        return None
    return replace(number, value=-number.value, key=f"-{number.key}" if number.key else "")


def _fraction_sign(_scan: Scan, _at: int, match: re.Match[str]) -> Number:
    return Number(FRACTIONS[match[0]], match.end())


def _in_words(scan: Scan, at: int, _match: re.Match[str]) -> Number | None:
    number = words_at(scan.text, at, scan.words)
    return None if number is None or number.ordinal else scan.ended(number, "a")


def _ordinal_in_words(scan: Scan, at: int, _match: re.Match[str]) -> Number | None:
    number = words_at(scan.text, at, scan.words)
    return number if number is not None and number.ordinal else None


# --- What stands behind a number and belongs to it: make(scan, number, match) ---------------


def _slash(_scan: Scan, number: Number, match: re.Match[str]) -> Number | None:
    if not number.surface.isdigit():
        return None
    top, bottom = int(number.surface), int(match[1])
    if 0 < top < bottom <= 16:
        return replace(number, value=number.value / bottom, end=match.end())
    return replace(number, key=f"{number.surface}/{match[1]}", end=match.end())


def _ordinal(scan: Scan, number: Number, _match: re.Match[str]) -> Number | None:
    ending = scan.words.ordinal_ending
    match = None if ending is None else ending.match(scan.text, number.end)
    return None if match is None else Number(number.value, match.end(), ordinal=True)


_LETTER_SCALES = {"k": 1000, "m": 10**6, "b": 10**9}


def _letter_scale(_scan: Scan, number: Number, match: re.Match[str]) -> Number:
    letters = match[1].lower()
    scale = 10**9 if letters == "mrd" else _LETTER_SCALES[letters[0]]
    return Number(number.value * scale, match.end())


def _word_scale(scan: Scan, number: Number, match: re.Match[str]) -> Number | None:
    scale = scan.words.scales.get(match[1].lower())
    if scale is None or not number.surface:
        return None
    return Number(number.value * scale, match.end(1))


def _part_in_words(scan: Scan, number: Number, match: re.Match[str]) -> Number | None:
    word = match[1].lower()
    part = scan.words.parts.get(word)
    if part is None or not number.surface:
        return None
    if not word.endswith("s") and scan.words.language == "en" and number.value != 1:
        return None
    return Number(number.value * part, match.end(1), in_words=True)


# --- English "half an hour", "a third of", "within an hour", "an hour and a half" -------------

AND_A_PART = re.compile(
    r" (?:and (?:a (half|quarter)|three[ -](quarters))|et (demie?)|y (medi[oa])|e (mezz[oa])|e (mei[oa]))"
    r"(?![\w-])(?! of (?:an?|the|th\w+|my|our|his|her) )",
    _IGNORE,
)
"""English, French, Spanish, Italian, Portuguese."""
_PARTS = {"quarter": F(1, 4), "quarters": F(3, 4)}

_SPAN_BEFORE = re.compile(
    r"(?:\A|\W)(?:in|for|within|after|takes?|took|lasts?|lasted|about|than|every|once|over|under|"
    r"nearly|almost|exactly|wait) \Z",
    re.IGNORECASE,
)


def _and_a_half(scan: Scan, _at: int, match: re.Match[str]) -> Number | None:
    """German anderthalb."""
    value = scan.words.and_a_half.get(match[0].lower())
    return None if value is None else Number(value, match.end())


def _a_third(scan: Scan, _at: int, match: re.Match[str]) -> Number:
    return Number(scan.words.parts[match[1].lower()], match.end())


def _half(scan: Scan, _at: int, match: re.Match[str]) -> Number | None:
    """Half an hour, half of them."""
    return Number(F(1, 2), match.end()) if match[1] or scan.unit(match.end()) else None


def _an_hour(scan: Scan, at: int, match: re.Match[str]) -> Number | None:
    unit = scan.unit(match.end())
    told = _SPAN_BEFORE.search(scan.text[max(0, at - 9) : at])
    more = None if unit is None else AND_A_PART.match(scan.text, unit[1])
    return None if told is None and more is None else Number(F(1), match.end())


def part_of(match: re.Match[str]) -> Fraction:
    """Return the part that `AND_A_PART` found."""
    return _PARTS.get(match[match.lastindex or 0].lower(), F(1, 2))


def _and_a_part(_scan: Scan, number: Number, match: re.Match[str]) -> Number | None:
    """Two and a half hours, two and a half million."""
    if number.key:
        return None
    return replace(number, value=number.value + part_of(match), end=match.end())


# --- Han numerals --------------------------------------------------------------------------

HAN_RUN = re.compile(f"[{HAN}]{{1,40}}")
_DECIMALS = re.compile("[点點・]([零〇一二三四五六七八九]{1,20})(?![零〇一二三四五六七八九十分刻])")
_DAY_PART = re.compile("[上下中]午|早上|晚上|凌晨|傍晚")
_METRIC = frozenset("克米瓦赫伏卡兆")
_LISTED = TIME_SPANS | {"times"}
_GAPPED = frozenset("万亿萬億")


def han_at(text: str, at: int) -> tuple[Fraction, int] | None:
    """Number in Han numerals at a place: 二十三, 一万五千, 二〇二六, 壹佰, 三千五 (3500)."""
    match = HAN_RUN.match(text, at)
    if match is None:
        return None
    run = match.group()
    if all(sign in HAN_DIGITS for sign in run):
        return F(int("".join(str(HAN_DIGITS[sign]) for sign in run))), match.end()
    total = section = digit = unit = 0
    for sign in run:
        if sign in HAN_DIGITS:
            digit = digit * 10 + HAN_DIGITS[sign] if not unit and digit else HAN_DIGITS[sign]
            if HAN_DIGITS[sign] == 0:
                unit = 0
        elif sign in HAN_TENS:
            unit = HAN_TENS[sign]
            section, digit = section + (digit or 1) * unit, 0
        else:
            unit = HAN_SCALES[sign]
            if unit > total > 0:
                total = (total + section + digit or 1) * unit
            else:
                total += (section + digit or 1) * unit
            section = digit = 0
    # 三千五 is 3500, 一万五 is 15000; after 十 the last sign is a one.
    if digit and unit > 10 and run[-2] not in "零〇○":
        digit *= unit // 10
    return F(total + section + digit), match.end()


def small(text: str) -> int:
    """Small number in figures or Han numerals: a day, an hour; 0 if it is none."""
    if text.isdigit() and text.isascii():
        return int(text)
    found = han_at(text.replace("廿", "二十").replace("卅", "三十"), 0)
    return 0 if found is None else int(found[0])


def _mixed(scan: Scan, at: int, _match: re.Match[str]) -> Number | None:
    """Figures with Han scales: 1万5千, 1.2 亿."""
    text, total, end = scan.text, F(0), at
    for _ in range(8):
        figures = figures_at(text, end, "en")
        if figures is None:
            break
        if figures.key and end == at:
            return figures
        value, next_end, scaled = figures.value, figures.end, False
        if text[next_end : next_end + 1] == " " and text[next_end + 1 : next_end + 2] in _GAPPED:
            next_end += 1  # 1.2 亿
        while (scale := FIGURE_SCALES.get(text[next_end : next_end + 1])) is not None:
            if scale <= 1000 and text[next_end + 1 : next_end + 2] in _METRIC:
                break  # 5千克, 5千米
            value, next_end, scaled = value * scale, next_end + 1, True
        total, end = total + value, next_end
        if not scaled:
            break
    return Number(total, end) if end > at else None


def _han(scan: Scan, at: int, match: re.Match[str]) -> Number | None:
    found = han_at(scan.text, at)
    if found is None:
        return None
    text, run, (value, end) = scan.text, match.group(), found
    if run[0] in HAN_SCALES:
        return None
    if run in FORMAL_DIGITS and text[end : end + 1] not in ("元", "圆", "円"):
        return None  # 参加, 着陸, 拾う
    if end - at > 1 and run[-1] in "千百" and text[end : end + 1] in _METRIC:
        return Number(han_at(text[at : end - 1], 0)[0], end - 1)  # type: ignore[index]
    return Number(value, end)


def _han_and_a_half(scan: Scan, at: int, match: re.Match[str]) -> Number | None:
    """两个半小时."""
    whole = _han(scan, at, match)
    end = at if whole is None else whole.end + 2
    half = whole is not None and scan.text[end - 2 : end] in ("个半", "個半") and scan.unit(end)
    return Number(whole.value + F(1, 2), end) if whole is not None and half else None


def _han_decimals(scan: Scan, at: int, match: re.Match[str]) -> Number | None:
    """三点五; no hour: 下午三点五十. 二・五メートル; no list: 二・三日."""
    whole = _han(scan, at, match)
    part = None if whole is None else _DECIMALS.match(scan.text, whole.end)
    if whole is None or part is None or _DAY_PART.search(scan.text[max(0, at - 2) : at]):
        return None
    listing = part.group()[0] == "・"
    if listing is not (scan.words.language == "ja"):
        return None
    if listing:
        measured = scan.unit(part.end())
        if measured is None or measured[0].base in _LISTED:
            return None
    digits = "".join(str(HAN_DIGITS[sign]) for sign in part[1])
    return Number(whole.value + F(int(digits), 10 ** len(digits)), part.end())


def _han_loose(_scan: Scan, _at: int, match: re.Match[str]) -> Number | None:
    """两三: two or three."""
    low, high = (HAN_DIGITS[sign] for sign in match.group())
    return (
        Number(F(low * 10 + high), match.end(), key=f"{low}..{high}") if high == low + 1 else None
    )


def _named(scan: Scan, at: int, _match: re.Match[str]) -> Number | None:
    name = longest(scan.text, at, scan.words.numbers)
    return None if name is None else Number(F(scan.words.numbers[name]), at + len(name))


_SIGNS = "".join(FRACTIONS)
_SCALE_WORD = r"[ -]([^\W\d_]{2,12})\.?"
NUMBERS: tuple[Row, ...] = (
    row("figures", "0", ALWAYS, _figures),
    row("fraction sign", "½", f"[{_SIGNS}]", _fraction_sign, ALL),
    row("negative number", "-", rf"-(?=[0-9{_SIGNS}])", _negative, ALL),
    row("number in words", "a", ALWAYS, _in_words),
    row("ordinal in words", "a", ALWAYS, _ordinal_in_words),
    row("figures with Han scales", "0", ALWAYS, _mixed, JZK),
    row("Han decimals", "字", HAN_RUN, _han_decimals, "ja zh"),
    row(
        "Han loose numbers",
        "字",
        rf"[一二两三四五六七八][{''.join(HAN_DIGITS)}](?![{HAN}])",
        _han_loose,
        JZK,
    ),
    row("Han numerals and a half", "字", HAN_RUN, _han_and_a_half, "zh"),
    row("Han numerals", "字", HAN_RUN, _han, JZK),
    row("numbers with a name", "字", ALWAYS, _named, JZK),
)
ENDINGS: tuple[Row, ...] = (
    row("two and a half", "0 a", AND_A_PART, _and_a_part, "en"),
    row("slash", "0", re.compile(r"/(\d{1,2})(?![\d/]|\.\d|\w)", re.ASCII), _slash),
    row("ordinal ending", "0", ALWAYS, _ordinal),
    row(
        "scale letters",
        "0",
        r"([kK]|[mM](?=n|il|io)(?:n|il|io)\.?|M|bn|[mM]rd)(?![\w/])",
        _letter_scale,
    ),
    row("scale words", "0 a", _SCALE_WORD, _word_scale),
    row("parts in words", "a", _SCALE_WORD, _part_in_words),
)
AMOUNTS: tuple[Row, ...] = (
    row("a third of", "a", re.compile(r"(?:an?|one) (half|third|quarter|tenth|fifth)(?= of| an? |-)(?! to| past)", _IGNORE), _a_third, "en"),
    row("and a half in one word", "a", r"[^\W\d_]{2,12}(?!\w)", _and_a_half, begins=lambda words, word: word in words.and_a_half),
    row("half", "a", re.compile(r"half(?: an?(?!\w)|(?=( of| the)))", _IGNORE), _half, "en"),
    row("an hour", "a", re.compile(r"an?(?= (?:hour|minute|week|month|year|kilomet(?:er|re)|mile|kilo|lit(?:re|er)|fortnight|decade|century|day)(?!\w))", _IGNORE), _an_hour, "en"),
)  # fmt: skip
