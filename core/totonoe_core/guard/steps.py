"""Order of steps: the same steps in another order are another procedure.

    Stop the worker. Apply the patch.    Apply the patch. Stop the worker.
    db-a is old. It is slow. db-b runs.  db-a is old. db-b runs. It is slow.

What has a subject of its own may stand anywhere: "Ann likes tea. Bob likes milk."
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from totonoe_core.guard.alignment import Alignment, Pair, Tie
from totonoe_core.text.reading.model import Piece, Reading, Role

_PREDICATES_MAX = 64
_POINTING_BACK = frozenset({"it", "they", "he", "she"})


def out_of_order(own: Reading, other: Reading, aligned: Alignment) -> Pair | None:
    """Return the first step that passes another predicate in the other text; `None` if none does.

    At most 64 predicates are looked at.
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
    for at, pair in enumerate(pairs):
        if _is_step(pair.own, here) and _is_step(pair.other, there) and _passes(at, pairs):
            return pair
    return None


def _passes(at: int, pairs: Sequence[Pair]) -> bool:
    place = pairs[at].other.start
    return any(pair.other.start > place for pair in pairs[:at]) or any(
        pair.other.start < place for pair in pairs[at + 1 :]
    )


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
    return any(one.role == Role.PATIENT for one in dependents.get(piece.key, ()))


def _is_step(piece: Piece, dependents: dict[str, list[Piece]]) -> bool:
    """Return whether a predicate needs its place to be understood: it has no subject of its own."""
    mine = dependents.get(piece.key, ())
    if piece.key in _POINTING_BACK or any(one.key in _POINTING_BACK for one in mine):
        return True
    if piece.form:
        return False  # a participle or passive: what it is done to is its subject
    if not mine:
        return not piece.head
    things = {one.key for one in mine if one.role == Role.PATIENT}
    acts_itself = any(one.role == Role.AGENT for one in mine)
    return bool(things) and not acts_itself and piece.head in things | {""}
