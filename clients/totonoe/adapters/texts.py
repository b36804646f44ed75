"""Texts of any length as texts that a memory can hold."""

from __future__ import annotations

from collections.abc import Iterator

TEXT_BYTES_MAX = 32_768
"""Bytes of one memory, as the contract says."""


def pieces(text: str) -> Iterator[str]:
    """Yields a text in pieces of at most 32 KiB of UTF-8; none without a visible character.

    NUL characters and lone surrogates, which no memory can hold, are left out or replaced.
    """
    rest = text.encode("utf-8", "replace").replace(b"\0", b"")
    while rest:
        piece = rest[:TEXT_BYTES_MAX].decode("utf-8", "ignore")
        rest = rest[len(piece.encode()) :]
        if piece.strip():
            yield piece
