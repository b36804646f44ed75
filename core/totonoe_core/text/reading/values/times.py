"""Days, months and times of day: words in each language and the keys of what they name.

Keys: date:2026-01-10, date:2026-01, date:--01-10, date:month:1, date:weekday:1 (Monday),
date:2026-Q3, date:relative:+1d, time:09:30, time:09:30+01:00.
"""

# Tables of words; a wide character counts as two columns.
# ruff: noqa: E501
from __future__ import annotations

import re

from totonoe_core.text.reading.values.numerals import pairs

ISO_DATE = re.compile(
    r"(?P<y>[12]\d{3})(?P<sep>[-/.])(?P<m>\d{1,2})(?:(?P=sep)(?P<d>\d{1,2}))?"
    r"(?:(?:T| (?=\d{2}:\d{2}))(?P<H>\d{2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:\.\d{1,9})?)?"
    r"(?P<z>Z|[+-]\d{2}:?\d{2})?)?(?![\w-])",
    re.ASCII,
)
OTHER_DATE = re.compile(
    r"(?P<a>\d{1,2})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<y>(?:[12]\d)?\d{2})(?![\w-])", re.ASCII
)
CLOCK = re.compile(
    r"(?P<h>[01]?\d|2[0-4])[:：](?P<m>[0-5]\d)(?:[:：](?P<s>[0-5]\d))?(?![:\d])", re.ASCII
)
ZONE = re.compile(
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


MONTHS = {
    "en": pairs(
        "january/jan=1 february/feb=2 march/mar=3 april/apr=4 may=5 june/jun=6 july/jul=7 "
        "august/aug=8 september/sep/sept=9 october/oct=10 november/nov=11 december/dec=12"
    ),
    "de": pairs(
        "januar/jänner/jan=1 februar/feb=2 märz/mär=3 april/apr=4 mai=5 juni/jun=6 juli/jul=7 "
        "august/aug=8 september/sept/sep=9 oktober/okt=10 november/nov=11 dezember/dez=12"
    ),
    "fr": pairs(
        "janvier/janv=1 février/févr=2 mars=3 avril=4 mai=5 juin=6 juillet=7 août=8 septembre/sept=9 "
        "octobre/oct=10 novembre/nov=11 décembre/déc=12"
    ),
    "es": pairs(
        "enero=1 febrero=2 marzo=3 abril=4 mayo=5 junio=6 julio=7 agosto=8 septiembre/setiembre=9 "
        "octubre=10 noviembre=11 diciembre=12"
    ),
    "pt": pairs(
        "janeiro=1 fevereiro=2 março=3 abril=4 maio=5 junho=6 julho=7 agosto=8 setembro=9 "
        "outubro=10 novembro=11 dezembro=12"
    ),
    "it": pairs(
        "gennaio=1 febbraio=2 marzo=3 aprile=4 maggio=5 giugno=6 luglio=7 agosto=8 settembre=9 "
        "ottobre=10 novembre=11 dicembre=12"
    ),
    "ru": pairs(
        "январь/января/январе=1 февраль/февраля/феврале=2 март/марта/марте=3 апрель/апреля/апреле=4 "
        "май/мая/мае=5 июнь/июня/июне=6 июль/июля/июле=7 август/августа/августе=8 "
        "сентябрь/сентября/сентябре=9 октябрь/октября/октябре=10 ноябрь/ноября/ноябре=11 "
        "декабрь/декабря/декабре=12"
    ),
}
WEEKDAYS = {
    "en": pairs(
        "monday/mon=1 tuesday/tue/tues=2 wednesday/wed=3 thursday/thu/thur/thurs=4 friday/fri=5 "
        "saturday=6 sunday=7"
    ),
    "de": pairs(
        "montag=1 dienstag=2 mittwoch=3 donnerstag=4 freitag=5 samstag/sonnabend=6 sonntag=7"
    ),
    "fr": pairs("lundi=1 mardi=2 mercredi=3 jeudi=4 vendredi=5 samedi=6 dimanche=7"),
    "es": pairs("lunes=1 martes=2 miércoles=3 jueves=4 viernes=5 sábado=6 domingo=7"),
    "pt": pairs("segunda-feira=1 terça-feira/terça=2 quarta-feira=3 quinta-feira=4 "
                "sexta-feira/sexta=5 sábado=6 domingo=7"),
    "it": pairs("lunedì=1 martedì=2 mercoledì=3 giovedì=4 venerdì=5 sabato=6 domenica=7"),
    "ru": pairs(
        "понедельник=1 вторник=2 среда/среду=3 четверг=4 пятница/пятницу=5 суббота/субботу=6 "
        "воскресенье=7"
    ),
}  # fmt: skip
EVERY = {
    "en": pairs("mondays=1 tuesdays=2 wednesdays=3 thursdays=4 fridays=5 saturdays=6 sundays=7"),
    "de": pairs("montags=1 dienstags=2 mittwochs=3 donnerstags=4 freitags=5 samstags=6 sonntags=7"),
}
AMBIGUOUS_MONTHS = frozenset(("may", "march", "mar", "mars", "marzo", "mai"))
"""Months that are other words, or names, too: read alone only after a preposition."""

RELATIVE: dict[str, dict[str, str]] = {
    "en": {
        "today": "0d", "tonight": "0d-night", "tomorrow": "+1d", "yesterday": "-1d",
        "day after tomorrow": "+2d", "day before yesterday": "-2d",
        "this morning": "0d-morning", "this afternoon": "0d-afternoon",
        "this evening": "0d-evening", "last night": "-1d-night",
    },
    "de": {"heute": "0d", "morgen": "+1d", "gestern": "-1d", "übermorgen": "+2d",
           "vorgestern": "-2d", "nächste woche": "+1w", "letzte woche": "-1w",
           "vorige woche": "-1w", "nächsten monat": "+1m", "letzten monat": "-1m",
           "nächstes jahr": "+1y", "letztes jahr": "-1y", "diese woche": "0w"},
    "fr": {"aujourd'hui": "0d", "demain": "+1d", "hier": "-1d", "après-demain": "+2d",
           "avant-hier": "-2d", "semaine prochaine": "+1w", "semaine dernière": "-1w",
           "mois prochain": "+1m", "mois dernier": "-1m", "année prochaine": "+1y",
           "année dernière": "-1y"},
    "es": {"hoy": "0d", "ayer": "-1d", "pasado mañana": "+2d", "anteayer": "-2d",
           "próxima semana": "+1w", "semana pasada": "-1w", "próximo mes": "+1m",
           "mes pasado": "-1m", "próximo año": "+1y", "año pasado": "-1y"},
    "pt": {"hoje": "0d", "amanhã": "+1d", "ontem": "-1d", "anteontem": "-2d",
           "próxima semana": "+1w", "semana passada": "-1w", "próximo mês": "+1m",
           "mês passado": "-1m", "próximo ano": "+1y", "ano passado": "-1y"},
    "it": {"oggi": "0d", "domani": "+1d", "ieri": "-1d", "dopodomani": "+2d",
           "prossima settimana": "+1w", "settimana scorsa": "-1w", "prossimo mese": "+1m",
           "mese scorso": "-1m", "prossimo anno": "+1y", "anno scorso": "-1y"},
    "ru": {"сегодня": "0d", "завтра": "+1d", "вчера": "-1d", "послезавтра": "+2d",
           "позавчера": "-2d", "следующей неделе": "+1w", "прошлой неделе": "-1w",
           "следующем месяце": "+1m", "прошлом месяце": "-1m", "следующем году": "+1y",
           "прошлом году": "-1y"},
}  # fmt: skip
