"""Numbers with what stands behind them (unit, range, rate, counter), and bare numbers."""

# Rows and tables; a wide character counts as two columns.
from __future__ import annotations

import re
from fractions import Fraction

from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values import units
from totonoe_core.text.reading.values.numbers import AND_A_PART, part_of
from totonoe_core.text.reading.values.rows import (
    ALL,
    ALWAYS,
    JZK,
    FoundValue,
    Number,
    Row,
    Scan,
    row,
)
from totonoe_core.text.reading.values.units import Unit, number_key, per, quantity_key, span_key
from totonoe_core.text.reading.values.words import (
    HAN,
    ORDINAL_UNITS,
    Words,
    is_numeral,
    longest,
)

F = Fraction
_NUMBER, _QUANTITY = PieceType.NUMBER, PieceType.QUANTITY
Match = re.Match[str]
Measured = tuple[Unit, int]

# --- Units: make returns the unit and its end ------------------------------------------------

_RATE = re.compile(
    r"(?: ?/ ?| per | a | an | pro | par | por | al | в | each | every )([^\W\d_]{1,12})(?!\w)"
)
_RATE_BASES = frozenset(("s", "month", "m", "l", "kg", "m²", "m³"))


def _timely(scan: Scan, word: str) -> Unit | None:
    return scan.words.units.get(word.lower()) or units.SYMBOLS.get(word)


def rate_at(scan: Scan, unit: Unit, end: int) -> Measured:
    """The unit over the one that follows ("per month", "/h", "a day"), or itself."""
    rate = _RATE.match(scan.text, end)
    other = None if rate is None else _timely(scan, rate[1])
    if rate is None or other is None or other.base not in _RATE_BASES:
        return unit, end
    return per(unit, other), rate.end()


def _symbol(scan: Scan, at: int, match: Match) -> Measured | None:
    name = match[1]
    unit = units.SYMBOLS.get(name)
    if unit is None and not name.isupper():
        unit = units.LOWER_SYMBOLS.get(name.lower())
    if unit is None or (scan.text[at] in " -" and name in units.GLUED):
        return None
    return rate_at(scan, unit, match.end())


def _unit_word(scan: Scan, _at: int, match: Match) -> Measured | None:
    """Unit in one word or two: hours, per cent, degrees Celsius, square metres."""
    first, second = match[1].lower(), (match[2] or "").lower()
    known = scan.words.units
    if second and (unit := known.get(first + second)) is not None:
        return rate_at(scan, unit, match.end())
    if first in _POWERS and (unit := known.get(second.strip())) is not None:
        power = _POWERS[first]
        unit = Unit(unit.base + "²³"[power - 2], unit.factor**power)
        return rate_at(scan, unit, match.end())
    if (unit := known.get(first)) is not None:
        return rate_at(scan, unit, match.end(1))
    return None


_POWERS = {"square": 2, "cubic": 3}


def _cjk_word(scan: Scan, _at: int, match: Match) -> Measured | None:
    name = longest(scan.text, match.end(), scan.words.units)
    return None if name is None else (scan.words.units[name], match.end() + len(name))


def _cjk_symbol(scan: Scan, _at: int, match: Match) -> Measured | None:
    unit = units.SYMBOLS.get(match[1])
    if unit is None:
        top, _, bottom = match[1].partition("/")
        over, under = units.SYMBOLS.get(top), units.SYMBOLS.get(bottom)
        return None if over is None or under is None else (per(over, under), match.end())
    if match[1] in "¥￥" and scan.words.language == "zh":
        unit = Unit("CNY")
    return unit, match.end()


UNITS: tuple[Row, ...] = (
    row("unit symbols", "", r"(?: {1,2}|-)?((?:US)?[$€£¥₩₹₽]|[%％‰]|[°℃℉][CF]?|"
        r"[^\W\d_]{1,5}[²³23]?(?:[·*]m)?)(?![\w])", _symbol),
    row("unit words", "", r"(?: {1,2}|-)?([^\W\d_]{1,20})(?!\w)( [^\W\d_]{1,20}(?!\w))?",
        _unit_word),
    row("unit words, CJK", "", " ?", _cjk_word, JZK),
    row("unit symbols, CJK", "", r" ?((?:US)?[$€£¥₩]|[%％‰]|[°℃℉][CF]?|"
        r"[A-Za-zµμΩ]{1,4}(?:/[a-z]{1,3})?[²³]?|[㎏㎞㎝㎜㎡])(?![A-Za-z0-9_])", _cjk_symbol, JZK),
)  # fmt: skip


# --- Numbers and what is behind them, with spaces between words -------------------------------

_COMPARED = re.compile(
    r" (?:faster|slower|more|less|as|larger|bigger|higher|smaller|better|the|cheaper|lower)(?!\w)"
)
_TO = re.compile(r" ?[-–—~〜～] ?| ([^\W\d_]{1,7}) |([到至])")
_NO_LAST = re.compile(r"[-:]\d|[月号日](?!間)")
# "Python 3.10" is no 3.1: a decimal after a name is a version.
_DECIMAL = re.compile(r"\d{1,4}\.\d{1,4}(?![\w.]|,\d)", re.ASCII)
_NAME_BEFORE = re.compile(r"(?:(?<!\w)[A-Z][\w+#]*|バージョン|版本|버전) ?\Z", re.ASCII)
_BEFORE = re.compile(r"([^\W\d_]{1,12})[ -]\Z")
_BEHIND = re.compile(r"(?: ([^\W\d_]{1,12}))?")
_PARTY = re.compile("[ -]part(?:y|ies)")
_MORE = re.compile(
    rf"(?:,? (?:and |und |et |y |e )?|,|(?<=[a-z\u3040-\ud7a3]))(?=[0-9])|(?<=\w) ?(?=[{HAN}])"
)
_PARTED = frozenset(("s", "month", "m", "kg", "CNY"))
_TIMES = {"once": 1, "twice": 2, "thrice": 3}


def _times(scan: Scan, at: int, match: Match) -> FoundValue | None:
    """Twice as fast, twice a day; "once the server is up" is no number."""
    times, end = _TIMES[match[1].lower()], match.end()
    if times > 1 and _COMPARED.match(scan.text, end):
        return at, end, _QUANTITY, f"{times} x"
    rate = _RATE.match(scan.text, end)
    other = None if rate is None else scan.words.units.get(rate[1].lower())
    if rate is not None and other is not None:
        return at, rate.end(), _QUANTITY, quantity_key(F(times), per(units.TIMES, other))
    return None if times == 1 else (at, end, _QUANTITY, quantity_key(F(times), units.TIMES))


def _ordinal(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    number = scan.amount(at)
    if number is None or not number.ordinal or (number.in_words and _no_ordinal(scan, at, number)):
        return None
    return at, number.end, _NUMBER, f"no.{number_key(number.value)}"


def _no_ordinal(scan: Scan, at: int, number: Number) -> bool:
    """Whether an ordinal in words is another word: "per second", "third-party", "at first"."""
    text, end = scan.text, number.end
    surface = text[at:end].lower()
    if scan.words.language != "en":
        return surface in scan.words.not_alone
    before = _BEFORE.search(text[max(0, at - 14) : at])
    word = before[1].lower() if before is not None else ""
    if surface == "second" and word in ("per", "each", "every", "one", "a", "split"):
        after = _BEHIND.match(text, end)
        return word != "a" or after is None or after[1] is None
    if surface == "third" and _PARTY.match(text, end):
        return True
    return surface == "first" and (word == "at" or text[end : end + 1] == ",")


def _figure(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    """A number that is no ordinal, with what is behind it."""
    number = scan.amount(at)
    return None if number is None or number.ordinal else scan.behind(at, number)


def _range(scan: Scan, at: int, number: Number, _match: Match) -> FoundValue | None:
    """Range from a number to a greater one: 3-5 days, 3 to 5, 10 % to 20 %, 3到5天."""
    text, first = scan.text, scan.unit(number.end)
    match = _TO.match(text, number.end if first is None else first[1])
    if match is None or number.key:
        return None
    word = match[1] or match[2]
    if word.lower() not in scan.words.to if word else number.in_words:
        return None
    last = scan.number(match.end())
    if last is None or last.ordinal or last.key or (not word and last.value <= number.value):
        return None
    if _NO_LAST.match(text, last.end) or scan.clock(match.end()) is not None:
        return None
    second = scan.unit(last.end)
    if first is not None and (second is None or second[0].base != first[0].base):
        return None
    if second is None:
        end = last.end + len(longest(text, last.end, scan.words.counters) or "")
        return at, end, _NUMBER, f"{number_key(number.value)}..{number_key(last.value)}"
    unit = second[0]
    low = number.value * (first[0] if first is not None else unit).factor
    key = f"{number_key(low)}..{number_key(last.value * unit.factor)} {unit.base}"
    return at, second[1], _QUANTITY, key


def _quantity(scan: Scan, at: int, number: Number, _match: Match) -> FoundValue | None:
    """5 kg, 1 h 30 min, 1時間30分, 3天前, 60公里/小时."""
    measured = scan.unit(number.end)
    if measured is None:
        return None
    unit, end = measured
    if ".." in number.key:
        low, high = (number_key(F(digit) * unit.factor) for digit in number.key.split(".."))
        return at, end, _QUANTITY, f"{low}..{high} {unit.base}"
    if number.key and not number.key.isdigit():
        return at, end, _QUANTITY, f"{number.key} {number_key(unit.factor)} {unit.base}"
    value, end = _more(scan, unit.in_base(number.value), unit, end)
    if (ago := AGO.match(scan.text, end)) is not None and unit.base in units.TIME_SPANS:
        return at, ago.end(), PieceType.DATE, span_key(value, unit.base, ago_sign(ago))
    if (rate := _CJK_RATE.match(scan.text, end)) is not None:
        under = units.RATES[rate[1][0]]
        key = f"{number_key(value / under.factor)} {unit.base}/{under.base}"
        return at, rate.end(), _QUANTITY, key
    return at, end, _QUANTITY, f"{number_key(value)} {unit.base}"


def _more(scan: Scan, value: Fraction, unit: Unit, end: int) -> tuple[Fraction, int]:
    """Add a half or the smaller parts of a quantity: 1 h 30 min, 5 feet 3 inches, 两年半."""
    for _ in range(3 if unit.base in _PARTED else 0):
        half = _HALF_MORE.match(scan.text, end)
        if half is not None and unit.base in units.TIME_SPANS:
            return value + unit.factor / 2, half.end()
        if (part := AND_A_PART.match(scan.text, end)) is not None:
            return value + unit.factor * part_of(part), part.end()
        join = _MORE.match(scan.text, end)
        number = None if join is None else scan.number(join.end())
        measured = None if number is None or number.key else scan.unit(number.end)
        if number is None or measured is None:
            break
        other, other_end = measured
        if other.base != unit.base or other.factor >= unit.factor:
            break
        value, end, unit = value + number.value * other.factor, other_end, other
    return value, end


def ago_sign(match: Match) -> str:
    """Sign of a day that is so much before or after."""
    return "-" if (match[1] or match[2]) in ("前", "전") else "+"


def _version(scan: Scan, at: int, number: Number, _match: Match) -> FoundValue | None:
    text = scan.text
    if not _DECIMAL.match(text, at) or not _NAME_BEFORE.search(text[max(0, at - 24) : at]):
        return None
    return at, number.end, PieceType.VERSION, f"v{text[at : number.end]}"


def _number(scan: Scan, at: int, number: Number, _match: Match) -> FoundValue | None:
    if number.in_words and _no_number(scan, at, number.end):
        return None
    return at, number.end, _NUMBER, number.key or number_key(number.value)


def _no_number(scan: Scan, at: int, end: int) -> bool:
    """Whether a number word is another word here: pronoun, article, noun."""
    words, text = scan.words, scan.text
    surface = text[at:end].lower()
    if surface in words.not_alone:
        return True
    if surface not in words.one:
        return False
    if not words.not_before:
        return True
    before = _BEFORE.search(text[max(0, at - 14) : at])
    if before is not None and before[1].lower() in words.not_before:
        return True
    after = _BEHIND.match(text, end)
    return after is None or after[1] is None or after[1].lower() in words.not_behind


# --- Chinese, Japanese, Korean -----------------------------------------------------------------

AGO = re.compile(r" ?(?:(?:以|之)?(前|后|後)|(전|후|뒤))(?!半)")
_HALF_MORE = re.compile(r"半(?![分年月天日])|반(?![분\w])| 반(?=\W|\Z|[이을은의]|에서?|으로)")
_CJK_RATE = re.compile(r"(?:每| ?/ ?|毎)(小时|秒钟?|分钟|時間?|分|秒|天|日|月|年)")


def _of_hundred(scan: Scan, at: int, match: Match) -> FoundValue | None:
    number = scan.number(match.end())
    if number is None:
        return None
    return at, number.end, _QUANTITY, f"{number_key(number.value)} %"


def _part(scan: Scan, at: int, number: Number, match: Match) -> FoundValue | None:
    top = scan.number(match.end())
    if top is None or not number.value:
        return None
    part = top.value / number.value
    if scan.words.language == "zh" and (part * 100).denominator == 1:
        # Three of four are 75 %.
        return at, top.end, _QUANTITY, f"{number_key(part * 100)} %"
    return at, top.end, _NUMBER, number_key(part)


def _slash(_scan: Scan, at: int, number: Number, match: Match) -> FoundValue | None:
    if number.value.denominator != 1:
        return None
    if 0 < number.value < int(match[1]) <= 16:
        return at, match.end(), _NUMBER, number_key(number.value / int(match[1]))
    return at, match.end(), _NUMBER, f"{number.value}/{match[1]}"


def _ordinal_ending(_scan: Scan, at: int, number: Number, match: Match) -> FoundValue:
    unit = ORDINAL_UNITS.get(match[1] or "", "")
    return at, match.end(), _NUMBER, f"no.{number_key(number.value)}{' ' if unit else ''}{unit}"


def _ordinal_number(scan: Scan, at: int, number: Number, match: Match) -> FoundValue | None:
    if longest(scan.text, number.end, scan.words.units) is not None:
        return None
    return at, match.end(), _NUMBER, f"no.{number_key(number.value)}"


def _ordinal_before(scan: Scan, at: int, match: Match) -> FoundValue | None:
    """第3, 第三次, 제3회: what it counts belongs to it."""
    text, number = scan.text, scan.number(match.end())
    if number is None or number.key:
        return None
    end = number.end
    name = longest(text, end, ORDINAL_UNITS)
    counter = longest(text, end, scan.words.counters)
    if name is not None:
        end += len(name)
    elif counter is not None and counter != "人":
        end += len(counter)
    elif text[end : end + 1] in ("号", "號", "番", "位", "名"):
        end += 1
    end += text.startswith("目", end)
    unit = "" if name is None else f" {ORDINAL_UNITS[name]}"
    return at, end, _NUMBER, f"no.{number_key(number.value)}{unit}"


def _counted(scan: Scan, at: int, number: Number, match: Match) -> FoundValue | None:
    counter = longest(scan.text, match.end(), scan.words.counters)
    behind = scan.text[number.end + 1 : number.end + 2]
    if counter is None or (counter == "か" and behind not in ("所", "国")):
        return None
    end = match.end() + len(counter)
    return at, end, _NUMBER, number.key or number_key(number.value)


def _cjk_number(scan: Scan, at: int, number: Number, _match: Match) -> FoundValue | None:
    surface, behind = scan.text[at : number.end], scan.text[number.end : number.end + 1]
    # A lone numeral is often the beginning of a word: 一闪, 百合, 十足.
    alone = surface in ("一", "百", "千", "十") and behind not in ("人", "男", "女")
    if alone and (behind >= "\u3040" or surface in "百千"):
        return None
    return at, number.end, _NUMBER, number.key or number_key(number.value)


def _half(scan: Scan, at: int, match: Match) -> FoundValue | None:
    """半小时, 半个月, 半日: half of a span."""
    end = match.end()
    measured = scan.unit(end) or (scan.unit(end + 1) if scan.text.startswith("个", end) else None)
    if measured is None or measured[0].base not in units.TIME_SPANS:
        return None
    return at, measured[1], _QUANTITY, quantity_key(F(1, 2), measured[0])


def _half_of_all(_scan: Scan, at: int, match: Match) -> FoundValue:
    return at, match.end(), _NUMBER, "0.5"


def _korean(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    """Native Korean numbers, which other words may hold: 셋."""
    return None if at and "가" <= scan.text[at - 1] <= "힣" else _figure(scan, at, _match)


def _korean_counted(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    """Korean numbers that stand only before a counter or unit: 세 명, 두 시간."""
    text, words = scan.text, scan.words
    name = longest(text, at, words.counted)
    if name is None or (at and "가" <= text[at - 1] <= "힣"):
        return None
    end = at + len(name)
    gap = end + text.startswith(" ", end)
    if longest(text, gap, words.counters) is None and longest(text, gap, words.units) is None:
        return None
    return scan.behind(at, Number(F(words.counted[name]), end))


def _is_amount(words: Words, word: str) -> bool:
    return word in ("a", "an", "half") or word in words.and_a_half or is_numeral(words, word)


WORD_VALUES: tuple[Row, ...] = (
    row("once, twice", "a", re.compile(r"(once|twice|thrice)(?!\w)", re.IGNORECASE), _times, "en"),
    row("ordinals in words", "a", ALWAYS, _ordinal, begins=is_numeral),
    row("numbers in words and what is behind", "a", ALWAYS, _figure, begins=_is_amount),
)
FIGURE_VALUES: tuple[Row, ...] = (
    row("ordinals in figures", "0 -", ALWAYS, _ordinal),
    row("figures and what is behind", "0 - ½", ALWAYS, _figure, ALL),
)  # fmt: skip
CJK_VALUES: tuple[Row, ...] = (
    row("of a hundred", "字", "百分之", _of_hundred, JZK),
    row("ordinals with their sign before", "字", "[第제]", _ordinal_before, JZK),
    row("half of all", "字", "半分", _half_of_all, "ja"),
    row("half a span", "字", "[半반]", _half, JZK),
    row("Korean numbers", "字", ALWAYS, _korean, "ko"),
    row("Korean numbers before a counter", "字", ALWAYS, _korean_counted, "ko"),
    row("Han numerals and what is behind", "字", "(?!百分之)", _figure, "ja zh"),
)
CJK_PARTS: tuple[Row, ...] = (
    row("parts", "", r" ?分(?:之|の) ?|분의 ?", _part, JZK),
    row("slashes, CJK", "", r"/([0-9]{1,2})(?![0-9/])", _slash, JZK),
)
BEHIND: tuple[Row, ...] = (
    row("ordinal endings, CJK", "",
        r"(?:(番|人|個|回|日|年|度|つ|週|枚|代|件|本|時間|か月|ヶ月)目|번째|番(?!線|号|組|地))目?",
        _ordinal_ending, JZK),
    row("ordinals with a number sign", "", "[号號]", _ordinal_number, JZK),
    row("ranges", "", ALWAYS, _range, ALL),
    row("quantities", "", ALWAYS, _quantity, ALL),
    row("counted things", "", " ?", _counted, JZK),
    row("decimals behind a name", "", ALWAYS, _version, ALL),
    row("bare numbers", "", ALWAYS, _number),
    row("bare numbers, CJK", "", ALWAYS, _cjk_number, JZK),
)  # fmt: skip
