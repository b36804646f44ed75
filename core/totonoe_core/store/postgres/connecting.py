"""Connections to the database, and one clear line where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper

from totonoe_core.base import limits
from totonoe_core.base.errors import ReadOnly, TotonoeError, Unavailable
from totonoe_core.store.postgres import migrate
from totonoe_core.store.postgres.address import shown
from totonoe_core.store.postgres.session import typed

Connection = psycopg.Connection[tuple[Any, ...]]
Connect = Callable[[], Connection]

_CONNECT_TIMEOUT_S = 10
_SILENCE_MS_MAX = 10_000
_PREPARED_FROM = 2
_WHY_CHARS_MAX = 300


def connector(url: str, pooled: bool) -> Connect:
    """Return what opens a connection that commits by itself.

    Parameters
    ----------
    url : str
        Address as libpq takes it. It is in no error and no log.
    pooled : bool
        True if a transaction pooler lies in between, which lends another connection each time: no
        statement is prepared then, and the server takes twice the CPU.
    """
    threshold = None if pooled else _PREPARED_FROM

    def connect() -> Connection:
        try:
            return _opened(url, threshold, "read-write")
        except psycopg.Error as error:
            if _takes_no_writes(url):
                raise ReadOnly("READ_ONLY", "the database takes no writes now") from error
            raise typed(error) from error

    return connect


def look(url: str) -> None:
    """Raise one clear line if a database is none that a daemon can use; for the start.

    Raises
    ------
    Unavailable
        It cannot be reached, or refuses the user. The message quotes the server.
    ReadOnly
        It is a standby, or takes no writes.
    UnsupportedFormat
        It is another application's, of another version, or not in UTF-8.
    """
    with _in_use(url) as connection:
        migrate.check(connection)


def migrated(url: str) -> tuple[int, int]:
    """Bring the tables to this program's version; return the version before, and that now.

    Raises as `look`.
    """
    with _in_use(url) as connection:
        return migrate.migrate(connection), migrate.newest()


@contextmanager
def _in_use(url: str) -> Iterator[Connection]:
    """Open a connection for writing, whatever tables there are. Raises as `look`."""
    try:
        with _opened(url, None, "read-write") as connection:
            yield connection
    except psycopg.Error as error:
        raise _refusal(url, error) from error


def _opened(url: str, threshold: int | None, kind: str) -> Connection:
    connection = psycopg.connect(
        url,
        autocommit=True,
        prepare_threshold=threshold,
        connect_timeout=_CONNECT_TIMEOUT_S,
        # A server whose machine is gone answers nothing, and ends nothing.
        tcp_user_timeout=_SILENCE_MS_MAX,
        target_session_attrs=kind,
        application_name="totonoe",
        client_encoding="utf8",
    )
    # Else numbers have the type of their size, and each mixture of sizes is another statement.
    connection.adapters.register_dumper(int, Int8BinaryDumper)
    # As texts they would have no type, by which `unnest` goes, and bytes twice their size.
    connection.adapters.register_dumper(list, ListBinaryDumper)
    return connection


def _takes_no_writes(url: str) -> bool:
    try:
        with _opened(url, None, "any") as connection:
            found = connection.execute("SHOW transaction_read_only").fetchone()
    except psycopg.Error:
        return False
    return found == ("on",)


def _refusal(url: str, error: psycopg.Error) -> TotonoeError:
    where = shown(url)
    if _takes_no_writes(url):
        return ReadOnly(
            "READ_ONLY",
            f"the database {where} takes no writes: it is a standby, or "
            "default_transaction_read_only is on; name the primary, or all hosts with commas",
        )
    why = _why(error)
    hint = "; PGPASSWORD, passfile in the address or ~/.pgpass gives it" if "passw" in why else ""
    return Unavailable(
        "STORE_UNAVAILABLE",
        f"the database {where} cannot be used: {why}{hint}",
        retry_delay_ms=limits.RETRY_DELAY_MS,
    )


def _why(error: psycopg.Error) -> str:
    """Return why libpq got no connection, on one line; of several hosts, for the last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    hosts = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    # The lines behind it are advice for who is on the machine of the server.
    text = (hosts[-1:] or lines or [type(error).__name__])[0]
    for beginning in ("connection failed: ", "connection is bad: "):
        text = text.rpartition(beginning)[2]
    return " ".join(text.split())[:_WHY_CHARS_MAX]
