"""Calls over the client's stream: as by themselves, whatever becomes of the stream."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

import totonoe
from support.scripted import answering, fail, scripted
from support.waits import wait_s, wait_until
from totonoe import AsyncClient, Client, RetryPolicy
from totonoe.call import multiplex
from totonoe.call.multiplex import REOPEN_S_MAX, REOPEN_S_MIN, Opening
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_server.access.gate import Gate
from totonoe_server.life import daemon, interceptors
from totonoe_server.tools.testing import RunningServer, running_server

ONCE = RetryPolicy(attempts_max=1)
FORKING = """
import os, sys
from totonoe import Client

client = Client(sys.argv[1], agent_id="parent", multiplex=True)

def streaming():
    for _ in range(2000):
        assert client.recall("port").hits
        stream = client._stream._stream
        if stream is not None and not stream.is_over and stream._items._window:
            return stream
    raise SystemExit("no stream")

before = streaming()
child = os.fork()
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert streaming() is not before
assert client.remember("The parent is still here.").saved
client.close()
"""


class Daemon:
    """A scripted daemon: what it was asked by single calls, and on streams."""

    def __init__(self) -> None:
        self.alone: list[Any] = []
        self.items: list[Any] = []
        self.window = 8
        self.streams = 0
        self.serve: Callable[[Any, Any], Any] = lambda item, _context: pb.MultiplexResponse(
            id=item.id, recall={"revision": 7}
        )

    def multiplex(self, requests: Any, context: Any) -> Iterator[Any]:
        self.streams += 1
        yield pb.MultiplexResponse(opened={"unanswered_max": self.window})
        for item in requests:
            self.items.append(item)
            response = self.serve(item, context)
            if response is not None:
                yield response

    def handlers(self) -> dict[str, Any]:
        recall = answering(pb.RecallResponse(revision=1), self.alone)
        return {"Recall": recall, "Multiplex": self.multiplex}


@pytest.fixture
def scripted_daemon() -> Iterator[tuple[Daemon, str]]:
    made = Daemon()
    with scripted(**made.handlers()) as address:
        yield made, address


class Blocking:
    """A blocking client behind a loop's way to call it, so that each test holds for both."""

    def __init__(self, address: str, **options: Any) -> None:
        self.client = Client(address, **({"multiplex": True} | options))

    def call(self, name: str, *args: Any, **more: Any) -> Any:
        return getattr(self.client, name)(*args, **more)

    def begin(self, name: str, *args: Any, **more: Any) -> Callable[[], Any]:
        """Begins a call; what is returned waits for its outcome, an exception too."""
        outcome: list[Any] = []

        def work() -> None:
            try:
                outcome.append(self.call(name, *args, **more))
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=work)
        thread.start()

        def wait() -> Any:
            thread.join(wait_s())
            return outcome[0]

        return wait

    def close(self) -> None:
        self.client.close()


class Asyncio(Blocking):
    """An asyncio client on a loop in a thread of its own."""

    def __init__(self, address: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.client: Any = AsyncClient(address, **options)

    def submit(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, name: str, *args: Any, **more: Any) -> Any:
        return self.submit(getattr(self.client, name)(*args, **more)).result(wait_s())

    def close(self) -> None:
        self.submit(self.client.close()).result(wait_s())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(wait_s())
        self._loop.close()


@pytest.fixture(params=[Blocking, Asyncio])
def client_of(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Makes clients, and closes them."""
    made: list[Any] = []

    def make(address: str, **options: Any) -> Any:
        made.append(request.param(address, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


def until_streaming(client: Any, on: Daemon) -> None:
    """Calls until one came over the stream."""
    before = len(on.items)
    wait_until(lambda: client.call("recall", "x") and len(on.items) > before)


def test_first_call_opens_no_stream(scripted_daemon: Any, client_of: Any) -> None:
    on, address = scripted_daemon
    client_of(address).call("recall", "x")
    assert (on.streams, len(on.alone)) == (0, 1)


def test_calls_after_the_first_go_over_one_stream(scripted_daemon: Any, client_of: Any) -> None:
    on, address = scripted_daemon
    client = client_of(address, agent_id="ann")
    until_streaming(client, on)
    alone = len(on.alone)
    for _ in range(20):
        assert client.call("recall", "x", timeout_s=30).revision == 7
    assert (on.streams, len(on.alone)) == (1, alone)
    assert on.items[-1].recall.agent_id == "ann"
    assert 0 < on.items[-1].timeout_s <= 30


def test_stream_is_switched_off_by_an_option(scripted_daemon: Any, client_of: Any) -> None:
    on, address = scripted_daemon
    client = client_of(address, multiplex=False)
    for _ in range(5):
        client.call("recall", "x")
    assert (on.streams, len(on.alone)) == (0, 5)


def test_daemon_without_the_stream_is_called_as_ever(client_of: Any) -> None:
    alone: list[Any] = []
    with scripted(Recall=answering(pb.RecallResponse(revision=1), alone)) as address:
        client = client_of(address, retry=ONCE)
        assert [client.call("recall", "x").revision for _ in range(30)] == [1] * 30
    assert len(alone) == 30


@pytest.mark.parametrize("code", ["UNAVAILABLE", "INTERNAL", "UNIMPLEMENTED", "UNKNOWN"])
def test_stream_that_is_refused_disturbs_no_call(client_of: Any, code: str) -> None:
    def refuse(_requests: Any, context: Any) -> Iterator[Any]:
        context.abort(grpc.StatusCode[code], "no stream here")
        yield

    alone: list[Any] = []
    handlers = {"Recall": answering(pb.RecallResponse(revision=1), alone), "Multiplex": refuse}
    with scripted(**handlers) as address:
        client = client_of(address, retry=ONCE)
        for _ in range(20):
            assert client.call("recall", "x").revision == 1
    assert len(alone) == 20


def test_stream_that_a_proxy_holds_up_disturbs_no_call(client_of: Any) -> None:
    end = threading.Event()

    def silent(_requests: Any, _context: Any) -> Iterator[Any]:
        end.wait(wait_s())
        yield from ()

    with scripted(Recall=answering(pb.RecallResponse(revision=1)), Multiplex=silent) as address:
        client = client_of(address, retry=ONCE)
        try:
            for _ in range(20):
                assert client.call("recall", "x").revision == 1
        finally:
            end.set()


def test_full_window_and_long_requests_go_by_themselves(
    scripted_daemon: Any, client_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    on, address = scripted_daemon
    on.window = 1
    client = client_of(address)
    until_streaming(client, on)
    held = threading.Event()
    answer = on.serve

    def slow(item: Any, context: Any) -> Any:
        held.wait(wait_s())
        return answer(item, context)

    on.serve = slow
    count = len(on.items)
    waits = client.begin("recall", "slow")
    wait_until(lambda: len(on.items) > count)
    assert client.call("recall", "x").revision == 1
    held.set()
    assert waits().revision == 7
    monkeypatch.setattr(multiplex, "ITEM_BYTES_MAX", 100)
    assert client.call("recall", "x" * 200).revision == 1


def test_item_that_fails_is_the_error_of_the_call(scripted_daemon: Any, client_of: Any) -> None:
    on, address = scripted_daemon
    client = client_of(address, retry=ONCE)
    until_streaming(client, on)
    error = {"code": 5, "message": "no such collection"}
    on.serve = lambda item, _: pb.MultiplexResponse(id=item.id, error=error)
    with pytest.raises(totonoe.errors.NotFound, match="no such collection"):
        client.call("recall", "x")


def test_item_without_an_answer_ends_at_the_deadline_and_is_taken_back(
    scripted_daemon: Any, client_of: Any
) -> None:
    on, address = scripted_daemon
    client = client_of(address, retry=ONCE)
    until_streaming(client, on)
    on.serve = lambda *_: None
    with pytest.raises(totonoe.errors.DeadlineExceeded) as caught:
        client.call("recall", "x", timeout_s=0.1)
    assert caught.value.reason == "DEADLINE_PASSED"
    wait_until(lambda: on.items[-1].cancel)
    assert on.items[-1].id == on.items[-2].id


@pytest.mark.parametrize(
    ("code", "reason", "tried"),
    [("UNAVAILABLE", "STREAM_IDLE", 1), ("UNAUTHENTICATED", "TOKEN_REVOKED", 1),
     ("UNAVAILABLE", "SHUTTING_DOWN", 0)],
)  # fmt: skip
def test_stream_that_ends_fails_no_call_that_would_not_fail_by_itself(
    scripted_daemon: Any, client_of: Any, code: str, reason: str, tried: int
) -> None:
    on, address = scripted_daemon
    client = client_of(address, retry=ONCE)
    until_streaming(client, on)
    on.serve = lambda _item, context: fail(context, code, reason)
    alone = len(on.alone)
    if tried:
        assert client.call("recall", "x").revision == 1
    else:
        with pytest.raises(totonoe.errors.Unavailable):
            client.call("recall", "x")
    assert len(on.alone) == alone + tried


def test_call_is_tried_again_when_its_stream_breaks(scripted_daemon: Any, client_of: Any) -> None:
    on, address = scripted_daemon
    client = client_of(address)
    until_streaming(client, on)
    on.serve = lambda _item, context: fail(context, "UNAVAILABLE", "SHUTTING_DOWN")
    assert client.call("recall", "x").revision == 1
    on.serve = Daemon().serve
    # The stream is opened again.
    until_streaming(client, on)
    assert on.streams >= 2


def test_asyncio_task_that_is_cancelled_takes_its_item_back(scripted_daemon: Any) -> None:
    on, address = scripted_daemon

    async def run() -> None:
        async with AsyncClient(address) as client:
            while not on.items:
                await client.recall("x")
            on.serve = lambda *_: None
            count = len(on.items)
            task = asyncio.create_task(client.recall("slow"))
            while len(on.items) == count:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while not on.items[-1].cancel:
                await asyncio.sleep(0.001)
            on.serve = Daemon().serve
            assert (await client.recall("x")).revision == 7

    asyncio.run(asyncio.wait_for(run(), wait_s()))
    assert on.streams == 1


def test_close_ends_calls_that_wait(scripted_daemon: Any) -> None:
    on, address = scripted_daemon
    client = Blocking(address)
    until_streaming(client, on)
    on.serve = lambda *_: None
    count = len(on.items)
    waits = client.begin("recall", "slow")
    wait_until(lambda: len(on.items) > count)
    client.close()
    assert isinstance(waits(), totonoe.errors.Cancelled)
    with pytest.raises(totonoe.errors.ClientClosed):
        client.call("recall", "x")


def test_stream_that_failed_is_opened_again_after_longer_and_longer_waits() -> None:
    now_s = 0.0
    opening = Opening(lambda: now_s)
    assert [opening.is_due() for _ in range(3)] == [False, True, True]
    wait = REOPEN_S_MIN
    for _ in range(10):
        opening.failed()
        assert not opening.is_due()
        now_s += wait
        assert opening.is_due()
        wait = min(2 * wait, REOPEN_S_MAX)
    opening.succeeded()
    opening.failed()
    now_s += REOPEN_S_MIN
    assert opening.is_due()


# -- A real daemon


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> interceptors.Interceptor:
    """What stands around the calls of the next server."""
    made = interceptors.Interceptor(Gate(tmp_path))
    monkeypatch.setattr(daemon, "Interceptor", lambda _: made)
    return made


@pytest.fixture
def server(guard: interceptors.Interceptor) -> Iterator[RunningServer]:
    assert not guard.draining
    with running_server() as made:
        yield made


def open_streams(guard: interceptors.Interceptor) -> int:
    figures = guard.figures.methods.get("Multiplex")
    return figures.now if figures else 0


def test_every_call_that_goes_over_the_stream_answers_as_by_itself(
    server: RunningServer, guard: interceptors.Interceptor, client_of: Any
) -> None:
    found = {}
    for name, options in (("alone", {"multiplex": False}), ("stream", {})):
        client = client_of(server.address, agent_id=name, **options)
        if name == "stream":
            while not open_streams(guard):
                client.call("check", "Warm.")
        saved = client.call("remember", "The port is 8080.", private=True)
        refused = client.call("remember", "The port is 8080.", private=True)
        found[name] = [
            (saved.saved, refused.saved, refused.memory_id == saved.memory_id),
            client.call("check", "The port is 8080.", private=True).would_save,
            [hit.memory.content for hit in client.call("recall", "port").hits],
            client.call("update", saved.memory_id, importance=5).memory.importance,
            len(client.call("forget", saved.memory_id).forgotten),
        ]
        for refusal in ({"text": ""}, {"text": "x", "k": 5000}):
            with pytest.raises(totonoe.errors.InvalidArgument) as caught:
                client.call("recall", **refusal)
            found[name].append((caught.value.reason, caught.value.details, caught.value.message))
    assert found["alone"] == found["stream"]


def test_threads_share_one_stream(server: RunningServer, guard: interceptors.Interceptor) -> None:
    with Client(server.address, multiplex=True) as client:
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for turn in range(25):
                    text = f"Thread {number} counts to {turn}."
                    saved = client.remember(text, force=True)
                    assert client.update(saved.memory_id, importance=4).memory.content == text
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(wait_s())
        assert not failures
        assert open_streams(guard) == 1
    wait_until(lambda: not open_streams(guard))


def test_client_that_is_dropped_ends_its_stream(
    server: RunningServer, guard: interceptors.Interceptor
) -> None:
    client = Client(server.address, multiplex=True)
    while not open_streams(guard):
        client.check("A text.")
    del client
    wait_until(lambda: not open_streams(guard))


def test_process_that_forks_opens_another_stream(server: RunningServer) -> None:
    with server.client() as client:
        client.remember("The port is 8080.")
    done = subprocess.run(
        [sys.executable, "-c", FORKING, server.address],
        capture_output=True,
        text=True,
        check=False,
        timeout=wait_s(),
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_daemon_that_restarts_is_found_again_and_writes_once(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    address = ""
    client: Any = None
    try:
        for turn in range(2):
            more = {"address": address} if address else {}
            with running_server(data_dir, **more) as server:
                address = server.address
                client = client or Client(address, timeout_s=wait_s(), multiplex=True)
                for number in range(10):
                    name = f"{turn}-{number}"
                    assert not client.remember(f"Text {name} of many.", operation_id=name).replayed
                assert client.remember(f"Text {turn}-0 of many.", operation_id=f"{turn}-0").replayed
    finally:
        client.close()
