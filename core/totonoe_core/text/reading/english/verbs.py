"""Verbs: auxiliaries, tense, modality, passive, participles and infinitives."""

from __future__ import annotations

from totonoe_core.text.reading.english import closed
from totonoe_core.text.reading.english.closed import (
    BE,
    DO,
    FUTURE_FORMS,
    HAVE,
    MODALS,
    PAST_FORMS,
    listed,
)
from totonoe_core.text.reading.english.phrases import Phrases
from totonoe_core.text.reading.english.state import NOMINAL, Clause

_POSED = listed(
    "seat dress park stack pile cover fill paint surround cut slice locate place mount attach"
    " perch plant display gather hang decorate adorn vandalize wrap tie chain lock load parked"
)


def _added(said: str, more: str) -> str:
    """Return modalities or tenses of one verb together: "may be able to", "was going to"."""
    return f"{said} {more}" if said and more and said != more else said or more


class Verbs(Phrases):
    """Reads verbs and what stands before them."""

    def _auxiliary(self, at: int) -> int:
        token = self.tokens[at]
        form = token.lemma
        here = self._here
        if here.predicate >= 0 or here.complement >= 0:
            here = self._next_clause()
        elif (
            not here.subjects
            and here.kind == "main"
            and (at == 0 or self.tokens[at - 1].tag in ".,")
        ):
            previous = self.tokens[at - 1] if at else None
            if form not in BE or previous is None or previous.tag == ".":
                nxt = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
                if nxt is not None and nxt.tag in NOMINAL:
                    self.asks = True
                elif form in DO and nxt is not None and nxt.tag == "-":
                    self.orders = True
        if form in BE:
            here.course = here.be and token.form == "being"
            here.be = True
            if at and self.tokens[at - 1].form == "there":
                self._existential = True
        elif form in HAVE:
            nxt = self._next_content(at)
            if (
                nxt is None
                or self.tokens[at + 1].tag == "I"  # "has to be paid"
                or nxt.tag not in "DGXV"
                or (nxt.tag == "X" and nxt.form not in BE | HAVE)
            ):
                if form == "had":
                    here.tense = "past"
                return self._have(at, here)
            here.perfect = True
            if form == "had":
                here.tense = "past perfect"
                self._prep = ""
                return at + 1
            here.tense = here.tense or "past"
        elif form in MODALS:
            here.modality = MODALS[form]
            if form == "have to" and here.denials % 2:
                here.modality, here.denials = closed.OPTIONAL, here.denials - 1
        elif form in ("want", "must", "should", "can", "will", "could"):
            here.modality = {"will": "", "could": "can"}.get(form, form)
        elif form == "used":
            here.tense = "past"
        elif form in DO:
            nxt = self._next_content(at)
            if nxt is None or (nxt.tag not in "VOX" and not self.asks):
                if form == "did":
                    here.tense = "past"
                token.lemma = "do"
                return self._set_predicate(at, here)
        if form in PAST_FORMS:
            here.tense = "past"
        elif form in FUTURE_FORMS:
            here.tense = "future"
        self._prep = ""
        return at + 1

    def _have(self, at: int, here: Clause) -> int:
        """ "has X" as "with X"."""
        self.tokens[at].lemma = "have"
        here.predicate = at
        self._prep = "with"
        self._prep_at = at
        if here.denials:
            self.denied[at] = here.denials
        return at + 1

    def _verb(self, at: int) -> int:
        token = self.tokens[at]
        tag = token.tag
        here = self._here
        after_mark = at > 0 and self.tokens[self._last_content(at)].tag in "C,"
        self._joined = False
        if token.lemma == "lack" and tag == "V" and here.predicate < 0 and here.complement < 0:
            here.denials += 1
            return self._have(at, here)
        if token.lemma == "get" and tag == "V" and here.predicate < 0 and here.complement < 0:
            nxt = self._next_content(at)
            if nxt is not None and (nxt.tag == "D" or (nxt.tag == "A" and nxt is self.tokens[-1])):
                here.be = True
                if token.form == "got":
                    here.tense = here.tense or "past"
                self._prep = ""
                return at + 1
        if (
            token.lemma in closed.LIKE_HAVING
            and tag in "GV"
            and (tag == "V" or here.predicate >= 0 or not here.be)
        ):
            if tag == "G" and self._noun >= 0 and self._noun_end == at - 1:
                self._prep, self._prep_at = "with", at
                return at + 1
            if tag == "V" and here.predicate < 0 and here.complement < 0:
                return self._have(at, here)
        if token.lemma == "use" and tag == "G" and here.predicate not in (-1, at - 1):
            self._prep, self._prep_at = "with", at
            return at + 1
        if here.predicate >= 0 and tag in "GD" and here.predicate == self._last_content(at):
            lemma = self.tokens[here.predicate].lemma
            if lemma in closed.GERUND_DENIERS and tag == "G":
                self.kept[here.predicate] = False
                here.denials += 1 + self.denied[here.predicate]
                self.denied[here.predicate] = 0
                here.predicate = -1
                here.be = False
                return self._set_predicate(at, here)
        if tag == "D" and here.kind in ("rel", "part", "ger") and self._stack[0].predicate < 0:
            following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
            ended = here.predicate >= 0 or here.complement >= 0
            if (
                ended
                and self._stack[0].subjects
                and following is not None
                and following.tag in "T$OM#QP"
            ):
                here = self._next_clause()
                here.tense = here.tense or "past"
                return self._set_predicate(at, here)
        if tag == "G" and self._acts(at, here):
            clause = self._open(Clause("ger"))
            return self._set_predicate(at, clause)
        if tag == "D" and (at == 0 or self.tokens[at - 1].tag == ".") and not here.be:
            following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
            if following is not None and following.tag in "T$M":
                here.tense = "past"  # "Fixed the leak"
                return self._set_predicate(at, here)
        if tag in "GD":
            waits = here.be or here.perfect
            if here.predicate < 0 and here.complement < 0 and (waits or here.kind in ("to", "sub")):
                if tag == "D" and (here.be or here.kind == "sub") and not here.perfect:
                    here.passive = True
                if tag == "D" and here.perfect and here.be:
                    here.passive = True
                return self._set_predicate(at, here)
            if after_mark and here.predicate >= 0:
                joined = Clause(here.kind, here.noun, here.link)
                joined.subjects = list(here.subjects)
                joined.passive = tag == "D" and here.passive
                joined.tense = here.tense
                self._stack[-1] = joined
                self.clauses.append(joined)
                return self._set_predicate(at, joined)
            if tag == "D" and here.predicate < 0 and here.subjects and self._past_reading(at):
                here.tense = here.tense or "past"
                return self._set_predicate(at, here)
            noun = self._noun
            if here.complement >= 0 or here.predicate >= 0:
                clause = Clause("part", noun=self._doer(noun, at, tag))
            else:
                elsewhere = bool(here.subjects) and noun not in here.subjects and tag == "G"
                alive = noun >= 0 and self.tokens[noun].lemma in closed.CREATURES
                # "a boy in a park reading": the park does not read
                clause = Clause("part", noun=here.subjects[0] if elsewhere and not alive else noun)
            clause.passive = tag == "D"
            if self._existential and noun >= 0:
                clause.denials, here.denials = here.denials, 0
                clause.tense = here.tense
            self._open(clause)
            return self._set_predicate(at, clause)
        if here.predicate >= 0 or (here.complement >= 0):
            if after_mark:
                joined = Clause(here.kind, here.noun, here.link)
                joined.subjects = list(here.subjects)
                joined.modality, joined.tense = here.modality, here.tense
                self._stack[-1] = joined
                self.clauses.append(joined)
                here = joined
            else:
                here = self._next_clause()
        elif (
            not here.subjects
            and here.kind == "main"
            and token.form == token.lemma
            and not here.modality
        ):
            self.orders = True
        if token.word is not None and "P" in token.word.forms and not here.tense:
            here.tense = "past"
        return self._set_predicate(at, here)

    def _acts(self, at: int, here: Clause) -> bool:
        """Whether a gerund does it: "Deleting it helped", "was fixed by deleting it"."""
        if self._prep == "by" and here.passive and here.predicate >= 0:
            here.agents.append(at)
            return True
        opens = here.kind == "main" and not here.subjects and not here.be and here.predicate < 0
        if not opens or (at and self.tokens[at - 1].tag != "."):
            return False
        for later in self.tokens[at + 1 : at + 12]:
            if later.tag in "XV" or (later.tag == "D" and later is not self.tokens[at + 1]):
                here.subjects.append(at)
                return True
            if later.tag in ".,SWC":
                return False
        return False

    def _doer(self, noun: int, at: int, tag: str) -> int:
        """Of what a participle after a whole clause is said: the noun before it or the subject."""
        here = self._here
        if noun < 0:
            return here.subjects[0] if here.subjects else -1
        near = noun == self._last_content(at)
        if near and (noun in here.subjects or tag == "D"):
            return noun
        alive = self.tokens[noun].lemma in closed.CREATURES or self.tokens[noun].tag in "MO"
        if alive or tag == "D":
            return noun if near and noun in here.objects else -1
        return here.subjects[0] if here.subjects else here.noun

    def _past_reading(self, at: int) -> bool:
        """Whether a form in -ed after a noun is a past tense ("Ann moved") or a participle."""
        token = self.tokens[at]
        following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        for later in self.tokens[at + 1 : at + 20]:
            if later.tag in "XV":
                return False
            if later.tag in ".C,WSI":
                break
        if following is not None and following.form == "by":
            return False
        if following is None or following.tag not in "P":
            return True
        subject = self._here.subjects[0]
        named = self.tokens[subject].tag in "MO"
        return named or token.lemma not in _POSED

    def _infinitive(self, at: int) -> int:
        here = self._here
        governor = here.predicate if here.predicate >= 0 else here.complement
        verb = at + 1
        denials = 0
        while verb < len(self.tokens) and self.tokens[verb].tag in "R-":
            if self.tokens[verb].tag == "-":
                denials += 1
            verb += 1
        if verb >= len(self.tokens):
            return verb
        lemma = self.tokens[governor].lemma if governor >= 0 else ""
        rule = closed.CATENATIVES.get(lemma)
        if rule is not None and governor == self._last_content(at):
            modality, tense, negates = rule
            self.kept[governor] = False
            if here.predicate < 0:
                here.complement = -1
            here.predicate = -1
            here.passive = False
            here.be = False
            if len(here.subjects) == 1 and self.tokens[here.subjects[0]].lemma == "it":
                self.kept[here.subjects.pop()] = False  # "it is impossible to undo this"
            here.denials += self.denied[governor]
            self.denied[governor] = 0
            if modality == "must" and here.denials % 2:
                modality, here.denials = closed.OPTIONAL, here.denials - 1
            here.denials += denials + negates
            here.modality = _added(here.modality, modality)
            here.tense = _added(here.tense, tense)
            self._prep = ""
            return at + 1
        if governor < 0 and not here.subjects:
            return at + 1
        clause = self._open(Clause("to", link="to"))
        clause.noun = governor
        clause.denials = denials
        clause.be = False
        self._prep = ""
        return at + 1
