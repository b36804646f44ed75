"""Settings of the MCP server, the name of a project, and the caller of a request."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest

from support.agents import agent
from support.scripted import scripted
from support.waits import wait_s
from totonoe.mcp.access import Caller, caller_of
from totonoe.mcp.project import project_collection
from totonoe.mcp.server import MemoryServer
from totonoe.mcp.settings import Settings, load_settings
from totonoe.mcp.starting import is_local

NAMES = (
    "AGENT",
    "SESSION",
    "COLLECTION",
    "TOOLS",
    "TRANSPORT",
    "LISTEN",
    "SCAFFOLDS",
    "START_DAEMON",
    "TOKEN",
    "CERT",
)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(f"TOTONOE_{name}", raising=False)


def test_each_setting_comes_from_the_option_else_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {
        "TOTONOE_TRANSPORT": "http",
        "TOTONOE_AGENT": "a",
        "TOTONOE_SESSION": "s",
        "TOTONOE_COLLECTION": "c",
        "TOTONOE_ADDRESS": "127.0.0.1:9",
        "TOTONOE_TOOLS": "full",
        "TOTONOE_SCAFFOLDS": "1",
        "TOTONOE_LISTEN": "[::1]:8",
        "TOTONOE_START_DAEMON": "no",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert load_settings() == Settings(
        address="127.0.0.1:9",
        agent="a",
        session="s",
        collection="c",
        transport="http",
        listen_host="::1",
        listen_port=8,
        tools="full",
        scaffolds=True,
        start_daemon=False,
    )
    options: dict[str, Any] = {
        "transport": "stdio",
        "agent": "b",
        "session": "t",
        "collection": "d",
        "address": "unix:/x",
        "tools": "core",
        "scaffolds": False,
        "listen": "localhost:7",
        "start_daemon": True,
        "timeout_s": 2.0,
    }
    assert load_settings(**options) == Settings(
        address="unix:/x",
        agent="b",
        session="t",
        collection="d",
        listen_port=7,
        timeout_s=2.0,
    )


def test_session_of_a_process_is_new_and_over_http_there_is_none() -> None:
    first, second = load_settings().session, load_settings().session
    assert re.fullmatch("mcp_[0-9a-f]{12}", first)
    assert first != second
    assert load_settings(transport="http").session == ""


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"transport": "sse"}, "transport: got 'sse', allowed: stdio or http"),
        ({"tools": "some"}, "tools: got 'some', allowed: core or full"),
        ({"listen": "0.0.0.0:1"}, "listen: got '0.0.0.0:1', allowed: a loopback"),
        ({"listen": "192.168.0.1:1"}, "listen: got"),
        ({"listen": "[::]:1"}, "listen: got"),
        ({"listen": "unix:here"}, "listen: got 'unix:here', allowed: a loopback"),
        ({"listen": "[:]:1"}, "listen: got"),
        ({"listen": "999.0.0.1:1"}, "listen: got"),
        ({"listen": "127.0.0.1:65536"}, "listen: got"),
        ({"listen": "localhost.evil.example:1"}, "listen: got"),
        ({"address": "x"}, "address: got 'x'"),
        ({"timeout_s": 0.0}, "timeout_s: got 0.0"),
    ],
)
def test_wrong_setting_is_named(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=re.escape(error)):
        load_settings(**options)


def test_unix_socket_is_an_absolute_path() -> None:
    assert load_settings(transport="http", listen="unix:/run/x").listen_path == "/run/x"


def test_wrong_flag_of_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOTONOE_START_DAEMON", "maybe")
    with pytest.raises(ValueError, match="TOTONOE_START_DAEMON: got 'maybe', allowed: 1 or 0"):
        load_settings()


def test_project_is_the_git_root_and_a_worktree_is_one_of_its_own(tmp_path: Path) -> None:
    root = tmp_path / "Über Project (2)"
    (root / ".git").mkdir(parents=True)
    inside = root / "src" / "deep"
    inside.mkdir(parents=True)
    assert project_collection(inside) == "ber-project-2"
    worktree = root / "wt"
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: elsewhere")
    assert project_collection(worktree) == "wt"
    long = tmp_path / ("x" * 200)
    (long / ".git").mkdir(parents=True)
    assert project_collection(long) == "x" * 64


def test_project_without_a_name_or_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside a git repository"):
        project_collection(tmp_path)
    (tmp_path / "日本" / ".git").mkdir(parents=True)
    with pytest.raises(ValueError, match="a folder whose name has a letter"):
        project_collection(tmp_path / "日本")


@pytest.mark.parametrize(
    ("agent_id", "headers", "host", "expected"),
    [
        ("", None, "claude-code", "claude-code"),
        ("set", None, "claude-code", "set"),
        ("set", {"x-totonoe-agent": "request"}, "claude-code", "request"),
        ("", {"x-totonoe-agent": "  "}, " ", "mcp"),
        ("", None, "é" * 200, "é" * 128),
    ],
)
def test_caller_is_the_request_the_setting_the_host_or_mcp(
    agent_id: str, headers: dict[str, str] | None, host: str, expected: str
) -> None:
    settings = Settings(address="x", agent=agent_id, session="s")
    assert caller_of(settings, headers, host) == Caller(expected, "s")


@pytest.mark.parametrize("proof", ["token", "cert"])
def test_caller_with_an_identity_speaks_as_its_own_agent(
    monkeypatch: pytest.MonkeyPatch, proof: str
) -> None:
    monkeypatch.setenv(f"TOTONOE_{proof.upper()}", "x")
    over_tls: dict[str, Any] = {"session": "s", "address": "https://memory.example:7766"}
    assert caller_of(load_settings(**over_tls), None, "claude-code") == Caller("", "s")
    named = load_settings(agent="coder", **over_tls)
    assert caller_of(named, None, "claude-code") == Caller("coder", "s")
    # Plain TCP shows no certificate.
    plain = load_settings(session="s", address="127.0.0.1:1")
    expected = "" if proof == "token" else "claude-code"
    assert caller_of(plain, None, "claude-code") == Caller(expected, "s")


def test_only_a_daemon_of_this_machine_is_started() -> None:
    assert all(map(is_local, ("127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/x")))
    assert not any(map(is_local, ("192.0.2.1:1", "example.com:1", "127.0.0.1.evil:1")))


def test_daemon_that_goes_in_the_middle_of_a_call_is_explained() -> None:
    running, gone = threading.Event(), threading.Event()

    def stuck(_request: Any, _context: Any) -> Any:
        running.set()
        gone.wait()

    answers: list[str] = []
    with scripted(Recall=stuck) as address:
        server = MemoryServer(load_settings(address=address, start_daemon=False))

        def call() -> None:
            with agent(server) as connected:
                answers.append(connected.error("recall", query="x"))

        calling = threading.Thread(target=call)
        calling.start()
        assert running.wait(wait_s())
    calling.join(wait_s())
    gone.set()
    assert answers == [
        f"No memory answers at {address}. Start it with: totonoe serve --address {address}"
    ]
