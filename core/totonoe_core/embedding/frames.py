"""Protocol between the service and its child process, both directions side by side.

A frame is one byte of kind, four bytes of length (little endian) and the body:

    S  to the child: the settings, JSON, once and first
    I  from the child: the model's identity, JSON, once the model is loaded
    T  to the child: a JSON array of texts
    V  from the child: the vectors of the last T, see `answer_to_wire`
    E  from the child: a typed error, JSON, instead of I or V
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np

from totonoe_core.base import errors, limits
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding.protocol import IdentityChanged, Vectors
from totonoe_core.embedding.settings import EmbedderSettings

SETTINGS, IDENTITY, TEXTS, VECTORS, ERROR = b"S", b"I", b"T", b"V", b"E"
BODY_BYTES_MAX = limits.MESSAGE_BYTES_MAX
_HEADER = struct.Struct("<cI")
_ANSWER = struct.Struct("<IdI")  # rows, CPU seconds, bytes of JSON before the rows


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
    if kind not in (SETTINGS, IDENTITY, TEXTS, VECTORS, ERROR) or length > BODY_BYTES_MAX:
        raise FrameError(f"kind {kind!r} with {length} bytes")
    body = stream.read(length)
    if len(body) < length:
        raise FrameError("a body cut off")
    return kind, body


def settings_to_wire(settings: EmbedderSettings) -> bytes:
    """Body of S."""
    return json.dumps(asdict(settings)).encode()


def settings_from_wire(body: bytes) -> EmbedderSettings:
    """Settings from the body of S."""
    return EmbedderSettings(**json.loads(body))


def identity_to_wire(identity: ModelIdentity) -> bytes:
    """Body of I."""
    return json.dumps(asdict(identity)).encode()


def identity_from_wire(body: bytes) -> ModelIdentity:
    """Identity from the body of I."""
    return ModelIdentity(**json.loads(body))


def texts_to_wire(texts: Sequence[str]) -> bytes:
    """Body of T. The texts hold no lone surrogates."""
    return json.dumps(list(texts), ensure_ascii=False).encode()


def texts_from_wire(body: bytes) -> list[str]:
    """Texts from the body of T."""
    texts: list[str] = json.loads(body)
    return texts


def answer_to_wire(
    vectors: Vectors, refused: Mapping[int, errors.TotonoeError], cpu_s: float
) -> bytes:
    """Body of V.

    Parameters
    ----------
    vectors : float32[n, dim]
        Rows of refused texts hold anything.
    refused : mapping of int to error
        Rows without a vector, with the reason.
    cpu_s : float
        CPU seconds of this process since it started.
    """
    why = json.dumps({str(row): error_as_dict(error) for row, error in refused.items()}).encode()
    rows = np.ascontiguousarray(vectors, dtype="<f4")
    return _ANSWER.pack(len(rows), cpu_s, len(why)) + why + rows.tobytes()


def answer_from_wire(
    body: bytes, dimension: int
) -> tuple[Vectors, dict[int, errors.TotonoeError], float]:
    """Vectors (read-only), refused rows and CPU seconds from the body of V.

    Raises
    ------
    FrameError
        The lengths do not fit together.
    """
    if len(body) < _ANSWER.size:
        raise FrameError("an answer cut off")
    count, cpu_s, why_bytes = _ANSWER.unpack_from(body)
    start = _ANSWER.size + why_bytes
    if len(body) - start != count * dimension * 4:
        raise FrameError(f"{len(body) - start} bytes for {count} rows of {dimension}")
    why = json.loads(body[_ANSWER.size : start])
    rows = np.frombuffer(body, dtype="<f4", offset=start).reshape(count, dimension)
    refused = {int(row): error_from_dict(error) for row, error in why.items()}
    return rows.astype(np.float32, copy=False), refused, cpu_s


def error_to_wire(error: errors.TotonoeError) -> bytes:
    """Body of E."""
    return json.dumps(error_as_dict(error)).encode()


def error_from_wire(body: bytes) -> errors.TotonoeError:
    """Error from the body of E."""
    return error_from_dict(json.loads(body))


def error_as_dict(error: errors.TotonoeError) -> dict[str, Any]:
    """Convert one of the three errors an embedder may raise to plain data."""
    return {
        "type": type(error).__name__,
        "reason": error.reason,
        "message": error.message,
        "details": error.details,
    }


def error_from_dict(data: Mapping[str, Any]) -> errors.TotonoeError:
    """Restore the error; an unknown type becomes `Unavailable`."""
    details = data["details"]
    if data["type"] == "Precondition":
        return errors.Precondition(data["reason"], data["message"], **details)
    if data["type"] == "IdentityChanged":
        return IdentityChanged(stamped=details["stamped"], running=details["running"])
    return errors.Unavailable(
        data["reason"],
        data["message"],
        retry_delay_ms=int(details.get("retry_delay_ms", limits.RETRY_DELAY_MS)),
    )
