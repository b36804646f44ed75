"""Function words of Japanese and what they say about the word before them.

All in the base spelling of `words`: ず and ん are ない, ます is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from totonoe_core.text.lexicon import Grammar

_T = TypeVar("_T")


def words_of(text: str) -> frozenset[str]:
    """The words of a text that spaces separate."""
    return frozenset(text.split())


LISTS: Final = Grammar("ja")
"""The lists of lexicon/ja/grammar.txt."""
_EXPRESSIONS: Final = Grammar("ja", "expressions")

FLAGS: Final = words_of("passive past asks orders")
"""Marks of an `Effect` that a phrase has a field for; the others are links."""


class Effect(NamedTuple):
    """The meaning of an expression behind a predicate."""

    flips: bool = False
    """Denies what stands before it."""
    modality: str = ""
    mark: str = ""
    """past, passive, orders, asks, or a link to what follows: te, if, because, but, quote."""
    aspect: str = ""
    """How it goes on (ている, てしまう): the key of a function word."""


def _effect(said: str) -> Effect:
    """Return the effect that a line names: "not, modality must, mark past, aspect ている"."""
    parts = dict(part.split(" ", 1) for part in said.split(", ") if " " in part)
    return Effect("not" in said.split(", "), **parts)


class Table(Generic[_T]):
    """Expressions of several function words, and what each means.

    Attributes
    ----------
    inside, final : dict of tuple of str
        By words: those that stand anywhere, and those that must end a sentence (END).
    sizes : dict of str
        Count of words of the longest expression that begins with a word.
    """

    def __init__(self, lines: Sequence[str], value_of: Callable[[str], _T]) -> None:
        self.inside: dict[tuple[str, ...], _T] = {}
        self.final: dict[tuple[str, ...], _T] = {}
        self.sizes: dict[str, int] = {}
        for line in lines:
            expressions, _, said = line.partition("=")
            value = value_of(said.strip())
            for expression in expressions.split("|"):
                parts = tuple(expression.split())
                ends = parts[-1] == "END"
                parts = parts[:-1] if ends else parts
                (self.final if ends else self.inside).setdefault(parts, value)
                self.sizes[parts[0]] = max(self.sizes.get(parts[0], 0), len(parts))


AFTER_PREDICATE: Final = Table(_EXPRESSIONS.lines["after a predicate"], _effect)

CASES: Final = Table(_EXPRESSIONS.lines["cases"], str)
"""Several particles and bleached verbs that together are one case particle."""

SAME_CASE: Final = {"へ": "に", "にて": "で", "の": "の"}


LIGHT_VERBS: Final = LISTS.words("light verbs")

HONORIFICS: Final = LISTS.words("honorifics")

DEMONSTRATIVES: Final = LISTS.words("demonstratives")
"""Stand where other languages have an article."""

EMPTY_NOUNS: Final = LISTS.words("empty nouns")
"""Nouns that only make a noun of the clause before them."""

MODAL_NOUNS: Final = LISTS.keys("modal nouns")
"""Endings that change the action before them: "must", or "not must"."""

PEOPLE: Final = LISTS.words("people")
PEOPLE_END: Final = LISTS.words("people end")

AROUND: Final = LISTS.words("around")
"""Nouns that say when, of the clause or action before them."""

TIMES: Final = LISTS.words("times")
"""Nouns that say when, with に or without."""
