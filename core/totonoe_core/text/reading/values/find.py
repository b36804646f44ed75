"""Values in a text: figures, quantities, dates, times, versions, made names, quotations.

Equal meaning gives an equal key, whatever the notation; where two readings of a notation are
possible (03/04/2026), the key keeps the notation, so that nothing is made equal by a guess.
Every expression is bounded and what was read is skipped: the time is linear in the length.
"""

# Rows and tables; a wide character counts as two columns.
from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from totonoe_core.text.reading.model import PieceType, quick
from totonoe_core.text.reading.values import days, names, numbers, quantities
from totonoe_core.text.reading.values.rows import FoundValue, Groups, Rules, Scan, sign_of
from totonoe_core.text.reading.values.units import number_key
from totonoe_core.text.reading.values.words import CJK, HAN_SCALES, Words, longest, words_of

GROUPS: Groups = {
    "value": (
        *names.FIRST, *days.FIGURE_ROWS, *days.DAY_ROWS, *days.AGO_ROWS,
        *names.WORDS, *quantities.WORD_VALUES, *names.MADE_NAMES, *names.MONEY,
        *quantities.FIGURE_VALUES, *days.CJK_VALUES, *quantities.CJK_VALUES,
    ),
    "made": names.MADE,
    "number": numbers.NUMBERS,
    "ending": numbers.ENDINGS,
    "amount": numbers.AMOUNTS,
    "behind": (
        *quantities.CJK_PARTS, *days.BEHIND, *quantities.BEHIND,
    ),
    "unit": quantities.UNITS,
    "clock": days.CLOCKS,
}  # fmt: skip
"""Every row, in the order in which the rows of a group are tried."""

# 3.10 is not 3.1 where no unit says that it measures.
_LIKE_A_VERSION = re.compile(r"\d{1,4}\.\d{1,3}0")
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_WIDTH |= {0x2212: 0x2D, 0xFFE5: 0xA5, 0x2010: 0x2D, 0x2011: 0x2D}
# These mean something else in full width: 〜 ranges are read as they are.


@quick
class Value:
    """A value in a text: code point offsets, its type (one of `model.VALUES`), its key."""

    start: int
    end: int
    type: PieceType
    key: str


@cache
def rules_of(language: str) -> Rules:
    """Return the rows of a language; they are put together on first use."""
    return Rules(language, GROUPS)


def find_values(text: str, language: str) -> tuple[Value, ...]:
    """Values of a text.

    Parameters
    ----------
    text : str
        Any text.
    language : str
        ISO 639-1 code; "" for what needs no language (figures, ISO dates, made names).

    Returns
    -------
    tuple of Value
        Ascending, not overlapping. Offsets are those of `text`.
    """
    return find_by(rules_of(language), text)


def find_by(rules: Rules, text: str) -> tuple[Value, ...]:
    """Values of a text by given rows, as `find_values`."""
    plain = text if text.isascii() else text.translate(_WIDTH)
    scan = Scan(plain, rules)
    found = _cjk(scan) if rules.words.language in CJK else _spaced(scan)
    return tuple(Value(*_named(scan, value)) for value in found)


def _named(scan: Scan, found: FoundValue) -> FoundValue:
    if found[2] is not PieceType.NUMBER:
        return found
    start, end, kind, key = value = names.named(scan, found)
    if value is found and _LIKE_A_VERSION.fullmatch(scan.text, start, end):
        key = scan.text[start:end]
    return start, end, kind, key


# --- With spaces between words -----------------------------------------------------------------

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


def _spaced(scan: Scan) -> Iterator[FoundValue]:
    text, starts, at = scan.text, scan.words.starts, 0
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
            found = latin_value(scan, at)
            if found is not None:
                yield found
                at = found[1]
            else:
                rest = _REST.match(text, at)
                at = rest.end() if rest else at + 1
            break
        else:
            return


def latin_value(scan: Scan, at: int) -> FoundValue | None:
    """Value that begins at a place; a word that begins none may be a made name."""
    first = sign_of(scan.text[at])
    if first == "a":
        word = _WORD.match(scan.text, at)
        lower = "" if word is None else word.group().lower()
        if lower in scan.words.starts:
            of_word: FoundValue | None = scan.first(scan.rules.of_word(lower), at)
            return of_word
        first = "_"
    found: FoundValue | None = scan.first(scan.rules.values[first], at)
    return found


# --- Chinese, Japanese, Korean -------------------------------------------------------------------

_LATIN = re.compile("[A-Za-z_]{1,4000}|[0-9]{1,4000}")


@cache
def _search(language: str) -> re.Pattern[str]:
    starts = re.escape("".join(sorted(words_of(language).starts)))
    return re.compile(
        rf"""(?<![A-Za-z0-9_])['"`“„«‹]|[「『《〈‘]|(?:US)?[$€£¥₩₹₽₿](?=\s?\d)"""
        rf"""|(?<![A-Za-z0-9_.])[-+#~./$]{{1,3}}(?=[A-Za-z0-9_])|[0-9½¼¾⅓⅔]|(?<![A-Za-z_])[A-Za-z_]|[{starts}]"""
    )


def _cjk(scan: Scan) -> Iterator[FoundValue]:
    text, language = scan.text, scan.words.language
    latin, search, at = Scan(text, scan.rules.latin), _search(language).search, 0
    while (match := search(text, at)) is not None:
        at = match.start()
        sign = text[at]
        found: FoundValue | None
        if "0" <= sign <= "9" or sign in "½¼¾⅓⅔-":
            found = latin_value(latin, at)
            if found is None or found[2] in (PieceType.NUMBER, PieceType.QUANTITY):
                found = scan.value(at)
        elif sign.isascii() or sign_of(sign) in "q$":
            found = latin_value(latin, at)
            if found is not None and found[2] is PieceType.QUANTITY:
                found = _money(found, text, language)
        else:
            found, at = _character(scan, at)
        if found is not None:
            yield found
            at = found[1]
        elif at == match.start():
            rest = _LATIN.match(text, at)
            at = rest.end() if rest else at + 1


def _money(found: FoundValue, text: str, language: str) -> FoundValue:
    """US$3万: the scale behind a figure with a currency sign; ¥ in Chinese."""
    start, end, kind, key = found
    if key.endswith(" JPY") and language == "zh":
        key = key.removesuffix("JPY") + "CNY"
    scale = HAN_SCALES.get(text[end : end + 1])
    if scale is not None and text[start] in "$¥€£₩US":
        value, _, base = key.partition(" ")
        return start, end + 1, kind, f"{number_key(Fraction(value) * scale)} {base}"
    return start, end, kind, key


def _character(scan: Scan, at: int) -> tuple[FoundValue | None, int]:
    """Value that begins with a character of the language, and where to go on without one."""
    text, words = scan.text, scan.words
    head = longest(text, at, words.heads) or ""
    group = words.heads.get(head, "")
    if group == "day" and not words.days[head].startswith("date:weekday"):
        return scan.first(scan.rules.values[group], at), at
    if group == "skip" and not _after_all(text, at + len(head), head, words):
        return None, at + len(head)
    for length in (2, 3):
        if at >= length - 1 and text[at + 1 - length : at + 1] in words.tails:
            return None, at + 1
    if group in ("day", "period", "era"):
        found = scan.first(scan.rules.values[group], at)
        if found is not None or group in ("period", "era"):
            return found, at if found is not None else at + len(head)
    found = scan.first(scan.rules.values["字"], at)
    if found is None:
        run = None if text[at] in "半第" else numbers.HAN_RUN.match(text, at)
        return None, run.end() if run else at + 1
    return found, at


def _after_all(text: str, end: int, head: str, words: Words) -> bool:
    """Whether a word without a number has one here: 十分間, 一点半, 一度目."""
    return text[end : end + 1] in words.after_all.get(head, ())
