"""Noun phrases of a Chinese sentence: which word belongs to which."""

from __future__ import annotations

from dataclasses import dataclass, field

from totonoe_core.text.reading.chinese.grammar import PRONOUNS, Kind, words
from totonoe_core.text.reading.chinese.token import Token
from totonoe_core.text.reading.model import PieceType, Role

NOMINAL = frozenset((Kind.NOUN, Kind.PERSON, Kind.TIME, Kind.VALUE, Kind.ASK, Kind.DETERMINER))

ASKS_ADVERB = words("怎么 哪里 为什么 什么时候 多久 怎么样 怎么办")

_WHEN = frozenset((PieceType.DATE, PieceType.TIME))

# With the same symmetric word at its side, 和 stands between two doers; with these it does not.
_SPEAKING = words("说 讲 聊 谈 告诉 道歉 学 要 借 联系 打招呼 表白 说话 请教")

_BEFORE_ALL = frozenset((Kind.ADJECTIVE, Kind.ASK, Kind.DETERMINER, Kind.LOCALIZER))

_SORTS = words("牌子 品牌 型号 类型 种类 款式 颜色 尺寸")


@dataclass(slots=True)
class Phrase:
    heads: list[Token]
    role: str = ""
    owner: Phrase | None = None
    """The phrase it turned out to belong to."""
    inner: list[Token] = field(default_factory=list)
    """All tokens of the phrase."""


def acts(token: Token) -> bool:
    return token.kind is Kind.VERB or token.tag[:1] == "v"


def noun_phrase(tokens: list[Token], at: int) -> tuple[Phrase, int]:
    """A noun phrase from `at` on, its inner roles assigned, and where it ends."""
    heads: list[Token] = []
    chunk: list[Token] = []
    bound: list[Token] = []  # heads before 的, waiting for the noun they belong to
    shared: list[Token] = []  # those that found it
    start = at
    # "At home users" are two phrases, "at the user's" one.
    placed = at > 0 and tokens[at - 1].kind is Kind.PREPOSITION and tokens[at - 1].value == "在"

    def close() -> None:
        nonlocal bound
        nouns = [t for t in chunk if t.kind is not Kind.LOCALIZER]
        if not nouns:
            return
        head = nouns[-1]
        # In a compound each noun belongs to the next, as it would with 的 between them.
        link = head
        for other in reversed(chunk):
            if other is not head:
                other.role = Role.MODIFIER
                other.head = head if other.kind in _BEFORE_ALL else link
            if other.kind in (Kind.NOUN, Kind.PERSON):
                link = other
        for other in bound:
            other.role = Role.MODIFIER
            shared.append(other)
            noun = other.kind in (Kind.NOUN, Kind.PERSON) and other.word not in _SORTS
            other.head = link if noun else head
        bound = []
        heads.append(head)
        chunk.clear()

    count = len(tokens)
    while at < count:
        token = tokens[at]
        kind = token.kind
        if kind in NOMINAL or (kind is Kind.ADJECTIVE and modifies(tokens, at)):
            if kind is Kind.ASK and (chunk or token.word in ASKS_ADVERB) and chunk:
                break
            if kind is Kind.ASK and token.word in ASKS_ADVERB and at > start and not bound:
                break
            if chunk and (_starts_anew(chunk[-1], token) or (placed and kind is Kind.PERSON)):
                break
            chunk.append(token)
        elif kind is Kind.LOCALIZER and chunk:
            if token.word in ("时", "时候"):
                break
            token.word = token.value or token.word
            token.light = token.word == "上"
            if token.word != "里":
                chunk.append(token)
            else:
                token.kind = Kind.EMPTY
        elif kind is Kind.MEASURE:
            pass
        elif kind is Kind.OF and (chunk or heads):
            if not noun_after(tokens, at - 1):
                at += 1
                break
            close()
            bound.extend(heads)
            heads.clear()
            shared.clear()
        elif kind in (Kind.AND, Kind.LIST) and chunk and _noun_at(tokens, at + 1):
            if token.word in ("和", "跟", "同") and _speaks(tokens, at + 1):
                token.kind, token.value = Kind.PREPOSITION, "跟"
                break
            close()
        else:
            break
        at += 1
    close()
    end = max(at, start + 1)
    if len(heads) > 1:
        # What belongs to all items of a row is given to one of them, whatever their order.
        first = min(heads, key=lambda head: head.word)
        for other in shared:
            if other.head in heads:
                other.head = first
    for head in heads:
        head.group = tokens[start].start
    return Phrase(heads, inner=tokens[start:end]), end


def _starts_anew(before: Token, token: Token) -> bool:
    """Two nouns side by side that are no compound."""
    if is_time(token) != is_time(before) and before.kind is not Kind.DETERMINER:
        return True
    if token.kind is Kind.VALUE and before.word in PRONOUNS:
        return True
    if token.kind is Kind.PERSON and token.word in PRONOUNS:
        return (
            before.kind is not Kind.DETERMINER
            and before.kind is not Kind.ADJECTIVE
            and (before.kind is not Kind.VALUE)
        )
    return before.kind is Kind.ASK and token.kind is Kind.DETERMINER


def is_time(token: Token) -> bool:
    return token.kind is Kind.TIME or token.type in _WHEN


def relative_ahead(tokens: list[Token], at: int) -> bool:
    """A verb and then 的 follow: the phrase is inside a relative clause."""
    for position in range(at, min(at + 8, len(tokens))):
        kind = tokens[position].kind
        if kind is Kind.OF:
            return position > at and noun_after(tokens, position - 1)
        if kind is Kind.BREAK:
            return False
    return False


def gather_which(waiting: list[Phrase]) -> None:
    """ "Of the restaurants, which is good" asks which restaurant is good; so with sorts."""
    if len(waiting) < 2 or waiting[-1].role or waiting[-2].role or len(waiting[-1].heads) != 1:
        return
    last = waiting[-1].heads[0]
    if len(waiting[-2].heads) > 1:
        waiting[-2].role = Role.TOPIC
        last.light = True
        return
    if last.word in ("哪个", "哪些") or last.word in _SORTS:
        last.role, last.head = Role.MODIFIER, waiting[-2].heads[-1]
        waiting.pop()


def belongs(phrase: Phrase, owner: Phrase) -> None:
    link = owner.heads[0]
    first = min(
        (t for t in owner.inner if t.kind in (Kind.NOUN, Kind.PERSON)),
        key=lambda t: t.start,
        default=link,
    )
    for head in phrase.heads:
        head.role, head.head = Role.MODIFIER, first


def next_token(tokens: list[Token], at: int) -> Token | None:
    """The next token that is no aspect or complement."""
    for token in tokens[at + 1 : at + 4]:
        if token.kind not in (Kind.TENSE, Kind.COMPLEMENT):
            return token
    return None


def _noun_at(tokens: list[Token], at: int) -> bool:
    return at < len(tokens) and (
        tokens[at].kind in NOMINAL or (tokens[at].kind is Kind.ADJECTIVE and modifies(tokens, at))
    )


def noun_after(tokens: list[Token], at: int) -> bool:
    """A noun stands behind the 的 that follows."""
    for position in range(at + 1, min(at + 5, len(tokens))):
        if tokens[position].kind is Kind.OF:
            return _noun_at(tokens, position + 1)
    return False


def modifies(tokens: list[Token], at: int) -> bool:
    """An adjective before a noun or 的 and a noun."""
    if at + 1 >= len(tokens):
        return False
    following = tokens[at + 1].kind
    if following is Kind.OF:
        return _noun_at(tokens, at + 2)
    return following is Kind.NOUN and tokens[at + 1].start == tokens[at].end


def predicate_ahead(tokens: list[Token], at: int) -> bool:
    for token in tokens[at : at + 16]:
        if token.kind is Kind.BREAK:
            return False
        if token.kind in (Kind.VERB, Kind.ADJECTIVE) or token.word in ("怎么办", "怎么样"):
            return True
    return False


def says_more(tokens: list[Token], at: int) -> bool:
    return any(
        t.kind not in (Kind.BREAK, Kind.QUESTION, Kind.EMPTY, Kind.OF) for t in tokens[at : at + 3]
    )


def _speaks(tokens: list[Token], at: int) -> bool:
    """Behind 和 stand one person and a verb of speaking: who speaks to whom matters."""
    for token in tokens[at : at + 4]:
        if token.kind is Kind.VERB:
            return token.word in _SPEAKING
        if token.kind in (Kind.BREAK, Kind.OF):
            return False
    return False
