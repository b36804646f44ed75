"""Traits of one text: all that its comparison with others needs of it alone, computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from totonoe_core.base.kept import kept
from totonoe_core.guard.marks import marks, places
from totonoe_core.text.reading.model import VALUES, PieceType, Reading, Role
from totonoe_core.text.reading.read import read

_TRAITS_KEPT_CHARS = 300_000


@dataclass(frozen=True, slots=True)
class Traits:
    """A reading, and what is counted in it, wherever it stands.

    Attributes
    ----------
    marks : tuple of str
        Operators and symbols (`marks.marks`).
    marked : tuple of int
        Their places (`marks.places`).
    weights : tuple of float
        Of the pieces.
    values, names : mapping of str to int
        How often a piece with a key stands there, among those with a value and among names.
    modalities, tenses : mapping of str to int
        How often a piece has it; without the empty one.
    denied, predicates : int
        Number of these pieces.
    """

    reading: Reading
    marks: tuple[str, str, str]
    marked: tuple[int, ...]
    weights: tuple[float, ...]
    values: Mapping[str, int]
    names: Mapping[str, int]
    modalities: Mapping[str, int]
    tenses: Mapping[str, int]
    denied: int
    predicates: int


@kept(_TRAITS_KEPT_CHARS)
def traits_of(text: str, language: str) -> Traits:
    """Return the reading of a text in a language with its traits."""
    reading = read(text, language)
    pieces = reading.pieces
    found = marks(text, pieces)
    return Traits(
        reading=reading,
        marks=found,
        marked=places(text, pieces) if any(found) else (),
        weights=tuple(piece.weight for piece in pieces),
        values=Counter(piece.key for piece in pieces if piece.type in VALUES),
        names=Counter(piece.key for piece in pieces if piece.type is PieceType.NAME),
        modalities=Counter(piece.modality for piece in pieces if piece.modality),
        tenses=Counter(piece.tense for piece in pieces if piece.tense),
        denied=sum(piece.negated for piece in pieces),
        predicates=sum(piece.role == Role.PREDICATE for piece in pieces),
    )


def forget_cached() -> None:
    """Empty the cache, which holds texts. Called by Purge."""
    traits_of.cache_clear()
