"""Names that callers choose: agents, sessions, operations, and the labels of memories.

They stand in logs, lists and one-line answers, so they hold nothing that ends a line or steers
what shows them. Names that were stored before this rule stay readable: only calls are checked.
"""

from __future__ import annotations

import re

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, over_limit

_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters, line and paragraph separators, and marks that turn the direction."""


def check(value: str, field: str, limit_bytes: int = limits.NAME_BYTES_MAX) -> None:
    """Check a name, which may be empty.

    Raises
    ------
    InvalidArgument
        NUL_IN_TEXT, BAD_NAME (a character that is not printed), MALFORMED_MESSAGE (a lone
        surrogate), LIMIT_EXCEEDED.
    """
    plain = value.isascii()
    if not (plain and value.isprintable()):
        _check_characters(value, field)
    size = len(value) if plain else len(value.encode())
    if size > limit_bytes:
        raise over_limit(field, f"{size} bytes", limit_bytes)


def _check_characters(value: str, field: str) -> None:
    found = _STEERING.search(value)
    if "\0" in value:
        raise InvalidArgument(
            "NUL_IN_TEXT", field=field, got="a NUL character", allowed="text without NUL"
        )
    if found is not None:
        raise InvalidArgument(
            "BAD_NAME",
            field=field,
            got=f"the character U+{ord(found.group()):04X}",
            allowed="no control character, line end or mark of direction",
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(
            "MALFORMED_MESSAGE", field=field, got="a lone surrogate", allowed="valid Unicode"
        ) from None
