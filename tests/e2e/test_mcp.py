"""`totonoe mcp` as hosts run it: a child process that knows six variables, or a server of HTTP."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from support.agents import PROTOCOLS, agent
from support.daemons import free_port
from support.waits import wait_s, wait_until
from totonoe import Client
from totonoe.mcp.access import STARTING
from totonoe_server.tools.testing import RunningServer, running_server

COMMAND = str(Path(sys.executable).parent / "totonoe")
PORT = "The staging database listens on port 5433."
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
ACCEPT = {"Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def daemon() -> Iterator[RunningServer]:
    with running_server() as server:
        yield server


def command(*arguments: str, home: Path, **variables: str) -> StdioServerParameters:
    """Return how a host starts the server: it hands on none of its own variables but six."""
    environment = {"HOME": str(home), **variables}
    return StdioServerParameters(command=COMMAND, args=["mcp", *arguments], env=environment)


def started(*arguments: str, home: Path | None = None, **options: Any) -> subprocess.Popen[bytes]:
    """Start the server with pipes."""
    environment = {name: os.environ[name] for name in ("HOME", "PATH")}
    if home is not None:
        environment["HOME"] = str(home)
    return subprocess.Popen(
        [COMMAND, "mcp", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        **options,
    )


# -- stdio


@pytest.mark.parametrize("mode", PROTOCOLS)
def test_stdio_serves_a_host_that_hands_on_six_variables(
    daemon: RunningServer, tmp_path: Path, mode: str
) -> None:
    named = f"agent-{mode}"
    host = command(home=tmp_path, TOTONOE_ADDRESS=daemon.address, TOTONOE_AGENT=named)
    with agent(host, mode) as one:
        one.data("remember", content=f"The valve of {mode} is stuck.")
        assert f"by {named}" in one.text("recall", query=f"valve {mode}", this_session=True)
        assert one.error("recall", query="x", limit=0).startswith("limit: got 0")


def test_two_servers_and_thirty_two_equal_remembers_save_one(
    daemon: RunningServer, tmp_path: Path
) -> None:
    host = command("--address", daemon.address, "--no-start-daemon", home=tmp_path)
    text = "The 32 equal texts of two hosts are one."
    with agent(host) as one, agent(host, "legacy") as other, ThreadPoolExecutor(32) as threads:
        calls = [
            threads.submit(who.data, "remember", content=text)
            for _ in range(16)
            for who in (one, other)
        ]
        answers = [call.result(wait_s()) for call in calls]
    assert sum(answer["saved"] for answer in answers) == 1
    assert len({answer["memory_id"] for answer in answers}) == 1


def test_stdout_carries_the_protocol_only_and_the_end_of_stdin_ends_the_server(
    daemon: RunningServer,
) -> None:
    secret = "The combination of the safe is 4711."
    frames = [
        b"{nope\n",
        b"\xff\xfe\n",
        b"[]\n",
        b"{nope " + secret.encode() + b"\n",
        json.dumps(INITIALIZE).encode() + b"\n",
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "tools/call",
                "params": {"name": "remember", "arguments": {"content": secret}},
            }
        ).encode()
        + b"\n",
    ]
    wrong = {"name": 5, "arguments": {"content": secret}}
    unknown = {"name": "remember", "arguments": {"content": secret, "agent_id": secret}}
    frames[6:6] = [
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}).encode()
        + b"\n"
        for params in (wrong, unknown)
    ]
    process = started("--address", daemon.address, "--no-start-daemon")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"".join(frames))
    process.stdin.flush()
    answers = []
    while len(answers) < 4:
        line = process.stdout.readline()
        assert line, "the server ended"
        answers.append(json.loads(line))
    out, err = process.communicate(timeout=wait_s())

    assert process.returncode == 0
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert sorted(answer["id"] for answer in answers) == [1, 2, 3, 3]
    (saved,) = (answer["result"]["structuredContent"] for answer in answers if answer["id"] == 2)
    assert saved["saved"] is True
    assert out == b"" and secret.encode() not in err


def test_stdin_that_is_closed_at_once_ends_the_server() -> None:
    process = started("--no-start-daemon", "--address", "127.0.0.1:1")
    out, err = process.communicate(timeout=wait_s())
    assert (process.returncode, out, err) == (0, b"", b"")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--transport", "pipe"], "transport: got 'pipe', allowed: stdio or http"),
        (["--tools", "all"], "tools: got 'all', allowed: core or full"),
        (["--address", "here"], "address: got 'here'"),
        (["--transport", "http", "--listen", "0.0.0.0:7767"], "listen: got '0.0.0.0:7767'"),
        (["--transport", "http", "--listen", "example.com:7767"], "listen: got 'example.com:7767'"),
        (["--collection", "project"], "collection: got 'project'"),
    ],
)
def test_wrong_option_ends_the_server_with_2(
    tmp_path: Path, arguments: list[str], error: str
) -> None:
    process = started(*arguments, cwd=tmp_path)
    out, err = process.communicate(timeout=wait_s())
    assert process.returncode == 2
    assert out == b""
    assert error in " ".join(err.decode().replace("│", " ").split())


# -- the daemon


@contextmanager
def ended_daemon(data: Path) -> Iterator[None]:
    """End the daemon of a data directory, whoever started it."""
    try:
        yield
    finally:
        lock = data / "LOCK"
        found = lock.read_text().split("\n")[0] if lock.exists() else ""
        if found:
            with suppress(ProcessLookupError):
                os.kill(int(found), signal.SIGTERM)


@pytest.mark.timeout(300)
def test_two_servers_start_one_daemon_that_outlives_them(tmp_path: Path) -> None:
    address, data = f"127.0.0.1:{free_port()}", tmp_path / "data"
    variables = {
        "TOTONOE_ADDRESS": address,
        "TOTONOE_DATA_DIR": str(data),
        "TOTONOE_EMBEDDER": "hashing",
    }
    host = command(home=tmp_path, **variables)
    # A host starts its servers in the folder of a project. Nothing of that may run.
    host.cwd = tmp_path / "project"
    host.cwd.mkdir()
    (host.cwd / "totonoe_server.py").write_text("raise SystemExit('a module of the project ran')")
    with ended_daemon(data):
        with agent(host) as one, agent(host, "legacy") as other:
            first = one.call("remember", content=PORT)
            wait_until(lambda: not one.call("recall", query="port").is_error)
            wait_until(lambda: not other.call("recall", query="port").is_error)
            assert not first.is_error or STARTING in first.content[0].text
            one.call("remember", content=PORT)
            assert other.data("remember", content=PORT)["saved"] is False
        with Client(address) as client:
            assert client.stats().collections[0].active_count == 1
        assert (tmp_path / ".local" / "state" / "totonoe-mcp" / "daemon.log").stat().st_size > 0


def test_daemon_that_cannot_start_is_explained(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    variables = {"TOTONOE_ADDRESS": address, "TOTONOE_EMBEDDER": "nonsense"}
    with agent(command(home=tmp_path, **variables)) as one:
        said: list[str] = []

        def explained() -> bool:
            said.append(one.error("recall", query="x"))
            return "did not start" in said[-1]

        wait_until(explained, lambda: said)
    assert "embedder" in said[-1] and "daemon.log" in said[-1]


def test_daemon_of_another_machine_is_not_started(tmp_path: Path) -> None:
    host = command("--address", "192.0.2.1:1", "--timeout", "1", home=tmp_path)
    with agent(host) as one:
        one.error("recall", query="x")
    assert not (tmp_path / ".local").exists()


# -- HTTP


@contextmanager
def listening(home: Path, *options: str, listen: str = "127.0.0.1:0") -> Iterator[list[str]]:
    """Start a server of HTTP; yields the lines that it printed."""
    given = ("--transport", "http", "--listen", listen, "--no-start-daemon", *options)
    process = started(*given, home=home)
    assert process.stderr is not None
    try:
        lines = [process.stderr.readline().decode()]
        assert lines[0].startswith("totonoe mcp listens on "), lines
        while not listen.startswith("unix:") and not lines[-1].startswith("The secret of"):
            lines.append(process.stderr.readline().decode())
        yield lines
    finally:
        process.terminate()
        process.communicate(timeout=wait_s())


def secret_in(home: Path) -> Path:
    """Return the file of the secret below a home."""
    return home / ".local" / "state" / "totonoe-mcp" / "http-secret"


@pytest.fixture(scope="module")
def served(daemon: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Lines of a server of HTTP that starts for the first time, and its home."""
    home = tmp_path_factory.mktemp("home")
    with listening(home, "--address", daemon.address) as lines:
        yield [*lines, str(home)]


@pytest.fixture(scope="module")
def url(served: list[str]) -> str:
    """Address of a server of HTTP."""
    return served[0].split()[-1]


@pytest.fixture(scope="module")
def proof(served: list[str]) -> dict[str, str]:
    """The header that each request needs, from the entry that was printed."""
    entry: dict[str, dict[str, str]] = json.loads(served[1].partition(": ")[2])["totonoe"]
    return entry["headers"]


@asynccontextmanager
async def over_http(url: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    """Connect as a client whose requests all have these headers."""
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


@pytest.mark.parametrize("mode", PROTOCOLS)
def test_http_takes_agent_and_session_of_each_request(
    daemon: RunningServer, url: str, proof: dict[str, str], mode: str
) -> None:
    headers = {"X-Totonoe-Agent": f"http-{mode}", "X-Totonoe-Session": f"s-{mode}", **proof}
    with (
        agent(over_http(url, headers), mode) as one,
        agent(over_http(url, proof), mode) as other,
    ):
        saved = one.data("remember", content=f"The attic of {mode} is cold.")["memory_id"]
        assert one.data("recall", query="attic", this_session=True)["notes"]
        one.call("consolidate")
        assert one.progress
        assert "header X-Totonoe-Session" in other.error("recall", query="x", this_session=True)
        operation = one.data("forget", memory_id=saved)["operation_id"]
        assert "another agent's operation" in other.error("undo", operation_id=operation)
        assert one.data("undo", operation_id=operation)["undone"]
        assert one.data("remember", content=f"The {mode} key is hidden.", private=True)["saved"]
        assert not other.data("recall", query=f"{mode} key hidden", min_relevance=0.5)["notes"]
    with daemon.client() as client:
        memory = client.get(saved)
    assert (memory.agent_id, memory.session_id) == (f"http-{mode}", f"s-{mode}")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_http_refuses_a_foreign_host_or_origin(
    url: str, proof: dict[str, str], headers: dict[str, str], status: int
) -> None:
    answer = httpx2.post(url, json=INITIALIZE, headers=ACCEPT | proof | headers)
    assert answer.status_code == status


def test_http_malformed_body_is_400_and_the_server_goes_on(url: str, proof: dict[str, str]) -> None:
    kind = {"Content-Type": "application/json"} | proof
    assert httpx2.post(url, content=b"{nope", headers=ACCEPT | kind).status_code == 400
    assert httpx2.post(url, json=INITIALIZE, headers=ACCEPT | proof).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer tms_",
        "Bearer x",
        "Basic {secret}",
        "bearer {secret}",
        "Bearer {secret}x",
    ],
)
def test_http_without_the_secret_is_401_in_every_method(
    url: str, proof: dict[str, str], header: str
) -> None:
    secret = proof["Authorization"].removeprefix("Bearer ")
    shown = {"Authorization": header.format(secret=secret)} if header else {}
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        answer = httpx2.request(method, url, content=b"{", headers=ACCEPT | shown)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert secret not in answer.text


def test_http_prints_its_secret_once_and_keeps_it_for_this_user(
    daemon: RunningServer, served: list[str], proof: dict[str, str]
) -> None:
    first, entry, where, home = served
    path = secret_in(Path(home))
    assert where.split()[-1] == str(path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert path.read_text().strip() == proof["Authorization"].removeprefix("Bearer ")
    assert json.loads(entry.partition(": ")[2])["totonoe"]["url"] == first.split()[-1]
    with listening(Path(home), "--address", daemon.address) as again:
        assert [line.split()[0] for line in again] == ["totonoe", "The"]
        answer = httpx2.post(again[0].split()[-1], json=INITIALIZE, headers=ACCEPT | proof)
        assert answer.status_code == 200


@pytest.mark.parametrize("spoilt", ["mode", "content", "link"])
def test_http_with_a_secret_that_others_could_know_does_not_start(
    tmp_path: Path, spoilt: str
) -> None:
    path = secret_in(tmp_path)
    path.parent.mkdir(parents=True)
    kept = tmp_path / "elsewhere" if spoilt == "link" else path
    kept.write_text("guess\n" if spoilt == "content" else f"tms_{'x' * 43}\n")
    kept.chmod(0o640 if spoilt == "mode" else 0o600)
    if spoilt == "link":
        path.symlink_to(kept)
    process = started("--transport", "http", "--listen", "127.0.0.1:0", home=tmp_path)
    _, err = process.communicate(timeout=wait_s())
    assert process.returncode == 2
    assert "http-secret" in "".join(err.decode().replace("│", " ").split())


def test_unix_socket_serves_its_user_without_a_secret(
    daemon: RunningServer, tmp_path: Path
) -> None:
    path = tmp_path / "mcp.sock"
    options = {"listen": f"unix:{path}"}
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    with listening(tmp_path, "--address", daemon.address, **options) as lines:
        assert lines == [f"totonoe mcp listens on unix:{path} (http://localhost/mcp)\n"]
        assert path.stat().st_mode & 0o777 == 0o600
        assert not secret_in(tmp_path).exists()
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(path))
        kind = {"Content-Type": "application/json"}
        connection.request("POST", "/mcp", json.dumps(INITIALIZE), ACCEPT | kind)
        assert connection.getresponse().status == 200
        connection.close()
        process = started("--transport", "http", "--listen", f"unix:{path}", home=tmp_path)
        _, err = process.communicate(timeout=wait_s())
        assert process.returncode == 2 and b"listen: got" in err
    assert not path.exists()


def test_http_port_in_use_ends_the_server_with_2(url: str) -> None:
    place = url.removeprefix("http://").removesuffix("/mcp")
    process = started("--transport", "http", "--listen", place, "--no-start-daemon")
    _, err = process.communicate(timeout=wait_s())
    assert process.returncode == 2
    assert f"listen: got {place}" in " ".join(err.decode().replace("│", " ").split())


# -- the inspector


@pytest.mark.timeout(600)
def test_inspector_finds_no_fault_in_the_schemas(daemon: RunningServer, tmp_path: Path) -> None:
    if shutil.which("npx") is None:
        pytest.skip("the inspector needs Node: no npx is here")
    known = subprocess.run(
        ["npm", "view", INSPECTOR, "version"], capture_output=True, timeout=wait_s(), check=False
    )
    if known.returncode or not known.stdout.strip():
        pytest.skip("the registry of npm cannot be reached, or lacks the inspector")
    server = [COMMAND, "mcp", "--address", daemon.address, "--no-start-daemon", "--tools", "full"]
    done = subprocess.run(
        ["npx", "-y", INSPECTOR, "--cli", *server, "--method", "tools/list", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=wait_s(120),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["tools"]) == 14
