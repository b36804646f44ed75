"""Layers of a row: the changes in force, by which an Undo knows what it may revert. By this an Undo
knows what it may take back.

    an operation changes a row    it lays a layer on the row, which has the operation's revision
    an Undo of that operation     the row has the layers again that it had before the operation
    an Undo of that Undo          the row has the layers again that it had before the Undo

An operation left some layers on a row. Its change of the row can be reverted if the row has the
same layers now: each later operation on the row is undone, or undid an operation that was then
redone. All of it is read from images and revisions of the one row. So an Undo that left a row alone
is no change of that row, and another operation that happens to write the same is one.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from totonoe_core.base import limits
from totonoe_core.store.seam import History


class Row(NamedTuple):
    """A row by its entity and key, as images have them; `since` is its revision, 0 if missing."""

    entity: str
    key: str
    since: int


class Place(Enum):
    """Position of an operation's change on a row."""

    NOWHERE = auto()
    """The operation left the row as it was."""
    ON_TOP = auto()
    """Each later operation on the row is undone."""
    COVERED = auto()
    """A later operation is in force; `Standing.revision` is the one to undo first."""
    UNDONE = auto()
    """An Undo took the change back; `Standing.revision` is the last one that did."""


class Standing(NamedTuple):
    """Position of an operation's change on a row, and the revision that made it so."""

    place: Place
    revision: int = 0


class Layers:
    """Reads the layers of rows, for one Undo of the operation of a revision."""

    def __init__(self, history: History, target: int) -> None:
        self._history = history
        self._target = target
        self._undoes: dict[int, int] = {}
        self._reads_left = limits.UNDO_LATER_READ_MAX

    def standing(self, row: Row) -> Standing:
        """Return the position of the operation's change of a row.

        A row with more later changes than may be read is COVERED unless it is ON_TOP.
        """
        layers = _RowLayers(self, row)
        target, last = self._target, layers.last()
        if last == target:
            return Standing(Place.ON_TOP)
        if not layers.step(target).changed:
            return Standing(Place.NOWHERE)
        left, now = layers.top(target), layers.top(last)
        if left == now:
            return Standing(Place.ON_TOP)
        later = layers.later(target, self._reads_left)
        self._reads_left -= len(later)
        if later[-1:] != [last]:
            return Standing(Place.COVERED, now or last)
        return _standing(layers, target, left, later)

    def as_before(self, row: Row) -> bool:
        """Return whether a row existed before the operation and has the same layers again."""
        if 0 < row.since < self._target:
            return True
        layers = _RowLayers(self, row)
        before = layers.step(self._target).before
        return before != 0 and layers.top(before) == layers.top(layers.last())

    def top(self, row: Row) -> int:
        """Return the operation in force that changed a row last; 0 if none."""
        layers = _RowLayers(self, row)
        return layers.top(layers.last())

    def undoes(self, revision: int) -> int:
        """Return the revision that an operation undid; 0 if it is no Undo."""
        if revision not in self._undoes:
            operation = self._history.operation(revision)
            self._undoes[revision] = (operation and operation.undoes) or 0
        return self._undoes[revision]

    @property
    def history(self) -> History:
        """Reads of images."""
        return self._history


class _Step(NamedTuple):
    """Whether an operation changed a row, and the last one that did so before it (0: none)."""

    changed: bool
    before: int


class _RowLayers:
    """The layers of one row. Revision 0 means that no operation changed the row yet."""

    def __init__(self, layers: Layers, row: Row) -> None:
        self._layers = layers
        self._row = row
        self._steps: dict[int, _Step] = {}
        self._tops: dict[int, int] = {0: 0}

    def last(self) -> int:
        """Return the last operation that changed the row."""
        entity, key, since = self._row
        return since or self._layers.history.last_image(entity, key, 2**62)

    def step(self, revision: int) -> _Step:
        """Return an operation's effect on the row."""
        step = self._steps.get(revision)
        if step is None:
            step = self._steps[revision] = self._read_step(revision)
        return step

    def _read_step(self, revision: int) -> _Step:
        entity, key, since = self._row
        history = self._layers.history
        image = history.image_from(entity, key, revision)
        if image is not None:
            since = image.since
        changed = since == revision or (image is not None and image.revision == revision)
        if 0 < since < revision:
            # The row was like this right before the operation.
            return _Step(changed, since)
        return _Step(changed, history.last_image(entity, key, revision))

    def undone(self, revision: int) -> int:
        """Return the change of the row that an operation reverted; 0 if none."""
        undoes = self._layers.undoes(revision)
        return undoes if undoes and self.step(undoes).changed else 0

    def top(self, revision: int) -> int:
        """Return the top layer right after an operation that changed the row."""
        path = []
        for _ in range(limits.UNDO_STEPS_MAX):
            if revision in self._tops or not (undone := self.undone(revision)):
                break
            path.append(revision)
            revision = self.step(undone).before
        top = self._tops.get(revision, revision)
        self._tops.update(dict.fromkeys(path, top))
        return top

    def under(self, layer: int) -> int:
        """Return the layer under another one; 0 if it is the lowest."""
        return self.top(self.step(layer).before)

    def later(self, revision: int, limit: int) -> list[int]:
        """Return operations that changed the row after another one, oldest first.

        If there are more than `limit`, returns the first ones.
        """
        entity, key, since = self._row
        images = self._layers.history.images_from(entity, key, revision + 1, limit)
        found = {image.revision for image in images} | {image.since for image in images}
        if len(images) < limit:
            found.add(since)
        return sorted(number for number in found if number > revision)


def _standing(layers: _RowLayers, target: int, left: int, later: list[int]) -> Standing:
    """Return the position of the target's change after later changes, given another top layer now.

    `left` is the top layer that the target left.
    """
    # An Undo is in force as long as the layer that it removed is absent, and so on.
    origin, laid = target, True
    while undone := layers.undone(origin):
        origin, laid = undone, not laid
    lies: dict[int, bool] = {}
    lies_below: dict[int, bool] = {}
    in_force = below = True
    taken = moved = 0
    for revision in later:
        top = layers.top(revision)
        still = _has(layers, top, origin, lies) is laid
        taken = revision if in_force and not still else taken
        in_force = still
        still = _has(layers, top, left, lies_below)
        moved = revision if below and not still else moved
        below = still
    if not in_force:
        return Standing(Place.UNDONE, taken)
    return Standing(Place.COVERED, layers.top(later[-1]) if below else moved)


def _has(layers: _RowLayers, top: int, layer: int, known: dict[int, bool]) -> bool:
    """Return whether a layer is among those up to a top one; `known` caches answers for it."""
    path = []
    # Each layer is older than the one above it.
    while top > layer and top not in known:
        path.append(top)
        top = layers.under(top)
    found = known.get(top, top == layer)
    known.update(dict.fromkeys(path, found))
    return found
