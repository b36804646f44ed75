"""Static embeddings of the package `model2vec`, from a directory on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding.protocol import (
    Vectors,
    checked_dimension,
    not_installed,
)
from totonoe_core.embedding.vectors import unit_rows
from totonoe_core.embedding.weights import directory_sha256, model_directory


class Model2VecEmbedder:
    """A saved `StaticModel`: the mean of token vectors, so a text is never too long for it.

    Deterministic: the same bits for the same text in any batch. A text without any known token has
    the zero vector in the model and gets its stand-in (`vectors.hashed_unit_vector`).
    """

    def __init__(self, path: str, dimension: int = 0) -> None:
        """Load the model; nothing is ever fetched.

        Raises
        ------
        Precondition
            EMBEDDER_MISCONFIGURED: not installed, no such directory, another dimension.
        """
        try:
            from model2vec import StaticModel
        except ImportError as error:
            raise not_installed("model2vec", "model2vec") from error
        directory = model_directory("model2vec", path)
        self._model: Any = StaticModel.from_pretrained(directory, force_download=False)
        self._identity = ModelIdentity(
            name="model2vec",
            version="",
            weights_sha256=directory_sha256(directory),
            dimension=checked_dimension(dimension, int(self._model.dim)),
        )

    @property
    def identity(self) -> ModelIdentity:
        """Name "model2vec" and the digest of the model's files."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        if not texts:
            return np.empty((0, self._identity.dimension), dtype=np.float32)
        rows = self._model.encode(list(texts), max_length=None, use_multiprocessing=False)
        return unit_rows(rows, texts)
