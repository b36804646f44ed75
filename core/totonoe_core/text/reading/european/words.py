"""Grammar words and endings of German, French, Spanish, Portuguese, Italian and Russian.

They are in lexicon/LANG/grammar.txt, a heading for each attribute of `Tongue`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from totonoe_core.text.lexicon import Grammar


@dataclass(frozen=True, slots=True)
class Tongue:
    """Words of one European language, as its reader needs them."""

    articles: frozenset[str]
    article_forms: dict[str, str]
    """By an article the form of its noun (`Piece.form`)."""
    kept: frozenset[str]
    """Prepositions, pronouns, conjunctions: pieces as they stand, which no negation denies."""
    contracted: dict[str, str]
    """Preposition and article in one word, elided forms: the word they stand for."""
    auxiliaries: dict[str, str]
    """Forms of "to be" and the like: what they say of the next verb, "past", "1", "past 3p"."""
    have: dict[str, str]
    """Auxiliaries of the perfect: they make the next participle past; alone they are verbs."""
    not_: frozenset[str]
    none: frozenset[str]
    """Negating determiners: they deny their noun."""
    quantifiers: dict[str, str]
    asking: frozenset[str]
    """Words with which only a question begins."""
    infinitive: re.Pattern[str]
    participle: re.Pattern[str]
    past: re.Pattern[str]
    future: re.Pattern[str]
    persons: re.Pattern[str]
    """Ending of a finite verb; the name of the group that matches is the person. Only where
    the subject may be left out."""


LANGUAGES = ("de", "fr", "es", "pt", "it", "ru")


@cache
def tongue_of(language: str) -> Tongue:
    """Return the words of a language, read on first use."""
    lists = Grammar(language)

    def pattern(heading: str) -> re.Pattern[str]:
        (line,) = lists.lines[heading]
        return re.compile(line)

    return Tongue(
        articles=lists.words("articles"),
        article_forms=lists.keys("article forms"),
        kept=lists.words("kept"),
        contracted=lists.keys("contracted"),
        auxiliaries=lists.keys("auxiliaries"),
        have=lists.keys("have"),
        not_=lists.words("not"),
        none=lists.words("none"),
        quantifiers=lists.keys("quantifiers"),
        asking=lists.words("asking"),
        infinitive=pattern("infinitive"),
        participle=pattern("participle"),
        past=pattern("past"),
        future=pattern("future"),
        persons=pattern("persons"),
    )
