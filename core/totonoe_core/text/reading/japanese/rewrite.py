"""Clauses brought to one form before their parts are told: light verbs, idioms, turned clauses.

What is said in several ways becomes one row of phrases here, so that `roles` sees it once:
デプロイを行う and デプロイする, 忘れずに閉じる and 閉じるのを忘れない,
開けるのは田中だ and 田中が開ける.
"""

from __future__ import annotations

from typing import Final

from totonoe_core.text.reading.japanese.grammar import (
    LIGHT_VERBS,
    MODAL_NOUNS,
    NO_OBJECT,
    RELATIONS,
)
from totonoe_core.text.reading.japanese.phrase import (
    MANNER,
    PREDICATE,
    THING,
    Phrase,
    aspect,
    is_time,
)
from totonoe_core.text.reading.japanese.words import (
    ACTION,
    ADJECTIVE,
    NAME,
    NOUN,
    STATE,
    SUFFIX,
    VALUE,
    VERB,
)
from totonoe_core.text.reading.model import Role

_ACTION_WITHIN: Final = 6
"""Phrases between an action and its light verb."""

_MAKING_SO: Final = ("為る", "成る")


def rewrite(phrases: list[Phrase]) -> list[Phrase]:
    """The phrases in their one form; those that only carry grammar are dropped."""
    phrases = _without_light_verbs(_without_sorts(phrases))
    phrases = _remembered(phrases)
    _needed(phrases)
    phrases = _there_is(phrases)
    _end_in_predicate(phrases)
    return phrases


def _without_sorts(phrases: list[Phrase]) -> list[Phrase]:
    """ピアノという楽器を弾く is ピアノを弾く."""
    if not any(phrase.case == "という" for phrase in phrases):
        return phrases
    found: list[Phrase] = []
    for phrase in phrases:
        before = found[-1] if found else None
        if before is None or before.case != "という" or phrase.sort != THING or before.light:
            found.append(phrase)
            continue
        before.case, before.topic, before.limit = phrase.case, phrase.topic, phrase.limit
        phrase.light, phrase.role, phrase.head, phrase.case = True, Role.MODIFIER, before, "の"
        found.insert(-1, phrase)
    return found


def _without_light_verbs(phrases: list[Phrase]) -> list[Phrase]:
    """デプロイを行う is デプロイする, デプロイ可能 is デプロイできる."""
    found: list[Phrase] = []
    for phrase in phrases:
        if phrase is phrases[-1] and _is_verdict(phrase):
            phrase.sort, phrase.be = PREDICATE, True
        if phrase.sort == PREDICATE or phrase is phrases[-1]:
            _say_of_compound(phrase)
            _take_action(found, phrase)
            if found and _says_of(found[-1], phrase):
                found.pop()
                before = found[-1] if found and phrase.words[-1].tag == ACTION else None
                if before is not None and before.sort == THING and before.case == "の":
                    before.case = "を"
        found.append(phrase)
    return found


def _is_verdict(phrase: Phrase) -> bool:
    """再起動が必要, with nothing behind it."""
    word = phrase.words[-1]
    alone = len(phrase.words) == 1 and not phrase.case and not phrase.topic
    return alone and phrase.sort == THING and word.normal in MODAL_NOUNS


def _take_action(found: list[Phrase], phrase: Phrase) -> None:
    """棚卸しは月末に行う is 月末に棚卸しする: the action stands farther from its light verb."""
    if len(phrase.words) > 1 or phrase.words[-1].normal not in ("行う", "実施", "執り行う"):
        return
    for index in range(len(found) - 1, max(-1, len(found) - _ACTION_WITHIN), -1):
        before = found[index]
        if before.sort == PREDICATE:
            return
        marked = before.case in ("を", "が") or (before.topic and not before.case)
        if before.sort == THING and marked and before.words[-1].tag == ACTION and not before.limit:
            if index + 1 == len(found) and before.case:
                return  # beside it: `_says_of`
            phrase.words, phrase.be = before.words, False
            if index and found[index - 1].case == "の":
                found[index - 1].case = "を"
            del found[index]
            phrase.passive = False
            return


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


def _end_in_predicate(phrases: list[Phrase]) -> None:
    """A text that ends in a thing says it of its topic, or is the clause before it inside out.

    ベンチに座っている男性です is 男性がベンチに座っている.
    """
    if not phrases:
        return
    last = phrases[-1]
    ends_in_thing = (last.sort == THING and not last.case and not last.topic) or (
        last.sort == PREDICATE and last.be and last.words[-1].tag != STATE and not last.negated
    )
    if not ends_in_thing:
        return
    before = phrases[-2] if len(phrases) > 1 else None
    if before is not None and not last.negated and not last.modality:
        if _is_event_at(before, last) or _is_charge(before, last):
            before.sort, before.topic = PREDICATE, False
            if not is_time(last):
                last.case = "が"
                for each in phrases[:-2]:
                    each.case = "を" if each.case == "の" else each.case
            _hand(before, last)
            return
        cleft = _cleft(phrases)
        if cleft is not None:
            last.case = "を" if _has_subject(phrases, cleft) else "が"
            cleft.link, cleft.topic = "", False
            _hand(cleft, last)
            return
        if _is_inverted(before, last, phrases):
            before.sort, before.be, before.case = PREDICATE, True, ""
            last.topic = True
            for each in phrases[:-2]:
                if each.topic and not each.case:  # 彼は写真が趣味だ: his hobby
                    each.role, each.head = Role.MODIFIER, last
            _hand(before, last)
            return
    told = any(each.topic for each in phrases[:-1])
    if (
        before is not None
        and before.sort == PREDICATE
        and before.link == "rel"
        and (before.words[-1].tag in (VERB, ACTION) or _has_object(phrases[:-1]))
        and not told
        and not last.modality
    ):
        _turn(before, last)
    elif last.sort == THING:
        last.sort = PREDICATE
        last.be = last.words[-1].tag != ACTION


def _has_object(phrases: list[Phrase]) -> bool:
    """コーヒーが好きな, コーヒー好きな."""
    last = phrases[-1]
    if last.words[-1].normal not in NO_OBJECT:
        return False
    return len(last.words) > 1 or (len(phrases) > 1 and phrases[-2].case == "が")


def _turn(clause: Phrase, thing: Phrase) -> None:
    """Make the noun that a clause belongs to its subject, or its object if it has one."""
    clause.link = ""
    clause.past = False  # 帽子をかぶった男性: he wears it now
    thing.sort = THING
    thing.case, thing.topic = "", True
    clause.args.append(thing)
    thing.head = clause


def _remembered(phrases: list[Phrase]) -> list[Phrase]:
    """消すのを忘れない, 忘れずに消す and 消し忘れない are 消す."""
    found: list[Phrase] = []
    for phrase in phrases:
        if phrase.sort != PREDICATE:
            found.append(phrase)
            continue
        if phrase.negated and phrase.aspect is not None and phrase.aspect.normal == "忘れる":
            phrase.aspect, phrase.negated = None, False
        before = found[-1] if found else None
        if before is None or not _only_reminds(phrase, phrase is phrases[-1]):
            if not (before is None and phrase.link == "te" and _only_reminds(phrase, False)):
                found.append(phrase)
            continue
        told = before.sort == PREDICATE and before.link == "noun"
        if told or (
            before.sort == THING and before.words[-1].tag == ACTION and before.case == "を"
        ):
            if not told and len(found) > 1 and found[-2].case == "の":
                found[-2].case = "を"
            before.sort, before.case, before.link = PREDICATE, "", phrase.link
            before.modality = before.modality or phrase.modality
            before.orders, before.asks, before.topic = phrase.orders, phrase.asks, False
        elif phrase.link != "te" or phrase is phrases[-1]:
            found.append(phrase)  # 傘を忘れない
    return found


def _only_reminds(phrase: Phrase, last: bool) -> bool:
    """忘れない, 忘れずに; 覚えておいて at the end."""
    normal = phrase.words[-1].normal
    if len(phrase.words) > 1 or phrase.past:
        return False
    if normal == "忘れる":
        return phrase.negated
    asked = phrase.orders or phrase.link == "te"
    return normal == "覚える" and last and asked and not (phrase.negated or phrase.lasting)


def _needed(phrases: list[Phrase]) -> None:
    """鍵がないと開かない is 開くには鍵が必要だ; 朝でないと開かない is 朝だけ開く."""
    if len(phrases) < 2:
        return
    main = phrases[-1]
    if not main.negated or main.sort != PREDICATE or main.modality not in ("", "can") or main.past:
        return
    at = next((i for i in range(len(phrases) - 2, -1, -1) if phrases[i].sort == PREDICATE), None)
    if at is None or phrases[at].link != "if" or not phrases[at].negated:
        return
    clause = phrases[at]
    word = clause.words[-1]
    between = phrases[at + 1 : -1]
    if clause.be and word.tag != STATE:
        clause.sort, clause.case, clause.limit = THING, "で", "だけ"
        clause.be = clause.negated = main.negated = False
        clause.link = ""
    elif word.normal == "有る" and at and phrases[at - 1].case == "が" and len(between) <= 1:
        word.normal = word.key = "必要"
        clause.negated = main.negated = main.passive = False
        clause.link = main.modality = ""
        main.sort, main.case = THING, "に"
        main.head = clause
        clause.args.append(main)
        for each in between:
            if each.sort == THING:
                each.role, each.head = Role.MODIFIER, main


def _there_is(phrases: list[Phrase]) -> list[Phrase]:
    """走っている人がいる is 人が走っている."""
    if len(phrases) < 3:
        return phrases
    *_, clause, thing, last = phrases
    if (
        last.sort == PREDICATE
        and last.words[-1].normal in ("居る", "有る")
        and thing.sort == THING
        and thing.case in ("が", "")
        and clause.sort == PREDICATE
        and clause.link == "rel"
        and clause.words[-1].tag in (VERB, ACTION)
        and not (last.modality or clause.negated or last.past)
    ):
        clause.negated = last.negated
        clause.asks |= last.asks
        _turn(clause, thing)
        return phrases[:-1]
    return phrases


def _hand(predicate: Phrase, last: Phrase) -> None:
    """Make the end of a text a part of the predicate before it, which now ends it."""
    predicate.past |= last.past
    predicate.asks |= last.asks
    last.sort, last.past, last.be = THING, False, False
    last.head = predicate
    predicate.args.append(last)


def _is_event_at(event: Phrase, time: Phrase) -> bool:
    """出発は九時 is 九時に出発する."""
    return (
        event.sort == THING
        and event.topic
        and not event.case
        and event.words[-1].tag == ACTION
        and event.key not in RELATIONS
        and is_time(time)
    )


def _is_charge(charge: Phrase, who: Phrase) -> bool:
    """検査の担当は佐藤だ is 佐藤が検査を担当する."""
    topic = charge.sort == THING and charge.topic and not charge.case
    return topic and charge.key == "担当者" and who.words[-1].tag == NAME


def _cleft(phrases: list[Phrase]) -> Phrase | None:
    """The clause of 閉じるのは田中だ, without a comma or another clause behind it."""
    for phrase in reversed(phrases[:-1]):
        if phrase.sort == PREDICATE:
            return phrase if phrase.cleft and phrase.link == "noun" else None
        if phrase.case not in ("の", "という"):
            return None
    return None


def _has_subject(phrases: list[Phrase], clause: Phrase) -> bool:
    for phrase in reversed(phrases[: phrases.index(clause)]):
        if phrase.sort == PREDICATE and phrase.link != "rel":
            return False
        if phrase.case == "が" or (phrase.topic and not phrase.case):
            return True
    return False


def _is_inverted(subject: Phrase, last: Phrase, phrases: list[Phrase]) -> bool:
    """佐藤が担当だ says of 担当 who it is: 担当は佐藤だ."""
    word, name = last.words[-1], subject.words[-1]
    if subject.sort != THING or subject.case != "が" or subject.topic:
        return False
    if word.normal in NO_OBJECT or word.normal in MODAL_NOUNS or word.tag in (STATE, ADJECTIVE):
        return False
    if last.key in RELATIONS:
        return True
    told = any(each.topic for each in phrases[:-1])
    return not told and name.tag in (NAME, VALUE) and word.tag in (NOUN, ACTION, SUFFIX)
