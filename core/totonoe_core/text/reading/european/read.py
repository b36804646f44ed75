"""The reader of German, French, Spanish, Portuguese, Italian and Russian: with care.

Reads values, names, quantifiers, simple negation and what a verb's ending plainly says (past,
future, and the person where the subject may be left out). It knows no parts of a sentence:
every role is "", so two texts say the same only in the same order. Words are brought to their
lemma by simplemma's word lists; prepositions, pronouns and conjunctions stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from simplemma import Lemmatizer
from simplemma.strategies import DefaultStrategy
from simplemma.strategies.dictionary_lookup import DictionaryLookupStrategy

from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.european.words import LANGUAGES, Tongue, tongue_of
from totonoe_core.text.reading.model import Piece, PieceType, Reading
from totonoe_core.text.reading.values.find import Value, find_values
from totonoe_core.text.word_forms import MappedForms

_WORDS_KEPT = 16_384
_LIGHT = 0.3
_LETTERS_MAX = 40
"""Longer words are looked up in no list."""

# A clause ends at a mark, not at a hyphen; an apostrophe ends an elided word.
_TOKEN = re.compile(
    r"(?P<word>[^\W\d_]+(?:-[^\W\d_]+)*)(?P<elided>['’](?=[^\W\d_]))?|(?P<made>\w+)"
    r"|(?P<stop>[.!?…\n¿¡]+)|(?P<mark>[,;:()—–])"
)
_ASKS = re.compile(r"\?[\"'»”)\s]*(?:\n|\Z)")
_INVERTED = re.compile(
    r"-(?:t-)?(?:ils?|elles?|on|je|tu|nous|vous|ce|moi|toi|le|la|les|lui|y|en)\Z"
)
_PERSONS = {"p1": "1", "p2": "2", "p1p": "1p", "p2p": "2p", "p3p": "3p"}
# Comparison, which lemmas drop. After a stem, umlauts folded: "größer" is not "groß".
_COMPARED = {
    "de": re.compile(r"(?:(?P<more>e?r)|(?P<most>e?st))(?:e[nmrs]?)?\Z"),
    "ru": re.compile(r"(?P<more>ее|ей|ше)\Z|(?P<most>[еа]йш)[а-я]{1,3}\Z"),
}
_IRREGULAR = {
    "de": ("besser", "best", "höher", "höchst", "näher", "nächst", "lieber", "mehr"),
    "ru": ("лучш", "хуже", "худш", "больше", "меньше", "выше", "ниже"),
    "fr": ("meilleur", "mieux", "pire"), "es": ("mejor", "peor", "mayor", "menor"),
    "pt": ("melhor", "pior", "maior", "menor"),
    "it": ("miglior", "meglio", "peggi", "maggior", "minor"),
}  # fmt: skip
_UMLAUTS = str.maketrans("äöü", "aou")
# Forms of one participle that the word lists do not hold together; a past tells its verb.
_WEAK_PAST = re.compile("e?te(?:n|st|t)?\\Z")
_SHORT = re.compile("[еёа]н[аоы]\\Z")
_PARTICIPLES = {
    "fr": (re.compile(r"ée?s?\Z"), "é", "ait"),
    "es": (re.compile(r"ad[oa]s?\Z"), "ado", "aba"),
    "pt": (re.compile(r"ad[oa]s?\Z"), "ado", "ava"),
    "it": (re.compile(r"at[oaie]\Z"), "ato", "ava"),
}


@dataclass(frozen=True, slots=True)
class _Word:
    """A word by itself: its lemma, and what its form says."""

    lemma: str
    known: bool
    noun: bool = False
    """German: written with a capital."""
    verb: bool = False
    participle: bool = False
    tense: str = ""
    person: str = ""
    compared: str = ""


@dataclass(slots=True)
class _Token:
    start: int
    end: int
    text: str
    lower: str
    type: PieceType = PieceType.WORD


@dataclass(slots=True)
class _Draft:
    """A piece in the making; `said` is the word it stands for, if it is one."""

    start: int
    end: int
    key: str
    type: PieceType
    said: _Word | None = None
    negated: bool = False
    tense: str = ""
    person: str = ""
    form: str = ""


_DICTIONARIES = MappedForms()
_KNOWN = DictionaryLookupStrategy(_DICTIONARIES)
# What it finds is kept once, in `_word`.
_LEMMATIZER = Lemmatizer(
    cache_max_size=1,
    lemmatization_strategy=DefaultStrategy(dictionary_factory=_DICTIONARIES),
)


@lru_cache(maxsize=_WORDS_KEPT)
def _word(text: str, language: str) -> _Word:
    """A word as it is written (German: capitals tell nouns), a sentence's first in lower case."""
    lower = text.lower()
    if len(text) > _LETTERS_MAX:
        return _Word(lower, False)
    tongue = tongue_of(language)
    known = _KNOWN.get_lemma(text, language) is not None
    lemma = _LEMMATIZER.lemmatize(text, lang=language).lower()
    if language == "ru":
        if not known and _SHORT.search(lower):
            text = lower = lower[:-1]
            known = _KNOWN.get_lemma(text, language) is not None
            lemma = _LEMMATIZER.lemmatize(text, lang=language).lower()
        lower, lemma = lower.replace("ё", "е"), lemma.replace("ё", "е")
    if lower.startswith(_IRREGULAR[language]):
        return _Word(lemma, known, compared="more")
    if language in _COMPARED and lower != lemma and not tongue.infinitive.match(lemma):
        match = _COMPARED[language].search(lower)
        stem = lemma if language == "de" else lemma[:-2]
        if match and lower[: match.start()].translate(_UMLAUTS) == stem.translate(_UMLAUTS):
            return _Word(lemma, known, compared=match.lastgroup or "")
    participle = bool(tongue.participle.match(lower)) and lower != lemma
    if language in _PARTICIPLES:
        ending, masculine, imperfect = _PARTICIPLES[language]
        if match := ending.search(lower):
            stem = lower[: match.start()]
            verb = _KNOWN.get_lemma(stem + imperfect, language)
            if verb is not None:
                return _Word(verb, True, verb=True, participle=True)
            lemma = lemma if known else stem + masculine
    noun = language == "de" and text[0].isupper()
    if noun or not tongue.infinitive.match(lemma):
        return _Word(lemma, known, noun)
    past = _german_past(lower, lemma) if language == "de" else bool(tongue.past.match(lower))
    if participle and not (past and language in ("de", "fr", "ru")):
        return _Word(lemma, known, verb=True, participle=True)
    if lower == lemma:
        return _Word(lemma, known, verb=True)
    tense = ""
    if tongue.future.match(lower):
        tense = "future"
    elif past:
        tense = "past"
    person = ""
    if (ending_of := tongue.persons.match(lower)) and not (language == "ru" and tense):
        person = _PERSONS[ending_of.lastgroup or "p3p"]
    return _Word(lemma, known, False, True, False, tense, person)


def _german_past(word: str, lemma: str) -> bool:
    """Not "wartet": the past adds its t to the stem."""
    stem = lemma.removesuffix("en")
    if word.startswith(stem):
        return _WEAK_PAST.match(word, len(stem)) is not None
    return tongue_of("de").past.match(word) is not None


def read(text: str, language: str) -> Reading:
    """Reading of a text.

    Parameters
    ----------
    text : str
        Any text; the caller bounds its length.
    language : str
        de, fr, es, pt, it or ru.

    Returns
    -------
    Reading
        `certain` if at least a third of the words stands in the language's word list.
    """
    if language not in LANGUAGES:
        raise ValueError(f"no European language that is read: {language!r}")
    tongue = tongue_of(language)
    drafts: list[_Draft] = []
    asks = bool(_ASKS.search(text))
    for number, (clause, begins) in enumerate(_clauses(text, language)):
        if begins and number == 0 and clause[0].lower in tongue.asking:
            asks = True
        drafts += _Clause(clause, begins, language, tongue).read()
    said = [draft.said for draft in drafts if draft.said is not None]
    known = sum(word.known for word in said)
    lists = lexicon(language)
    pieces = []
    for draft in drafts:
        ending = f"/{draft.person}" if draft.person else ""
        key, near, opposites, weight = draft.key, frozenset[str](), frozenset[str](), 1.0
        if draft.said is not None:
            lemma = draft.said.lemma
            compared = draft.said.compared
            ending = (f"/{compared}" if compared else "") + ending
            key = lists.key(lemma) + ending
            near = frozenset(name + ending for name in lists.near(lemma))
            opposites = frozenset(other + ending for other in lists.opposites(lemma))
            weight = _LIGHT if lemma in lists.light else 1.0
        pieces.append(
            Piece(
                draft.start, draft.end, key, draft.type, negated=draft.negated, tense=draft.tense,
                near=near, opposites=opposites, weight=weight, form=draft.form,
            )
        )  # fmt: skip
    return Reading(language, tuple(pieces), asks=asks, certain=3 * known >= len(said))


def _clauses(text: str, language: str) -> Iterator[tuple[list[_Token], bool]]:
    """Tokens between two marks, and whether a sentence begins with them."""
    clause: list[_Token] = []
    begins, next_begins, at = True, True, 0
    end = Value(len(text), len(text), PieceType.NUMBER, "")
    for value in (*find_values(text, language), end):
        for match in _TOKEN.finditer(text, at, value.start):
            if match.lastgroup in ("word", "elided", "made"):
                clause += _tokens(match, language)
                continue
            next_begins = next_begins or match.lastgroup == "stop"
            if clause:
                yield clause, begins
                clause = []
                next_begins = match.lastgroup == "stop"
            begins = next_begins
        if value is not end:
            clause.append(_Token(value.start, value.end, value.key, "", value.type))
            at = value.end
    if clause:
        yield clause, begins


def _tokens(match: re.Match[str], language: str) -> Iterator[_Token]:
    start, end = match.span()
    end -= match["elided"] is not None
    text = match[0][: end - start]
    inverted = _INVERTED.search(text) if language == "fr" else None
    pronoun = ""
    if inverted is not None:
        pronoun = inverted[0].rpartition("-")[2].lower()
        text = text[: inverted.start()]
    lower = text.lower()
    if language == "ru":
        lower = lower.replace("ё", "е")
    yield _Token(start, start + len(text), text, lower)
    if pronoun:
        yield _Token(end - len(pronoun), end, pronoun, pronoun)


class _Clause:
    """Reads one clause from left to right; what waits for its word is in `denied` and `tags`."""

    def __init__(self, tokens: list[_Token], begins: bool, language: str, tongue: Tongue) -> None:
        self.tokens, self.begins, self.language, self.tongue = tokens, begins, language, tongue
        self.drafts: list[_Draft] = []
        self.denied = 0
        self.of_noun = False
        self.tags: list[str] = []
        self.perfect = False
        self.form = ""
        self.deniable: _Draft | None = None
        self.participle_at: int | None = None
        # "non ... mai", "никто не": one negation in two words.
        self.concord = language != "de" and any(
            tongue.quantifiers.get(token.lower) in ("never", "nothing", "nobody")
            or token.lower in tongue.none
            for token in tokens
        )
        self.french_ne = language == "fr" and any(token.lower in ("ne", "n") for token in tokens)
        self.french_pas = any(token.lower in ("pas", "plus", "point") for token in tokens)

    def read(self) -> list[_Draft]:
        for number, token in enumerate(self.tokens):
            self._token(number, token)
        if self.denied % 2:
            self._deny_last()
        if self.tags and self.deniable:
            self._tag(self.deniable)
        return self.drafts

    def _deny_last(self) -> None:
        """A negation at the end denies what stands before it; alone it is an answer."""
        if (last := self.deniable) is not None:
            last.negated = not last.negated
        else:
            token = self.tokens[-1]
            self.drafts.append(_Draft(token.start, token.end, "no", PieceType.WORD))

    def _token(self, number: int, token: _Token) -> None:
        tongue = self.tongue
        lower = tongue.contracted.get(token.lower, token.lower)
        last = number == len(self.tokens) - 1
        if token.type is not PieceType.WORD:
            self._add(_Draft(token.start, token.end, token.text, token.type))
        elif lower in tongue.not_ or lower == "ne":
            self._not(lower)
        elif lower in tongue.none:
            self.denied, self.of_noun = 1, self.language == "de"
        elif lower in tongue.articles and not (last and lower == "ein"):
            self.form = tongue.article_forms.get(token.lower, "")
        elif lower in tongue.auxiliaries:
            self.tags += tongue.auxiliaries[lower].split()
        elif lower in tongue.have and self._participle_follows(number):
            self.tags += ["past", *tongue.have[lower].split()]
            self.perfect = True
        elif self.french_ne and lower == "que" and not (self.french_pas or self.concord):
            self.denied = 0
            self.french_ne = False
            for draft in self.drafts:
                draft.negated = False
            self._add(_Draft(token.start, token.end, "only", PieceType.QUANTIFIER))
        elif lower in tongue.quantifiers:
            key = tongue.quantifiers[lower]
            self._add(_Draft(token.start, token.end, key, PieceType.QUANTIFIER))
        elif lower in tongue.kept or lower in tongue.asking:
            said = _Word(lower, True)
            self.drafts.append(_Draft(token.start, token.end, lower, PieceType.WORD, said))
        else:
            self._content(token, self.begins and number == 0)

    def _not(self, lower: str) -> None:
        if lower == "pas" and (self.french_ne or self.drafts):
            if not self.french_ne:
                self._deny_last()
            return
        if not self.concord:
            self.denied += 1
            self.of_noun = False

    def _participle_follows(self, number: int) -> bool:
        if self.participle_at is None:
            tokens, kept = self.tokens, self.tongue.kept
            self.participle_at = -1
            for at in range(len(tokens) - 1, -1, -1):
                token = tokens[at]
                if token.type is not PieceType.WORD or token.lower in kept:
                    continue
                if _word(token.text, self.language).participle:
                    self.participle_at = at
                    break
        return self.participle_at > number

    def _content(self, token: _Token, first: bool) -> None:
        text, name = token.text, token.text[:1].isupper() and not first
        plain = text.replace("-", "")
        said = _word(plain.lower() if self.language != "de" or first else plain, self.language)
        if first and not said.known:
            said = _word(plain, self.language)
        if self.language == "de" or first:
            name = text[:1].isupper() and not said.known and not said.verb
        if not text.isalpha() and text == plain:
            self._add(_Draft(token.start, token.end, text.lower(), PieceType.IDENTIFIER))
        elif name:
            key = said.lemma if self.language == "ru" else plain.lower()
            self._add(_Draft(token.start, token.end, key, PieceType.NAME))
        else:
            self._add(_Draft(token.start, token.end, said.lemma, PieceType.WORD, said))

    def _add(self, draft: _Draft) -> None:
        said = draft.said
        # "kein" waits for its noun; nothing else shows what is one.
        if self.denied and not (self.of_noun and said is not None and not said.noun):
            draft.negated = self.denied % 2 == 1
            self.denied = 0
        if said is not None:
            draft.form, self.form = self.form, ""
            draft.tense, draft.person = said.tense, said.person
            if said.verb and self.tags:
                self._tag(draft)
            if said.participle and not self.perfect:
                # "is opened" is not "opens".
                draft.person = f"done {draft.person}".strip()
        self.deniable = draft
        self.drafts.append(draft)

    def _tag(self, draft: _Draft) -> None:
        for tag in self.tags:
            if tag in ("past", "future", "if"):
                draft.tense = tag
            elif tag == "being":
                # "wird gelöscht" is not "ist gelöscht"; "wird kommen" is "kommt".
                if draft.said is not None and draft.said.participle:
                    draft.person = tag
            else:
                draft.person = tag
        self.tags = []
