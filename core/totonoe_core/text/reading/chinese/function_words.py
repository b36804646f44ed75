"""Function words of Chinese whose meaning no piece carries, and those that may be ignored.

What is no piece counts, unless it stands on the closed list below, or a piece says it: its role,
modality, tense or denial. 的, 得, measures, the copula, 被, 把 and marks only bind what pieces say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from totonoe_core.text.reading.chinese.grammar import KEPT, LISTS, Kind, words
from totonoe_core.text.reading.chinese.roles import is_time
from totonoe_core.text.reading.chinese.token import Token
from totonoe_core.text.reading.model import FunctionKind, FunctionWord

IGNORED = LISTS.keys("ignored")
"""Function words that another wording may leave out, each with the reason."""

_BEFORE_TIMES = words("在 当")
"""Said before a date or a time of day, or left out."""
_EQUAL = LISTS.keys("equal")
_PAIRED = ("因为", "if")
"""A clause and its main clause may both have such a word: 因为 ... 所以."""
_CONJUNCTIONS = words("因为 if unless or 虽然 然后 无论 等")
_EXPERIENCED = words("过 曾经 曾 刚才 刚刚 刚")
_COUNTED = (Kind.TENSE, Kind.EMPTY, Kind.AND)


def function_words(tokens: list[Token]) -> tuple[FunctionWord, ...]:
    """Return the function words that count, in text order.

    Parameters
    ----------
    tokens : list of Token
        With their parts assigned.
    """
    words = sorted(_counted(tokens), key=lambda word: (word.start, word.key))
    first = {word.key: word for word in reversed(words)}
    return tuple(word for word in words if word.key not in _PAIRED or word is first[word.key])


def _word(token: Token, key: str) -> FunctionWord:
    key = _EQUAL.get(key, key)
    kind = FunctionKind.CONJUNCTION if key in _CONJUNCTIONS else FunctionKind.RELATION
    return FunctionWord(token.start, token.end, key, kind)


def _counted(tokens: list[Token]) -> Iterator[FunctionWord]:
    """Yield what is neither a piece nor said by one."""
    pieces = [token for token in tokens if token.kind in KEPT]
    modalities = Counter(token.modality for token in pieces)
    tenses = Counter(token.tense for token in pieces)
    denials = [token for token in tokens if token.kind is Kind.NOT]
    if (len(denials) - sum(token.negated for token in pieces)) % 2 and denials:
        yield _word(denials[-1], "不")
    for at, token in enumerate(tokens):
        if token.kind is Kind.MODAL:
            if modalities[token.value]:
                modalities[token.value] -= 1
            else:
                yield _word(token, token.value)
        elif token.kind is Kind.TENSE and token.value:
            experienced = token.word in _EXPERIENCED
            if experienced or not (token.word in IGNORED or tenses[token.value]):
                yield _word(token, token.word if experienced else token.value)
        elif token.kind is Kind.PREPOSITION:
            near = tokens[at + 1 : at + 8] if token.value in _BEFORE_TIMES else ()
            if not any(is_time(neighbour) or neighbour.value == "时" for neighbour in near):
                yield _word(token, token.value)
        elif token.kind in _COUNTED and token.word not in IGNORED:
            yield _word(token, token.value or token.word)
