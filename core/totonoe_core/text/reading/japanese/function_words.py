"""Function words of Japanese whose meaning no piece carries, and those that may be ignored.

Every particle, linking form, aspect and conjunction counts, unless it stands on the closed list
below, or another part of the reading says it: the role of a piece (が, を, the に of a passive
clause), its modality, tense or denial.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from totonoe_core.text.reading.japanese.grammar import AROUND, LIGHT_VERBS, words_of
from totonoe_core.text.reading.japanese.phrase import PREDICATE, Phrase, is_time
from totonoe_core.text.reading.japanese.words import Word
from totonoe_core.text.reading.model import FunctionKind, FunctionWord, Role

IGNORED: Final = {
    "は": "marks the topic; what the topic does, its role says",
    "って": "は or と of speech",
    "こそ": "stresses what stands before it",
    "が": "subject, or joins as a full stop does; the role says the one",
    "けど": "joins as a full stop does; the contrast is the speaker's",
    "けれど": "けど",
    "を": "object: the role says it",
    "の": "says what belongs to what, as a compound does, or makes a noun of a clause",
    "と": "joins things as a comma does, or closes what is quoted",
    "という": "says what sort of thing a name stands for",
    "for": "てもらう says it",
    "～": "joins two values, which are read as one",
    "〜": "～",
    "にとって": "the one whom the predicate is about",
    "て": "joins clauses as a full stop does",
    "つつ": "て",
    "し": "て",
    "だ": "closes a noun as a full stop does",
    "です": "だ, politely",
    "ます": "is polite",
    "下さい": "the reading says whether a text orders",
    "ね": "tone of speech",
    "よ": "ね",
    "ぞ": "ね",
    "さ": "ね",
    "わ": "ね",
    "な": "ね",
    "尚": "opens a sentence, and adds nothing to it",
    "因みに": "尚",
    "さて": "尚",
    "つまり": "尚",
    "即ち": "尚",
    "要するに": "尚",
    "然し": "opens a sentence; the contrast is the speaker's",
    "但し": "然し",
    "ただし": "然し",
    "ただ": "然し",
    "だが": "然し",
    "けれども": "然し",
    "及び": "と",
    "並びに": "と",
    "且つ": "と",
    "そして": "と",
}
"""Function words that another wording may leave out, each with the reason."""
EQUAL: Final = {
    "ぐらい": "約",
    "くらい": "約",
    "位": "約",
    "ほど": "約",
    "程": "約",
    "程度": "約",
    "約": "約",
    "すら": "さえ",
    "だって": "さえ",
    "とか": "等",
    "や": "等",
    "やら": "等",
    "など": "等",
    "なんか": "等",
    "なんて": "等",
    "又は": "か",
    "或いは": "か",
    "もしくは": "か",
    "若しくは": "か",
    "なり": "か",
    "きり": "だけ",
    "従って": "because",
    "其の為": "because",
    "なので": "because",
    "ですから": "because",
}
"""Function words that say the same."""
STATES: Final = words_of(
    "有る 持つ 備える 含む 担当者 担当 所属 存在 違う 異なる 似る 優れる 住む 勤める 勤務 働く 知る"
    " 思う 考える 好む 望む 嫌い 信じる 要る 関する 使う 使用 利用 管理 対応 構成"
)
"""Verbs whose plain form says the state that ている says: 使う and 使っている are one habit."""
BOTH_WAYS: Final = words_of("完了 終了 停止 開始 再開 移動 回転 発生 実現 充実 徹底")
"""Actions that have an object with する as with させる: 処理を完了させる is 処理を完了する."""
_LASTING_MODALITIES: Final = words_of("want think")
"""思っている is 思う, 望んでいる is 望む."""
HABITS: Final = words_of("常に 時々 滅多に 毎 都度 度 定期的 自動的 毎日 毎朝 毎晩 毎週 毎月 毎年")
"""Words for what is done again and again: 毎週行う is 毎週行っている."""
_BEFORE_TIMES: Final = frozenset(("", "に", "で", "time"))
"""Said behind a date or a time of day, or left out."""
_LINKS_READ: Final = frozenset(("", "rel", "noun", "te", "quote", "and", "but"))
"""Links of a predicate that the roles carry, or that join as a full stop does."""


def word_of(word: Word) -> FunctionWord | None:
    """Return the function word that no phrase took, if it counts."""
    if word.base in IGNORED or word.normal in IGNORED:
        return None
    key = EQUAL.get(word.base) or EQUAL.get(word.normal) or EQUAL.get(word.key, word.base)
    return FunctionWord(word.start, word.end, key, _kind(key))


def _kind(key: str) -> FunctionKind:
    joins = key in ("か", "because", "if", "so", "even", "although", "ながら")
    return FunctionKind.CONJUNCTION if joins else FunctionKind.RELATION


def function_words(
    phrases: Iterable[Phrase], left: Iterable[FunctionWord]
) -> tuple[FunctionWord, ...]:
    """Return the function words that count, in text order.

    Parameters
    ----------
    phrases : iterable of Phrase
        With their parts.
    left : iterable of FunctionWord
        Those that the phrases do not hold: aspects, も, and what no rule has read.
    """
    rows = list(phrases)
    found = list(left)
    habit = any(_is_habit(word) for phrase in rows for word in phrase.words)
    for phrase in rows:
        word = phrase.words[-1]
        state = habit or word.normal in STATES or word.key in STATES
        for one in phrase.aspects:
            if one.key == "ている" and (state or phrase.link == "rel"):
                continue  # 帽子をかぶっている人 is 帽子をかぶった人
            if one.key == "ている" and phrase.modality in _LASTING_MODALITIES:
                continue
            if one.key == "させる" and word.normal in BOTH_WAYS and _has_object(phrase):
                continue
            found.append(one)
        key = _joined(phrase) if phrase.sort == PREDICATE else _case(phrase)
        if key:
            start, end = word.end, phrase.until
            if end <= start:
                start, end = word.start, word.end
            found.append(FunctionWord(start, end, key, _kind(key)))
    return tuple(sorted(found, key=_start))


def _has_object(phrase: Phrase) -> bool:
    return any(each.case == "を" for each in phrase.args)


def _is_habit(word: Word) -> bool:
    return word.key in HABITS or (word.value is not None and ":every" in word.value.key)


def _start(word: FunctionWord) -> int:
    return word.start


def _joined(phrase: Phrase) -> str:
    """Return what joins a clause to the next, "" for nothing that counts."""
    if phrase.link == "noun":
        return _case(phrase)
    return "" if phrase.link in _LINKS_READ else phrase.link


def _case(phrase: Phrase) -> str:
    """Return the particle of a thing, "" if its role says as much, or it is ignored."""
    case = phrase.case
    if case in ("や", "か"):
        return EQUAL.get(case, case)
    around = phrase.words[0].normal in AROUND  # 交換後に
    if case in _BEFORE_TIMES and (around or is_time(phrase)):
        return ""
    if phrase.role.startswith("prep:"):
        case = phrase.role.removeprefix("prep:")
    elif phrase.role != Role.UNKNOWN or case in _BEFORE_TIMES:
        return ""
    if phrase.role == "prep:と" and phrase.head is not None:
        # 田中と話す counts; 田中と佐藤 only joins, and 公開とする is 公開する.
        return "" if phrase.head.words[-1].normal in LIGHT_VERBS else "と"
    return "" if case in IGNORED else case
