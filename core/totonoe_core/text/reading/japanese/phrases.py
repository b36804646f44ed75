"""Phrases of a Japanese text: a content word or compound with what its function words say."""

from __future__ import annotations

from typing import Final

from totonoe_core.text.reading.japanese.grammar import (
    AFTER_PREDICATE,
    CASES,
    DEMONSTRATIVES,
    HONORIFICS,
    SAME_CASE,
    words_of,
)
from totonoe_core.text.reading.japanese.phrase import (
    MANNER,
    PREDICATE,
    THING,
    Phrase,
    aspect,
    counts,
    is_label,
)
from totonoe_core.text.reading.japanese.predicates import NEGATING, Reader
from totonoe_core.text.reading.japanese.words import NOMINAL, Tag, Word
from totonoe_core.text.reading.model import FunctionWord, PieceType

_TOPICS: Final = words_of("は も って こそ さえ すら なんて")
_OF_NOUNS: Final = words_of("maybe surely seem hearsay guess expect think")
_JOINING: Final = words_of("case topic particle link auxiliary joiner")
_AROUND_VALUES: Final = frozenset(("約", "ほど", "くらい", "ぐらい", "程度"))
"""Said before a figure or behind it: about."""
_DOES: Final = words_of("為る 出来る 致す 為さる 下さる")
_IS_NOT: Final = {tuple(row.split()) for row in ("で は ない", "で は ある", "じゃ ない END")}
_LIMITS: Final = {"だけ": "だけ", "のみ": "だけ", "しか": "だけ", "ばかり": "だけ"}


def phrases(words: list[Word]) -> tuple[list[Phrase], list[FunctionWord]]:
    """Return the phrases in text order, and the function words that none of them holds."""
    parser = _Parser(words)
    return parser.run(), parser.left


class _Parser(Reader):
    def run(self) -> list[Phrase]:
        words = self.words
        while self.at < len(words):
            word = words[self.at]
            tag = word.tag
            if tag == Tag.PREFIX and word.surface in ("お", "ご", "御"):
                self.at += 1
            elif word.key in _AROUND_VALUES and self.tag_at(self.at + 1) == Tag.VALUE:
                self.leave(word)
                self.at += 1
            elif tag in NOMINAL:
                self._compound()
            elif tag in (Tag.VERB, Tag.ADJECTIVE):
                self.at += 1
                self.predicate([word])
            elif tag == Tag.ADVERB:
                self.at += 1
                self._manner(word)
            elif tag == Tag.ADNOMINAL:
                self.at += 1
                if word.surface not in DEMONSTRATIVES and word.normal not in DEMONSTRATIVES:
                    phrase = Phrase([word], PREDICATE)
                    phrase.link = "rel"
                    self.found.append(phrase)
            else:
                if self.found:
                    last = self.found[-1]
                    if tag == Tag.COMMA:
                        last.comma = True
                    elif (tag == Tag.STOP and word.surface in "?？") or (
                        tag == Tag.FINAL and word.surface == "か"
                    ):
                        last.asks = True
                # また、: opens a sentence; または behind a Latin letter is cut in two.
                opens = word.normal == "又" and self.tag_at(self.at + 1) == Tag.COMMA
                if tag in _JOINING and not opens:
                    self.leave(word)
                self.at += 1
        return self.found

    # -- Things

    def _compound(self) -> None:
        words = self.words
        parts: list[Word] = []
        while self.at < len(words):
            word = words[self.at]
            if word.tag not in NOMINAL:
                break
            if word.surface in HONORIFICS and word.tag in (Tag.SUFFIX, Tag.NOUN) and parts:
                if parts[-1].tag in (Tag.NOUN, Tag.NAME):
                    parts[-1].tag, parts[-1].key = Tag.NAME, parts[-1].normal  # 森さん is no 林さん
                self.at += 1
                continue
            if parts and _ends(parts[-1], word):
                break
            parts.append(word)
            self.at += 1
        if len(parts) > 1 and parts[-1].tag in (Tag.VALUE, Tag.QUANTIFIER):
            counted = parts[-1].value is None or counts(parts[-1])
            if counted and parts[-2].tag not in (Tag.VALUE, Tag.QUANTIFIER):
                parts[-2:] = [parts[-1], parts[-2]]  # モニター三台 is 三台のモニター
        if len(parts) > 1 and parts[-1].normal in ("前", "後") and parts[-2].tag == Tag.ACTION:
            parts[-2:] = [parts[-1], parts[-2]]  # 再起動後 is 再起動の後
        if len(parts) == 2 and is_label(parts[1]) and parts[0].tag in (Tag.NOUN, Tag.ACTION):
            if parts[0].key == "バージョン":
                del parts[0]
            else:
                parts.reverse()  # 課題 #412 is #412 の課題
        self._after_compound(parts)

    def _after_compound(self, parts: list[Word]) -> None:
        here = self.words[self.at] if self.at < len(self.words) else None
        if here is None:
            self._thing(parts)
        elif not self._does(parts, here) and not self._is(parts, here):
            self._case(parts)

    def _does(self, parts: list[Word], here: Word) -> bool:
        """Read an action with する or できる; False if it is none."""
        last = parts[-1]
        makes = last.surface == "化" and len(parts) > 1
        if here.tag != Tag.VERB or here.normal not in _DOES:
            return False
        if not makes and last.tag not in (Tag.ACTION, Tag.STATE, Tag.NOUN):
            return False
        self.at += 1
        if makes:
            parts.pop()
        phrase = self.predicate(parts, here.form)
        if makes or (last.surface.endswith("化") and last.key != last.normal):
            phrase.aspects = (aspect(last, "にする"), *phrase.aspects)
        if makes:
            last.key = "化"
            phrase.aspect = last
        if here.normal == "出来る" and not phrase.modality:
            phrase.modality = "can"
        return True

    def _is(self, parts: list[Word], here: Word) -> bool:
        """Read what is said of something: 静かだ, 静かに, 本ではない; False if it is a thing."""
        if here.surface == "で" and self.surface_at(self.at + 1) in (
            "しか",
            "のみ",
            "だけ",
            "さえ",
        ):
            here.tag, here.base = Tag.CASE, "で"  # 家でしか
        if here.base in ("だ", "です") and here.tag == Tag.AUXILIARY:
            if here.form == "連用形-ニ":  # 静かに, 無効に
                self._becomes(parts)
            elif here.form == "連体形-一般":
                self.at += 1
                phrase = Phrase(parts, PREDICATE)
                phrase.be, phrase.link = True, "rel"
                self.found.append(phrase)
                self.nominalised(phrase)
            else:
                self.predicate(parts, be=True)
            return True
        is_not = self.bases(self.at, 3) in _IS_NOT
        inflected = parts[-1].tag == Tag.QUANTIFIER and parts[-1].form != "*"
        if inflected and here.tag in (Tag.AUXILIARY, Tag.LINK, Tag.CASE) and not is_not:
            self.predicate(parts)  # 残業が多かった
            return True
        before = self.at
        effect = self.match(AFTER_PREDICATE)
        self.at = before
        if is_not or (effect is not None and effect.modality in _OF_NOUNS):
            self.predicate(parts, be=True)
            return True
        return False

    def _becomes(self, parts: list[Word]) -> None:
        self.at += 1
        following = self.words[self.at] if self.at < len(self.words) else None
        if following is not None and following.normal in ("為る", "成る"):
            self.at += 1
            made = self.predicate(parts, following.form)
            become = "になる" if following.normal == "成る" else "にする"
            made.aspects = (aspect(following, become), *made.aspects)
        else:
            self.found.append(Phrase(parts, MANNER))

    def _case(self, parts: list[Word]) -> None:
        """Particles behind a thing."""
        words = self.words
        phrase = self._thing(parts)
        before = start = self.at
        case = self.match(CASES)
        following = words[self.at].base if self.at < len(words) else ""
        if case and words[self.at - 1].base == "て" and following in ("いる", "おる", "ある"):
            self.at, case = before, None  # を使っている is a predicate, を使って a case
        if case is not None:
            if case in ("は", "も"):
                phrase.topic = True
                self.leave(words[self.at - 1])
            else:
                phrase.case = case
        while self.at < len(words):
            word = words[self.at]
            if word.tag == Tag.CASE:
                if phrase.case and phrase.case != "まで":
                    if word.surface == "の":
                        self.at += 1
                        continue
                    break
                phrase.case = SAME_CASE.get(word.surface, word.surface)
            elif word.tag == Tag.TOPIC or word.surface in _TOPICS:
                self.leave(word)
                phrase.topic = True
            elif word.tag == Tag.PARTICLE:
                if word.surface in _LIMITS:
                    phrase.limit = word
                    phrase.topic |= word.surface == "しか"
                elif word.surface in ("や", "とか", "か"):
                    phrase.case = "か" if word.surface == "か" else "や"
                else:
                    self.leave(word)
            elif word.tag == Tag.LINK and word.surface == "と":
                phrase.case = "と"
            elif word.tag == Tag.LINK and word.surface == "が":
                phrase.case = "が"
            else:
                break
            self.at += 1
        if self.at > start:
            phrase.until = words[self.at - 1].end

    def _thing(self, parts: list[Word]) -> Phrase:
        phrase = Phrase(parts, THING)
        if len(parts) > 1 and parts[-1].tag == Tag.SUFFIX and parts[-1].surface == "化":
            phrase.aspect = parts.pop()  # ビルドの高速化
            parts[-1].tag = Tag.ACTION
        if len(parts) > 1 and parts[0].tag == Tag.PREFIX and parts[0].surface in NEGATING:
            phrase.words = parts[1:]
            phrase.negated = True
        self.found.append(phrase)
        return phrase

    def _manner(self, word: Word) -> None:
        phrase = Phrase([word], MANNER)
        following = self.surface_at(self.at)
        if following == "の":
            phrase.sort, phrase.case = THING, "の"
        self.at += following in ("の", "に", "と", "は", "も")
        self.found.append(phrase)


def _ends(last: Word, word: Word) -> bool:
    """Whether a compound ends between two nominal words."""
    dated = last.value is not None and last.value.type in (PieceType.DATE, PieceType.TIME)
    if dated and word.tag not in (Tag.SUFFIX, Tag.COUNTER, Tag.VALUE, Tag.FIGURE):
        return True  # 毎月レポートを出す
    if last.end == word.start:
        return False
    latin = last.surface.isascii(), word.surface.isascii()
    # API キー is one word, 今日 Python は two.
    joined = all(latin) or (any(latin) and word.start - last.end == 1 and last.tag != Tag.WHEN)
    return not joined or dated
