"""Inspection of all files of a data directory that no daemon has open.

Reads only. For each file: SQLite's own check, and every row against its checksum. For a
collection's file also its identity, gaps between revisions, the inverse and both ends of each link,
and the successors of superseded memories. For file and log together, whether every acknowledged
commit is there (`store/sqlite/loss.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from totonoe_core.base.errors import Corruption, TotonoeError
from totonoe_core.base.ids import COLLECTION_UID
from totonoe_core.domain.records import LinkType
from totonoe_core.store.records import SETTINGS_KEY, Place
from totonoe_core.store.sqlite import checks, identity, length, sql
from totonoe_core.store.sqlite.catalog import NEW, TEMPORARY
from totonoe_core.store.sqlite.loss import CATALOGUE, Evidence
from totonoe_core.store.sqlite.schema import CATALOG, COLLECTION, FileKind, format_of, open_reader
from totonoe_core.store.tables.catalog import PURGE

FINDINGS_MAX = 100  # named findings of each kind and file


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """Findings in one file; sound if `findings` is empty.

    `name` is the collection's, empty for the catalogue and for unlisted files; `deleted` is as the
    catalogue lists it. `row_count` is the number of checked rows. With `left_by_crash` the file was
    not checked: the next start removes it, and no answered change is in it.
    """

    path: str
    name: str
    deleted: bool
    format: int
    row_count: int
    findings: tuple[str, ...]
    left_by_crash: bool = False


@dataclass(frozen=True, slots=True)
class _CatalogueContents:
    """Contents of the catalogue: (name, deleted) by uid, and uids that were purged."""

    names: Mapping[str, tuple[str, bool]]
    purged: frozenset[str]


def inspect(data_dir: Path) -> list[InspectedFile]:
    """Inspect the catalogue and the file of each collection, deleted ones too."""
    catalog, root = data_dir / "catalog.db", data_dir / "collections"
    tables = [_inspected(data_dir, catalog, CATALOG, checks.CATALOG_KEYS, None, False)]
    listed = _listed(catalog)
    there = {path.name for path in root.glob("*")}
    directories = {name for name in there if (root / name).is_dir()}
    if listed is not None:
        left = {name for name in directories if _left_by_crash(name, there, listed)}
        tables += [
            InspectedFile(f"collections/{name}", "", False, 0, 0, (), left_by_crash=True)
            for name in sorted(left)
        ]
        directories -= left
    names = {} if listed is None else listed.names
    for uid in sorted({name.removesuffix(TEMPORARY) for name in directories} | set(names)):
        # Restored and listed: the next start gives the directory its name.
        place = uid if uid in directories else uid + TEMPORARY
        path = root / (place if place in directories else uid) / "memory.db"
        name, deleted = names.get(uid, ("", False))
        if uid not in names and not path.exists():
            continue  # a crash while it was made: it never held anything
        where = Place(path, uid, name)
        tables.append(
            _inspected(data_dir, path, COLLECTION, checks.COLLECTION_KEYS, where, deleted)
        )
    return tables


def listed_names(catalog: Path) -> dict[str, tuple[str, bool]]:
    """Return (name, deleted) by uid, as far as readable."""
    listed = _listed(catalog)
    return {} if listed is None else dict(listed.names)


def _left_by_crash(name: str, there: Set[str], listed: _CatalogueContents) -> bool:
    """Return whether a directory is the rest of a crash during a restore, a creation or a purge."""
    uid = name.removesuffix(TEMPORARY)
    half_made = name != uid or uid + NEW in there or uid in listed.purged
    return half_made and uid not in listed.names


def _listed(catalog: Path) -> _CatalogueContents | None:
    """Return the contents of the catalogue; `None` if it is unreadable."""
    try:
        connection = open_reader(catalog, CATALOG)
    except (TotonoeError, apsw.Error):
        return None
    try:
        cursor = connection.execute("SELECT uid, name, deleted_us FROM collection")
        # A damaged row may hold anything; another finding names it.
        names = {
            uid: (str(name), gone is not None)
            for uid, name, gone in cursor
            if isinstance(uid, str) and COLLECTION_UID.match(uid)
        }
        purges = connection.execute("SELECT uid FROM operation WHERE kind = ?", (PURGE,))
        return _CatalogueContents(names, frozenset(str(uid) for (uid,) in purges))
    except (apsw.Error, UnicodeDecodeError):
        return None
    finally:
        connection.close()


def _inspected(
    data_dir: Path,
    path: Path,
    kind: FileKind,
    keys: Mapping[str, Sequence[str]],
    place: Place | None,
    deleted: bool,
) -> InspectedFile:
    """Inspect one file; `place` is the collection that it must belong to."""
    where, name = str(path.relative_to(data_dir)), "" if place is None else place.name
    try:
        evidence = Evidence(path, CATALOGUE if place is None else place.uid)
        if place is not None:
            identity.check(place)
        length.check(path, evidence.log)
        connection = open_reader(path, kind)
    except (TotonoeError, apsw.Error) as error:
        said = error.message if isinstance(error, TotonoeError) else str(error)
        return InspectedFile(where, name, deleted, 0, 0, (said,))
    format_, row_count = 0, 0
    findings: list[str] = []
    try:
        format_ = format_of(connection, path, kind) or 0
        findings += _lost(evidence, connection, name)
        findings += [f"SQLite: {line}" for line in checks.damage(connection)]
        for table, count, bad, damaged in checks.every_bad(connection, keys):
            row_count += count
            findings += [
                f"{table}: row {checks.bad_name(key)} does not match its checksum"
                for key in bad[:FINDINGS_MAX]
            ]
            if len(bad) > FINDINGS_MAX:
                findings.append(f"{table}: {len(bad)} such rows in all")
            if damaged:
                findings.append(f"{table}: cannot be read to its end")
        if place is not None:
            findings += _settings(connection, place)
            findings += _relations(connection)
    except (apsw.Error, UnicodeDecodeError) as error:
        findings.append(
            f"cannot be read: {sql.damaged(path.name) if sql.is_damage(error) else error}"
        )
    finally:
        connection.close()
    return InspectedFile(where, name, deleted, format_, row_count, tuple(findings))


def _lost(evidence: Evidence, connection: apsw.Connection, name: str) -> list[str]:
    """Describe lost commits of the file, and a side file of another collection."""
    try:
        lost = evidence.look(connection)
    except Corruption as error:
        return [error.message]
    except apsw.Error:
        return []  # SQLite's own check names the fault
    said = [] if lost is None else [lost.named(name).error().message]
    if evidence.foreign:
        said.append(f"its side file is that of collection {evidence.foreign}, and is not used")
    return said


def _settings(connection: apsw.Connection, place: Place) -> list[str]:
    """Check the rows that identify a collection's file: foreign, or lost."""
    try:
        identity.confirm(connection, place)
    except Corruption as error:
        return [error.message]
    held = "SELECT count(*) FROM setting WHERE key = ?"
    there = connection.execute(held, (SETTINGS_KEY,)).get
    return [] if there else ["setting: the collection's settings are lost"]


_RELATIONS = {
    # A confirmed loss leaves a gap at the revisions that it names.
    "revisions have gaps": (
        "SELECT 'operation', count(*) || ' operations up to revision ' || max(revision) "
        "FROM operation HAVING count(*) + coalesce(sum(CASE kind WHEN 'AcceptLoss' THEN "
        "json_extract(touched, '$.lost[1]') - json_extract(touched, '$.lost[0]') + 1 END), 0) "
        "<> coalesce(max(revision), 0)"
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
    """Return contradictions between rows."""
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
