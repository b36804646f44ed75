"""`--store`: what the daemon and the commands say where a database is none that they can use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from support.postgres import LOCKED, PASSWORD, at, database, migrated, psycopg, through
from totonoe_core.helper.child import child_environment
from totonoe_server.life import config
from totonoe_server.life.daemon import StartupError
from totonoe_server.life.watchdog import ExitCode
from totonoe_server.tools import store as commands
from totonoe_server.tools import tokens, verify
from totonoe_server.tools.commands import serve
from totonoe_server.tools.options import with_settings
from totonoe_server.tools.testing import running_server


@pytest.fixture(autouse=True)
def _derived_files_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "user_cache_path", lambda _: tmp_path / "cache")
    for name in ("TOTONOE_STORE", "TOTONOE_DATA_DIR", "PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def url() -> str:
    return migrated()


@pytest.fixture
def run() -> Any:
    """Runs a command of those that know a database."""
    app = typer.Typer()
    tokens.register(app)
    commands.register(app)

    def call(*arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == code, (arguments, result.output)
        return result

    return call


def refusal(url: str) -> str:
    """What a daemon says that does not start."""
    with pytest.raises(StartupError) as refused, running_server(store=url):
        pass
    message = str(refused.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    "given",
    [
        *("mysql://host/name", "postgresql://host", "host/name", "host=/tmp dbname=x"),
        *("postgresql://host/name#there", "postgresql://[host/name"),
    ],
)
def test_address_of_another_form_is_refused(given: str) -> None:
    with pytest.raises(config.SettingsError) as refused:
        config.load(None, {"store": given})
    assert str(refused.value) == "store: allowed: postgresql://user@host:port/database (--store)"


@pytest.mark.parametrize(
    "given", ["postgresql://u:hush@host/name", "postgresql://u@host/name?password=hush"]
)
def test_password_in_an_address_is_refused_and_not_shown(given: str) -> None:
    with pytest.raises(config.SettingsError) as refused:
        config.load(None, {"store": given})
    assert "PGPASSWORD in the environment" in str(refused.value)
    assert "hush" not in str(refused.value)


def test_data_dir_and_store_are_refused_together_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    with pytest.raises(config.SettingsError, match="data_dir and store: give one"):
        config.load(None, {"store": url, "data_dir": tmp_path})
    monkeypatch.setenv("TOTONOE_DATA_DIR", str(tmp_path))
    with pytest.raises(config.SettingsError, match="data_dir and store: give one"):
        config.load(None, {"store": url})


def test_two_stores_named_are_refused_and_neither_is_taken(url: str, run: Any) -> None:
    app = typer.Typer(rich_markup_mode=None)
    app.command()(with_settings(serve))
    result = CliRunner().invoke(app, ["--store", url, "--store", url])
    assert result.exit_code == ExitCode.USAGE
    said = "Invalid value for '--store': given 2 times, allowed: once"
    assert said in result.stderr
    other = database()
    assert "given 2 times" in run("store", "migrate", *2 * ("--store", other), code=2).stderr
    assert "given 2 times" in run("tokens", "list", *2 * ("--store", url), code=2).stderr
    with psycopg.connect(other) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        assert tables.fetchone() == (0,)


def test_store_of_the_configuration_file_is_taken(tmp_path: Path, url: str) -> None:
    file = tmp_path / "totonoe.toml"
    file.write_text(f'store = "{url}"\nstore_pooler = true\n')
    loaded = config.load(file, {})
    assert (loaded.settings.store, loaded.settings.store_pooler) == (url, True)
    assert [place.target for place in loaded.settings.addresses] == ["127.0.0.1:7766"]


def test_command_for_a_data_directory_says_that_a_database_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    monkeypatch.setenv("TOTONOE_STORE", url)
    assert verify.run(None, False) == 2
    assert "store: the settings name a database" in capsys.readouterr().err


def test_database_that_cannot_be_used_is_refused_in_one_line(url: str) -> None:
    assert "Connection refused" in refusal("postgresql://postgres@127.0.0.1:1/name")
    assert 'invalid URI query parameter: "foo"' in refusal(f"{url}&foo=1")
    assert 'database "nowhere" does not exist' in refusal(at(url, "nowhere"))
    assert "version 0, this program of 2: migrate it first, by `store migrate`" in refusal(
        database()
    )
    assert "encoding is SQL_ASCII, not UTF8" in refusal(database("SQL_ASCII"))


def test_wrong_or_missing_password_is_refused_and_not_shown(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    locked = at(url, user=LOCKED)
    assert "PGPASSWORD, passfile in the address or ~/.pgpass gives it" in refusal(locked)
    monkeypatch.setenv("PGPASSWORD", "a wrong one")
    said = refusal(locked)
    assert f'password authentication failed for user "{LOCKED}"' in said
    assert "a wrong one" not in said
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "passfile"
    file.write_text(f"*:*:*:{LOCKED}:{PASSWORD}\n")
    file.chmod(0o600)
    # The password is right: what it refuses now is a right of the user.
    assert "password" not in refusal(f"{locked}&passfile={file}")


def test_helper_processes_do_not_get_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert "PATH" in child_environment()
    assert PASSWORD not in child_environment().values()


def test_database_of_another_application_is_refused_and_left_alone(run: Any) -> None:
    other = database()
    with psycopg.connect(other, autocommit=True) as connection:
        connection.execute("CREATE TABLE customer (id integer)")
    assert "holds 1 tables of another application" in refusal(other)
    made = run("store", "migrate", "--store", other, code=2)
    assert "holds 1 tables of another application" in made.stderr


def test_tables_of_a_later_version_are_refused_in_one_line(run: Any) -> None:
    later = migrated()
    with psycopg.connect(later, autocommit=True) as connection:
        connection.execute("UPDATE totonoe_version SET version = 99")
    assert "is of version 99, this program of 2: install a later one" in refusal(later)
    assert "version 99" in run("store", "migrate", "--store", later, code=2).stderr


def test_database_that_takes_no_writes_is_refused_by_name() -> None:
    standby = migrated()
    with psycopg.connect(standby, autocommit=True) as connection:
        name = psycopg.conninfo.conninfo_to_dict(standby)["dbname"]
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert "takes no writes: it is a standby, or" in refusal(standby)


@pytest.fixture
def wire_to(url: str) -> Iterator[Any]:
    with through(url) as found:
        yield found


@pytest.mark.parametrize("connections", range(4))
def test_database_that_goes_away_during_the_start_ends_it_in_one_line(
    wire_to: Any, connections: int
) -> None:
    between, address = wire_to
    between.connections_left = connections
    said = refusal(address)
    assert "cannot be used: " in said or "the database does not answer now" in said


def test_migrate_makes_the_tables_once_and_says_so(run: Any) -> None:
    made = database()
    assert run("store", "migrate", "--store", made).stdout == (
        "The database is of version 2 now (it was empty).\n"
    )
    assert run("store", "migrate", "--store", made).stdout == (
        "The database is of version 2 already; nothing to do.\n"
    )
    assert "store: name the database" in run("store", "migrate", code=2).stderr


def test_tokens_of_a_database_are_made_listed_and_revoked(run: Any, url: str) -> None:
    token = run("tokens", "create", "ann", "--grant", "*:read", "--store", url).stdout.strip()
    with psycopg.connect(url) as connection:
        ((kept,),) = connection.execute("SELECT identities FROM access_row").fetchall()
    assert '"ann"' in kept and token not in kept
    assert "ann: agent ann, token, valid" in run("tokens", "list", "--store", url).stdout
    run("tokens", "revoke", "ann", "--store", url)
    assert "revoked" in run("tokens", "list", "--store", url).stdout
    twice = run("tokens", "create", "ann", "--grant", "*:read", "--store", url, code=2)
    assert "name: 'ann' exists" in twice.stderr
    run("tokens", "remove", "ann", "--store", url)
    assert run("tokens", "list", "--store", url).stdout == "No identity.\n"
