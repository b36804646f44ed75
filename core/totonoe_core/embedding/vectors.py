"""Arithmetic on embedding vectors: unit norm, stand-ins, the mean of chunks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from totonoe_core.embedding.protocol import Vectors

_NORM_MIN = 1e-6
"""Norm below which a vector has no usable direction: float32 noise would choose it."""


def hashed_unit_vector(text: str, dimension: int) -> Vectors:
    """Return a stand-in for a text without a vector from the model.

    Each component is +-1/sqrt(dim), its sign a bit of SHAKE-256 over the UTF-8 text. So it is
    the same everywhere and always, and the cosine with any other vector is about 0 (standard
    deviation 1/sqrt(dim)): such a text can be stored and found by itself, and resembles nothing.

    Parameters
    ----------
    text : str
    dimension : int
        >= 1.

    Returns
    -------
    float32[dim]
        Unit norm.
    """
    digest = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(dimension // 8 + 1)
    bits = np.unpackbits(np.frombuffer(digest, dtype=np.uint8))[:dimension]
    signs = bits.astype(np.float64) * 2.0 - 1.0
    return np.asarray(signs / np.sqrt(dimension), dtype=np.float32)


def unit_rows(raw: ArrayLike, texts: Sequence[str]) -> Vectors:
    """Return rows scaled to unit norm; rows without a direction become `hashed_unit_vector`.

    Parameters
    ----------
    raw : array[n, dim]
        Any real type; may hold zero or non-finite rows.
    texts : sequence of str
        The n texts the rows belong to.

    Returns
    -------
    float32[n, dim]
        A new C-contiguous array; finite, unit norm.

    Raises
    ------
    ValueError
        The shape is not [n, dim] with dim >= 1.
    """
    rows = np.array(raw, dtype=np.float64, order="C")
    if rows.ndim != 2 or rows.shape[0] != len(texts) or rows.shape[1] < 1:
        raise ValueError(f"{len(texts)} texts gave an array of shape {rows.shape}")
    # An infinity or a NaN in a row makes its norm non-finite; the row is replaced just below.
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    usable = np.isfinite(norms) & (norms >= _NORM_MIN)
    unit = np.empty(rows.shape, dtype=np.float32)
    unit[usable] = rows[usable] / norms[usable, None]
    for i in np.flatnonzero(~usable).tolist():
        unit[i] = hashed_unit_vector(texts[i], rows.shape[1])
    return unit


def mean_of_chunks(vectors: Vectors, chunks: Sequence[str]) -> Vectors:
    """Return the vector of a text from those of its chunks.

    The mean weighted by the characters of each chunk (without white space at its ends, so that
    padding weighs nothing), scaled to unit norm. Where the chunks cancel out, the first one's.

    Parameters
    ----------
    vectors : float32[n, dim]
        Unit norm, n >= 1.
    chunks : sequence of str
        The n chunks.

    Returns
    -------
    float32[dim]
        Unit norm; for a single chunk exactly its vector.
    """
    first: Vectors = vectors[0]
    if len(chunks) == 1:
        return first
    weights = np.array([len(chunk.strip()) for chunk in chunks], dtype=np.float64)
    total = weights @ vectors.astype(np.float64)
    norm = float(np.sqrt(total @ total))
    if norm < _NORM_MIN * max(1.0, float(weights.sum())):
        return first
    return np.asarray(total / norm, dtype=np.float32)
