"""Values that may be one value, said in two forms that leave something open.

"three o'clock" may be 15:00, a Japanese "26 degrees" 26 °C, and "minus 18" says its sign in a word.
Such values differ by their keys (`text.reading.values`), and yet may say the same. Pure.
"""

from __future__ import annotations

from fractions import Fraction
from re import IGNORECASE
from re import compile as pattern

_OPEN_UNITS = {
    ("°", "°C"): 1,
    ("°", "times"): 1,
    ("キロ", "kg"): 1,
    ("キロ", "m"): 1000,
}
"""Units that a word leaves open, with what they may be, and how many of these make one."""
_DAY_S = 86_400
_BINARY = {Fraction(1024, 1000) ** power for power in range(1, 5)}
"""How much more kilobytes to terabytes are for those who count in powers of two."""
_MEASURED = pattern(r"(-?[0-9]{1,40}(?:\.[0-9]{1,40})?) (\S+)")
_CLOCK = pattern(r"time:([0-9]{2})(:.*)")
_WEEKLY, _WEEKDAY = "date:every-weekday:", "date:weekday:"
_RELATIVE = "date:relative:"
_HALF_DAY_H = 12
_UNMARKED = pattern(
    r"(?:[0-9:：.\s時时시點点分半刻零〇一二三四五六七八九十两-]|o['’]clock|"
    r"\b(?:a|half|quarter|past|to|after|one|two|three|four|five|six|seven|eight|nine|ten|eleven|"
    r"twelve|twenty|halb|viertel|dreiviertel|nach|vor)\b)*",
    IGNORECASE,
)
"""Times that do not say in which half of the day they are."""


def may_be_one_value(own: str, other: str) -> bool:
    """Return whether two different keys of one kind of value may mean one value.

    True for a number and its ordinal, a number and its negative, a weekday and every such day, the
    next week and the following one, an identifier and the same one with a label behind a colon,
    units of which one leaves the other open, months and as many days, and bytes of which one is
    counted in powers of two.
    """
    short, long = sorted((own, other), key=len)
    if short == long:
        return False
    return (
        long in (f"-{short}", f"no.{short}")
        or long.startswith(f"{short}:")
        or _same_weekday(short, long)
        or _same_period(short, long)
        or _same_measure(short, long)
        or _same_measure(long, short)
    )


def may_be_one_time(own: str, own_text: str, other: str, other_text: str) -> bool:
    """Return whether two keys are half a day apart, and the earlier time leaves its half open.

    "three o'clock" and "half past two" may be 15:00 and 14:30, "3 am" is not.
    """
    here, there = _CLOCK.fullmatch(own), _CLOCK.fullmatch(other)
    if here is None or there is None or here[2] != there[2]:
        return False
    hours = int(here[1]), int(there[1])
    if abs(hours[0] - hours[1]) != _HALF_DAY_H:
        return False
    return any(
        hour <= _HALF_DAY_H and _UNMARKED.fullmatch(text)
        for hour, text in zip(hours, (own_text, other_text), strict=True)
    )


def _same_weekday(short: str, long: str) -> bool:
    return long.startswith(_WEEKLY) and short == _WEEKDAY + long.removeprefix(_WEEKLY)


def _same_period(short: str, long: str) -> bool:
    """Return whether one counts the periods that the other names: "+1w", "+week"."""
    if not (short.startswith(_RELATIVE) and long.startswith(_RELATIVE)):
        return False
    counted, named = short.removeprefix(_RELATIVE), long.removeprefix(_RELATIVE)
    return counted == f"{named[:1]}1{named[1:2]}" and len(named) > len(counted)


def _same_measure(left_open: str, said: str) -> bool:
    here, there = _MEASURED.fullmatch(left_open), _MEASURED.fullmatch(said)
    if here is None or there is None:
        return False
    own, other, units = abs(Fraction(here[1])), abs(Fraction(there[1])), (here[2], there[2])
    if units == ("month", "s"):
        return 30 * own - 2 <= other / _DAY_S <= 31 * own
    if units == ("B", "B"):
        return bool(own) and other / own in _BINARY
    return units in _OPEN_UNITS and own * _OPEN_UNITS[units] == other
