"""Page tokens that only the daemon can read, and that only their caller can use.

A token holds the position of the next page: a name, a time, an id. It leaves the daemon encrypted
(AES-GCM), bound to the call and to whoever asked, with a key that stays in the data directory. So
a token survives a restart, and says nothing to anybody.
"""

from __future__ import annotations

import base64
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from totonoe_core.base.errors import InvalidArgument
from totonoe_server.access import files

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_FILE = "page_tokens.key"
KEY_BYTES = 32
_NONCE_BYTES = 12
_PADDED_TO = 32
"""Tokens have a multiple of so many bytes inside: their length shows no length of a name."""
_PADDING = b"\0"


class Seal:
    """Seals and opens texts. From any thread.

    Parameters
    ----------
    key : bytes
        32 random bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._made: AESGCM | None = None

    @classmethod
    def of(cls, data_dir: Path) -> Seal:
        """Return the seal of a data directory; its key is made if there is none.

        A key that others may read, or that is none, is replaced: earlier tokens end with it.

        Raises
        ------
        OSError
            The key can be neither read nor written.
        """
        path = data_dir / KEY_FILE
        try:
            with path.open("rb") as file:
                is_private = not os.fstat(file.fileno()).st_mode & 0o077
                key = file.read(KEY_BYTES + 1)
        except FileNotFoundError:
            is_private, key = False, b""
        if not is_private or len(key) != KEY_BYTES:
            key = secrets.token_bytes(KEY_BYTES)
            files.make_directory(data_dir)
            files.replace(path, key)
        return cls(key)

    def load(self) -> None:
        """Import what encrypts, which takes a while the first time."""
        self._cipher()

    def close(self, text: str, *bound: str) -> str:
        """Return the sealed text, which `open` opens with the same `bound` only."""
        data = text.encode()
        data += _PADDING * (-len(data) % _PADDED_TO)
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = nonce + self._cipher().encrypt(nonce, data, _joined(bound))
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open(self, token: str, *bound: str) -> str:
        """Return the text of a token.

        Raises
        ------
        InvalidArgument
            BAD_PAGE_TOKEN: it was sealed for another call or caller, by another key, or changed.
        """
        from cryptography.exceptions import InvalidTag

        try:
            sealed = base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True)
            nonce, data = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            return self._cipher().decrypt(nonce, data, _joined(bound)).rstrip(_PADDING).decode()
        except (ValueError, InvalidTag) as error:
            raise InvalidArgument(
                "BAD_PAGE_TOKEN",
                field="page_token",
                got="a token of another call, filter or caller",
                allowed="the next_page_token of the answer before, by the same caller and with "
                "the same filter",
            ) from error

    def _cipher(self) -> AESGCM:
        if self._made is None:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            self._made = AESGCM(self._key)
        return self._made


def _joined(bound: tuple[str, ...]) -> bytes:
    """No two lists of texts are joined to the same bytes."""
    return b"".join(len(text.encode()).to_bytes(4, "big") + text.encode() for text in bound)
