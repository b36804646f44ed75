"""The cosine kernels against their plain twins, at awkward sizes and on awkward rows."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config

from support import oracles
from totonoe_core.kernels import cosine

DIMS = (1, 3, 97, 384, 512)
SEED = 20_261
ERROR = 2e-6  # of a float32 sum of 512 products of unit vectors


def random_block(rows: int, dim: int) -> np.ndarray:
    """Unit rows; row 1 is zero and row 2 repeats row 0."""
    block = np.random.default_rng(SEED + dim).standard_normal((rows, dim))
    block /= np.linalg.norm(block, axis=1, keepdims=True)
    block[1] = 0.0
    block[2] = block[0]
    return block.astype(np.float32)


def run_scan(block, mask, query, threshold):
    rows = np.full(len(block), -1, np.int32)
    similarity = np.full(len(block), np.nan, np.float32)
    count = cosine.scan_at_least(block, mask, query, threshold, rows, similarity)
    assert (rows[count:] == -1).all(), "places past the count are untouched"
    return rows[:count].tolist(), similarity[:count]


@pytest.mark.parametrize("dim", DIMS)
def test_dot_rows_any_dim_matches_twin(dim):
    block = random_block(8, dim)
    rows = np.array([7, 0, 1, 0, 3], np.int32)
    out = np.empty(len(rows), np.float32)
    cosine.dot_rows(block, rows, block[4], out)
    expected = [oracles.exact_similarity(block[row], block[4]) for row in rows]
    np.testing.assert_allclose(out, expected, rtol=0, atol=ERROR)


@pytest.mark.parametrize("dim", DIMS)
def test_scan_any_dim_finds_what_twin_finds(dim):
    block = random_block(40, dim)
    mask = np.ones(40, np.uint8)
    mask[5:9] = 0
    query = block[0].copy()
    for threshold in (-0.5, 0.013, 0.999):
        rows, similarity = run_scan(block, mask, query, threshold)
        expected = oracles.rows_at_least(block, mask, query, threshold)
        near = [
            row
            for row in range(40)
            if abs(oracles.exact_similarity(block[row], query) - threshold) < ERROR
        ]
        assert set(rows) - set(near) == set(expected) - set(near)
        assert rows == sorted(rows)
        exact = [oracles.exact_similarity(block[row], query) for row in rows]
        np.testing.assert_allclose(similarity, exact, rtol=0, atol=ERROR)
    assert {0, 2} <= set(run_scan(block, mask, query, 0.999)[0])


def test_scan_threshold_met_exactly_is_inclusive():
    block = np.array([[0.5, 0.0], [0.25, 0.0], [0.75, 0.0]], np.float32)
    query = np.array([1.0, 0.0], np.float32)
    assert run_scan(block, np.ones(3, np.uint8), query, 0.5)[0] == [0, 2]


def test_scan_zero_row_is_below_any_positive_threshold():
    block = random_block(4, 97)
    assert 1 not in run_scan(block, np.ones(4, np.uint8), block[0].copy(), 1e-6)[0]
    assert 1 in run_scan(block, np.ones(4, np.uint8), block[0].copy(), 0.0)[0]


def test_scan_all_masked_finds_nothing():
    block = random_block(6, 3)
    assert run_scan(block, np.zeros(6, np.uint8), block[0].copy(), -1.0)[0] == []


def test_scan_empty_block_finds_nothing():
    block = np.empty((0, 3), np.float32)
    assert run_scan(block, np.empty(0, np.uint8), np.ones(3, np.float32), -1.0)[0] == []


def test_scan_nan_row_is_never_found():
    block = random_block(4, 3)
    block[3] = np.nan
    assert run_scan(block, np.ones(4, np.uint8), block[0].copy(), -1.0)[0] == [0, 1, 2]


@pytest.mark.parametrize("dim", DIMS)
def test_similarity64_any_dim_equals_twin_bit_for_bit(dim):
    block = random_block(12, dim)
    rows = np.array([3, 0, 11, 1, 2, 0], np.int32)
    out = np.empty(len(rows), np.float64)
    cosine.similarity64_rows(block, rows, block[0], out)
    for value, row in zip(out, rows, strict=True):
        assert value == oracles.ordered_similarity(block[row], block[0])
        assert value == cosine.similarity64(block[row], block[0])
        assert value == cosine.similarity64(block[0], block[row])


@pytest.mark.parametrize("dim", DIMS)
def test_normalize_rows_any_dim_matches_twin(dim):
    block = random_block(6, dim) * np.float32(37.5)
    found = cosine.normalize_rows(block)
    for row in range(6):
        np.testing.assert_allclose(found[row], oracles.unit(block[row]), rtol=1e-6, atol=1e-9)
    assert not found[1].any(), "a zero row stays zero"


@pytest.mark.parametrize("dim", DIMS)
def test_normalize_rows_twice_keeps_every_bit(dim):
    count = 2000 if dim < 10 else 20  # short rows round worst
    rows = np.random.default_rng(SEED).standard_normal((count, dim)).astype(np.float32) * 1e-3
    once = cosine.normalize_rows(rows)
    assert cosine.normalize_rows(once).tobytes() == once.tobytes()


def test_unit_alone_has_the_bits_of_its_row_in_a_batch():
    rows = np.random.default_rng(SEED).standard_normal((9, 97)).astype(np.float32)
    batch = cosine.normalize_rows(rows)
    for row in range(9):
        assert cosine.unit(rows[row]).tobytes() == batch[row].tobytes()


def test_unit_extreme_lengths_have_norm_one():
    for length in (1e-38, 1e38):
        vector = np.full(7, length, np.float32)
        assert np.linalg.norm(cosine.unit(vector)) == pytest.approx(1.0, abs=1e-6)


def test_normalize_rows_strided_input_equals_contiguous():
    wide = np.random.default_rng(SEED).standard_normal((10, 12)).astype(np.float32)
    strided = wide[::2, ::3]
    expected = cosine.normalize_rows(np.ascontiguousarray(strided))
    assert cosine.normalize_rows(strided).tobytes() == expected.tobytes()


def test_kernels_read_only_arrays_give_the_same():
    block = random_block(10, 97)
    frozen = np.frombuffer(block.tobytes(), np.float32).reshape(block.shape)
    assert not frozen.flags.writeable
    mask = np.frombuffer(b"\x01" * 10, np.uint8)
    rows = np.frombuffer(np.arange(10, dtype=np.int32).tobytes(), np.int32)
    assert run_scan(frozen, mask, frozen[0], 0.1)[0] == run_scan(block, mask, block[0], 0.1)[0]
    frozen_out, out = np.empty(10), np.empty(10)
    cosine.similarity64_rows(frozen, rows, frozen[3], frozen_out)
    cosine.similarity64_rows(block, rows, block[3], out)
    assert frozen_out.tobytes() == out.tobytes()
    assert cosine.normalize_rows(frozen).tobytes() == cosine.normalize_rows(block).tobytes()


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="types are checked by the compiled code")
def test_kernels_wrong_type_or_layout_raises():
    block, mask = random_block(10, 4), np.ones(10, np.uint8)
    out_rows, out = np.empty(10, np.int32), np.empty(10, np.float32)
    for query in (block[0].astype(np.float64), np.ones(8, np.float32)[::2]):
        with pytest.raises(TypeError):
            cosine.scan_at_least(block, mask, query, 0.5, out_rows, out)
    with pytest.raises(TypeError):
        cosine.scan_at_least(block.T.copy().T, mask, block[0], 0.5, out_rows, out)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_kernels_after_all_calls_have_one_signature_each():
    for name in ("dot_rows", "scan_at_least", "similarity64"):
        assert len(getattr(cosine, name).signatures) == 1, name


@pytest.mark.parametrize("dim", DIMS)
def test_nearest_rows_hold_all_that_the_twin_finds_and_none_far_below(dim):
    block = random_block(60, dim)
    mask, vectored = np.ones(60, np.uint8), np.ones(60, np.uint8)
    mask[5:9], vectored[1] = 0, 0
    for limit in (0, 1, 2, 7, 56, 90):
        for query in block[[0, 30, 59]]:
            rows, rough = np.empty(60, np.int32), np.empty(60, np.float32)
            heap = np.empty(limit, np.float32)
            count = cosine.nearest_rows(block, mask, vectored, query, 2 * ERROR, rows, rough, heap)
            found = rows[:count].tolist()
            expected = oracles.nearest_rows(block, mask, vectored, query, limit)
            assert set(expected) <= set(found)
            assert found == sorted(found)
            near = [oracles.exact_similarity(block[row], query) for row in expected]
            for row in set(found) - set(expected):
                assert oracles.exact_similarity(block[row], query) >= min(near) - 4 * ERROR


def test_nearest_rows_of_many_copies_are_all_of_them():
    block = np.repeat(random_block(4, 8)[3:], 50, axis=0)
    mask, rows, rough = np.ones(50, np.uint8), np.empty(50, np.int32), np.empty(50, np.float32)
    heap = np.empty(10, np.float32)
    assert cosine.nearest_rows(block, mask, mask, block[0], 0.0, rows, rough, heap) == 50


@pytest.mark.parametrize("count", range(10))
def test_similarity64_rows_have_the_bits_of_each_alone(count):
    block, query = random_block(12, 97), random_block(5, 97)[4]
    rows = np.arange(count, dtype=np.int32)[::-1].copy()
    out = np.empty(count)
    cosine.similarity64_rows(block, rows, query, out)
    assert out.tolist() == [oracles.ordered_similarity(block[row], query) for row in rows]
