"""Embedder for models of the package `sentence-transformers`, from a local directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding.chunking import chunks
from totonoe_core.embedding.protocol import (
    Vectors,
    checked_dimension,
    not_installed,
)
from totonoe_core.embedding.vectors import mean_of_chunks, unit_rows
from totonoe_core.embedding.weights import directory_sha256, model_directory

_ASCII_CHARS_PER_TOKEN = 3  # English has four to five; others count as one
_TOKENS_MIN, _TOKENS_MAX = 64, limits.CONTENT_BYTES_MAX


class SentenceTransformerEmbedder:
    """A saved SentenceTransformer on the CPU.

    A model reads `max_seq_length` tokens and silently drops the rest, so a text that may have
    more is cut and the parts averaged. The same text in another batch may differ by float32
    rounding, since padding changes the shapes of the products.
    """

    def __init__(self, path: str, dimension: int = 0) -> None:
        """Load the model; nothing is ever fetched.

        Raises
        ------
        Precondition
            EMBEDDER_MISCONFIGURED: not installed, no such directory, another dimension.
        """
        # Read at import by the hub's library, hence before it.
        os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise not_installed("sentence-transformers", "sentence-transformers") from error
        directory = model_directory("sentence-transformers", path)
        self._model: Any = SentenceTransformer(str(directory), device="cpu", local_files_only=True)
        tokens = self._model.get_max_seq_length() or _TOKENS_MAX
        self._tokens = min(max(int(tokens), _TOKENS_MIN), _TOKENS_MAX)
        probe = self._encode(["dimension"])
        self._identity = ModelIdentity(
            name="sentence-transformers",
            version="",
            weights_sha256=directory_sha256(directory),
            dimension=checked_dimension(dimension, probe.shape[1]),
        )

    @property
    def identity(self) -> ModelIdentity:
        """Name "sentence-transformers" and the digest of the model's files."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        if not texts:
            return np.empty((0, self._identity.dimension), dtype=np.float32)
        parts = [chunks(text, self._size_chars(text)) for text in texts]
        flat = [part for text_parts in parts for part in text_parts]
        vectors = self._encode(flat)
        rows = np.empty((len(texts), self._identity.dimension), dtype=np.float32)
        first = 0
        for i, text_parts in enumerate(parts):
            rows[i] = mean_of_chunks(vectors[first : first + len(text_parts)], text_parts)
            first += len(text_parts)
        return rows

    def _encode(self, texts: list[str]) -> Vectors:
        rows = self._model.encode(
            texts,
            batch_size=limits.EMBED_BATCH_TEXTS_MAX,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return unit_rows(rows, texts)

    def _size_chars(self, text: str) -> int:
        return self._tokens * (_ASCII_CHARS_PER_TOKEN if text.isascii() else 1)
