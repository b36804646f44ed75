"""Predicates of a Japanese text: what their tail of function words says, and how they go on."""

from __future__ import annotations

from typing import Final, TypeVar

from totonoe_core.text.reading.japanese.function_words import word_of
from totonoe_core.text.reading.japanese.grammar import (
    AFTER_PREDICATE,
    ASPECTS,
    EMPTY_NOUNS,
    FLAGS,
    LIGHT_VERBS,
    SAME_CASE,
    Effect,
    Table,
    words_of,
)
from totonoe_core.text.reading.japanese.phrase import (
    MANNER,
    PREDICATE,
    Phrase,
    aspect,
)
from totonoe_core.text.reading.japanese.words import NOMINAL, Tag, Word
from totonoe_core.text.reading.model import FunctionKind, FunctionWord

_T = TypeVar("_T")
_JOINS: Final = FunctionKind.CONJUNCTION

NEGATING: Final = words_of("未 不 非 無")
_TAIL_MAX: Final = 24  # expressions behind one predicate
_TAIL: Final = words_of("auxiliary link final topic particle nominaliser case")
_TAIL_WORDS: Final = words_of(
    "ない 無い 必要 こと 方 ほう つもり 予定 はず 筈 わけ 訳 もの ところ 様子 状態 可能"
    " 得る うる かねる いい よい ほか 他 以外"
)


class Reader:
    """Words of a text, the place reached in them, and the phrases found so far.

    `left` has the function words that count and that no phrase holds.
    """

    def __init__(self, words: list[Word]) -> None:
        # Politeness says nothing, wherever it stands.
        self.words = [
            word
            for word in words
            if word.tag != Tag.SPACE and (word.base != "ます" or word.form == "意志推量形")
        ]
        self.at = 0
        self.found: list[Phrase] = []
        self.left: list[FunctionWord] = []

    def bases(self, at: int, count: int) -> tuple[str, ...]:
        found = [word.base for word in self.words[at : at + count]]
        if len(found) < count:
            found.append("END")
        return tuple(found)

    def tag_at(self, at: int) -> str:
        """Return the tag of a word, "" behind the last."""
        return self.words[at].tag if at < len(self.words) else ""

    def surface_at(self, at: int) -> str:
        """Return a word as it is written, "" behind the last."""
        return self.words[at].surface if at < len(self.words) else ""

    def match(self, table: Table[_T]) -> _T | None:
        """The longest expression of the table that begins here, which is then passed."""
        words, at = self.words, self.at
        longest = table.sizes.get(words[at].base, 0) if at < len(words) else 0
        if not longest:
            return None
        bases = tuple([word.base for word in words[at : at + longest]])
        for size in range(len(bases), 0, -1):
            parts = bases[:size]
            value = table.final.get(parts)
            if value is not None:
                end = at + size
                if end == len(words) or words[end].tag in (Tag.STOP, Tag.FINAL, Tag.BRACKET):
                    self.at = end
                    return value
            value = table.inside.get(parts)
            if value is not None:
                self.at = at + size
                return value
        return None

    def predicate(self, parts: list[Word], form: str = "", be: bool = False) -> Phrase:
        """Read the tail of the predicate whose compound has just been passed."""
        words = self.words
        phrase = self._said(parts, be)
        form = form or parts[-1].form
        phrase.orders = form.startswith("命令形")
        for _ in range(_TAIL_MAX):
            if self.at >= len(words):
                break
            word = words[self.at]
            if word.tag == Tag.VERB and word.normal in LIGHT_VERBS and word.base in ("なさる",):
                phrase.orders = word.form == "命令形"
                self.at += 1
                continue
            joins = form == "連用形-一般" and word.tag in (Tag.VERB, Tag.ADJECTIVE)
            if joins and word.normal in ASPECTS:
                phrase.aspect = word
                form = word.form
                self.at += 1
                continue
            if word.tag not in _TAIL and word.base not in _TAIL_WORDS:
                break
            before = self.at
            effect = self.match(AFTER_PREDICATE)
            if effect is None:
                break
            form = words[self.at - 1].form
            closing = words[self.at - 1]
            if closing.base == "だ" and effect.mark == "orders" and form != "連用形-ニ":
                effect = Effect(effect.flips, "seem")  # するように orders, するようだ seems
            if form == "連用形-ニ" and effect.modality == "seem":
                phrase.link = "so"  # 失敗しないように確かめる
                phrase.until = words[self.at - 1].end
                break
            if words[before].tag == Tag.NOMINALISER and self._gives_reason(self.at - 1):
                effect = Effect(mark="because")  # 試したので
            self._say(phrase, effect, words[before])
            if words[before].form == "仮定形-融合" and words[before].base == "ない":
                self._must_colloquially(phrase)
                break
            if closing.base == "だ" and form == "意志推量形":
                self._modal(phrase, "guess")
            if form == "仮定形-一般" and words[self.at - 1].base in ("た", "だ"):
                phrase.link, phrase.past = "if", False
            if form == "意志推量形" and words[self.at - 1].base == "ます":
                phrase.orders = True
            if phrase.asks and self.at < len(words) and words[self.at].tag in (Tag.CASE, Tag.TOPIC):
                phrase.asks = False  # 動くかを確かめる asks nothing
                self.left.append(FunctionWord(closing.start, closing.end, "か", _JOINS))
            if phrase.link:
                break
        if phrase.no_more:
            phrase.past = False  # 吸わなくなった: does not smoke now
        if not phrase.link:
            self._link(phrase, form)
        return phrase

    def _said(self, parts: list[Word], be: bool) -> Phrase:
        """Return a predicate with what its own words say: that it is denied, or can be done."""
        last = parts[-1]
        phrase = Phrase(parts, PREDICATE)
        phrase.be = be
        if len(parts) > 1 and parts[0].tag == Tag.PREFIX and parts[0].surface in NEGATING:
            phrase.words = parts[1:]
            phrase.negated = True
            if parts[0].surface == "未":  # 未完了 is 完了していない
                phrase.aspects = (aspect(parts[0], "ている"),)
        if last.can:
            phrase.modality = "can"
        if last.tag == Tag.ADJECTIVE and last.normal == "無い":
            phrase.negated = not phrase.negated
            last.normal = last.key = "有る"
        self.found.append(phrase)
        return phrase

    def _must_colloquially(self, phrase: Phrase) -> None:
        """行かなきゃ, 行かなきゃいけない; with something else behind it a condition."""
        following = self.bases(self.at, 2)
        closes = following in (("いける", "ない"), ("なる", "ない"))
        if closes:
            self.at += 2
        ends = self.at >= len(self.words) or self.words[self.at].tag in (Tag.STOP, Tag.FINAL)
        if closes or ends:
            phrase.negated, phrase.modality = not phrase.negated, "must"
        else:
            phrase.link = "if"

    def _say(self, phrase: Phrase, effect: Effect, first: Word) -> None:
        end = self.words[self.at - 1].end
        phrase.until = end
        if effect.flips:
            phrase.negated = not phrase.negated
        if effect.modality:
            self._modal(phrase, effect.modality)
        if effect.aspect:
            aspect = FunctionWord(first.start, end, effect.aspect, FunctionKind.RELATION)
            phrase.aspects = (*phrase.aspects, aspect)
        mark = effect.mark
        if not mark:
            return
        if mark in FLAGS:
            setattr(phrase, mark, True)
        else:
            phrase.link = mark

    def _modal(self, phrase: Phrase, modality: str) -> None:
        """Add a modality: べきかもしれない is should and maybe."""
        before = phrase.modality
        phrase.modality = modality if before in ("", modality) else f"{before}+{modality}"

    def leave(self, word: Word) -> None:
        """Keep a function word that no phrase holds, if it counts."""
        if (found := word_of(word)) is not None:
            self.left.append(found)

    def _link(self, phrase: Phrase, form: str) -> None:
        """How the predicate goes on, from its inflected form and what follows."""
        words = self.words
        if self.at >= len(words):
            return
        word = words[self.at]
        if word.tag in NOMINAL or word.tag in (Tag.ADNOMINAL,):
            if word.normal in EMPTY_NOUNS or word.surface in EMPTY_NOUNS:
                self.nominalised(phrase)
                return
            adverbial = phrase.words[-1].tag == Tag.ADJECTIVE and form == "連用形-一般"
            phrase.link = "" if adverbial else "rel"
            if adverbial:
                phrase.sort = MANNER
            elif form == "連用形-一般":
                phrase.link = "te"
        elif word.tag == Tag.NOMINALISER:
            self.nominalised(phrase)
        elif word.tag in (Tag.VERB, Tag.ADJECTIVE, Tag.ADVERB):
            adjective = phrase.words[-1].tag == Tag.ADJECTIVE
            if adjective and form.startswith("連用形"):
                phrase.sort = MANNER
            elif form.startswith("連用形"):
                phrase.link = "te"
            else:
                phrase.link = "rel"
        elif word.tag == Tag.COMMA and form.startswith("連用形"):
            phrase.link = "te"
        elif word.tag == Tag.LINK and word.surface == "と":
            phrase.link = "if"
            self.at += 1
        elif word.tag == Tag.CASE and word.surface == "と":
            phrase.link = "quote"
            self.at += 1
        elif word.tag == Tag.CASE and word.surface == "に":
            purpose = self.bases(self.at + 1, 1) == ("は",)
            phrase.link, phrase.case = ("noun", "に") if purpose else ("te", "")
            self.at += 1 + purpose  # 入るには鍵が要る: entering needs it

    def _gives_reason(self, at: int) -> bool:
        """Return whether this is the で of ので, not that of のではない."""
        word = self.words[at]
        joins = word.base == "だ" and word.form.startswith("連用形") and word.surface == "で"
        return joins and self.bases(at + 1, 1)[0] not in ("は", "も", "ない", "ある")

    def nominalised(self, phrase: Phrase) -> None:
        """Pass こと, の, ところ behind a clause and read the case of what they make."""
        words = self.words
        if self.at >= len(words):
            return
        word = words[self.at]
        if not (
            word.tag == Tag.NOMINALISER or word.normal in EMPTY_NOUNS or word.surface in EMPTY_NOUNS
        ):
            return
        self.at += 1
        following = words[self.at] if self.at < len(words) else None
        if following is None or following.tag in (Tag.STOP, Tag.COMMA):
            phrase.link = ""
            return
        if word.tag == Tag.NOMINALISER and self._gives_reason(self.at):  # 雨なので
            phrase.link, phrase.until = "because", following.end
            self.at += 1
            return
        if following.base in ("だ", "です"):
            phrase.link = ""
            effect = self.match(AFTER_PREDICATE)
            if effect is not None:
                self._say(phrase, effect, following)
            return
        phrase.link = "noun"
        while self.at < len(words) and words[self.at].tag in (Tag.CASE, Tag.TOPIC):
            word = words[self.at]
            if word.tag == Tag.CASE:
                phrase.case = SAME_CASE.get(word.surface, word.surface)
            else:
                phrase.topic = True
                self.leave(word)
            phrase.until = word.end
            self.at += 1
