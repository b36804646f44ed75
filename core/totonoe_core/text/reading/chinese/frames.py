"""Chinese wordings that say the same, brought to one before roles are read.

What frames a question or request without saying anything ("may I ask", "who can tell me") goes;
"is A good or is B good" and "what good films are there" get the order of the plain question.
"""

from __future__ import annotations

from totonoe_core.text.reading.chinese.grammar import LISTS, Kind, words
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


_OPENING = LISTS.words("framing")

_CLOSING = LISTS.words("framed")

_FRAME_MAX_WORDS = 6

_SEEKS = words("找 寻 来 找找")

_COUNTED = frozenset((Kind.VALUE, Kind.MEASURE, Kind.ASK))

_AFTERTHOUGHTS = words("求 推荐 介绍 谢谢")

_ASKS_TO_KNOW = ("告诉我", "知道", "想问")

_ASKS_HELP = ("帮我", "帮忙", "给我")

_WISHES = tuple(sorted(LISTS.words("wishes")))


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
