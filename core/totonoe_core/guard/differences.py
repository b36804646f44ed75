"""What differs between two readings, by name: each difference makes it another statement.

Symmetric but for the order of the answer. What has no name here is left to the weights: loose
synonyms, light words, parts that agree roughly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum

from totonoe_core.guard.alignment import Alignment, Pair, Tie
from totonoe_core.records import Evidence, Finding
from totonoe_core.text.reading.model import Piece, PieceType, Reading, Role

LIGHT_MAX = 0.5
"""A piece of this weight or less is light: another wording may leave it out."""

# Parts that contradict each other when one and the same thing plays both.
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
    """Where a piece stands."""
    return piece.start, piece.end


def differences(own: Reading, other: Reading, aligned: Alignment) -> Iterator[Evidence]:
    """All that makes it another statement, the gravest for each pair."""
    if own.asks != other.asks:
        yield Evidence(Finding.QUESTION, whole(own), whole(other))
    partner = {pair.own.key: pair.other.key for pair in aligned.shared()}
    floating = _floating(own, other)
    about_own, about_other = _about(own), _about(other)
    for pair in aligned.pairs:
        finding = _difference(pair, partner, floating)
        if finding in _ABOUT_ANOTHER and pair.own in about_own and pair.other in about_other:
            finding = Finding.SUBJECT
        if finding is not None:
            yield Evidence(finding, span(pair.own), span(pair.other))
    for piece in aligned.added:
        if finding := _says_alone(piece):
            yield Evidence(finding, span(piece))
    for piece in aligned.missing:
        if finding := _says_alone(piece):
            yield Evidence(finding, (0, 0), span(piece))


def whole(reading: Reading) -> tuple[int, int]:
    """From the first piece to the end of the last."""
    return reading.pieces[0].start, max(piece.end for piece in reading.pieces)


def _says_alone(piece: Piece) -> Finding | None:
    """A quantifier that only one text has limits what it says: "all", "only", "never"."""
    if piece.type is PieceType.QUANTIFIER and piece.weight > LIGHT_MAX:
        return Finding.QUANTIFIER
    return None


_ABOUT_ANOTHER = (Finding.NAME, Finding.REPLACED)
_PREDICATE_LAST = frozenset({"ja", "ko"})


def _about(reading: Reading) -> frozenset[Piece]:
    """Pieces that say whom or what the statement is about, not what it says of them.

    "Project Elm uses tabs" and "Project Larch uses tabs" are two facts; "... uses spaces" is a
    new value of the first. Before the predicate; where it comes last, by role.
    """
    pieces = reading.pieces
    if reading.language not in _PREDICATE_LAST:
        places = [at for at, piece in enumerate(pieces) if piece.role == Role.PREDICATE]
        return frozenset(pieces[: places[0]] if places else ())
    subjects = {piece.key for piece in pieces if piece.role in (Role.AGENT, Role.TOPIC)}
    first = next((at for at, piece in enumerate(pieces) if piece.key in subjects), 1)
    return frozenset(
        piece
        for at, piece in enumerate(pieces)
        if piece.key in subjects
        or piece.head in subjects
        or (at < first and piece.role not in (Role.PREDICATE, Role.PATIENT))
    )


def _difference(pair: Pair, partner: dict[str, str], floating: frozenset[str]) -> Finding | None:
    own, other = pair.own, pair.other
    if pair.tie is Tie.OTHER_VALUE:
        return _VALUE_FINDINGS[own.type]
    if pair.tie is Tie.REPLACED:
        return Finding.REPLACED
    opposite = pair.tie is Tie.OPPOSITE
    if (own.negated != other.negated) is not opposite:
        return Finding.OPPOSITE if opposite else Finding.POLARITY
    if own.modality != other.modality:
        return Finding.MODALITY
    if own.tense != other.tense and "past" in (own.tense, other.tense):
        return Finding.TENSE
    parts = parts_of(pair)
    if parts is Parts.SWAPPED:
        return Finding.ROLE if Role.AGENT in (own.role, other.role) else Finding.OPPOSITE
    if pair.moved and (parts is not Parts.SAME or not _same_head(own, other, partner)):
        return None if parts is Parts.SAME and own.role in floating else Finding.ORDER
    return Finding.ORDER if _belongs_elsewhere(own, other, partner) else None


def _belongs_elsewhere(own: Piece, other: Piece, partner: dict[str, str]) -> bool:
    """A modifier that belongs to another word although both words stand in both texts.

    Which of two swapped pieces counts as moved is chance, so this asks those that stayed too.
    """
    if own.role != Role.MODIFIER or other.role != Role.MODIFIER:
        return False
    here = partner.get(own.head)
    return here is not None and here != other.head and other.head in partner.values()


def _floating(own: Reading, other: Reading) -> frozenset[str]:
    """Roles whose phrase may stand anywhere: with one predicate it can belong to nothing else.

    "In a kitchen, a cat sleeps" and "a cat sleeps in a kitchen"; not where two phrases share the
    preposition, which may have changed places.
    """
    pieces = (*own.pieces, *other.pieces)
    for reading in (own, other):
        if sum(piece.role == Role.PREDICATE for piece in reading.pieces) > 1:
            return frozenset()
    counts = Counter(piece.role for piece in pieces if piece.role.startswith("prep:"))
    return frozenset(role for role, count in counts.items() if count == 2)


class Parts(StrEnum):
    """How the parts of two paired pieces agree."""

    SAME = "same"
    ROUGH = "rough"
    UNKNOWN = "unknown"
    SWAPPED = "swapped"


def parts_of(pair: Pair) -> Parts:
    """How the parts of a pair agree, by their roles alone."""
    own, other = pair.own.role, pair.other.role
    if own == other:
        return Parts.SAME if own else Parts.UNKNOWN
    if frozenset((own, other)) in _OPPOSITE_ROLES:
        return Parts.SWAPPED
    if Role.UNKNOWN in (own, other) or Role.TOPIC in (own, other):
        return Parts.UNKNOWN
    return Parts.ROUGH


def _same_head(own: Piece, other: Piece, partner: dict[str, str]) -> bool:
    if own.head == other.head:
        # Without a head only a main predicate is known to belong to nothing.
        return bool(own.head) or own.role == Role.PREDICATE
    return bool(own.head and other.head) and partner.get(own.head) == other.head
