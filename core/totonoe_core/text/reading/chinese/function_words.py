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
_PAIRED = {"因为", "if"}
"""A clause and its main clause may both have such a word: 因为 ... 所以."""
_CONJUNCTIONS = words("因为 if unless or 虽然 然后 无论 等")
_EXPERIENCED = words("过 曾经 曾 刚才 刚刚 刚")
_UNASKED = words("can should if")
_COUNTED = (Kind.TENSE, Kind.EMPTY, Kind.AND, Kind.LINK)
_TENSES = {"done": "past", "past": "past", "future": "future"}


def function_words(tokens: list[Token], asks_openly: bool) -> tuple[FunctionWord, ...]:
    """Return the function words that count, in text order.

    Parameters
    ----------
    tokens : list of Token
        With their parts assigned.
    asks_openly : bool
        An open question: "what can I" asks for the same as "what do I".
    """
    found = [*_relations(tokens), *_unsaid(tokens, asks_openly)]
    once: dict[str, FunctionWord] = {}
    for word in sorted(found, key=lambda word: word.start):
        if word.key in _PAIRED:
            once.setdefault(word.key, word)
    kept = [word for word in found if word.key not in _PAIRED or once[word.key] is word]
    return tuple(sorted(kept, key=lambda word: (word.start, word.key)))


def _word(token: Token, key: str) -> FunctionWord:
    key = _EQUAL.get(key, key)
    kind = FunctionKind.CONJUNCTION if key in _CONJUNCTIONS else FunctionKind.RELATION
    return FunctionWord(token.start, token.end, key, kind)


def _unsaid(tokens: list[Token], asks_openly: bool) -> Iterator[FunctionWord]:
    """Yield what is neither a piece nor said by one, but for prepositions."""
    pieces = [token for token in tokens if token.kind in KEPT]
    modalities = Counter(token.modality for token in pieces)
    tenses = Counter(token.tense for token in pieces)
    denials = [token for token in tokens if token.kind is Kind.NOT and token.value != "yes"]
    if (len(denials) - sum(token.negated for token in pieces)) % 2 and denials:
        yield _word(denials[-1], "不")
    for token in tokens:
        if token.kind is Kind.MODAL:
            if modalities[token.value]:
                modalities[token.value] -= 1
            elif not (asks_openly and token.value in _UNASKED):
                yield _word(token, token.value)
        elif token.kind is Kind.TENSE and token.value:
            if token.word in _EXPERIENCED:
                yield _word(token, token.word)
            elif token.word not in IGNORED and not tenses[_TENSES[token.value]]:
                yield _word(token, token.value)
        elif token.kind in _COUNTED and token.word not in IGNORED:
            yield _word(token, token.value or token.word)


def _relations(tokens: list[Token]) -> Iterator[FunctionWord]:
    """Yield the prepositions, but for those of a time."""
    for at, token in enumerate(tokens):
        timed = token.value in _BEFORE_TIMES and _time_follows(tokens, at)
        if token.kind is Kind.PREPOSITION and not timed:
            yield _word(token, token.value)


def _time_follows(tokens: list[Token], at: int) -> bool:
    """Return whether a date or a time of day is near behind a preposition."""
    return any(is_time(token) or token.value == "时" for token in tokens[at + 1 : at + 8])
