"""Made names that say where something is: URLs, e-mail and IP addresses, hosts, commits.

Another one is another value ("the host is db-02.internal"). Any other made name may be what a
statement is about: a ticket, a line, a room.
"""

from __future__ import annotations

import re

from totonoe_core.text.reading.model import Piece, PieceType

_OF_PATH = re.compile(r"\w+://|www\.|[^/\s]+@", re.ASCII)
_OF_IDENTIFIER = re.compile(
    r"\d{1,3}(?:\.\d{1,3}){3}(?!\w)"
    r"|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?\Z"
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,128}\Z",
    re.IGNORECASE | re.ASCII,
)


def is_address(piece: Piece) -> bool:
    """Return whether an identifier or a path is an address, a host or a commit."""
    form = _OF_PATH if piece.type is PieceType.PATH else _OF_IDENTIFIER
    return form.match(piece.key) is not None
