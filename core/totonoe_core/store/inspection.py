"""Everything that can be found out about the files of a data directory that nobody has open.

Reads only. What is looked at in each file: SQLite's own check, every row against its checksum; in a
collection's also that revisions have no gap, that each link has its inverse and two ends that may
be linked, and that what took the place of a memory is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from totonoe_core.errors import TotonoeError
from totonoe_core.records import LinkType
from totonoe_core.store import checks, rows
from totonoe_core.store.schema import CATALOG, COLLECTION, FileKind, format_of, open_reader

FINDINGS_MAX = 100  # of each kind and file that are named


@dataclass(frozen=True, slots=True)
class Inspected:
    """What was found in one file; sound if `findings` is empty.

    `name` is the collection's, empty for the catalogue and for what it does not list; `deleted`:
    the catalogue lists it so. `row_count` are those that were looked at.
    """

    path: str
    name: str
    deleted: bool
    format: int
    row_count: int
    findings: tuple[str, ...]


def inspect(data_dir: Path) -> list[Inspected]:
    """Looks at the catalogue and at the file of each collection, deleted ones too."""
    catalog = data_dir / "catalog.db"
    found = [_inspected(data_dir, catalog, CATALOG, checks.CATALOG_KEYS, "", False)]
    listed = _listed(catalog)
    directories = {path.name for path in (data_dir / "collections").glob("*") if path.is_dir()}
    for uid in sorted(directories | set(listed)):
        path = data_dir / "collections" / uid / "memory.db"
        name, deleted = listed.get(uid, ("", False))
        if uid not in listed and not path.exists():
            continue  # a crash while it was made: nothing was ever in it
        found.append(_inspected(data_dir, path, COLLECTION, checks.COLLECTION_KEYS, name, deleted))
    return found


def _listed(catalog: Path) -> dict[str, tuple[str, bool]]:
    """(name, deleted) by uid, as far as it can be read."""
    try:
        connection = open_reader(catalog, CATALOG)
    except (TotonoeError, apsw.Error):
        return {}
    try:
        found = connection.execute("SELECT uid, name, deleted_us FROM collection")
        return {str(uid): (str(name), gone is not None) for uid, name, gone in found}
    except (apsw.Error, UnicodeDecodeError):
        return {}
    finally:
        connection.close()


def _inspected(
    data_dir: Path,
    path: Path,
    kind: FileKind,
    keys: Mapping[str, Sequence[str]],
    name: str,
    deleted: bool,
) -> Inspected:
    where = str(path.relative_to(data_dir))
    try:
        connection = open_reader(path, kind)
    except (TotonoeError, apsw.Error) as error:
        said = error.message if isinstance(error, TotonoeError) else str(error)
        return Inspected(where, name, deleted, 0, 0, (said,))
    try:
        format_ = format_of(connection, path, kind) or 0
        findings = [f"SQLite: {line}" for line in checks.damage(connection)]
        row_count = 0
        for table, count, bad, damaged in checks.every_bad(connection, keys):
            row_count += count
            findings += [
                f"{table}: row {checks.bad_name(one)} does not match its checksum"
                for one in bad[:FINDINGS_MAX]
            ]
            if len(bad) > FINDINGS_MAX:
                findings.append(f"{table}: {len(bad)} such rows in all")
            if damaged:
                findings.append(f"{table}: cannot be read to its end")
        if kind is COLLECTION:
            findings += _relations(connection)
    except (apsw.Error, UnicodeDecodeError) as error:
        findings.append(
            f"cannot be read: {rows.damaged(path.name) if rows.is_damage(error) else error}"
        )
    finally:
        connection.close()
    return Inspected(where, name, deleted, format_, row_count, tuple(findings))


_RELATIONS = {
    "revisions have gaps": (
        "SELECT 'operation', count(*) || ' operations up to revision ' || max(revision) "
        "FROM operation HAVING count(*) <> coalesce(max(revision), 0)"
    ),
    "a link without its inverse": (
        "SELECT 'link', a.source || ' -> ' || a.target FROM link a LEFT JOIN link b "
        "ON b.source = a.target AND b.target = a.source AND b.type = inverse(a.type) "
        "AND b.confidence = a.confidence AND b.note = a.note WHERE b.source IS NULL"
    ),
    "a link to what is not there": (
        "SELECT 'link', l.source || ' -> ' || l.target FROM link l "
        "LEFT JOIN memory m ON m.row = l.target "
        "WHERE m.row IS NULL OR m.status IN ('forgotten', 'purged')"
    ),
    "superseded by what is not there": (
        "SELECT 'memory', 'row ' || m.row FROM memory m "
        "LEFT JOIN memory b ON b.id = m.superseded_by "
        "WHERE m.superseded_by <> '' AND b.row IS NULL"
    ),
    "a before image of a revision to come": (
        "SELECT 'image', 'revision ' || revision FROM image "
        "WHERE revision > (SELECT coalesce(max(revision), 0) FROM operation)"
    ),
}


def _relations(connection: apsw.Connection) -> list[str]:
    """What does not fit together between rows."""
    connection.create_scalar_function("inverse", _inverse, 1)
    return [
        f"{table}: {what}: {which}"
        for what, sql in _RELATIONS.items()
        for table, which in connection.execute(f"{sql} LIMIT {FINDINGS_MAX}")
    ]


def _inverse(*values: Any) -> str:
    try:
        return LinkType(values[0]).inverse.value
    except ValueError:
        return ""
