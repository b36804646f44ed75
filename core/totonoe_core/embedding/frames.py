"""Bodies of the frames between the service and its embedding process (`helper.frames`).

S  the settings, JSON
R  the model's identity, JSON, once the model is loaded
Q  a JSON array of texts
A  their vectors, see `answer_to_wire`
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from totonoe_core.base import errors
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding.protocol import IdentityChanged, Vectors
from totonoe_core.embedding.settings import EmbedderSettings
from totonoe_core.helper import frames
from totonoe_core.helper.frames import FrameError

_ANSWER = struct.Struct("<IdI")  # rows, CPU seconds, bytes of JSON before the rows


def settings_to_wire(settings: EmbedderSettings) -> bytes:
    """Body of S."""
    return json.dumps(asdict(settings)).encode()


def settings_from_wire(body: bytes) -> EmbedderSettings:
    """Settings from the body of S."""
    return EmbedderSettings(**json.loads(body))


def identity_to_wire(identity: ModelIdentity) -> bytes:
    """Body of R."""
    return json.dumps(asdict(identity)).encode()


def identity_from_wire(body: bytes) -> ModelIdentity:
    """Identity from the body of R."""
    return ModelIdentity(**json.loads(body))


def texts_to_wire(texts: Sequence[str]) -> bytes:
    """Body of Q. The texts hold no lone surrogates."""
    return json.dumps(list(texts), ensure_ascii=False).encode()


def texts_from_wire(body: bytes) -> list[str]:
    """Texts from the body of Q."""
    texts: list[str] = json.loads(body)
    return texts


def answer_to_wire(
    vectors: Vectors, refused: Mapping[int, errors.TotonoeError], cpu_s: float
) -> bytes:
    """Body of A.

    Parameters
    ----------
    vectors : float32[n, dim]
        Rows of refused texts hold anything.
    refused : mapping of int to error
        Rows without a vector, with the reason.
    cpu_s : float
        CPU seconds of this process since it started.
    """
    why = json.dumps(
        {str(row): frames.error_as_dict(error) for row, error in refused.items()}
    ).encode()
    rows = np.ascontiguousarray(vectors, dtype="<f4")
    return _ANSWER.pack(len(rows), cpu_s, len(why)) + why + rows.tobytes()


def answer_from_wire(
    body: bytes, dimension: int
) -> tuple[Vectors, dict[int, errors.TotonoeError], float]:
    """Vectors (read-only), refused rows and CPU seconds from the body of A.

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


def error_from_wire(body: bytes) -> errors.TotonoeError:
    """Error from the body of E."""
    return error_from_dict(json.loads(body))


def error_from_dict(data: Mapping[str, Any]) -> errors.TotonoeError:
    """Restore one of the three errors an embedder may raise."""
    if data["type"] == "IdentityChanged":
        details = data["details"]
        return IdentityChanged(stamped=details["stamped"], running=details["running"])
    return frames.error_from_dict(data)
