"""Phrases of a Japanese text: a content word or compound with what its function words say."""

from __future__ import annotations

from typing import Final, TypeVar

from totonoe_core.text.reading.japanese.function_words import word_of
from totonoe_core.text.reading.japanese.grammar import (
    AFTER_PREDICATE,
    CASES,
    DEMONSTRATIVES,
    EMPTY_NOUNS,
    FLAGS,
    HONORIFICS,
    SAME_CASE,
    Effect,
    Table,
    words_of,
)
from totonoe_core.text.reading.japanese.phrase import (
    COUNTS,
    MANNER,
    PREDICATE,
    THING,
    Phrase,
)
from totonoe_core.text.reading.japanese.words import NOMINAL, Tag, Word
from totonoe_core.text.reading.model import FunctionKind, FunctionWord, PieceType

_T = TypeVar("_T")

_POLITE: Final = words_of("ます お ご 御")
_NEGATING: Final = words_of("未 不 非 無")
_OF_NOUNS: Final = words_of("maybe surely seem hearsay guess expect think")
_JOINING: Final = words_of("case topic particle link auxiliary joiner")
_DOES: Final = words_of("為る 出来る 致す 為さる 下さる")
_IS_NOT: Final = {tuple(row.split()) for row in ("で は ない", "で は ある")}
_BESIDE: Final = COUNTS | {PieceType.IDENTIFIER, PieceType.VERSION}
"""Values that count or name what stands beside them."""
_LIMITS: Final = words_of("だけ のみ しか ばかり")


def phrases(words: list[Word]) -> tuple[list[Phrase], list[FunctionWord]]:
    """Return the phrases in text order, and the function words that none of them holds."""
    parser = _Parser(words)
    parser.run()
    return parser.found, parser.left


class _Parser:
    """Words of a text, the place reached in them, and the phrases found so far.

    `left` has the function words that count and that no phrase holds.
    """

    def __init__(self, words: list[Word]) -> None:
        # Politeness says nothing, wherever it stands.
        self.words = [word for word in words if word.tag != Tag.SPACE and word.base not in _POLITE]
        self.at = 0
        self.found: list[Phrase] = []
        self.left: list[FunctionWord] = []

    def run(self) -> None:
        while self.at < len(self.words):
            word = self.words[self.at]
            if word.tag in NOMINAL:
                self._compound()
                continue
            self.at += 1
            if word.tag in (Tag.VERB, Tag.ADJECTIVE):
                self._predicate([word])
            elif word.tag == Tag.ADVERB:
                self._add([word], MANNER)
            elif word.tag == Tag.ADNOMINAL:
                if word.surface not in DEMONSTRATIVES:
                    self._add([word], PREDICATE).link = "rel"
            elif word.tag in _JOINING:
                self._leave(word)
            elif self.found and word.surface in ("?", "？"):
                self.found[-1].asks = True

    # -- Words from the place reached

    def _tag(self) -> str:
        """Return the tag of the next word, "" behind the last."""
        return self.words[self.at].tag if self.at < len(self.words) else ""

    def _match(self, table: Table[_T]) -> _T | None:
        """Pass and return the longest expression of the table that begins here."""
        words, at = self.words, self.at
        longest = table.sizes.get(words[at].base, 0) if at < len(words) else 0
        bases = tuple([word.base for word in words[at : at + longest]])
        for size in range(len(bases), 0, -1):
            value = None
            self.at = at + size
            if self._tag() in ("", Tag.STOP, Tag.FINAL, Tag.BRACKET):
                value = table.final.get(bases[:size])
            if value is None:
                value = table.inside.get(bases[:size])
            if value is not None:
                return value
        self.at = at
        return None

    def _leave(self, word: Word) -> None:
        """Keep a function word that no phrase holds, if it counts."""
        if (found := word_of(word)) is not None:
            self.left.append(found)

    def _add(self, parts: list[Word], sort: str) -> Phrase:
        phrase = Phrase(parts, sort)
        if len(parts) > 1 and parts[0].tag == Tag.PREFIX and parts[0].surface in _NEGATING:
            phrase.words = parts[1:]
            phrase.negated = True
        self.found.append(phrase)
        return phrase

    # -- Things

    def _compound(self) -> None:
        parts: list[Word] = []
        while self._tag() in NOMINAL:
            word = self.words[self.at]
            if parts and word.surface in HONORIFICS:
                parts[-1].tag, parts[-1].key = Tag.NAME, parts[-1].normal  # 森さん is no 林さん
            else:
                parts.append(word)
            self.at += 1
        value = parts[-1].value
        if len(parts) > 1 and value is not None and value.type in _BESIDE:
            parts[-2:] = parts[-1], parts[-2]  # モニター三台 is 三台のモニター
        here = self.words[self.at] if self.at < len(self.words) else None
        if here is not None and here.tag == Tag.VERB and here.normal in _DOES:
            self.at += 1
            phrase = self._predicate(parts, here.form)
            if here.normal == "出来る":
                phrase.modality = phrase.modality or "can"
        elif here is not None and self._is_said(here):
            self._predicate(parts, be=True)
        else:
            self._case(self._add(parts, THING))

    def _is_said(self, here: Word) -> bool:
        """Return whether the words before this one are said of something: 静かだ, 本ではない."""
        at = self.at
        is_not = tuple(word.base for word in self.words[at : at + 3]) in _IS_NOT
        effect = self._match(AFTER_PREDICATE)
        self.at = at
        said = effect is not None and effect.modality in _OF_NOUNS
        return here.tag == Tag.AUXILIARY or is_not or said

    def _case(self, phrase: Phrase) -> None:
        """Read the particles behind a thing, or behind a clause that こと makes one."""
        words = self.words
        start = self.at
        case = self._match(CASES)
        following = words[self.at].base if self.at < len(words) else ""
        if case and words[self.at - 1].base == "て" and following in ("いる", "おる", "ある"):
            self.at, case = start, None  # を使っている is a predicate, を使って a case
        phrase.case = case or ""
        while self.at < len(words):
            word = words[self.at]
            if word.tag == Tag.CASE:
                phrase.case = phrase.case or SAME_CASE.get(word.surface, word.surface)
            elif word.tag == Tag.TOPIC:
                self._leave(word)
                phrase.topic = True
            elif word.surface in _LIMITS:
                phrase.limit = word
            elif word.surface in ("や", "とか", "か"):
                phrase.case = word.surface
            elif word.tag == Tag.PARTICLE:
                self._leave(word)
            else:
                break
            self.at += 1
        if self.at > start:
            phrase.until = words[self.at - 1].end

    # -- Predicates

    def _predicate(self, parts: list[Word], form: str = "", be: bool = False) -> Phrase:
        """Read the tail of the predicate whose compound has just been passed."""
        phrase = self._add(parts, PREDICATE)
        last = parts[-1]
        phrase.be = be
        if last.can:
            phrase.modality = "can"
        if last.tag == Tag.ADJECTIVE and last.normal == "無い":
            phrase.negated = not phrase.negated
            last.normal = last.key = "有る"
        form = form or last.form
        phrase.orders = form.startswith("命令形")
        first = self.at
        while not phrase.link and (effect := self._match(AFTER_PREDICATE)) is not None:
            closing = self.words[self.at - 1]
            self._say(phrase, effect, self.words[first].start, closing.end)
            form = closing.form
            first = self.at
        if not phrase.link:
            self._link(phrase, form)
        return phrase

    def _say(self, phrase: Phrase, effect: Effect, start: int, end: int) -> None:
        phrase.until = end
        phrase.negated ^= effect.flips
        phrase.modality = effect.modality or phrase.modality
        if effect.aspect:
            aspect = FunctionWord(start, end, effect.aspect, FunctionKind.RELATION)
            phrase.aspects = (*phrase.aspects, aspect)
        if effect.mark in FLAGS:
            setattr(phrase, effect.mark, True)
        else:
            phrase.link = effect.mark

    def _link(self, phrase: Phrase, form: str) -> None:
        """Read how the predicate goes on, from its inflected form and what follows."""
        if self.at >= len(self.words):
            return
        word = self.words[self.at]
        joins = form.startswith("連用形")
        if word.tag == Tag.NOMINALISER or word.normal in EMPTY_NOUNS:
            self.at += 1  # こと, の, ところ make a noun of the clause
            if self._tag() not in ("", Tag.STOP, Tag.COMMA, Tag.AUXILIARY):
                phrase.link = "noun"
                self._case(phrase)
        elif word.tag in NOMINAL or word.tag == Tag.ADNOMINAL:
            phrase.link = "rel"
        elif word.tag in (Tag.VERB, Tag.ADJECTIVE, Tag.ADVERB):
            phrase.link = "te" if joins else "rel"
        elif word.tag == Tag.COMMA and joins:
            phrase.link = "te"
        elif word.surface == "と":
            phrase.link = "if" if word.tag == Tag.LINK else "quote"
            self.at += 1
