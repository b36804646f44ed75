"""The function words of Chinese: what a word does in a sentence when it carries no content.

`GRAMMAR` maps a word to its kind and, where the kind needs one, a value. Content words are the
lexicon's (`text/lexicon/zh`), not this module's.
"""

from __future__ import annotations

from enum import StrEnum

from totonoe_core.text.lexicon import Grammar


class Kind(StrEnum):
    """Kinds of tokens by what they do in a sentence."""

    NOUN = "noun"
    PERSON = "person"
    """A pronoun or a human being's name: the likely doer where order alone does not tell."""
    TIME = "time"
    VALUE = "value"
    ASK = "ask"
    """A question word."""
    DETERMINER = "determiner"
    """This, that, each, all: stands before a noun."""
    VERB = "verb"
    COPULA = "copula"
    ADJECTIVE = "adjective"
    ADVERB = "adverb"
    PREPOSITION = "preposition"
    LOCALIZER = "localizer"
    """Follows a noun: in, on, before."""
    OF = "of"
    """的, which binds what is before it to the noun behind it."""
    AND = "and"
    """和 or 、 between nouns."""
    NOT = "not"
    MODAL = "modal"
    TENSE = "tense"
    PASSIVE = "passive"
    OBJECT = "object"
    """把, 将: the patient follows, before its verb."""
    EMPTY = "empty"
    """Particles, politeness and connectives between clauses: no piece is made of them."""
    QUESTION = "question"
    """吗 and its like: nothing is kept but that it asks."""
    BREAK = "break"


KEPT = frozenset(
    (
        *(Kind.NOUN, Kind.PERSON, Kind.TIME, Kind.VALUE, Kind.ASK, Kind.DETERMINER, Kind.VERB),
        *(Kind.ADJECTIVE, Kind.ADVERB, Kind.LOCALIZER),
    )
)
"""Kinds of words that become pieces."""


def words(text: str) -> frozenset[str]:
    """The words of a text, apart by spaces."""
    return frozenset(text.split())


LISTS = Grammar("zh")
"""The lists of lexicon/zh/grammar.txt."""

GRAMMAR: dict[str, tuple[Kind, str]] = {
    word: (Kind(key.partition(" ")[0]), key.partition(" ")[2])
    for word, key in LISTS.keys("function words").items()
}
"""Of several groups with a word the last one wins; `cut` decides again by place."""

QUESTIONS = LISTS.keys("questions")
"""Question words to the one that stands for them."""

PRONOUNS = LISTS.keys("pronouns")

QUANTIFIERS = LISTS.keys("quantifiers")
"""How much and how often, without a figure."""
