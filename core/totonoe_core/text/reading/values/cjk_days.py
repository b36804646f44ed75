"""Days and times of day in Japanese, Chinese and Korean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from fractions import Fraction

from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values import numerals, times, units
from totonoe_core.text.reading.values.cjk_words import CjkGrammar
from totonoe_core.text.reading.values.units import Unit, number_key, quantity_key

F = Fraction
Found = tuple[int, int, PieceType, str]

AGO = re.compile(r" ?(?:(?:以|之)?(前|后|後)|(전|후|뒤))(?!半)")
_WORD_MAX = 8
_MONTH = re.compile(r" ?([0-9]{1,2}|[一二三四五六七八九十]{1,2}) ?[月월](?![间間])")
_DAY = re.compile(r" ?([0-9]{1,2}|[一二三四五六七八九十廿卅]{1,3}) ?[日号號일]")
_HOUR_MINUTE = re.compile(
    r" ?(?:([0-9]{1,2}|[零一二三四五六七八九十]{1,3}) ?(?:分(?!之|の)|분)|(半|반)|([一三])刻|"
    r"([0-9]{2}|[一二三四五]十[一二三四五六七八九]?|零[一-九])(?![0-9]))"
)
_O_CLOCK = {
    "ja": re.compile(r" ?時(?!間|代|期|点|刻|々)"),
    "zh": re.compile(r" ?(?:[时時](?![间間代期刻])|[点點](?:[钟鐘整])?)"),
    "ko": re.compile(r" ?시(?!간)"),
}
_YEAR_QUARTER = re.compile(r"の?第?([1-4一二三四])(?:四半期|季度)")
_HOUR = re.compile(r"[0-9]{1,2}|[零〇一二两兩三四五六七八九十]{1,3}")
_ISO_YEAR = frozenset(("年", "년"))


def longest(text: str, at: int, table: Mapping[str, object] | Set[str]) -> str | None:
    for length in range(_WORD_MAX, 0, -1):
        word = text[at : at + length]
        if word in table:
            return word
    return None


def relative_at(text: str, at: int, word: str, words: CjkGrammar) -> Found:
    end, key = at + len(word), words.relative[word]
    prefix = key[:-1]
    if key[-1:] == "w" and prefix:
        next_at = end + 1 if text[end : end + 1] in ("の", " ") else end
        day = longest(text, next_at, words.weekdays)
        if day is None and words.language == "zh":
            named = "一二三四五六日天".find(text[end : end + 1]) if end < len(text) else -1
            if named >= 0:
                end, key = end + 1, f"{prefix}weekday:{min(named + 1, 7)}"
        elif day is not None:
            end, key = next_at + len(day), f"{prefix}weekday:{words.weekdays[day]}"
        if key.startswith("every-weekday"):
            return at, end, PieceType.DATE, f"date:{key}"
    return at, end, PieceType.DATE, f"date:{'' if key.startswith('every') else 'relative:'}{key}"


def small(text: str) -> int:
    if text.isdigit() and text.isascii():
        return int(text)
    found = numerals.han_at(text.replace("廿", "二十").replace("卅", "三十"), 0)
    return 0 if found is None else int(found[0])


def from_year(text: str, at: int, end: int, year: int) -> Found | None:
    month = _MONTH.match(text, end)
    if month is None:
        quarter = _YEAR_QUARTER.match(text, end)
        if quarter is not None:
            return at, quarter.end(), PieceType.DATE, f"date:{year}-Q{small(quarter[1])}"
        return at, end, PieceType.DATE, f"date:{year:04d}"
    day = _DAY.match(text, month.end())
    key = times.date_key(year, small(month[1]), None if day is None else small(day[1]))
    if key is None:
        return None
    return at, month.end() if day is None else day.end(), PieceType.DATE, key


def date_at(text: str, at: int, value: Fraction, end: int, words: CjkGrammar) -> Found | None:
    if value.denominator != 1 or value < 0:
        return None
    gap = end + text.startswith(" ", end)
    sign = text[gap : gap + 1]
    if (
        sign in _ISO_YEAR
        and sign
        and (
            (1000 <= value < 3000 and text[gap + 1 : gap + 2] not in ("前", "間", "间", "后", "後"))
            or (_MONTH.match(text, gap + 1) and value < 100)
        )
    ):
        year = int(value) + (2000 if value < 100 else 0)
        return from_year(text, at, gap + 1, year)
    if sign in ("月", "월") and 1 <= value <= 12 and text[gap + 1 : gap + 2] not in ("间", "間"):
        day = _DAY.match(text, gap + 1)
        if day is not None:
            key = times.date_key(None, int(value), small(day[1]))
            return None if key is None else (at, day.end(), PieceType.DATE, key)
        return at, gap + 1, PieceType.DATE, f"date:month:{int(value)}"
    if sign in ("日", "일") and 1 <= value <= 31:
        return _days(text, at, int(value), gap + 1, words)
    if text.startswith("季度", gap) and 1 <= value <= 4:
        return at, gap + 2, PieceType.DATE, f"date:Q{int(value)}"
    return None


_DAY_OF_MONTH = re.compile(
    r"に(?![0-9一二三四五六七八九十]{1,3}[回度個本杯錠時])|[（(]?[月火水木金土日]曜"
)


def _days(text: str, at: int, value: int, end: int, words: CjkGrammar) -> Found | None:
    """N日: a day of the month or a number of days, by what stands around it."""
    if text[end : end + 1] in ("間", "间", "目", "分") or text.startswith("曜", end):
        return None
    ago = AGO.match(text, end)
    if ago is not None:
        return at, ago.end(), PieceType.DATE, ago_key(F(value), units.DAY, ago)
    before = text[max(0, at - 3) : at]
    if words.language != "ja" or _DAY_OF_MONTH.match(text, end) or "月" in before:
        return at, end, PieceType.DATE, f"date:day:{value}"
    return at, end, PieceType.QUANTITY, quantity_key(F(value), units.DAY)


def ago_key(value: Fraction, unit: Unit, match: re.Match[str]) -> str:
    span = value * unit.factor
    if unit.base == "s" and span % 86400 == 0:
        amount = f"{span // 86400}d"
    else:
        amount = f"{number_key(span)}{'m' if unit.base == 'month' else 's'}"
    return f"date:relative:{'-' if (match[1] or match[2]) in ('前', '전') else '+'}{amount}"


def clock_at(text: str, start: int, at: int, period: str, words: CjkGrammar) -> Found | None:
    clock = times.CLOCK.match(text, at)
    if clock is not None:
        hour, minute, second = int(clock["h"]), int(clock["m"]), int(clock["s"] or 0)
        end = clock.end()
    else:
        number = _HOUR.match(text, at)
        mark = _O_CLOCK[words.language].match(text, number.end()) if number is not None else None
        if number is None or mark is None:
            hour_ko = _KO_HOURS.match(text, at)
            mark = (
                _O_CLOCK[words.language].match(text, hour_ko.end()) if hour_ko is not None else None
            )
            if hour_ko is None or mark is None:
                return None
            hour = _KO_HOUR[hour_ko.group()]
        else:
            hour = small(number.group())
        end, minute, second = mark.end(), 0, 0
        if hour > 24:
            return None
        match = _HOUR_MINUTE.match(text, end)
        if match is not None and not (match[4] and "点" not in mark.group()):
            minute = (
                30
                if match[2]
                else 15 * small(match[3])
                if match[3]
                else small(match[1] or match[4])
            )
            end = match.end()
        elif text.startswith("過ぎ", end) or text.startswith("頃", end):
            end += 0
    if period in ("pm", "noon") and hour < 12 and not (period == "noon" and hour > 3):
        hour += 12
    elif period in ("am", "night") and hour == 12:
        hour = 0
    key = times.time_key(hour, minute, second)
    return None if key is None else (start, end, PieceType.TIME, key)


_KO_HOUR = {"한": 1, "두": 2, "세": 3, "네": 4, "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8,
            "아홉": 9, "열한": 11, "열두": 12, "열": 10}  # fmt: skip
_KO_HOURS = re.compile("|".join(sorted(_KO_HOUR, key=len, reverse=True)))
