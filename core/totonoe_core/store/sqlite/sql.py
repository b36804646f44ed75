"""Columns that can be read whatever they hold, and the meaning of SQLite's errors."""

from __future__ import annotations

import functools

import apsw

from totonoe_core.base.errors import Corruption

_SAID_OF_DAMAGE = (
    "malformed JSON",
    "no such column",
    "no such table",
    "has no column named",
    "ON CONFLICT clause does not match",
)


@functools.lru_cache(maxsize=64)
def readable(columns: str) -> str:
    """Return SELECT columns that read whatever is stored: text comes as bytes.

    A flipped bit may turn any column into invalid UTF-8, and one such row would end the whole read.
    `as_text` makes text of it again.
    """
    return ", ".join(
        f"iif(typeof({column}) = 'text', CAST({column} AS BLOB), {column})"
        for column in columns.split(", ")
    )


def is_damage(error: BaseException) -> bool:
    """Return whether an error of SQLite means that the data on disk is damaged."""
    if isinstance(error, apsw.SQLError):
        # In a row whose crc was not checked yet, or in the schema.
        return any(part in str(error) for part in _SAID_OF_DAMAGE)
    # A constraint: the decision read other rows than SQLite finds now.
    return isinstance(
        error, apsw.CorruptError | apsw.NotADBError | apsw.ConstraintError | UnicodeDecodeError
    )


def damaged(name: str) -> Corruption:
    """Return the error for a file in which SQLite itself finds damage."""
    return Corruption(
        "CORRUPT_ROW", f"{name} has a damaged page; the command `verify` says where", file=name
    )


def raise_damage(error: BaseException, name: str) -> None:
    """Raise an error of reading a file as `Corruption`, if it means damage or a failing disk."""
    if is_damage(error):
        raise damaged(name) from error
    if isinstance(error, apsw.IOError):
        raise Corruption("CORRUPT_ROW", f"{name} cannot be read: {error}", file=name) from error
