"""`totonoe tokens` and `totonoe certs`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from totonoe_server.access.book import Book
from totonoe_server.access.tokens import digest_of, is_token
from totonoe_server.tools import certs, tokens


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command on a data directory that nobody has made yet."""
    monkeypatch.setenv("TOTONOE_DATA_DIR", str(tmp_path / "state" / "data"))
    app = typer.Typer()
    tokens.register(app)
    certs.register(app)

    def call(*arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == code, (arguments, result.output)
        return result

    return call


def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "state" / "data")


def test_token_is_printed_once_and_kept_as_its_digest(run: Any, tmp_path: Path) -> None:
    made = run("tokens", "create", "coder", "--agent", "ann", "--grant", "team-*:read,remember",
               "--grant", "default:read", "--expires", "90d")  # fmt: skip
    token = made.stdout.strip()
    assert is_token(token)
    (identity,) = book(tmp_path).read()
    assert (identity.agent_id, identity.keys[0].digest) == ("ann", digest_of(token))
    assert identity.expires_us - identity.created_us == 90 * 86_400 * 1_000_000
    file = tmp_path / "state" / "data" / "access.json"
    assert token not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert {file.parent.stat().st_mode & 0o777, file.parent.parent.stat().st_mode & 0o777} == {
        0o700
    }
    shown = run("tokens", "list")
    assert "coder: agent ann, token, expires" in shown.stdout
    assert "grants team-*:read,remember default:read" in shown.stdout
    assert token not in shown.stdout and digest_of(token).hex() not in shown.stdout


def test_rotate_revoke_and_remove(run: Any, tmp_path: Path) -> None:
    assert run("tokens", "list").stdout == "No identity.\n"
    first = json.loads(run("tokens", "create", "a", "--grant", "*:read", "--json").stdout)["token"]
    second = json.loads(run("tokens", "rotate", "a", "--grace", "1h", "--json").stdout)["token"]
    (identity,) = book(tmp_path).read()
    assert [key.digest for key in identity.keys] == [digest_of(first), digest_of(second)]
    assert identity.keys[0].expires_us > 0 == identity.keys[1].expires_us
    assert "is not revoked" in run("tokens", "remove", "a", code=2).stderr
    run("tokens", "revoke", "a")
    (shown,) = json.loads(run("tokens", "list", "--json").stdout)["identities"]
    assert shown["state"].startswith("revoked ")
    assert "is revoked" in run("tokens", "rotate", "a", code=2).stderr
    run("tokens", "remove", "a")
    # The file stays: a daemon that asked for tokens does not open because nobody has one.
    assert book(tmp_path).read() == () and book(tmp_path).stamp() is not None


def test_limits_are_set_shown_and_ended(run: Any, tmp_path: Path) -> None:
    run("tokens", "create", "a", "--grant", "*:read")
    run("tokens", "limit", "a", "--collections", "team-*", "--writes-per-s", "2.5", "--bytes", "9")
    assert "on team-*: at most writes_per_s 2.5, bytes 9" in run("tokens", "list").stdout
    run("tokens", "limit", "a", "--collections", "team-*")
    assert book(tmp_path).read()[0].limits == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create", "a", "--grant", "x:fly"], "grant: got the verb 'fly', allowed: read,"),
        (["create", "a", "--grant", ":read"], "pattern: got ''"),
        (["create", "a", "--grant", "read"], "allowed: PATTERN:VERB,VERB"),
        (["create", "", "--grant", "*:read"], "name: got ''"),
        (["create", "a b", "--grant", "*:read"], "name: got 'a b'"),
        (["create", "a", "--grant", "*:read", "--agent", ""], "agent: allowed: 1 to 256"),
        (["create", "a", "--grant", "*:read", "--expires", "0d"], "expires: got '0d'"),
        (["create", "a", "--grant", "*:read", "--expires", "soon"], "expires: got 'soon'"),
        (["create", "one", "--grant", "*:read"], "name: 'one' exists"),
        (["create", "b", "--grant", "*:read", "--subject", "a\nb"], "subject: got the character"),
        (["rotate", "none"], "name: got 'none', there are: one"),
        (["revoke", "none"], "name: got 'none'"),
        (["limit", "one", "--writes-per-s", "0"], "writes_per_s: got 0.0, allowed: a number above"),
        (["limit", "one", "--memories", "0"], "memories: got 0"),
        (["limit", "one", "--collections", "", "--memories", "1"], "pattern: got ''"),
    ],
)
def test_wrong_value_is_one_line_and_changes_nothing(
    run: Any, tmp_path: Path, arguments: list[str], words: str
) -> None:
    run("tokens", "create", "one", "--grant", "*:read")
    before = book(tmp_path).path.read_bytes()
    said = run("tokens", *arguments, code=2).stderr
    assert said.startswith("totonoe: ") and said.count("\n") == 1
    assert words in said
    assert book(tmp_path).path.read_bytes() == before


def test_certificates_by_command(run: Any, tmp_path: Path) -> None:
    assert "`certs init`" in run("certs", "server", "--name", "h", code=2).stderr
    assert "valid for 3650 days" in run("certs", "init").stdout
    assert "valid for 825 days" in run("certs", "server", "--name", "h", "--name", "::1").stdout
    assert "valid for 90 days" in run("certs", "client", "ann").stdout
    assert "exists" in run("certs", "init", code=2).stderr
    assert "name: allowed" in run("certs", "server", code=2).stderr
    directory = tmp_path / "state" / "data" / "certs"
    assert {path.suffix for path in directory.iterdir()} == {".pem", ".key"}
    assert run("certs", "init", "--dir", str(tmp_path / "other"))


def test_rotate_of_an_identity_with_a_certificate_names_the_way(run: Any) -> None:
    made = run("tokens", "create", "ann", "--grant", "*:read", "--subject", "ann")
    assert made.stdout == "Created: ann, by the certificate ann.\n"
    assert "totonoe certs client ann" in run("tokens", "rotate", "ann", code=2).stderr
    said = run("tokens", "create", "b", "--grant", "*:read", "--subject", "ann", code=2).stderr
    assert "exists" in said


def test_commands_take_the_variables_of_a_client_and_the_file_of_the_daemon(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOTONOE_ADDRESS", "https://memory.example.org:7766")
    monkeypatch.delenv("TOTONOE_DATA_DIR")
    file = tmp_path / "totonoe.toml"
    file.write_text(f'data_dir = "{tmp_path}/state/data"\n')
    monkeypatch.setenv("TOTONOE_CONFIG", str(file))
    run("tokens", "create", "coder", "--grant", "*:read")
    assert [identity.name for identity in book(tmp_path).read()] == ["coder"]
    run("certs", "init")
    assert (tmp_path / "state" / "data" / "certs" / "ca.pem").exists()
