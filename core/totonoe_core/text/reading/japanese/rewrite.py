"""Light verbs and nouns of modality, which only say something of the action before them."""

from __future__ import annotations

from typing import Final

from totonoe_core.text.reading.japanese.grammar import (
    LIGHT_VERBS,
    MODAL_NOUNS,
    RELATIONS,
)
from totonoe_core.text.reading.japanese.phrase import (
    MANNER,
    PREDICATE,
    THING,
    Phrase,
    aspect,
)
from totonoe_core.text.reading.japanese.words import (
    ACTION,
    ADJECTIVE,
    VERB,
)

_MAKING_SO: Final = ("為る", "成る")


def rewrite(phrases: list[Phrase]) -> list[Phrase]:
    """Drop light verbs: デプロイを行う is デプロイする, デプロイ可能 is デプロイできる."""
    found: list[Phrase] = []
    for phrase in phrases:
        if phrase is phrases[-1] and _is_verdict(phrase):
            phrase.sort, phrase.be = PREDICATE, True
        if phrase.sort == PREDICATE or phrase is phrases[-1]:
            _say_of_compound(phrase)
            if found and _says_of(found[-1], phrase):
                found.pop()
                before = found[-1] if found and phrase.words[-1].tag == ACTION else None
                if before is not None and before.sort == THING and before.case == "の":
                    before.case = "を"
        found.append(phrase)
    _end_in_predicate(found)
    return found


def _end_in_predicate(phrases: list[Phrase]) -> None:
    """Say a thing at the end of its topic: 上司はトム."""
    last = phrases[-1] if phrases else None
    if last is not None and last.sort == THING and not last.case and not last.topic:
        last.sort, last.be = PREDICATE, last.words[-1].tag != ACTION


def _is_verdict(phrase: Phrase) -> bool:
    """再起動が必要, with nothing behind it."""
    word = phrase.words[-1]
    alone = len(phrase.words) == 1 and not phrase.case and not phrase.topic
    return alone and phrase.sort == THING and word.normal in MODAL_NOUNS


def _say_of_compound(phrase: Phrase) -> None:
    """利用可能 and デプロイ禁止 say something of their first part."""
    words = phrase.words
    if len(words) < 2 or phrase.case or phrase.topic:
        return
    last, before = words[-1], words[-2]
    if last.normal in MODAL_NOUNS and before.tag == ACTION:
        _modal(phrase, last.normal)
        phrase.words = words[:-1]
    elif before.tag == ACTION and (last.normal in LIGHT_VERBS or last.surface in ("中", "化")):
        phrase.words = words[:-1]
        if last.surface == "中":
            phrase.aspects = (*phrase.aspects, aspect(last, "ている"))
        phrase.be = False
    elif before.tag == ACTION and last.normal in ("済み", "済む", "済"):
        phrase.words = words[:-1]
        phrase.past, phrase.be = True, False
    else:
        return
    phrase.sort = PREDICATE


def _modal(phrase: Phrase, noun: str) -> None:
    denied, modality = MODAL_NOUNS[noun]
    phrase.negated ^= denied
    phrase.modality = f"{modality}+{phrase.modality}" if phrase.modality else modality
    if not (phrase.be or phrase.lasting):
        phrase.past = False
    phrase.passive = phrase.be = False
    # 禁止されている is 禁止だ
    phrase.aspects = tuple(one for one in phrase.aspects if one.key not in ("ている", "にする"))


def _says_of(before: Phrase, phrase: Phrase) -> bool:
    """Whether the predicate only says something of the action before it, and takes its place."""
    word = phrase.words[-1]
    if len(phrase.words) > 1 or phrase.sort != PREDICATE or before.limit:
        return False
    normal = word.normal
    if before.sort == MANNER and normal in _MAKING_SO and before.words[-1].tag == ADJECTIVE:
        word.key = "化" if normal == "為る" else normal  # 速くする is 高速化
        made = "にする" if normal == "為る" else "になる"
        phrase.aspects = (aspect(word, made), *phrase.aspects)
        phrase.words, phrase.aspect = before.words, word
        return True
    if before.sort == PREDICATE:  # 変更することは禁止だ
        if before.link != "noun" or normal not in MODAL_NOUNS:
            return False
    elif before.sort != THING or before.words[-1].tag != ACTION:
        return False
    plain = before.case in ("を", "が", "") and not before.comma
    if normal in MODAL_NOUNS and before.case in ("を", "が", "", "の"):
        _modal(phrase, normal)
    elif normal == "出来る" and plain:
        phrase.modality = phrase.modality or "can"
    elif normal == "受ける" and before.case == "を":
        phrase.passive = not phrase.passive  # 確認を受ける is 確認される
    elif normal in _MAKING_SO and before.case == "に" and before.key not in RELATIONS:
        phrase.passive |= normal == "成る"  # 中止になる is 中止される
    elif not (normal in LIGHT_VERBS and plain and word.tag in (VERB, ACTION)):
        return False
    phrase.words = before.words
    phrase.aspects = (*before.aspects, *phrase.aspects)
    phrase.negated ^= before.negated
    phrase.be = False
    return True
