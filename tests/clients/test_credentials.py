"""Tokens and certificates of clients: where they come from, and where they are never sent."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from totonoe import AsyncClient, Client
from totonoe.call import channel
from totonoe.call.credentials import resolve_credentials
from totonoe.cli.main import make_app
from totonoe.errors import InsecureConnection

TOKEN = "ttn_" + "a1B2" * 10 + "xyz"
PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ADDRESS", "TOKEN", "CA", "CERT", "KEY"):
        monkeypatch.delenv(f"TOTONOE_{name}", raising=False)


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    path = tmp_path / "a.pem"
    path.write_text(PEM)
    return path


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "unix:/x", "https://10.0.0.1:1"],
)
def test_token_goes_where_nobody_else_reads_it(address: str) -> None:
    found = resolve_credentials(address, TOKEN, None, None, None)
    assert found.metadata == (("authorization", f"Bearer {TOKEN}"),)
    assert TOKEN not in repr(found)


@pytest.mark.parametrize(
    "address", ["10.0.0.1:1", "example.org:1", "[fe80::1]:1", "0.0.0.0:1", "localhost.evil.org:1"]
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_token_is_never_sent_over_plain_tcp_to_another_machine(
    address: str, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InsecureConnection, match=f"https://{address[:4]}".replace("[", r"\[")) as c:
        kind(address, token=TOKEN)
    assert TOKEN not in str(c.value)
    monkeypatch.setenv("TOTONOE_TOKEN", TOKEN)
    with pytest.raises(InsecureConnection):
        kind(address)
    assert kind(address, token="")._credentials[0].metadata == ()


@pytest.mark.parametrize(
    "token", [TOKEN[:-1], TOKEN + "x", "ttn", TOKEN[:-1] + "é", "x" * 47, f"{TOKEN},{TOKEN}"]
)
def test_token_of_a_wrong_form_is_refused_and_not_quoted(token: str) -> None:
    with pytest.raises(ValueError, match="token: allowed: `ttn_` and 43") as caught:
        Client("127.0.0.1:1", token=token)
    assert token.removeprefix("ttn") == "" or token not in str(caught.value)


def test_environment_gives_what_is_not_given(monkeypatch: pytest.MonkeyPatch, pem: Path) -> None:
    for name in ("CA", "CERT", "KEY"):
        monkeypatch.setenv(f"TOTONOE_{name}", str(pem))
    monkeypatch.setenv("TOTONOE_TOKEN", f"{TOKEN}\n")
    found = resolve_credentials("https://h:1", None, None, None, None)
    assert (found.token, found.ca, found.cert, found.key) == (TOKEN, *[PEM.encode()] * 3)
    assert found.target == "h:1"
    # They are for addresses with TLS, and in nobody's way elsewhere.
    assert resolve_credentials("127.0.0.1:1", None, None, None, None).ca is None
    assert resolve_credentials("https://h:1", "", "", "", "").metadata == ()


@pytest.mark.parametrize("name", ["ca", "cert", "key"])
def test_file_for_a_plain_address_is_refused(name: str, pem: Path) -> None:
    with pytest.raises(ValueError, match=f"{name}: needs an address of the form https"):
        Client("127.0.0.1:1", **{name: pem})


def test_certificate_without_key_and_bad_files_are_refused(pem: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cert and key: give both"):
        Client("https://127.0.0.1:1", cert=pem)
    for bad in (tmp_path / "missing", tmp_path):
        with pytest.raises(ValueError, match=f"ca: {bad}"):
            Client("https://127.0.0.1:1", ca=bad)
    (tmp_path / "text").write_text("no certificate")
    with pytest.raises(ValueError, match="no file in PEM"):
        Client("https://127.0.0.1:1", ca=tmp_path / "text")


@pytest.mark.parametrize("address", ["https://", "https://h", "https://h:0", "http://h:1", "h:x"])
def test_address_of_a_wrong_form_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="allowed: host:port, https://host:port or unix:/path"):
        Client(address)


@pytest.mark.skipif(sys.platform == "darwin", reason="the directory is another one there")
def test_own_socket_is_the_default_where_a_daemon_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    directory = tmp_path / "totonoe"
    directory.mkdir()
    path = directory / "totonoe.sock"
    assert channel.resolve_address(None) == channel.DEFAULT_ADDRESS
    path.write_text("no socket")
    assert channel.resolve_address(None) == channel.DEFAULT_ADDRESS
    path.unlink()
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(path))
        daemon.listen()
        assert channel.resolve_address(None) == f"unix:{path}"
        monkeypatch.setenv("TOTONOE_ADDRESS", "127.0.0.1:9")
        assert channel.resolve_address(None) == "127.0.0.1:9"
        monkeypatch.delenv("TOTONOE_ADDRESS")
    # Nobody listens any more: a daemon that was killed leaves its file.
    assert channel.resolve_address(None) == channel.DEFAULT_ADDRESS


def test_command_reads_the_token_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN[:-1])
    app, run = make_app(), CliRunner().invoke
    for given, words in (
        (["--token-file", str(path)], "token: allowed"),
        (["--token-file", str(tmp_path / "none")], "No such file"),
        (["--tls-ca", str(path)], "needs an address of the"),
    ):
        result = run(app, ["--address", "127.0.0.1:1", *given, "stats"], env={"COLUMNS": "200"})
        assert result.exit_code == 2
        assert words in result.output
        assert TOKEN[:-1] not in result.output
