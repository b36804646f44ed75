"""Chinese words that are one only together: 好不好, 打不开, 看看, 老王; and what asks or denies."""

from __future__ import annotations

from totonoe_core.text.reading.chinese.grammar import (
    Kind,
    words,
)
from totonoe_core.text.reading.chinese.token import Token
from totonoe_core.text.reading.chinese.words import known

_THINGS = frozenset((Kind.NOUN, Kind.PERSON, Kind.VALUE, Kind.DETERMINER, Kind.ASK))

_OFFERS = words("推荐 介绍 求 找 好 这 那 给 说 写 唱 讲 来 有 了")

_REACHED = words(
    "了 到 见 掉 开 起 动 完 好 住 成 上 下 进 出 出来 出去 上来 上去 下来 下去 进来 进去 "
    "起来 过来 过去"
)


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
        if previous is not None and previous.kind is Kind.VERB:
            width = _potential(tokens, at)
            if width:
                # 下载不了, 打不开: whether it can be done.
                reached = "".join(t.word for t in tokens[at : at + width])[1:]
                if known(previous.word + reached):
                    previous.word += reached
                previous.negated ^= token.word[0] == "不"
                previous.modality = "can"
                previous.end = tokens[at + width - 1].end
                at += width
                continue
        _place(token, previous, following)
        if previous is not None and previous.kind is Kind.VERB and _repeats(previous, token):
            previous.end = token.end  # 看看, 看一看
        else:
            out.append(token)
        at += 1
    _ask_nothing(out)
    return out


_OPEN_CHOICE = words("是否 能否 可否 会不会 能不能 可不可以")


def _ask_nothing(tokens: list[Token]) -> None:
    """Clear what would ask elsewhere: 没有哪一次, 谁都, 不管多少, 那几个, 虽然 ... 还是."""
    conceded = whatever = False
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        conceded = conceded or (token.kind is Kind.LINK and token.value == "虽然")
        whatever = token.kind is not Kind.BREAK and (whatever or token.value == "无论")
        all_of_them = (one.word in ("都", "也") for one in tokens[at + 1 : at + 3])
        if token.kind is Kind.ASK and (whatever or any(all_of_them)):
            token.asks = False
        if before is None:
            continue
        if token.kind is Kind.ASK and before.word == "有" and before.negated:
            token.asks = False
        elif token.kind is Kind.ASK and token.word == "几":
            # "Recommend a few", "those few" ask for no number.
            token.asks = before.kind is not Kind.BREAK and before.word not in _OFFERS
        elif token.word in _OPEN_CHOICE and before.kind is Kind.VERB:
            token.kind, token.asks = Kind.EMPTY, False
        elif token.word == "还是":
            # "What is written is still the old one", but "the red or the blue one".
            one = before.kind is Kind.OF and not any(t.kind is Kind.OF for t in tokens[at:])
            token.asks = token.asks and not (conceded or one)


def _potential(tokens: list[Token], at: int) -> int:
    """How many tokens from `at` on say that the verb before can, or cannot, be achieved."""
    word = tokens[at].word
    if word[0] not in "不得":
        return 0
    if len(word) > 1:
        return int(word[1:] in _REACHED)
    following = tokens[at + 1].word if at + 1 < len(tokens) else ""
    return 2 if following in _REACHED and not (word == "得" and following == "好") else 0


def _repeats(previous: Token, token: Token) -> bool:
    return token.kind is Kind.VERB and token.word == previous.word and token.start == previous.end


def _place(token: Token, previous: Token | None, following: Token | None) -> None:
    """Tell "there is none" from "not", and what offers a choice from what says "still"."""
    before = previous.kind if previous is not None else Kind.BREAK
    after = following.kind if following is not None else Kind.BREAK
    if token.word in ("没有", "没", "无") and after in _THINGS:
        token.word, token.kind, token.value, token.negated = "有", Kind.VERB, "", True
    elif token.word in ("是不是", "是否") and after in _THINGS:
        token.kind, token.asks = Kind.COPULA, True
    elif token.word == "还是":
        token.kind = Kind.EMPTY
        token.asks = before not in (Kind.BREAK, Kind.PERSON)
