"""Alignment of two readings: pieces that say the same, and the rest of each side.

Pieces are paired by key, then by loose synonym, then by a difference that has a name: an opposite,
another value of the same type, another word in the same place. Pure, and symmetric but for the
order of its answer: aligning (b, a) gives the mirrored pairs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter

from totonoe_core.text.reading.model import Piece, PieceType, Role


class Tie(IntEnum):
    """Relation of two paired pieces."""

    SAME = 0
    NEAR = 1
    OPPOSITE = 2
    OTHER_VALUE = 3
    REPLACED = 4


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """Two pieces in the same place; `moved` if the order of the others says otherwise."""

    own: Piece
    other: Piece
    tie: Tie
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Alignment:
    """Pairs in the order of the own text, and the pieces without a partner."""

    pairs: tuple[AlignedPair, ...]
    added: tuple[Piece, ...]
    missing: tuple[Piece, ...]

    def shared(self) -> Iterable[AlignedPair]:
        """Pairs that say the same or nearly so."""
        return (pair for pair in self.pairs if pair.tie <= Tie.NEAR)


_NAMED_MAX = 24
Names = Callable[[Piece], Collection[Hashable]]
_Places = list[tuple[int, int, Tie]]


class _Pairing:
    """Pieces without a partner yet on either side, by index."""

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
        """Pair free pieces of one key in text order."""
        if not self.free_own or not self.free_other:
            return
        there: defaultdict[Hashable, list[int]] = defaultdict(list)
        # Backwards, so that the last of a list is the first in the text.
        for number in reversed(self.free_other):
            there[key(self.other[number])].append(number)
        for number in list(self.free_own):
            if waiting := there.get(key(self.own[number])):
                self.tie(number, waiting.pop(), tie)

    def by_names(self, tie: Tie, sought: Names, borne: Names) -> None:
        """Pair each free own piece with the first other one that has a name it seeks.

        Pieces of one role come first. If much is left over on both sides, nothing has to be named.
        """
        if min(len(self.free_own), len(self.free_other)) > _NAMED_MAX:
            return
        seeking = [(at, names) for at in self.free_own if (names := sought(self.own[at]))]
        if not seeking:
            return
        bearing = [(at, names) for at in self.free_other if (names := borne(self.other[at]))]
        # As a rule nobody seeks what another bears.
        known = {name for _, names in bearing for name in names}
        seeking = [(at, names) for at, names in seeking if not known.isdisjoint(names)]
        if not seeking:
            return
        for same_role in (True, False):
            places: defaultdict[Hashable, deque[int]] = defaultdict(deque)
            for number, names in bearing:
                role = self.other[number].role if same_role else ""
                for name in names:
                    places[name, role].append(number)
            for number, names in seeking:
                if number not in self.free_own:
                    continue
                role = self.own[number].role if same_role else ""
                bearers = [self._first_free(places.get((name, role))) for name in names]
                found = min([place for place in bearers if place >= 0], default=-1)
                if found >= 0:
                    self.tie(number, found, tie)

    def _first_free(self, places: deque[int] | None) -> int:
        """Return the first place without a partner, -1 if there is none; drop the others."""
        while places and places[0] not in self.free_other:
            places.popleft()
        return places[0] if places else -1


def align(own: Sequence[Piece], other: Sequence[Piece]) -> Alignment:
    """Align the pieces of two readings.

    Parameters
    ----------
    own, other : sequence of Piece
        In text order, each at most VERDICT_PIECES_MAX.
    """
    pairing = _Pairing(own, other)
    # The most alike first: a repeated word meets the one in the same part.
    pairing.by(Tie.SAME, attrgetter("key", "role", "head", "negated"))
    pairing.by(Tie.SAME, attrgetter("key", "role"))
    pairing.by(Tie.SAME, attrgetter("key"))
    pairing.by_names(Tie.NEAR, _near, _near)
    if any(own[number].opposites for number in pairing.free_own) or any(
        other[number].opposites for number in pairing.free_other
    ):
        pairing.by_names(Tie.OPPOSITE, _contrary, _opposed)
    pairing.by_names(Tie.OTHER_VALUE, _other_value, _other_value)
    pairing.by_names(Tie.REPLACED, _replaced, _replaced)
    pairing.found.sort()
    moved = _moved([other_place for _, other_place, tie in pairing.found if tie <= Tie.NEAR])
    pairs = tuple(
        AlignedPair(own[mine], other[theirs], tie, tie <= Tie.NEAR and theirs in moved)
        for mine, theirs, tie in pairing.found
    )
    return Alignment(
        pairs,
        tuple(own[number] for number in pairing.free_own),
        tuple(other[number] for number in pairing.free_other),
    )


def _near(piece: Piece) -> Collection[Hashable]:
    return piece.near


def _contrary(piece: Piece) -> Collection[Hashable]:
    """Return the names that an opposite of this piece may have."""
    return [("opposed", piece.key), *(("key", key) for key in piece.opposites)]


def _opposed(piece: Piece) -> Collection[Hashable]:
    return [("key", piece.key), *(("opposed", key) for key in piece.opposites)]


def _other_value(piece: Piece) -> Collection[Hashable]:
    return () if piece.type is PieceType.WORD else (piece.type,)


def _replaced(piece: Piece) -> Collection[Hashable]:
    """Return names of other words in the same part of the sentence; never a name for a figure."""
    if piece.role != Role.UNKNOWN and piece.type in (PieceType.WORD, PieceType.NAME):
        return ((piece.role, piece.weight),)
    return ()


def _moved(places: Sequence[int]) -> frozenset[int]:
    """Return the places outside of one longest increasing run of them (patience sorting)."""
    if places == sorted(places):
        return frozenset()
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
