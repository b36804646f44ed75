"""Compile or load every kernel, before the daemon reports that it serves."""

from __future__ import annotations

import time
from types import ModuleType

import numpy as np
import numpy.typing as npt

from totonoe_core.kernels.cache import mark_complete

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]


def warm_up() -> float:
    """Import every kernel and call it once, with writable and with read-only arrays.

    Importing compiles; the first call of each combination of array types also teaches numba's
    dispatcher the conversion, so that no request has to.

    Returns
    -------
    float
        Seconds it took.
    """
    begin = time.perf_counter()
    # Imported here, so that a caller times the compilation and can report it.
    from totonoe_core.kernels import (
        bm25,
        context,
        cosine,
        diversity,
        hashing,
        hnsw_file,
        jaccard,
        joins,
        masks,
        posting_lists,
        postings,
        prefix,
        slot_map,
        trees,
        word_forms,
        word_ways,
    )

    for writable in (True, False):
        block = np.eye(2, 4, dtype=np.float32)
        query = np.eye(1, 4, dtype=np.float32)[0]
        rows = np.arange(2, dtype=np.int32)
        mask = np.ones(2, dtype=np.uint8)
        indptr = np.array([0, 1, 2], dtype=np.int64)
        values = np.array([1, 2], dtype=np.uint64)
        for array in (block, query, rows, mask, indptr, values):
            array.flags.writeable = writable
        out_rows = np.empty(2, dtype=np.int32)
        out32 = np.empty(2, dtype=np.float32)
        out64 = np.empty(2, dtype=np.float64)

        cosine.dot_rows(block, rows, query, out32)
        cosine.scan_at_least(block, mask, query, 0.5, out_rows, out32)
        cosine.nearest_rows(block, mask, mask, query, 0.0, out_rows, out32, np.empty(1, np.float32))
        cosine.similarity64(block[0], query)
        cosine.similarity64_rows(block, rows, query, out64)
        cosine.normalize_rows(block)
        cosine.unit(query)
        _warm_up_prefix(prefix, block, mask, query, out_rows, out32)
        jaccard.jaccard_pair(values, values)
        _warm_up_trees(trees, rows, mask)
        _warm_up_diversity(diversity, block)
        jaccard.rows_above(indptr, values, rows, rows, 0, values, 0.5, out_rows, out64)
        _warm_up_postings(postings, bm25, context, mask, rows)
        _warm_up_posting_lists(posting_lists, mask, rows)
        _warm_up_masks(masks, mask, rows)
        hashing.hash_terms(mask, values, np.empty(1, dtype=np.int64))
        _warm_up_slot_map(slot_map)
        _warm_up_hnsw_file(hnsw_file, mask)
        _warm_up_joins(joins, block, indptr, rows, mask)
        _warm_up_word_forms(word_forms, mask)
        _warm_up_word_ways(word_ways, mask)
    return time.perf_counter() - begin


def _warm_up_prefix(
    prefix: ModuleType,
    block: Float32,
    mask: UInt8,
    query: Float32,
    out_rows: Int32,
    out_similarity: Float32,
) -> None:
    basis = np.eye(prefix.WIDTH, block.shape[1], dtype=np.float32)
    lead, rest = np.empty((2, len(block), prefix.LEAD), dtype=np.float32)
    lead_residual, residual = np.empty((2, len(block)), dtype=np.float32)
    prefix.split_rows(block, basis, lead, rest, lead_residual, residual)
    prefix.scan_reaching(
        lead,
        lead_residual,
        rest,
        residual,
        block,
        mask,
        lead[0],
        lead_residual[0],
        rest[0],
        residual[0],
        query,
        0.5,
        0.0,
        out_rows,
        out_similarity,
    )
    pairs = np.empty((2, 4), dtype=np.int32)
    prefix.keep_reaching(
        np.zeros((2, 2), dtype=np.float32),
        lead_residual,
        rest,
        residual,
        block,
        mask,
        lead_residual,
        rest,
        residual,
        block,
        0.5,
        pairs[0],
        pairs[1],
        np.empty(4, dtype=np.float32),
    )


def _warm_up_trees(trees: ModuleType, rows: Int32, mask: UInt8) -> None:
    leaf = np.full(2, -1, dtype=np.int32)
    numbers = np.zeros(2)
    numbers.flags.writeable = rows.flags.writeable
    trees.sum_of_trees(numbers, rows, leaf, numbers, leaf, leaf, mask, numbers)


def _warm_up_diversity(diversity: ModuleType, block: Float32) -> None:
    codes, room = np.zeros((1, 2), dtype=np.int64), np.ones(1, dtype=np.int64)
    relevance, picked, budgets = np.ones(2), np.empty(2, np.int64), np.empty(2, np.int64)
    for array in (codes, room, relevance):
        array.flags.writeable = block.flags.writeable
    diversity.pick(relevance, block, codes, room, 0.5, 0.8, 0.5, picked, budgets)


def _warm_up_postings(
    postings: ModuleType, bm25: ModuleType, context: ModuleType, mask: UInt8, counts: Int32
) -> None:
    hashes, keys, heads, tails = np.zeros((4, 2), dtype=np.int64)
    ids, touched, repeats, seen, room, last, slots, found = np.zeros((8, 2), dtype=np.int32)
    levels, frequencies = np.zeros((2, 2), dtype=np.uint8)
    pool, state = np.zeros(64, dtype=np.uint8), np.zeros(2, dtype=np.int64)
    weight, coverage = np.zeros((2, 2))
    postings.fold_terms(hashes, keys, ids, heads, seen, touched, repeats, state)
    postings.find_terms(keys, ids, hashes, found)
    postings.rehash(keys, ids, np.zeros(4, np.int64), np.zeros(4, np.int32))
    postings.pool_need(touched[:1], heads, room, levels)
    rest = (tails, room, levels, last, pool, state)
    postings.append_postings(0, touched[:1], repeats, heads, *rest)
    told = np.zeros(2, dtype=np.int64)
    written = (keys, ids, heads, seen, *rest, touched, repeats, told)
    postings.append_slots(1, 0, hashes, hashes, *written)
    one = np.ones(1, dtype=np.int32)
    postings.read_postings(pool, 0, 1, mask, slots, frequencies)
    factors = np.ones(1)
    args = (factors, counts, mask, slots, frequencies, weight, coverage)
    bm25.bm25_into(pool, heads[:1], one, *args)
    near = np.zeros((2, 1), np.int32)
    scratch = (slots, frequencies, np.zeros(2))
    context.context_into(
        pool, heads[:1], one, factors, mask, counts, near, factors, *scratch, weight
    )
    postings.count_shared(pool, heads[:1], one, mask, slots, frequencies, seen * 0, found)


def _warm_up_posting_lists(lists: ModuleType, mask: UInt8, rows: Int32) -> None:
    pool, heads, state = np.zeros(64, dtype=np.uint8), np.zeros(4, np.int64), np.zeros(2, np.int64)
    sizes, room, last, ids, slots = np.zeros((5, 4), dtype=np.int32)
    tails, levels, counts = np.zeros(4, np.int64), np.zeros(4, np.uint8), np.zeros(4, np.uint8)
    one = np.ones(1, np.int32)
    lists.lists_need(one, rows[:1], mask[:1], 2)
    lists.write_lists(one, rows, mask, heads, tails, room, levels, last, pool, state)
    lists.put_terms(heads[:1], np.zeros(4, np.int64), ids)
    lists.flatten(pool, heads, sizes, rows, slots, counts)


def _warm_up_masks(masks: ModuleType, mask: UInt8, rows: Int32) -> None:
    replaced_by, wanted = np.zeros(2, np.int64), np.zeros(256, np.uint8)
    replaced_by.flags.writeable = mask.flags.writeable
    out = np.empty(2, np.uint8)
    masks.select_visible(mask, replaced_by, mask, rows, wanted, 2, 0, out)


def _warm_up_hnsw_file(hnsw_file: ModuleType, mask: UInt8) -> None:
    levels, links = np.zeros(1, np.int32), np.empty(0, np.uint8)
    data = np.zeros(16, np.uint8)
    data.flags.writeable = mask.flags.writeable
    hnsw_file.read_levels(data, 12, 4, levels)
    hnsw_file.copy_links(data, 0, 12, 12, 2, 1, levels, links)


def _warm_up_slot_map(slot_map: ModuleType) -> None:
    tags, heads, older = np.zeros(4, np.uint32), np.zeros(4, np.int32), np.zeros(4, np.int32)
    slot_map.put_slot(tags, heads, older, 1, 0)
    slot_map.newest_slot(tags, heads, 1)
    slot_map.follow(older, 0, np.empty(1, np.int32))
    slot_map.move_tags(tags, heads, np.zeros(8, np.uint32), np.zeros(8, np.int32))
    slot_map.take_newest(tags, heads, older, 1)
    slot_map.put_slots(tags, heads, older, np.ones(1, np.uint64), 0, False)


def _warm_up_word_forms(word_forms: ModuleType, mask: UInt8) -> None:
    places, table = np.zeros(4, np.uint32), np.zeros(256, np.uint32)
    table.flags.writeable = mask.flags.writeable
    word_forms.unpack_forms(mask, 2, table, places, np.zeros(8, np.uint8))


def _warm_up_word_ways(word_ways: ModuleType, mask: UInt8) -> None:
    text, logs = np.zeros(2, np.uint32), np.zeros(1)
    for array in (text, logs):
        array.flags.writeable = mask.flags.writeable
    word_ways.find_word(text, text[:1], text[:1], text, logs)
    ends, nodes = np.empty((2, 2), np.int32)
    word_ways.likeliest_way(text, text[:1], text[:1], text, logs, 1.0, ends, nodes)


def _warm_up_joins(
    joins: ModuleType, block: Float32, indptr: Int64, ranks: Int32, mask: UInt8
) -> None:
    rows, columns, seen = np.zeros((3, 8), dtype=np.int32)
    out = np.empty(8)
    joins.pairs_at_least(block, 0.5, 1, rows, columns)
    joins.keep_below(block, block, rows[:1], columns[:1], 0.5, 0.5, out)
    bits, starts = np.zeros((2, 1), dtype=np.uint64), np.zeros(3, dtype=np.int64)
    words = np.zeros(joins.prefix_total(indptr, mask, 0.5), dtype=np.uint64)
    joins.fold_bits(indptr, ranks, bits)
    joins.index_prefixes(indptr, ranks, bits[:, 0], mask, 0.5, starts, rows, words)
    state = np.array([0, 0, 8], dtype=np.int64)
    lists = (starts, rows, words, np.stack([starts[:-1], starts[:-1]]))
    scratch = np.empty(2 * joins.STRETCH, np.int32)
    found = (np.empty(8, np.int32), np.empty(8, np.int32), out)
    joins.probe_rows(
        indptr, ranks, bits[:, 0], bits, mask, 0.5, lists, lists, seen, scratch, state, *found
    )


if __name__ == "__main__":
    warm_up()
    mark_complete()
