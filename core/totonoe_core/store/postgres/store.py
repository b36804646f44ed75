"""The store on one PostgreSQL database, which many daemons may write at once."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from totonoe_core.base.errors import Corruption
from totonoe_core.store import directories, rows, seam
from totonoe_core.store.aside import Aside
from totonoe_core.store.postgres.catalog import Catalog
from totonoe_core.store.postgres.collection_file import CollectionFile
from totonoe_core.store.postgres.connecting import connector, look, migrated
from totonoe_core.store.postgres.notices import Notices
from totonoe_core.store.postgres.reader import ReaderPool
from totonoe_core.store.postgres.session import Session
from totonoe_core.store.postgres.snapshots import Snapshots
from totonoe_core.store.records import Place
from totonoe_core.store.tables.sql import PUT_SETTING


class PostgresStore:
    """`Store` on a database. It has no capability of files: the server's tools do that.

    Parameters
    ----------
    url : str
        Address as libpq takes it. It may hold a password, so it is in no error and no log.
    derived : Path
        Directory of this daemon alone, for files that can be made anew from the rows.
    pooled : bool
        See `connecting.connector`.
    """

    name = "postgresql"
    notices: Notices | None
    copies: seam.FileCopies | None = None
    checks: seam.FileChecks | None = None
    shared = True

    def __init__(self, url: str, derived: Path, *, pooled: bool = False) -> None:
        self._url = url
        self._connect = connector(url, pooled)
        self.notices = None if pooled else Notices(self._connect)
        self._derived = derived
        directories.make(derived / "collections")
        self.snapshots: seam.KeptSnapshots | None = Snapshots(self._connect, derived)

    def _session(self, uid: str) -> Session:
        return Session(self._connect, uid)

    def migrate(self) -> int:
        """Bring the tables to the version of this program; return the version before.

        Raises `UnsupportedFormat`, `Unavailable`, `ReadOnly`.
        """
        return migrated(self._url)[0]

    def catalogue(self) -> seam.Catalog:
        """See `Store.catalogue`. Raises `UnsupportedFormat` for other tables than today's."""
        look(self._url)
        return Catalog(self._session(""), self._derived)

    def make(self, place: Place, settings: Mapping[str, str]) -> None:
        """See `Store.make`."""
        session = self._session(place.uid)
        try:
            session.begin()
            session.execute("INSERT INTO collection (uid, revision) VALUES ($1, 0)")
            session.write_all(PUT_SETTING, map(rows.seal, settings.items()))
            session.end("COMMIT")
        finally:
            session.close()

    def open(self, place: Place) -> seam.CollectionFile:
        """See `Store.open`."""
        self.check(place)
        directories.make(place.path.parent)
        tell = None if self.notices is None else functools.partial(self.notices.tell, place.uid)
        return CollectionFile(self._session(place.uid), place, tell)

    def adopt(self, file: seam.CollectionFile, place: Place) -> None:
        """Do nothing: here every row has the uid of its collection."""

    def check(self, place: Place) -> None:
        """See `Store.check`."""
        session = self._session(place.uid)
        try:
            if session.execute("SELECT 1 FROM collection WHERE uid = $1").get is None:
                raise Corruption(
                    "MISSING_FILE",
                    f"the database has no collection {place.uid}, which its catalogue lists",
                    file=place.uid,
                )
        finally:
            session.close()

    def readers(self, place: Place, size: int, aside: Aside | None = None) -> seam.ReaderPool:
        """See `Store.readers`."""
        return ReaderPool(lambda: self._session(place.uid), size, aside)

    def size_bytes(self, _: Place) -> int:
        """Return 0: the database keeps the rows of all collections in the same files."""
        return 0
