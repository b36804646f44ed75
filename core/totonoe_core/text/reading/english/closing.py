"""The end of a clause: its verb gives what was collected its parts."""

from __future__ import annotations

from totonoe_core.text.reading.english.closed import listed
from totonoe_core.text.reading.english.state import PLACED, POSTURES, Clause, State
from totonoe_core.text.reading.model import Role

DATIVE = listed(
    "give send show tell offer lend hand teach pay sell bring pass throw write promise grant"
    " assign award buy feed"
)


class Closing(State):
    """Gives roles when a clause is over."""

    def _close(self, clause: Clause, main: Clause) -> None:
        predicate = clause.predicate
        subjects = clause.subjects
        real = []
        for place in clause.objects:
            if place >= 0:
                real.append(place)
                continue
            at = -1 - place
            self.head[at] = predicate if predicate >= 0 else clause.complement
            if predicate >= 0 and subjects and self.role[at].startswith("prep:"):
                lemma = self.tokens[predicate].lemma
                if lemma in POSTURES or (lemma in PLACED and clause.passive):
                    self.head[at] = subjects[0]
                    self.light[predicate] = True
            if self.head[at] < 0:
                # "in the yard, a dog sleeping": the verb is that of the participle
                told = (one.predicate for one in self.clauses if one.noun in subjects)
                self.head[at] = next((verb for verb in told if verb >= 0), -1)
            if self.head[at] < 0 and subjects:
                self.head[at] = subjects[0]
        noun = clause.noun if clause.kind in ("rel", "part") else -1
        nouns = [noun] if noun >= 0 else []
        if noun >= 0 and clause.kind == "part" and noun in main.subjects:
            nouns = main.subjects
        if predicate < 0:
            for at in subjects:
                if not self.role[at]:
                    self.role[at] = Role.PREDICATE
                self.denied[at] += clause.denials
                if clause.link == "if":
                    self.modality[at] = "if"
            # "is down", "may be in Osaka": no verb of its own says when, and whether it is so.
            for at in [clause.complement] if clause.complement >= 0 else subjects:
                self.modality[at] = clause.modality or ("if" if clause.link == "if" else "")
                self.tense[at] = clause.tense
            return
        lemma = self.tokens[predicate].lemma
        if lemma == "have" and not self.kept[predicate]:
            for at in range(predicate + 1, len(self.tokens)):
                if self.role[at] == "prep:with" and self.head[at] in (
                    predicate,
                    self._subject_of(clause),
                ):
                    self.denied[at] += clause.denials
                    self.modality[at] = clause.modality
                    self.tense[at] = clause.tense
                    if self.tokens[at].lemma == "allergy" and subjects:
                        self.role[at], self.head[at] = Role.PREDICATE, subjects[0]
                        self.role[subjects[0]] = Role.PREDICATE
                    break
            for at in subjects:
                if not self.role[at]:
                    self.role[at] = Role.AGENT
            return
        self.denied[predicate] += clause.denials
        self.modality[predicate] = clause.modality or ("if" if clause.link == "if" else "")
        self.tense[predicate] = clause.tense
        actor = -1
        if lemma in PLACED and clause.passive and not clause.agents:
            self.light[predicate] = True
        if clause.passive and not clause.tense:
            self.form[predicate] = "being done" if clause.course else "done"
        if clause.passive:
            patients = subjects or nouns
            for at in clause.agents:
                self._act(at, Role.AGENT, predicate)
            given = lemma in DATIVE and bool(real)
            for at in patients:
                self._act(at, "prep:to" if given else Role.PATIENT, predicate)
            if clause.agents:
                actor = clause.agents[0]
            elif patients:
                actor = patients[0]
            for at in real:
                self._act(at, Role.PATIENT, predicate)
        else:
            for at in subjects:
                self._act(at, Role.AGENT, predicate)
            if noun >= 0 and clause.kind == "rel" and subjects:
                self._act(noun, Role.PATIENT, predicate)
                actor = subjects[0]
            elif nouns:
                for at in nouns:
                    self._act(at, Role.AGENT, predicate)
                actor = nouns[0]
            elif subjects:
                actor = subjects[0]
            given = lemma in DATIVE and len({self.group[at] for at in real}) > 1
            for at in real:
                to_whom = given and self.group[at] == self.group[real[0]]
                self._act(at, "prep:to" if to_whom else Role.PATIENT, predicate)
            if actor < 0 and real:
                actor = real[0]  # as in a passive that names nobody
            if (
                actor >= 0
                and real
                and self.tokens[actor].lemma == "person"
                and not self._told(actor)
            ):
                actor = real[0]
        if clause.kind == "ger" and self.role[predicate]:
            return
        self.role[predicate] = Role.PREDICATE
        self.head[predicate] = actor
        if clause.kind == "sub" and clause.link == "while":
            return
        if clause.kind in ("sub", "that", "to"):
            governor = clause.noun if clause.noun >= 0 else main.predicate
            if clause.kind == "that" and governor >= 0:
                self.role[predicate] = Role.PATIENT
            elif clause.kind != "that":
                self.role[predicate] = "prep:" + clause.link
            self.head[predicate] = governor if governor != predicate else -1

    def _told(self, noun: int) -> bool:
        """Whether anything is said of `noun`: then it is not just anybody."""
        return noun in self.head

    def _act(self, at: int, role: str, predicate: int) -> None:
        if not self.role[at]:
            if self.light[predicate]:
                self.role[at] = Role.PREDICATE
            else:
                self.role[at], self.head[at] = role, predicate
