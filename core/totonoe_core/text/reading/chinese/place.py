"""Chinese words that are one only together: 好不好, 打不开, 看看, 老王; and what asks or denies."""

from __future__ import annotations

from totonoe_core.text.reading.chinese.grammar import Kind, words
from totonoe_core.text.reading.chinese.token import Token

_THINGS = frozenset((Kind.NOUN, Kind.PERSON, Kind.VALUE, Kind.DETERMINER, Kind.ASK))


def settled(tokens: list[Token]) -> list[Token]:
    """Join what is one word in several tokens, and tell what asks or denies where it stands."""
    out: list[Token] = []
    count = len(tokens)
    at = 0
    while at < count:
        token = tokens[at]
        previous = out[-1] if out else None
        following = tokens[at + 1] if at + 1 < count else None
        if (
            token.word in ("不", "没")
            and previous is not None
            and following is not None
            and previous.word[:1] == following.word[:1]
            and following.word.startswith(previous.word)
        ):
            # 好不好, 喜不喜欢: asks, denies nothing.
            following.asks = True
            out.pop()
            out.append(following)
            at += 2
            continue
        _place(token, previous, following)
        if previous is not None and previous.kind is Kind.VERB and _repeats(previous, token):
            previous.end = token.end  # 看看, 看一看
        else:
            out.append(token)
        at += 1
    _ask_nothing(out)
    return out


def _ask_nothing(tokens: list[Token]) -> None:
    """Clear what means all of them: 谁都, 不管多少."""
    whatever = False
    for at, token in enumerate(tokens):
        whatever = token.kind is not Kind.BREAK and (whatever or token.value == "无论")
        behind = (one.word in ("都", "也") for one in tokens[at + 1 : at + 3])
        if token.kind is Kind.ASK and (whatever or any(behind)):
            token.asks = False


def _repeats(previous: Token, token: Token) -> bool:
    return token.kind is Kind.VERB and token.word == previous.word


_OPEN_CHOICE = words("是否 能否 可否 会不会 能不能 可不可以")


def _place(token: Token, previous: Token | None, following: Token | None) -> None:
    """Tell "there is none" from "not", and what asks from what only would elsewhere."""
    before = previous.kind if previous is not None else Kind.BREAK
    after = following.kind if following is not None else Kind.BREAK
    if token.word in ("没有", "没", "无") and after in _THINGS:
        token.word, token.kind, token.value, token.negated = "有", Kind.VERB, "", True
    elif token.word in ("是不是", "是否") and after in _THINGS:
        token.kind, token.asks = Kind.COPULA, True
    elif token.word == "还是" or (token.word in _OPEN_CHOICE and before is Kind.VERB):
        token.kind, token.asks = Kind.EMPTY, False  # 还是很慢, 评估是否回滚
    elif token.kind is Kind.ASK and (token.word == "几" or (previous and previous.negated)):
        token.asks = False  # 那几个, 没有哪一次
