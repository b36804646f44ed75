"""Order of steps: the same steps in another order are another procedure.

    Stop the worker. Apply the patch.    Apply the patch. Stop the worker.
    db-a is old. It is slow. db-b runs.  db-a is old. db-b runs. It is slow.

What has a subject of its own may stand anywhere: "Ann likes tea. Bob likes milk."
"""

from __future__ import annotations

from collections import defaultdict

from totonoe_core.guard.alignment import AlignedPair, Alignment, Tie
from totonoe_core.text.reading.model import Piece, PieceType, Reading, Role

_PREDICATES_MAX = 64
_POINTING_BACK = frozenset({"it", "they", "he", "she"})


def out_of_order(own: Reading, other: Reading, aligned: Alignment) -> AlignedPair | None:
    """Return the first step that another one passes in the other text; `None` if none does.

    What points back ("it") is passed by any predicate. At most 64 predicates are looked at.
    """
    if not any(pair.moved for pair in aligned.pairs):
        return None
    here, there = _dependents(own), _dependents(other)
    pairs = [
        pair
        for pair in aligned.pairs
        if pair.tie <= Tie.NEAR
        and _is_predicate(pair.own, here)
        and _is_predicate(pair.other, there)
    ][:_PREDICATES_MAX]
    steps = [pair for pair in pairs if _is_step(pair.own, here) and _is_step(pair.other, there)]
    for pair in steps:
        others = pairs if _points_back(pair.own, here) else steps
        if any(_pass_each_other(pair, another) for another in others):
            return pair
    return None


def _pass_each_other(one: AlignedPair, another: AlignedPair) -> bool:
    return (one.own.start < another.own.start) != (one.other.start < another.other.start)


def _dependents(reading: Reading) -> dict[str, list[Piece]]:
    found: defaultdict[str, list[Piece]] = defaultdict(list)
    for piece in reading.pieces:
        if piece.head:
            found[piece.head].append(piece)
    return found


def _is_predicate(piece: Piece, dependents: dict[str, list[Piece]]) -> bool:
    if piece.role != Role.UNKNOWN:
        return piece.role == Role.PREDICATE
    # A verb whose things are named twice has no certain part.
    return any(dependent.role == Role.PATIENT for dependent in dependents.get(piece.key, ()))


def _is_step(piece: Piece, dependents: dict[str, list[Piece]]) -> bool:
    """Return whether a predicate needs its place to be understood: it has no subject of its own."""
    if _points_back(piece, dependents):
        return True
    mine = dependents.get(piece.key, ())
    if piece.form:
        return False  # a participle or passive: what it is done to is its subject
    if not mine:
        return not piece.head
    things = {
        part.key for part in mine if part.role == Role.PATIENT or part.role.startswith("prep:")
    }
    if piece.type is not PieceType.WORD:
        return False
    acts_itself = any(part.role == Role.AGENT for part in mine)
    return bool(things) and not acts_itself and piece.head in things | {""}


def _points_back(piece: Piece, dependents: dict[str, list[Piece]]) -> bool:
    keys = [piece.key, *(dependent.key for dependent in dependents.get(piece.key, ()))]
    return not _POINTING_BACK.isdisjoint(keys)
