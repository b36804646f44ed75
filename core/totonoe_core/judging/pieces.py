"""Pieces of a text, as the judge's network knows them: `tokenizer.json`, read by sentencepiece.

The file is of the package `tokenizers`, which takes 33 MB for 44,000 pieces. sentencepiece takes
5 MB, and a fifth of the time; the pieces are the same, but for a space at the end of a text, which
is none here, and marks of the network in a text (`<s>`), which are read as text.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Ids = list[int]

BEGIN, PADDING, END, UNKNOWN = 0, 1, 2, 3
_NORMAL, _UNKNOWN_PIECE, _CONTROL = 1, 2, 3
"""Kinds of pieces, as sentencepiece's own `ModelProto.SentencePiece.Type` numbers them."""


@dataclass(frozen=True, slots=True)
class CutText:
    """Pieces of a text, and what of it is in none, sorted."""

    ids: Ids
    unknown: tuple[str, ...]


class Pieces:
    """Cut texts into pieces, in the calling thread.

    Parameters
    ----------
    path : Path
        Of `tokenizer.json`.

    Raises
    ------
    ImportError
        sentencepiece is missing.
    OSError, ValueError, KeyError, TypeError, RuntimeError
        The file cannot be read, or is of another form.
    """

    def __init__(self, path: Path) -> None:
        from sentencepiece import SentencePieceProcessor

        said = json.loads(path.read_text(encoding="utf-8"))
        self._small = (said["normalizer"] or {}).get("type") == "Lowercase"
        self._pieces: Any = SentencePieceProcessor(model_proto=_model(said))

    def cut(self, text: str) -> CutText:
        """Return the pieces of a text, without marks of its begin and end."""
        if self._small:
            text = text.lower()
        ids: Ids = self._pieces.encode(text)
        if UNKNOWN not in ids:
            return CutText(ids, ())
        # sentencepiece makes one piece of a run of them, as it stands after normalizing.
        found = zip(ids, self._pieces.encode(text, out_type=str), strict=True)
        return CutText(ids, tuple(sorted(piece for number, piece in found if number == UNKNOWN)))


def _model(said: Mapping[str, Any]) -> bytes:
    """Return a tokenizer as sentencepiece's `ModelProto`."""
    model, words = said["model"], said["pre_tokenizer"]
    if model["type"] != "Unigram" or model["unk_id"] != UNKNOWN or words["type"] != "Metaspace":
        raise ValueError("not a tokenizer of the judge")
    parts = []
    for at, (piece, score) in enumerate(model["vocab"]):
        kind = _NORMAL if at > UNKNOWN else _UNKNOWN_PIECE if at == UNKNOWN else _CONTROL
        scored = _number(2, 5) + struct.pack("<f", score)
        parts.append(_bytes(1, _bytes(1, piece.encode()) + scored + _number(3, 0, kind)))
    # trainer_spec: a unigram model, and its marks.
    marks = ((3, 1), (40, UNKNOWN), (41, BEGIN), (42, END), (43, PADDING))
    parts.append(_bytes(2, b"".join(_number(field, 0, value) for field, value in marks)))
    # normalizer_spec: a space before a text, none twice, each as a mark of its own.
    spaces = b"".join(_number(field, 0, 1) for field in (3, 4, 5))
    parts.append(_bytes(3, _charsmap(said["normalizer"]) + spaces))
    return b"".join(parts)


def _charsmap(normalizer: Mapping[str, Any] | None) -> bytes:
    """Return which characters stand for others; nothing if there are none."""
    steps = (normalizer or {}).get("normalizers", ())
    found = [step["precompiled_charsmap"] for step in steps if step["type"] == "Precompiled"]
    return _bytes(2, base64.b64decode(found[0])) if found else b""


def _bytes(field: int, value: bytes) -> bytes:
    """Return a field of a protobuf message with its length."""
    return _number(field, 2) + _varint(len(value)) + value


def _number(field: int, wire: int, value: int | None = None) -> bytes:
    """Return the tag of a field, and its number if there is one."""
    return _varint(field << 3 | wire) + (b"" if value is None else _varint(value))


def _varint(number: int) -> bytes:
    """Return a number of 7 bits a byte."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))
