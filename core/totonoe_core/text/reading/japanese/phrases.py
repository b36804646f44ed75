"""Phrases of a Japanese text: a content word or compound with what its function words say."""

from __future__ import annotations

from typing import Final, TypeVar

from totonoe_core.text.reading.japanese.grammar import (
    AFTER_PREDICATE,
    ASPECTS,
    CASES,
    DEMONSTRATIVES,
    EMPTY_NOUNS,
    FLAGS,
    HONORIFICS,
    LIGHT_VERBS,
    PEOPLE,
    SAME_CASE,
    SAYING,
    Effect,
    Table,
    words_of,
)
from totonoe_core.text.reading.japanese.phrase import (
    MANNER,
    PREDICATE,
    THING,
    Phrase,
    counts,
    is_label,
)
from totonoe_core.text.reading.japanese.words import (
    ACTION,
    ADJECTIVE,
    ADNOMINAL,
    ADVERB,
    AUXILIARY,
    BRACKET,
    CASE,
    COMMA,
    COUNTER,
    FIGURE,
    FINAL,
    LINK,
    NAME,
    NOMINAL,
    NOMINALISER,
    NOUN,
    PARTICLE,
    PREFIX,
    QUANTIFIER,
    SPACE,
    STATE,
    STOP,
    SUFFIX,
    TOPIC,
    VALUE,
    VERB,
    WHEN,
    Word,
)
from totonoe_core.text.reading.model import PieceType

_T = TypeVar("_T")

_NEGATING: Final = words_of("未 不 非 無")
_QUOTED_WITHIN: Final = 5  # words behind と in which a verb of saying is looked for
_TAIL_MAX: Final = 24  # expressions behind one predicate
_TOPICS: Final = words_of("は も って こそ さえ すら なんて")
_LIMITS: Final = {"だけ": "だけ", "のみ": "だけ", "しか": "だけ", "ばかり": "だけ"}


def phrases(words: list[Word]) -> list[Phrase]:
    """Phrases in text order."""
    return _Parser(words).run()


class _Parser:
    def __init__(self, words: list[Word]) -> None:
        # Politeness says nothing, wherever it stands.
        self.words = [
            word
            for word in words
            if word.tag != SPACE and (word.base != "ます" or word.form == "意志推量形")
        ]
        self.at = 0
        self.found: list[Phrase] = []

    def run(self) -> list[Phrase]:
        words = self.words
        while self.at < len(words):
            word = words[self.at]
            tag = word.tag
            if tag == PREFIX and word.surface in ("お", "ご", "御"):
                self.at += 1
            elif tag in NOMINAL:
                self._compound()
            elif word.surface in ("ある", "或る") and self._is_article():
                self.at += 1
            elif tag in (VERB, ADJECTIVE):
                self.at += 1
                self._predicate([word])
            elif tag == ADVERB:
                self.at += 1
                self._manner(word)
            elif tag == ADNOMINAL:
                self.at += 1
                if word.surface not in DEMONSTRATIVES and word.normal not in DEMONSTRATIVES:
                    phrase = Phrase([word], PREDICATE)
                    phrase.link = "rel"
                    self.found.append(phrase)
            else:
                if self.found:
                    last = self.found[-1]
                    if tag == COMMA:
                        last.comma = True
                    elif (tag == STOP and word.surface in "?？") or (
                        tag == FINAL and word.surface == "か"
                    ):
                        last.asks = True
                self.at += 1
        return self.found

    def _is_article(self) -> bool:
        """Whether this ある is that of ある人 and not a verb that has a subject."""
        words, at = self.words, self.at
        if at + 1 >= len(words) or words[at + 1].tag not in NOMINAL:
            return False
        before = words[at - 1] if at else None
        if before is None or before.tag in (STOP, COMMA, BRACKET):
            return True
        if words[at + 1].key not in PEOPLE:
            return before.surface in ("を", "で") and before.tag == CASE
        # 鍋がある人に混ぜられる: a passive clause with its subject looks for who does it.
        return before.surface not in ("が", "に", "の") or (
            before.surface == "が"
            and any(word.base in ("れる", "られる") for word in words[at + 2 : at + 24])
        )

    # -- What follows

    def _bases(self, at: int, count: int) -> tuple[str, ...]:
        found = [word.base for word in self.words[at : at + count]]
        if len(found) < count:
            found.append("END")
        return tuple(found)

    def _match(self, table: Table[_T]) -> _T | None:
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
                if end == len(words) or words[end].tag in (STOP, FINAL, BRACKET):
                    self.at = end
                    return value
            value = table.inside.get(parts)
            if value is not None:
                self.at = at + size
                return value
        return None

    # -- Things

    def _compound(self) -> None:
        words = self.words
        parts: list[Word] = []
        while self.at < len(words):
            word = words[self.at]
            if word.tag not in NOMINAL:
                break
            if word.surface in HONORIFICS and word.tag in (SUFFIX, NOUN) and parts:
                parts[-1].tag = NAME if parts[-1].tag in (NOUN, NAME) else parts[-1].tag
                self.at += 1
                continue
            if parts and _ends(parts[-1], word):
                break
            parts.append(word)
            self.at += 1
        if len(parts) > 1 and parts[-1].tag in (VALUE, QUANTIFIER):
            counted = parts[-1].value is None or counts(parts[-1])
            if counted and parts[-2].tag not in (VALUE, QUANTIFIER):
                parts[-2:] = [parts[-1], parts[-2]]  # モニター三台 is 三台のモニター
        if len(parts) > 1 and parts[-1].normal in ("前", "後") and parts[-2].tag == ACTION:
            parts[-2:] = [parts[-1], parts[-2]]  # 再起動後 is 再起動の後
        if len(parts) == 2 and is_label(parts[1]) and parts[0].tag in (NOUN, ACTION):
            if parts[0].key == "バージョン":
                del parts[0]
            else:
                parts.reverse()  # 課題 #412 is #412 の課題
        self._after_compound(parts)

    def _after_compound(self, parts: list[Word]) -> None:
        words = self.words
        here = words[self.at] if self.at < len(words) else None
        last = parts[-1]
        if here is None:
            self._thing(parts, "")
            return
        makes = last.surface == "化" and last.tag == SUFFIX and len(parts) > 1
        acts = makes or last.tag in (ACTION, STATE) or (last.tag == NOUN and here.tag == VERB)
        if (
            here.tag == VERB
            and here.normal in ("為る", "出来る", "致す", "為さる", "下さる")
            and acts
        ):
            self.at += 1
            if makes:
                parts.pop()
            phrase = self._predicate(parts, here.form)
            if makes:
                last.key = "化"
                phrase.aspect = last
            if here.normal == "出来る" and not phrase.modality:
                phrase.modality = "can"
            return
        if here.surface == "で" and self.at + 1 < len(words):
            after = words[self.at + 1].surface
            if after in ("しか", "のみ", "だけ", "さえ"):
                here.tag, here.base = CASE, "で"  # 家でしか
        if here.base in ("だ", "です") and here.tag == AUXILIARY:
            following = words[self.at + 1] if self.at + 1 < len(words) else None
            if here.form == "連用形-ニ":  # 静かに, 無効に
                self.at += 1
                if following is not None and following.normal in ("為る", "成る"):
                    self.at += 1
                    self._predicate(parts, following.form)
                else:
                    phrase = Phrase(parts, MANNER)
                    self.found.append(phrase)
                return
            if here.form == "連体形-一般":
                self.at += 1
                phrase = Phrase(parts, PREDICATE)
                phrase.be = True
                self.found.append(phrase)
                phrase.link = "rel"
                self._nominalised(phrase)
                return
            self._predicate(parts, be=True)
            return
        if here.base in ("で", "じゃ") and self._bases(self.at, 3) in (
            ("で", "は", "ない"),
            ("で", "は", "ある"),
            ("じゃ", "ない", "END"),
            ("で", "ある", "END"),
        ):
            self._predicate(parts, be=True)
            return
        if here.base == "で" and self._bases(self.at, 2) == ("で", "ある"):
            self._predicate(parts, be=True)
            return
        self._case(parts)

    def _case(self, parts: list[Word]) -> None:
        """Particles behind a thing."""
        words = self.words
        phrase = self._thing(parts, "")
        before = self.at
        case = self._match(CASES)
        following = words[self.at].base if self.at < len(words) else ""
        if case and words[self.at - 1].base == "て" and following in ("いる", "おる", "ある"):
            self.at, case = before, None  # を使っている is a predicate, を使って a case
        if case is not None:
            if case in ("は", "も"):
                phrase.topic = True
            else:
                phrase.case = case
        while self.at < len(words):
            word = words[self.at]
            if word.tag == CASE:
                if phrase.case and phrase.case != "まで":
                    if word.surface == "の":
                        self.at += 1
                        continue
                    break
                phrase.case = SAME_CASE.get(word.surface, word.surface)
            elif word.tag == TOPIC or word.surface in _TOPICS:
                if word.surface == "しか":
                    phrase.limit = "しか"
                phrase.topic = True
            elif word.tag == PARTICLE:
                if word.surface in _LIMITS:
                    phrase.limit = word.surface
                    phrase.topic |= word.surface == "しか"
                elif word.surface in ("や", "とか", "か"):
                    phrase.case = "や" if word.surface != "か" else phrase.case
                elif word.surface in ("より",):
                    phrase.case = "より"
            elif word.tag == LINK and word.surface == "と":
                phrase.case = "と"
            elif word.tag == LINK and word.surface == "が":
                phrase.case = "が"
            else:
                break
            self.at += 1

    def _thing(self, parts: list[Word], case: str) -> Phrase:
        phrase = Phrase(parts, THING)
        phrase.case = case
        if len(parts) > 1 and parts[-1].tag == SUFFIX and parts[-1].surface == "化":
            phrase.aspect = parts.pop()  # ビルドの高速化
            parts[-1].tag = ACTION
        if len(parts) > 1 and parts[0].tag == PREFIX and parts[0].surface in _NEGATING:
            phrase.words = parts[1:]
            phrase.negated = True
        self.found.append(phrase)
        return phrase

    def _manner(self, word: Word) -> None:
        words = self.words
        phrase = Phrase([word], MANNER)
        if self.at < len(words) and words[self.at].surface == "の":
            phrase.sort, phrase.case = THING, "の"
            self.at += 1
        elif self.at < len(words) and words[self.at].surface in ("に", "と", "は", "も"):
            self.at += 1
        self.found.append(phrase)

    # -- Predicates

    def _predicate(self, parts: list[Word], form: str = "", be: bool = False) -> Phrase:
        """Read the tail of the predicate whose compound has just been passed."""
        words = self.words
        last = parts[-1]
        phrase = Phrase(parts, PREDICATE)
        phrase.be = be
        if len(parts) > 1 and parts[0].tag == PREFIX and parts[0].surface in _NEGATING:
            phrase.words = parts[1:]
            phrase.negated = True
        if last.can:
            phrase.modality = "can"
        if last.tag == ADJECTIVE and last.normal == "無い":
            phrase.negated = not phrase.negated
            last.normal = last.key = "有る"
        self.found.append(phrase)
        form = form or last.form
        if form.startswith("命令形"):
            phrase.orders = True
        for _ in range(_TAIL_MAX):
            if self.at >= len(words):
                break
            word = words[self.at]
            if word.tag == VERB and word.normal in LIGHT_VERBS and word.base in ("なさる",):
                phrase.orders = word.form == "命令形"
                self.at += 1
                continue
            joins = form == "連用形-一般" and word.tag in (VERB, ADJECTIVE)
            if joins and word.normal in ASPECTS:
                phrase.aspect = word
                form = word.form
                self.at += 1
                continue
            if word.tag not in _TAIL and word.base not in _TAIL_WORDS:
                break
            before = self.at
            effect = self._match(AFTER_PREDICATE)
            if effect is None:
                break
            form = words[self.at - 1].form
            if form == "連用形-ニ" and effect.modality == "seem":
                phrase.link = "so"  # 失敗しないように確かめる
                break
            self._say(phrase, effect)
            if words[before].form == "仮定形-融合" and words[before].base == "ない":
                self._must_colloquially(phrase)
                break
            if words[before].base == "だ" and words[before].form == "意志推量形":
                phrase.modality = phrase.modality or "seem"
            if form == "仮定形-一般" and words[self.at - 1].base in ("た", "だ"):
                phrase.link, phrase.past = "if", False
            if form == "意志推量形" and words[self.at - 1].base == "ます":
                phrase.orders = True
            if phrase.link:
                break
        if phrase.no_more:
            phrase.past = False  # 吸わなくなった: does not smoke now
        if not phrase.link:
            self._link(phrase, form)
        return phrase

    def _must_colloquially(self, phrase: Phrase) -> None:
        """行かなきゃ, 行かなきゃいけない; with something else behind it a condition."""
        following = self._bases(self.at, 2)
        closes = following in (("いける", "ない"), ("なる", "ない"))
        if closes:
            self.at += 2
        ends = self.at >= len(self.words) or self.words[self.at].tag in (STOP, FINAL)
        if closes or ends:
            phrase.negated, phrase.modality = not phrase.negated, "must"
        else:
            phrase.link = "if"

    def _say(self, phrase: Phrase, effect: Effect) -> None:
        if effect.flips:
            phrase.negated = not phrase.negated
        if effect.modality:
            phrase.modality = effect.modality
        mark = effect.mark
        if not mark:
            return
        if mark in FLAGS:
            setattr(phrase, mark, True)
        else:
            phrase.link = mark

    def _link(self, phrase: Phrase, form: str) -> None:
        """How the predicate goes on, from its inflected form and what follows."""
        words = self.words
        if self.at >= len(words):
            return
        word = words[self.at]
        if word.tag in NOMINAL or word.tag in (ADNOMINAL,):
            if word.normal in EMPTY_NOUNS or word.surface in EMPTY_NOUNS:
                self._nominalised(phrase)
                return
            adverbial = phrase.words[-1].tag == ADJECTIVE and form == "連用形-一般"
            phrase.link = "" if adverbial else "rel"
            if adverbial:
                phrase.sort = MANNER
            elif form == "連用形-一般":
                phrase.link = "te"
        elif word.tag == NOMINALISER:
            self._nominalised(phrase)
        elif word.tag in (VERB, ADJECTIVE, ADVERB):
            adjective = phrase.words[-1].tag == ADJECTIVE
            if adjective and form.startswith("連用形"):
                phrase.sort = MANNER
            elif form.startswith("連用形"):
                phrase.link = "te"
            else:
                phrase.link = "rel"
        elif word.tag == COMMA and form.startswith("連用形"):
            phrase.link = "te"
        elif word.tag == LINK and word.surface == "と":
            phrase.link = "if"
            self.at += 1
        elif word.tag == CASE and word.surface == "と":
            phrase.link = "quote" if self._quotes() else "if"
            self.at += 1
        elif word.tag == CASE and word.surface == "に":
            purpose = self._bases(self.at + 1, 1) == ("は",)
            phrase.link, phrase.case = ("noun", "に") if purpose else ("te", "")
            self.at += 1 + purpose  # 入るには鍵が要る: entering needs it

    def _quotes(self) -> bool:
        following = self.words[self.at + 1 : self.at + 1 + _QUOTED_WITHIN]
        return any(word.normal in SAYING or word.key in SAYING for word in following)

    def _nominalised(self, phrase: Phrase) -> None:
        """Pass こと, の, ところ behind a clause and read the case of what they make."""
        words = self.words
        if self.at >= len(words):
            return
        word = words[self.at]
        if not (
            word.tag == NOMINALISER or word.normal in EMPTY_NOUNS or word.surface in EMPTY_NOUNS
        ):
            return
        self.at += 1
        following = words[self.at] if self.at < len(words) else None
        if following is None or following.tag in (STOP, COMMA):
            phrase.link = ""
            return
        if following.base in ("だ", "です"):
            phrase.link = ""
            effect = self._match(AFTER_PREDICATE)
            if effect is not None:
                self._say(phrase, effect)
            return
        phrase.link = "noun"
        if following.base == "は" and word.tag == NOMINALISER:
            phrase.cleft = True
        while self.at < len(words) and words[self.at].tag in (CASE, TOPIC):
            word = words[self.at]
            if word.tag == CASE:
                phrase.case = SAME_CASE.get(word.surface, word.surface)
            else:
                phrase.topic = True
            self.at += 1


def _ends(last: Word, word: Word) -> bool:
    """Whether a compound ends between two nominal words."""
    dated = last.value is not None and last.value.type in (PieceType.DATE, PieceType.TIME)
    if dated and word.tag not in (SUFFIX, COUNTER, VALUE, FIGURE):
        return True  # 毎月レポートを出す
    if last.end == word.start:
        return False
    latin = last.surface.isascii(), word.surface.isascii()
    # API キー is one word, 今日 Python は two.
    joined = all(latin) or (any(latin) and word.start - last.end == 1 and last.tag != WHEN)
    return not joined or dated


_TAIL: Final = frozenset((AUXILIARY, LINK, FINAL, TOPIC, PARTICLE, NOMINALISER, CASE))
_TAIL_WORDS: Final = words_of(
    "ない 無い 必要 こと 方 ほう つもり 予定 はず 筈 わけ 訳 もの ところ 様子 状態 可能"
    " 得る うる かねる いい よい ほか 他 以外"
)
