"""Dates and times of day in languages that put spaces between words."""

from __future__ import annotations

import re

from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values import numerals, times, units
from totonoe_core.text.reading.values.figures import number_at, unit_at
from totonoe_core.text.reading.values.grammar import Grammar

Found = tuple[int, int, PieceType, str]

_DAY = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th|\.|er|º|°)?(?![\w:])(?:\s?[-–]\s?(\d{1,2})(?:st|nd|rd|th|\.)?(?![\w:]))?"
)
_GAP = re.compile(r"\.?,? ?(?:([^\W\d_]{2,3}) )?")
_NAME = re.compile(r"[^\W\d_]{3,12}(?!\w)")
_YEAR = re.compile(r",? ?(?:(?:of|de|del|do) )?([12]\d{3})(?:г\.?| г\.| года)?(?![\w.:/-]?\d|\w)")
_CENTURY_YEAR = re.compile(r"((?:19|20)\d\d)(s)?(?![\w:/]|[.,-]\d)")
_QUARTER = re.compile(
    r"([qQ])([1-4])(?:[ /-]?'?((?:20)?\d\d))?(?!\w)|((?:20)\d\d)[ /-]?[qQ]([1-4])(?!\w)"
)
_BEFORE = re.compile(r"([^\W\d_]{1,9})\.? \Z")
_MERIDIEM = re.compile(r" ?([aApP])(?:\. ?[mM]\.?|[mM])(?!\w)")
_IN_THE = re.compile(
    r" (?:in the |at |de la |da |du |di |del |à )?(morning|afternoon|evening|night|mañana|"
    r"tarde|noche|manhã|"
    r"noite|matin|soir|après-midi|mattina|pomeriggio|sera|утра|дня|вечера|ночи)(?!\w)",
    re.IGNORECASE,
)
_MORNING = frozenset(("morning", "mañana", "manhã", "matin", "mattina", "утра"))
_DOTTED = re.compile(
    r"([01]?\d|2[0-3])\.([0-5]\d)(?=(?: ?[ap]\.?m\b| (?:uhr|Uhr|h)\b))", re.IGNORECASE
)
_FRENCH = re.compile(r"([01]?\d|2[0-3]) ?h(?: ?([0-5]\d))?(?!\w)")
_UP_TO_99 = re.compile(r"\d{1,2}(?![\d.:,]\d|\d)", re.ASCII)
_SHORT_WORD = re.compile(r" ([^\W\d_]{3,6})(?!\w)")
_MINUTE = re.compile(r" ([0-5]\d)(?!\w)")
_A_SPAN = re.compile(r"an? (?=[^\W\d_]{3,6} (?:ago|from))")
_OCLOCK = re.compile(r" ?o['’]?clock(?!\w)")
_AT_END = re.compile(
    r"(?=\s*(?:[.,;!?)]|\Z)(?!\d)| (?:on|in the|tomorrow|today|tonight|every|each|sharp|and|this|"
    r"next|mon|tues|wednes|thurs|fri|satur|sun))"
)
_PAST = re.compile(
    r"(half|(?:a )?quarter|five|ten|twenty(?:[ -]five)?) (past|to|after) "
    r"([^\W\d_]{3,6}|\d{1,2})(?!\w)"
)
_HALF_DE = re.compile(r"(halb|viertel (?:nach|vor)) ([^\W\d_]{3,6}|\d{1,2})(?!\w)", re.IGNORECASE)
_NAMED = {
    "noon": 12, "midday": 12, "midnight": 0, "mittag": 12, "mitternacht": 0, "midi": 12,
    "minuit": 0, "mediodía": 12, "medianoche": 0, "mezzogiorno": 12, "mezzanotte": 0,
    "полдень": 12, "полночь": 0,
}  # fmt: skip
_SHIFTED = re.compile(
    r"(next|last|this|every|each|previous|past|coming) "
    r"([^\W\d_]{3,9})(?!\w)"
)
_SHIFT = {"next": "+1", "coming": "+1", "last": "-1", "past": "-1", "previous": "-1", "this": "0"}
_PERIODS = {
    "day": "d",
    "week": "w",
    "weekend": "weekend",
    "month": "m",
    "quarter": "q",
    "year": "y",
}
_AGO = re.compile(r" (ago|from now|hence)(?!\w)")
_CLOCK_NEAR = re.compile(
    r"clock|[ap]\.?m\b| in the | at night|uhr|heure|horas|час|утра|вечера", re.IGNORECASE
)
_AT = frozenset(("at", "um", "à", "às", "las", "alle", "в"))


def digits_at(text: str, at: int, words: Grammar) -> Found | None:
    """Date or time of day that begins with a figure."""
    return (
        _numeric_date(text, at, words)
        or _clock(text, at, words)
        or _day_month(text, at, words)
        or _quarter(text, at)
        or _year(text, at, words)
        or ago_at(text, at, words)
    )


def words_at(text: str, at: int, word: str, end: int, words: Grammar) -> Found | None:
    """Date or time of day that begins with a word.

    Parameters
    ----------
    text : str
    at, end : int
        The word's place.
    word : str
        In lower case.
    words : Grammar
    """
    if word == "q":
        return _quarter(text, at)
    if (month := words.months.get(word)) is not None:
        return _month_first(text, at, word, end, month, words)
    found = _relative(text, at, words)
    if found is not None:
        return found
    weekday = words.weekdays.get(word)
    if weekday is None and text.startswith("-feira", end):
        weekday, end = words.weekdays.get(word + "-feira"), end + 6
    if weekday is not None and not (word in ("mon", "wed") and text[at].islower()):
        return at, end, PieceType.DATE, f"date:weekday:{weekday}"
    if word in words.every_weekday:
        return at, end, PieceType.DATE, f"date:every-weekday:{words.every_weekday[word]}"
    if word in _NAMED:
        return at, end, PieceType.TIME, f"time:{_NAMED[word]:02d}:00"
    return (
        _spoken_time(text, at, words) or _hour_in_words(text, at, words) or ago_at(text, at, words)
    )


def _numeric_date(text: str, at: int, words: Grammar) -> Found | None:
    match = times.ISO_DATE.match(text, at)
    if match is not None and (match["d"] or match["sep"] == "-" or (match["sep"] == "/")):
        key = times.date_key(
            int(match["y"]), int(match["m"]), int(match["d"]) if match["d"] else None
        )
        if key is not None and (match["d"] or len(match["m"]) == 2):
            if match["H"]:
                time = times.time_key(
                    int(match["H"]), int(match["M"]), int(match["S"] or 0), match["z"] or ""
                )
                key += f"T{time[5:]}" if time else ""
            return at, match.end(), PieceType.DATE, key
    match = times.OTHER_DATE.match(text, at)
    if match is None:
        return None
    first, second, year = int(match["a"]), int(match["b"]), match["y"]
    if match["sep"] == "." and len(year) == 2 and words.language not in numerals.COMMA_LANGUAGES:
        return None  # 1.2.26 is a version
    full = int(year) + (2000 if len(year) == 2 else 0)
    day_first = words.language in numerals.COMMA_LANGUAGES or match["sep"] == "." or first > 12
    if day_first and second <= 12:
        key = times.date_key(full, second, first)
    elif second > 12 or first == second:
        key = times.date_key(full, first, second)
    else:
        key = f"date:{first:02d}/{second:02d}/{full}"
    return None if key is None else (at, match.end(), PieceType.DATE, key)


def _afternoon(hour: int, text: str, end: int) -> tuple[int, int, bool]:
    """Hour of 24 after "pm" or "in the evening", the new end, whether either was there."""
    match = _MERIDIEM.match(text, end)
    if match is not None and 1 <= hour <= 12:
        return hour % 12 + (12 if match[1] in "pP" else 0), match.end(), True
    match = _IN_THE.match(text, end)
    if match is None:
        return hour, end, False
    part = match[1].lower()
    if part in _MORNING or part == "ночи":
        return hour % 12 if hour == 12 else hour, match.end(), True
    if part == "night" and hour < 6:
        return hour, match.end(), True
    return (hour + 12 if hour < 12 else hour), match.end(), True


def _timed(at: int, end: int, text: str, hour: int, minute: int, second: int = 0) -> Found | None:
    hour, end, _ = _afternoon(hour, text, end)
    zone = times.ZONE.match(text, end)
    name = ""
    if zone is not None:
        name, end = zone["z"], zone.end()
    key = times.time_key(hour, minute, second, name)
    return None if key is None else (at, end, PieceType.TIME, key)


def _clock(text: str, at: int, words: Grammar) -> Found | None:
    match = times.CLOCK.match(text, at)
    if match is not None:
        end = match.end()
        for ending in words.clock:
            if text[end + 1 : end + 1 + len(ending)].lower() == ending:
                end += 1 + len(ending)
        return _timed(at, end, text, int(match["h"]), int(match["m"]), int(match["s"] or 0))
    match = _DOTTED.match(text, at)
    if match is not None:
        end = match.end() + (4 if text[match.end() :][:4].lower() == " uhr" else 0)
        return _timed(at, end, text, int(match[1]), int(match[2]))
    if words.language in ("fr", "pt") and (match := _FRENCH.match(text, at)):
        hour = int(match[1])
        if match[2]:
            return _timed(at, match.end(), text, hour, int(match[2]))
        if _before(text, at) in ("à", "às", "vers", "dès"):
            return _timed(at, match.end(), text, hour, 0)
    number = _UP_TO_99.match(text, at)
    if number is None:
        return None
    return _bare_hour(text, at, int(number.group()), number.end(), words)


def _bare_hour(text: str, at: int, hour: int, end: int, words: Grammar) -> Found | None:
    if hour > 24:
        return None
    after = _SHORT_WORD.match(text, end)
    german = words.language == "de"
    told = german or _before(text, at) in ("à", "às", "las", "в", "vers")
    if told and after is not None and after[1].lower() in words.clock:
        minute = _MINUTE.match(text, after.end())
        if minute is not None and german:
            return _timed(at, minute.end(), text, hour, int(minute[1]))
        return _timed(at, after.end(), text, hour, 0)
    match = _OCLOCK.match(text, end)
    if match is not None:
        return _timed(at, match.end(), text, hour, 0)
    _, _, said = _afternoon(hour, text, end)
    if said and (words.language != "de"):
        return _timed(at, end, text, hour, 0)
    at_word = _before(text, at)
    if words.language == "en" and at_word == "at" and _AT_END.match(text, end):
        return _timed(at, end, text, hour, 0)
    romance = (words.language, at_word) in (("es", "las"), ("it", "alle"), ("pt", "às"))
    if romance and unit_at(text, end, words) is None:
        return _timed(at, end, text, hour, 0)
    return None


def _hour_in_words(text: str, at: int, words: Grammar) -> Found | None:
    if _CLOCK_NEAR.search(text, at, at + 40) is None and _before(text, at) not in _AT:
        return None
    number = numerals.words_at(text, at, words.numbers)
    if number is None or number[2] or not 0 < number[0] <= 24 or number[0].denominator != 1:
        return None
    return _bare_hour(text, at, int(number[0]), number[1], words)


def _hour(word: str, words: Grammar) -> int | None:
    value = int(word) if word.isdigit() else words.numbers.values.get(word.lower())
    return value if value is not None and 1 <= value <= 12 else None


def _spoken_time(text: str, at: int, words: Grammar) -> Found | None:
    if words.language == "en" and (match := _PAST.match(text, at)):
        hour = _hour(match[3], words)
        if hour is None:
            return None
        parts = {"half": 30, "quarter": 15, "a quarter": 15, "five": 5, "ten": 10, "twenty": 20}
        minute = parts.get(match[1], 25)
        if match[2] == "to":
            if match[1] in ("five", "ten", "twenty", "half") and _before(text, at) != "at":
                return None  # five to ten people
            hour, minute = hour - 1 or 12, 60 - minute
        return _timed(at, match.end(), text, hour, minute)
    if words.language == "de" and (match := _HALF_DE.match(text, at)):
        hour = _hour(match[2], words)
        if hour is None:
            return None
        kind = match[1].lower()
        minute = {"halb": 30, "viertel nach": 15, "viertel vor": 45}[kind]
        end = match.end() + (4 if text[match.end() :][:4].lower() == " uhr" else 0)
        return _timed(at, end, text, hour if kind == "viertel nach" else hour - 1 or 12, minute)
    return None


def _before(text: str, at: int) -> str:
    match = _BEFORE.search(text[max(0, at - 11) : at])
    return match[1].lower() if match is not None else ""


def _month_at(text: str, at: int, words: Grammar) -> tuple[int, int] | None:
    gap = _GAP.match(text, at)
    start = at
    if gap is not None:
        start = gap.end() if gap[1] is None or gap[1].lower() in words.of else gap.start(1)
    match = _NAME.match(text, start)
    month = None if match is None else words.months.get(match.group().lower())
    if match is None or month is None or start == at:
        return None
    end = match.end() + (text.startswith(".", match.end()) and len(match.group()) < 5)
    return month, end


def _with_year(text: str, end: int) -> tuple[int | None, int]:
    match = _YEAR.match(text, end)
    return (None, end) if match is None else (int(match[1]), match.end())


def _day_month(text: str, at: int, words: Grammar) -> Found | None:
    day = _DAY.match(text, at)
    if day is None or not words.months:
        return None
    found = _month_at(text, day.end(), words)
    if found is None:
        return None
    month, end = found
    year, end = _with_year(text, end)
    return _dated(at, end, year, month, int(day[1]), day[2])


def _dated(
    at: int, end: int, year: int | None, month: int, day: int, last: str | None
) -> Found | None:
    key = times.date_key(year, month, day)
    if key is None:
        return None
    return at, end, PieceType.DATE, key + (f"..{int(last):02d}" if last else "")


def _month_first(
    text: str, at: int, word: str, end: int, month: int, words: Grammar
) -> Found | None:
    if text.startswith(".", end) and len(word) < 5 and text[end + 1 : end + 3].strip():
        end += 1
    year, year_end = _with_year(text, end)
    if year is not None:
        return at, year_end, PieceType.DATE, times.date_key(year, month) or ""
    if words.language == "en" and text[end : end + 1] == " ":
        day = _DAY.match(text, end + 1)
        if (
            day is not None
            and 1 <= int(day[1]) <= 31
            and (text[at].isupper() or word not in times.AMBIGUOUS_MONTHS)
        ):
            day_end = day.end() - text.startswith(".", day.end() - 1)
            year, year_end = _with_year(text, day_end)
            return _dated(at, year_end, year, month, int(day[1]), day[2])
    unsure = word in times.AMBIGUOUS_MONTHS or (words.language == "en" and len(word) < 4)
    if unsure and (not text[at].isupper() or _before(text, at) not in words.year_after):
        return None
    return at, end, PieceType.DATE, f"date:month:{month}"


def _quarter(text: str, at: int) -> Found | None:
    match = _QUARTER.match(text, at)
    if match is None:
        return None
    year = match[3] or match[4] or ""
    year = f"20{year}" if len(year) == 2 else year
    number = match[2] or match[5]
    return at, match.end(), PieceType.DATE, f"date:{year}{'-' if year else ''}Q{number}"


def _year(text: str, at: int, words: Grammar) -> Found | None:
    match = _CENTURY_YEAR.match(text, at)
    if match is None:
        return None
    if match[2]:
        return at, match.end(), PieceType.DATE, f"date:{match[1]}s"
    if _before(text, at) not in words.year_after or unit_at(text, match.end(), words) is not None:
        return None
    return at, match.end(), PieceType.DATE, f"date:{match[1]}"


def _relative(text: str, at: int, words: Grammar) -> Found | None:
    ahead = text[at : at + 24].lower().replace("’", "'")
    if words.language == "en" and ahead.startswith("the day "):
        at_day = _phrase(ahead[4:], words)
        if at_day is not None:
            return at, at + 4 + at_day[0], PieceType.DATE, f"date:relative:{at_day[1]}"
        return None
    phrase = _phrase(ahead, words)
    if phrase is not None:
        return at, at + phrase[0], PieceType.DATE, f"date:relative:{phrase[1]}"
    if words.language != "en" or (match := _SHIFTED.match(ahead)) is None:
        return None
    end, name = at + match.end(), match[2]
    if (weekday := words.weekdays.get(name)) is not None:
        if match[1] in ("every", "each"):
            return at, end, PieceType.DATE, f"date:every-weekday:{weekday}"
        return at, end, PieceType.DATE, f"date:relative:{_SHIFT[match[1]]}weekday:{weekday}"
    if match[1] in ("every", "each"):
        return None
    if (month := words.months.get(name)) is not None:
        return at, end, PieceType.DATE, f"date:relative:{_SHIFT[match[1]]}month:{month}"
    if name in _PERIODS and not (name == "day" and match[1] != "next"):
        return at, end, PieceType.DATE, f"date:relative:{_SHIFT[match[1]]}{_PERIODS[name]}"
    return None


def _phrase(ahead: str, words: Grammar) -> tuple[int, str] | None:
    """Longest relative day at the beginning: its length and key."""
    best: tuple[int, str] | None = None
    for count in range(1, 5):
        match = _FIRST_WORDS[count - 1].match(ahead)
        if match is None:
            break
        key = words.relative.get(match.group())
        if key is not None:
            best = match.end(), key
    return best


_FIRST_WORDS = [
    re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)?" + r" [^\W\d_]+" * count + r"(?!\w)")
    for count in range(4)
]


def ago_at(text: str, at: int, words: Grammar) -> Found | None:
    """English "3 days ago", "a week ago", "two weeks from now"."""
    if words.language != "en" or _AGO.search(text, at, at + 80) is None:
        return None
    article = _A_SPAN.match(text, at)
    if article is not None:
        value, end = numerals.F(1), article.end() - 1
    else:
        number = number_at(text, at, words)
        if number is None or number.ordinal:
            return None
        value, end = number.value, number.end
    unit = unit_at(text, end, words)
    if unit is None or unit[0].base not in units.TIME_SPANS:
        return None
    match = _AGO.match(text, unit[1])
    if match is None:
        return None
    span = value * unit[0].factor
    if unit[0].base == "s" and span % 86400 == 0:
        amount = f"{span // 86400}d"
    else:
        amount = f"{units.number_key(span)}{'m' if unit[0].base == 'month' else 's'}"
    sign = "-" if match[1] == "ago" else "+"
    return at, match.end(), PieceType.DATE, f"date:relative:{sign}{amount}"
