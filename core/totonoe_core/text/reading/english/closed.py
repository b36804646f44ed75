"""Closed classes of English: articles, pronouns, auxiliaries, quantifiers, and kinds of words
that the grammar treats in their own way.
"""

from __future__ import annotations

from totonoe_core.text.lexicon import Grammar


def listed(words: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(words.split())


GRAMMAR = Grammar("en")
"""The lists of lexicon/en/grammar.txt."""

# Tags. Closed classes have one of these; open ones get N M V G D A R (see tags).
CLOSED = GRAMMAR.keys("closed")

PREPOSITIONS = GRAMMAR.keys("prepositions")

PREPOSITIONS_AS_WORDS = GRAMMAR.pairs("prepositions with a contrary")
"""Prepositions that say something by themselves, with their contrary."""

PRONOUNS = GRAMMAR.keys("pronouns")
PERSONS = frozenset({"i", "you", "he", "she", "we", "they"})

QUANTIFIERS = GRAMMAR.keys("quantifiers")
"""Word to quantifier key. 'someone', 'everybody' also stand for a person (see PERSON_WORDS)."""
PERSON_WORDS = listed("everyone everybody someone somebody anyone anybody nobody none") - {"none"}
SOMEBODY = listed("someone somebody anyone anybody")
THING_WORDS = listed("everything something anything nothing")


BE = listed("am is are was were be been being")
HAVE = listed("have has had having")
DO = listed("do does did")
OPTIONAL = "optional"
"""Modality of what is no duty, where the denial stands before "have to": not that of "must not"."""
MODALS = GRAMMAR.pairs("modals")
PAST_FORMS = listed("was were had did")
FUTURE_FORMS = frozenset({"will", "shall"})

_TENSES, _DENYING = GRAMMAR.keys("tense of another verb"), GRAMMAR.words("denies another verb")
CATENATIVES = {
    lemma: (modality, _TENSES.get(lemma, ""), lemma in _DENYING)
    for lemma, modality in GRAMMAR.keys("before another verb").items()
}
"""Verbs before another verb that say how it holds: lemma to modality, tense, and whether denied."""
GERUND_DENIERS = frozenset({"stop", "avoid", "quit", "cease", "refrain", "prevent", "discontinue"})
REPORTING = GRAMMAR.words("reporting")

POINTING = listed("the this that these those")
"""Before a noun that means certain things, so that one is not many."""
PLURALS = GRAMMAR.words("plurals")
TIME_NOUNS = GRAMMAR.words("times")
EITHER_OR = GRAMMAR.words("either or")
"""Properties without degrees: "not unavailable" is available."""
TITLES = GRAMMAR.words("titles")
