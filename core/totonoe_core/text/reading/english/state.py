"""What is known of a text in the middle of being read, clause by clause."""

from __future__ import annotations

from totonoe_core.text.reading.english.closed import listed
from totonoe_core.text.reading.english.tokens import Token
from totonoe_core.text.reading.model import Role

NOMINAL = frozenset("TQA#NMO$")
"""Tags of what may stand in a noun phrase."""
POSTURES = listed("stand sit lie rest")
"""With a place, these say little more than that something is there."""
PLACED = listed("position locate situate place dress clothe seat park display set")
"""Verbs that only say that something is somewhere."""


class Clause:
    """What has been found of one clause so far. Indexes are of tokens; -1 is none."""

    __slots__ = (
        "agents",
        "be",
        "complement",
        "course",
        "denials",
        "kind",
        "link",
        "modality",
        "noun",
        "objects",
        "passive",
        "perfect",
        "predicate",
        "subjects",
        "tense",
    )

    def __init__(self, kind: str, noun: int = -1, link: str = ""):
        self.kind = kind
        self.noun = noun
        self.link = link
        self.predicate = -1
        self.complement = -1
        self.subjects: list[int] = []
        self.objects: list[int] = []
        self.agents: list[int] = []
        self.denials = 0
        self.modality = ""
        self.tense = ""
        self.passive = self.be = self.perfect = self.course = False


class State:
    """Roles, heads and scopes by token index, and where the pass stands."""

    def __init__(self, tokens: list[Token]):
        self.tokens = tokens
        count = len(tokens)
        self.role = [""] * count
        self.head = [-1] * count
        self.denied = [0] * count
        self.modality = [""] * count
        self.tense = [""] * count
        self.kept = [False] * count
        self.light = [False] * count
        self.form = [""] * count
        self.carried: set[int] = set()
        """Function words that the part of another token says: "by" before an actor."""
        self.group = list(range(count))
        self.clauses: list[Clause] = []
        self.asks = False
        self.orders = False
        self._stack: list[Clause] = []
        self._prep = ""
        self._prep_at = -1
        self._noun = -1
        self._noun_end = -1
        self._joined = False
        self._existential = False

    def _open(self, clause: Clause) -> Clause:
        self.clauses.append(clause)
        self._stack.append(clause)
        return clause

    @property
    def _here(self) -> Clause:
        return self._stack[-1]

    def _modify(self, modifier: int, head: int) -> None:
        self.role[modifier] = Role.MODIFIER
        word = self.tokens[modifier].word
        if (
            word is not None
            and self.tokens[modifier].tag == "A"
            and self.tokens[modifier].lemma == word.verb
        ) and ("D" in word.forms or "G" in word.forms):
            self.role[modifier] = Role.PREDICATE
        self.head[modifier] = head
        if self.tokens[head].lemma == "allergy" and self.tokens[modifier].tag == "N":
            self.role[modifier] = "prep:to"

    def _last_content(self, at: int) -> int:
        at -= 1
        while at >= 0 and self.tokens[at].tag in "R-":
            at -= 1
        return at

    def _next_content(self, at: int) -> Token | None:
        at += 1
        while at < len(self.tokens) and self.tokens[at].tag in "R-":
            if self.tokens[at].form == "no":
                return self.tokens[at]
            at += 1
        return self.tokens[at] if at < len(self.tokens) else None

    def _subject_of(self, clause: Clause) -> int:
        if clause.subjects:
            return clause.subjects[0]
        return clause.noun if clause.kind in ("rel", "part") else -1

    def _next_clause(self) -> Clause:
        """The clause to which a further verb belongs: an outer one that waits, or a joined one."""
        while len(self._stack) > 1:
            self._stack.pop()
            outer = self._here
            if outer.predicate < 0 and outer.complement < 0:
                return outer
        here = self._here
        clause = Clause("main")
        clause.subjects = list(here.subjects)
        self._stack[0] = clause
        self.clauses.append(clause)
        return clause

    def _new_main(self) -> None:
        while len(self._stack) > 1:
            self._stack.pop()
        self._stack[0] = Clause("main")
        self.clauses.append(self._stack[0])
        self._prep = ""

    def _set_predicate(self, at: int, clause: Clause) -> int:
        clause.predicate = at
        self.kept[at] = True
        self._prep = ""
        self._existential = False
        return at + 1

    def _list_goes_on(self, at: int) -> bool:
        """Whether noun phrases and commas lead from `at` to an "and" or "or"."""
        for token in self.tokens[at : at + 24]:
            if token.tag == "C":
                return True
            if token.tag not in NOMINAL and token.tag not in ",'PR":
                return False
        return False

    def _adverb_in_phrase(self, at: int) -> bool:
        following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        return following is not None and following.tag in "A#Q"

    def _adverb(self, at: int) -> None:
        self.kept[at] = True
        self.role[at] = Role.ADVERB
        here = self._here
        self.head[at] = -2 if here.predicate < 0 else here.predicate
        if self.head[at] == -2:
            here.objects.append(-1 - at)  # told its head when the clause closes
