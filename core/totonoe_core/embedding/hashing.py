"""An embedder without a model: hashed words and character n-grams.

It sees spelling, not meaning: texts that share most of their words and letters are close, all
others near 0. For tests, for machines without a model, and as a stand-in inside embedders whose
vocabulary lacks a script. The same vectors on every machine.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding.protocol import Vectors
from totonoe_core.embedding.vectors import unit_rows
from totonoe_core.text.normalize import nfc

DIMENSION_DEFAULT = 384
_GRAM_LENGTHS = (3, 4)
_WORD_WEIGHT = 2.0  # a changed digit changes one word and up to seven n-grams
_WORD = re.compile(r"\w+(?:[.,:/-]\w+)*")  # "12.5N", "core/errors" and "2026-11-22" stay whole


class HashingEmbedder:
    """Hashed features of words and character n-grams, with signs.

    Feature hashing (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning")
    over words, case kept, and character 3- and 4-grams, case folded.

    Deterministic: the same bits for the same text in any batch.
    """

    def __init__(self, dimension: int = DIMENSION_DEFAULT) -> None:
        self._identity = ModelIdentity(
            name="hashing", version="1", weights_sha256="", dimension=dimension
        )

    @property
    def identity(self) -> ModelIdentity:
        """Name "hashing", version 1, no weights."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`. A text without a letter, digit or sign gets its stand-in."""
        dimension = self._identity.dimension
        rows = np.empty((len(texts), dimension), dtype=np.float64)
        for i, text in enumerate(texts):
            rows[i] = _counts(text, dimension)
        return unit_rows(rows, texts)


def _counts(text: str, dimension: int) -> NDArray[np.float64]:
    """float64[dim]: the signed, weighted feature counts of a text."""
    plain = " ".join(nfc(text).split())
    words = _hashes_of_words(_WORD.findall(plain))
    grams = _hashes_of_grams(f" {plain.casefold()} ")
    hashes = np.concatenate((words, grams))
    weights = np.ones(len(hashes))
    weights[: len(words)] = _WORD_WEIGHT
    weights[(hashes & np.uint64(1)).astype(bool)] *= -1.0
    buckets = ((hashes >> np.uint64(1)) % np.uint64(dimension)).astype(np.int64)
    counts: NDArray[np.float64] = np.bincount(buckets, weights, dimension).astype(np.float64)
    return counts


def _hashes_of_words(words: list[str]) -> NDArray[np.uint64]:
    digests = [
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for word in words
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _hashes_of_grams(text: str) -> NDArray[np.uint64]:
    encoded = text.encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(encoded, dtype="<u4").astype(np.uint64)
    found = []
    for length in _GRAM_LENGTHS:
        count = max(0, len(codes) - length + 1)
        mixed = np.full(count, length, dtype=np.uint64)
        for k in range(length):
            mixed = _mix(mixed ^ codes[k : k + count])
        found.append(mixed)
    return np.concatenate(found)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Run one step of SplitMix64 (Steele, Lea and Flood 2014), which wraps around by design."""
    z = values + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
