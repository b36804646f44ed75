"""`totonoe serve --daemons`: several processes behind one address, as a user starts them."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import typer
from typer.testing import CliRunner

import totonoe
from support.daemons import free_ports
from support.postgres import migrated
from support.waits import wait_s, wait_until
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import admin_service_pb2_grpc
from totonoe_server.access.certificates import Authority
from totonoe_server.life.watchdog import ExitCode
from totonoe_server.tools import tokens
from totonoe_server.tools.top import command as top

ROOT = Path(__file__).parents[2]
CONNECTIONS = 32
"""New ones to the shared address: that all go to one of two daemons is once in two billion."""


class Several:
    """The command with two daemons, set up by a configuration file with a token."""

    def __init__(self, directory: Path, **more: Any) -> None:
        self.url = migrated()
        # Each daemon has an address of its own and one of its metrics, both counted on from 1.
        shared, *own, self.metrics, _ = free_ports(5)
        self.shared, self.own = f"127.0.0.1:{shared}", tuple(own)
        settings = {
            "store": self.url,
            "daemons": 2,
            # A daemon of a loaded machine may need a few seconds for one turn of its loop.
            "daemon_silent_s": 15,
            "embedder": "hashing",
            "judge": "none",
            "address": f"{self.shared},127.0.0.1:{self.own[0]}-{self.own[1]}",
            "metrics_address": str(self.metrics),
            "log_format": "json",
            **more,
        }
        file = directory / "totonoe.toml"
        file.write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in settings.items()))
        self.token = _tokens("create", "ann", "--grant", "*:read,remember", "--store", self.url)
        self._log = directory / "log"
        path = os.pathsep.join(str(ROOT / name) for name in ("core", "server", "clients", "tests"))
        bare = {k: v for k, v in os.environ.items() if not k.startswith("TOTONOE_")}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "support.hanging_daemon", "--config", str(file)],
                env=bare | {"PYTHONPATH": path, "XDG_CACHE_HOME": _cache(directory)},
                stderr=log,
            )
        wait_until(lambda: self.said("all daemons are ready") or self.process.poll(), self.log)
        assert self.process.poll() is None, self.log()

    def log(self) -> str:
        return self._log.read_text()

    @property
    def shared_url(self) -> str:
        """The shared address, by TLS."""
        return f"https://{self.shared}"

    def said(self, event: str) -> list[dict[str, Any]]:
        """Lines of the log about an event."""
        lines = (json.loads(line) for line in self.log().splitlines() if line.endswith("}"))
        return [line for line in lines if line["event"] == event]

    def pids(self) -> list[int]:
        """The daemons, as the system knows them."""
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return list(map(int, found.split()))

    def number(self, address: str) -> int:
        """The number of the daemon at the other end of a new connection."""
        # Else all channels of a process to one address are one connection.
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(address, options) as channel:
            stub = admin_service_pb2_grpc.AdminServiceStub(channel)
            metadata = (("authorization", f"Bearer {self.token}"),)
            answer = stub.Stats(admin_pb.StatsRequest(), metadata=metadata, timeout=wait_s())
            return int(answer.daemon)

    def restarted(self, before: int) -> int:
        """Wait until a daemon is ready again behind so many; the number of the one that ended."""
        wait_until(lambda: len(self.said("ready")) > before, self.log)
        return int(self.said("a daemon ended and is started again")[-1]["number"])

    def client(self, *ports: int) -> totonoe.Client:
        """A client of the daemons at these ports."""
        address = ",".join(f"127.0.0.1:{port}" for port in ports)
        return totonoe.Client(address, token=self.token)

    def end(self) -> None:
        """Whatever happened, they are gone: the daemons stop with the command."""
        self.process.kill()
        self.process.wait(wait_s())


def _cache(directory: Path) -> str:
    """A cache of the test's own, but for the compiled kernels."""
    from totonoe_core.kernels import cosine

    kernels = Path(cosine.similarity64.stats.cache_path)
    cache = directory / "cache" / "totonoe"
    cache.mkdir(parents=True)
    (cache / kernels.parents[1].name).symlink_to(kernels.parents[1])
    return str(cache.parent)


def _tokens(*arguments: str) -> str:
    app = typer.Typer()
    tokens.register(app)
    result = CliRunner().invoke(app, ["tokens", *arguments])
    assert result.exit_code == 0, result.output
    return str(result.stdout).strip()


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Several]:
    made = Several(tmp_path_factory.mktemp("several"))
    yield made
    made.end()


def test_connections_to_the_shared_address_go_to_both_and_each_has_an_address_of_its_own(
    several: Several,
) -> None:
    seen = Counter(several.number(several.shared) for _ in range(CONNECTIONS))
    assert set(seen) == {1, 2}
    assert [several.number(f"127.0.0.1:{port}") for port in several.own] == [1, 2]
    assert {line["daemon"] for line in several.said("ready")} == {1, 2}
    urls = [f"http://127.0.0.1:{several.metrics + at}/metrics" for at in (0, 1)]
    named = [dict(next(top.fetched(url).all("totonoe_info"))[0])["daemon"] for url in urls]
    assert named == ["1", "2"]


def test_what_one_is_told_the_other_knows(several: Several) -> None:
    with several.client(several.own[0]) as one, several.client(*several.own) as both:
        assert one.remember("the boiler was cleaned in May").saved
        for _ in range(4):
            assert not both.remember("the boiler was cleaned in May").saved


def test_daemon_that_is_killed_is_started_again_while_the_other_serves(several: Several) -> None:
    before = several.pids()
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    # New connections go to the one that is left.
    wait_until(lambda: several.said("a daemon ended and is started again"), several.log)
    with several.client(*several.own) as both:
        assert both.remember("the mill has two wheels").saved
    wait_until(lambda: len(several.said("ready")) == 3, several.log)
    (ended,) = several.said("a daemon ended and is started again")
    assert ended["code"] == -signal.SIGKILL
    number = ended["number"]
    assert several.number(f"127.0.0.1:{several.own[number - 1]}") == number
    assert len(several.pids()) == 2 and before[0] not in several.pids()


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGUSR1], ids=["stopped", "loop"])
def test_daemon_that_hangs_is_killed_and_started_again(
    several: Several, how: signal.Signals
) -> None:
    ready, before = len(several.said("ready")), several.pids()
    told = len(several.said("a daemon shows no sign of life and is killed"))
    os.kill(before[0], how)
    # Clients go on with the other one.
    with several.client(*several.own) as both:
        assert both.remember(f"the sluice was opened: {how.name}", force=True).saved
    number = several.restarted(ready)
    silent = several.said("a daemon shows no sign of life and is killed")
    assert (len(silent), silent[-1]["number"]) == (told + 1, number)
    assert several.said("a daemon ended and is started again")[-1]["code"] == -signal.SIGKILL
    assert several.number(f"127.0.0.1:{several.own[number - 1]}") == number
    assert before[1] in several.pids() and before[0] not in several.pids()


class Secured:
    """The command with two daemons that serve by TLS."""

    def __init__(self, directory: Path) -> None:
        self.authority = Authority.made(directory / "certs")
        self.pair = self.authority.server(["127.0.0.1"])
        files = {"tls_cert": str(self.pair.cert), "tls_key": str(self.pair.key)}
        self.several = Several(directory, **files)
        self.urls = [f"https://127.0.0.1:{port}" for port in self.several.own]

    def client(self, *urls: str) -> totonoe.Client:
        """A client of the daemons at some addresses."""
        ca = self.authority.files.cert
        return totonoe.Client(",".join(urls), token=self.several.token, ca=ca)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    made = Secured(tmp_path_factory.mktemp("secured"))
    yield made
    made.several.end()


def test_client_goes_on_by_tls_when_a_daemon_is_killed(secured: Secured) -> None:
    several = secured.several
    with secured.client(*secured.urls) as both, secured.client(several.shared_url) as shared:
        first = both.remember("the mill has two wheels", operation_id="op-mill")
        assert first.saved
        # One after the other: the client is with one of them.
        for pid in several.pids():
            ready = len(several.said("ready"))
            os.kill(pid, signal.SIGKILL)
            # What was answered is there, once, and writes go on.
            again = both.remember("the mill has two wheels", operation_id="op-mill")
            assert (again.memory_id, again.replayed) == (first.memory_id, True)
            assert both.remember(f"the sluice {pid} has one gate", force=True).saved
            assert both.get(first.memory_id).content == "the mill has two wheels"
            number = several.restarted(ready)
            assert client_number(secured, secured.urls[number - 1]) == number
        assert not shared.remember("the mill has two wheels").saved


def client_number(secured: Secured, url: str) -> int:
    """The number of the daemon at an address, by a connection of its own."""
    with secured.client(url) as client:
        return client.stats().daemon


def test_daemons_with_tls_share_what_is_saved(secured: Secured) -> None:
    several, urls = secured.several, secured.urls
    text = "The boiler was cleaned in May."

    def ids(client: totonoe.Client) -> list[str]:
        return [hit.memory.id for hit in client.recall(text).hits if hit.memory.content == text]

    def is_refused(client: totonoe.Client) -> bool:
        try:
            client.recall(text)
        except totonoe.errors.Unauthenticated:
            return True
        return False

    def served(port: int) -> str:
        return ssl.get_server_certificate(("127.0.0.1", port), timeout=wait_s())

    with (
        secured.client(urls[0]) as one,
        secured.client(urls[1]) as other,
        secured.client(*urls) as both,
        secured.client(several.shared_url) as shared,
    ):
        assert [one.stats().daemon, other.stats().daemon] == [1, 2]
        saved = one.remember(text)
        assert saved.saved
        # One that the other client wrote, of whose revision this one knows nothing.
        wait_until(lambda: ids(other) == [saved.memory_id])
        assert not both.remember(text).saved
        assert not shared.remember(text).saved
        # All of them read the files again, without a signal.
        new = secured.authority.server(["127.0.0.1"]).cert.read_text()
        assert secured.pair.cert.read_text() == new
        wait_until(lambda: {served(port) for port in several.own} == {new})
        assert not one.remember(text).saved
        # A token that is taken back is refused by each.
        _tokens("revoke", "ann", "--store", several.url)
        for client in (one, other, shared):
            wait_until(lambda client=client: is_refused(client))


def test_sigterm_ends_all_of_them_and_gives_the_ports_back(several: Several) -> None:
    pids = several.pids()
    several.process.send_signal(signal.SIGTERM)
    assert several.process.wait(wait_s()) == ExitCode.STOPPED
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    host, port = several.shared.split(":")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, int(port)))
    assert [line["daemon"] for line in several.said("stopped")].count(1) == 1
