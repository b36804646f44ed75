"""Protocol between the daemon and a helper process, both directions side by side.

A frame is one byte of kind, four bytes of length (little endian) and the body:

    S  to the helper: the settings, JSON, once and first
    R  from the helper: it is ready; what it says of itself
    Q  to the helper: a request
    A  from the helper: the answer to the last Q
    E  from the helper: a typed error, JSON, instead of R or A

What the bodies of R, Q and A hold is the helper's own matter (`embedding.frames`,
`judging.frames`).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

from totonoe_core.base import errors, limits

SETTINGS, READY, REQUEST, ANSWER, ERROR = b"S", b"R", b"Q", b"A", b"E"
BODY_BYTES_MAX = limits.MESSAGE_BYTES_MAX
_HEADER = struct.Struct("<cI")


class FrameError(Exception):
    """The other process does not speak this protocol, or died in the middle of a frame."""


def frame(kind: bytes, body: bytes) -> bytes:
    """The bytes of one frame.

    Raises
    ------
    FrameError
        The body is longer than BODY_BYTES_MAX.
    """
    if len(body) > BODY_BYTES_MAX:
        raise FrameError(f"a body of {len(body)} bytes")
    return _HEADER.pack(kind, len(body)) + body


def read_frame(stream: BinaryIO) -> tuple[bytes, bytes] | None:
    """Read kind and body of the next frame; `None` at the end of the stream.

    Raises
    ------
    FrameError
        Not a frame, too long, or cut off.
    """
    header = stream.read(_HEADER.size)
    if not header:
        return None
    if len(header) < _HEADER.size:
        raise FrameError("a header cut off")
    kind, length = _HEADER.unpack(header)
    if kind not in (SETTINGS, READY, REQUEST, ANSWER, ERROR) or length > BODY_BYTES_MAX:
        raise FrameError(f"kind {kind!r} with {length} bytes")
    body = stream.read(length)
    if len(body) < length:
        raise FrameError("a body cut off")
    return kind, body


def error_to_wire(error: errors.TotonoeError) -> bytes:
    """Body of E."""
    return json.dumps(error_as_dict(error)).encode()


def error_from_wire(body: bytes) -> errors.TotonoeError:
    """Error from the body of E; see `error_from_dict`."""
    return error_from_dict(json.loads(body))


def error_as_dict(error: errors.TotonoeError) -> dict[str, Any]:
    """Convert an error that a helper may raise to plain data."""
    return {
        "type": type(error).__name__,
        "reason": error.reason,
        "message": error.message,
        "details": error.details,
    }


def error_from_dict(data: Mapping[str, Any]) -> errors.TotonoeError:
    """Restore a `Precondition` or an `Unavailable`; any other type becomes `Unavailable`."""
    details = data["details"]
    if data["type"] == "Precondition":
        return errors.Precondition(data["reason"], data["message"], **details)
    return errors.Unavailable(
        data["reason"],
        data["message"],
        retry_delay_ms=int(details.get("retry_delay_ms", limits.RETRY_DELAY_MS)),
    )
