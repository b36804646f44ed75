"""Parts of speech by rule: closed classes, endings, word lists, and what stands on either side.

Tags: N noun, M name, # value, O pronoun, $ possessive pronoun, T article, Q quantifier,
A adjective, R adverb, V finite or base verb, G -ing form, D participle, X auxiliary, I "to" of an
infinitive, P preposition, C coordination, S subordination, W relative or question word,
- negator, ' genitive ending, the comma and the full stop for marks.
"""

from __future__ import annotations

from collections.abc import Sequence

from totonoe_core.text.reading.english import closed
from totonoe_core.text.reading.english.closed import BE, HAVE
from totonoe_core.text.reading.english.tokens import Token, joined, split
from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values.find import Value


def tagged(text: str, values: Sequence[Value]) -> list[Token]:
    """The tokens of `text`, each with a tag; see `tokens.split`."""
    tokens = joined(split(text, values))
    _tag_open(tokens)
    return tokens


_EDGE = Token(0, 0, ".", ".")
"""A token that stands for the text's start and end."""


def _tag_open(tokens: list[Token]) -> None:
    """Tags the open classes from left to right, by what stands on either side."""
    for at, token in enumerate(tokens):
        if token.tag and token.form not in _RETAGGED:
            continue
        forms = token.forms()
        if forms == "N":
            token.tag = "N"
            continue
        following = tokens[at + 1] if at + 1 < len(tokens) else _EDGE
        if token.tag:
            _retag_closed(tokens, at, following)
            continue
        token.tag = _open_tag(tokens, at, forms, following)
        if token.word is not None and (
            token.tag in "VGD" or (token.tag == "A" and "A" not in forms)
        ):
            token.lemma = token.word.verb


_RETAGGED = frozenset({"to", "that", "her", "like"})
"""Closed words whose tag depends on what stands beside them."""


def _before(tokens: list[Token], at: int) -> Token:
    """The token before, adverbs and negators passed over; at the start a full stop."""
    at -= 1
    while at >= 0 and tokens[at].tag in ("R", "-") and tokens[at].form != "no":
        at -= 1
    return tokens[at] if at >= 0 else _EDGE


def _retag_closed(tokens: list[Token], at: int, following: Token) -> None:
    token, previous = tokens[at], tokens[at - 1] if at else _EDGE
    if token.form == "to":
        verb = not following.tag and "V" in following.forms()
        if verb or following.form in ("be", "have", "do"):
            token.tag = "I"
    elif token.form == "that":
        opens = (
            following.tag in ("X", "V", ".")
            or "Z" in following.forms()
            or previous.tag in ("N", "M")
            or previous.lemma in closed.REPORTING
        )
        token.tag = "W" if opens else "T"
    elif token.form == "like":
        before = _before(tokens, at)
        many = before.tag == "O" or (before.tag in "NM" and before_is_plural(tokens, at))
        if (before.tag == "X" and before.form not in BE) or many:
            token.tag = "V"
    else:
        token.tag = "O" if following.tag else "$"


def _open_tag(tokens: list[Token], at: int, forms: str, following: Token) -> str:
    before = _before(tokens, at)
    previous = before.tag
    if before.form == "no":
        previous = "T"
    elif previous == "#" and _names(tokens, at - 1):
        previous = "M"
    be_or_have = previous == "X" and (before.form in BE or before.form in HAVE)
    if "V" in forms and previous in ("I", "X") and not be_or_have:
        return "V"
    if be_or_have:
        passive = before.form in HAVE or before.form == "being" or following.form == "by"
        for form in "GDA":
            if form in forms and (form != "D" or "A" not in forms or passive):
                return form
    if "G" in forms or "P" in forms or ("D" in forms and "V" not in forms):
        return _verb_form(forms, previous, following)
    if "A" in forms and "V" not in forms and "Z" not in forms:
        return "N" if "N" in forms and not _may_be_noun(following) else "A"
    if "V" in forms or "Z" in forms:
        return _verb_or_noun(tokens, at, forms, previous, following)
    return "R"


def _verb_form(forms: str, previous: str, following: Token) -> str:
    """The tag of what may be a verb with -ing, in the past or a participle."""
    noun = _may_be_noun(following)
    if "G" in forms:
        if noun and previous in "T$'AQ#":
            return "A"
        return "N" if previous in "T$'" and following.tag in ("P", ".", ",") else "G"
    if "P" in forms:
        return "V"
    if previous in "T$'AQ#":
        return "A" if noun else "D"
    only = not following.tag and following.forms() == "N"
    return "A" if previous in ".,CP" and only else "D"


def _verb_or_noun(tokens: list[Token], at: int, forms: str, previous: str, following: Token) -> str:
    token = tokens[at]
    strong = token.word is not None and token.word.strong
    adjective = "A" in forms and (_may_be_noun(following) or "N" not in forms)
    other = "A" if adjective else "N"
    if previous in "T$'AQ#P" and not (previous == "Q" and strong):
        return other
    if previous == "O":
        return "V"
    begins = following.tag in ("T", "$", "O", "#")
    if previous in ".S" or (previous == "," and (strong or begins)):
        # a base form at the start orders; a plural or a bare noun opens a caption
        verb = ("Z" in forms and previous == ",") or ("V" in forms and (strong or begins))
        return "V" if verb else other
    if previous in "NM":
        return "V" if _says(tokens, at, forms, strong) else other
    if previous in "CWV-":
        return "V" if strong or _starts_phrase(following) else other
    return "V" if strong else other


def _says(tokens: list[Token], at: int, forms: str, strong: bool) -> bool:
    """Whether a word behind a noun is its verb."""
    if _verb_behind(tokens, at):
        return False
    if "Z" in forms:
        told = strong or tokens[at - 1].tag in "M#"
        return told or (not _verb_ahead(tokens, at) and _has_article(tokens, at))
    return before_is_plural(tokens, at) and (strong or not _verb_ahead(tokens, at))


def is_plural(noun: Token) -> bool:
    form = noun.form
    return form in closed.PLURALS or (form.endswith("s") and not form.endswith(("ss", "us", "is")))


def before_is_plural(tokens: list[Token], at: int) -> bool:
    previous = tokens[at - 1]
    joined = at > 1 and tokens[at - 2].tag == "C"
    return joined or is_plural(previous) or previous.form != previous.lemma


def _names(tokens: list[Token], at: int) -> bool:
    """Whether a value stands for a thing ("commit 81c3fe0"), not for a count of them."""
    value = tokens[at].value
    if value is None:
        return False
    if value.type in (PieceType.NUMBER, PieceType.QUANTITY):
        return at > 0 and tokens[at - 1].tag in ("N", "M")
    return True


def _has_article(tokens: list[Token], at: int) -> bool:
    """Whether the noun before stands for itself ("the user plays"), not in a heap of nouns."""
    start = at - 1
    while start > 0 and tokens[start - 1].tag in "NA#M":
        start -= 1
    return start == 0 or tokens[start - 1].tag in "T$Q',."


def _verb_ahead(tokens: list[Token], at: int) -> bool:
    """Whether a finite verb follows before the next mark: then this one is none."""
    for token in tokens[at + 1 : at + 12]:
        if token.tag == "X":
            return True
        if token.tag in (".", ",", "C", "W", "S"):
            return False
        found = None if token.tag else token.word
        if found is not None and (found.strong or "P" in found.forms or "Z" in found.forms):
            return True
    return False


def _verb_behind(tokens: list[Token], at: int) -> bool:
    """Whether the clause has its finite verb already."""
    for token in reversed(tokens[max(0, at - 16) : at]):
        if token.tag in "VX":
            return token.form not in ("be", "been", "being")
        if token.tag in ".,CWS":
            return False
    return False


def _starts_phrase(token: Token) -> bool:
    return token.tag in ("T", "$", "P", "#", "O", "Q", "M", ".", ",", "R", "I", "C", "S")


def _may_be_noun(token: Token) -> bool:
    if token.tag:
        return token.tag in ("M", "N", "#")
    forms = token.forms()
    return "N" in forms or "A" in forms
