"""Chinese wordings that say the same, brought to one before roles are read.

What frames a question or request without saying anything ("may I ask", "who can tell me") goes;
"is A good or is B good" and "what good films are there" get the order of the plain question.
"""

from __future__ import annotations

from totonoe_core.text.reading.chinese.grammar import Kind, words
from totonoe_core.text.reading.chinese.token import Token

KEPT = frozenset(
    (
        Kind.NOUN,
        Kind.PERSON,
        Kind.TIME,
        Kind.VALUE,
        Kind.ASK,
        Kind.DETERMINER,
        Kind.VERB,
        Kind.ADJECTIVE,
        Kind.ADVERB,
        Kind.LOCALIZER,
        Kind.COMPLEMENT,
    )
)

_OPENINGS = """
我想问一下 我想问下 我想问 我想知道 想问一下 想问下 想问问 想问 想知道 问一下 问下 问问 请问一下
请问下 请问 请教一下 请教
有谁知道 谁知道 谁能告诉我 谁可以告诉我 有没有人知道 有人知道 有没有谁知道 你知道 你知不知道
你能告诉我 能告诉我 能不能告诉我
可以告诉我 你可以告诉我 请告诉我 你告诉我 告诉我 跟我说说 说说 你说 说一下 哪位知道 大家知道
谁了解 有谁了解 请问你知道 你了解
帮我 请帮我 帮忙 帮帮忙 你帮我 麻烦帮我 麻烦你帮我 能帮我 你能帮我 可以帮我 你可以帮我
能不能帮我 你能不能帮我 可不可以帮我 你可不可以帮我 能否帮我 你能否帮我 帮个忙
求 急求 跪求 请 麻烦 麻烦你 请你 请您 拜托 给我 请给我 你给我 能给我 谁能给 谁能给我 谁给我
可以给我 有人给我 有谁给我 谁能 谁来 请大家 谁有 哪位有 求问 求教 那么 那
大家 大神 各位 高手 亲们 亲 朋友们 各位朋友 哥们 兄弟们 同志们 话说 请推荐 求推荐
推荐一下 推荐 求助 急 你好 您好 请给
"""

_CLOSINGS = """
谢谢 谢谢了 谢谢大家 谢谢各位 多谢 求解答 求解 求大神 求大神解答 求大师解答 求大师解答解答
求高手解答 求助 急 急急 急急急 急用 急求 在线等
请教 求告知 求指教 请指教 求帮助 求推荐 请回答 请解答 解答一下 求回答 谁知道 有谁知道 有人知道吗
谁能告诉我 告诉我 谢啦 拜托 拜托了 好吗
求大家帮忙 帮帮忙 帮忙 帮忙看看 怎么办呢谢谢 辛苦了 辛苦 求指点 请指点 高手帮忙 你知道吗 知道吗
求介绍 求高人指点 各位大神 大神 亲 哦亲
"""

_OPENING = words(_OPENINGS)

_CLOSING = words(_CLOSINGS)

_FRAME_MAX_WORDS = 6

_SEEKS = words("找 寻 来 找找")

_COUNTED = frozenset((Kind.VALUE, Kind.MEASURE, Kind.ASK))

_AFTERTHOUGHTS = words("求 推荐 介绍 谢谢")

_ASKS_TO_KNOW = ("告诉我", "知道", "想问")

_ASKS_HELP = ("帮我", "帮忙", "给我")

_WISHES = (
    "找一",
    "找几",
    "找个",
    "寻",
    "求",
    "急求",
    "跪求",
    "谁有",
    "哪位有",
    "谁能给",
    "谁给",
    "有谁给",
    "谁推荐",
    "求推荐",
)


_LATE = words("你 我 他 她 你们 他们")


def subject_first(tokens: list[Token]) -> list[Token]:
    """ "Is cold, ah, you" as "you are cold": a subject that comes as an afterthought."""
    last = next((n for n in range(len(tokens) - 1, -1, -1) if tokens[n].kind is not Kind.BREAK), 0)
    if last < 2 or tokens[last].word not in _LATE:
        return tokens
    if tokens[last - 1].kind not in (Kind.EMPTY, Kind.QUESTION):
        return tokens
    first = last - 1
    while first > 0 and tokens[first - 1].kind is not Kind.BREAK:
        first -= 1
    return [*tokens[:first], tokens[last], *tokens[first:last], *tokens[last + 1 :]]


def without_name(tokens: list[Token]) -> list[Token]:
    """ "Whose name is what" and "is called what name" as "is called what"."""
    words = [t.word for t in tokens]
    for at in range(1, len(tokens) - 1):
        if words[at] != "叫" and not (words[at] == "是" and words[at - 1] == "名字"):
            continue
        if words[at + 1] != "什么":
            continue
        if at + 2 < len(tokens) and words[at + 2] == "名字":
            return tokens[: at + 2] + tokens[at + 3 :]
        if words[at - 1] == "名字":
            tokens[at].word, tokens[at].kind = "叫", Kind.VERB
            start = at - 1
            if start and tokens[start - 1].kind is Kind.OF:
                start -= 1
            return tokens[:start] + tokens[at:]
    return tokens


def unframed(plain: str, tokens: list[Token]) -> tuple[list[Token], bool]:
    """Without what only says that somebody asks, wishes or thanks.

    A frame that is all there is stays: then it is what the text says. The flag tells whether
    something is wished for, which asks nothing.
    """
    clauses: list[list[Token]] = [[]]
    for token in tokens:
        clauses[-1].append(token)
        if token.kind is Kind.BREAK or token.word in "?吗么":
            clauses.append([])
    kept: list[Token] = []
    helped = False
    for clause in clauses:
        content = [t for t in clause if t.kind not in (Kind.BREAK, Kind.QUESTION, Kind.EMPTY)]
        if content and plain[content[0].start : content[-1].end] in _CLOSING:
            continue
        shortened = _opened(plain, clause)
        dropped = clause[: len(clause) - len(shortened)]
        if dropped and plain[dropped[0].start : dropped[-1].end].endswith(_ASKS_HELP):
            helped = True
        kept.extend(shortened)
    opened = plain.lstrip()
    wishes = (opened.startswith(_WISHES) or helped) and not any(
        t.kind is Kind.ASK and t.word not in ("谁", "几") for t in kept
    )
    if any(t.kind in KEPT for t in kept):
        return kept, wishes
    return tokens, wishes


def _opened(plain: str, clause: list[Token]) -> list[Token]:
    at = 0
    for _ in range(3):
        for length in range(min(_FRAME_MAX_WORDS, len(clause) - at - 1), 0, -1):
            words = clause[at : at + length]
            rest = clause[at + length :]
            frame = plain[words[0].start : words[-1].end]
            if frame.endswith(_ASKS_TO_KNOW) and not any(
                t.kind in (Kind.ASK, Kind.QUESTION) or t.asks for t in rest
            ):
                continue
            if (frame in _OPENING or (frame in _SEEKS and rest[0].kind in _COUNTED)) and any(
                t.kind in KEPT for t in rest
            ):
                at += length
                break
        else:
            break
    kept = clause[at:]
    last = next((t for t in reversed(kept) if t.kind not in (Kind.BREAK, Kind.EMPTY)), None)
    if last is not None and last is not kept[0] and last.word in _AFTERTHOUGHTS:
        kept.remove(last)
    return kept
