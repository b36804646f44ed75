"""Texts of memories as parts of a page: escaped, with a language, with what differs marked."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup, escape

from totonoe.console import limits
from totonoe.enums import Finding
from totonoe.memories.models import Evidence, Judgement
from totonoe.unprintable import STEERING, line_feeds
from totonoe.words import text as words_of

Span = tuple[int, int]
"""Start and end in characters."""
ALIGNED_FROM = 0.6
"""Share of the words in common, in one order, from which two texts are aligned."""

# STEERING, and the marks of direction that show nothing by themselves.
_MARKED = re.compile(f"{STEERING.pattern}|[\u061c\u200e\u200f]")
_KANA = re.compile("[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
# Characters that only the traditional forms of Chinese have, among the most frequent ones.
_TRADITIONAL = re.compile(
    "[們個這來時說對會為學國開過還後點無裡麼與從見經間長讓應當實現業體進動機電關問題]"
)
# A word; of scripts without spaces each character.
_WORD = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|\\w+|[^\\w\\s]")
_SAME = frozenset(
    {Finding.SAME_TEXT, Finding.SAME_WORDS, Finding.SAME_CONTENT, Finding.SYNONYM, Finding.JUDGE}
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text, and whether the other text lacks it."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts cut at what differs, the earlier one first, and the same in words."""

    left: list[Piece]
    right: list[Piece]
    lines: list[str]


def language(text: str) -> str:
    """Return the language for the glyphs of a text: ja, ko, zh-Hans, zh-Hant; empty: not known.

    Japanese and Chinese share characters that are drawn in different ways.
    """
    if _KANA.search(text):
        return "ja"
    if _HANGUL.search(text):
        return "ko"
    if _HAN.search(text):
        return "zh-Hant" if _TRADITIONAL.search(text) else "zh-Hans"
    return ""


def safe(text: str) -> Markup:
    """Return a text as HTML that shows each character that would steer the page as a mark."""
    shown = line_feeds(text)
    parts: list[Markup] = []
    at = 0
    for match in _MARKED.finditer(shown):
        parts.append(escape(shown[at : match.start()]))
        character = match.group()
        name = unicodedata.name(character, "control character").lower()
        parts.append(
            Markup('<span class="sign" title="{}">U+{:04X}</span>').format(name, ord(character))
        )
        at = match.end()
    parts.append(escape(shown[at:]))
    return Markup("").join(parts)


def when(time: datetime | None) -> Markup:
    """Return a time as its age, with the instant on hover; nothing where there is none."""
    if time is None:
        return Markup("never")
    return _timed(time, words_of.age(time))


def ending(time: datetime) -> Markup:
    """Return how long something lasts, with the instant on hover."""
    return _timed(time, words_of.ending(time))


def _timed(time: datetime, words: str) -> Markup:
    exact = time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(exact, words)


def pieces(text: str, spans: Iterable[Span]) -> list[Piece]:
    """Cut a text at the stretches that differ, in order; overlapping ones become one."""
    cut: list[Piece] = []
    at = 0
    for start, end in sorted(spans):
        begin, stop = max(at, start), min(end, len(text))
        if begin >= stop:
            continue
        if begin > at:
            cut.append(Piece(text[at:begin], False))
        cut.append(Piece(text[begin:stop], True))
        at = stop
    if at < len(text):
        cut.append(Piece(text[at:], False))
    return cut


def differing(one: str, other: str, judgement: Judgement | None = None) -> Difference:
    """Compare two texts: by the evidence of a judgement, else word by word.

    Parameters
    ----------
    one, other : str
        The earlier text and the later one, which the judgement relates to it.
    """
    told = [found for found in (judgement.evidence if judgement else ()) if _is_difference(found)]
    # A stretch that is the whole text marks nothing.
    old = [found.other for found in told if found.other and found.other != (0, len(one))]
    new = [found.own for found in told if found.own and found.own != (0, len(other))]
    if old or new:
        lines = [line for found in told if (line := _line(found.own_text, found.other_text))]
    else:
        old, new, lines = _by_words(one, other)
    return Difference(pieces(one, old), pieces(other, new), lines)


def _is_difference(line: Evidence) -> bool:
    return line.finding not in _SAME


def _line(new: str, old: str) -> str:
    """Say a difference in words, for who sees no marks; empty: there is none."""
    if new and old:
        return f"{new} instead of {old}"
    if new or old:
        return f"only in the {'right' if new else 'left'} text: {new or old}"
    return ""


def _by_words(one: str, other: str) -> tuple[list[Span], list[Span], list[str]]:
    """Compare two texts word by word; nothing is marked where they are too long.

    Texts that have much in common in the same order are aligned. Of others each word counts that
    the other text does not have.
    """
    spans = [[match.span() for match in _WORD.finditer(text)] for text in (one, other)]
    if max(map(len, spans)) > limits.WORDS_COMPARED_MAX:
        return [], [], []
    words = [
        [text[start:end] for start, end in found]
        for text, found in zip((one, other), spans, strict=True)
    ]
    matcher = difflib.SequenceMatcher(None, words[0], words[1], autojunk=False)
    if matcher.ratio() < ALIGNED_FROM:
        return _lacking(one, other, spans, words)
    old: list[Span] = []
    new: list[Span] = []
    lines = []
    for kind, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        if kind == "equal":
            continue
        if a_from < a_to:
            old.append((spans[0][a_from][0], spans[0][a_to - 1][1]))
        if b_from < b_to:
            new.append((spans[1][b_from][0], spans[1][b_to - 1][1]))
        told = slice(*new[-1]) if b_from < b_to else slice(0)
        before = slice(*old[-1]) if a_from < a_to else slice(0)
        lines.append(_line(other[told], one[before]))
    return old, new, lines


def _lacking(
    one: str, other: str, spans: list[list[Span]], words: list[list[str]]
) -> tuple[list[Span], list[Span], list[str]]:
    """Mark the words of each text that the other one does not have, in runs."""
    known = [{word.casefold() for word in found} for found in words]
    runs: list[list[Span]] = [[], []]
    for side, text in enumerate((one, other)):
        run: list[Span] = []
        for span, word in zip(spans[side], words[side], strict=True):
            if word.casefold() in known[1 - side] or not word[0].isalnum():
                run = []
                continue
            if run:
                runs[side].pop()
            run.append(span)
            runs[side].append((run[0][0], span[1]))
        if "".join(text[start:end] for start, end in runs[side]) == text:
            runs[side] = []
    lines = [_line(other[start:end], "") for start, end in runs[1]]
    lines += [_line("", one[start:end]) for start, end in runs[0]]
    return runs[0], runs[1], lines
