"""Texts of memories as parts of a page: escaped, with a language, with what differs marked."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup, escape

from totonoe.cli.text import age
from totonoe.console import limits
from totonoe.enums import Finding
from totonoe.memories.models import Judgement
from totonoe.unprintable import STEERING, line_feeds

Span = tuple[int, int]
"""Start and end in characters."""

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
    exact = time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(exact, age(time))


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


def differing(one: str, other: str, judgement: Judgement | None = None) -> tuple[list[Piece], ...]:
    """Cut two texts at what differs: by the evidence of a judgement, else word by word.

    Parameters
    ----------
    one, other : str
        The earlier text and the later one, which the judgement relates to it.
    """
    evidence = judgement.evidence if judgement else ()
    told = [found for found in evidence if found.finding not in _SAME]
    spans = (
        [found.other for found in told if found.other and found.other != (0, len(one))],
        [found.own for found in told if found.own and found.own != (0, len(other))],
    )
    if not any(spans):
        spans = _by_words(one, other)
    return pieces(one, spans[0]), pieces(other, spans[1])


def _by_words(one: str, other: str) -> tuple[list[Span], list[Span]]:
    """Compare two texts word by word; nothing is marked where they are too long, or all differs."""
    words = [[match.span() for match in _WORD.finditer(text)] for text in (one, other)]
    if max(map(len, words)) > limits.WORDS_COMPARED_MAX:
        return [], []
    named = [
        [text[start:end] for start, end in found]
        for text, found in zip((one, other), words, strict=True)
    ]
    matcher = difflib.SequenceMatcher(None, named[0], named[1], autojunk=False)
    spans: tuple[list[Span], list[Span]] = ([], [])
    matched = 0
    for kind, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        if kind == "equal":
            matched += a_to - a_from
            continue
        for side, first, last in ((0, a_from, a_to), (1, b_from, b_to)):
            if first < last:
                spans[side].append((words[side][first][0], words[side][last - 1][1]))
    return spans if matched else ([], [])


def in_words(cut: Sequence[Piece], other: Sequence[Piece]) -> list[str]:
    """Return what differs in words: "5433 instead of 5434", for who sees no marks.

    Parameters
    ----------
    cut, other
        Pieces of the later text, and of the earlier one.
    """
    new = [piece.text for piece in cut if piece.differs]
    old = [piece.text for piece in other if piece.differs]
    if len(new) == len(old):
        return [f"{now} instead of {before}" for now, before in zip(new, old, strict=True)]
    return [
        *(f"only in the right text: {text}" for text in new),
        *(f"only in the left text: {text}" for text in old),
    ]
