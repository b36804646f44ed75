"""The daemon's life: start, refusal to start, health, SIGTERM, as a process of its own."""

from __future__ import annotations

import asyncio
import errno
import os
import queue
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from support.waits import wait_s, wait_until
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import memory_service_pb2_grpc
from totonoe_core.domain.queries import Gotten
from totonoe_core.kernels import cosine
from totonoe_server.life import daemon as daemon_module
from totonoe_server.life.addresses import AddressError, check_free, parse_address
from totonoe_server.life.config import Settings
from totonoe_server.life.daemon import Daemon, StartupError
from totonoe_server.life.watchdog import ExitCode
from totonoe_server.tools.testing import running_server
from totonoe_server.wire.methods import SERVICES

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
ROOT = Path(__file__).parents[2]
GRACE_S = 3600.0
"""Longer than any wait here: a stop that uses it up hangs the test."""


class DaemonProcess:
    """`python -m totonoe_server`, and what it prints."""

    def __init__(self, *options: str, **environment: str) -> None:
        path = os.pathsep.join(str(ROOT / name) for name in ("core", "server", "clients"))
        bare = {k: v for k, v in os.environ.items() if not k.startswith("TOTONOE_")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "totonoe_server", *options],
            env=bare | {"PYTHONPATH": path} | environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        self.lines: list[str] = []
        self._new: queue.Queue[str | None] = queue.Queue()
        assert self._process.stderr is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stderr,))
        self._reader.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.lines.append(line)
            self._new.put(line)
        self._new.put(None)

    def wait_for(self, words: str) -> str:
        """The first line with the words."""
        while True:
            line = self._new.get(timeout=wait_s())
            assert line is not None, "it ended: " + "".join(self.lines)
            if words in line:
                return line

    def address(self) -> str:
        """Where it listens, once it does."""
        found = re.search(r"address=(\S+)", re.sub(r"\x1b\[\d*m", "", self.wait_for("ready")))
        assert found
        return found[1]

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def exit_code(self) -> int:
        """Waits for the end."""
        return self._process.wait(wait_s())

    def close(self) -> None:
        """Whatever happened, it is gone."""
        self._process.kill()
        self._process.wait(wait_s())
        self._reader.join(wait_s())
        assert self._process.stderr is not None
        self._process.stderr.close()


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., DaemonProcess]]:
    """Starts daemons with the embedder `hashing`; they are gone after the test."""
    started: list[DaemonProcess] = []

    def run(*options: str, **environment: str) -> DaemonProcess:
        defaults = {
            "TOTONOE_ADDRESS": "127.0.0.1:0",
            "TOTONOE_DATA_DIR": str(tmp_path / "data"),
            "TOTONOE_EMBEDDER": "hashing",
            "TOTONOE_JUDGE": "none",
        }
        started.append(DaemonProcess(*options, **(defaults | environment)))
        return started[-1]

    yield run
    for daemon in started:
        daemon.close()


def watch(channel: grpc.Channel, service: str, seen: list[int]) -> threading.Thread:
    """Follows the health of a service until the stream ends."""
    call = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=service))

    def follow() -> None:
        with suppress(grpc.RpcError):
            seen.extend(answer.status for answer in call)

    thread = threading.Thread(target=follow)
    thread.start()
    return thread


# -- In the process


def test_health_turns_from_serving_to_not_serving_and_running_calls_end(open_fake, read_failure):
    with open_fake(grace_s=GRACE_S) as wire:
        blocked: Future[Gotten] = Future()
        wire.engine.behave = lambda *_, **__: blocked
        histories: dict[str, list[int]] = {name: [] for name in ("", *SERVICES)}
        threads = [watch(wire.channel, name, seen) for name, seen in histories.items()]
        wait_until(lambda: all(histories.values()))
        running = wire.memory.Get.future(pb.GetRequest(ids=["m"]), timeout=30)
        wait_until(lambda: wire.engine.calls)
        stopping = threading.Thread(target=wire.server.stop)
        stopping.start()
        wait_until(lambda: all(NOT_SERVING in seen for seen in histories.values()))
        # New calls are refused while the running one goes on, and health still tells.
        wait_until(lambda: _refusal(wire.memory, read_failure) == "SHUTTING_DOWN")
        health = health_pb2_grpc.HealthStub(wire.channel)
        assert health.Check(health_pb2.HealthCheckRequest(), timeout=5).status == NOT_SERVING
        assert not running.done()
        blocked.set_result(Gotten(5, (), ()))
        assert running.result().revision == 5
        stopping.join(wait_s())
        for thread in threads:
            thread.join(wait_s())
        # The watchers did not hold it up for the whole grace time.
        assert not stopping.is_alive()
    assert set(histories) == {"", *SERVICES}
    assert all(seen == [SERVING, NOT_SERVING] for seen in histories.values())


def _refusal(stub, read_failure) -> str:
    """Reason why a new call is refused; empty if it is not."""
    try:
        stub.Get(pb.GetRequest(ids=["m"]), timeout=0.3)
    except grpc.RpcError as error:
        return read_failure(error).reason
    return ""


def test_call_that_does_not_end_is_cut_off_with_a_reason_after_the_grace_time(
    open_fake, read_failure
):
    with open_fake(grace_s=0.3) as wire:
        never: Future[Gotten] = Future()
        wire.engine.behave = lambda *_, **__: never
        running = wire.memory.Get.future(pb.GetRequest(ids=["m"]), timeout=30)
        wait_until(lambda: wire.engine.calls)
        wire.server.stop()
        assert running.code() is grpc.StatusCode.UNAVAILABLE
        assert read_failure(running).reason == "SHUTTING_DOWN"
        assert never.cancelled()


def test_stop_waits_until_no_call_comes_any_more_but_not_for_ever(monkeypatch):
    monkeypatch.setattr(daemon_module, "FLUSH_S", 0.0)  # one turn of the loop

    async def turns(most: int) -> int:
        """Return after how many turns with a refused call in each the daemon is quiet."""
        daemon = Daemon(Settings())
        waiting = asyncio.ensure_future(daemon._quiet())
        for turn in range(most):
            daemon.interceptor.figures.begin("Get")
            daemon.interceptor.figures.end("Get", "UNAVAILABLE", 0.0)
            await asyncio.sleep(0)
            if waiting.done():
                return turn
        for _ in range(10):
            await asyncio.sleep(0)
        assert waiting.done()
        return most

    assert asyncio.run(turns(50)) == 50
    monkeypatch.setattr(daemon_module, "QUIET_S_MAX", 0.0)
    assert asyncio.run(turns(50)) < 10


def test_reflection_lists_all_services(wire):
    stub = reflection_pb2_grpc.ServerReflectionStub(wire.channel)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    (answer,) = stub.ServerReflectionInfo(iter([request]), timeout=10)
    names = {service.name for service in answer.list_services_response.service}
    assert names >= {
        "totonoe.v1.MemoryService",
        "totonoe.v1.AdminService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }


def test_health_of_an_unknown_service_is_not_found(wire, fails):
    stub = health_pb2_grpc.HealthStub(wire.channel)
    failure = fails(stub.Check, health_pb2.HealthCheckRequest(service="nothing"))
    assert failure.code is grpc.StatusCode.NOT_FOUND


def test_port_is_said_to_be_in_use_only_if_it_is(monkeypatch):
    address = parse_address("127.0.0.1:7766")

    def refused(code):
        def bind(*_):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(socket.socket, "bind", bind)
        with pytest.raises(AddressError) as caught:
            check_free(address)
        return str(caught.value)

    assert refused(errno.EADDRINUSE).endswith(": the port is in use")
    assert refused(errno.EMFILE).endswith(": Too many open files; see ulimit -n")
    assert refused(errno.EACCES).endswith(": Permission denied")


@pytest.mark.parametrize(("port", "failures", "tried"), [(0, 2, 3), (0, 3, 3), (7437, 1, 1)])
def test_free_port_that_another_process_took_is_chosen_anew(port, failures, tried):
    asked = []

    def add_insecure_port(target: str) -> None:
        asked.append(target)
        if len(asked) <= failures:
            raise RuntimeError("Failed to bind to address")

    server = SimpleNamespace(add_insecure_port=add_insecure_port)
    with pytest.raises(RuntimeError) if failures >= tried else nullcontext():
        daemon_module._bind(server, parse_address(f"127.0.0.1:{port}"), None)
    assert asked == [f"127.0.0.1:{port}"] * tried


def test_bind_that_fails_without_a_cause_quotes_grpc(tmp_path):
    settings = SimpleNamespace(address="127.0.0.1:0", data_dir=tmp_path)
    with (
        pytest.raises(StartupError, match=r"Cannot listen on 127\.0\.0\.1:0: failed to bind"),
        daemon_module._as_startup_error(settings),
    ):
        raise RuntimeError("failed to bind, for a cause of its own")


def test_start_on_a_port_in_use_says_so_and_leaves_nothing(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(StartupError, match=f"127.0.0.1:{port}: the port is in use"),
            running_server(tmp_path / "data", address=f"127.0.0.1:{port}"),
        ):
            pass
    with running_server(tmp_path / "data", address=f"127.0.0.1:{port}") as server:
        assert server.address.endswith(str(port))


def test_second_daemon_on_the_data_names_the_first(tmp_path):
    with running_server(tmp_path / "data") as first:
        with (
            pytest.raises(StartupError) as caught,
            running_server(tmp_path / "data"),
        ):
            pass
        assert f"pid {os.getpid()}" in str(caught.value)
        assert first.address in str(caught.value)
        assert "\n" not in str(caught.value)


def test_start_closes_a_data_directory_that_is_open_to_others(tmp_path):
    data = tmp_path / "data"
    with running_server(data):
        pass
    for path in (data, data / "catalog.db"):
        path.chmod(path.stat().st_mode | 0o055)
    with running_server(data):
        assert data.stat().st_mode & 0o777 == 0o700
        assert (data / "catalog.db").stat().st_mode & 0o777 == 0o600


def test_start_on_an_open_directory_of_other_things_is_refused_in_one_line(tmp_path):
    (tmp_path / "letters").touch()
    tmp_path.chmod(0o755)
    with (
        pytest.raises(StartupError, match="is open to other users") as caught,
        running_server(tmp_path),
    ):
        pass
    assert "\n" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == {"letters"}


def test_start_on_a_directory_that_cannot_be_made_names_it(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StartupError, match="file"),
        running_server(tmp_path / "file" / "data"),
    ):
        pass


def test_embedder_that_cannot_run_is_named_and_the_rest_serves(tmp_path, fails, caplog):
    with running_server(
        tmp_path / "data", embedder="model2vec", embedder_path=str(tmp_path / "nothing")
    ) as server:
        with grpc.insecure_channel(server.address) as channel:
            stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
            failure = fails(stub.Remember, pb.RememberRequest(memory={"content": "a"}), timeout=60)
        assert failure.code is grpc.StatusCode.FAILED_PRECONDITION
        assert failure.reason == "EMBEDDER_MISCONFIGURED"
        wait_until(lambda: "the embedder did not start" in caplog.text)


# -- As a process


def calls_ended(lines: list[str]) -> Counter[str]:
    """Return how many calls ended with which code, as the last line of a daemon has it."""
    (line,) = (re.sub(r"\x1b\[\d*m", "", line) for line in lines if "calls=" in line)
    codes = re.findall(r"\b([A-Z_]+)=(\d+)", line)
    return Counter({code: int(count) for code, count in codes})


def test_sigterm_under_load_ends_running_calls_and_exits_0(start, read_failure):
    daemon = start()
    address = daemon.address()
    answered: list[str] = []
    ends: list[tuple[grpc.StatusCode, str]] = []
    health: list[int] = []

    def load(worker: int, channel: grpc.Channel) -> None:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        draw = random.Random(worker)
        for _ in range(100_000):
            # Little alike: this is not about what the guard reads.
            text = f"{draw.getrandbits(64):x} {draw.getrandbits(64):x} parcels"
            try:
                answer = stub.Remember(
                    pb.RememberRequest(memory={"content": text}, agent_id=str(worker)), timeout=30
                )
            except grpc.RpcError as error:
                ends.append((error.code(), read_failure(error).reason))
                return
            answered.append(answer.memory_id)

    with grpc.insecure_channel(address) as channel:
        watcher = watch(channel, "", health)
        workers = [threading.Thread(target=load, args=(i, channel)) for i in range(8)]
        for worker in workers:
            worker.start()
        wait_until(lambda: len(answered) > 50)
        daemon.signal(signal.SIGTERM)
        for worker in workers:
            worker.join(wait_s())
        watcher.join(wait_s())
        assert daemon.exit_code() == ExitCode.STOPPED
    assert health == [SERVING, NOT_SERVING]
    # Every call that the daemon took up was answered, or refused with its reason, and none was cut.
    refused = (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
    expected = Counter({"OK": len(answered), "UNAVAILABLE": ends.count(refused)})
    assert calls_ended(daemon.lines) == expected
    # A worker that a busy machine held up for so long that the port was closed before it called
    # again gets what any call to a stopped daemon gets: gRPC's own status, which has no reason.
    assert len(ends) == 8
    assert set(ends) <= {refused, (grpc.StatusCode.UNAVAILABLE, "")}
    again = start()
    with grpc.insecure_channel(again.address()) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        for at in range(0, len(answered), 1000):
            got = stub.Get(
                pb.GetRequest(ids=list(dict.fromkeys(answered[at : at + 1000]))), timeout=30
            )
            assert list(got.missing_ids) == []
    again.signal(signal.SIGINT)
    assert again.exit_code() == ExitCode.STOPPED
    assert not any("parcels" in line for line in daemon.lines + again.lines)


def test_daemon_process_notifies_systemd_and_reloads_on_sighup(start, tmp_path):
    notified = tmp_path / "notify"
    settings = tmp_path / "t.toml"
    settings.write_text('log_level = "info"\n')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(notified))
        systemd.settimeout(wait_s())
        daemon = start(
            *("--config", str(settings), "--metrics-address", "0"),
            NOTIFY_SOCKET=str(notified),
            WATCHDOG_USEC="200000",
        )
        messages = [systemd.recv(100) for _ in range(3)]
        assert messages == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        assert "127.0.0.1:" in daemon.wait_for("metrics").partition("metrics")[2]
        settings.write_text('log_level = "debug"\ngrace_s = 5\n')
        daemon.signal(signal.SIGHUP)
        line = re.sub(r"\x1b\[\d*m", "", daemon.wait_for("settings reloaded"))
        assert "changed=['log_level']" in line
        assert "needs_restart=['grace_s']" in line
        settings.write_text("grace = 5\n")
        daemon.signal(signal.SIGHUP)
        assert "the nearest is `grace_s`" in daemon.wait_for("settings are not reloaded")
        daemon.signal(signal.SIGTERM)
        while (message := systemd.recv(100)) == b"WATCHDOG=1":
            pass
        assert message == b"STOPPING=1"
    assert daemon.exit_code() == ExitCode.STOPPED


def test_sighup_stops_a_daemon_whose_terminal_is_gone(tmp_path):
    terminal, its_side = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "totonoe_server", "--address", "127.0.0.1:0"],
        env={**os.environ, "TOTONOE_DATA_DIR": str(tmp_path / "d"), "TOTONOE_EMBEDDER": "none"},
        stderr=its_side,
    )
    try:
        os.close(its_side)
        said = b""
        while b"ready" not in said:
            said += os.read(terminal, 1000)
        os.close(terminal)
        process.send_signal(signal.SIGHUP)
        assert process.wait(wait_s()) == ExitCode.STOPPED
    finally:
        process.kill()
        process.wait(wait_s())


def test_second_daemon_process_names_pid_and_address_and_exits_3(start):
    first = start()
    address = first.address()
    second = start()
    assert second.exit_code() == ExitCode.NOT_STARTED
    wait_until(lambda: second.lines)
    (line,) = second.lines
    assert f"pid {first.pid}" in line
    assert address in line


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (
            ["--address", "0.0.0.0:0"],
            3,
            "without a certificate (--tls-cert and --tls-key) and a",
        ),
        (["--embedder", "magic"], 3, "embedder: "),
        (["--data-dir", "/proc/nothing"], 3, "/proc/nothing"),
        (["--no-such-option"], 2, "No such option"),
    ],
    ids=["address", "setting", "directory", "usage"],
)
def test_what_hinders_the_start_is_one_line_and_an_exit_code(start, options, code, words):
    daemon = start(*options)
    assert daemon.exit_code() == code
    wait_until(lambda: any(words in line for line in daemon.lines))
    if code == ExitCode.NOT_STARTED:
        assert len(daemon.lines) == 1
        assert daemon.lines[0].startswith("totonoe: ")


def test_too_few_files_are_one_line_and_not_the_end_of_grpc(tmp_path):
    command = f"ulimit -n 22; exec {sys.executable} -m totonoe_server --address 127.0.0.1:0"
    done = subprocess.run(
        ["sh", "-c", command],
        env=os.environ | {"TOTONOE_DATA_DIR": str(tmp_path / "data"), "TOTONOE_JUDGE": "none"},
        capture_output=True,
        text=True,
        timeout=wait_s(),
        check=False,
    )
    assert done.returncode == ExitCode.NOT_STARTED
    said = "totonoe: This process may open 22 files, and needs 64: see ulimit -n\n"
    assert (done.stdout, done.stderr) == ("", said)


def test_sigterm_while_it_starts_ends_it(start):
    daemon = start()
    time.sleep(1.0)
    daemon.signal(signal.SIGTERM)
    assert daemon.exit_code() in (ExitCode.STOPPED, -signal.SIGTERM)


def test_second_sigint_cuts_running_calls_off(start):
    daemon = start(TOTONOE_GRACE_S=str(GRACE_S))
    address = daemon.address()
    hold = threading.Event()

    def requests() -> Iterator[pb.RememberManyRequest]:
        yield pb.RememberManyRequest(items=[{"memory": {"content": "One."}}])
        hold.wait(wait_s())

    with grpc.insecure_channel(address) as channel:
        call = memory_service_pb2_grpc.MemoryServiceStub(channel).RememberMany(requests())
        assert next(call).results[0].answer.saved
        daemon.signal(signal.SIGINT)
        daemon.wait_for("stopping")
        time.sleep(0.2)
        daemon.signal(signal.SIGINT)
        assert daemon.exit_code() in (ExitCode.STOPPED, ExitCode.FORCED)
        hold.set()
        with pytest.raises(grpc.RpcError):
            next(call)


def test_json_log_is_one_object_a_line_and_names_no_text(start):
    import json

    daemon = start(TOTONOE_LOG_FORMAT="json", TOTONOE_LOG_LEVEL="debug")
    ready = json.loads(daemon.wait_for('"ready"'))
    assert set(ready) >= {"event", "level", "timestamp", "address", "data_dir", "model", "version"}
    with grpc.insecure_channel(ready["address"]) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        stub.Remember(pb.RememberRequest(memory={"content": "Quince jam."}), timeout=30)
        with pytest.raises(grpc.RpcError):
            stub.Remember(pb.RememberRequest(memory={"content": "Quince\0jam."}), timeout=30)
    daemon.signal(signal.SIGTERM)
    assert daemon.exit_code() == 0
    for line in daemon.lines:
        json.loads(line)
        assert "uince" not in line


def test_first_start_after_warm_up_compiles_nothing_and_one_without_says_that_it_compiles(
    start, tmp_path
):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""}
    # One kernel is missing: to compile them all takes half a minute.
    kept = Path(cosine.similarity64.stats.cache_path)
    build, parent = kept.parent, kept.parent.parent
    copy = tmp_path / "cache" / "totonoe" / parent.name / build.name / kept.name
    shutil.copytree(kept, copy)
    next(copy.glob("*.nbi")).unlink()
    command = [str(Path(sys.executable).parent / "totonoe"), "warm-up"]
    warming = subprocess.run(
        command,
        env=os.environ | cache,
        capture_output=True,
        text=True,
        timeout=wait_s(120),
        check=True,
    )
    assert warming.stderr.count("compiling kernels, once") == 1
    assert warming.stdout.startswith("The kernels are ready, after ")
    daemon = start(**cache)
    daemon.address()
    assert not any("compiling" in line for line in daemon.lines)
    index = next((tmp_path / "cache").rglob("*.nbi"))
    index.unlink()
    daemon = start(**cache, TOTONOE_DATA_DIR=str(tmp_path / "other"))
    daemon.address()
    assert sum("compiling kernels, once" in line for line in daemon.lines) == 1


def test_a_call_does_not_wait_anew_for_every_method(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: Counter[int] = Counter()
    wait = asyncio.wait

    def counted(futures: Any, **more: Any) -> Any:
        futures = tuple(futures)
        waited[len(futures)] += 1
        return wait(futures, **more)

    monkeypatch.setattr(asyncio, "wait", counted)
    with running_server() as server, grpc.insecure_channel(server.address.split(",")[0]) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        stub.List(pb.ListRequest(), timeout=wait_s())
        waited.clear()
        for _ in range(20):
            stub.List(pb.ListRequest(), timeout=wait_s())
    assert not [count for count, times in waited.items() if count > 8 and times > 2], waited
