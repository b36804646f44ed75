"""Assertion on rows that an Undo will change: they still are as the operation left them.

By its layers a row is as the operation left it, and its history must agree. If not, a row, an image
or an operation is damaged, or a bug wrote one of them, and nothing is reverted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from totonoe_core.base import plain
from totonoe_core.base.errors import Corruption
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import Dismissal, Episode, Memory
from totonoe_core.engine.commands.layers import Row
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.store import rows
from totonoe_core.store.records import Image, LinkVersion
from totonoe_core.store.seam import History

T = TypeVar("T")


class AsLeft:
    """Compares rows with the state left by the operation of a revision. All raise `Corruption`."""

    def __init__(self, state: CollectionState, history: History, revision: int) -> None:
        self._state = state
        self._history = history
        self._revision = revision

    def memory(self, row: Row, now: Memory) -> None:
        """Check a memory, without its vector if the collection has another model since."""
        own_model = self._state.info.model_since <= self._revision

        def said(memory: Memory) -> Memory:
            vector = memory.vector if own_model else b""
            return replace(memory, revision=0, updated_us=0, vector=vector, model_number=0)

        self._check(
            row, said(now), lambda image: said(rows.memory_of_image(image.before, image.vector))
        )

    def link(self, row: Row, now: LinkVersion | None) -> None:
        """Check one direction of a link."""
        said = None if now is None else (now.link.confidence, now.link.note)
        self._check(row, said, lambda image: rows.link_of_image(image.before))

    def dismissal(self, row: Row, now: Dismissal | None) -> None:
        """Check a dismissed pair."""
        said = now and replace(now, revision=0)
        self._check(
            row, said, lambda image: replace(plain.loads(Dismissal, image.before), revision=0)
        )

    def episode(self, row: Row, now: Episode | None) -> None:
        """Check an episode."""
        said = now and replace(now, revision=0)
        self._check(
            row, said, lambda image: replace(plain.loads(Episode, image.before), revision=0)
        )

    def settings(self, row: Row, now: CollectionInfo) -> None:
        """Check the settings, without those that no Undo reverts."""

        def said(info: CollectionInfo) -> CollectionInfo:
            return replace(self._state.as_today(info), revision=0, settings_revision=0)

        self._check(row, said(now), lambda image: said(plain.loads(CollectionInfo, image.before)))

    def _check(self, row: Row, now: T | None, said: Callable[[Image], T]) -> None:
        if row.since == self._revision:
            return
        image = self._history.image_from(row.entity, row.key, self._revision + 1)
        if image is None:
            return
        left = said(image) if image.since <= self._revision else None
        if left != now:
            raise Corruption(
                "CORRUPT_ROW",
                f"the history of {row.entity} {row.key} does not lead to what it is now: "
                "the command `verify` looks for damage",
                table=row.entity,
                row=row.key,
            )
