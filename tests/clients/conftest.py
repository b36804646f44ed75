"""Both clients behind one way to call them, so that each test holds for both."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from types import FrameType
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.scripted import scripted
from support.serving import serving
from totonoe import AsyncClient, Client, RetryPolicy
from totonoe.cli.main import app

# Fast enough for a test, otherwise the policy that users get.
QUICK = RetryPolicy(attempts_max=4, backoff_initial_s=0.01, backoff_max_s=0.02)

Caller = Callable[..., Any]


def _blocking(
    address: str, name: str, /, *args: Any, options: dict[str, Any], **kwargs: Any
) -> Any:
    with Client(address, **options) as client:
        answer = getattr(client, name)(*args, **kwargs)
        return list(answer) if isinstance(answer, Iterator) else answer


def _asyncio(address: str, name: str, /, *args: Any, options: dict[str, Any], **kwargs: Any) -> Any:
    async def run() -> Any:
        async with AsyncClient(address, **options) as client:
            answer = getattr(client, name)(*args, **kwargs)
            if isinstance(answer, AsyncIterator):
                return [item async for item in answer]
            return await answer

    return asyncio.run(run())


@pytest.fixture(params=["blocking", "asyncio"])
def call(request: pytest.FixtureRequest) -> Caller:
    """`call(address, method, ...)`: makes a client, calls, closes. Iterators become lists."""
    made = _blocking if request.param == "blocking" else _asyncio

    def run(address: str, name: str, /, *args: Any, **kwargs: Any) -> Any:
        options = {"retry": QUICK} | kwargs.pop("options", {})
        return made(address, name, *args, options=options, **kwargs)

    return run


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ADDRESS", "AGENT", "COLLECTION"):
        monkeypatch.delenv(f"TOTONOE_{name}", raising=False)
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def slept_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of each sleep that a client asks for, in order; it still sleeps.

    Threads of libraries that earlier tests started sleep as well: theirs are left out.
    """
    found: list[float] = []
    sleep, sleep_async = time.sleep, asyncio.sleep

    def note(seconds: float, caller: FrameType) -> None:
        if caller.f_globals["__name__"].startswith("totonoe."):
            found.append(seconds)

    def noted(seconds: float) -> None:
        note(seconds, sys._getframe(1))
        sleep(seconds)

    async def noted_async(seconds: float, *result: Any) -> Any:
        note(seconds, sys._getframe(1))
        return await sleep_async(seconds, *result)

    monkeypatch.setattr(time, "sleep", noted)
    monkeypatch.setattr(asyncio, "sleep", noted_async)
    return found


@pytest.fixture
def run() -> Caller:
    """`run("recall", "x", Recall=handler)`: the command against a scripted daemon."""

    def invoke(*arguments: str, stdin: str | None = None, **handlers: Any) -> Result:
        with scripted(**handlers) as address:
            result = CliRunner().invoke(app, ["--address", address, *arguments], input=stdin)
        # Each printed next step says where the daemon is, and that is another one each time.
        shown = f" --address {address}".encode()
        result.stdout_bytes = result.stdout_bytes.replace(shown, b"")
        result.stderr_bytes = result.stderr_bytes.replace(shown, b"")
        result.output_bytes = result.output_bytes.replace(shown, b"")
        return result

    return invoke


# -- A daemon for the tests of a file, and an empty collection for each

_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server(kept_in: str) -> Iterator[Any]:
    with serving(kept_in=kept_in) as made:
        yield made


@pytest.fixture
def collection(server: Any) -> str:
    """Name of a new collection."""
    name = f"c{next(_NUMBERS)}"
    with Client(server.address) as client:
        client.create_collection(name)
    return name


@pytest.fixture
def store(server: Any, collection: str, call: Caller) -> Caller:
    """`store(method, ...)` on an empty collection of a daemon."""

    def run(name: str, /, *args: Any, **kwargs: Any) -> Any:
        return call(server.address, name, *args, collection=collection, **kwargs)

    return run
