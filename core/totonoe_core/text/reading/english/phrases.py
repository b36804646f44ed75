"""Noun phrases: which word is the head, what belongs to it, what part it plays; and denials."""

from __future__ import annotations

from totonoe_core.text.reading.english import closed
from totonoe_core.text.reading.english.closed import listed
from totonoe_core.text.reading.english.state import PLACED, POSTURES, Clause
from totonoe_core.text.reading.english.tags import is_plural
from totonoe_core.text.reading.english.times import Times
from totonoe_core.text.reading.model import Role

_COPULAR = listed("look seem appear become get feel remain stay sound taste smell turn")

_NEEDS = frozenset({"need", "require"})
_NEVER_FINITE = frozenset({"be", "been", "being", "having"})


class Phrases(Times):
    """Reads noun phrases and bare adjectives."""

    def _nominal(self, at: int) -> int:
        start = at
        head, stop, bare = self._phrase(at)
        if head < 0:
            return max(stop, at + 1)
        denial = 0
        back = start - 1
        while back >= 0 and self.tokens[back].tag in "-R":
            denial += self.denied[back]
            self.denied[back] = 0
            back -= 1
        if back >= 0 and self.tokens[back].form in ("without", "unlike"):
            denial += self.denied[back]
            self.denied[back] = 0
        self.denied[head] += denial
        if bare and not self._prep:
            self._describe(head, start)
        else:
            self._place(head, start, stop)
        return stop

    def _phrase(self, at: int) -> tuple[int, int, bool]:
        """Head and end of the noun phrase at `at`, and whether it has no noun (only adjectives)."""
        tokens = self.tokens
        start = at
        pending: list[int] = []
        head = -1
        pointed = False
        count = len(tokens)
        while at < count:
            token = tokens[at]
            tag = token.tag
            if tag in "NM":
                if head >= 0 and self._time_ends(start, head):
                    break
                if head >= 0:
                    self._modify(head, at)
                head = at
                self.kept[at] = True
            elif tag == "#":
                if head >= 0 and at + 1 < count and tokens[at + 1].tag in "NMA":
                    break  # another phrase begins ("gave Eva two roses")
                if head >= 0 and self._is_time(at):
                    break  # "merged the branch yesterday"
                self.kept[at] = True
                if head >= 0:
                    self._modify(at, head)
                elif not pending and self._time_alone(at):
                    return at, at + 1, False
                else:
                    pending.append(at)
            elif tag == "'":
                if head < 0:
                    break
                pending.append(head)
                head = -1
                pointed = True
            elif head >= 0:
                break
            elif tag == "O" and token.form in ("one", "ones") and pending:
                token.lemma, token.tag = "one", "N"
                self.kept[at] = self.light[at] = True
                head = at
            elif tag == "O":
                if pending:
                    break
                lemma = closed.PRONOUNS.get(token.form)
                if lemma is None:
                    return -1, at + 1, False
                token.lemma = lemma
                self.kept[at] = True
                self.light[at] = lemma == "it"
                return at, at + 1, False
            elif tag == "$":
                token.lemma = closed.PRONOUNS.get(token.form, token.form)
                self.kept[at] = True
                # "His" and "its" repeat what the text names; "my" says whose among many agents.
                self.light[at] = token.lemma not in ("i", "we")
                pending.append(at)
                pointed = True
            elif tag == "Q":
                self.kept[at] = True
                pending.append(at)
                if token.form in closed.SOMEBODY:
                    token.lemma, token.tag = "person", "N"
                    self.light[at] = True
                    at += 1
                    head = pending.pop()
                    break
                if token.form in closed.PERSON_WORDS or token.form in closed.THING_WORDS:
                    at += 1
                    head = pending.pop()
                    break
            elif tag == "A":
                self.kept[at] = True
                pending.append(at)
            elif tag == "R" and self._adverb_in_phrase(at):
                self.kept[at] = True
                self.role[at] = Role.ADVERB
                self.head[at] = at + 1
            elif tag == "T" or (tag in "C," and pending and self._adjectives_go_on(at)):
                pointed = pointed or token.form in closed.POINTING
            elif token.form == "no" and not pending:
                self._deny(at)
            else:
                break
            at += 1
        if head < 0:
            if not pending:
                return -1, at, False
            head = pending.pop()
            bare = tokens[head].tag in "AQ"
        else:
            bare = False
            if pointed and tokens[head].tag == "N":
                self.form[head] = "many" if is_plural(tokens[head]) else "one"
        for modifier in pending:
            self._modify(modifier, head)
        return head, at, bare

    def _adjectives_go_on(self, at: int) -> bool:
        """Whether "and" or a comma joins two adjectives before one noun."""
        if self.tokens[at - 1].tag != "A" or at + 1 >= len(self.tokens):
            return False
        return self.tokens[at + 1].tag == "A"

    def _describe(self, head: int, start: int) -> None:
        """An adjective without a noun: said of the subject, or of the noun before it."""
        here = self._here
        subject = (
            here.subjects[-1]
            if here.subjects
            else here.noun
            if here.kind in ("rel", "part")
            else -1
        )
        joined = self._joined_to(start)
        self._joined = False
        if (
            here.predicate >= 0
            and not here.objects
            and self.tokens[here.predicate].lemma in _COPULAR
        ):
            # "looks funny" says that it is
            verb, here.predicate = here.predicate, -1
            self.light[verb] = True
            self.role[verb] = Role.ADVERB
            here.denials += self.denied[verb]
            if subject < 0:
                subject = here.noun
        if joined >= 0 and here.complement == joined:
            self._modify(head, self.head[joined])
            self.role[head] = self.role[joined]
            self.denied[head] += self.denied[joined]
            here.complement = head
            return
        if here.predicate >= 0 and self.tokens[head].form.endswith("ly"):
            self._adverb(head)  # "runs daily"
            return
        self.role[head] = Role.MODIFIER
        if here.predicate >= 0:
            self.head[head] = here.predicate if not here.be else subject
            return
        self.head[head] = subject
        if here.be or here.predicate < 0:
            here.complement = head
            self.denied[head] += here.denials
            here.denials = 0
            self.modality[head] = here.modality
            self.tense[head] = here.tense

    def _joined_to(self, start: int) -> int:
        """The head of the phrase that ends before the conjunction at `start - 1`."""
        if self._joined and start > 0 and self.tokens[start - 1].tag in "C,":
            return self._last_head(start)
        return -1

    def _last_head(self, start: int) -> int:
        back = start - 1
        while back >= 0 and self.tokens[back].tag in "C,":
            back -= 1
        return back if back >= 0 and self.kept[back] else -1

    def _place(self, head: int, start: int, stop: int) -> None:
        """Gives a finished noun phrase its part in the clause."""
        here = self._here
        following = self.tokens[stop] if stop < len(self.tokens) else None
        finite = (
            following is not None and following.tag in "XV" and following.form not in _NEVER_FINITE
        )
        complete = here.predicate >= 0 or here.complement >= 0 or here.be
        if self._joined and start and self.tokens[start - 1].tag in "C,":
            self._joined = False
            comma = self.tokens[start - 1].tag == ","
            if finite and complete:
                self._new_main()
            elif self._noun >= 0 and not (comma and not here.subjects):
                listed = not comma or self._list_goes_on(stop)
                upper = self.head[self._noun]
                if (
                    self.role[self._noun] == Role.MODIFIER
                    and upper >= 0
                    and self.tokens[start].tag in "T#Q$"
                    and self.tokens[self._noun - 1].tag == "P"
                ):
                    self._noun = upper  # "four bottles of beer and two dogs"
                if listed:
                    self.role[head] = self.role[self._noun]
                    self.head[head] = self.head[self._noun]
                    self.group[head] = self.group[self._noun]
                    self.denied[head] += self.denied[self._noun]
                    if self._noun in here.subjects:
                        here.subjects.append(head)
                    elif self._noun in here.objects:
                        here.objects.append(head)
                    elif self._noun in here.agents:
                        here.agents.append(head)
                    self._noun, self._noun_end = head, stop - 1
                    return
                if not (finite and not here.subjects):
                    self._modify(head, self._noun)
                    self.group[head] = self.group[self._noun]
                    self._noun, self._noun_end = head, stop - 1
                    return
        elif (
            finite and complete and not self._prep and here.kind == "main" and not self._existential
        ):
            # a new clause without a mark ("he said it works")
            inner = self._open(Clause("that", link="that"))
            inner.noun = here.predicate
        self._attach(head, stop)

    def _attach(self, head: int, stop: int = -1) -> None:
        here = self._here
        if self._is_time(head) and self._timed(head, stop):
            return
        if self._prep:
            self._attach_prepositional(head, here)
        elif here.be and here.predicate < 0 and here.subjects and not self._existential:
            self.role[head] = Role.PREDICATE
            self.head[head] = here.subjects[0]
            here.complement = head
            told = [
                at for at in range(head) if self.head[at] == head and self.tokens[at].tag == "A"
            ]
            # "not a clever man" denies what is told of the man
            self.denied[told[0] if len(told) == 1 else head] += here.denials
            here.denials = 0
            self.modality[head] = here.modality
            self.tense[head] = here.tense
        elif here.predicate < 0 or (here.kind in ("rel", "that", "sub") and here.predicate < 0):
            here.subjects.append(head)
        else:
            here.objects.append(head)
        self._noun = head
        self._noun_end = stop - 1

    def _attach_prepositional(self, head: int, here: Clause) -> None:
        prep, self._prep = self._prep, ""
        noun = self._noun
        tokens = self.tokens
        if prep == "of" and noun >= 0:
            self.carried.add(self._prep_at)
            self._modify(head, noun)
            return
        needed = prep == "for" and here.predicate >= 0 and tokens[here.predicate].lemma in _NEEDS
        if (prep == "by" or needed) and here.predicate >= 0 and here.passive:
            here.agents.append(head)
            self.carried.add(self._prep_at)
            return
        self.role[head] = "prep:" + prep
        if here.predicate >= 0:
            lemma = tokens[here.predicate].lemma
            subject = self._subject_of(here)
            light = (
                (lemma in PLACED and here.passive)
                or (lemma in POSTURES and not here.objects)
                or lemma in ("have", "wear")
            )
            if lemma in POSTURES and not here.objects:
                self.light[here.predicate] = True
            self.head[head] = subject if light and subject >= 0 else here.predicate
        elif here.be and here.complement < 0 and here.subjects and not self._existential:
            self.head[head] = here.subjects[0]
            self.denied[head] += here.denials
            here.denials = 0
        elif noun >= 0:
            self.head[head] = noun
        elif here.complement >= 0:
            self.head[head] = here.complement
        else:
            self.head[head] = -2
            here.objects.append(-1 - head)

    def _deny(self, at: int) -> None:
        token = self.tokens[at]
        form = token.form
        here = self._here
        following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if form == "without":
            self._prep = "with"
            self._prep_at = at
            self._joined = False
            if following is not None and following.tag == "G":
                clause = self._open(Clause("sub", link="with"))
                clause.denials = 1
                self._prep = ""
            elif following is not None:
                self.denied[at] = 1
            return
        if form == "no" and (following is None or following.tag in ",."):
            return  # an answer
        if form == "nor" and here.denials and self._noun >= 0 and self._noun_end == at - 1:
            token.tag = "C"  # "neither Ann nor Bob"
            self._joined = True
            return
        if form in ("nobody", "none", "nothing", "nowhere") or (
            form == "neither" and self._noun < 0
        ):
            if form == "nobody":
                token.lemma = "person"
                self.kept[at] = True
                self._attach(at)
            here.denials += 1
            return
        if form in ("never", "no longer"):
            self.light[at] = True
            self._adverb(at)
            here.denials += 1
            return
        if (
            following is not None
            and following.tag in "QAR"
            and not (here.be and here.complement < 0)
        ) and (here.predicate >= 0 or following.tag == "Q"):
            self.denied[at + 1] += 1
            return
        if form == "no" and (here.predicate >= 0 or self._prep) and following is not None:
            if self._prep or self.tokens[here.predicate].lemma in ("have",):
                self.denied[at] = 1  # taken up by the phrase that follows
                return
            self.denied[here.predicate] += 1
            return
        if here.predicate >= 0 and not here.be and form == "not" and following is not None:
            self.denied[at] = 1
            return
        here.denials += 1
