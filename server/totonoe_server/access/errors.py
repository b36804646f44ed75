"""Refusals of calls: who calls is unknown, may not, or does too much.

They carry reasons of the contract, as the errors of core do, and no text of a request.
"""

from __future__ import annotations

from totonoe_core.base.errors import TotonoeError

# Named for what happened, as the errors of core.
# ruff: noqa: N818


class Unauthenticated(TotonoeError):
    """The daemon does not know the caller. Nothing was done; send a valid token."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)


class PermissionDenied(TotonoeError):
    """The caller's grants do not allow the call. Nothing was done; another grant is needed."""


class RateLimited(TotonoeError):
    """The caller has used up a limit of its identity. Nothing was done; waiting helps."""

    def __init__(self, limit: str, allowed: float, retry_delay_ms: int) -> None:
        super().__init__(
            "RATE_LIMITED",
            f"{limit}: {allowed:g} are allowed to this identity; wait {retry_delay_ms} ms",
            limit=limit,
            allowed=f"{allowed:g}",
            retry_delay_ms=retry_delay_ms,
        )
        self.retry_delay_ms = retry_delay_ms


class FileError(ValueError):
    """The file of identities cannot be used. The message is one line and names the file."""


class SettingError(ValueError):
    """A name, grant, limit or time is not what it may be. The message is one line."""
