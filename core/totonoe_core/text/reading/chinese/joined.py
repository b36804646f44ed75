"""Words of a Chinese text that the segmenter leaves in two: 机器人甲, 王姐, 老王, 校验器."""

from __future__ import annotations

from totonoe_core.text.reading.chinese.grammar import GRAMMAR, Kind, words
from totonoe_core.text.reading.chinese.token import Token
from totonoe_core.text.reading.chinese.words import known
from totonoe_core.text.reading.model import PieceType

_SURNAMES = frozenset(
    " "
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈"
    " "
    "姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)

_TITLES = words(
    "姐 哥 工 总 叔 姨 嫂 董 师傅 老师 经理 主任 医生 先生 女士 小姐 同学 阿姨 叔叔 "
    "教练 教授 律师 店长 组长 队长"
)

# What makes one noun with the word before.
_NOUN_ENDS = words("器 率 仪 池 端 页 版 层 员 区 费 卡 券 单")

_NUMBERED = words("甲 乙 丙 丁")


def joins(previous: Token, token: Token, following: Token | None) -> bool:
    """Take the token into the one before: 机器人甲, 王姐, 最多, 校验器."""
    if previous.end != token.start:
        return False
    if token.word in _NUMBERED and previous.kind in (Kind.NOUN, Kind.PERSON):
        previous.type = PieceType.NAME
    elif token.word in _TITLES and len(previous.word) == 1 and previous.word in _SURNAMES:
        previous.kind, previous.type = Kind.PERSON, PieceType.NAME
    elif (
        token.word in _NOUN_ENDS
        and len(previous.word) == 2
        and previous.kind in (Kind.VERB, Kind.NOUN)
        and token.kind in (Kind.NOUN, Kind.MEASURE)
    ):
        previous.kind = Kind.NOUN
    elif (
        previous.word == "最"
        and token.word in ("多", "少")
        and following is not None
        and following.kind in (Kind.VALUE, Kind.VERB)
    ):
        previous.word, previous.end = ("至多" if token.word == "多" else "至少"), token.end
        previous.kind, previous.type = Kind.DETERMINER, PieceType.QUANTIFIER
        return True
    else:
        return False
    previous.word += token.word
    previous.end = token.end
    return True


def is_little_name(token: Token, following: Token | None) -> bool:
    """老王, 小李, 阿强: a name, also where the segmenter drew the surname to what follows."""
    if token.word not in ("老", "小", "阿") or following is None or following.start != token.end:
        return False
    if following.word[0] not in _SURNAMES:
        return False
    return len(following.word) == 1 or (
        len(following.word) == 2 and following.word[1] in GRAMMAR and not known(following.word)
    )
