"""The process that holds the model: `python -m totonoe_core.embedding.worker`.

A process of its own, because tokenizing is Python: in the daemon it would hold the interpreter
for milliseconds a text, and a crash of native code would take the daemon along.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from totonoe_core.base import errors, limits
from totonoe_core.embedding import frames
from totonoe_core.embedding.protocol import Embedder, Vectors, text_refused
from totonoe_core.embedding.settings import make_embedder
from totonoe_core.helper.serving import Answer, serve


def main() -> NoReturn:
    """Load the embedder of the first frame, then answer batches until the input ends."""
    serve(_load, _unavailable)


def embed_each(
    embedder: Embedder, texts: Sequence[str]
) -> tuple[Vectors, dict[int, errors.TotonoeError]]:
    """Embed a batch; if it fails because of its texts, find the failing ones.

    Parameters
    ----------
    embedder : Embedder
    texts : sequence of str
        At most EMBED_BATCH_TEXTS_MAX: a failing batch is tried once more text by text.

    Returns
    -------
    float32[n, dim], dict of int to error
        Rows of the refused texts are zero.

    Raises
    ------
    Unavailable, IdentityChanged
        From the embedder: no text is at fault, the whole batch failed.
    """
    try:
        return embedder.embed(texts), {}
    except (errors.Unavailable, errors.ModelMismatch, MemoryError):
        raise
    except Exception as error:
        if len(texts) == 1:
            empty = np.zeros((1, embedder.identity.dimension), dtype=np.float32)
            return empty, {0: _refusal(error)}
    rows = np.zeros((len(texts), embedder.identity.dimension), dtype=np.float32)
    refused = {}
    for i, text in enumerate(texts):
        row, why = embed_each(embedder, [text])
        rows[i] = row[0]
        if why:
            refused[i] = why[0]
    return rows, refused


def _refusal(error: Exception) -> errors.TotonoeError:
    if isinstance(error, errors.TotonoeError):
        return error
    # The message of a foreign exception may quote the text; its type does not.
    return text_refused(f"{type(error).__name__} in the model")


def _load(settings: bytes) -> tuple[bytes, Answer]:
    embedder = make_embedder(frames.settings_from_wire(settings))

    def answer(body: bytes) -> bytes:
        vectors, refused = embed_each(embedder, frames.texts_from_wire(body))
        return frames.answer_to_wire(vectors, refused, time.process_time())

    return frames.identity_to_wire(embedder.identity), answer


def _unavailable(message: str) -> errors.Unavailable:
    return errors.Unavailable("EMBEDDER_UNAVAILABLE", message, retry_delay_ms=limits.RETRY_DELAY_MS)


if __name__ == "__main__":
    main()
