"""Named differences between two readings: each one makes them different statements.

Symmetric but for the order of the answer. Differences without a name are left to the weights: loose
synonyms, light words, parts that agree roughly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import zip_longest

from totonoe_core.domain.records import Evidence, Finding
from totonoe_core.guard.alignment import AlignedPair, Alignment, Tie
from totonoe_core.text.reading.model import (
    FunctionKind,
    FunctionWord,
    Piece,
    PieceType,
    Reading,
    Role,
)

LIGHT_MAX = 0.5
"""A piece of this weight or less is light: another wording may leave it out."""

# Parts that contradict each other when the same thing has both.
_OPPOSITE_ROLES = {
    frozenset(pair)
    for pair in (
        (Role.AGENT, Role.PATIENT),
        (Role.AGENT, "prep:に"),
        ("prep:before", "prep:after"),
        ("prep:from", "prep:to"),
        ("prep:with", "prep:without"),
        ("prep:above", "prep:below"),
        ("prep:over", "prep:under"),
        ("prep:into", "prep:out of"),
        ("prep:for", "prep:against"),
        ("prep:から", "prep:まで"),
        ("prep:から", "prep:へ"),
        ("prep:から", "prep:に"),
        ("prep:从", "prep:到"),
    )
}
_VALUE_FINDINGS = {
    PieceType.NUMBER: Finding.NUMBER,
    PieceType.QUANTITY: Finding.QUANTITY,
    PieceType.DATE: Finding.DATE,
    PieceType.TIME: Finding.TIME,
    PieceType.VERSION: Finding.VERSION,
    PieceType.IDENTIFIER: Finding.IDENTIFIER,
    PieceType.PATH: Finding.PATH,
    PieceType.QUOTE: Finding.QUOTE,
    PieceType.NAME: Finding.NAME,
    PieceType.QUANTIFIER: Finding.QUANTIFIER,
}


def span(piece: Piece) -> tuple[int, int]:
    """Return start and end of a piece."""
    return piece.start, piece.end


def differences(own: Reading, other: Reading, aligned: Alignment) -> Iterator[Evidence]:
    """Yield the differences between two readings, the gravest for each pair."""
    named = list(_of_pieces(own, other, aligned))
    yield from named
    for line in _of_function_words(own.function_words, other.function_words):
        if not any(_covers(graver.own, line.own, graver.other, line.other) for graver in named):
            yield line


def _of_pieces(own: Reading, other: Reading, aligned: Alignment) -> Iterator[Evidence]:
    if own.asks != other.asks:
        yield Evidence(Finding.QUESTION, whole(own), whole(other))
    partner = _Partners({pair.own.key: pair.other.key for pair in aligned.shared()})
    moved = any(pair.moved for pair in aligned.pairs)
    floating = _floating(own, other) if moved else frozenset()
    for pair in aligned.pairs:
        finding = _difference(pair, partner, floating)
        if finding is None:
            continue
        if finding in _ABOUT_ANOTHER and is_about(pair.own, own) and is_about(pair.other, other):
            finding = Finding.SUBJECT
        yield Evidence(finding, span(pair.own), span(pair.other))
    for piece in aligned.added:
        if finding := _says_alone(piece):
            yield Evidence(finding, span(piece))
    for piece in aligned.missing:
        if finding := _says_alone(piece):
            yield Evidence(finding, (0, 0), span(piece))


_FUNCTION_FINDINGS = {
    FunctionKind.CONJUNCTION: Finding.CONJUNCTION,
    FunctionKind.RELATION: Finding.FUNCTION_WORD,
    FunctionKind.NEGATION: Finding.POLARITY,
    FunctionKind.MODALITY: Finding.MODALITY,
    FunctionKind.TENSE: Finding.TENSE,
}


def _of_function_words(
    own: tuple[FunctionWord, ...], other: tuple[FunctionWord, ...]
) -> Iterator[Evidence]:
    """Yield function words that only one text has, those of one kind in pairs."""
    left_own, left_other = _unpaired(own, other), _unpaired(other, own)
    if not left_own and not left_other:
        return
    kinds = {word.kind for word in (*left_own, *left_other)}
    for kind, finding in _FUNCTION_FINDINGS.items():
        if kind not in kinds:
            continue
        here = [(word.start, word.end) for word in left_own if word.kind is kind]
        there = [(word.start, word.end) for word in left_other if word.kind is kind]
        for mine, theirs in zip_longest(here, there, fillvalue=(0, 0)):
            yield Evidence(finding, mine, theirs)


def _covers(
    own: tuple[int, int], own_within: tuple[int, int],
    other: tuple[int, int], other_within: tuple[int, int],
) -> bool:  # fmt: skip
    """Return whether a difference of both texts names two function words already: "off", "on"."""
    return all(
        outer[0] <= inner[0] < inner[1] <= outer[1]
        for outer, inner in ((own, own_within), (other, other_within))
    )


def _unpaired(own: tuple[FunctionWord, ...], other: tuple[FunctionWord, ...]) -> list[FunctionWord]:
    """Return the own words that are not among the other ones."""
    if not own or not other:
        return list(own)
    waiting = Counter([word.key for word in other])
    left = []
    for word in own:
        if waiting[word.key]:
            waiting[word.key] -= 1
        else:
            left.append(word)
    return left


def whole(reading: Reading) -> tuple[int, int]:
    """Return the span from the first piece to the end of the last."""
    return reading.pieces[0].start, max(piece.end for piece in reading.pieces)


def _says_alone(piece: Piece) -> Finding | None:
    """Name a piece that only one text has and that limits its statement: "all", "only", "never"."""
    if piece.type is PieceType.QUANTIFIER and piece.weight > LIGHT_MAX:
        return Finding.QUANTIFIER
    return None


_ABOUT_ANOTHER = (Finding.NAME, Finding.REPLACED)
_PREDICATE_LAST = frozenset({"ja", "ko"})


def is_about(piece: Piece, reading: Reading) -> bool:
    """Return whether a piece names the subject of the statement, not what it says of it."""
    # The start tells most pieces apart. To compare whole pieces takes long, to hash them longer.
    return any(other.start == piece.start and other == piece for other in _about(reading))


def _about(reading: Reading) -> Sequence[Piece]:
    """Return the pieces that name the subject of the statement, not what it says of it.

    "Project Elm uses tabs" and "Project Larch uses tabs" are two facts; "... uses spaces" is a new
    value of the first. The subject is before the predicate; if the predicate is last, it is found
    by role.
    """
    pieces = reading.pieces
    if reading.language not in _PREDICATE_LAST:
        places = [at for at, piece in enumerate(pieces) if piece.role == Role.PREDICATE]
        return pieces[: places[0]] if places else ()
    subjects = {piece.key for piece in pieces if piece.role in (Role.AGENT, Role.TOPIC)}
    first = next((at for at, piece in enumerate(pieces) if piece.key in subjects), 1)
    return [
        piece
        for at, piece in enumerate(pieces)
        if piece.key in subjects
        or piece.head in subjects
        or (at < first and piece.role not in (Role.PREDICATE, Role.PATIENT))
    ]


class _Partners:
    """Map from a key of the own text to its counterpart in the other."""

    def __init__(self, keys: dict[str, str]) -> None:
        self.get = keys.get
        self.others = frozenset(keys.values())


def _difference(pair: AlignedPair, partner: _Partners, floating: frozenset[str]) -> Finding | None:
    own, other = pair.own, pair.other
    if pair.tie is Tie.OTHER_VALUE:
        return _VALUE_FINDINGS[own.type]
    if pair.tie is Tie.REPLACED:
        return Finding.REPLACED
    opposite = pair.tie is Tie.OPPOSITE
    if (own.negated != other.negated) is not opposite:
        return Finding.OPPOSITE if opposite else Finding.POLARITY
    if own.modality != other.modality and not like_modality(own, other):
        duty_denied = frozenset((own.modality, other.modality)) == _DUTY
        return Finding.POLARITY if duty_denied else Finding.MODALITY
    if own.tense != other.tense:
        return Finding.TENSE
    parts = parts_of(pair)
    if parts is Parts.SWAPPED:
        return Finding.ROLE if Role.AGENT in (own.role, other.role) else Finding.OPPOSITE
    if own.role != other.role and _is_relation(own.role) and _is_relation(other.role):
        return Finding.FUNCTION_WORD
    if pair.moved and (parts is not Parts.SAME or not _same_head(own, other, partner)):
        return None if parts is Parts.SAME and own.role in floating else Finding.ORDER
    return Finding.ORDER if _belongs_elsewhere(own, other, partner) else None


def _pairs_of(text: str) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(pair.split("/")) for pair in text.split())


_DUTY = frozenset(("must", "optional"))
_SAME_MODALITIES = _pairs_of("can/able can/allowed")
_LIKE_MODALITIES = _pairs_of("may/allowed")
_LIKE_DENIED = _pairs_of("must/allowed must/may must/can /forget /refuse")
"""Only where both are denied: "must not", "is not allowed to"; "did not", "forgot to"."""


def same_modality(own: Piece, other: Piece) -> bool:
    """Return whether the modalities of two pieces say the same."""
    both = frozenset((own.modality, other.modality))
    return len(both) == 1 or both in _SAME_MODALITIES


def like_modality(own: Piece, other: Piece) -> bool:
    """Return whether the modalities of two pieces say the same, or are likely to."""
    both = frozenset((own.modality, other.modality))
    if same_modality(own, other) or both in _LIKE_MODALITIES:
        return True
    return own.negated and other.negated and both in _LIKE_DENIED


def _belongs_elsewhere(own: Piece, other: Piece, partner: _Partners) -> bool:
    """Return whether a modifier belongs to another word, although both texts have both words.

    It also checks pieces that did not move, since which of two swapped pieces counts as moved is
    chance.
    """
    if own.role != Role.MODIFIER or other.role != Role.MODIFIER:
        return False
    here = partner.get(own.head)
    return here is not None and here != other.head and other.head in partner.others


def _floating(own: Reading, other: Reading) -> frozenset[str]:
    """Return roles whose phrase may stand anywhere: with one predicate it has no other head.

    An example is "In a kitchen, a cat sleeps" and "a cat sleeps in a kitchen". It does not hold if
    two phrases share the preposition, since they may have changed places.
    """
    pieces = (*own.pieces, *other.pieces)
    for reading in (own, other):
        if sum(piece.role == Role.PREDICATE for piece in reading.pieces) > 1:
            return frozenset()
    counts = Counter(piece.role for piece in pieces if piece.role.startswith("prep:"))
    return frozenset(role for role, count in counts.items() if count == 2)


def _is_relation(role: str) -> bool:
    """Return whether a role is a preposition or case particle."""
    return role.startswith("prep:")


class Parts(StrEnum):
    """Agreement of the parts of two paired pieces."""

    SAME = "same"
    ROUGH = "rough"
    UNKNOWN = "unknown"
    SWAPPED = "swapped"


def parts_of(pair: AlignedPair) -> Parts:
    """Return the agreement of a pair's parts, by their roles alone."""
    own, other = pair.own.role, pair.other.role
    if own == other:
        return Parts.SAME if own else Parts.UNKNOWN
    if frozenset((own, other)) in _OPPOSITE_ROLES:
        return Parts.SWAPPED
    if Role.UNKNOWN in (own, other) or Role.TOPIC in (own, other):
        return Parts.UNKNOWN
    return Parts.ROUGH


def _same_head(own: Piece, other: Piece, partner: _Partners) -> bool:
    if own.head == other.head:
        # Of pieces without a head, only a main predicate surely belongs to no other word.
        return bool(own.head) or own.role == Role.PREDICATE
    return bool(own.head and other.head) and partner.get(own.head) == other.head
