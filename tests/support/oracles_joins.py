"""Slow twins of the postings, BM25 and the joins: plain Python, nothing of the package."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from support.oracles import jaccard, ordered_similarity

Pair = tuple[int, int]


def bm25(
    texts: Sequence[Sequence[str]], mask: Sequence[Any], query: Mapping[str, float]
) -> tuple[list[float], list[float]]:
    """BM25 weight, and share of the query's idf, of every text; 0 where the mask is."""
    live = [text for text, passes in zip(texts, mask, strict=True) if passes]
    mean = max(1.0, sum(map(len, live)) / len(live)) if live else 1.0
    weights, held = [0.0] * len(texts), [0.0] * len(texts)
    total = 0.0
    for term, factor in query.items():
        having = sum(term in text for text in live)
        idf = factor * math.log(1 + (max(1, len(live)) - having + 0.5) / (having + 0.5))
        total += idf
        for slot, text in enumerate(texts):
            count = min(text.count(term), 255)
            if mask[slot] and count:
                length = 0.25 + 0.75 * len(text) / mean
                weights[slot] += idf * count * 2.2 / (count + 1.2 * length)
                held[slot] += idf
    return weights, [value / total if total else 0.0 for value in held]


def context_coverage(
    texts: Sequence[Sequence[str]],
    mask: Sequence[Any],
    query: Mapping[str, float],
    near: Sequence[Mapping[int, float]],
) -> list[float]:
    """Share of the query's idf that each text holds, or at its share one of those near it does."""
    live = [text for text, passes in zip(texts, mask, strict=True) if passes]
    held, total = [0.0] * len(texts), 0.0
    for term, factor in query.items():
        having = sum(term in text for text in live)
        idf = factor * math.log(1 + (max(1, len(live)) - having + 0.5) / (having + 0.5))
        total += idf
        for slot, text in enumerate(texts):
            if mask[slot]:
                lent = [
                    share for other, share in near[slot].items()
                    if mask[other] and term in texts[other]
                ]  # fmt: skip
                held[slot] += idf * (1.0 if term in text else max(lent, default=0.0))
    return [value / total if total else 0.0 for value in held]


def cosine_pairs(
    vectors: Any, distance_below: float, changed: Collection[int] | None = None
) -> dict[Pair, float]:
    """Distance of every pair of rows below a threshold."""
    found = {}
    for a, b in combinations(range(len(vectors)), 2):
        if changed is None or a in changed or b in changed:
            distance = 1.0 - ordered_similarity(vectors[a], vectors[b])
            if distance < distance_below:
                found[a, b] = distance
    return found


def jaccard_pairs(
    sets: Sequence[Any], similarity_above: float, changed: Collection[int] | None = None
) -> dict[Pair, float]:
    """Similarity of every pair of sets above a threshold."""
    found = {}
    for a, b in combinations(range(len(sets)), 2):
        if changed is None or a in changed or b in changed:
            similarity = jaccard(sets[a], sets[b])
            if similarity > similarity_above:
                found[a, b] = similarity
    return found


def complete_link(pairs: Iterable[Pair], order: Sequence[int]) -> list[tuple[int, ...]]:
    """Document 002's "Greedy Clustering", line by line; groups of one are left out."""
    near = {frozenset(pair) for pair in pairs}
    used: set[int] = set()
    groups = []
    for at, a in enumerate(order):
        if a in used:
            continue
        cluster = [a]
        used.add(a)
        for b in order[at + 1 :]:
            if b not in used and all(frozenset((b, c)) in near for c in cluster):
                cluster.append(b)
                used.add(b)
        if len(cluster) > 1:
            groups.append(tuple(cluster))
    return groups


def siphash13(data: bytes, key: bytes) -> int:
    """SipHash with one round a word and three at the end, unsigned."""
    mask = 2**64 - 1

    def turn(value: int, by: int) -> int:
        return (value << by | value >> (64 - by)) & mask

    def rounds(v: list[int], count: int) -> None:
        for _ in range(count):
            for a, b, by, half in ((0, 1, 13, 32), (2, 3, 16, 0), (0, 3, 21, 0), (2, 1, 17, 32)):
                v[a] = (v[a] + v[b]) & mask
                v[b] = turn(v[b], by) ^ v[a]
                v[a] = turn(v[a], half) if half else v[a]

    k0, k1 = (int.from_bytes(key[at : at + 8], "little") for at in (0, 8))
    v = [k0 ^ int.from_bytes(b"uespemos", "little"), k1 ^ int.from_bytes(b"modnarod", "little")]
    v += [k0 ^ int.from_bytes(b"arenegyl", "little"), k1 ^ int.from_bytes(b"setybdet", "little")]
    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        rounds(v, 1)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(v, 3)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def posting_lists(
    postings: Sequence[Sequence[tuple[int, int]]], new_slots: Sequence[int]
) -> list[list[tuple[int, int]]]:
    """(slot, count) of each term under new numbers; -1 and what lies behind are left out."""
    return [
        [
            (new_slots[slot], count)
            for slot, count in posting
            if slot < len(new_slots) and new_slots[slot] >= 0
        ]
        for posting in postings
    ]
