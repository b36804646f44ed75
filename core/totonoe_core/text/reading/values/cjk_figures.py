"""Numbers in Japanese, Chinese and Korean, with what follows them: unit, counter, range, part."""

from __future__ import annotations

import re
from fractions import Fraction

from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values import numerals, units
from totonoe_core.text.reading.values.cjk_days import (
    AGO,
    ago_key,
    clock_at,
    date_at,
    longest,
)
from totonoe_core.text.reading.values.cjk_words import CjkGrammar
from totonoe_core.text.reading.values.units import Unit, number_key, quantity_key

F = Fraction
Found = tuple[int, int, PieceType, str]

_GAPPED = frozenset("万亿萬億")
_SYMBOL = re.compile(
    r" ?((?:US)?[$€£¥₩]|[%％‰]|[°℃℉][CF]?|[A-Za-zµμΩ]{1,4}(?:/[a-z]{1,3})?[²³]?|[㎏㎞㎝㎜㎡])"
    r"(?![A-Za-z0-9_])"
)
_RANGE = re.compile(r" ?[-–—~〜～] ?|到|至")
_OF_HUNDRED = re.compile(r"百分之")
_PART_OF = re.compile(r" ?分(?:之|の) ?|분의 ?")
_ORDINAL_END = re.compile(
    r"(?:(番|人|個|回|日|年|度|つ|週|枚|代|件|本|時間|か月|ヶ月)目|번째|番(?!線|号|組|地))"
)
_DIGITS = re.compile("[零〇一二三四五六七八九]{1,20}")
_DAY_PART = re.compile("[上下中]午|早上|晚上|凌晨|傍晚")
_SLASH = re.compile(r"/([0-9]{1,2})(?![0-9/])")
_RATE = re.compile(r"(?:每| ?/ ?|毎)(小时|秒钟?|分钟|時間?|分|秒|天|日|月|年)")
_QUARTER = re.compile(r"四半期|季度|분기")


def half_at(text: str, at: int, words: CjkGrammar) -> Found | None:
    end = at + 1
    if text.startswith("分", end) and words.language == "ja":
        return at, end + 1, PieceType.NUMBER, "0.5"
    if text.startswith("数", end) or text.startswith("數", end):
        return at, end + 1, PieceType.NUMBER, "0.5"
    if words.language == "zh" and text.startswith("个", end):
        name = longest(text, end, words.units) or longest(text, end + 1, words.units)
        if name is None:
            return None
        end += not name.startswith("个")
    else:
        name = longest(text, end, words.units)
    unit = words.units.get(name or "")
    if name == "日" or (name is None and text.startswith("日", end)):
        name, unit = "日", units.DAY
    if name is None and text.startswith("月", end) and words.language == "zh":
        name, unit = "月", units.MONTH
    if name is None or unit is None or unit.base not in units.TIME_SPANS:
        return None
    return at, end + len(name), PieceType.QUANTITY, quantity_key(F(1, 2), unit)


def plain_number(text: str, at: int, words: CjkGrammar) -> tuple[Fraction, int, str] | None:
    """Number at a place: figures, Han numerals, both (1万5千), kana; its end; its range if 三四."""
    total, end, seen = F(0), at, False
    for _ in range(8):
        sign = text[end : end + 1]
        if "0" <= sign <= "9":
            figures = numerals.figures_at(text, end, "en")
            if figures is None:
                break
            value, next_end, surface = figures
            if len(surface) > 1 and surface[0] == "0" and surface[1] != "." and not seen:
                return value, next_end, surface
            scaled = False
            if (
                text[next_end : next_end + 1] == " "
                and text[next_end + 1 : next_end + 2] in _GAPPED
            ):
                next_end += 1  # 1.2 亿
            while (scale := _SCALES.get(text[next_end : next_end + 1])) is not None:
                if (
                    text[next_end] in "百千十"
                    and next_end + 1 < len(text)
                    and text[next_end + 1] in _METRIC
                ):
                    break  # 5千克, 5千米
                value, next_end, scaled = value * scale, next_end + 1, True
            total, end, seen = total + value, next_end, True
            if not scaled:
                break
            continue
        if seen:
            break
        found = numerals.han_at(text, end)
        if found is None:
            name = longest(text, at, words.numbers)
            return None if name is None else (F(words.numbers[name]), at + len(name), "")
        value, end = found
        run = text[at:end]
        if run[0] in numerals.HAN_SCALES:
            return None
        if len(run) == 1 and run in _FORMAL and text[end : end + 1] not in ("元", "圆", "円"):
            return None  # 参加, 着陸, 拾う
        if end - at > 1 and run[-1] in "千百" and text[end : end + 1] in _METRIC:
            value, end = numerals.han_at(text[at : end - 1], 0)[0], end - 1  # type: ignore[index]
        if (
            text[end : end + 1] in ("点", "點")
            and words.language == "zh"
            and text[end + 1 : end + 2] in numerals.HAN_DIGITS
        ):
            part = _DIGITS.match(text, end + 1)
            if part is not None and _not_clock(text, at, part.end()):
                digits = "".join(str(numerals.HAN_DIGITS[sign]) for sign in part.group())
                return value + F(int(digits), 10 ** len(digits)), part.end(), ""
        if (
            len(run) == 2
            and run[1] in numerals.HAN_DIGITS
            and run[0] in "一二两三四五六七八"
            and (numerals.HAN_DIGITS[run[1]] == numerals.HAN_DIGITS[run[0]] + 1)
        ):
            return value, end, f"{numerals.HAN_DIGITS[run[0]]}..{numerals.HAN_DIGITS[run[1]]}"
        return value, end, ""
    return (total, end, "") if seen else None


def _not_clock(text: str, at: int, end: int) -> bool:
    return text[end : end + 1] not in ("十", "分", "刻") and not _DAY_PART.search(
        text[max(0, at - 2) : at]
    )


_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8,
           "兆": 10**12, "만": 10**4, "억": 10**8, "천": 1000, "백": 100}  # fmt: skip
_FORMAL = frozenset("壹壱贰貳弐叁參参肆伍陆陸柒捌玖拾佰仟○")
_METRIC = frozenset("克米瓦赫伏卡兆")


def number_at(text: str, at: int, words: CjkGrammar) -> Found | None:
    """Number with what follows it: date, time of day, unit, counter, range, part."""
    if _OF_HUNDRED.match(text, at):
        number = plain_number(text, at + 3, words)
        if number is None:
            return None
        return at, number[1], PieceType.QUANTITY, f"{number_key(number[0])} %"
    start = at + 1 if text.startswith("-", at) else at
    if text[start : start + 1] in numerals.FRACTION_SIGNS:
        value, end, key = numerals.FRACTION_SIGNS[text[start]], start + 1, ""
    else:
        number = plain_number(text, start, words)
        if number is None:
            return None
        value, end, key = number
        if text[end : end + 1] in numerals.FRACTION_SIGNS and end < len(text):
            value, end = value + numerals.FRACTION_SIGNS[text[end]], end + 1
    if start > at:
        value = -value
    return (
        _part(text, at, value, end, words)
        or date_at(text, at, value, end, words)
        or (clock_at(text, at, at, "", words) if value.denominator == 1 and start == at else None)
        or _ordinal_end(text, at, value, end, words)
        or _range(text, at, value, end, words)
        or measured(text, at, value, end, key, words)
    )


def _part(text: str, at: int, value: Fraction, end: int, words: CjkGrammar) -> Found | None:
    match = _PART_OF.match(text, end)
    if match is None:
        slash = _SLASH.match(text, end)
        if slash is None or value.denominator != 1:
            return None
        if 0 < value < int(slash[1]) <= 16:
            return at, slash.end(), PieceType.NUMBER, number_key(value / int(slash[1]))
        return at, slash.end(), PieceType.NUMBER, f"{value}/{slash[1]}"
    top = plain_number(text, match.end(), words)
    if top is None or not value:
        return None
    if words.language == "zh" and (top[0] * 100 / value).denominator == 1:
        # Three of four are 75 %.
        return at, top[1], PieceType.QUANTITY, f"{number_key(top[0] * 100 / value)} %"
    return at, top[1], PieceType.NUMBER, number_key(top[0] / value)


_COUNTER_UNITS = {
    "回": "times", "次": "times", "日": "day", "天": "day", "年": "year",
    "週": "week", "周": "week",
    "度": "times", "代": "generation", "か月": "month", "ヶ月": "month", "時間": "hour", "届": "届",
    "章": "章", "期": "期", "层": "floor", "页": "page", "课": "课", "集": "集", "季": "季",
}  # fmt: skip


def ordinal_at(text: str, at: int, words: CjkGrammar) -> Found | None:
    number = plain_number(text, at + 1, words)
    if number is None or number[2]:
        return None
    value, end, _ = number
    quarter = _QUARTER.match(text, end)
    if quarter is not None:
        return at, quarter.end(), PieceType.DATE, f"date:Q{number_key(value)}"
    if text.startswith("四半期", end - 1) and text[end - 1] == "四" and end - at > 2:
        top = plain_number(text[at + 1 : end - 1], 0, words)
        if top is not None:
            return at, end + 2, PieceType.DATE, f"date:Q{number_key(top[0])}"
    return _numbered(text, at, value, end, words)


def _numbered(text: str, at: int, value: Fraction, end: int, words: CjkGrammar) -> Found:
    name = longest(text, end, _COUNTER_UNITS)
    if name is not None:
        end += len(name)
        end += text.startswith("目", end)
        return at, end, PieceType.NUMBER, f"no.{number_key(value)} {_COUNTER_UNITS[name]}"
    counter = longest(text, end, words.counters)
    if counter is not None and counter != "人":
        end += len(counter)
    elif text[end : end + 1] in ("号", "號", "番", "位", "名"):
        end += 1
    end += text.startswith("目", end)
    return at, end, PieceType.NUMBER, f"no.{number_key(value)}"


def _ordinal_end(text: str, at: int, value: Fraction, end: int, words: CjkGrammar) -> Found | None:
    match = _ORDINAL_END.match(text, end)
    if match is not None:
        unit = _COUNTER_UNITS.get(match[1] or "", "")
        end = match.end() + text.startswith("目", match.end())
        return at, end, PieceType.NUMBER, f"no.{number_key(value)}{' ' if unit else ''}{unit}"
    if text[end : end + 1] in ("号", "號") and longest(text, end, words.units) is None:
        return at, end + 1, PieceType.NUMBER, f"no.{number_key(value)}"
    return None


def unit_at(text: str, end: int, words: CjkGrammar) -> tuple[Unit, int] | None:
    gap = end + text.startswith(" ", end)
    name = longest(text, gap, words.units)
    if name is not None:
        unit = words.units[name]
        return unit, gap + len(name)
    match = _SYMBOL.match(text, end)
    if match is None:
        return None
    symbol = units.SYMBOLS.get(match[1])
    if symbol is None:
        top, _, bottom = match[1].partition("/")
        over, under = units.SYMBOLS.get(top), units.SYMBOLS.get(bottom)
        if over is None or under is None:
            return None
        return units.per(over, under), match.end()
    if symbol.base == "JPY" and match[1] in "¥￥" and words.language == "zh":
        symbol = Unit("CNY")
    return symbol, match.end()


def _range(text: str, at: int, value: Fraction, end: int, words: CjkGrammar) -> Found | None:
    first = unit_at(text, end, words)
    middle = _RANGE.match(text, end if first is None else first[1])
    if middle is None:
        return None
    last = plain_number(text, middle.end(), words)
    if (
        last is None
        or last[2]
        or last[0] <= value
        or clock_at(text, at, middle.end(), "", words) is not None
    ):
        return None
    if text[last[1] : last[1] + 1] in ("月", "-", "号") or (
        text[last[1] : last[1] + 1] == "日" and words.language != "ja"
    ):
        return None
    second = unit_at(text, last[1], words)
    if text.startswith("日", last[1]) and words.language == "ja" and second is None:
        second = units.DAY, last[1] + 1
    if first is not None and (second is None or first[0].base != second[0].base):
        return None
    if second is None:
        counter = longest(text, last[1], words.counters)
        end = last[1] + (len(counter) if counter is not None else 0)
        return at, end, PieceType.NUMBER, f"{number_key(value)}..{number_key(last[0])}"
    unit = second[0]
    low = value * (first[0] if first is not None else unit).factor
    key = f"{number_key(low)}..{number_key(last[0] * unit.factor)} {unit.base}"
    return at, second[1], PieceType.QUANTITY, key


def measured(
    text: str, at: int, value: Fraction, end: int, key: str, words: CjkGrammar
) -> Found | None:
    """Quantity, counted things, or the bare number."""
    if words.language == "zh" and text[end : end + 2] in ("个半", "個半"):
        after = unit_at(text, end + 2, words)
        if after is not None:
            return at, after[1], PieceType.QUANTITY, quantity_key(value + F(1, 2), after[0])
        if text.startswith("月", end + 2):
            return at, end + 3, PieceType.QUANTITY, quantity_key(value + F(1, 2), units.MONTH)
    if words.language == "zh" and text.startswith("分半", end):
        # A minute and a half; 分 alone counts points.
        end += 2 + text.startswith(("钟", "鐘"), end + 2)
        return at, end, PieceType.QUANTITY, quantity_key(value + F(1, 2), units.MINUTE)
    found = unit_at(text, end, words)
    if found is None:
        counter = longest(text, end + text.startswith(" ", end), words.counters)
        surface = text[at:end]
        if counter is not None and not (
            counter == "か" and text[end + 1 : end + 2] not in ("所", "国")
        ):
            end += len(counter) + text.startswith(" ", end)
        elif _is_word(surface, text[end : end + 1]):
            return None
        return at, end, PieceType.NUMBER, key or number_key(value)
    unit, end = found
    if ".." in key:
        low, high = (number_key(F(digit) * unit.factor) for digit in key.split(".."))
        return at, end, PieceType.QUANTITY, f"{low}..{high} {unit.base}"
    total = value * unit.factor + unit.offset
    for _ in range(3):
        if text[end : end + 1] in ("半", "반") and text[end + 1 : end + 2] not in (
            "分",
            "年",
            "月",
            "天",
            "日",
        ):
            if unit.base in units.TIME_SPANS or unit is units.FOLD:
                total, end = total + unit.factor / 2, end + 1
            break
        smaller = plain_number(text, end + text.startswith(" ", end), words)
        other = None if smaller is None or smaller[2] else unit_at(text, smaller[1], words)
        if smaller is None or other is None or other[0].base != unit.base or unit.offset:
            break
        if other[0].factor >= unit.factor:
            break
        total, end, unit = total + smaller[0] * other[0].factor, other[1], other[0]
    ago = AGO.match(text, end)
    if ago is not None and unit.base in units.TIME_SPANS:
        return at, ago.end(), PieceType.DATE, ago_key(total, Unit(unit.base), ago)
    rate = _RATE.match(text, end)
    if rate is not None:
        under = _RATE_UNITS[rate[1][0]]
        return (
            at,
            rate.end(),
            PieceType.QUANTITY,
            f"{number_key(total / under.factor)} {unit.base}/{under.base}",
        )
    return at, end, PieceType.QUANTITY, f"{number_key(total)} {unit.base}"


def _is_word(surface: str, following: str) -> bool:
    """Whether a lone numeral without a counter is the beginning of a word: 一闪, 百合, 十足."""
    if surface not in ("一", "百", "千", "十") or following in ("人", "男", "女"):
        return False
    return following >= "\u3040" or surface in "百千"


_RATE_UNITS = {
    "小": units.HOUR, "秒": units.SECOND, "分": units.MINUTE, "時": units.HOUR, "天": units.DAY,
    "日": units.DAY, "月": units.MONTH, "年": units.YEAR,
}  # fmt: skip
