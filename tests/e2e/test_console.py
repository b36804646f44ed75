"""`totonoe console` as a person starts it: a process, its addresses, and its end."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from support.daemons import free_port
from support.waits import wait_s, wait_until
from totonoe_server.tools.testing import RunningServer, running_server

SCRIPT = str(Path(sys.executable).parent / "totonoe")


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as found:
        yield found


class Started:
    """A console that runs, and what it printed."""

    def __init__(self, server: RunningServer, state: Path) -> None:
        self.port = free_port()
        self.environment = {**os.environ, "XDG_STATE_HOME": str(state), "TOTONOE_AGENT": "ana"}
        self.folder = state / "totonoe-console" / str(self.port)
        command = [SCRIPT, "--address", server.address, "console", "--no-open"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline().rstrip("\n") for _ in range(3)]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `totonoe console` on the same port."""
        return subprocess.run(
            [SCRIPT, "console", "--port", str(self.port), *arguments],
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=wait_s(),
            check=False,
        )

    def ask(
        self, method: str, path: str, body: str = "", **headers: str
    ) -> http.client.HTTPResponse:
        """Send one request; its body is read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=wait_s())
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body or None, said)
        answer = connection.getresponse()
        answer.text = answer.read().decode()  # type: ignore[attr-defined]
        connection.close()
        return answer

    def sign_in(self, address: str) -> http.client.HTTPResponse:
        """Send the form of the login."""
        return self.ask(
            "POST",
            "/login",
            urlencode({"t": address.partition("#t=")[2]}),
            content_type="application/x-www-form-urlencoded",
            origin=f"http://127.0.0.1:{self.port}",
        )

    def end(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Send a signal, Ctrl-C if none is named; return exit code and standard error."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=wait_s())
        return self.process.returncode, errors


@pytest.fixture
def started(server: RunningServer, tmp_path: Path) -> Iterator[Started]:
    found = Started(server, tmp_path)
    yield found
    found.end()


def test_console_prints_its_address_lets_in_once_and_ends(
    started: Started, server: RunningServer
) -> None:
    with server.client("bo") as client:
        client.remember("The staging database listens on port 5433.")
    assert started.lines[0] == f"The console shows default at {server.address}."
    match = re.fullmatch(r"Open within 60 s: (http://127\.0\.0\.1:\d+/\S+)", started.lines[1])
    assert match is not None
    assert f"totonoe console --url --port {started.port} --agent ana" in started.lines[2]
    done = started.sign_in(match[1])
    assert done.status == 303
    cookie = done.getheader("set-cookie", "").partition(";")[0]
    page = started.ask("GET", "/search?q=staging", cookie=cookie)
    assert page.status == 200 and "port 5433" in page.text  # type: ignore[attr-defined]
    assert page.getheader("server") is None
    assert started.sign_in(match[1]).status == 403

    again = started.command("--url")
    assert again.returncode == 0, again.stderr
    assert started.sign_in(again.stdout.strip()).status == 303
    twice = started.command("--no-open")
    assert twice.returncode == 2 and "where your console runs" in " ".join(twice.stderr.split())

    started.end()
    assert started.command("--url").returncode == 2


def test_server_refuses_other_hosts_and_paths_on_the_wire(started: Started) -> None:
    wait_until(lambda: started.ask("GET", "/login").status == 200)
    assert started.ask("GET", "/login", host="evil.example").status == 421
    assert started.ask("GET", "/login", host=f"evil.example:{started.port}").status == 421
    for path in ("/x/../login", "/static/%2e%2e/login", "//login", "http://evil.example/login"):
        answer = started.ask("GET", path)
        # Of the last one the client says the other host too.
        assert answer.status == (421 if "evil" in path else 400), path
        assert answer.getheader("content-security-policy", "").startswith("default-src 'none'")
    forwarded = started.ask("GET", "/", x_forwarded_host="evil.example", x_forwarded_proto="https")
    assert forwarded.status == 401


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_end_leaves_no_login_behind(started: Started, how: signal.Signals) -> None:
    wait_until(lambda: started.ask("GET", "/login").status == 200)
    assert len(list((started.folder / "logins").iterdir())) == 1
    assert started.end(how) == (0, "")
    assert list((started.folder / "logins").iterdir()) == []


def test_port_of_another_program_is_named(tmp_path: Path, server: RunningServer) -> None:
    command = [SCRIPT, "--address", server.address, "console", "--no-open"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = subprocess.run(
            [*command, "--port", str(taken.getsockname()[1])],
            capture_output=True,
            text=True,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "COLUMNS": "200"},
            timeout=wait_s(),
            check=False,
        )
    assert done.returncode == 2
    assert "Address already in use" in done.stderr
