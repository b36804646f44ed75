"""A real standby: refused while it is one, and served from once it is promoted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from support.engines import Store, forget, remember
from support.postgres import Server, Standby, engines, parts_of, psycopg
from support.waits import wait_until
from totonoe_core.base.errors import ReadOnly, Unavailable
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.domain.records import Status
from totonoe_core.store.postgres.store import PostgresStore
from totonoe_server.life import config
from totonoe_server.life.daemon import StartupError
from totonoe_server.tools import store as commands
from totonoe_server.tools.testing import running_server

DAEMONS = 2
KEPT, LOST = "the heating is set to 21 degrees", "the boiler was cleaned in May"

pytestmark = pytest.mark.postgres


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server()
    try:
        PostgresStore(found.url, tmp_path / "migrating").migrate()
        yield found
    finally:
        found.stop()


@pytest.fixture
def standby(server: Server) -> Iterator[Standby]:
    with server.standby() as found:
        yield found


@pytest.fixture
def both(server: Server, standby: Standby) -> str:
    """The address of both: a connection goes to the one that takes writes."""
    hosts = ",".join(parts_of(item.url)["host"] for item in (server, standby))
    return f"postgresql://postgres@/{parts_of(server.url)['dbname']}?host={hosts}"


def test_standby_is_refused_in_one_line_by_daemon_and_command(
    standby: Standby, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "user_cache_path", lambda _: tmp_path)
    said = "takes no writes: it is a standby, or"
    with pytest.raises(StartupError, match=said) as refused, running_server(store=standby.url):
        pass
    assert "\n" not in str(refused.value)
    app = typer.Typer()
    commands.register(app)
    result = CliRunner().invoke(app, ["store", "migrate", "--store", standby.url])
    assert result.exit_code
    assert said in result.stderr


def test_standby_named_first_is_passed_over_for_the_primary(
    server: Server, standby: Standby, tmp_path: Path
) -> None:
    hosts = ",".join(parts_of(item.url)["host"] for item in (standby, server))
    url = f"postgresql://postgres@/{parts_of(server.url)['dbname']}?host={hosts}"
    with engines(tmp_path, url) as (store,):
        kept = store.save(KEPT)
        wait_until(lambda: kept in ids_in(standby.url))


def test_promotion_that_lost_commits_is_seen_by_every_daemon(
    server: Server, standby: Standby, both: str, tmp_path: Path
) -> None:
    with engines(tmp_path, both, DAEMONS) as daemons:
        one, other = daemons
        kept = one.save(KEPT)
        forgotten = other.save("the cat sleeps on the sofa")
        wait_until(lambda: {kept, forgotten} <= ids_in(standby.url))
        standby.leave()
        lost = one.apply(remember(LOST), operation_id="op-lost").results[0].memory_id
        other.do(forget(forgotten))
        one.save("so that it has taken the last one in")
        server.kill()
        for store in daemons:
            with pytest.raises((ReadOnly, Unavailable)):
                store.save("nobody takes writes now")
        standby.promote()
        new = [until_saved(store, f"{store.path.name} goes on") for store in daemons]
        wait_until(lambda: all(set(new) <= ids_of(store) for store in daemons))
        for store in daemons:
            assert ids_of(store) == {kept, forgotten, *new}
            assert store.one(forgotten).status is Status.ACTIVE
            found = store.recall(RecallQuery("anna", LOST)).hits
            assert lost not in [hit.memory.id for hit in found], "its index was made anew"
        # Nobody has it, so it is decided anew, and then is known everywhere.
        again = other.apply(remember(LOST), operation_id="op-lost")
        assert again.results[0].saved and not again.replayed
        assert one.apply(remember(LOST), operation_id="op-lost").replayed


def ids_in(url: str) -> set[str]:
    """Ids of the memories that a server has now."""
    with psycopg.connect(url, autocommit=True) as connection:
        return {found for (found,) in connection.execute("SELECT id FROM memory")}


def ids_of(store: Store) -> set[str]:
    return {memory.id for memory in store.list()}


def until_saved(store: Store, text: str) -> str:
    """The id under which a text is saved, once the database takes writes."""
    saved: list[str] = []

    def save() -> bool:
        try:
            saved.append(store.save(text))
        except (ReadOnly, Unavailable):
            return False
        return True

    wait_until(save)
    return saved[0]
