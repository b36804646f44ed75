"""The words that name the place of a difference: "port" for "port 5433" and "port 5434".

A place is a piece that both texts share: the noun of a modifier, or the words right before the
piece ("primary: Tom", "ポートは5433", "Tom likes tea"). Pure.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

from totonoe_core.domain.records import Evidence, Finding
from totonoe_core.guard.alignment import AlignedPair, Alignment
from totonoe_core.guard.quoting import Side
from totonoe_core.text.reading.model import Piece, PieceType, Role, Span

_PLACED = frozenset(
    {
        *(Finding.NUMBER, Finding.QUANTITY, Finding.DATE, Finding.TIME, Finding.VERSION),
        *(Finding.IDENTIFIER, Finding.PATH, Finding.QUOTE, Finding.NAME, Finding.QUANTIFIER),
        *(Finding.OPPOSITE, Finding.SUBJECT, Finding.REPLACED),
    }
)
_Both = tuple[Piece, Piece]
_NAMING = frozenset(
    {PieceType.WORD, PieceType.NAME, PieceType.IDENTIFIER, PieceType.PATH, PieceType.QUOTE}
)
_ACTORS = frozenset({Role.AGENT, Role.PATIENT, Role.TOPIC})
# What stands behind one of these belongs to other words. A colon belongs to the words before it.
_APART = frozenset(",.;!?、，。；！？()（）\n")


class Places:
    """Names the places of differences between two aligned readings.

    Parameters
    ----------
    aligned : Alignment
    own, other : Side
    words_of_own : bool
        Take the words from the own text; by default from the other one.
    """

    def __init__(
        self, aligned: Alignment, own: Side, other: Side, words_of_own: bool = False
    ) -> None:
        self._aligned = aligned
        self._own, self._other = own, other
        self._words_of_own = words_of_own

    # Made on first use: most comparisons find nothing that has a place.
    @cached_property
    def _pairs(self) -> dict[tuple[Span, Span], AlignedPair]:
        return {
            ((pair.own.start, pair.own.end), (pair.other.start, pair.other.end)): pair
            for pair in self._aligned.pairs
        }

    @cached_property
    def _shared(self) -> dict[int, int]:
        return {pair.own.start: pair.other.start for pair in self._aligned.shared()}

    def name(self, line: Evidence) -> str:
        """Return the words that name the place of a finding; empty if nothing names it."""
        if line.finding not in _PLACED:
            return ""
        pair = self._pairs.get((line.own, line.other))
        if pair is None:
            return ""
        found = self._head(pair) or self._before(pair.own, pair.other)
        if found is None:
            return ""
        side, which = (self._own, 0) if self._words_of_own else (self._other, 1)
        return side.quote((found[0][which].start, found[-1][which].end))

    def _head(self, pair: AlignedPair) -> list[_Both] | None:
        """Return the noun to which a modifier belongs, if that is the same in both texts."""
        if Role.MODIFIER not in (pair.own.role, pair.other.role):
            return None
        found = self._same(_head(self._own, pair.own), _head(self._other, pair.other))
        return found and [found]

    def _before(self, own: Piece, other: Piece) -> list[_Both] | None:
        """Return what stands right before two pieces; before a predicate also who or what acts."""
        before = self._same(_left(self._own, own), _left(self._other, other))
        if before is None:
            return None
        here, there = before
        if here.role == Role.PREDICATE:
            actor = self._same(_left(self._own, here), _left(self._other, there))
            if actor is not None and actor[0].role in _ACTORS:
                return [actor, before]
        return [before]

    def _same(self, here: Piece | None, there: Piece | None) -> _Both | None:
        """Return two pieces if they say the same, and are words that can name a place."""
        if here is None or there is None or not {here.type, there.type} <= _NAMING:
            return None
        return (here, there) if self._shared.get(here.start) == there.start else None


def _head(side: Side, modifier: Piece) -> Piece | None:
    """Return the nearest piece with the key of a modifier's head, if no mark stands between."""
    heads = (piece for piece in side.pieces if piece.key == modifier.head and piece is not modifier)
    head = min(heads, key=lambda piece: abs(piece.start - modifier.start), default=None)
    return None if head is None or _apart(side, *sorted((head, modifier), key=_start)) else head


def _left(side: Side, piece: Piece) -> Piece | None:
    """Return the piece right before another one, if no mark stands between them."""
    before = next((a for a, b in pairwise(side.pieces) if b is piece), None)
    return None if before is None or _apart(side, before, piece) else before


def _apart(side: Side, first: Piece, second: Piece) -> bool:
    """Return whether a mark between two pieces parts them."""
    return not _APART.isdisjoint(side.words((first.end, second.start)))


def _start(piece: Piece) -> int:
    return piece.start
