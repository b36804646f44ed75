"""The reader for English: text -> Reading.

    words    single words: lemma, forms, key, what a prefix denies
    tags     tokens, fixed expressions, parts of speech
    parts    roles, heads, scope of denial, modality, tense

There is no model behind it: closed classes, word lists, endings and position. What it cannot tell
it leaves open (role "" or no head), which binds the order.
"""

from __future__ import annotations

from collections import Counter
from itertools import compress

from totonoe_core.text.reading.english import closed, words
from totonoe_core.text.reading.english.function_words import function_words
from totonoe_core.text.reading.english.parts import Parse
from totonoe_core.text.reading.english.tags import tagged
from totonoe_core.text.reading.english.tokens import Token
from totonoe_core.text.reading.english.words import keyed
from totonoe_core.text.reading.model import Piece, PieceType, Reading, Role, is_stated
from totonoe_core.text.reading.values.find import find_values

_NOTHING: frozenset[str] = frozenset()
_LIGHT = 0.3
_KINDS = {"M": PieceType.NAME, "Q": PieceType.QUANTIFIER}
_WEAK_QUANTIFIERS = frozenset({"some", "any"})
_ALONE = frozenset({Role.ADVERB, Role.PREDICATE, Role.UNKNOWN})
"""Roles that several pieces of one head may have without being joined."""
_OTHERS = {person: closed.PERSONS - {person} for person in closed.PERSONS}


def read(text: str) -> Reading:
    """Read a text in English.

    Parameters
    ----------
    text : str
        Any text; what is not English gives `certain` False.

    Returns
    -------
    Reading
        Pieces in text order. Cost is linear in the text.
    """
    tokens = tagged(text, find_values(text, "en"))
    parse = Parse(tokens)
    keys = [_key(token) if kept else "" for token, kept in zip(tokens, parse.kept, strict=True)]
    shown = Counter(compress(keys, parse.kept))
    crowded = _crowded(parse)
    pieces = []
    for at, token in enumerate(tokens):
        if parse.kept[at]:
            pieces.append(_piece(at, token, keys, parse, shown, crowded))
    known = sum(1 for token in tokens if token.word is None or token.word.known)
    certain = bool(pieces) and known * 3 >= len(tokens)
    asks = parse.asks and not is_stated(text)
    return Reading("en", tuple(pieces), asks, parse.orders, certain, function_words(parse))


def _key(token: Token) -> str:
    if token.value is not None:
        return token.value.key
    if token.tag == "Q":
        return closed.QUANTIFIERS.get(token.lemma, token.lemma)
    word = token.word
    if word is not None and word.base and token.tag in "ARDVN":
        return keyed(_base_lemma(word.base)).key
    return keyed(token.lemma).key


def _base_lemma(base: str) -> str:
    word = words.word(base)
    participle = "A" not in word.forms and ("G" in word.forms or "D" in word.forms)
    return word.verb if participle else word.lemma


def _crowded(parse: Parse) -> set[tuple[str, int]]:
    """Parts of one head that several phrases claim without being joined by "and"."""
    groups: dict[tuple[str, int], int] = {}
    crowded = set()
    for at, role in enumerate(parse.role):
        if not parse.kept[at] or role in _ALONE:
            continue
        head = parse.head[at]
        if role == Role.MODIFIER and parse.tokens[at].tag not in "NM#":
            continue
        if groups.setdefault((role, head), parse.group[at]) != parse.group[at]:
            crowded.add((role, head))
    return crowded


_JOINED_MAX = 8


def _joins_two(at: int, key: str, parse: Parse) -> bool:
    """Whether "both" only goes before "and": "both the flute and the cello"."""
    following = parse.tokens[at + 1 : at + _JOINED_MAX]
    return key == "both" and any(token.form == "and" for token in following)


_DEGREES = {"er": "more", "est": "most"}
_IRREGULAR_DEGREES = {
    "better": "more", "worse": "more", "more": "more", "less": "more", "best": "most",
    "worst": "most", "most": "most", "least": "most",
}  # fmt: skip


def _form(at: int, token: Token, parse: Parse) -> str:
    """Number, degree or voice of a word, as `Piece.form` has it; "" if it says none."""
    if told := parse.form[at]:
        return told
    if token.tag not in "ARDG" or token.word is None:
        return ""
    form = token.form
    if token.lemma == token.word.verb and not {"D", "G"}.isdisjoint(token.word.forms):
        before = parse.tokens[at - 1].tag if at else "."
        if parse.head[at] == at + 1 and before in "TQ$AVP.,":
            return "doing" if form.endswith("ing") else "done"
        return ""
    if form in _IRREGULAR_DEGREES:
        return _IRREGULAR_DEGREES[form]
    for ending, degree in _DEGREES.items():
        if form.endswith(ending) and not token.lemma.endswith(ending):
            return degree
    return "plain" if parse.role[at] == Role.MODIFIER and not token.word.base else ""


def _owned(noun: int, parse: Parse) -> bool:
    """Whether a noun is of something, which is more than this: "the color of the banner"."""
    return any(
        head == noun
        and parse.kept[at]
        and parse.tokens[at].tag in "NMO$"
        and (at > noun or parse.tokens[at + 1].tag == "'")
        for at, head in enumerate(parse.head)
    )


def _piece(
    at: int,
    token: Token,
    keys: list[str],
    parse: Parse,
    shown: Counter[str],
    crowded: set[tuple[str, int]],
) -> Piece:
    role, head = parse.role[at], parse.head[at]
    head_key = keys[head] if head >= 0 and parse.kept[head] else ""
    if (role, head) in crowded or (head_key and shown[head_key] > 1):
        role = Role.UNKNOWN
    denied, modality = parse.denied[at], parse.modality[at]
    if token.value is not None:
        # "one man" is hardly more than "a man"
        light = token.value.key == "1" and token.end - token.start == 3 and role == Role.MODIFIER
        place = (token.start, token.end, keys[at], token.value.type, role, head_key)
        held = modality, parse.tense[at]  # "may be 30", "was 30"
        return Piece(*place, denied % 2 == 1, *held, weight=_LIGHT if light else 1.0)
    key, word, tag, lemma = keys[at], token.word, token.tag, token.lemma
    facts = keyed(lemma)
    if word is not None and word.base and key != facts.key:
        lemma = _base_lemma(word.base)
        facts = keyed(lemma)
        if denied % 2 and word.base not in closed.EITHER_OR:
            modality = modality or "rather"  # "not unhappy" is not quite happy
        denied += 1
    kind = _KINDS.get(tag, PieceType.WORD)
    opposites = facts.opposites
    weight = _LIGHT if parse.light[at] else facts.weight
    if tag == "N" and facts.weight < 1.0 and _owned(at, parse):
        weight = 1.0
    if tag == "M":
        weight = _LIGHT if lemma in closed.TITLES else 1.0
    elif tag == "Q":
        weight = _LIGHT if key in _WEAK_QUANTIFIERS else 1.0
        if _joins_two(at, key, parse):
            kind, weight = PieceType.WORD, _LIGHT
    elif tag in "O$":
        opposites = _OTHERS.get(key, _NOTHING)
    elif tag in "PS":
        contrary = closed.PREPOSITIONS_AS_WORDS.get(lemma)
        opposites = frozenset({contrary}) if contrary else _NOTHING
    return Piece(
        token.start, token.end, key, kind, role, head_key,
        denied % 2 == 1, modality, parse.tense[at], facts.near, opposites, weight,
        _form(at, token, parse),
    )  # fmt: skip
