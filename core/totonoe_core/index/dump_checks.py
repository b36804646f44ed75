"""Checks of a dump before it is used: each number in it refers to something that exists.

A checksum shows that the bytes are those that were written, not that they were right. A dump that
passes cannot lead a kernel out of its arrays, nor keep it in a loop. It may still be wrong; the
verifying pass compares it with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.records import TRUST
from totonoe_core.index.arrays import KINDS, STATE_KINDS, STATUSES


class Unsound(ValueError):  # noqa: N818 - says what is wrong with a checkpoint
    """The contents of a dump do not fit together. The message names the array or the number."""


def check_meta(meta: Any, labels: Sequence[str]) -> None:
    """Check the counts, names and slots of `meta`, as `json.loads` returns it. Raises `Unsound`."""
    require(isinstance(meta, dict), "meta")
    count = meta.get("count")
    _require_number(count, 2**31 - 1, "count")
    for name in ("prefix_built", "token_end"):
        _require_number(meta.get(name), count, name)
    _require_number(meta.get("prefix_fitted"), 2**62, "prefix_fitted")
    require(isinstance(meta.get("labels"), dict), "labels")
    for name in labels:
        names = meta["labels"].get(name)
        require(isinstance(names, list) and names[:1] == [""], name)
        require(all(isinstance(label, str) for label in names), name)
        require(len(set(names)) == len(names), name)
    for name in ("others", "revived"):
        require(isinstance(meta.get(name), list), name)
    for slot in meta["revived"]:
        _require_number(slot, count - 1, "revived")
    for pair in meta["others"]:
        require(isinstance(pair, list) and len(pair) == 2, "others")
        require(isinstance(pair[0], str), "others")
        _require_number(pair[1], count - 1, "others")


def check_keys(
    hashes: NDArray[np.uint64], words: Any, vectors: NDArray[np.float32], dimension: int
) -> None:
    """Check that each typed key has its words, and the first of them a vector each.

    Raises `Unsound`.
    """
    require(hashes.ndim == 1 and len(np.unique(hashes)) == len(hashes), "key_hashes")
    require(isinstance(words, list) and len(words) == len(hashes), "key_words")
    require(all(isinstance(said, str) for said in words), "key_words")
    require(vectors.ndim == 2 and len(vectors) <= len(hashes), "key_vectors")
    require(vectors.shape[1] == dimension, "key_vectors")


def check_columns(
    columns: Mapping[str, NDArray[Any]], label_counts: Mapping[str, int], row_max: int | None
) -> None:
    """Check columns of all slots: every code has a name, rows are distinct. Raises `Unsound`.

    `row_max` is the highest row that exists; `None` allows any.
    """
    ends = {
        "status": len(STATUSES),
        "kind": len(KINDS),
        "state_kind": len(STATE_KINDS),
        "private": 2,
        "source": len(TRUST),
        "term_count": 2**31,
        **label_counts,
    }
    for name, end in ends.items():
        values = columns[name]
        require(not len(values) or (values.min() >= 0 and values.max() < end), name)
    rows = columns["row"]
    if not len(rows):
        return
    require(rows.min() >= 0 and (row_max is None or rows.max() <= row_max), "row")
    require(len(np.unique(rows)) == len(rows), "row")


def check_token_counts(counts: NDArray[np.int32], total: int) -> None:
    """Check the number of tokens of each slot against their total. Raises `Unsound`."""
    require(not len(counts) or counts.min() >= 0, "token_counts")
    require(int(counts.sum(dtype=np.int64)) == total, "token_counts")


def require(sound: bool, what: str) -> None:
    """Raise `Unsound` if a condition is false."""
    if not sound:
        raise Unsound(f"{what} does not fit the rest")


def _require_number(value: Any, last: int, what: str) -> None:
    # `True` is an int for Python.
    require(type(value) is int and 0 <= value <= last, what)
