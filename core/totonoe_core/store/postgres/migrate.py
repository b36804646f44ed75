"""Versions of the tables: one SQL file each, applied in order by `migrate`."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import errors as pg

from totonoe_core.base.errors import UnsupportedFormat

_VERSIONS = files("totonoe_core.store.postgres") / "versions"
_NAME = re.compile(r"(\d+)\.sql")
_MARK = "totonoe_version"
_TRIED_MAX = 5
Connection = psycopg.Connection[tuple[Any, ...]]


def newest() -> int:
    """Return the version of this program."""
    return max(_numbers())


def _numbers() -> list[int]:
    names = (_NAME.fullmatch(path.name) for path in _VERSIONS.iterdir())
    return sorted(int(match[1]) for match in names if match is not None)


def version_of(connection: Connection) -> int:
    """Return the version of a database's tables; 0 if it has none of ours.

    Raises `UnsupportedFormat` if there are tables of another application, or its texts are not
    UTF-8.
    """
    ((encoding,),) = connection.execute("SHOW server_encoding").fetchall()
    if encoding != "UTF8":
        raise UnsupportedFormat(
            "UNSUPPORTED_FORMAT", f"the database's encoding is {encoding}, not UTF8"
        )
    ((mark, others),) = connection.execute(
        "SELECT to_regclass(%s) IS NOT NULL, (SELECT count(*) FROM pg_class c "
        "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r')",
        (_MARK,),
    ).fetchall()
    if mark:
        version = connection.execute(f"SELECT version FROM {_MARK}").fetchone()
        return 0 if version is None else int(version[0])
    if others:
        raise UnsupportedFormat(
            "UNSUPPORTED_FORMAT",
            f"the database holds {others} tables of another application: name an empty one",
        )
    return 0


def check(connection: Connection) -> None:
    """Raise `UnsupportedFormat` if the tables are not of this program's version."""
    found = version_of(connection)
    if found > newest():
        raise UnsupportedFormat(
            "UNSUPPORTED_FORMAT",
            f"the database is of version {found}, this program of {newest()}: install a later one",
        )
    if found < newest():
        raise UnsupportedFormat(
            "UNSUPPORTED_FORMAT",
            f"the database is of version {found}, this program of {newest()}: migrate "
            "it first, by `store migrate`",
        )


def migrate(connection: Connection) -> int:
    """Bring the tables to this program's version, in one transaction; return the one before.

    Raises `UnsupportedFormat` as `version_of`, and for a later version.
    """
    version_of(connection)
    for _ in range(_TRIED_MAX - 1):
        try:
            return _migrated(connection)
        except (pg.UniqueViolation, pg.DuplicateTable):
            # Another daemon made the first table at the same moment, and has committed it.
            continue
    return _migrated(connection)


def _migrated(connection: Connection) -> int:
    with connection.transaction():
        # Two that migrate at once: the second waits at the lock, and finds it done.
        connection.execute(f"CREATE TABLE IF NOT EXISTS {_MARK} (version integer NOT NULL)")
        connection.execute(f"LOCK TABLE {_MARK}")
        before = version_of(connection)
        if before > newest():
            check(connection)
        for number in _numbers():
            if number > before:
                connection.execute((_VERSIONS / f"{number}.sql").read_bytes())
        connection.execute(f"DELETE FROM {_MARK}")
        connection.execute(f"INSERT INTO {_MARK} VALUES (%s)", (newest(),))
    return before
