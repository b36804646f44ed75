"""Daemons behind pgbouncer in transaction mode, which lends another connection each time."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.daemons import free_port
from support.engines import Store, contents, forget, remember, undo, update
from support.postgres import engines, migrated, psycopg, through
from support.waits import wait_until
from totonoe_core.domain.records import Status

DAEMONS, COPIES, ROUNDS = 2, 16, 10
CONNECTIONS = 4
POOLER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(POOLER is None, reason="pgbouncer is not installed"),
]


@pytest.fixture
def pooled() -> Iterator[str]:
    """The address of a database through a pooler with fewer connections than the daemons have."""
    port = free_port()
    with through(migrated()) as (_, url), tempfile.TemporaryDirectory() as directory:
        parts = psycopg.conninfo.conninfo_to_dict(url)
        written = Path(directory) / "pgbouncer.ini"
        written.write_text(
            f"[databases]\n"
            f"* = host=127.0.0.1 port={parts['port']} user=postgres\n"
            f"[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\n"
            f"listen_port = {port}\n"
            f"unix_socket_dir =\n"
            f"auth_type = any\n"
            f"pool_mode = transaction\n"
            f"default_pool_size = {CONNECTIONS}\n"
        )
        # It does not run as root, and its other user reads the file.
        Path(directory).chmod(0o755)
        other = ["-u", "nobody"] if os.geteuid() == 0 else []
        with subprocess.Popen([str(POOLER), "-q", *other, str(written)]) as pooler:
            at = f"postgresql://postgres@127.0.0.1:{port}/{parts['dbname']}"
            try:
                wait_until(lambda: answers(at))
                yield at
            finally:
                pooler.terminate()


def answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=10).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture
def daemons(tmp_path: Path, pooled: str) -> Iterator[list[Store]]:
    with engines(tmp_path, pooled, DAEMONS, pooled=True) as found:
        yield found


def test_what_one_daemon_does_another_shows_and_takes_back(daemons: list[Store]) -> None:
    one, other = daemons
    kept = one.save("the heating is set to 21 degrees")
    gone = one.save("the cat sleeps on the sofa")
    other.do(update(kept, content="the heating is set to 23 degrees", force=True))
    other.do(forget(gone))
    one.do(undo(other.revision))
    assert one.one(gone).status is Status.ACTIVE
    assert one.one(kept).content == "the heating is set to 23 degrees"
    # No notice comes through a pooler: the other one looks once a second.
    wait_until(lambda: other.one(gone).status is Status.ACTIVE)


def test_of_many_who_say_the_same_at_once_one_is_saved(daemons: list[Store]) -> None:
    for number in range(ROUNDS):
        said = [remember(f"the heating of round {number} is set to 21 degrees")] * COPIES
        with ThreadPoolExecutor(COPIES) as callers:
            answers = callers.map(lambda store, one: store.do(one), daemons * COPIES, said)
            assert sum(answer.saved for answer in answers) == 1
    assert len(contents(daemons[0])["memories"]) == ROUNDS
