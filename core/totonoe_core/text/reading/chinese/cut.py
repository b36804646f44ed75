"""A Chinese text cut into tokens that know where in the text they stand.

Values, titles and foreign names are masked by one private character each, so that the segmenter
sees a sentence with a hole of the right shape and can tear nothing in them.
"""

from __future__ import annotations

import re

from totonoe_core.text.reading.chinese.grammar import Kind
from totonoe_core.text.reading.chinese.place import settled
from totonoe_core.text.reading.chinese.script import simplify
from totonoe_core.text.reading.chinese.token import Token, make_token
from totonoe_core.text.reading.chinese.words import class_of, segmenter, word_parts
from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values.find import find_values

_HOLE = "\ue000"
Spans = list[tuple[int, int]]

_TITLE = re.compile(r"《([^《》]{1,60})》")

# What is asked the meaning of is a mention: its characters count, not what they say.
_MENTION = re.compile(
    r"(?:^|(?<=[,，。?？!！\s]))([^,，。?？!！\s]{1,30}?)(?=(?:这个词|一词|这句话)?(?:是|的)?(?:什么|啥)意思)"
)

# An escape of a pattern: in another case it says the contrary.
_ESCAPE = re.compile(r"\\[A-Za-z]")

# Characters that names from other languages are written with.
_SOUNDS = (
    "阿埃艾爱安昂奥巴白班邦包保贝本比彼毕宾波伯勃博布采查昌茨达大戴丹当道德登邓迪狄蒂丁东杜敦顿多厄恩尔法范菲费芬丰佛夫弗福"
    "富盖甘冈高戈哥格葛贡古瓜哈海汉豪赫黑亨洪胡华怀惠霍基吉季加贾简杰津金卡凯坎康考科柯可克肯孔库夸奎昆拉莱赖兰朗劳勒雷黎里理"
    "丽利莉立连列林琳留刘龙卢鲁路露伦罗洛马玛迈麦曼芒毛梅门蒙米密明摩莫墨默姆木穆拿纳娜南内尼妮涅宁纽农努诺欧帕潘佩彭皮平蒲普"
    "齐奇契乔切琴琼曲热仁日荣茹儒瑞若萨塞赛桑瑟森莎沙珊尚绍舍申圣施什石史士世舒斯丝苏孙索塔泰坦汤唐陶特腾提廷图托瓦万旺威韦维"
    "卫魏温文翁沃乌武伍西希锡席夏香肖谢辛欣兴休修雪逊雅亚延扬杨耶叶伊易因英尤于雨约泽扎詹张珍芝治朱佐"
)

_FOREIGN = re.compile(f"[{_SOUNDS}]{{1,8}}(?:[·・•‧][{_SOUNDS}]{{1,8}}){{1,4}}")


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
            hole = by_start.get(spans[start][0])
            if hole is not None:
                tokens.append(hole)
            continue
        for part, part_tag, offset in word_parts(word, tag):
            begin = spans[start + offset][0]
            end = spans[start + offset + len(part) - 1][1]
            tokens.append(make_token(begin, end, part, class_of(part, part_tag)))
    return settled(tokens)


def _holes(text: str, plain: str) -> list[Token]:
    """Values, titles and foreign names, which the segmenter must not tear."""
    holes = [
        Token(
            found.start,
            found.end,
            found.key,
            Kind.VALUE,
            type=found.type,
            # "One" before a measure word is the indefinite article.
            light=found.type is PieceType.NUMBER and found.key == "1" and "一" in text,
        )
        for found in find_values(text, "zh")
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
    for match in (*_TITLE.finditer(plain), *_foreign_names(plain), *_mentions(plain)):
        start, end = match.span()
        if not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            name = match.group(1) if match.re is _TITLE else _one_dot(match.group())
            holes.append(Token(start, end, name.lower(), Kind.NOUN, type=PieceType.NAME))
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


def _foreign_names(plain: str) -> list[re.Match[str]]:
    return list(_FOREIGN.finditer(plain)) if "·" in plain or "・" in plain else []


def _mentions(plain: str) -> list[re.Match[str]]:
    return [*_MENTION.finditer(plain)] if "意思" in plain else []


def _one_dot(name: str) -> str:
    return re.sub("[・•‧]", "·", name)


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
