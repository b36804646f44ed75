"""Parts of a Japanese sentence, by the particle behind a word and by what stands beside it.

Particles name the part, a passive moves it. Word order tells which predicate a phrase belongs to.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from totonoe_core.text.reading.japanese.grammar import (
    LIGHT_VERBS,
    MODAL_NOUNS,
    PEOPLE,
    PEOPLE_END,
)
from totonoe_core.text.reading.japanese.phrase import (
    COUNTS,
    MANNER,
    PREDICATE,
    THING,
    Phrase,
    aspect,
    is_time,
)
from totonoe_core.text.reading.japanese.words import Tag, Word
from totonoe_core.text.reading.model import Role

_TIME: Final = "time"
_ARGS_MAX: Final = 64
"""Phrases that wait for their predicate; the oldest of a longer row stay without a part."""


def assign(phrases: list[Phrase]) -> list[Phrase]:
    """Give each phrase its part and head; light verbs are dropped from the list."""
    phrases = _without_light_verbs(phrases)
    _attach(phrases)
    for phrase in phrases:
        if phrase.sort == PREDICATE:
            _name_parts(phrase)
    for phrase, after in reversed(list(pairwise(phrases))):
        if phrase.sort == after.sort == THING and phrase.case in ("と", "や"):
            phrase.role, phrase.head = after.role, after.head
    return phrases


# -- Light verbs and nouns of modality, which only say something of the action before them


def _without_light_verbs(phrases: list[Phrase]) -> list[Phrase]:
    """Drop light verbs: デプロイを行う is デプロイする, デプロイ可能 is デプロイできる."""
    found: list[Phrase] = []
    for phrase in phrases:
        ends = phrase is phrases[-1]
        if ends and phrase.sort == THING and phrase.words[-1].normal in MODAL_NOUNS:
            phrase.sort, phrase.be = PREDICATE, True  # 再起動が必要
        if phrase.sort == PREDICATE or ends:
            _say_of_compound(phrase)
            if found and _says_of(found[-1], phrase):
                found.pop()
        found.append(phrase)
    last = found[-1] if found else None
    if last is not None and last.sort == THING and not last.case:
        last.sort, last.be = PREDICATE, True  # 上司はトム
    return found


def _say_of_compound(phrase: Phrase) -> None:
    """利用可能 and 使用中 say something of their first part."""
    words = phrase.words
    if len(words) < 2 or words[-2].tag != Tag.ACTION:
        return
    last = words[-1]
    if last.normal in MODAL_NOUNS:
        _modal(phrase, last.normal)
    elif last.surface == "中":
        phrase.aspects = (*phrase.aspects, aspect(last, "ている"))
    else:
        return
    phrase.words, phrase.sort, phrase.be = words[:-1], PREDICATE, False


def _modal(phrase: Phrase, noun: str) -> None:
    *denied, modality = MODAL_NOUNS[noun].split()
    phrase.negated ^= bool(denied)
    phrase.modality = f"{modality}+{phrase.modality}" if phrase.modality else modality
    phrase.passive = phrase.be = False
    # 禁止されている is 禁止だ
    phrase.aspects = tuple(aspect for aspect in phrase.aspects if aspect.key != "ている")


def _says_of(before: Phrase, phrase: Phrase) -> bool:
    """Whether the predicate only says something of the action before it, and takes its place."""
    normal = phrase.words[-1].normal
    if len(phrase.words) > 1 or phrase.sort != PREDICATE or before.limit:
        return False
    if before.sort == PREDICATE:  # 変更することは禁止だ
        if before.link != "noun" or normal not in MODAL_NOUNS:
            return False
    elif before.sort != THING or before.words[-1].tag != Tag.ACTION:
        return False
    if normal in MODAL_NOUNS:
        _modal(phrase, normal)
    elif normal in LIGHT_VERBS or normal == "成る":
        phrase.passive |= normal == "成る"  # 中止になる is 中止される
    else:
        return False
    phrase.words = before.words
    phrase.aspects = (*before.aspects, *phrase.aspects)
    phrase.negated ^= before.negated
    phrase.be = False
    return True


# -- What belongs to what


def _attach(phrases: list[Phrase]) -> None:
    """Hand each thing to its predicate, each modifier to what follows it."""
    waiting: list[Phrase] = []
    chain: list[Phrase] = []  # clauses that wait for the one they lead to
    for index, phrase in enumerate(phrases):
        following = phrases[index + 1] if index + 1 < len(phrases) else None
        if phrase.sort == THING and phrase.case in ("の", "という"):
            phrase.role, phrase.head = Role.MODIFIER, following
            if following is not None:
                following.owned = phrase.case == "の"
        elif index and _is_count(phrase) and phrases[index - 1].case in ("が", "を"):
            phrase.role, phrase.head = Role.MODIFIER, phrases[index - 1]  # 本が三冊ある
        elif phrase.sort != PREDICATE:
            waiting.append(phrase)
            del waiting[:-_ARGS_MAX]
        else:
            taken = _taken(phrase, waiting, phrases, index)
            for each in taken:
                each.head = phrase
            phrase.args += taken
            waiting = [each for each in waiting if each.head is not phrase]
            if phrase.link == "rel":
                phrase.role, phrase.head = Role.MODIFIER, following
            elif phrase.link == "noun":
                waiting.append(phrase)
            elif phrase.link:
                phrase.role = "prep:" + phrase.link
                chain.append(phrase)
            else:
                phrase.role = Role.PREDICATE
                for each, leads_to in pairwise([*chain, phrase]):
                    each.head = leads_to
                chain = []


def _taken(
    predicate: Phrase, waiting: list[Phrase], phrases: list[Phrase], index: int
) -> list[Phrase]:
    """Return what belongs to a predicate rather than to a later one.

    A clause that stands before a noun takes what stands directly before it: 新聞を読む人.
    """
    if predicate.link == "rel":
        last = waiting[-1:]
        return [each for each in last if each is phrases[index - 1] and not each.topic]
    if predicate.link in ("if", "noun", "quote"):
        return [each for each in waiting if not each.topic]
    return waiting


def _is_count(phrase: Phrase) -> bool:
    """A number or quantity of things, without a particle."""
    word = phrase.words[-1]
    figure = word.value is not None and word.value.type in COUNTS
    counting = word.tag == Tag.QUANTIFIER or figure
    return counting and phrase.sort == THING and phrase.case == ""


# -- Who does what


def _name_parts(predicate: Phrase) -> None:
    args = predicate.args
    if any(each.limit is not None and each.limit.surface == "しか" for each in args):
        predicate.negated = not predicate.negated  # しか食べない: eats only that
    cases = {each.case for each in args}
    for each in args:
        each.role = _part(each, predicate, cases)
    if not predicate.passive:
        return
    if "を" in cases:
        predicate.aspects = (*predicate.aspects, aspect(predicate.words[-1], "られる"))
        return
    for each in args:
        if each.role == Role.AGENT:
            each.role = Role.PATIENT
        elif each.case == "によって" or (each.case in ("に", "から") and _acts(each.words[-1])):
            each.role = Role.AGENT
    if predicate.link != "rel" and all(each.role != Role.PATIENT for each in args):
        # 指摘された says of nobody named what 指摘した says he did.
        predicate.modality = predicate.modality or "undergo"


def _acts(word: Word) -> bool:
    """Return whether a word is for somebody who may act."""
    return word.tag == Tag.NAME or word.key in PEOPLE or word.normal[-1:] in PEOPLE_END


def _part(each: Phrase, predicate: Phrase, cases: set[str]) -> str:
    case = each.case
    if each.sort == MANNER:
        return Role.ADVERB
    if each.sort == THING and case in ("", "に", "で") and is_time(each):
        return _TIME
    if case == "を":
        return Role.PATIENT
    if case == "が":
        return Role.AGENT
    if case:
        return "prep:" + case
    if not each.topic:
        return Role.ADVERB
    # 報告書は提出する: は alone may mark what it is done to.
    known = predicate.be or predicate.passive or "を" in cases or _acts(each.words[-1])
    return Role.AGENT if known and "が" not in cases else Role.TOPIC
