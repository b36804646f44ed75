"""Function words of English whose meaning no piece carries, and those that may be ignored.

Every preposition and conjunction counts, unless it stands on the closed list below, or another part
of the reading says it: the role of a piece, or the actor of a passive clause.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress

from totonoe_core.text.reading.english import closed
from totonoe_core.text.reading.english.parts import Parse
from totonoe_core.text.reading.model import FunctionKind, FunctionWord, PieceType

IGNORED = {
    "and": "a comma or a full stop joins as well",
    "but": "joins as 'and' does; the contrast is the speaker's",
    "&": "and",
    "plus": "and",
    "nor": "'and' after a denial",
    "of": "says what belongs to what, as a compound or 's does",
    "that": "opens a clause, which may begin without it",
    "whether": "opens a clause, which asks by its words",
}
"""Function words that another wording may leave out, each with the reason."""
BEFORE_TIMES = frozenset({"on", "at", "in"})
"""Said before a date or a time of day, or left out: "on Friday", "Friday"."""
_TIMES = frozenset({PieceType.DATE, PieceType.TIME})
_HOLD = frozenset("-X")
"""Tags of what says whether, how far and when a statement holds."""
_KINDS = {"P": FunctionKind.RELATION, "S": FunctionKind.CONJUNCTION, "C": FunctionKind.CONJUNCTION}


def function_words(parse: Parse) -> tuple[FunctionWord, ...]:
    """Return the function words that count, in text order.

    A role that no preposition of the text stands for counts too: "gave Eva a rose" has the "to" of
    "gave a rose to Eva".
    """
    found = []
    for at, token in enumerate(parse.tokens):
        kind = _KINDS.get(token.tag)
        if kind is None or parse.kept[at] or at in parse.carried or token.lemma in IGNORED:
            continue
        key = closed.PREPOSITIONS.get(token.lemma, _EQUAL.get(token.lemma, token.lemma))
        if token.lemma == "unless" and any(parse.denied):
            key = "if"
        if not (key in BEFORE_TIMES and _time_follows(parse, at)):
            found.append(FunctionWord(token.start, token.end, key, kind))
    found += _without_piece(parse)
    said = [word.key for word in found]
    for (role, _), at in _roles(parse).items():
        if role in said:
            said.remove(role)
        elif role not in BEFORE_TIMES or not _is_time(parse, at):
            token = parse.tokens[at]
            found.append(FunctionWord(token.start, token.end, role, FunctionKind.RELATION))
    return tuple(sorted(found, key=lambda word: word.start))


_EQUAL = {"though": "although", "till": "until"}
"""Function words that say the same. "Unless" is "if" where its denial was read."""


def _without_piece(parse: Parse) -> Iterator[FunctionWord]:
    """Yield denials, modals and tenses that no piece carries: "may be on leave"."""
    said = (*compress(parse.modality, parse.kept), *compress(parse.tense, parse.kept))
    carried = " ".join(said).split()
    # "do not have to" is one modality.
    denies_nothing = not any(compress(parse.denied, parse.kept)) and closed.OPTIONAL not in carried
    for at, token in enumerate(parse.tokens):
        tag = token.tag
        if tag not in _HOLD:
            continue
        if tag == "X":
            for key, kind in _held_by(token.lemma):
                if token.lemma == "have to" and closed.OPTIONAL in carried:
                    carried.remove(closed.OPTIONAL)
                elif key in carried:
                    carried.remove(key)
                else:
                    yield FunctionWord(token.start, token.end, key, kind)
        elif denies_nothing and not parse.kept[at]:
            yield FunctionWord(token.start, token.end, "not", FunctionKind.NEGATION)


def _held_by(auxiliary: str) -> Iterator[tuple[str, FunctionKind]]:
    if modality := closed.MODALS.get(auxiliary):
        yield modality, FunctionKind.MODALITY
    if auxiliary in closed.PAST_FORMS:
        yield "past", FunctionKind.TENSE
    elif auxiliary in closed.FUTURE_FORMS:
        yield "future", FunctionKind.TENSE


def _roles(parse: Parse) -> dict[tuple[str, int], int]:
    """Return the prepositions that roles stand for, one for each group of joined phrases."""
    found: dict[tuple[str, int], int] = {}
    for at, role in enumerate(parse.role):
        if role.startswith("prep:") and parse.kept[at] and role != "prep:of":
            found.setdefault((role.removeprefix("prep:"), parse.group[at]), at)
    return found


def _time_follows(parse: Parse, at: int) -> bool:
    """Return whether the next content after a preposition is a date or a time of day."""
    for after in range(at + 1, min(at + 4, len(parse.tokens))):
        if parse.tokens[after].tag != "T":
            return _is_time(parse, after)
    return False


def _is_time(parse: Parse, at: int) -> bool:
    token = parse.tokens[at]
    if token.value is not None:
        return token.value.type in _TIMES
    return token.lemma in closed.TIME_NOUNS
