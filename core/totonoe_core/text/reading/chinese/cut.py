"""A Chinese text cut into tokens that know where in the text they stand.

Values and titles are masked by one private character each, so that the segmenter
sees a sentence with a hole of the right shape and can tear nothing in them.
"""

from __future__ import annotations

import re

from totonoe_core.text.reading.chinese.grammar import Kind
from totonoe_core.text.reading.chinese.script import simplify
from totonoe_core.text.reading.chinese.token import Token, token_of
from totonoe_core.text.reading.chinese.words import class_of, segmenter, word_parts
from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values.find import find_values

_THINGS = (Kind.NOUN, Kind.PERSON, Kind.VALUE, Kind.DETERMINER, Kind.ASK)

_HOLE = "\ue000"
Spans = list[tuple[int, int]]

_TITLE = re.compile(r"《([^《》]{1,60})》")

# What is asked the meaning of is a mention: its characters count, not what they say.
_MENTION = re.compile(
    r"(?:^|(?<=[,，。?？!！\s]))([^,，。?？!！\s]{1,30}?)(?=(?:这个词|一词|这句话)?(?:是|的)?(?:什么|啥)意思)"
)

# An escape of a pattern: in another case it says the contrary.
_ESCAPE = re.compile(r"\\[A-Za-z]")


def cut(text: str) -> list[Token]:
    """The tokens of a text, ascending by start, without white space.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of Token
        Words in simplified script, half width and lower case; offsets are those of `text`.
    """
    plain = simplify(text)
    holes = _holes(text, plain)
    masked, spans = _mask(plain, holes)
    by_start = {hole.start: hole for hole in holes}
    tokens: list[Token] = []
    at = 0
    for word, tag in segmenter().tag(masked):
        start = at
        at += len(word)
        if word.isspace():
            continue
        if word == _HOLE:
            tokens.append(by_start[spans[start][0]])
            continue
        for part, part_tag, offset in word_parts(word, tag):
            begin = spans[start + offset][0]
            end = spans[start + offset + len(part) - 1][1]
            part = part.lower()
            tokens.append(token_of(part, class_of(part, part_tag))(begin, end))
    return _settled(tokens)


def _settled(tokens: list[Token]) -> list[Token]:
    """Join 好不好, tell "there is none" from "not", and what only looks like a question."""
    out: list[Token] = []
    for token in tokens:
        before = out[-1].word if out else ""
        if before in ("不", "没") and len(out) > 1 and token.word.startswith(out[-2].word):
            del out[-2:]
            token.asks = True  # 好不好, 喜不喜欢
        elif before in ("没有", "没", "无") and token.kind in _THINGS:
            there = out[-1]
            there.word, there.kind, there.value, there.negated = "有", Kind.VERB, "", True
            token.asks = False  # 没有哪一次
        elif token.word in ("都", "也"):
            for earlier in out[-2:]:
                earlier.asks = False  # 谁都
        out.append(token)
    return out


def _holes(text: str, plain: str) -> list[Token]:
    """Values, titles and mentions, which the segmenter must not tear."""
    holes = [
        Token(value.start, value.end, value.key, Kind.VALUE, type=value.type)
        for value in find_values(text, "zh")
    ]
    holes = _whole_words(plain, holes)
    if "\\" in plain:
        known = {hole.start for hole in holes}
        holes.extend(
            Token(*match.span(), match.group(), Kind.VALUE, type=PieceType.IDENTIFIER)
            for match in _ESCAPE.finditer(plain)
            if match.start() not in known
        )
    taken = bytearray(len(text))
    for hole in holes:
        taken[hole.start : hole.end] = b"\1" * (hole.end - hole.start)
    for match in (*_TITLE.finditer(plain), *_mentions(plain)):
        start, end = match.span()
        if not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            holes.append(Token(start, end, match.group(1).lower(), Kind.NOUN, type=PieceType.NAME))
    holes.sort(key=lambda hole: hole.start)
    return holes


def _whole_words(plain: str, holes: list[Token]) -> list[Token]:
    """Without the figures that are part of a word or name: 张三, 四 before 分别."""
    if all(plain[hole.start : hole.end].isascii() for hole in holes):
        return holes
    words: dict[int, int] = {}  # where a word begins and ends
    inside = bytearray(len(plain) + 1)
    at = 0
    for word, tag in segmenter().tag(plain):
        if len(word) > 1 and tag[:1] not in "mtqx" and not word[0].isascii():
            inside[at + 1 : at + len(word)] = b"\1" * (len(word) - 1)
            words[at] = at + len(word)
        at += len(word)
    return [
        hole
        for hole in holes
        if plain[hole.start : hole.end].isascii()
        or not (inside[hole.start] or words.get(hole.start, 0) > hole.end)
    ]


def _mentions(plain: str) -> list[re.Match[str]]:
    return [*_MENTION.finditer(plain)] if "意思" in plain else []


def _mask(plain: str, holes: list[Token]) -> tuple[str, Spans]:
    """The text with one character for each hole, and where each character stands."""
    parts: list[str] = []
    spans: Spans = []
    at = 0
    for hole in holes:
        if hole.start < at:
            continue
        parts.append(plain[at : hole.start])
        spans.extend((n, n + 1) for n in range(at, hole.start))
        parts.append(_HOLE)
        spans.append((hole.start, hole.end))
        at = hole.end
    parts.append(plain[at:])
    spans.extend((n, n + 1) for n in range(at, len(plain)))
    return "".join(parts), spans
