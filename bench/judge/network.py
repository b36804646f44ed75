"""The judge as a network: one pass over both texts, symmetric by construction.

Both texts stand in one sequence, each with positions from 0 on and with marks of its own, so that
neither is the first. A token tells its own text from the other by what attention adds for keys of
the other text: a term of the score, and a vector of what is read. The scalar per head begins at 0.
Source of the encoder: Wang et al., "MiniLM", 2020; of terms relative to the key: Shaw et al.,
"Self-Attention with Relative Position Representations", 2018, with two relations only.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as fn
from torch import nn

from bench.judge.base import Base, Shape
from bench.judge.data import MIRRORED, RELATIONS

_POOLED = 128
_HEAD = 256
DROPPED = 0.1
"""Share of what a layer adds that is dropped in training: texts are seen several times."""


class Layer(nn.Module):
    """A layer of the encoder, with attention that tells the two texts apart."""

    def __init__(self, base: Base, number: int, dropped: float) -> None:
        super().__init__()
        self._share = dropped
        shape = self.shape = base.shape
        hidden, inner = shape.hidden, shape.inner

        def matrix(name: str, rows: int, columns: int) -> torch.Tensor:
            return torch.from_numpy(base.matrix(f"l{number}.{name}.w", rows, columns))

        def vector(name: str) -> nn.Parameter:
            return nn.Parameter(torch.from_numpy(base.vector(f"l{number}.{name}")))

        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)
        self.up = nn.Linear(hidden, inner)
        self.down = nn.Linear(inner, hidden)
        self.qkv.weight = nn.Parameter(torch.cat([matrix(c, hidden, hidden) for c in "qkv"]))
        self.qkv.bias = nn.Parameter(torch.cat([vector(f"{c}.b").data for c in "qkv"]))
        self.out.weight, self.out.bias = nn.Parameter(matrix("ao", hidden, hidden)), vector("ao.b")
        self.up.weight, self.up.bias = nn.Parameter(matrix("fi", inner, hidden)), vector("fi.b")
        self.down.weight, self.down.bias = nn.Parameter(matrix("fo", hidden, inner)), vector("fo.b")
        self.norms = nn.ParameterList(
            [vector(name) for name in ("aln.w", "aln.b", "oln.w", "oln.b")]
        )
        size = hidden // shape.heads
        self.cross_score = nn.Parameter(torch.zeros(shape.heads))
        self.cross_key = nn.Parameter(torch.zeros(shape.heads, size))
        self.cross_value = nn.Parameter(torch.randn(shape.heads, size) * 0.02)

    def forward(self, x: torch.Tensor, sides: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        """Return float[batch, token, hidden].

        `sides` is float[batch, 1, token, 2], 1 for the text of a token; `padding` is
        float[batch, 1, token, 1], very negative at padding.
        """
        batch, tokens, hidden = x.shape
        heads = self.shape.heads
        size = hidden // heads
        q, k, v = self.qkv(x).view(batch, tokens, 3, heads, size).permute(2, 0, 3, 1, 4)
        q = q * size**-0.5
        # Columns beside those of the head: the product adds what belongs to keys of the other
        # text, and the padding, and sums the weights of each text, all by the same two products.
        other = q @ self.cross_key[:, :, None] + self.cross_score[:, None, None]
        sides, padding = (item.expand(-1, heads, -1, -1) for item in (sides, padding))
        # Accelerators multiply matrices in half precision by eight columns at a time.
        filled = torch.zeros_like(padding).expand(-1, -1, -1, -(size + 3) % 8)
        q = torch.cat([q, other * sides.flip(-1), torch.ones_like(padding), filled], -1)
        weights = torch.softmax(
            q @ torch.cat([k, sides, padding, filled], -1).transpose(-1, -2), -1
        )
        read = weights @ torch.cat([v, sides], -1)
        crossed = (read[..., size:] * sides.flip(-1)).sum(-1, keepdim=True)
        read = read[..., :size] + crossed * self.cross_value[:, None]
        read = read.transpose(1, 2).reshape(batch, tokens, hidden)
        x = self._norm(x + self._dropped(self.out(read)), 0)
        return self._norm(x + self._dropped(self.down(fn.gelu(self.up(x)))), 2)

    def _dropped(self, x: torch.Tensor) -> torch.Tensor:
        return fn.dropout(x, self._share, self.training)

    def _norm(self, x: torch.Tensor, at: int) -> torch.Tensor:
        weight, bias = self.norms[at], self.norms[at + 1]
        return fn.layer_norm(x, (self.shape.hidden,), weight, bias, self.shape.epsilon)


class Network(nn.Module):
    """Logit of *same*, and logits of the relations, of pairs of texts.

    Parameters
    ----------
    base : Base
    rows : int64[piece]
        Numbers of the base's pieces to keep; their places are the numbers of the network.
    layers : sequence of int
        Numbers of the layers to keep, in order.
    dropped : float
        Share of what a layer adds that is dropped in training.
    """

    def __init__(
        self,
        base: Base,
        rows: np.ndarray,
        layers: tuple[int, ...] | None = None,
        dropped: float = DROPPED,
    ) -> None:
        super().__init__()
        shape: Shape = base.shape
        self.shape = shape
        hidden = shape.hidden
        words = torch.from_numpy(base.matrix("emb.word", shape.vocabulary, hidden)[rows])
        self.register_buffer("rows", torch.from_numpy(rows))
        self.words = nn.Embedding.from_pretrained(words, freeze=True)
        positions = torch.from_numpy(base.vector("emb.pos").reshape(-1, hidden))
        kinds = torch.from_numpy(base.vector("emb.type").reshape(-1, hidden))
        self.register_buffer("positions", positions + kinds[0])
        self.norm_weight = nn.Parameter(torch.from_numpy(base.vector("emb.ln.w")))
        self.norm_bias = nn.Parameter(torch.from_numpy(base.vector("emb.ln.b")))
        self.layers = nn.ModuleList(Layer(base, n, dropped) for n in layers or range(shape.layers))
        self.detect = nn.Linear(hidden, _POOLED)
        one = 2 * hidden + _POOLED
        self.trunk = nn.Sequential(nn.Linear(4 * one, _HEAD), nn.GELU(), nn.Dropout(0.1))
        self.same = nn.Linear(_HEAD, 1)
        self.relation = nn.Linear(_HEAD, len(RELATIONS))
        self.register_buffer("mirrored", torch.tensor(MIRRORED))

    def forward(self, ids: torch.Tensor, side: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        """Return float[batch, 1 + relations]: the logit of *same*, and those of the relations.

        Parameters
        ----------
        ids, side, place : int64[batch, token]
            Piece, text (0 or 1; -1 for padding), and position within its text.
        """
        x = self.words(ids) + self.positions[place]
        x = fn.layer_norm(
            x, (self.shape.hidden,), self.norm_weight, self.norm_bias, self.shape.epsilon
        )
        sides = torch.stack([side == 0, side == 1], -1).to(x.dtype)[:, None]
        padding = (side < 0).to(x.dtype)[:, None, :, None] * -1e4
        for layer in self.layers:
            x = layer(x, sides, padding)
        a, b = self._pooled(x, side == 0), self._pooled(x, side == 1)
        both = [a + b, a * b, (a - b).abs()]
        there = self.trunk(torch.cat([*both, a - b], -1))
        back = self.trunk(torch.cat([*both, b - a], -1))
        relation = (self.relation(there) + self.relation(back)[:, self.mirrored]) / 2
        return torch.cat([(self.same(there) + self.same(back)) / 2, relation], -1)

    def _pooled(self, x: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
        """float[batch, 2 * hidden + pooled]: mark, mean, and the strongest of each detector."""
        part = inside[..., None].to(x.dtype)
        mean = (x * part).sum(1) / part.sum(1)
        # Every text begins with its mark: the only token at position 0 of its side.
        first = inside.to(torch.int64).argmax(1)
        mark = x[torch.arange(len(x), device=x.device), first]
        strongest = (self.detect(x) + (part - 1) * 1e4).amax(1)
        return torch.cat([mark, mean, strongest], -1)


def encoded(
    pairs: list[tuple[list[int], list[int]]], begin: int, end: int, pad: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ids, sides and places of pairs of pieces, padded to a multiple of 8."""
    longest = max(len(a) + len(b) + 4 for a, b in pairs)
    shape = len(pairs), -(-longest // 8) * 8
    ids, place = np.full(shape, pad, np.int64), np.zeros(shape, np.int64)
    side = np.full(shape, -1, np.int64)
    for row, pair in enumerate(pairs):
        at = 0
        for number, pieces in enumerate(pair):
            size = len(pieces) + 2
            ids[row, at : at + size] = [begin, *pieces, end]
            side[row, at : at + size] = number
            place[row, at : at + size] = np.arange(size)
            at += size
    return ids, side, place
