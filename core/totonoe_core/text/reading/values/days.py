"""Dates and times of day.

Keys: date:2026-01-10, date:2026-01, date:--01-10, date:month:1, date:weekday:1 (Monday),
date:2026-Q3, date:relative:+1d, time:09:30, time:09:30+01:00.
"""

# Rows and tables; a wide character counts as two columns.
from __future__ import annotations

import re
from fractions import Fraction

from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values import units
from totonoe_core.text.reading.values.numbers import small, words_at
from totonoe_core.text.reading.values.quantities import AGO, ago_sign
from totonoe_core.text.reading.values.rows import ALWAYS, JZK, FoundValue, Number, Row, Scan, row
from totonoe_core.text.reading.values.units import quantity_key, span_key
from totonoe_core.text.reading.values.words import (
    COMMA_LANGUAGES,
    PARTS_OF_DAY,
    Words,
    is_numeral,
    longest,
)

F = Fraction
Match = re.Match[str]
_DATE, _TIME = PieceType.DATE, PieceType.TIME
_ZONE = re.compile(
    r"\s?(?P<z>(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d{2})?)?|Z|JST|CET|CEST|EST|EDT|PST|PDT|CST|CDT|MST|MDT|"
    r"BST|IST|KST|MSK|AEST|PT|ET)(?!\w)"
)


def date_key(year: int | None, month: int | None = None, day: int | None = None) -> str | None:
    """Key of a date, None if there is no such day."""
    if month is not None and not 1 <= month <= 12:
        return None
    if day is not None and not 1 <= day <= 31:
        return None
    if year is None:
        return f"date:month:{month}" if day is None else f"date:--{month:02d}-{day:02d}"
    parts = [f"date:{year:04d}"]
    if month is not None:
        parts.append(f"{month:02d}")
        if day is not None:
            parts.append(f"{day:02d}")
    return "-".join(parts)


def time_key(hour: int, minute: int = 0, second: int = 0, zone: str = "") -> str | None:
    """Key of a time of day, None if there is no such time."""
    if not (0 <= hour <= 24 and 0 <= minute < 60):
        return None
    tail = f":{second:02d}" if second else ""
    if zone in ("Z", "GMT"):
        zone = "UTC"
    return f"time:{hour % 24 if hour == 24 and minute else hour:02d}:{minute:02d}{tail}{zone}"


def _dated(at: int, end: int, key: str | None) -> FoundValue | None:
    return None if key is None else (at, end, _DATE, key)


# --- Dates, with spaces between words ---------------------------------------------------------

_DAY = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th|\.|er|º|°)?(?![\w:])(?:\s?[-–]\s?(\d{1,2})(?:st|nd|rd|th|\.)?(?![\w:]))?"
)
_GAP = re.compile(r"\.?,? ?(?:([^\W\d_]{2,3}) )?")
_NAME = re.compile(r"[^\W\d_]{3,12}(?!\w)")
_YEAR = re.compile(r",? ?(?:(?:of|de|del|do) )?([12]\d{3})(?:г\.?| г\.| года)?(?![\w.:/-]?\d|\w)")
_BEFORE = re.compile(r"([^\W\d_]{1,9})\.? \Z")
_AGO = re.compile(r" (ago|from now|hence)(?!\w)")
_A_SPAN = re.compile(r"an? (?=[^\W\d_]{3,6} (?:ago|from))")
_SHIFT = {"next": "+1", "coming": "+1", "last": "-1", "past": "-1", "previous": "-1", "this": "0"}
_PERIODS = {
    "day": "d",
    "week": "w",
    "weekend": "weekend",
    "month": "m",
    "quarter": "q",
    "year": "y",
}


def _before(text: str, at: int) -> str:
    match = _BEFORE.search(text[max(0, at - 11) : at])
    return match[1].lower() if match is not None else ""


def _iso_date(_scan: Scan, at: int, match: Match) -> FoundValue | None:
    day = int(match["d"]) if match["d"] else None
    key = date_key(int(match["y"]), int(match["m"]), day)
    if key is None or not (day is not None or (match["sep"] != "." and len(match["m"]) == 2)):
        return None
    if match["H"]:
        hour, minute, second = int(match["H"]), int(match["M"]), int(match["S"] or 0)
        time = time_key(hour, minute, second, match["z"] or "")
        key += f"T{time[5:]}" if time else ""
    return at, match.end(), _DATE, key


def _other_date(scan: Scan, at: int, match: Match) -> FoundValue | None:
    first, second, year = int(match["a"]), int(match["b"]), match["y"]
    comma = scan.words.language in COMMA_LANGUAGES
    if match["sep"] == "." and len(year) == 2 and not comma:
        return None  # 1.2.26 is a version
    full = int(year) + (2000 if len(year) == 2 else 0)
    key: str | None
    if (comma or match["sep"] == "." or first > 12) and second <= 12:
        key = date_key(full, second, first)
    elif second > 12 or first == second:
        key = date_key(full, first, second)
    else:
        key = f"date:{first:02d}/{second:02d}/{full}"
    return _dated(at, match.end(), key)


def _with_year(text: str, end: int) -> tuple[int | None, int]:
    match = _YEAR.match(text, end)
    return (None, end) if match is None else (int(match[1]), match.end())


def _day_key(year: int | None, month: int, day: Match) -> str | None:
    key = date_key(year, month, int(day[1]))
    return f"{key}..{int(day[2]):02d}" if key is not None and day[2] else key


def _day_month(scan: Scan, at: int, day: Match) -> FoundValue | None:
    """10 January 2026, 10. Januar, 3 de mayo de 2026."""
    text, words, start = scan.text, scan.words, day.end()
    gap = _GAP.match(text, start)
    if gap is not None:
        start = gap.end() if gap[1] is None or gap[1].lower() in words.of else gap.start(1)
    name = _NAME.match(text, start)
    month = None if name is None else words.months.get(name.group().lower())
    if name is None or month is None or start == day.end():
        return None
    end = name.end() + (text.startswith(".", name.end()) and len(name.group()) < 5)
    year, end = _with_year(text, end)
    return _dated(at, end, _day_key(year, month, day))


def _month(scan: Scan, at: int, match: Match) -> FoundValue | None:
    """January 10, 2026; January 2026; January."""
    text, words, name = scan.text, scan.words, match.group().lower()
    month, end = words.months.get(name), match.end()
    if month is None:
        return None
    short = text.startswith(".", end) and len(name) < 5
    end += short and bool(text[end + 1 : end + 3].strip())
    day = _DAY.match(text, end + 1) if text[end : end + 1] == " " else None
    word = text[at].islower() and name in words.month_words
    if day is not None and words.language == "en" and 1 <= int(day[1]) <= 31 and not word:
        year, end = _with_year(text, day.end() - text.startswith(".", day.end() - 1))
        return _dated(at, end, _day_key(year, month, day))
    year, end = _with_year(text, end)
    sure = name not in words.unsure_months or year is not None
    if sure or (text[at].isupper() and _before(text, at) in words.before_year):
        return _dated(at, end, date_key(year, month))
    return None


def _year(scan: Scan, at: int, match: Match) -> FoundValue | None:
    before = _before(scan.text, at)
    told = before in scan.words.before_year and scan.unit(match.end()) is None
    if not told and not match[2]:
        return None
    return at, match.end(), _DATE, f"date:{match[1]}{match[2] or ''}"


def _ago(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    """English "3 days ago", "a week ago", "two weeks from now"."""
    text = scan.text
    if _AGO.search(text, at, at + 80) is None:
        return None
    article = _A_SPAN.match(text, at)
    number = scan.number(at) if article is None else Number(F(1), article.end() - 1)
    unit = None if number is None or number.ordinal else scan.unit(number.end)
    if number is None or unit is None or unit[0].base not in units.TIME_SPANS:
        return None
    match = _AGO.match(text, unit[1])
    if match is None:
        return None
    sign = "-" if match[1] == "ago" else "+"
    span = number.value * unit[0].factor
    return at, match.end(), _DATE, span_key(span, unit[0].base, sign)


def _named(scan: Scan, at: int, match: Match) -> FoundValue | None:
    """Longest phrase of up to four words that names a day or an hour: the day after tomorrow."""
    named, words = match[1].lower().replace("’", "'"), scan.words
    while named and named not in words.days:
        named = named[: max(0, *map(named.rfind, " '-"))]
    if not named or (named in words.capital_weekdays and scan.text[at].islower()):
        return None
    key = words.days[named]
    end = match.start(1) + len(named)
    return at, end, _TIME if key.startswith("time") else _DATE, key


def _shifted(scan: Scan, at: int, match: Match) -> FoundValue | None:
    """Next Friday, every Monday, last month."""
    words, shift, name = scan.words, match[1].lower(), match[2].lower()
    every, weekday = shift in ("every", "each"), words.weekdays.get(name)
    if weekday is not None and every:
        return at, match.end(), _DATE, f"date:every-weekday:{weekday}"
    if every:
        return None
    if weekday is not None:
        what = f"weekday:{weekday}"
    elif (month := words.months.get(name)) is not None:
        what = f"month:{month}"
    elif name in _PERIODS and not (name == "day" and shift != "next"):
        what = _PERIODS[name]
    else:
        return None
    return at, match.end(), _DATE, f"date:relative:{_SHIFT[shift]}{what}"


# --- Times of day, with spaces between words ----------------------------------------------------

_MERIDIEM = re.compile(r" ?([aApP])(?:\. ?[mM]\.?|[mM])(?!\w)")
_IN_THE = re.compile(
    rf" (?:in the |at |de la |da |du |di |del |à )?({'|'.join(PARTS_OF_DAY)})(?!\w)", re.IGNORECASE
)
_MINUTE = re.compile(r" ?([0-5]\d)(?!\w)")
_CLOCK_NEAR = re.compile(
    r"clock|[ap]\.?m\b| in the | at night|uhr|heure|horas|час|утра|вечера", re.IGNORECASE
)
_PAST_MINUTES = {"half": 30, "quarter": 15, "a quarter": 15, "five": 5, "ten": 10, "twenty": 20}


def _afternoon(text: str, hour: int, end: int) -> tuple[int, int]:
    """Hour of 24 behind "pm" or "in the evening", and the new end."""
    match = _MERIDIEM.match(text, end)
    if match is not None and 1 <= hour <= 12:
        return hour % 12 + (12 if match[1] in "pP" else 0), match.end()
    match = _IN_THE.match(text, end)
    if match is None:
        return hour, end
    part = PARTS_OF_DAY.get(match[1].lower(), "pm")
    if part == "am":
        return (0 if hour == 12 else hour), match.end()
    if part == "night" and hour < 6:
        return hour, match.end()
    return (hour + 12 if hour < 12 else hour), match.end()


def _timed(
    scan: Scan, at: int, end: int, hour: int, minute: int = 0, second: int = 0
) -> FoundValue | None:
    hour, end = _afternoon(scan.text, hour, end)
    zone, name = _ZONE.match(scan.text, end), ""
    if zone is not None:
        name, end = zone["z"], zone.end()
    key = time_key(hour, minute, second, name)
    return None if key is None else (at, end, _TIME, key)


def _clock(scan: Scan, at: int, match: Match) -> FoundValue | None:
    end = match.end()
    for ending in scan.words.clock:
        if scan.text[end + 1 : end + 1 + len(ending)].lower() == ending:
            end += 1 + len(ending)
    return _timed(scan, at, end, int(match["h"]), int(match["m"]), int(match["s"] or 0))


def _hour_of_day(scan: Scan, at: int, match: Match) -> FoundValue | None:
    """5 pm, 9 in the morning, at six o'clock, 15 Uhr 30, à 15h, a las 5, "at 7." """
    text, words, before = scan.text, scan.words, _before(scan.text, at)
    told = before in words.before_hour
    hour = _read_hour(scan, at, match, told)
    if hour is None:
        return None
    value, end = hour
    behind = _BEHIND_HOUR.match(text, end)
    if behind is not None and behind[1].lower().replace("’", "'") in words.clock:
        sure = told or scan.unit(end) is None
        minute = _MINUTE.match(text, behind.end())
        if minute is not None and (sure or minute[0][0] != " "):
            return _timed(scan, at, minute.end(), value, int(minute[1]))
        if sure:
            return _timed(scan, at, behind.end(), value)
    if words.language != "de" and _afternoon(text, value, end)[1] != end:
        return _timed(scan, at, end, value)
    alone = words.alone is None or words.alone.match(text, end)
    if before in words.before_hour_alone and alone and scan.unit(end) is None:
        return _timed(scan, at, end, value)
    return None


_BEHIND_HOUR = re.compile(r" ?(o['’]clock|[^\W\d_]{1,6})(?![^\W\d])")


def _read_hour(scan: Scan, at: int, match: Match, told: bool) -> tuple[int, int] | None:
    """Hour in figures or in words, and its end; in words only near what shows an hour."""
    if match[0][:1].isdigit():
        return (int(match[0]), match.end()) if int(match[0]) <= 24 else None
    if not told and _CLOCK_NEAR.search(scan.text, at, at + 40) is None:
        return None
    number = words_at(scan.text, at, scan.words)
    if number is None or number.ordinal or not 0 < number.value <= 24:
        return None
    return int(number.value), number.end


def _hour(word: str, scan: Scan) -> int | None:
    value = int(word) if word.isdigit() else scan.words.numbers.get(word.lower())
    return value if value is not None and 1 <= value <= 12 else None


def _past(scan: Scan, at: int, match: Match) -> FoundValue | None:
    """English half past nine, quarter to ten; "five to ten people" is a range."""
    hour, minute = _hour(match[3], scan), _PAST_MINUTES.get(match[1], 25)
    if hour is None:
        return None
    if match[2] == "to":
        if minute in (5, 10, 20, 30) and _before(scan.text, at) != "at":
            return None
        hour, minute = hour - 1 or 12, 60 - minute
    return _timed(scan, at, match.end(), hour, minute)


_WORD = r"[^\W\d_]{1,60}"
_HOUR = r"(?:[0-9]{1,2}(?![0-9.:,][0-9]|[0-9])|(?=[^\W\d_]))"
_IGNORE = re.IGNORECASE
CLOCK = re.compile(
    r"(?P<h>[01]?\d|2[0-4])(?:[:：]|\.(?=\d\d(?: ?[aApP]\.?[mM]| [Uu]hr)(?!\w)))"
    r"(?P<m>[0-5]\d)(?:[:：](?P<s>[0-5]\d))?(?![:\d])",
    re.ASCII,
)
ISO_DATE = re.compile(
    r"(?P<y>[12]\d{3})(?P<sep>[-/.])(?P<m>\d{1,2})(?:(?P=sep)(?P<d>\d{1,2}))?"
    r"(?:(?:T| (?=\d{2}:\d{2}))(?P<H>\d{2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:\.\d{1,9})?)?"
    r"(?P<z>Z|[+-]\d{2}:?\d{2})?)?(?![\w-])",
    re.ASCII,
)
FIGURE_ROWS: tuple[Row, ...] = (
    row("ISO dates", "0", ISO_DATE, _iso_date),
    row("dates in figures", "0", re.compile(r"(?P<a>\d{1,2})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)"
        r"(?P<y>(?:[12]\d)?\d{2})(?![\w-])", re.ASCII), _other_date),
    row("clock", "0", CLOCK, _clock),
    row("hours of the day", "0 a", _HOUR, _hour_of_day, begins=is_numeral),
)  # fmt: skip


# --- Chinese, Japanese, Korean ------------------------------------------------------------------

_CJK_MONTH = re.compile(r" ?([0-9]{1,2}|[一二三四五六七八九十]{1,2}) ?[月월](?![间間])")
_CJK_DAY = re.compile(r" ?([0-9]{1,2}|[一二三四五六七八九十廿卅]{1,3}) ?[日号號일]")
_DAY_OF_MONTH = re.compile(
    r"に(?![0-9一二三四五六七八九十]{1,3}[回度個本杯錠時])|[（(]?[月火水木金土日]曜"
)
_HOUR_MINUTE = re.compile(
    r" ?(?:([0-9]{1,2}|[零一二三四五六七八九十]{1,3}) ?(?:分(?!之|の)|분)|(半|반)|([一三])刻|"
    r"([0-9]{2}|[一二三四五]十[一二三四五六七八九]?|零[一-九])(?![0-9]))"
)


def _from_year(scan: Scan, at: int, end: int, year: int) -> FoundValue | None:
    text = scan.text
    month = _CJK_MONTH.match(text, end)
    if month is None:
        return at, end, _DATE, f"date:{year:04d}"
    day = _CJK_DAY.match(text, month.end())
    key = date_key(year, small(month[1]), None if day is None else small(day[1]))
    return _dated(at, month.end() if day is None else day.end(), key)


def _cjk_year(scan: Scan, at: int, number: Number, match: Match) -> FoundValue | None:
    value, end = number.value, match.end()
    if value.denominator != 1:
        return None
    whole = 1000 <= value < 3000 and scan.text[end : end + 1] not in tuple("前間间后後")
    if not whole and not (0 <= value < 100 and _CJK_MONTH.match(scan.text, end)):
        return None
    return _from_year(scan, at, end, int(value) + (2000 if value < 100 else 0))


def _cjk_month(scan: Scan, at: int, number: Number, match: Match) -> FoundValue | None:
    value = number.value
    if value.denominator != 1 or not 1 <= value <= 12:
        return None
    day = _CJK_DAY.match(scan.text, match.end())
    if day is not None:
        return _dated(at, day.end(), date_key(None, int(value), small(day[1])))
    return at, match.end(), _DATE, f"date:month:{int(value)}"


def _cjk_day(scan: Scan, at: int, number: Number, match: Match) -> FoundValue | None:
    """N日: a day of the month or a number of days, by what stands around it."""
    value, end, text = number.value, match.end(), scan.text
    if value.denominator != 1 or not 1 <= value <= 31:
        return None
    ago = AGO.match(text, end)
    if ago is not None:
        return at, ago.end(), _DATE, span_key(value * 86400, "s", ago_sign(ago))
    of_month = _DAY_OF_MONTH.match(text, end) or "月" in text[max(0, at - 3) : at]
    if scan.words.language != "ja" or of_month:
        return at, end, _DATE, f"date:day:{int(value)}"
    return at, end, PieceType.QUANTITY, quantity_key(value, units.DAY)


def _era(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    text, words, start = scan.text, scan.words, at + 2
    number = Number(F(1), start + 1) if text.startswith("元年", start) else scan.number(start)
    if number is None or number.value.denominator != 1 or not 0 < number.value < 100:
        return None
    if text[number.end : number.end + 1] != "年":
        return None
    year = words.eras[text[at:start]] + int(number.value)
    return _from_year(scan, at, number.end + 1, year)


def _cjk_named(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    """明日, 来週の月曜日, 下周三, 每周一, 金曜日, 正午."""
    text, words = scan.text, scan.words
    word = longest(text, at, words.heads) or ""
    end, key = at + len(word), words.days[word]
    if "date:weekday" in key and len(word) == 2 and text[at - 1 : at] in ("一", "两", "每", "几"):
        return None
    if key[-1] == "w":
        next_at = end + (text[end : end + 1] in ("の", " "))
        day = longest(text, next_at, words.weekdays)
        named = "一二三四五六日天".find(text[end : end + 1]) if end < len(text) else -1
        if day is not None:
            end, key = next_at + len(day), f"{key[:-1]}weekday:{words.weekdays[day]}"
        elif words.language == "zh" and named >= 0:
            end, key = end + 1, f"{key[:-1]}weekday:{min(named + 1, 7)}"
    return at, end, _TIME if key.startswith("time") else _DATE, key


def _at_clock(_scan: Scan, at: int, match: Match) -> FoundValue:
    hour, minute, second = int(match["h"]), int(match["m"]), int(match["s"] or 0)
    return at, match.end(), _TIME, time_key(hour, minute, second) or ""


def _o_clock_sign(scan: Scan, at: int, match: Match) -> FoundValue | None:
    hour, end = small(match.group()), match.end()
    return _with_minutes(scan, at, end, hour) if hour <= 24 else None


def _korean_hour(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    name = longest(scan.text, at, scan.words.hours)
    return None if name is None else _with_minutes(scan, at, at + len(name), scan.words.hours[name])


def _with_minutes(scan: Scan, at: int, end: int, hour: int) -> FoundValue | None:
    pattern = scan.words.o_clock
    mark = None if pattern is None else pattern.match(scan.text, end)
    if mark is None:
        return None
    end, minute = mark.end(), 0
    match = _HOUR_MINUTE.match(scan.text, end)
    if match is not None and not (match[4] and "点" not in mark.group()):
        minute = (
            30 if match[2] else 15 * small(match[3]) if match[3] else small(match[1] or match[4])
        )
        end = match.end()
    key = time_key(hour, minute)
    return None if key is None else (at, end, _TIME, key)


def _in_period(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    """午後3時, 下午三点半, 오전 9시: an hour behind its part of the day."""
    text, head = scan.text, longest(scan.text, at, scan.words.heads) or ""
    after = at + len(head)
    found = scan.clock(after + text.startswith(" ", after))
    if found is None:
        return None
    period, hour = scan.words.periods[head], int(found[3][5:7])
    if period in ("pm", "noon") and hour < 12 and not (period == "noon" and hour > 3):
        hour += 12
    elif period in ("am", "night") and hour == 12:
        hour = 0
    return at, found[1], _TIME, f"time:{hour:02d}{found[3][7:]}"


def _clock_of_number(scan: Scan, at: int, number: Number, _match: Match) -> FoundValue | None:
    negative = number.value < 0 or scan.text[at] == "-"
    return None if number.value.denominator != 1 or negative else scan.clock(at)


def _korean_clock(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    return scan.clock(at)


BEHIND: tuple[Row, ...] = (
    row("years, CJK", "", " ?[年년]", _cjk_year, JZK),
    row("months, CJK", "", " ?[月월](?![间間])", _cjk_month, JZK),
    row("days, CJK", "", " ?[日일](?![間间目分曜])", _cjk_day, JZK),
    row("hours, CJK", "", ALWAYS, _clock_of_number, JZK),
)
CLOCKS: tuple[Row, ...] = (
    row("clock, CJK", "", CLOCK, _at_clock, JZK),
    row(
        "hours with their sign",
        "",
        "[0-9]{1,2}|[零〇一二两兩三四五六七八九十]{1,3}",
        _o_clock_sign,
        JZK,
    ),
    row("Korean hours", "", ALWAYS, _korean_hour, "ko"),
)
CJK_VALUES: tuple[Row, ...] = (
    row("named days, CJK", "day", ALWAYS, _cjk_named, JZK),
    row("hours behind a part of the day", "period", ALWAYS, _in_period, JZK),
    row("eras", "era", ALWAYS, _era, "ja"),
    row("Korean hours by themselves", "字", ALWAYS, _korean_clock, "ko"),
)


def _names_day(words: Words, word: str) -> bool:
    return word == "the" or any(re.split("[ '-]", day)[0] == word for day in words.days)


def _is_span(words: Words, word: str) -> bool:
    return word in ("a", "an") or is_numeral(words, word)


DAY_ROWS: tuple[Row, ...] = (
    row("day and month", "0", _DAY, _day_month),
    row("years and decades", "0", r"((?:19|20)\d\d)(s)?(?![\w:/]|[.,-]\d)", _year),
    row("months", "a", _WORD, _month, begins=lambda words, word: word in words.months),
    row("named days", "a", re.compile(r"(?:the (?=day ))?([^\W\d_]+(?:['’-][^\W\d_]+)?"
        r"(?: [^\W\d_]+){0,3})(?!\w)", _IGNORE), _named, begins=_names_day),
    row("shifted days", "a", re.compile(r"(next|last|this|every|each|previous|past|coming) "
        r"([^\W\d_]{3,9})(?!\w)", _IGNORE), _shifted, "en"),
    row("half past", "a", r"(half|(?:a )?quarter|five|ten|twenty(?:[ -]five)?) (past|to|after) "
        r"([^\W\d_]{3,6}|\d{1,2})(?!\w)", _past, "en"),
)  # fmt: skip
AGO_ROWS: tuple[Row, ...] = (row("so long ago", "0 a", ALWAYS, _ago, "en", _is_span),)
