"""Fixed expressions of English that a reader takes as one word, or leaves out.

They are in lexicon/en/expressions.txt, by tag (see `tags`): P prepositions, Q quantifiers, R
adverbs, C and S conjunctions, X modals, - negators. Matching is by form or lemma, longest first.
"""

from __future__ import annotations

from totonoe_core.text.lexicon import Grammar

_LISTS = Grammar("en", "expressions")
LIGHT_VERBS = _LISTS.words("light verbs")
"""First words of expressions that are verbs ("take a look")."""
EXPRESSIONS = {
    "" if tag == "nothing" else tag: _LISTS.pairs(tag)
    for tag in _LISTS.lines
    if tag != "light verbs"
}
"""By tag: each expression with the word that it stands for; under "" those that say nothing."""
