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


def _tag_open(tokens: list[Token]) -> None:
    """Tags the open classes from left to right, by what stands on either side."""
    count = len(tokens)
    for at, token in enumerate(tokens):
        if token.tag:
            if token.form in _RETAGGED:
                _retag_closed(tokens, at)
            continue
        forms = token.forms()
        if forms == "N":
            token.tag = "N"
            continue
        before = _before(tokens, at)
        following = tokens[at + 1] if at + 1 < count else None
        token.tag = _open_tag(tokens, at, forms, before, following)
        if token.word is not None and (
            token.tag in "VGD" or (token.tag == "A" and "A" not in forms)
        ):
            token.lemma = token.word.verb


_RETAGGED = frozenset({"to", "that", "her", "like"})
"""Closed words whose tag depends on what stands beside them."""


def _before(tokens: list[Token], at: int) -> Token | None:
    """The token before, adverbs and negators passed over."""
    at -= 1
    while at >= 0 and tokens[at].tag in ("R", "-") and tokens[at].form != "no":
        at -= 1
    return tokens[at] if at >= 0 else None


def _retag_closed(tokens: list[Token], at: int) -> None:
    token = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    form = token.form
    if (
        token.tag == "P"
        and form == "to"
        and following is not None
        and following.form in ("be", "have", "do")
    ):
        token.tag = "I"
    elif token.tag == "P" and form == "to" and following is not None and not following.tag:
        if "V" in following.forms():
            previous = tokens[at - 1] if at else None
            base = following.word is not None and following.form == following.lemma
            noun_only = following.forms() == "N"
            third = tokens[at + 2].form if at + 2 < len(tokens) else ""
            ranges = previous is not None and previous.form == "from"
            if base and not noun_only and not ranges and third != "of":
                token.tag = "I"
    elif form == "that":
        if (
            following is None
            or following.tag in ("X", "V")
            or "Z" in following.forms()
            or (at and tokens[at - 1].tag in ("N", "M") and following.tag not in ("", "#"))
            or (at and tokens[at - 1].lemma in closed.REPORTING)
        ):
            token.tag = "W"
        else:
            token.tag = "T"
    elif form == "her":
        owns = following is not None and (not following.tag or following.tag in "Q#MA")
        token.tag = "$" if owns else "O"
    elif form == "like" and token.tag == "P" and _likes(tokens, at, following):
        token.tag = "V"


def _likes(tokens: list[Token], at: int, following: Token | None) -> bool:
    """Whether "like" is the verb."""
    before = _before(tokens, at)
    if before is None or following is None:
        return False
    if before.tag == "I" or (before.tag == "X" and before.form not in BE):
        return True
    if before.tag not in ("N", "M", "O") or _verb_behind(tokens, at):
        return False
    plural = before.tag == "O" or before_is_plural(tokens, at)
    return plural and following.tag not in ("P", ".", ",") and not _verb_ahead(tokens, at)


def _open_tag(
    tokens: list[Token], at: int, forms: str, before: Token | None, following: Token | None
) -> str:
    previous = before.tag if before is not None else "."
    if before is not None and before.form == "no":
        previous = "T"
    elif previous == "#" and _names(tokens, at - 1):
        previous = "M"
    if previous == "I" and "V" in forms:
        return "V"
    modal = (
        before is not None and previous == "X" and before.form not in BE and before.form not in HAVE
    )
    if modal and "V" in forms:
        return "V"
    if forms == "R":
        return "R"
    if previous == "X" and before is not None and (before.form in BE or before.form in HAVE):
        if "G" in forms:
            return "G"
        passive = before.form == "being" or (following is not None and following.form == "by")
        if "D" in forms and ("A" not in forms or before.form in HAVE or passive):
            return "D"
        if "A" in forms:
            return "A"
        if "N" in forms:
            return "N"
    if "G" in forms:
        if previous in "T$'" and following is not None and _may_be_noun(following):
            return "A"
        if previous in "T$'" and (following is None or following.tag in ("P", ".", ",")):
            return "N"
        if previous in "AQ#" and following is not None and _may_be_noun(following):
            return "A"
        return "G"
    if "P" in forms:
        return "V"
    if "D" in forms and "V" not in forms:
        if previous in "T$'AQ#":
            return "A" if following is not None and _may_be_noun(following) else "D"
        if (
            "A" in forms
            and previous in ".,CP"
            and following is not None
            and _may_be_noun(following)
        ):
            return "A"
        if (
            previous in "C,.P"
            and following is not None
            and following.tag == ""
            and _only_noun(following)
        ):
            return "A"
        return "D"
    if "A" in forms and "V" not in forms and "Z" not in forms:
        third = tokens[at + 2] if at + 2 < len(tokens) else None
        joined_to = following is not None and following.tag == "C" and third is not None
        if joined_to and third is not None and "A" in third.forms() and not third.tag:
            return "A"
        if (
            "N" in forms
            and (following is None or not _may_be_noun(following))
            and previous in "T$'AQ#NMP"
        ):
            return "N"
        return "A"
    if "V" in forms or "Z" in forms:
        return _verb_or_noun(tokens, at, forms, previous, following)
    if "R" in forms:
        return "R"
    return "N"


def _verb_or_noun(
    tokens: list[Token], at: int, forms: str, previous: str, following: Token | None
) -> str:
    token = tokens[at]
    strong = token.word is not None and token.word.strong
    adjective = "A" in forms
    other = "A" if adjective and following is not None and _may_be_noun(following) else "N"
    if adjective and "N" not in forms and other == "N":
        other = "A"
    if previous in "T$'AQ#P-" and not (previous == "Q" and strong) and previous != "-":
        return other
    if previous == "O":
        return "V"
    denies = following is not None and not following.tag and "G" in following.forms()
    if denies and previous in ".S," and token.form in closed.GERUND_DENIERS:
        return "V"  # "stop deleting it"
    orders = following is not None and following.tag in ("T", "$", "O", "#")
    if previous in ".S" or (previous == "," and (strong or (orders and "V" in forms))):
        # a base form at the start orders; a plural or a bare noun opens a caption
        if "Z" in forms and strong and previous == ",":
            return "V"
        if previous == "." and token.form in closed.NUMBERED and _numbered(tokens, at):
            return "N"
        if "V" in forms and (
            strong or (following is not None and following.tag in ("T", "$", "O", "#"))
        ):
            return "V"
        return other
    if previous in "NM" and _verb_behind(tokens, at):
        return other
    if previous in "NM":
        if "Z" in forms:
            if strong or tokens[at - 1].tag in "M#":
                return "V"
            return "V" if not _verb_ahead(tokens, at) and _has_article(tokens, at) else "N"
        plural = before_is_plural(tokens, at)
        if strong and "V" in forms and (plural or tokens[at - 1].lemma in closed.PRONOUNS):
            return "V"
        if plural and not _verb_ahead(tokens, at):
            return "V"
        return other
    if previous == "," and "Z" in forms and _relative_ends(tokens, at):
        return "V"
    if previous in "CWV" or previous == "-":
        return "V" if strong or _starts_phrase(following) else other
    return "V" if strong else other


def _numbered(tokens: list[Token], at: int) -> bool:
    """Whether a verb is still to come after "Commit 81c3fe0"."""
    if at + 2 >= len(tokens) or tokens[at + 1].value is None:
        return False
    third = tokens[at + 2]
    return third.tag == "X" or (not third.tag and bool(set("ZDP") & set(third.forms())))


def is_plural(noun: Token) -> bool:
    form = noun.form
    return form in closed.PLURALS or (form.endswith("s") and not form.endswith(("ss", "us", "is")))


def before_is_plural(tokens: list[Token], at: int) -> bool:
    previous = tokens[at - 1]
    if at > 1 and tokens[at - 2].tag == "C":
        return True
    return is_plural(previous) or previous.form != previous.lemma or previous.lemma == "police"


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


def _relative_ends(tokens: list[Token], at: int) -> bool:
    """Whether the comma before ends "..., which is new,"."""
    return any(token.tag == "W" for token in tokens[max(0, at - 10) : at])


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


def _starts_phrase(token: Token | None) -> bool:
    if token is None:
        return True
    return token.tag in ("T", "$", "P", "#", "O", "Q", "M", ".", ",", "R", "I", "C", "S")


def _may_be_noun(token: Token) -> bool:
    if token.tag:
        return token.tag in ("M", "N", "#")
    forms = token.forms()
    return "N" in forms or "A" in forms


def _only_noun(token: Token) -> bool:
    return token.forms() == "N"
