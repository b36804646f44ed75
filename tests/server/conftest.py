"""Servers and stubs for the wire ring."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from support.probes import small_probe
from support.serving import serving
from support.waits import WAIT_S, wait_s
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import admin_service_pb2_grpc, memory_service_pb2_grpc
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.engine.collection import calibrating
from totonoe_server.tools.testing import RunningServer, running_server

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
SHORT_S = 5.0
_names = itertools.count(1)


@dataclass
class Wire:
    """A server, and plain stubs to it: no client library in between."""

    server: RunningServer
    channel: grpc.Channel
    memory: Any
    admin: Any

    def collection(self, **settings: Any) -> str:
        name = f"c{next(_names)}"
        self.admin.CreateCollection(admin_pb.CreateCollectionRequest(name=name, **settings))
        return name

    def remember(self, content: str, collection: str = "", **rest: Any) -> pb.RememberResponse:
        """One Remember; `rest` goes to the draft, but for `agent_id`, `force`, `operation_id`."""
        outer = {k: rest.pop(k) for k in ("agent_id", "force", "operation_id") if k in rest}
        request = pb.RememberRequest(
            collection=collection, memory={"content": content, **rest}, **outer
        )
        return self.memory.Remember(request, timeout=30)


@dataclass
class Failure:
    """How a call failed, as a program sees it."""

    code: grpc.StatusCode
    reason: str
    domain: str
    details: dict[str, str]
    message: str
    retry_delay_ms: int | None


def failure_of(error: grpc.RpcError) -> Failure:
    """Reads the rich status. A bare one has an empty reason."""
    try:
        status = rpc_status.from_call(error)
    except ValueError:
        # The deadline passed here while the daemon's own end arrived: the code is the deadline's.
        status = None
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    delay_ms = None
    for detail in status.details if status else ():
        detail.Unpack(info)
        if detail.Unpack(retry):
            delay_ms = retry.retry_delay.ToMilliseconds()
    return Failure(
        error.code(), info.reason, info.domain, dict(info.metadata), error.details(), delay_ms
    )


@pytest.fixture(scope="session")
def fails() -> Callable[..., Failure]:
    """Calls something that must fail, and tells how."""

    def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Failure:
        kwargs.setdefault("timeout", 30)
        with pytest.raises(grpc.RpcError) as caught:
            answer = function(*args, **kwargs)
            if hasattr(answer, "__next__"):
                for _ in answer:
                    pass
        failure = failure_of(caught.value)
        assert failure.code is not grpc.StatusCode.UNKNOWN
        return failure

    return call


@pytest.fixture(scope="session")
def read_failure() -> Callable[[grpc.RpcError], Failure]:
    """The rich status of an error that was caught."""
    return failure_of


class Patient:
    """A call of a stub whose deadline grows with the machine's load.

    Deadlines below `SHORT_S` stay: a test lets them pass.
    """

    def __init__(self, call: Any) -> None:
        self._call = call

    def __call__(self, *args: Any, timeout: float | None = None, **more: Any) -> Any:
        return self._call(*args, timeout=longer_s(timeout), **more)

    def future(self, *args: Any, timeout: float | None = None, **more: Any) -> Any:
        return self._call.future(*args, timeout=longer_s(timeout), **more)


def longer_s(timeout_s: float | None) -> float | None:
    """The deadline on a machine that is loaded as this one."""
    if timeout_s is None or timeout_s < SHORT_S:
        return timeout_s
    return wait_s(max(timeout_s, WAIT_S))


def patient(stub: Any) -> Any:
    """The stub, with patient calls."""
    for name, call in vars(stub).items():
        setattr(stub, name, Patient(call))
    return stub


def connect(server: RunningServer) -> Wire:
    """Stubs over one channel that takes long messages and bears a loaded machine."""
    channel = grpc.insecure_channel(
        server.address.split(",")[0],
        options=[
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ],
    )
    return Wire(
        server,
        channel,
        patient(memory_service_pb2_grpc.MemoryServiceStub(channel)),
        patient(admin_service_pb2_grpc.AdminServiceStub(channel)),
    )


@pytest.fixture(scope="session", autouse=True)
def _small_probe() -> Iterator[None]:
    """A Calibrate reads a few pairs. The ring `core` has the shipped ones, which take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrating, "probe_pairs", small_probe)
        yield


@pytest.fixture(scope="session")
def wire(kept_in: str) -> Iterator[Wire]:
    """The real engine with the embedder `hashing`, for all tests; each has its collection."""
    with serving(kept_in=kept_in) as server:
        wire = connect(server)
        with wire.channel:
            yield wire


@contextmanager
def open_real(**settings: Any) -> Iterator[Wire]:
    """A server of the real engine for one test, and stubs to it."""
    opens = running_server if "store" in settings else serving
    with opens(**settings) as server:
        wire = connect(server)
        with wire.channel:
            yield wire


@pytest.fixture(scope="session")
def open_wire() -> Callable[..., AbstractContextManager[Wire]]:
    """Opens further servers of the real engine."""
    return open_real


def unexpected(name: str, *_: Any, **__: Any) -> Exception:
    """What an engine does that was told nothing."""
    return KeyError(name)


class FakeEngine:
    """Answers every call with what `behave` makes of it: a result, a future or an error."""

    def __init__(self) -> None:
        self.behave: Callable[..., Any] = unexpected
        self.closed = False
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append((name, *args))
            if name == "apply_all":
                collection, requests = args
                return [
                    as_future(self.behave("apply", collection, *request)) for request in requests
                ]
            return as_future(self.behave(name, *args, **kwargs))

        return call

    def close(self, timeout_s: float) -> None:  # noqa: ARG002 - the seam's name
        self.closed = True


def as_future(outcome: Any) -> Future[Any]:
    """A future that is done, unless it is one already."""
    if isinstance(outcome, Future):
        return outcome
    future: Future[Any] = Future()
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
    return future


@dataclass
class FakeWire(Wire):
    """Stubs to a server over a fake engine."""

    engine: FakeEngine


@contextmanager
def fake_wire(**settings: Any) -> Iterator[FakeWire]:
    """A server over a fake engine of its own."""
    engine = FakeEngine()
    with running_server(engine=engine, **settings) as server:
        wire = connect(server)
        with wire.channel:
            yield FakeWire(server, wire.channel, wire.memory, wire.admin, engine)
    assert engine.closed


@pytest.fixture(scope="session")
def open_fake() -> Callable[..., AbstractContextManager[FakeWire]]:
    """Opens further servers over fake engines."""
    return fake_wire


@pytest.fixture(scope="session")
def _fake_server() -> Iterator[FakeWire]:
    with fake_wire() as wire:
        yield wire


@pytest.fixture
def fake(_fake_server: FakeWire) -> FakeWire:
    """A server over an engine that does what the test says."""
    _fake_server.engine.behave = unexpected
    _fake_server.engine.calls.clear()
    return _fake_server
