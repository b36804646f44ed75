"""Which pieces of two readings say the same, and what is left over on each side.

Pieces are paired by key, then by loose synonym, then by what makes a difference nameable:
an opposite, another value of the same type, another word in the same place. Pure, and
symmetric but for the order of its answer: aligning (b, a) gives the mirrored pairs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from totonoe_core.text.reading.model import VALUES, Piece, PieceType, Role


class Tie(IntEnum):
    """How two paired pieces hang together."""

    SAME = 0
    NEAR = 1
    OPPOSITE = 2
    OTHER_VALUE = 3
    REPLACED = 4


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pieces in the same place; `moved` if the order of the others says otherwise."""

    own: Piece
    other: Piece
    tie: Tie
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Alignment:
    """Pairs in the order of the own text, and the pieces without a partner."""

    pairs: tuple[Pair, ...]
    added: tuple[Piece, ...]
    missing: tuple[Piece, ...]

    def shared(self) -> Iterable[Pair]:
        """Pairs that say the same or nearly so."""
        return (pair for pair in self.pairs if pair.tie <= Tie.NEAR)


_NAMED_MAX = 24
_Places = list[tuple[int, int, Tie]]


class _Pairing:
    """What is still without a partner on either side, by index."""

    def __init__(self, own: Sequence[Piece], other: Sequence[Piece]) -> None:
        self.own, self.other = own, other
        self.free_own = dict.fromkeys(range(len(own)))
        self.free_other = dict.fromkeys(range(len(other)))
        self.found: _Places = []

    def tie(self, own: int, other: int, tie: Tie) -> None:
        del self.free_own[own]
        del self.free_other[other]
        self.found.append((own, other, tie))

    def by(self, tie: Tie, key: Callable[[Piece], Hashable]) -> None:
        """Pairs free pieces of one key in text order."""
        there: defaultdict[Hashable, list[int]] = defaultdict(list)
        for number in self.free_other:
            there[key(self.other[number])].append(number)
        taken: defaultdict[Hashable, int] = defaultdict(int)
        for number in list(self.free_own):
            one = key(self.own[number])
            waiting = there.get(one)
            if waiting and taken[one] < len(waiting):
                self.tie(number, waiting[taken[one]], tie)
                taken[one] += 1

    def by_test(self, tie: Tie, test: Callable[[Piece, Piece], bool]) -> None:
        """Pairs free pieces that pass a test, those of one role first.

        Quadratic: where much is left over on both sides, nothing has to be named.
        """
        if min(len(self.free_own), len(self.free_other)) > _NAMED_MAX:
            return
        for same_role in (True, False):
            for own in list(self.free_own):
                one = self.own[own]
                for other in self.free_other:
                    two = self.other[other]
                    if (one.role == two.role or not same_role) and test(one, two):
                        self.tie(own, other, tie)
                        break


def align(own: Sequence[Piece], other: Sequence[Piece]) -> Alignment:
    """Aligns the pieces of two readings.

    Parameters
    ----------
    own, other : sequence of Piece
        In text order, each at most VERDICT_PIECES_MAX.
    """
    pairing = _Pairing(own, other)
    # The most alike first: a word that stands twice meets the one in the same part.
    pairing.by(Tie.SAME, lambda piece: (piece.key, piece.role, piece.head, piece.negated))
    pairing.by(Tie.SAME, lambda piece: (piece.key, piece.role))
    pairing.by(Tie.SAME, lambda piece: piece.key)
    pairing.by_test(Tie.NEAR, _near)
    pairing.by_test(Tie.OPPOSITE, _opposite)
    pairing.by_test(Tie.OTHER_VALUE, _other_value)
    pairing.by_test(Tie.REPLACED, _replaced)
    pairing.found.sort()
    moved = _moved([other_place for _, other_place, tie in pairing.found if tie <= Tie.NEAR])
    pairs = tuple(
        Pair(own[mine], other[theirs], tie, tie <= Tie.NEAR and theirs in moved)
        for mine, theirs, tie in pairing.found
    )
    return Alignment(
        pairs,
        tuple(own[number] for number in pairing.free_own),
        tuple(other[number] for number in pairing.free_other),
    )


def _near(one: Piece, two: Piece) -> bool:
    return not one.near.isdisjoint(two.near)


def _opposite(one: Piece, two: Piece) -> bool:
    return two.key in one.opposites or one.key in two.opposites


def _other_value(one: Piece, two: Piece) -> bool:
    if one.type in VALUES or one.type in (PieceType.NAME, PieceType.QUANTIFIER):
        return one.type is two.type
    return False


def _replaced(one: Piece, two: Piece) -> bool:
    """Something else in the same part of the sentence; never a name for a figure."""
    return (
        one.role == two.role != Role.UNKNOWN
        and {one.type, two.type} <= {PieceType.WORD, PieceType.NAME}
        and one.weight == two.weight
    )


def _moved(places: Sequence[int]) -> frozenset[int]:
    """Places outside of one longest increasing run of them (patience sorting)."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = [-1] * len(places)
    for number, place in enumerate(places):
        at = bisect_left(tails, place)
        before[number] = ends[at - 1] if at else -1
        if at == len(tails):
            tails.append(place)
            ends.append(number)
        else:
            tails[at] = place
            ends[at] = number
    kept = set()
    number = ends[-1] if ends else -1
    while number >= 0:
        kept.add(places[number])
        number = before[number]
    return frozenset(places) - kept
