"""Parts of a predicate's things: what particles say, and how voice moves it."""

from __future__ import annotations

from typing import Final

from totonoe_core.text.reading.japanese.grammar import (
    GIVING,
    NO_OBJECT,
    ORGANISATIONS_END,
    PEOPLE,
    PEOPLE_END,
    PLACING,
    STANDING,
    TRANSITIVE,
    words_of,
)
from totonoe_core.text.reading.japanese.phrase import MANNER, THING, Phrase, aspect, is_time
from totonoe_core.text.reading.japanese.words import ACTION, NAME, VERB, Word
from totonoe_core.text.reading.model import Role

TIME: Final = "time"
HAPPENING: Final = words_of("始める 終わる 開く 開催")
"""Keys of verbs whose subject, if it is a thing, is what somebody does it to."""

BEGINNING: Final = words_of("始まる 始める 開く 起動 実行 出発")
"""Predicates of which から and に give the same time."""


def resolve(predicate: Phrase) -> None:
    args = predicate.args
    if any(each.limit == "しか" for each in args):
        predicate.negated = not predicate.negated  # しか食べない: eats only that
    cases = {each.case for each in args}
    word = predicate.words[-1]
    objects = word.normal in NO_OBJECT or predicate.modality in ("want", "can")
    subject = "が" in cases
    topics = [each for each in args if each.topic and each.case == "" and not is_time(each)]
    for each in args:
        if each.sort == MANNER:
            each.role = Role.ADVERB
            continue
        case = each.case
        if (case in ("", "に", "で") and each.sort == THING and is_time(each)) or (
            case == "から" and is_time(each) and word.key in BEGINNING
        ):
            each.role = TIME
        elif case == "" and each.limit == "しか":
            other = subject or len(topics) > 1
            acting = _acts(each.words[-1]) or predicate.words[-1].tag not in (VERB, ACTION)
            each.role = Role.AGENT if acting and not other else Role.PATIENT
        elif case == "が" and objects and "を" not in cases and not _acts(each.words[-1]):
            each.role = Role.PATIENT
        elif case in ("が", ""):
            if case == "" and not each.topic:
                each.role = Role.ADVERB if each.sort == THING else Role.UNKNOWN
            elif case == "" and subject and not objects:
                each.role = Role.TOPIC
            elif case == "" and not subject and "を" not in cases and _undergoes(each, predicate):
                each.role = Role.PATIENT
            elif case == "" and each is not topics[-1] and each.topic:
                each.role = Role.TOPIC  # 期間は差はない: the last は is the subject
            else:
                each.role = Role.AGENT
        elif case == "を":
            each.role = Role.PATIENT
        elif case == "に" and each is args[-1] and word.normal in ("成る", "為る"):
            each.role = "prep:become"
        elif case in ("や", "、"):
            each.role = Role.UNKNOWN
        else:
            each.role = "prep:" + case
    if predicate.passive and not predicate.causative:
        _passive(predicate, cases)
        if _undergone(predicate):
            predicate.modality = predicate.modality or "undergo"
    elif predicate.receives:
        for each in args:
            if each.role == Role.AGENT:
                each.role = "prep:for"
            elif each.case in ("に", "から") and not is_time(each):
                each.role = Role.AGENT
    elif "を" not in cases and (predicate.done or word.normal in STANDING or word.key in HAPPENING):
        for each in args:
            if each.role == Role.AGENT and (word.key not in HAPPENING or not _acts(each.words[-1])):
                each.role = Role.PATIENT


def _undergoes(topic: Phrase, predicate: Phrase) -> bool:
    """Whether は alone marks what it is done to: 報告書は毎月提出する."""
    word, verb = topic.words[-1], predicate.words[-1]
    if predicate.passive or predicate.be or verb.tag not in (VERB, ACTION):
        return False
    person = _acts(word) or (word.tag == NAME and not word.surface.isascii())
    return not person and (verb.key in TRANSITIVE or verb.normal in TRANSITIVE)


def _acts(word: Word) -> bool:
    if word.key in PEOPLE:
        return True
    return word.value is None and (
        word.normal[-1:] in PEOPLE_END or word.normal in ORGANISATIONS_END
    )


def _named(word: Word) -> bool:
    return word.tag == NAME or _acts(word)


def _passive(predicate: Phrase, cases: set[str]) -> None:
    placing = predicate.words[-1].key in PLACING or predicate.words[-1].normal in PLACING
    gives = predicate.words[-1].normal in GIVING
    if "を" in cases and not gives:
        predicate.aspects = (*predicate.aspects, aspect(predicate.words[-1], "られる"))
    for each in predicate.args:
        if each.role == Role.AGENT:
            if "を" not in cases:
                each.role = Role.PATIENT
            elif gives:
                each.role = "prep:に"
            else:  # 田中が財布を盗まれる: it was his
                each.role = Role.MODIFIER
                each.head = next(one for one in predicate.args if one.case == "を")
        elif each.role == TIME or each.words[-1].value is not None:
            continue  # 来週に変更される
        elif (
            each.case == "によって"
            or (each.case == "から" and (gives or _named(each.words[-1])) and not placing)
            or (each.case == "に" and (not placing or _acts(each.words[-1])))
        ):
            each.role = Role.AGENT


def _undergone(predicate: Phrase) -> bool:
    """指摘された says of nobody named what 指摘した says he did."""
    told = any(each.role in (Role.PATIENT, Role.MODIFIER) for each in predicate.args)
    return not told and predicate.link != "rel"
