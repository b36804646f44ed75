"""Values in languages that put spaces between words (and in texts of no known language)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values import days
from totonoe_core.text.reading.values.figures import MEASURES, figure_at, number_at, rate_at
from totonoe_core.text.reading.values.grammar import Grammar, grammar
from totonoe_core.text.reading.values.identifiers import opaque_at, starred_at
from totonoe_core.text.reading.values.quotes import OPENINGS, quote_at
from totonoe_core.text.reading.values.units import CURRENCY_SIGNS, SYMBOLS, quantity_key

F = Fraction
Found = tuple[int, int, PieceType, str]

# A word that touches nothing of which names are made, as the group; else where a value may begin.
_NEXT = re.compile(
    r"""(?:(?<![^\W\d])|(?=[½¼¾⅓⅔⅛⅜⅝⅞]))([^\W\d_]{1,60})(?=[\s,;!?)'’"]|\.?(?:\s|\Z))"""
    r"""|(?<!\w)['"`“„«‹「『《〈‘]|(?:US)?[$€£¥₩₹₽₿](?=\s?\d)|(?<![\w.])[-+#~./$]{1,3}(?=[A-Za-z0-9_])"""
    r"""|\d|[½¼¾⅓⅔⅛⅜⅝⅞]|(?<![^\W\d])[^\W\d]|(?<!\S)\*(?=[*./\s])"""
)
_CAMEL = re.compile(r"[a-z]{2,60}[A-Z][a-z]")
_WORD = re.compile(r"[^\W\d_]{1,60}")
# English articles begin a value only before these.
_ARTICLES = frozenset(("a", "an", "the"))
_ARTICLE_VALUE = re.compile(
    r"\w+ (?:hundred|thousand|million|billion|dozen|half|third|quarter|tenth|fifth|hour|minute|"
    r"week|month|year|kilo|mile|lit(?:re|er)|fortnight|decade|century|day)",
    re.IGNORECASE,
)
_REST = re.compile(r"[^\W\d_]{1,4000}|\w{1,4000}")
_PHONE = re.compile(
    r"\+\d{1,3}[ -]?(?:\(?\d{1,5}\)?[ -]?){1,5}\d{2,5}(?![\w-])"
    r"|\(?0\d{1,4}\)?[ -]\d{1,4}[ -]\d{3,4}(?![\w-])|\d{3}-\d{3}-\d{4}(?![\w-])",
    re.ASCII,
)
_NO_DIGIT = re.compile(r"\D")


def scan(text: str, language: str) -> Iterator[Found]:
    """Values of a text in normal width, in order."""
    words = grammar(language)
    starts = words.starts
    at = 0
    while at < len(text):
        for match in _NEXT.finditer(text, at):
            name = match[1]
            if name:
                lower = name.lower()
                begins = lower in starts and (
                    lower not in _ARTICLES or _ARTICLE_VALUE.match(text, match.start())
                )
                if not begins:
                    if lower != name and _CAMEL.match(name):
                        yield *match.span(), PieceType.IDENTIFIER, name
                    continue
            at = match.start()
            found = value_at(text, at, words)
            if found is not None:
                yield found
                at = found[1]
            else:
                rest = _REST.match(text, at)
                at = rest.end() if rest else at + 1
            break
        else:
            return


def value_at(text: str, at: int, words: Grammar) -> Found | None:
    """Value that begins at a place."""
    sign = text[at]
    if sign in "*0123456789" and (starred := starred_at(text, at)) is not None:
        return at, *starred
    if sign in OPENINGS:
        quoted = quote_at(text, at)
        return None if quoted is None else (at, quoted[0], PieceType.QUOTE, quoted[1])
    if sign in "+0123456789(":
        phone = _PHONE.match(text, at)
        if phone is not None and len(key := _NO_DIGIT.sub("", phone.group())) >= 9:
            return at, phone.end(), PieceType.IDENTIFIER, f"phone:{key}"
    if "0" <= sign <= "9":
        found = days.digits_at(text, at, words)
        if found is not None:
            return found
    elif (found := _word(text, at, words)) is not None:
        return found
    if (made := opaque_at(text, at, MEASURES)) is not None:
        end, kind, key = made
        return at, end, kind, key
    if sign in CURRENCY_SIGNS or text.startswith("US$", at):
        return _money(text, at, words)
    if sign.isdigit() or sign == "-" or sign in "½¼¾⅓⅔⅛⅜⅝⅞":
        return figure_at(text, at, words)
    return None


def _money(text: str, at: int, words: Grammar) -> Found | None:
    sign = "US$" if text.startswith("US$", at) else text[at]
    start = at + len(sign)
    start += text.startswith(" ", start)
    number = number_at(text, start, words)
    if number is None:
        return None
    unit, end = rate_at(text, CURRENCY_SIGNS[sign], number.end, words)
    return at, end, PieceType.QUANTITY, quantity_key(number.value, unit)


_CODE = re.compile(r"(USD|EUR|GBP|JPY|CNY|RMB|KRW|CHF) (?=\d)")


def _word(text: str, at: int, words: Grammar) -> Found | None:
    match = _WORD.match(text, at)
    if match is None:
        return None
    word = match.group().lower()
    if word not in words.starts:
        return None
    code = _CODE.match(text, at)
    if code is not None and (number := number_at(text, code.end(), words)) is not None:
        key = quantity_key(number.value, SYMBOLS[code[1]])
        return at, number.end, PieceType.QUANTITY, key
    return (
        days.words_at(text, at, word, match.end(), words)
        or _version(text, at, word, match.end(), words)
        or figure_at(text, at, words)
    )


_VERSION = re.compile(
    r"[ .:]{1,2}(?:no\.? )?[vV]?(\d{1,8}(?:\.(?:\d{1,8}|x)){0,5})(?![\w/])(?!\.\d)"
)
_REVISION = re.compile(r"\.? ?(?:([A-Z])|(\d{1,4}(?:\.\d{1,4})?))(?!\w)")
_NUMBERED = re.compile(r"(?:\. ?| )(\d{1,9})(?!\w)(?!\.\d)")


def _version(text: str, at: int, word: str, end: int, words: Grammar) -> Found | None:
    if word in words.version:
        match = _VERSION.match(text, end)
        if match is not None:
            return at, match.end(), PieceType.VERSION, "v" + match[1]
    elif word == "rev":
        match = _REVISION.match(text, end)
        if match is not None:
            return at, match.end(), PieceType.VERSION, f"rev {match[1] or match[2]}"
    elif word == "number" or (word == "no" and text.startswith(".", end)):
        match = _NUMBERED.match(text, end)
        if match is not None:
            return at, match.end(), PieceType.NUMBER, f"no.{int(match[1])}"
    return None
