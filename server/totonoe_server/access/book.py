"""The file of identities in the data directory: read whole, changed whole, mode 0600.

The command works on the file and not through the daemon: the first token has to exist before a
daemon opens a port to the network, and whoever may write the data directory owns all that is in it
anyway. The daemon sees a change within a second, because a change replaces the file.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from totonoe_core.base import limits
from totonoe_server.access import files
from totonoe_server.access.errors import FileError, SettingError
from totonoe_server.access.identities import (
    Identity,
    Key,
    Limits,
    identity_from_json,
    identity_to_json,
)
from totonoe_server.access.seal import Seal

NAME = "access.json"
FORMAT = 1
_BYTES_MAX = 64 * 1024 * 1024
Identities = tuple[Identity, ...]
Stamp = tuple[int, int, int] | int | None
"""Identifies the state of identities: of a file inode, size and time of change in nanoseconds, of a
database the number of changes; `None`: nobody was named yet."""


class Book:
    """The file of identities of a data directory."""

    check_every_s = 0.25
    """How often a daemon looks at it: a revoked token is refused within a second."""
    waits = False
    """Whether a call may take so long that nothing else should wait for it."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / NAME
        self.place = str(self.path)

    def stamp(self) -> Stamp:
        """Return what changes with every change of the file. Raises `FileError`."""
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FileError(f"{self.path}: {error.strerror}") from error
        return found.st_ino, found.st_size, found.st_mtime_ns

    def read(self) -> Identities:
        """Return all identities; none if there is no file. Raises `FileError`.

        A file without identities is not the same as no file: nobody may call then.
        """
        try:
            with self.path.open("rb") as file:
                mode = os.fstat(file.fileno())
                if not stat.S_ISREG(mode.st_mode) or mode.st_size > _BYTES_MAX:
                    raise FileError(f"{self.path}: is no file of identities")
                if mode.st_mode & 0o077:
                    raise FileError(
                        f"{self.path}: is open to other users (mode {mode.st_mode & 0o777:04o}); "
                        "look at what it grants, then chmod 600"
                    )
                data = file.read()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise FileError(f"{self.path}: {error.strerror}") from error
        return parsed(data, self.place)

    def change(self, work: Callable[[Identities], Sequence[Identity]]) -> Identities:
        """Replace all identities by what `work` makes of them, as one step, and return them.

        Two changes at once follow each other. After a crash the file is the old one or the new one.

        Raises
        ------
        SettingError
            Two identities have one name or one subject, or there are too many. Nothing changed.
        FileError
            The file cannot be read or written. Nothing changed.
        """
        try:
            files.make_directory(self.path.parent)
            lock = os.open(self.path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                identities = tuple(work(self.read()))
                files.replace(self.path, serialized(identities))
            finally:
                os.close(lock)
        except OSError as error:
            raise FileError(f"{self.path}: {error.strerror}") from error
        return identities

    def seal(self) -> Seal:
        """Return the seal of page tokens, by the key beside the file. Raises `OSError`."""
        return Seal.of(self.path.parent)

    def close(self) -> None:
        """Do nothing: no file stays open."""


def parsed(data: bytes, place: str) -> Identities:
    """Return the identities of their text; `place` is named in errors. Raises `FileError`."""
    try:
        value = json.loads(data)
        if value["version"] != FORMAT:
            raise FileError(f"{place}: has format {value['version']!r}, not {FORMAT}")
        identities = tuple(identity_from_json(entry) for entry in value["identities"])
        _check_unique(identities)
    except FileError:
        raise
    except SettingError as error:
        raise FileError(f"{place}: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise FileError(f"{place}: is no file of identities") from None
    return identities


def serialized(identities: Identities) -> bytes:
    """Return the text of identities.

    Raises `SettingError` if two have one name or one subject, or there are too many.
    """
    _check_unique(identities)
    value = {
        "version": FORMAT,
        "identities": [identity_to_json(identity) for identity in identities],
    }
    return json.dumps(value, indent=1).encode()


def _check_unique(identities: Identities) -> None:
    if len(identities) > limits.IDENTITIES_MAX:
        raise SettingError(
            f"identities: got {len(identities)}, allowed: {limits.IDENTITIES_MAX}; "
            "`totonoe tokens remove NAME` takes a revoked one out"
        )
    for values in ([i.name for i in identities], [i.subject for i in identities if i.subject]):
        twice = {value for value in values if values.count(value) > 1} if _has_twins(values) else ()
        for value in twice:
            raise SettingError(f"name: {value!r} exists; revoke or rotate it, or choose another")


def _has_twins(values: list[str]) -> bool:
    return len(set(values)) < len(values)


def added(identities: Identities, identity: Identity) -> Identities:
    """Return the identities with one more."""
    return (*identities, identity)


def rotated(identity: Identity, key: Key, now_us: int, grace_us: int) -> Identity:
    """Return the identity with a new token; the others expire after the grace time."""
    if identity.revoked_us:
        raise SettingError(f"name: {identity.name!r} is revoked")
    last_us = now_us + grace_us
    kept = tuple(
        replace(old, expires_us=min(old.expires_us or last_us, last_us))
        for old in identity.keys
        if grace_us and not 0 < old.expires_us <= now_us
    )
    if len(kept) >= limits.KEYS_PER_IDENTITY_MAX:
        raise SettingError(
            f"tokens: {len(kept)} of {identity.name!r} are valid, "
            f"allowed: {limits.KEYS_PER_IDENTITY_MAX}; rotate without --grace"
        )
    return replace(identity, keys=(*kept, key))


def revoked(identity: Identity, now_us: int) -> Identity:
    """Return the identity without tokens, revoked for good.

    It stays in the file, with its digests, so that a call can say that the token was revoked.
    """
    return replace(identity, revoked_us=identity.revoked_us or now_us)


def limited(identity: Identity, pattern: str, bounds: Limits | None) -> Identity:
    """Return the identity with limits on the collections of a pattern; `None`: without them."""
    others = {name: value for name, value in identity.limits.items() if name != pattern}
    return replace(identity, limits=others if bounds is None else {**others, pattern: bounds})


def removed(identities: Identities, name: str) -> Identities:
    """Return the identities without a revoked one. Raises `SettingError`."""

    def check(identity: Identity) -> Identity:
        if not identity.revoked_us:
            raise SettingError(f"name: {name!r} is not revoked; revoke it first")
        return identity

    return tuple(other for other in changed(identities, name, check) if other.name != name)


def changed(
    identities: Identities, name: str, change: Callable[[Identity], Identity]
) -> Identities:
    """Return the identities with the one of this name changed. Raises `SettingError`."""
    if all(identity.name != name for identity in identities):
        known = ", ".join(identity.name for identity in identities[:8]) or "none"
        raise SettingError(f"name: got {name!r}, there are: {known}")
    return tuple(change(identity) if identity.name == name else identity for identity in identities)
