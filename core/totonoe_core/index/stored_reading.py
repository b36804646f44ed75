"""Stored readings of texts, as bytes beside a row: other daemons need not read the text again.

    digest     8 bytes: blake2b of all else, of the text, of the tokenizer, and of the recipe
    canonical  uint64, hash of the canonical form
    tokens     uint64[n], ascending and unique

Bytes of another text, tokenizer or recipe have another digest. They count as none, and so do
damaged ones: the text is read.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.policy import Tokenizer
from totonoe_core.index import recipe
from totonoe_core.index.collection_index import Features

_DIGEST_BYTES = 8


def packed(content: str, features: Features, tokenizer: Tokenizer) -> bytes:
    """Return what was read from a text, to be kept beside its row."""
    read = features.canonical.to_bytes(8, "little") + features.tokens.tobytes()
    return _digest(content, read, tokenizer) + read


def features_of(
    content: str, vector: NDArray[np.float32], tokenizer: Tokenizer, stored: bytes
) -> Features:
    """Return the features of a text with its unit vector, as `Features.of`.

    The text is read only if `stored` was not made of it by this recipe.
    """
    digest, read = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
    if not read or digest != _digest(content, read, tokenizer):
        return Features.of(content, vector, tokenizer)
    canonical = int.from_bytes(read[:8], "little")
    return Features(vector, np.frombuffer(read, np.uint64, offset=8), canonical)


def _digest(content: str, read: bytes, tokenizer: Tokenizer) -> bytes:
    made = _begun(tokenizer).copy()
    # The length first: no text can pass for tokens.
    made.update(len(read).to_bytes(8, "little") + read + content.encode())
    return made.digest()


@cache
def _begun(tokenizer: Tokenizer) -> blake2b:
    said = f"{recipe.made_by()} {tokenizer.value}\0"
    return blake2b(said.encode(), digest_size=_DIGEST_BYTES)
