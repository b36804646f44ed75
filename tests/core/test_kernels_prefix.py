"""The prefix kernels against their plain twins: coordinates, lengths, and who is found."""

from __future__ import annotations

import numpy as np
import pytest

from support import oracles
from totonoe_core.kernels import prefix
from totonoe_core.kernels.prefix import LEAD, WIDTH

DIMS = (1, 3, 97, 384)
SEED = 20_262
SLACK = 1e-5


def random_block(rows: int, dim: int) -> np.ndarray:
    """Unit rows; row 1 is zero and row 2 repeats row 0."""
    block = np.random.default_rng(SEED + dim).standard_normal((rows, dim))
    block /= np.linalg.norm(block, axis=1, keepdims=True)
    block[1] = 0.0
    block[2] = block[0]
    return block.astype(np.float32)


def random_basis(dim: int) -> np.ndarray:
    """Orthonormal rows; zero ones past the dimension."""
    turn = np.linalg.qr(np.random.default_rng(SEED).standard_normal((dim, dim)))[0]
    basis = np.zeros((WIDTH, dim), np.float32)
    basis[: min(WIDTH, dim)] = turn[:WIDTH]
    return basis


def split(block: np.ndarray, basis: np.ndarray) -> tuple[np.ndarray, ...]:
    lead, rest = np.full((2, len(block), LEAD), np.nan, np.float32)
    lead_residual, residual = np.full((2, len(block)), np.nan, np.float32)
    prefix.split_rows(block, basis, lead, rest, lead_residual, residual)
    return lead, rest, lead_residual, residual


def scan(parts, block, mask, asked, query, threshold, slack=SLACK):
    lead, rest, lead_residual, residual = parts
    rows = np.full(len(mask), -1, np.int32)
    similarity = np.full(len(mask), np.nan, np.float32)
    count = prefix.scan_reaching(
        lead,
        lead_residual,
        rest,
        residual,
        block,
        mask,
        asked[0][0],
        asked[2][0],
        asked[1][0],
        asked[3][0],
        query,
        threshold,
        slack,
        rows,
        similarity,
    )
    assert (rows[count:] == -1).all(), "places past the count are untouched"
    return rows[:count].tolist(), similarity[:count]


@pytest.mark.parametrize("dim", DIMS)
def test_split_rows_any_dim_matches_twin_and_never_shortens_a_residual(dim: int) -> None:
    block, basis = random_block(6, dim), random_basis(dim)
    lead, rest, lead_residual, residual = split(block, basis)
    for row in range(len(block)):
        along = oracles.coordinates(block[row], basis)
        stored = [*lead[row], *rest[row]]
        np.testing.assert_allclose(stored, along, rtol=0, atol=3e-7)
        for got, columns in ((lead_residual[row], LEAD), (residual[row], WIDTH)):
            exact = oracles.length_left_over(block[row], basis[:columns], stored[:columns])
            assert exact <= float(got) <= exact * (1 + 1e-6) + 1e-12, f"row {row} by {columns}"


def test_split_rows_within_the_basis_leaves_next_to_nothing() -> None:
    basis = random_basis(97)
    block = (basis[5:6] * np.float32(0.6) + basis[40:41] * np.float32(0.8)).astype(np.float32)
    _, _, lead_residual, residual = split(block, basis)
    np.testing.assert_allclose(lead_residual, [0.8], atol=1e-6)
    assert 0.0 <= residual[0] < 1e-6


@pytest.mark.parametrize("dim", DIMS)
def test_scan_reaching_any_dim_finds_what_twin_finds(dim: int) -> None:
    block, basis = random_block(40, dim), random_basis(dim)
    mask = np.ones(40, np.uint8)
    mask[5:9] = 0
    parts = split(block, basis)
    query = block[0].copy()
    asked = split(query[np.newaxis], basis)
    for threshold in (-1.0, 0.0, 0.013, 0.9, 0.999):
        rows, similarity = scan(parts, block, mask, asked, query, threshold)
        expected = set(oracles.rows_at_least(block, mask, query, threshold))
        assert expected <= set(rows), "nobody who reaches the threshold is missed"
        just_below = set(oracles.rows_at_least(block, mask, query, threshold - 2 * SLACK))
        assert set(rows) <= just_below
        assert rows == sorted(rows)
        exact = [oracles.exact_similarity(block[row], query) for row in rows]
        np.testing.assert_allclose(similarity, exact, rtol=0, atol=2e-6)


def test_scan_reaching_leaves_out_what_its_slack_does_not_cover() -> None:
    basis = np.eye(WIDTH, 2, dtype=np.float32)
    block = np.array([[0.5, 0.0], [0.25, 0.0], [0.75, 0.0]], np.float32)
    query = np.array([1.0, 0.0], np.float32)
    parts, asked = split(block, basis), split(query[np.newaxis], basis)
    mask = np.ones(3, np.uint8)
    assert scan(parts, block, mask, asked, query, 0.5, 0.0)[0] == [0, 2], "inclusive"
    assert scan(parts, block, mask, asked, query, 0.5, 0.25)[0] == [0, 1, 2]
    assert scan(parts, block, mask[:2], asked, query, 0.5, 0.0)[0] == [0], "as long as the mask"
    assert scan(parts, block, np.zeros(3, np.uint8), asked, query, -1.0)[0] == []
    assert scan(parts, block, np.zeros(0, np.uint8), asked, query, -1.0)[0] == []


def test_scan_reaching_never_finds_a_nan_row() -> None:
    block, basis = random_block(4, 97), random_basis(97)
    parts = split(block, basis)
    for at in range(4):
        parts[at][3] = np.nan
    block[3] = np.nan
    asked = split(block[:1], basis)
    mask = np.ones(4, np.uint8)
    assert scan(parts, block, mask, asked, block[0].copy(), -1.0)[0] == [0, 1, 2]


@pytest.mark.parametrize("dim", DIMS)
def test_keep_reaching_any_dim_finds_for_each_query_what_twin_finds(dim: int) -> None:
    block, basis = random_block(40, dim), random_basis(dim)
    mask = np.ones(40, np.uint8)
    mask[5:9] = 0
    lead, rest, lead_residual, residual = split(block, basis)
    queries = np.ascontiguousarray(block[[0, 30, 30]])
    asked = split(queries, basis)
    for threshold in (0.0, 0.9):
        numbers, rows = np.full((2, 200), -1, np.int32)
        similarity = np.full(200, np.nan, np.float32)
        count = prefix.keep_reaching(
            lead @ asked[0].T,
            lead_residual,
            rest,
            residual,
            block,
            mask,
            asked[2],
            asked[1],
            asked[3],
            queries,
            threshold - SLACK,
            numbers,
            rows,
            similarity,
        )
        assert (rows[count:] == -1).all(), "places past the count are untouched"
        pairs = list(zip(rows[:count].tolist(), numbers[:count].tolist(), strict=True))
        assert pairs == sorted(set(pairs))
        for number, query in enumerate(queries):
            found = {row for row, asking in pairs if asking == number}
            assert set(oracles.rows_at_least(block, mask, query, threshold)) <= found
            assert found <= set(oracles.rows_at_least(block, mask, query, threshold - 2 * SLACK))
        exact = [oracles.exact_similarity(block[row], queries[asking]) for row, asking in pairs]
        np.testing.assert_allclose(similarity[:count], exact, rtol=0, atol=2e-6)
