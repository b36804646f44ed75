"""English words one by one: what a form may be, its lemma, its key, and what it denies.

Nothing here looks at a neighbour; `tags` does. A word is analysed once and kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from simplemma.strategies import DictionaryLookupStrategy

from totonoe_core.text import lexicon as lexicons
from totonoe_core.text.reading.english.closed import CLOSED, GRAMMAR
from totonoe_core.text.word_forms import MappedForms

_KNOWN_WORDS_MAX = 32_768
_FORM_MAX = 40
"""Longer forms are no words of the language; they stay as they are."""
_DICTIONARY = DictionaryLookupStrategy(MappedForms())

_LEMMAS = GRAMMAR.keys("lemmas")
_NOT_DENIED = GRAMMAR.words("not denied")
_UNDO_PREFIXED = GRAMMAR.words("undo")


@dataclass(frozen=True, slots=True)
class Word:
    """One form, out of context. `forms` is a set of letters: V base, Z -s, G -ing, D past or
    participle, P past only, A adjective, R adverb, N noun; `closed` a tag of CLOSED."""

    lemma: str
    closed: str
    forms: str
    strong: bool
    """Nearly always a verb."""
    known: bool
    verb: str
    """Lemma where the form is a verb's."""
    base: str
    """The word denied, if a prefix or ending denies it; else ""."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """Entry of a lemma in the lexicon."""

    key: str
    near: frozenset[str]
    opposites: frozenset[str]
    weight: float


@cache
def _words(name: str) -> frozenset[str]:
    text = (files(lexicons) / "en" / f"{name}.txt").read_text(encoding="utf-8")
    lines = (line.partition("#")[0] for line in text.splitlines())
    return frozenset(word for line in lines for word in line.split())


@cache
def _irregular() -> tuple[dict[str, str], frozenset[str]]:
    """Form -> lemma, and the forms that are a past but no participle."""
    lemmas, pasts = {}, set()
    text = (files(lexicons) / "en" / "irregular.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        lemma, *forms = line.partition("#")[0].split() or [""]
        lemmas.update(dict.fromkeys(forms, lemma))
        if len(forms) > 1 and forms[0] != lemma:
            pasts.add(forms[0])
    return lemmas, frozenset(pasts - {"born"})


@lru_cache(_KNOWN_WORDS_MAX)
def word(form: str) -> Word:
    """Return the word that a form, in lower case, may be."""
    closed = CLOSED.get(form, "")
    if closed:
        return Word(form, closed, "", False, True, form, "")
    verbs, nounverbs, adjectives = _words("verbs"), _words("nounverbs"), _words("adjectives")
    irregular, pasts = _irregular()
    lemma, known = _lemma(form)
    verb = _verb(form, irregular)
    strong = verb in verbs
    forms = ""
    if form in irregular:
        forms += "P" if form in pasts else "D"
        if form == verb:
            forms += "V"
    elif verb == form:
        forms += "V"
    elif form.endswith("ing") and (verb or lemma != form):
        forms += "G"
    elif form.endswith("ed") and (verb or lemma != form or not known):
        forms += "D"
    elif verb:
        forms += "Z"
    verb = _spelled(verb or lemma)
    base = "" if strong and form.startswith(("in", "im", "il", "ir")) else _denied(form)
    if (
        form in adjectives
        or lemma in adjectives
        or base
        or form.endswith(("ful", "less", "ous", "able", "ible", "ive", "ical", "ary", "ish", "est"))
    ):
        forms += "A"
    elif (form.endswith("ly") and form not in adjectives and len(form) > 4) or form in _ADVERBS:
        forms += "R"
    if form in _ALSO_NOUNS:
        forms += "N"
    if not forms or verb in nounverbs:
        forms += "N"
    return Word(lemma, "", forms, strong and verb not in nounverbs, known, verb, base)


def _verb(form: str, irregular: dict[str, str]) -> str:
    """The base form of a verb of the lists, "" if the form is none of theirs."""
    verbs, nounverbs = _words("verbs"), _words("nounverbs")
    if form in irregular:
        return irregular[form]
    if form in verbs or form in nounverbs:
        return form
    for ending in ("ing", "ed", "es", "s", "d"):
        if form.endswith(ending) and len(form) > len(ending) + 1:
            stem = form[: -len(ending)]
            found = [stem, stem + "e"] if ending in ("ing", "ed") else [stem]
            if len(stem) > 2 and stem[-1] == stem[-2]:
                found.append(stem[:-1])
            if stem.endswith("i") and ending in ("ed", "es"):
                found.append(stem[:-1] + "y")
            if stem.endswith("y") and ending == "ing":
                found.append(stem[:-1] + "ie")
            # of two, the longer: "planing" is of "plane", "planning" of "plan"
            for option in sorted(found, key=lambda option: option in nounverbs):
                if option in verbs or option in nounverbs:
                    return option
    return ""


def _lemma(form: str) -> tuple[str, bool]:
    if len(form) > _FORM_MAX or not form.isascii():
        return form, False
    if form in _LEMMAS:
        return _LEMMAS[form], True
    lemma = _DICTIONARY.get_lemma(form, "en")
    if lemma is None:
        # plurals and verb forms of words that the dictionary lacks
        if form.endswith("s") and not form.endswith(("ss", "us", "is")) and len(form) > 3:
            return form[:-1], False
        return form, False
    if not lemma.islower():
        return form, False  # the dictionary has it as a name
    return _spelled(lemma), True


def _spelled(lemma: str) -> str:
    return _SPELLINGS.get(lemma) or _american(lemma)


_SPELLINGS = GRAMMAR.keys("spellings")
_ISE_STAYS = GRAMMAR.words("ise stays")
_OUR_STAYS = GRAMMAR.words("our stays")


def _american(lemma: str) -> str:
    if lemma.endswith("ise") and len(lemma) > 6 and lemma not in _ISE_STAYS:
        return lemma[:-3] + "ize"
    if lemma.endswith("isation"):
        return lemma[:-7] + "ization"
    if lemma.endswith("our") and len(lemma) > 5 and lemma not in _OUR_STAYS:
        return lemma[:-3] + "or"
    return lemma


_ALSO_NOUNS = GRAMMAR.words("also nouns")
_ADVERBS = GRAMMAR.words("adverbs")


_ADJECTIVE_ENDINGS = tuple(GRAMMAR.words("adjective endings"))


def _denied(form: str) -> str:
    """The word that `form` denies: "unavailable" -> "available"; "" if it denies nothing."""
    if form in _NOT_DENIED or form in _UNDO_PREFIXED or len(form) < 6:
        return ""
    for prefix in ("un", "non", "dis", "in", "im", "ir", "il"):
        if form.startswith(prefix):
            base = form[len(prefix) :].lstrip("-")
            if base in _words("adjectives") or base in _DENIABLE:
                return base
            # -ed and -able words are adjectives by their ending
            if prefix in {"un", "non", "in", "ir", "im"} and len(base) > 4:
                ending = base.endswith(_ADJECTIVE_ENDINGS)
                if ending and _DICTIONARY.get_lemma(base, "en") is not None:
                    return base
    return ""


_DENIABLE = GRAMMAR.words("deniable")


def is_listed(expression: str) -> bool:
    """Whether the word lists know the expression as one verb."""
    lists = lexicons.lexicon("en")
    return expression in lists.representatives or expression in lists.opposite_keys


@lru_cache(_KNOWN_WORDS_MAX)
def keyed(lemma: str) -> Keyed:
    """Key, weak groups, contraries and weight of a lemma."""
    lists = lexicons.lexicon("en")
    key = lists.key(lemma)
    light = lemma in lists.light or key in lists.light
    return Keyed(key, lists.near(lemma), lists.opposites(lemma), 0.3 if light else 1.0)
