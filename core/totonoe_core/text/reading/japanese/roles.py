"""Who does what to whom: parts of the phrases of a Japanese text.

Particles name the part, voice moves it: が of a passive clause is what it is done to, に of one
who does it. Word order decides only which predicate a phrase belongs to.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Final

from totonoe_core.text.reading.japanese.phrase import MANNER, PREDICATE, THING, Phrase, counts
from totonoe_core.text.reading.japanese.rewrite import rewrite
from totonoe_core.text.reading.japanese.voice import resolve
from totonoe_core.text.reading.japanese.words import (
    ACTION,
    ADJECTIVE,
    NAME,
    NOUN,
    QUANTIFIER,
    VERB,
)
from totonoe_core.text.reading.model import Role

_CHAIN_MAX: Final = 8
"""Modifiers of modifiers that are passed on the way to what they all belong to."""

_ARGS_MAX: Final = 64
"""Phrases that wait for their predicate; the oldest of a longer row stay without a part."""


def assign(phrases: list[Phrase]) -> list[Phrase]:
    """Give each phrase its part and head; light verbs are dropped from the list."""
    phrases = rewrite(phrases)
    _attach(phrases)
    for phrase in phrases:
        if phrase.sort == PREDICATE:
            resolve(phrase)
    for phrase, after in reversed(list(pairwise(phrases))):
        if phrase.sort == after.sort == THING:
            for _ in range(_CHAIN_MAX):
                if after.role != Role.MODIFIER or after.head is None or after.head is phrase:
                    break
                after = after.head
            if _joined(phrase, after):
                phrase.role, phrase.head = after.role, after.head
    _doubt(phrases)
    return phrases


def _joined(phrase: Phrase, after: Phrase) -> bool:
    """Return whether two things stand in a row: A と B, A、B を."""
    noun = phrase.words[-1].tag in (NOUN, NAME, ACTION)
    listed = phrase.case == "" and phrase.comma and not phrase.topic and after.case != ""
    return phrase.case in ("と", "や") or (noun and listed)


def _doubt(phrases: list[Phrase]) -> None:
    """Leave the parts of two subjects of one predicate open: one of them is another's."""
    subjects = [one for one in phrases if one.case == "が" and one.role == Role.AGENT]
    counts = Counter(id(one.head) for one in subjects)
    for subject in subjects:
        if counts[id(subject.head)] > 1:
            subject.role, subject.head = Role.UNKNOWN, None


def _is_count(phrase: Phrase) -> bool:
    """A number or quantity of things, without a particle: 本が三冊ある."""
    word = phrase.words[-1]
    return (
        phrase.sort == THING
        and phrase.case == ""
        and len(phrase.words) == 1
        and (word.tag == QUANTIFIER or counts(word))
    )


def _attach(phrases: list[Phrase]) -> None:
    """Hand each thing to its predicate, each modifier to its noun."""
    waiting: list[Phrase] = []
    chain: list[Phrase] = []  # predicates linked by て that wait for the one they lead to
    for index, phrase in enumerate(phrases):
        if phrase.head is not None:
            continue
        following = phrases[index + 1] if index + 1 < len(phrases) else None
        if phrase.sort == THING and phrase.case in ("の", "という"):
            if following is not None and _is_clause(following):
                phrase.case = "が"  # 雪の多い道
                phrase.head = following
                following.args.append(phrase)
                continue
            phrase.role = Role.MODIFIER if phrase.case == "の" else "prep:という"
            phrase.head = _next_thing(phrases, index)
            if phrase.head is not None and phrase.case == "の":
                phrase.head.owned = True
        elif _is_count(phrase) and (counted := _counted(phrases, index)) is not None:
            phrase.role, phrase.head = Role.MODIFIER, counted
        elif phrase.sort != PREDICATE:
            waiting.append(phrase)
            del waiting[:-_ARGS_MAX]
        else:
            rel = phrase.link == "rel"
            taken = [each for each in waiting if _takes(phrase, each, phrases, index)]
            if rel and len(taken) > 1:
                taken = _nearest_of_each_case(taken)
            for each in taken:
                each.head = phrase
            phrase.args += taken
            if taken:
                waiting = [each for each in waiting if each.head is not phrase]
            if rel:
                phrase.role = Role.MODIFIER
                phrase.head = _next_thing(phrases, index)
            elif phrase.link == "noun":
                waiting.append(phrase)
            elif phrase.link:
                phrase.role = Role.PREDICATE if _side_by_side(phrase) else "prep:" + phrase.link
                chain.append(phrase)
                continue
            else:
                phrase.role = Role.PREDICATE
            if not rel and phrase.link != "noun":
                _lead(chain, phrase)
                chain = []


def _side_by_side(phrase: Phrase) -> bool:
    """Two states may change places, one event after another may not."""
    return phrase.link in ("but", "and") or (
        phrase.link == "te" and (phrase.lasting or phrase.be or phrase.words[-1].tag == ADJECTIVE)
    )


def _is_clause(phrase: Phrase) -> bool:
    """A verb or adjective that stands before its noun."""
    tag = phrase.words[-1].tag
    return (
        phrase.sort == PREDICATE
        and phrase.link == "rel"
        and tag in (ADJECTIVE, VERB, ACTION)
        and not phrase.be
    )


def _counted(phrases: list[Phrase], index: int) -> Phrase | None:
    """What a count without a particle counts: the thing before it, else the next subject."""
    before = phrases[index - 1] if index else None
    if before is not None and before.sort == THING and before.case in ("が", "を", ""):
        return None if _is_count(before) else before
    for phrase in phrases[index + 1 : index + 4]:
        if phrase.sort == THING and (phrase.case in ("が", "を") or phrase.topic):
            return phrase
        if phrase.sort == PREDICATE:
            return None
    return None


def _lead(chain: list[Phrase], main: Phrase) -> None:
    """The subject of a row of て clauses is that of all: it goes to the last."""
    if not chain:
        return
    for phrase, leads_to in zip(chain, [*chain[1:], main], strict=True):
        phrase.head = leads_to
    own = any(each.case == "が" or each.topic for each in main.args)
    if own:
        for phrase in chain:
            if phrase.role == Role.PREDICATE and phrase.args:
                phrase.role = "prep:" + phrase.link  # who does which may not change places
    else:
        for phrase in chain:
            for each in [one for one in phrase.args if one.case == "が" or one.topic]:
                phrase.args.remove(each)
                main.args.append(each)
                each.head = main
            break


def _next_thing(phrases: list[Phrase], index: int) -> Phrase | None:
    for phrase in phrases[index + 1 : index + 12]:
        if phrase.sort == THING or (phrase.sort == PREDICATE and (phrase.be or phrase.link == "")):
            return phrase
        if phrase.sort == PREDICATE and phrase.link not in ("rel",):
            return phrase
    return None


def _takes(predicate: Phrase, thing: Phrase, phrases: list[Phrase], index: int) -> bool:
    """Whether a waiting phrase belongs to this predicate rather than to a later one."""
    if predicate.link != "rel":
        return not (thing.topic and thing.case == "" and predicate.link in ("if", "noun", "quote"))
    if thing.topic and thing.case in ("", "が", "を"):
        return False
    if thing.comma and thing.case in ("に", "で", "が"):
        return False
    adjacent = phrases[index - 1] is thing
    verbal = predicate.words[-1].tag in (VERB, ACTION) and not predicate.be
    if thing.case == "が":
        # 髪が長い女性が歩く: the second が shows whose the first is.
        return adjacent and _subject_follows(phrases, index)
    if not verbal:
        return adjacent and thing.case in ("に", "より", "と", "") and thing.sort != MANNER
    if thing.case == "" or thing.sort == MANNER:
        return adjacent
    return True


def _nearest_of_each_case(things: list[Phrase]) -> list[Phrase]:
    """路上を荷物を持った人が歩く: the farther を belongs to a later verb."""
    nearest: dict[str, Phrase] = {}
    for each in things:
        nearest[each.case or str(id(each))] = each
    return list(nearest.values())


def _subject_follows(phrases: list[Phrase], index: int) -> bool:
    for phrase in phrases[index + 1 : index + 12]:
        if phrase.sort == THING and (phrase.case == "が" or phrase.topic):
            return True
        if phrase.sort == PREDICATE and phrase.link != "rel":
            return False
    return any(each.topic for each in phrases[max(0, index - 8) : index])
