"""Identity of a collection's file, compared with the catalogue whenever it is opened.

The file keeps the uid of its collection as a setting. `check` reads it before SQLite opens the file
for use: from the file alone, so that no log is replayed, no file appears beside it, and nothing is
written. `confirm` reads it again on the open connection, with the log. A file made before uids were
kept has none; then its name must match the catalogue, and the first writer adds the uid.
"""

from __future__ import annotations

import json
from pathlib import Path

import apsw

from totonoe_core.base.errors import Corruption
from totonoe_core.store import rows
from totonoe_core.store.records import SETTINGS_KEY, Place
from totonoe_core.store.sqlite import sql

UID = "uid"
"""Key in `setting` of the uid."""


_COLUMNS = sql.readable("key, value, crc")


def open_untouched(path: Path) -> apsw.Connection:
    """Open the file alone: without its log, and without making a file beside it.

    The connection trusts nothing in the file. Raises what SQLite raises.
    """
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(path.absolute().as_uri() + "?immutable=1", flags=flags)
    connection.pragma("trusted_schema", False)
    connection.pragma("query_only", True)
    return connection


def check(place: Place) -> None:
    """Raise `Corruption` if a file is missing (MISSING_FILE) or another collection's (WRONG_FILE).

    An unreadable file passes: opening it raises its fault.
    """
    if is_missing(place.path):
        raise missing(place.path)
    try:
        connection = open_untouched(place.path)
        try:
            uid, name = kept_uid(connection), _kept_name(connection)
        finally:
            connection.close(True)
    except (apsw.Error, UnicodeDecodeError):
        # Also if the process ended while pages were written back from the log.
        return
    _compare(place, uid, name)


def confirm(connection: apsw.Connection, place: Place) -> None:
    """Run the comparison of `check` on an open connection, which includes the log."""
    _compare(place, kept_uid(connection), _kept_name(connection))


def kept_uid(connection: apsw.Connection) -> str | None:
    """Return the uid that a file keeps; `None` if it has none, or its row is damaged."""
    return _setting(connection, UID)


def _kept_name(connection: apsw.Connection) -> str | None:
    settings = _setting(connection, SETTINGS_KEY)
    return None if settings is None else str(json.loads(settings)["name"])


def _setting(connection: apsw.Connection, key: str) -> str | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM setting WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    row = rows.as_text(row, (0, 1))
    return str(row[1]) if rows.is_sound(row, "setting") else None


def is_missing(path: Path) -> bool:
    """Return whether the file is missing; a file whose directory is unreadable may exist."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def missing(path: Path) -> Corruption:
    """Return the error for a missing file of a collection."""
    return Corruption(
        "MISSING_FILE",
        f"{shown(path)} is missing: bring it back from a copy, or restore a snapshot under "
        "another name",
        file=shown(path),
    )


def wrong_file(path: Path, found: str) -> Corruption:
    """Return the error for a file of another collection; `found` names that one."""
    return Corruption(
        "WRONG_FILE",
        f"{shown(path)} is the file of {found}, not of the collection that the catalogue has "
        "there; it was left as it is: bring the right file back",
        file=shown(path),
    )


def shown(path: Path) -> str:
    """Return the path of a collection's file below the data directory; of another file its name."""
    inside = path.parent.parent.name == "collections"
    return "/".join(path.parts[-3:]) if inside else path.name


def _compare(place: Place, uid: str | None, name: str | None) -> None:
    if uid not in (None, place.uid):
        raise wrong_file(place.path, f"collection {uid}")
    if uid is None and place.name and name not in (None, place.name):
        raise wrong_file(place.path, f"a collection {name!r}")
