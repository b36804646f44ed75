"""Rebuilding of the catalogue of a data directory that no daemon has open.

    a catalogue that can be read   stays, and gets the collections on disk that it does not list
    else                           it is set aside (`catalog.db.bad`); the copy that the newest
                                   snapshot left takes its place, or an empty one

Each file holds its uid and its name. Of several files of one name, which deletions and restores
leave behind, the one with the newest operation gets it, and each other one the name with a part of
its uid. So nothing is lost, but a collection that was deleted after the copy was made is back.
"""

from __future__ import annotations

from dataclasses import dataclass

from totonoe_core.base import limits, plain
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import TotonoeError
from totonoe_core.base.ids import new_operation_id
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.store.records import Place
from totonoe_core.store.seam import FileCatalog, Store, needed

KIND = "RebuildCatalogue"


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Result of a rebuilding.

    Attributes
    ----------
    begun_from : str
        "catalogue" if it could be read, "copy" or "nothing".
    listed : tuple of (str, str)
        Name and uid of each collection that was added.
    unread : tuple of (str, str)
        Directory of each file that cannot be read, and why. They stay where they are.
    """

    begun_from: str
    listed: tuple[tuple[str, str], ...]
    unread: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _UnlistedFile:
    """A file that the catalogue does not list; `time_us` is that of its newest operation."""

    uid: str
    info: CollectionInfo
    time_us: int


def rebuild_catalogue(store: Store, clock: Clock) -> Rebuilt:
    """Make the catalogue of a store of files anew from its files; see the module.

    Raises `ReadOnly`, `CommitsLost` if the catalogue lacks commits, `OSError`, `NotOnThisStore`.
    """
    copies = needed(store.copies, "rebuilding of the catalogue", store.name)
    begun_from = copies.begin_catalogue()
    catalog = store.catalogue()
    try:
        found, unread = _unlisted(store, copies.catalogue)
        listed = []
        taken = set(catalog.names())
        for row in sorted(found, key=lambda each: (-each.time_us, each.uid)):
            name = row.info.name
            if name in taken:
                shortened = name[: limits.COLLECTION_NAME_CHARS_MAX - len(row.uid) - 1]
                name = f"{shortened}-{row.uid}"
                # The file names it too. After a crash here the next run takes this name.
                copies.rename(catalog.place(row.uid, name))
            taken.add(name)
            listed.append((name, row.uid))
            catalog.put(
                uid=row.uid,
                name=name,
                deleted_us=None,
                operation_id=new_operation_id(),
                agent_id="",
                kind=KIND,
                digest=b"",
                answer=plain.dumps(row.info),
                time_us=clock(),
            )
        return Rebuilt(begun_from, tuple(listed), tuple(unread))
    finally:
        catalog.close()


def _unlisted(
    store: Store, catalog: FileCatalog
) -> tuple[list[_UnlistedFile], list[tuple[str, str]]]:
    """Return the files that a catalogue does not list, and those that cannot be read."""
    found, unread = [], []
    for uid in catalog.unlisted():
        try:
            info, time_us = _read(store, catalog.place(uid, ""))
        except (TotonoeError, OSError, KeyError, ValueError) as error:
            unread.append((f"collections/{uid}", str(error)))
        else:
            found.append(_UnlistedFile(uid, info, time_us))
    return found, unread


def _read(store: Store, place: Place) -> tuple[CollectionInfo, int]:
    """Read settings and newest time of a file. Raises what `CollectionState.read_info` raises."""
    info = CollectionState.read_info(store, place)
    pool = store.readers(place, 1)
    try:
        with pool.rows() as rows:
            return info, rows.history.newest_time()
    finally:
        pool.close()
