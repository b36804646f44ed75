"""Wordings brought to one form: times, comparisons, bundles, what can be done."""

from __future__ import annotations

from totonoe_core.text.reading.english import closed, words
from totonoe_core.text.reading.english.closing import Closing
from totonoe_core.text.reading.english.state import Clause
from totonoe_core.text.reading.model import PieceType, Role


class Wordings(Closing):
    """Reads phrases that another wording places or names in another way."""

    def _is_time(self, at: int) -> bool:
        token = self.tokens[at]
        if token.value is not None:
            return token.value.type in (PieceType.DATE, PieceType.TIME)
        return token.tag == "N" and token.lemma in closed.TIME_NOUNS

    def _time_alone(self, at: int) -> bool:
        """Whether a date is a phrase by itself, not the modifier of a noun ("the 9:30 train")."""
        if not self._is_time(at) or (at and self.tokens[at - 1].tag in "T$QA"):
            return False
        following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if following is None or following.tag not in "NMA#":
            return True
        opens = at == 0 or self.tokens[at - 1].tag in ".,"
        return bool(self._prep) or (opens and "relative" in self.tokens[at].form)

    def _time_ends(self, start: int, head: int) -> bool:
        """Whether "At bedtime" is over before the noun that follows."""
        return bool(self._prep) and head == start and self._is_time(head)

    def _timed(self, head: int, stop: int) -> bool:
        """A time is told of the whole clause, wherever it stands."""
        here = self._here
        if self._prep not in ("", "in", "on", "at", "during", "over"):
            return False
        told = here.predicate >= 0 or here.complement >= 0
        if not self._prep and not told:
            following = self.tokens[stop] if 0 <= stop < len(self.tokens) else None
            opens = not here.subjects and not here.be
            if not opens or following is None or following.tag not in "T$OMNQA#,":
                return False
        self._prep = ""
        value = self.tokens[head].value
        clock = value is not None and value.type is PieceType.TIME
        self.role[head] = "prep:at" if clock else "prep:on"
        self.head[head] = -2
        here.objects.append(-1 - head)
        return True

    def _can_be_done(self, at: int) -> bool:
        """ "is reproducible" as "can be reproduced"."""
        here, token = self._here, self.tokens[at]
        if not here.be or here.predicate >= 0 or here.complement >= 0 or token.word is None:
            return False
        if self.tokens[self._last_content(at)].tag != "X" or not here.subjects or here.modality:
            return False
        verb = words.doable(token.word.base or token.form)
        if not verb:
            return False
        here.denials += bool(token.word.base) + self.denied[at]
        self.denied[at] = 0
        token.word, token.lemma, token.tag = words.word(verb), verb, "D"
        here.passive, here.modality = True, "can"
        self._set_predicate(at, here)
        return True

    def _compared(self, head: int, here: Clause) -> None:
        """ "Ann is younger than Bob" as "Bob is older than Ann"."""
        told = self.tokens[here.complement]
        more, less = here.subjects[0], head
        if contrary := closed.COMPARED.get(told.lemma):
            told.lemma = contrary
            more, less = less, more
        self.role[more], self.head[more] = Role.PREDICATE, -1
        self.role[less], self.head[less] = "prep:than", here.complement
        self.head[here.complement] = more

    def _on_itself(self, prep: str, pronoun: int) -> bool:
        """ "the table has a cup on it" as "a cup is on the table"."""
        main = self._stack[0]
        verb = main.predicate
        if verb < 0 or self.kept[verb] or len(main.subjects) != 1:
            return False
        owner = main.subjects[0]
        things = [
            at
            for at in range(verb + 1, pronoun)
            if self.role[at] == "prep:with" and self.head[at] == owner
        ]
        if not things or self.role[owner]:
            return False
        self.role[owner], self.head[owner] = "prep:" + prep, things[0]
        for at in things:
            self.role[at], self.head[at] = Role.PREDICATE, -1
        self.kept[pronoun] = False
        return True

    def _bundles(self, noun: int) -> bool:
        """Whether what is "of" a noun is what is meant, as in "a group of people"."""
        token = self.tokens[noun]
        if token.tag != "N":
            return False
        if token.lemma in closed.SORTS:
            return noun > 0 and self.tokens[noun - 1].form in ("a", "an")
        return token.lemma in closed.COLLECTIVES

    def _bundle(self, noun: int, head: int, here: Clause) -> None:
        """ "a group of people" stands for its people."""
        self.light[noun] = True
        mere = closed.MERE_COLLECTIVES | closed.SORTS
        self.kept[noun] = self.tokens[noun].lemma not in mere
        self.role[head], self.head[head] = self.role[noun], self.head[noun]
        self.denied[head] += self.denied[noun]
        self.denied[noun] = 0
        for places in (here.subjects, here.objects, here.agents):
            for at, place in enumerate(places):
                if place == noun:
                    places[at] = head
        for at in range(noun):
            if self.head[at] == noun:
                self.head[at] = head
        self._modify(noun, head)
