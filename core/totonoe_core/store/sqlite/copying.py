"""A data directory as one side of a copy (`store/copying.py`). The caller holds its lock."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from totonoe_core.base.errors import AlreadyExists
from totonoe_core.store import rows
from totonoe_core.store.copying import TABLES, Put, Reading
from totonoe_core.store.records import Place
from totonoe_core.store.sqlite import loss, sql
from totonoe_core.store.sqlite.catalog import REBUILD, Catalog
from totonoe_core.store.sqlite.collection_file import CLEANING, CollectionFile
from totonoe_core.store.sqlite.identity import UID
from totonoe_core.store.sqlite.schema import COLLECTION, make_file, open_reader

_log = logging.getLogger(__name__)

OWN_SETTINGS = (UID, loss.BATCH, CLEANING)
"""Settings that a file needs and no other store: they stay behind, or are made anew."""
_OTHERS = "key NOT IN (" + ", ".join(f"'{setting}'" for setting in OWN_SETTINGS) + ")"


class SqliteSide:
    """`Side` of a data directory.

    Opening finishes what an earlier daemon or copy left half done. Raises `CommitsLost` if the
    catalogue lacks commits, `Corruption`, `ReadOnly`.
    """

    def __init__(self, data_dir: Path) -> None:
        self._catalog = Catalog(data_dir)
        try:
            if self._catalog.loss is not None:
                raise self._catalog.loss.error()
            for name in self._catalog.recover():
                _log.warning("collections/%s is not in the catalogue, and is left alone", name)
        except BaseException:
            self._catalog.close()
            raise

    def close(self) -> None:
        """See `Side.close`."""
        self._catalog.close()

    def collections(self) -> list[rows.Row]:
        """See `Side.collections`."""
        return self._catalog.every_collection()

    def operations(self) -> list[rows.Row]:
        """See `Side.operations`."""
        return self._catalog.every_operation()

    @contextmanager
    def reading(self, listed: rows.Row) -> Iterator[Reading]:
        """See `Side.reading`. Brings a file of an earlier format forward first."""
        place = self._catalog.place(*listed[:2])
        file = CollectionFile(place.path, place, noted=True)
        try:
            file.commits.check()
        finally:
            file.close()
        with _opened(place) as reading:
            yield reading

    def write(
        self,
        listed: rows.Row,
        operations: Sequence[rows.Row],
        fill: Callable[[Put], None],
        check: Callable[[Reading], None],
    ) -> None:
        """See `Side.write`. Until it is listed, the next start removes it."""
        place = self._catalog.place(*listed[:2])
        if place.path.parent.exists():
            raise AlreadyExists(
                "COLLECTION_EXISTS",
                kind="collection",
                name=place.name,
                hint=f"its directory is there, and the catalogue does not list it: {REBUILD}",
            )

        def filled(connection: apsw.Connection) -> None:
            _put(connection, "setting", [rows.seal((UID, place.uid))])
            fill(functools.partial(_put, connection))

        self._catalog.begin_new(place.uid)
        try:
            make_file(place.path, COLLECTION, filled)
            with _opened(place) as written:
                check(written)
        except BaseException:
            self._catalog.drop_new(place.uid)
            raise
        # Not dropped if this fails, since it may be listed: the next start knows.
        self._catalog.take([listed], operations)

    def keep(self, operations: Sequence[rows.Row]) -> None:
        """See `Side.keep`."""
        self._catalog.take([], operations)


def _put(connection: apsw.Connection, table: str, found: Sequence[rows.Row]) -> None:
    columns, _ = TABLES[table]
    marks = ", ".join("?" * len(columns.split(", ")))
    connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", found)


@contextmanager
def _opened(place: Place) -> Iterator[Reading]:
    connection = open_reader(place.path, COLLECTION, place)
    try:
        yield _FileReading(connection, place.path.name)
    finally:
        connection.close()


class _FileReading:
    """`Reading` of a collection's file. Texts are read as bytes, so that a bad one is seen."""

    def __init__(self, connection: apsw.Connection, name: str) -> None:
        self._connection, self._name = connection, name
        self._texts: dict[str, list[int]] = {}

    def count(self, table: str) -> int:
        """See `Reading.count`."""
        ((count,),) = self._found(f"SELECT count(*) FROM {table} WHERE {_which(table)}")
        return int(count)

    def after(self, table: str, key: rows.Row | None, limit: int) -> list[rows.Row]:
        """See `Reading.after`."""
        columns, order = TABLES[table]
        where, given = _which(table), () if key is None else key
        if key is not None:
            where += f" AND ({order}) > ({', '.join('?' * len(key))})"
        found = self._found(
            f"SELECT {sql.readable(columns)} FROM {table} WHERE {where} ORDER BY {order} LIMIT ?",
            (*given, limit),
        )
        texts = self._text_places(table)
        return [rows.as_text(row, texts) for row in found]

    def _text_places(self, table: str) -> list[int]:
        if table not in self._texts:
            found = self._found(f"SELECT name, type FROM pragma_table_info('{table}')")
            types: dict[str, str] = dict(found)
            columns = TABLES[table][0].split(", ")
            self._texts[table] = [
                at for at, column in enumerate(columns) if types[column] == "TEXT"
            ]
        return self._texts[table]

    def _found(self, query: str, given: rows.Row = ()) -> list[rows.Row]:
        try:
            return self._connection.execute(query, given).fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            sql.raise_damage(error, self._name)
            raise


def _which(table: str) -> str:
    return _OTHERS if table == "setting" else "1"
