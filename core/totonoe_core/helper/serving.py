"""The frame of a helper process: what it does beside its work, whatever that is.

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
from collections.abc import Callable
from typing import BinaryIO, NoReturn

from totonoe_core.base import errors, heap
from totonoe_core.helper import frames

PAUSE_S = 5.0

Answer = Callable[[bytes], bytes]
"""Makes the body of the answer from that of a request. A `TotonoeError` is sent as an error."""
Load = Callable[[bytes], tuple[bytes, Answer]]
"""Makes, from the body of the settings, what the helper says of itself and how it answers."""


def serve(load: Load, unavailable: Callable[[str], errors.Unavailable]) -> NoReturn:
    """Load by the first frame, then answer requests until the input ends.

    Parameters
    ----------
    load : callable
        A `TotonoeError` of it is sent to the daemon, any other exception as `unavailable`.
    unavailable : callable
        Makes the error for an exception of `load` from a message.
    """
    requests, answers = _take_streams()
    threading.Thread(target=_watch, args=(requests.fileno(),), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        _serve(requests, answers, load, unavailable)
    # Not by sys.exit: there is nothing to save, and native code may be slow to end.
    os._exit(0)


def _serve(
    requests: BinaryIO,
    answers: BinaryIO,
    load: Load,
    unavailable: Callable[[str], errors.Unavailable],
) -> None:
    kind, body = frames.read_frame(requests) or (b"", b"")
    if kind != frames.SETTINGS:
        raise frames.FrameError(f"kind {kind!r} before the settings")
    try:
        said, answer = load(body)
        heap.unmap(".so")
        heap.trim()
    except errors.TotonoeError as error:
        _failed_to_load(answers, error)
        return
    # Nothing of the outside has been read yet, so this message quotes no memory.
    except Exception as error:
        failed = unavailable(f"the model does not load: {type(error).__name__}: {error}")
        _failed_to_load(answers, failed)
        return
    _silence()
    _send(answers, frames.READY, said)
    while received := _next_frame(requests):
        _, body = received
        try:
            answered = answer(body)
        except errors.TotonoeError as error:
            _send(answers, frames.ERROR, frames.error_to_wire(error))
        else:
            _send(answers, frames.ANSWER, answered)


def _next_frame(requests: BinaryIO) -> tuple[bytes, bytes] | None:
    """Read a frame. After a pause, what the frames before took goes back to the system first.

    That takes up to 15 ms: too much for each request.
    """
    if not select.select([requests], [], [], PAUSE_S)[0]:
        heap.trim()
    return frames.read_frame(requests)


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


def _failed_to_load(answers: BinaryIO, error: errors.TotonoeError) -> None:
    """Send the error; the daemon then closes the input, which ends the process."""
    _send(answers, frames.ERROR, frames.error_to_wire(error))
    threading.Event().wait()


def _send(answers: BinaryIO, kind: bytes, body: bytes) -> None:
    answers.write(frames.frame(kind, body))
    answers.flush()
