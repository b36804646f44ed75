"""The child process that holds the model: `python -m totonoe_core.embedding.worker`.

A process of its own, because tokenizing is Python: in the daemon it would hold the interpreter
for milliseconds a text, and a crash of native code would take the daemon along.

It reads and writes frames (`frames`) on the standard streams it was started with. Those are
moved to private descriptors first, so that nothing a library prints gets between the frames:
while the model loads, prints go to standard error; afterwards, when there are memories to
quote, nowhere.

It ends when its input ends. A thread watches for that, so it also ends in the middle of a
computation when the daemon was killed; nothing can be lost, it holds no state. The watcher only
sleeps: were it to read, each batch would cost a change of threads more.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time
from collections.abc import Sequence
from typing import BinaryIO, NoReturn

import numpy as np

from totonoe_core.base import errors, heap, limits
from totonoe_core.embedding import frames
from totonoe_core.embedding.protocol import Embedder, Vectors, text_refused
from totonoe_core.embedding.settings import make_embedder


def main() -> NoReturn:
    """Load the embedder of the first frame, then answer batches until the input ends."""
    requests, answers = _take_streams()
    threading.Thread(target=_watch, args=(requests.fileno(),), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        _serve(requests, answers)
    # Not by sys.exit: there is nothing to save, and native code may be slow to end.
    os._exit(0)


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


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return private copies of standard input and output, which then point elsewhere."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _silence() -> None:
    """Discard prints from now on: they may quote a memory."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.close(nothing)


def _watch(descriptor: int) -> None:
    """End the process when the other end of its input is closed."""
    poll = select.poll()
    poll.register(descriptor, 0)  # only the end of the input matters
    poll.poll()
    os._exit(0)


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    kind, body = frames.read_frame(requests) or (b"", b"")
    if kind != frames.SETTINGS:
        raise frames.FrameError(f"kind {kind!r} before the settings")
    try:
        embedder = make_embedder(frames.settings_from_wire(body))
        identity = embedder.identity
        heap.unmap(".so")
        heap.trim()
    except errors.TotonoeError as error:
        _failed_to_load(answers, error)
        return
    # Nothing of the outside has been embedded yet, so this message quotes no memory.
    except Exception as error:
        failed = _unavailable(f"the model does not load: {type(error).__name__}: {error}")
        _failed_to_load(answers, failed)
        return
    _silence()
    _send(answers, frames.IDENTITY, frames.identity_to_wire(identity))
    while received := frames.read_frame(requests):
        _, body = received
        try:
            vectors, refused = embed_each(embedder, frames.texts_from_wire(body))
        except (errors.Unavailable, errors.ModelMismatch) as error:
            _send(answers, frames.ERROR, frames.error_to_wire(error))
        else:
            answer = frames.answer_to_wire(vectors, refused, time.process_time())
            _send(answers, frames.VECTORS, answer)


def _failed_to_load(answers: BinaryIO, error: errors.TotonoeError) -> None:
    """Send the error; the service then closes the input, which ends the process."""
    _send(answers, frames.ERROR, frames.error_to_wire(error))
    threading.Event().wait()


def _send(answers: BinaryIO, kind: bytes, body: bytes) -> None:
    answers.write(frames.frame(kind, body))
    answers.flush()


def _unavailable(message: str) -> errors.Unavailable:
    return errors.Unavailable("EMBEDDER_UNAVAILABLE", message, retry_delay_ms=limits.RETRY_DELAY_MS)


if __name__ == "__main__":
    main()
