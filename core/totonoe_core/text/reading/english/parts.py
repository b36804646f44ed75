"""Parts of an English sentence, by what stands beside a word.

One pass from left to right over tagged tokens, clause by clause: who stands before the verb acts,
who stands behind it is acted on, a preposition names the part of the noun behind it. What cannot
be told keeps the role "" or no head, and is compared by its place.
"""

from __future__ import annotations

from totonoe_core.text.reading.english import closed, words
from totonoe_core.text.reading.english.closed import (
    BE,
    DO,
    FUTURE_FORMS,
    HAVE,
    MODALS,
    PAST_FORMS,
)
from totonoe_core.text.reading.english.tags import is_plural
from totonoe_core.text.reading.english.tokens import Token
from totonoe_core.text.reading.model import PieceType, Role

NOMINAL = frozenset("TQA#NMO$")
"""Tags of what may stand in a noun phrase."""
_DATIVE = closed.GRAMMAR.words("to whom")
_LINKS = {"though": "although", "till": "until", "unless": "if"}
"""Links that say the same; "unless" is an "if" with a denial."""
_AHEAD_MAX = 20


class _Clause:
    """Parts of one clause that were found so far. Indexes are of tokens; -1 is none.

    Attributes
    ----------
    kind : str
        main, sub, that, to, rel, part (a participle) or ger (a gerund).
    noun : int
        What a relative clause or participle is said of; the verb that governs a "that" or "to".
    adjuncts : list of int
        What belongs to the predicate wherever that stands.
    outer : _Clause or None
        The clause around it, which still waits for its verb.
    """

    def __init__(
        self, kind: str, noun: int = -1, link: str = "", outer: _Clause | None = None
    ) -> None:
        self.kind, self.noun, self.link, self.outer = kind, noun, link, outer
        self.predicate = self.complement = -1
        self.subjects: list[int] = []
        self.objects: list[int] = []
        self.agents: list[int] = []
        self.adjuncts: list[int] = []
        self.denials = 0
        self.modality = self.tense = ""
        self.passive = self.be = self.perfect = self.course = False

    @property
    def told(self) -> bool:
        """Return whether the clause has said what it says of its subject."""
        return self.predicate >= 0 or self.complement >= 0


class Parse:
    """Roles, heads and scopes of tokens, by their index.

    Attributes
    ----------
    carried : set of int
        Function words that the part of another token says: "by" before an actor.
    group : list of int
        Phrases joined by "and" have one number.
    """

    def __init__(self, tokens: list[Token]) -> None:
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
        self.group = list(range(count))
        self.carried: set[int] = set()
        self.asks = self.orders = False
        self._begin()
        at = 0
        while at < count:
            at = self._step(at, tokens[at].tag)
        self._end_sentence()

    def _begin(self) -> None:
        self._here = _Clause("main")
        self._clauses = [self._here]
        self._prep, self._prep_at = "", -1
        self._noun = self._noun_end = -1
        self._joined = self._existential = False

    def _step(self, at: int, tag: str) -> int:
        """Read what begins at a token; return where the next begins."""
        if tag in NOMINAL or (tag == "R" and self._tag(at + 1) in {"A", "#", "Q"}):
            return self._nominal(at)
        if tag == "X":
            return self._auxiliary(at)
        if tag in "VGD":
            return self._verb(at)
        if tag == "I":
            return self._infinitive(at)
        if tag == ".":
            self.asks |= "?" in self.tokens[at].form
            self._end_sentence()
            self._begin()
        elif tag in ",C":
            outer = self._here.outer
            if tag == "," and self._here.told and outer is not None and not outer.told:
                self._here = outer
            self._prep, self._joined = "" if tag == "," else self._prep, True
        elif tag == "P":
            self._preposition(at)
        elif tag == "S":
            self._subordinate(at)
        elif tag == "W":
            self._relative(at)
        elif tag == "-":
            self._deny(at)
        elif tag == "R":
            self._adverb(at)
        return at + 1

    def _tag(self, at: int) -> str:
        return self.tokens[at].tag if 0 <= at < len(self.tokens) else "."

    def _open(self, clause: _Clause) -> _Clause:
        self._clauses.append(clause)
        self._here = clause
        self._prep = ""
        return clause

    def _next_clause(self) -> _Clause:
        """Return the clause to which a further verb belongs: one that waits, or a joined one."""
        here = self._here
        if here.outer is not None and not here.outer.told:
            self._here = here.outer
            return here.outer
        clause = self._open(_Clause("main" if here.kind in ("rel", "part") else here.kind))
        clause.link, clause.noun, clause.subjects = here.link, here.noun, list(here.subjects)
        return clause

    def _last_content(self, at: int) -> int:
        at -= 1
        while at >= 0 and self.tokens[at].tag in "R-":
            at -= 1
        return at

    def _next_content(self, at: int) -> str:
        """Return the tag of the next token that is neither an adverb nor a negator."""
        at += 1
        while self._tag(at) in ("R", "-") and self.tokens[at].form != "no":
            at += 1
        return self._tag(at)

    def _adverb(self, at: int) -> None:
        self.kept[at] = True
        self.role[at] = Role.ADVERB
        self._here.adjuncts.append(at)

    # -- Noun phrases

    def _nominal(self, at: int) -> int:
        head, stop, bare = self._phrase(at)
        if head < 0:
            return max(stop, at + 1)
        back = at - 1
        while back >= 0 and self.tokens[back].tag in ("-", "R"):
            self.denied[head] += self.denied[back]
            self.denied[back] = 0
            back -= 1
        if back >= 0 and self.tokens[back].form in ("without", "unlike"):
            self.denied[head] += self.denied[back]
        if bare and not self._prep:
            self._describe(head)
        else:
            self._place(head, at, stop)
        return stop

    def _phrase(self, at: int) -> tuple[int, int, bool]:
        """Return head and end of a noun phrase, and whether it has only adjectives."""
        pending, head, pointed = list[int](), -1, False
        while at < len(self.tokens):
            token = self.tokens[at]
            tag = token.tag
            if tag in "NM#":
                if head >= 0 and (
                    self._is_time(at) != self._is_time(head)
                    or (tag == "#" and self._tag(at + 1) in {"N", "M", "A"})
                ):
                    break
                self.kept[at] = True
                if tag == "#" and (head >= 0 or self._tag(at + 1) in {"N", "M", "A"}):
                    if head < 0 and self._time_alone(at):
                        return at, at + 1, False
                    pending.append(at)
                else:
                    pending += [head] if head >= 0 else []
                    head = at
            elif tag == "'" and head >= 0:
                pending.append(head)
                head, pointed = -1, True
            elif head >= 0:
                break
            elif tag == "O":
                return self._pronoun(at, pending)
            elif tag in "$QA":
                self.kept[at] = True
                pending.append(at)
                pointed |= tag == "$"
                if self._stands_alone(at):
                    head, at = pending.pop(), at + 1
                    break
            elif tag == "R" and self._tag(at + 1) in {"A", "#", "Q"}:
                self.kept[at] = True
                self.role[at], self.head[at] = Role.ADVERB, at + 1
            elif tag == "T" or (
                tag in "C," and pending and self._tag(at - 1) == self._tag(at + 1) == "A"
            ):
                pointed |= token.form in closed.POINTING
            else:
                break
            at += 1
        return self._headed(head, pending, pointed, at)

    def _headed(
        self, head: int, pending: list[int], pointed: bool, stop: int
    ) -> tuple[int, int, bool]:
        """End a noun phrase: without a noun its last word is the head."""
        bare = head < 0 and bool(pending) and self.tokens[pending[-1]].tag in "AQ"
        if head < 0 and pending:
            head = pending.pop()
        elif head >= 0 and pointed and self.tokens[head].tag == "N":
            self.form[head] = "many" if is_plural(self.tokens[head]) else "one"
        for modifier in pending:
            self._modify(modifier, head)
        return head, stop, bare

    def _stands_alone(self, at: int) -> bool:
        """Return whether a quantifier is a noun by itself: everybody. Read what "my" says."""
        token = self.tokens[at]
        if token.tag == "$":
            token.lemma = closed.PRONOUNS.get(token.form, token.form)
            # "His" and "its" repeat what the text names; "my" says whose.
            self.light[at] = token.lemma not in ("i", "we")
        elif token.form in closed.SOMEBODY:
            token.lemma, token.tag, self.light[at] = "person", "N", True
        return token.form in closed.PERSON_WORDS or token.form in closed.THING_WORDS

    def _pronoun(self, at: int, pending: list[int]) -> tuple[int, int, bool]:
        """Read a pronoun; "one" behind an adjective stands for a noun."""
        token = self.tokens[at]
        if pending and token.form in ("one", "ones"):
            token.lemma, token.tag = "one", "N"
        elif pending or token.form not in closed.PRONOUNS:
            return self._headed(-1, pending, False, at) if pending else (-1, at + 1, False)
        else:
            token.lemma = closed.PRONOUNS[token.form]
        self.kept[at] = True
        self.light[at] = token.lemma in ("it", "one")
        for modifier in pending:
            self._modify(modifier, at)
        return at, at + 1, False

    def _modify(self, modifier: int, head: int) -> None:
        self.role[modifier], self.head[modifier] = Role.MODIFIER, head
        token = self.tokens[modifier]
        verbal = token.tag == "A" and not {"D", "G"}.isdisjoint(token.forms())
        if verbal and token.word is not None and token.lemma == token.word.verb:
            self.role[modifier] = Role.PREDICATE

    def _is_time(self, at: int) -> bool:
        token = self.tokens[at]
        if token.value is not None:
            return token.value.type in (PieceType.DATE, PieceType.TIME)
        return token.tag == "N" and token.lemma in closed.TIME_NOUNS

    def _time_alone(self, at: int) -> bool:
        """Return whether a date is no modifier of the noun behind it ("the 9:30 train")."""
        if not self._is_time(at) or self._tag(at - 1) in {"T", "$", "Q", "A"}:
            return False
        return bool(self._prep) or self._tag(at - 1) in (".", ",")

    def _describe(self, head: int) -> None:
        """Say an adjective of the subject, or of the noun before it."""
        here = self._here
        subject = here.subjects[-1] if here.subjects else here.noun
        if here.predicate >= 0 and self.tokens[head].form.endswith("ly"):
            self._adverb(head)  # "runs daily"
            return
        self.role[head] = Role.MODIFIER
        if here.predicate >= 0:
            self.head[head] = subject if here.be else here.predicate
            return
        self.head[head] = subject
        self._complete(here, head)

    def _complete(self, here: _Clause, head: int) -> None:
        """Take what a clause without a verb of its own says: its denial, modality and tense."""
        here.complement = head
        self.denied[head] += here.denials
        here.denials = 0
        self.modality[head], self.tense[head] = here.modality, here.tense

    def _place(self, head: int, start: int, stop: int) -> None:
        """Give a noun phrase its part in the clause."""
        here, noun = self._here, self._noun
        finite = self._tag(stop) in ("X", "V")
        if self._joined and self._tag(start - 1) in ("C", ","):
            if finite and (here.told or here.be):
                self._open(_Clause("main"))
            elif noun >= 0 and (self._tag(start - 1) == "C" or self._list_goes_on(stop)):
                self.role[head], self.head[head] = self.role[noun], self.head[noun]
                self.group[head] = self.group[noun]
                self.denied[head] += self.denied[noun]
                for row in (here.subjects, here.objects, here.agents, here.adjuncts):
                    if noun in row:
                        row.append(head)
                self._noun, self._noun_end = head, stop - 1
                return
        elif finite and (here.told or here.be) and not self._prep and not self._existential:
            self._open(_Clause("that", here.predicate, "that"))  # "he said it works"
        self._attach(head, stop)

    def _list_goes_on(self, at: int) -> bool:
        """Return whether noun phrases and commas lead to an "and" or "or"."""
        for token in self.tokens[at : at + _AHEAD_MAX]:
            if token.tag == "C" or (token.tag not in NOMINAL and token.tag not in ",'PR"):
                return token.tag == "C"
        return False

    def _attach(self, head: int, stop: int) -> None:
        here, noun = self._here, self._noun
        prep, self._prep = self._prep, ""
        if self._is_time(head) and prep in ("", "in", "on", "at", "during", "over"):
            opens = not here.subjects and not here.be
            if prep or here.told or (opens and self._tag(stop) in NOMINAL | {","}):
                value = self.tokens[head].value
                clock = value is not None and value.type is PieceType.TIME
                self.role[head] = "prep:at" if clock else "prep:on"
                here.adjuncts.append(head)
                return
        self._noun, self._noun_end = head, stop - 1
        if prep == "of" and noun >= 0:
            self.carried.add(self._prep_at)
            self._modify(head, noun)
        elif prep == "by" and here.passive:
            here.agents.append(head)
            self.carried.add(self._prep_at)
        elif prep:
            self.role[head] = "prep:" + prep
            if here.be and not here.told and here.subjects and not self._existential:
                self.head[head] = here.subjects[0]
                self.denied[head] += here.denials
                here.denials = 0
            elif noun >= 0 and not here.told:
                self.head[head] = noun
            else:
                here.adjuncts.append(head)
        elif here.predicate >= 0:
            here.objects.append(head)
        elif here.be and here.subjects and not self._existential:
            self.role[head], self.head[head] = Role.PREDICATE, here.subjects[0]
            self._complete(here, head)
        else:
            here.subjects.append(head)

    # -- Verbs

    def _set_predicate(self, at: int, clause: _Clause) -> int:
        clause.predicate = at
        self.kept[at] = True
        self._prep, self._joined, self._existential = "", False, False
        return at + 1

    def _auxiliary(self, at: int) -> int:
        token, here = self.tokens[at], self._here
        form = token.lemma
        if here.told:
            here = self._next_clause()
        elif not here.subjects and here.kind == "main" and self._tag(at - 1) in (".", ","):
            self.asks |= self._tag(at + 1) in NOMINAL and self._tag(at - 1) == "."
            self.orders |= form in DO and self._tag(at + 1) == "-"
        following = self._next_content(at)
        self._prep = ""
        if form in BE:
            here.course = here.be
            here.be = True
            self._existential |= at > 0 and self.tokens[at - 1].form == "there"
        elif form in HAVE:
            if following not in {"D", "G", "X", "V"}:
                here.tense = "past" if form == "had" else here.tense
                token.lemma = "have"
                return self._set_predicate(at, here)
            here.perfect = True
            here.tense = "past perfect" if form == "had" else here.tense or "past"
            return at + 1
        elif form in MODALS:
            here.modality = MODALS[form]
            if form == "have to" and here.denials % 2:
                here.modality, here.denials = closed.OPTIONAL, here.denials - 1
        elif form in ("want", "must", "should", "can", "will", "could"):
            here.modality = {"will": "", "could": "can"}.get(form, form)
        elif form in DO and following not in {"V", "O", "X"} and not self.asks:
            token.lemma = "do"
            return self._set_predicate(at, here)
        if form in PAST_FORMS or form == "used":
            here.tense = "past"
        elif form in FUTURE_FORMS:
            here.tense = "future"
        return at + 1

    def _verb(self, at: int) -> int:
        token, here = self.tokens[at], self._here
        tag = token.tag
        if tag == "G" and 0 <= here.predicate == self._last_content(at):
            verb = here.predicate
            if self.tokens[verb].lemma in closed.GERUND_DENIERS:
                self.kept[verb], here.be = False, False
                here.denials += 1 + self.denied[verb]
                return self._set_predicate(at, here)
        if token.lemma == "get" and not here.told and self._next_content(at) == "D":
            here.be = True
            here.tense = here.tense or ("past" if token.form == "got" else "")
            return at + 1
        joined = self._joined and self._tag(self._last_content(at)) in ("C", ",")
        if tag in "GD" and not (joined and here.predicate >= 0):
            return self._participle(at, here)
        if here.told:
            before, here = here, self._next_clause()
            if joined:
                here.modality, here.tense = before.modality, before.tense
                here.passive = tag == "D" and before.passive
        elif not here.subjects and here.kind == "main":
            self.orders |= token.form == token.lemma
        if "P" in token.forms():
            here.tense = here.tense or "past"
        return self._set_predicate(at, here)

    def _participle(self, at: int, here: _Clause) -> int:
        """Read a form in -ing or -ed: of a verb with an auxiliary, a past tense, or of a noun."""
        tag = self.tokens[at].tag
        if not here.told and (here.be or here.perfect or here.kind in ("to", "sub")):
            here.passive |= tag == "D" and (here.be or here.kind == "sub")
            return self._set_predicate(at, here)
        opens = self._tag(at - 1) == "."
        if tag == "G" and opens and self._verb_ahead(at):
            here.subjects.append(at)  # "Deleting it helped"
            return self._set_predicate(at, self._open(_Clause("ger", outer=here)))
        behind_by = at + 1 < len(self.tokens) and self.tokens[at + 1].form == "by"
        alone = here.subjects and not here.told and not behind_by and not self._verb_ahead(at)
        if tag == "D" and (alone or (opens and self._tag(at + 1) in {"T", "$", "M"})):
            here.tense = "past"  # "Fixed the leak"
            return self._set_predicate(at, here)
        clause = _Clause("part", self._noun, outer=here.outer if here.told else here)
        clause.passive = tag == "D"
        return self._set_predicate(at, self._open(clause))

    def _verb_ahead(self, at: int) -> bool:
        """Return whether another verb follows in the clause."""
        for later in self.tokens[at + 1 : at + _AHEAD_MAX]:
            if later.tag in "XVDI.,SWC":
                return later.tag in "XV"
        return False

    def _infinitive(self, at: int) -> int:
        here = self._here
        governor = here.predicate if here.predicate >= 0 else here.complement
        rule = closed.CATENATIVES.get(self.tokens[governor].lemma) if governor >= 0 else None
        if rule is None or governor != self._last_content(at):
            if governor >= 0 or here.subjects:
                self._open(_Clause("to", governor, "to"))
            return at + 1
        modality, tense, negates = rule
        self.kept[governor] = False
        here.complement = here.predicate = -1
        here.passive = here.be = False
        if [self.tokens[subject].lemma for subject in here.subjects] == ["it"]:
            self.kept[here.subjects.pop()] = False  # "it is impossible to undo this"
        here.denials += self.denied[governor]
        self.denied[governor] = 0
        if modality == "must" and here.denials % 2:
            modality, here.denials = closed.OPTIONAL, here.denials - 1
        here.denials += negates
        here.modality = _added(here.modality, modality)
        here.tense = _added(here.tense, tense)
        return at + 1

    # -- Function words

    def _preposition(self, at: int) -> None:
        form, here = self.tokens[at].lemma, self._here
        following = self._tag(at + 1)
        if form == "unlike":
            self._prep, self._prep_at, self._joined = "like", at, False
            self.denied[at] = 1
            return
        if here.predicate >= 0 and following in {"X", ".", ",", "C", "I", "S", "P"}:
            phrasal = f"{self.tokens[here.predicate].lemma} {form}"
            if words.is_listed(phrasal):  # "turn the light off"
                self.tokens[here.predicate].lemma = phrasal
                self.carried.add(at)
                return
        particle = following in {"X", ".", ",", "C", "I", "S", "P", "R"}
        if form in ("on", "in") and particle and self._after_be(at):  # "dark mode is on"
            self._adverb(at)
            return
        if form in closed.PREPOSITIONS_AS_WORDS:
            if particle or form not in ("up", "down", "off", "out", "over", "in"):
                self._adverb(at)
            if particle:
                return
        elif following in {"X", ".", ",", "C", "I", "S"} or (
            form == "of" and self._tag(at - 1) in ("Q", "-")
        ):
            return  # "none of the tests"
        self._prep, self._prep_at = closed.PREPOSITIONS.get(form, form), at

    def _after_be(self, at: int) -> bool:
        at = self._last_content(at)
        return at >= 0 and self.tokens[at].form in closed.BE

    def _subordinate(self, at: int) -> None:
        form = self.tokens[at].lemma
        if not self._clause_follows(at):
            if form in closed.PREPOSITIONS_AS_WORDS:
                self._adverb(at)
            self._prep, self._prep_at, self._joined = form, at, False
            return
        if form in ("before", "after"):
            self.kept[at], self.role[at] = True, Role.ADVERB
        main = self._clauses[0]
        clause = self._open(_Clause("sub", link=_LINKS.get(form, form)))
        clause.outer = main if main is not clause and not main.told else None
        clause.denials = int(form == "unless")
        if self._tag(at + 1) in ("G", "D"):
            clause.subjects = list(main.subjects)
        self._noun = -1

    def _clause_follows(self, at: int) -> bool:
        for token in self.tokens[at + 1 : at + _AHEAD_MAX]:
            if token.tag in "XV.,SW":
                return token.tag in "XV"
            if token.tag == "G" and token is self.tokens[at + 1]:
                return True
        return False

    def _relative(self, at: int) -> None:
        form, here = self.tokens[at].form, self._here
        before = at - 2 if self._tag(at - 1) == "," else at - 1
        if self._noun >= 0 and self._noun_end >= before and form in _RELATIVES:
            self._open(_Clause("rel", self._noun, form, None if here.told else here))
        elif form == "that":
            self._open(_Clause("that", here.predicate, "that"))
            self._noun = -1
        else:
            self.asks |= self._tag(at - 1) == "."
            self.kept[at] = True
            if here.subjects or here.predicate >= 0:
                self._open(_Clause("that", here.predicate, form))

    def _deny(self, at: int) -> None:
        form, here = self.tokens[at].form, self._here
        following = self._tag(at + 1)
        if form == "without":
            self._prep, self._prep_at, self._joined = "with", at, False
            if following == "G":
                self._open(_Clause("sub", link="with")).denials = 1
            else:
                self.denied[at] = int(at + 1 < len(self.tokens))
        elif form == "no" and following in (",", "."):
            pass  # an answer
        elif form == "nor" and here.denials and self._noun >= 0:
            self.tokens[at].tag, self._joined = "C", True  # "neither Ann nor Bob"
        elif form in ("nobody", "none", "nothing", "nowhere", "never", "no longer") or (
            form == "neither" and self._noun < 0
        ):
            if form == "nobody":
                self.tokens[at].lemma, self.kept[at] = "person", True
                self._attach(at, at + 1)
            elif form in ("never", "no longer"):
                self.light[at] = True
                self._adverb(at)
            here.denials += 1
        elif following in {"Q", "A", "R"} and (
            following == "Q" or (here.predicate >= 0 and not here.be)
        ):
            self.denied[at + 1] += 1
        elif form == "no" and here.predicate >= 0 and self.tokens[here.predicate].lemma == "have":
            self.denied[here.predicate] += 1
        elif here.predicate >= 0 and not here.be:
            self.denied[at] = 1  # taken up by the phrase that follows
        else:
            here.denials += 1

    # -- The end of a clause

    def _end_sentence(self) -> None:
        main = self._clauses[0]
        # Those with a verb first: they give a subject its part.
        for clause in sorted(self._clauses, key=lambda clause: clause.predicate < 0):
            self._close(clause, main)

    def _close(self, clause: _Clause, main: _Clause) -> None:
        verb, subjects = clause.predicate, clause.subjects
        modality = clause.modality or ("if" if clause.link == "if" else "")
        for at in clause.adjuncts:
            self.head[at] = max(verb, clause.complement)
            if self.head[at] < 0:
                self.head[at] = next(iter(subjects), -1)
        if verb < 0:
            for at in subjects:
                self.role[at] = self.role[at] or Role.PREDICATE
                self.denied[at] += clause.denials
            for at in [clause.complement] if clause.complement >= 0 else subjects:
                self.modality[at], self.tense[at] = modality, clause.tense
                if not subjects:
                    self.denied[at] += clause.denials
            return
        self.denied[verb] += clause.denials
        self.modality[verb], self.tense[verb] = modality, clause.tense
        self._give_parts(clause, main)

    def _give_parts(self, clause: _Clause, main: _Clause) -> None:
        """Give a clause with a verb its parts."""
        verb, subjects = clause.predicate, clause.subjects
        if clause.passive and not clause.tense:
            self.form[verb] = "being done" if clause.course else "done"
        noun = [clause.noun] if clause.noun >= 0 and clause.kind in ("rel", "part") else []
        actors = clause.agents if clause.passive else subjects or noun
        undergo = (subjects or noun) if clause.passive else noun if subjects else []
        several = len({self.group[at] for at in clause.objects}) > 1
        given = self.tokens[verb].lemma in _DATIVE and (
            bool(clause.objects) if clause.passive else several
        )
        for at in actors:
            self._act(at, Role.AGENT, verb)
        for at in undergo:
            self._act(at, "prep:to" if given and clause.passive else Role.PATIENT, verb)
        for at in clause.objects:
            first = self.group[at] == self.group[clause.objects[0]]
            to_whom = given and first and not clause.passive
            self._act(at, "prep:to" if to_whom else Role.PATIENT, verb)
        if self.role[verb]:
            return
        self.role[verb] = Role.PREDICATE
        self.head[verb] = next(iter((*actors, *undergo, *clause.objects)), -1)
        if clause.kind in ("sub", "that", "to") and clause.link != "while":
            governor = clause.noun if clause.noun >= 0 else main.predicate
            if clause.kind != "that":
                self.role[verb] = "prep:" + clause.link
            elif governor >= 0:
                self.role[verb] = Role.PATIENT
            self.head[verb] = governor

    def _act(self, at: int, role: str, verb: int) -> None:
        if not self.role[at]:
            self.role[at], self.head[at] = role, verb


_RELATIVES = frozenset({"who", "which", "that", "where", "whom"})


def _added(said: str, more: str) -> str:
    """Return modalities or tenses of one verb together: "may be able to", "was going to"."""
    return f"{said} {more}" if said and more and said != more else said or more
