"""Sizes of what an answer shows, so that a page ends by its bytes as well as by its rows.

Estimates, without an encoding of anything: about what the row has on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from totonoe_core.base import limits
from totonoe_core.domain.records import Episode, Link, Memory
from totonoe_core.domain.undo import OperationInfo

T = TypeVar("T")

ROW_BYTES = 128
"""Of a memory besides its texts, lists, links and vector."""
_VALUE_BYTES = 12
_ID_BYTES = 24


class Room:
    """The bytes that are left on a page. The first row always fits."""

    def __init__(self) -> None:
        self._left = limits.PAGE_BYTES_GOAL
        self._begun = False

    def takes(self, nbytes: int) -> bool:
        """Return whether one more row of a size fits, and take its bytes if so."""
        fits = not self._begun or nbytes <= self._left
        if fits:
            self._begun = True
            self._left -= nbytes
        return fits

    def fitting(self, rows: Iterable[T], size: Callable[[T], int]) -> list[T]:
        """Return the first rows that fit."""
        out: list[T] = []
        for row in rows:
            if not self.takes(size(row)):
                break
            out.append(row)
        return out


def memory_bytes(memory: Memory, vector: bool = False) -> int:
    """Return about how many bytes a memory has in an answer, with its links."""
    fields = memory.fields
    nbytes = ROW_BYTES + len(memory.content)
    if vector:
        nbytes += len(memory.vector)
    if fields.attributes:
        nbytes += object_bytes(fields.attributes)
    if fields.payload:
        nbytes += object_bytes(fields.payload)
    for texts in (fields.tags, fields.entities, fields.evidence_ids):
        for text in texts:
            nbytes += len(text)
    if memory.links:
        nbytes += links_bytes(memory.links)
    return nbytes


def operation_bytes(operation: OperationInfo) -> int:
    """Return about how many bytes an operation has in an answer; it has an id for each memory."""
    ids_count = len(operation.memory_ids) + len(operation.episode_ids)
    return ROW_BYTES + len(operation.reason) + ids_count * _ID_BYTES


def episode_bytes(episode: Episode) -> int:
    """Return about how many bytes an episode has in an answer."""
    return ROW_BYTES + len(episode.summary) + len(episode.memory_ids) * _ID_BYTES


def links_bytes(links: Iterable[Link]) -> int:
    """Return about how many bytes links have in an answer."""
    return sum(_ID_BYTES + len(link.note) for link in links)


def object_bytes(value: Mapping[str, Any]) -> int:
    """Return about how many bytes a JSON object has as a Struct."""
    nbytes = 0
    for key, item in value.items():
        nbytes += len(key) + _value_bytes(item)
    return nbytes


def _value_bytes(value: Any) -> int:
    # As deep as `limits.STRUCT_DEPTH_MAX`: what is stored was checked.
    match value:
        case str():
            return _VALUE_BYTES + len(value)
        case dict():
            return _VALUE_BYTES + object_bytes(value)
        case list():
            return _VALUE_BYTES + sum(map(_value_bytes, value))
        case _:
            return _VALUE_BYTES
