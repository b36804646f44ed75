"""Zeros of their own pages are what `np.zeros` gives, and cost nothing before they are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from totonoe_core.index import pages
from totonoe_core.index.arrays import CHUNK, Arrays, Chunk


def resident_bytes() -> int:
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.parametrize("shape", [(0,), (3,), (CHUNK, 0), (CHUNK,), (CHUNK + 1,), (300, 97)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
def test_they_are_zeros_that_can_be_written(shape: tuple[int, ...], dtype: type) -> None:
    found = pages.zeros(shape, dtype)
    assert (found.shape, found.dtype) == (shape, np.dtype(dtype))
    assert found.flags.c_contiguous
    assert not found.any()
    found[...] = 7
    assert found.sum() == 7 * found.size


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_first_chunk_takes_no_memory_however_often_one_was_freed() -> None:
    for _ in range(2):
        filled = Chunk(384)
        filled.vectors[...] = 1
        del filled
    before_bytes = resident_bytes()
    kept = [Chunk(384) for _ in range(8)]
    assert resident_bytes() - before_bytes < kept[0].vectors.nbytes


def test_unused_is_what_no_slot_has_written_to() -> None:
    arrays = Arrays(8)
    assert arrays.unused_bytes() == arrays.nbytes()
    arrays._end = CHUNK // 4
    assert arrays.unused_bytes() == arrays.nbytes() * 3 // 4
    arrays._end = CHUNK
    assert arrays.unused_bytes() == 0
