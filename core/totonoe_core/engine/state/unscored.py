"""Rows that were never compared with what probably says the same.

A Remember compares its text when it saves it. Rows that came in another way are noted here: by an
import as it is, from a file of an earlier format, or while the policy asked no questions.
Consolidate scores them later. Bookkeeping: no operation, no before image.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base.errors import Corruption
from totonoe_core.domain.records import Status
from totonoe_core.index import masks
from totonoe_core.index.arrays import STATUSES, View
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.store.seam import CollectionFile, Rows

SETTING = "unscored"
_RANGES_MAX = 64

Range = tuple[int, int]
"""First and last row."""
_ALL: Range = (1, 2**62)


def ranges(rows: Rows) -> list[Range]:
    """Return the unscored rows, ascending; all rows if the note is damaged."""
    try:
        text = rows.setting(SETTING)
    except Corruption:
        return [_ALL]
    return [] if text is None else [(first, last) for first, last in json.loads(text)]


def add(file: CollectionFile, first: int, last: int) -> None:
    """Note rows as unscored, within a transaction. Ranges that meet become one."""
    merged: list[Range] = []
    for begin, end in sorted([*ranges(file.rows), (first, last)]):
        if merged and (begin <= merged[-1][1] + 1 or len(merged) == _RANGES_MAX):
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((begin, end))
    _put(file, merged)


def drop_to(file: CollectionFile, last: int | None) -> None:
    """Note the rows up to `last`, or all rows, as scored, within a transaction."""
    _put(file, [] if last is None else _behind(file, last))


def _behind(file: CollectionFile, last: int) -> list[Range]:
    return [(max(begin, last + 1), end) for begin, end in ranges(file.rows) if end > last]


def slots(index: CollectionIndex, view: View, unscored: list[Range]) -> NDArray[np.int64]:
    """Return the slots of live states among unscored rows, by row ascending: int64[n]."""
    rows = view.column("row")
    mask = np.zeros(len(rows), np.bool_)
    for first, last in unscored:
        mask |= (rows >= first) & (rows <= last)
    mask &= view.column("status") == STATUSES[Status.ACTIVE]
    mask &= masks.compared(index, view)
    found = np.flatnonzero(mask)
    return found[np.argsort(rows[found], kind="stable")]


def _put(file: CollectionFile, unscored: list[Range]) -> None:
    file.put_setting(SETTING, json.dumps(unscored), revision=0, before=None)
