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

PREPOSITIONS_AS_WORDS = {
    "before": "after",
    "after": "before",
    "under": "over",
    "over": "under",
    "against": "for",
    "outside": "in",
    "behind": "in front of",
    "in front of": "behind",
    "off": "on",
    "up": "down",
    "down": "up",
    "out": "in",
    "out of": "in",
    "except": "with",
    "unlike": "like",
    "despite": "because of",
}
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
MODALS = {
    "can": "can",
    "could": "can",
    "cannot": "can",
    "may": "may",
    "might": "may",
    "must": "must",
    "have to": "must",
    "need not": OPTIONAL,
    "should": "should",
    "ought": "should",
    "shall": "",
    "will": "",
    "would": "would",
}
PAST_FORMS = listed("was were had did")
FUTURE_FORMS = frozenset({"will", "shall"})

# Verbs before another verb that say how it holds: lemma -> (modality, tense, negates)
CATENATIVES: dict[str, tuple[str, str, bool]] = {
    **dict.fromkeys(("want", "wish", "desire", "hope", "would like"), ("want", "", False)),
    **dict.fromkeys(("plan", "intend", "aim", "mean"), ("plan", "", False)),
    **dict.fromkeys(("try", "attempt", "seek", "strive", "struggle"), ("try", "", False)),
    **dict.fromkeys(("need", "have", "require", "oblige", "force", "got"), ("must", "", False)),
    **dict.fromkeys(("seem", "appear", "tend"), ("seem", "", False)),
    **dict.fromkeys(("able", "capable", "possible"), ("able", "", False)),
    "allow": ("allowed", "", False),
    "manage": ("", "", False),
    **dict.fromkeys(
        ("necessary", "require", "essential", "mandatory", "obligatory", "compulsory"),
        ("must", "", False),
    ),
    **dict.fromkeys(("advisable", "best"), ("should", "", False)),
    "impossible": ("able", "", True),
    **dict.fromkeys(("suppose", "recommend", "advise"), ("should", "", False)),
    **dict.fromkeys(("likely",), ("may", "", False)),
    "go": ("", "future", False),
    "about": ("", "future", False),
    "use": ("", "past", False),
    **dict.fromkeys(("fail", "neglect", "omit"), ("", "", True)),
    **dict.fromkeys(("refuse", "decline"), ("refuse", "", True)),
    "unable": ("able", "", True),
    "forget": ("forget", "", True),
}
GERUND_DENIERS = frozenset({"stop", "avoid", "quit", "cease", "refrain", "prevent", "discontinue"})
REPORTING = GRAMMAR.words("reporting")

POINTING = listed("the this that these those")
"""Before a noun that means certain things, so that one is not many."""
PLURALS = GRAMMAR.words("plurals")
TIME_NOUNS = GRAMMAR.words("times")
EITHER_OR = GRAMMAR.words("either or")
"""What is so or is not, with nothing between: "not unavailable" is available."""
TITLES = GRAMMAR.words("titles")
