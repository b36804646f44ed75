"""Tokens: 32 random bytes that an agent keeps, and of which the daemon keeps the SHA-256."""

from __future__ import annotations

import hashlib
import re
import secrets

PREFIX = "ttn_"
SECRET_BYTES = 32
SECRET_CHARS = 43
"""Digits in base 62 of the largest number of 32 bytes."""
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TOKEN = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{SECRET_CHARS}}}")


def new_token() -> str:
    """Make a token: `ttn_` and 32 random bytes in base 62, always of the same length."""
    return PREFIX + _base62(int.from_bytes(secrets.token_bytes(SECRET_BYTES)))


def _base62(number: int) -> str:
    digits = []
    for _ in range(SECRET_CHARS):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))


def is_token(text: str) -> bool:
    """Return whether a text has the form of a token."""
    return _TOKEN.fullmatch(text) is not None


def digest_of(token: str) -> bytes:
    """SHA-256 of a token.

    No slow hash: nobody guesses 32 random bytes, however fast each try is.
    """
    return hashlib.sha256(token.encode()).digest()
