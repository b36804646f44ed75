"""One word of a Chinese text, and what it is to the grammar by itself."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.chinese.grammar import (
    ADVERBS,
    GRAMMAR,
    HOW_OFTEN,
    PERSONS,
    PRONOUNS,
    QUANTIFIERS,
    QUESTIONS,
    Kind,
    words,
)
from totonoe_core.text.reading.chinese.words import is_listed, known
from totonoe_core.text.reading.model import PieceType

_BREAKS = frozenset("，。！？；：,.!?;:\n\r…—~～|【】[]{}<>()（）")

_A_NOT_A = re.compile(r"([一-鿿]{1,2})(?:不|没)\1")

_ADJECTIVES = words(
    "好 坏 大 小 多 少 高 低 快 慢 新 旧 贵 便宜 漂亮 美丽 好看 好吃 好玩 好用 好听 好喝 有名 "
    "厉害 可爱 难 "
    "容易 简单 合适 重要 安全 危险 正常 可用 稳定 远 近 长 短 热 冷 累 忙 饿 困 胖 瘦 真 假 "
    "美 丑 帅 香 甜"
)

_RESULTS = "懂清见完好到掉开起动住成上下了着得"

_NOUNS = words("联想 首都 真伪 汽车 牌子 品牌")

ABOUT = words("近 约 左右 上下 大概")

VERBS = words(
    "有 喜欢 爱 去 来 做 买 卖 吃 喝 看 听 说 写 玩 叫 给 用 在 到 学 找 开 关 毕业 管理 工作 "
    "学习"
    "部署 升级 发布 备份 删除 使用 上课 出生 死 死于 生于 出生于 领导 打败 击败 超过 清理 清除 "
    "重启 启动 "
    "停止 关闭 打开 安装 卸载 更新 修复 测试 检查 监控 配置 创建 修改 添加 移除 上传 下载 导入 "
    "导出 同步 "
    "合并 提交 回滚 迁移 扫描 验证 登录 退出 注册 启用 禁用 运行 执行 调用 调试 编译 保存 加载 "
    "读取 写入 "
    "发送 接收 连接 断开 播放 暂停 设置 改进"
)


@dataclass(slots=True)
class Token:
    """One word of the text, with what grammar makes of it."""

    start: int
    end: int
    word: str
    """In simplified script, half width, lower case."""
    kind: Kind
    value: str = ""
    """What the kind needs: the preposition, the modality, the question word's representative."""
    type: PieceType = PieceType.WORD
    tag: str = ""
    """The segmenter's word class."""
    light: bool = False
    existential: bool = True
    """有 without an owner: there is."""
    negated: bool = False
    modality: str = ""
    tense: str = ""
    role: str = ""
    head: Token | None = None
    asks: bool = False
    group: int = -1
    """Start of the phrase whose head it is: items of one row share it."""


def make_token(start: int, end: int, word: str, tag: str) -> Token:
    """A token by the word alone; what depends on the place is `settled`'s."""
    low = word.lower()
    if low in QUESTIONS:
        return Token(start, end, QUESTIONS[low], Kind.ASK, asks=True, tag="r")
    if low in PRONOUNS:
        kind = Kind.DETERMINER if low[0] in "这那此该" else Kind.PERSON
        return Token(start, end, PRONOUNS[low], kind)
    if low in ABOUT:
        return Token(start, end, low, Kind.ADJECTIVE)
    if low in QUANTIFIERS:
        adverb = tag[:1] == "d" or QUANTIFIERS[low] in HOW_OFTEN
        kind = Kind.ADVERB if adverb else Kind.DETERMINER
        return Token(start, end, QUANTIFIERS[low], kind, type=PieceType.QUANTIFIER)
    if low in GRAMMAR:
        kind, value = GRAMMAR[low]
        if value == "remember":
            # "Do not forget to" is "remember to".
            return Token(start, end, "记得", kind)
        return Token(start, end, low, kind, value)
    if low in _BREAKS or (len(low) == 1 and unicodedata.category(low)[0] in "PSC"):
        question = Kind.QUESTION if low in "?？" else Kind.BREAK
        return Token(start, end, low, question if low in "?？" else Kind.BREAK)
    if tag[:1] == "v" and (
        (len(low) == 2 and low[0] == low[1])
        or (len(low) == 3 and low[0] == low[2] and low[1] in "一了")
    ):
        return Token(start, end, low[0], Kind.VERB, tag="v")  # 试试, 试一试: no more than 试
    matched = _A_NOT_A.fullmatch(low)
    if matched:
        return Token(start, end, matched.group(1), Kind.VERB, asks=True)
    if (
        len(low) == 3
        and low[1] in "不得"
        and tag[:1] in "vldi"
        and (low[2] in _RESULTS or known(low[0] + low[2]))
    ):
        # 打不开, 打得开: what can be done or not.
        verb = Token(start, end, low[0] + low[2], Kind.VERB, tag="v", modality="can")
        verb.negated = low[1] == "不"
        return verb
    return _content(start, end, low, tag)


def _content(start: int, end: int, word: str, tag: str) -> Token:
    first = tag[:1]
    if word.isascii():
        known = is_listed(word)
        return Token(start, end, word, Kind.NOUN, type=PieceType.WORD if known else PieceType.NAME)
    if tag.startswith("nr") and len(word) > 1:
        return Token(start, end, word, Kind.PERSON, type=PieceType.NAME)
    if tag[:2] in ("ns", "nt", "nz") and len(word) > 1 and not is_listed(word):
        return Token(start, end, word, Kind.NOUN, type=PieceType.NAME)
    kind = Kind.NOUN
    if (first == "v" and tag != "vn") or tag == "vn":
        kind = Kind.VERB
    elif first in ("a", "z") and tag not in ("an", "zg"):
        kind = Kind.ADJECTIVE
    elif first == "d":
        kind = Kind.ADVERB
    elif first == "t":
        kind = Kind.TIME
    elif first in ("l", "i") and len(word) > 2:
        kind = Kind.VERB
    if first == "p" or word in PERSONS or lexicon("zh").key(word) in PERSONS:
        kind = Kind.PERSON
    if kind is not Kind.ADJECTIVE and word in _ADJECTIVES:
        kind = Kind.ADJECTIVE
    if word in _NOUNS:
        kind = Kind.NOUN
    if word in ADVERBS:
        kind = Kind.ADVERB
    if word in VERBS:
        kind = Kind.VERB
    return Token(start, end, word, kind, tag=tag)
