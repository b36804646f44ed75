"""Tagged English tokens to clauses: who does what to whom, what belongs to what.

One pass from left to right with a small stack of clauses (main, subordinate, relative,
participle). Where two readings are possible, the head stays unknown instead of guessed.

    state     what is known so far
    times     when something is
    phrases   nouns, adjectives, denials
    verbs     verbs and auxiliaries
    closing   parts given at the end of a clause
"""

from __future__ import annotations

from totonoe_core.text.reading.english import closed, words
from totonoe_core.text.reading.english.state import NOMINAL, Clause
from totonoe_core.text.reading.english.tokens import Token
from totonoe_core.text.reading.english.verbs import Verbs
from totonoe_core.text.reading.model import Role

_LINKS = {"though": "although", "till": "until", "unless": "if"}
"""Links that say the same; "unless" is an "if" with a denial."""


class Parse(Verbs):
    """Roles, heads and scopes of `tokens`, by token index."""

    def __init__(self, tokens: list[Token]):
        super().__init__(tokens)
        self._run()

    def _run(self) -> None:
        tokens = self.tokens
        at = 0
        self._open(Clause("main"))
        while at < len(tokens):
            tag = tokens[at].tag
            if tag in NOMINAL or (tag == "R" and self._adverb_in_phrase(at)):
                at = self._nominal(at)
            elif tag == "X":
                at = self._auxiliary(at)
            elif tag in "VGD":
                at = self._verb(at)
            else:
                at = self._small(at, tag)
        self._sentence_end()

    def _sentence_end(self) -> None:
        main = self._stack[0]
        # Those with a verb first: they give a subject its part.
        for clause in self.clauses:
            if clause.predicate >= 0:
                self._close(clause, main)
        for clause in self.clauses:
            if clause.predicate < 0:
                self._close(clause, main)
        self.clauses = []
        self._stack = []
        self._prep = ""
        self._noun = self._noun_end = -1
        self._joined = self._existential = False

    def _small(self, at: int, tag: str) -> int:
        token = self.tokens[at]
        if tag == ".":
            if "?" in token.form:
                self.asks = True
            self._sentence_end()
            self._open(Clause("main"))
        elif tag == ",":
            here = self._here
            told = here.predicate >= 0 or here.complement >= 0
            if len(self._stack) > 1 and told and not self._list_goes_on(at):
                self._stack.pop()
            self._prep = ""
            self._joined = True
        elif tag == "C":
            self._joined = True
        elif tag == "P":
            self._preposition(at)
        elif tag == "I":
            return self._infinitive(at)
        elif tag == "S":
            self._subordinate(at)
        elif tag == "W":
            self._relative(at)
        elif tag == "-":
            self._deny(at)
        elif tag == "R":
            self._adverb(at)
        return at + 1

    def _preposition(self, at: int) -> None:
        token = self.tokens[at]
        form = token.lemma
        if form == "unlike":
            self._prep, self._prep_at, self._joined = "like", at, False
            self.denied[at] = 1
            return
        following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        here = self._here
        if here.predicate >= 0 and (following is None or following.tag in "X.,CISP"):
            phrasal = f"{self.tokens[here.predicate].lemma} {form}"
            if words.is_listed(phrasal):  # "turn the light off"
                self.tokens[here.predicate].lemma = phrasal
                self.carried.add(at)
                return
        if form in closed.PREPOSITIONS_AS_WORDS:
            particle = following is None or following.tag in "X.,CISPR"
            contrary = form not in ("up", "down", "off", "out", "over", "in") or particle
            if contrary:
                self._adverb(at)
            if particle:
                return
        elif following is None or following.tag in "X.,CIS":
            return
        if form == "of" and at and self.tokens[at - 1].tag in "Q-":
            return  # "none of the tests"
        self._prep = closed.PREPOSITIONS.get(form, form)
        self._prep_at = at
        self._joined = False

    def _subordinate(self, at: int) -> None:
        form = self.tokens[at].lemma
        if not self._clause_follows(at):
            if form in closed.PREPOSITIONS_AS_WORDS:
                self._adverb(at)
            self._prep = "as" if form == "as" else form
            self._prep_at = at
            self._joined = False
            return
        if form in ("before", "after"):
            self.kept[at] = True
            self.role[at] = Role.ADVERB
        while len(self._stack) > 1:
            self._stack.pop()
        clause = self._open(Clause("sub", link=_LINKS.get(form, form)))
        clause.denials = int(form == "unless")
        if self.tokens[at + 1].tag in "GD":
            clause.subjects = list(self._stack[0].subjects)
        self._prep = ""
        self._noun = -1

    def _clause_follows(self, at: int) -> bool:
        for token in self.tokens[at + 1 : at + 16]:
            if token.tag in "XV":
                return True
            if token.tag in "G" and self.tokens[at + 1] is token:
                return True
            if token.tag in ".,SW":
                return False
        return False

    def _relative(self, at: int) -> None:
        token = self.tokens[at]
        before = at - 2 if at and self.tokens[at - 1].tag == "," else at - 1
        if (
            self._noun >= 0
            and self._noun_end >= before
            and token.form in ("who", "which", "that", "where", "whom")
        ):
            clause = self._open(Clause("rel", noun=self._noun))
            clause.link = token.form
            self._prep = ""
            return
        if token.form == "that":
            inner = self._open(Clause("that", link="that"))
            inner.noun = self._stack[-2].predicate
            self._prep = ""
            self._noun = -1
            return
        if at == 0 or self.tokens[at - 1].tag == ".":
            self.asks = True
        self.kept[at] = True
        self.role[at] = Role.UNKNOWN
        if not self._here.subjects and self._here.predicate < 0:
            return
        inner = self._open(Clause("that", link=token.form))
        inner.noun = self._stack[-2].predicate
