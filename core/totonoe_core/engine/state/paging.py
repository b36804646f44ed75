"""Page tokens: the position of a page's end, bound to its question.

Positions use values that never change (revisions, times with ids), so that a token survives writes.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from hashlib import blake2b

from totonoe_core.base.errors import InvalidArgument

Position = tuple[int | str, ...]
_INT64 = range(-(2**63), 2**63)


def token(position: Sequence[int | str], *asked: str) -> str:
    """Return a token for the page after a position, for the same question only."""
    data = json.dumps([*position, _digest(asked)])
    return base64.urlsafe_b64encode(data.encode()).decode()


def position(page_token: str, kinds: tuple[type, ...], *asked: str) -> Position | None:
    """Return the position in a token, one value for each of `kinds`; `None` for the empty token.

    Raises `InvalidArgument` for a token of another question, or a forged one.
    """
    if not page_token:
        return None
    try:
        *values, digest = json.loads(base64.urlsafe_b64decode(page_token.encode()))
        if digest != _digest(asked) or tuple(map(type, values)) != kinds:
            raise ValueError("made for another question, or by hand")
        for value in values:
            if isinstance(value, str):
                value.encode()  # raises for half of a surrogate pair, which no row holds
            elif value not in _INT64:
                raise ValueError("no position")
        return tuple(values)
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise bad_token() from error


def bad_token() -> InvalidArgument:
    """Return the error for an invalid token."""
    return InvalidArgument(
        "BAD_PAGE_TOKEN",
        field="page_token",
        got="a token of another call or filter",
        allowed="the next_page_token of the answer before, with the same filter",
    )


def _digest(asked: Sequence[str]) -> str:
    return blake2b(json.dumps(asked).encode(), digest_size=8).hexdigest()
