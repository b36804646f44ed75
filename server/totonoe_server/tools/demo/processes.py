"""The processes of a demonstration: one daemon and its agents, ended whatever happens."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

START_LIMIT_S = 120.0
STOP_LIMIT_S = 15.0
POLL_S = 0.05
_TAIL_LINES = 5


class DemoError(Exception):
    """The demonstration cannot go on. The message says why in a few lines."""


@contextmanager
def daemon(data_dir: Path, log: Path, options: Sequence[str]) -> Iterator[str]:
    """A daemon on a free port; gives its address. Raises `DemoError`.

    The port is chosen by the system when the daemon binds it, so that nobody can take it in
    between; the daemon's log says which it is.
    """
    command = [sys.executable, "-P", "-m", "totonoe_server", "--address", "127.0.0.1:0"]
    command += ["--data-dir", str(data_dir), "--log-format", "json", "--log-level", "info"]
    with log.open("wb") as stderr:
        process = spawn([*command, *options], stdin=subprocess.DEVNULL, stderr=stderr)
    try:
        yield _address(process, log)
    finally:
        end(process)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Waits until the daemon says that it is ready, and where."""
    deadline_s = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline_s:
        ended = process.poll() is not None
        for line in log.read_text(errors="replace").splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and event.get("event") == "ready":
                return str(event["address"])
        if ended:
            raise DemoError(f"the daemon did not start:\n{_tail(log)}")
        time.sleep(POLL_S)
    raise DemoError(f"the daemon was not ready after {START_LIMIT_S:.0f} s:\n{_tail(log)}")


def spawn(command: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
    """A process in a session of its own: a Ctrl-C is handled here, and ends the others in order."""
    environment = os.environ | {"GRPC_VERBOSITY": "NONE"}
    return subprocess.Popen(command, start_new_session=True, env=environment, **streams)


def end(process: subprocess.Popen[bytes], limit_s: float = STOP_LIMIT_S) -> None:
    """SIGTERM, and if that is not enough within the time SIGKILL."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
        except KeyboardInterrupt:
            # Who is in a hurry does not wait; and an interrupt that comes only now still counts.
            process.kill()
            process.wait()
            raise
    process.wait()


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:]) or "(it said nothing)"


Message = dict[str, Any]


class Crew:
    """Agent processes (`demo.agent`) that take orders and answer, line by line.

    Parameters
    ----------
    address : str
        The daemon's.
    size : int
        How many agents.
    logs : Path
        Directory for what they say on standard error.
    """

    def __init__(self, address: str, size: int, logs: Path) -> None:
        self._messages: queue.Queue[tuple[int, Message | None]] = queue.Queue()
        self._logs = [logs / f"agent-{number}.log" for number in range(size)]
        self._agents: list[subprocess.Popen[bytes]] = []
        self._readers: list[threading.Thread] = []
        try:
            for number, log in enumerate(self._logs):
                self._start(number, address, log)
        except BaseException:
            self.close()
            raise

    def _start(self, number: int, address: str, log: Path) -> None:
        module = "totonoe_server.tools.demo.agent"
        command = [sys.executable, "-P", "-m", module, address, f"agent-{number}"]
        with log.open("wb") as stderr:
            agent = spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        self._agents.append(agent)
        reader = threading.Thread(target=self._read, args=(number, agent), daemon=True)
        self._readers.append(reader)
        reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the agents."""
        for agent in self._agents:
            agent.terminate()
        for agent in self._agents:
            end(agent)
        for reader in self._readers:
            # An interrupt can come while one is being started; that one cannot be joined.
            if reader.is_alive():
                reader.join(STOP_LIMIT_S)
        for agent in self._agents:
            if agent.stdin is not None:
                agent.stdin.close()

    def order(self, orders: Sequence[Message]) -> None:
        """Gives each agent its order, as nearly at once as pipes allow. Raises `DemoError`."""
        lines = [json.dumps(order).encode() + b"\n" for order in orders]
        for number, (agent, line) in enumerate(zip(self._agents, lines, strict=True)):
            assert agent.stdin is not None
            try:
                agent.stdin.write(line)
                agent.stdin.flush()
            except BrokenPipeError:
                raise self._gone(number) from None

    def answers(self, advance: Callable[[], object] = lambda: None) -> list[Message]:
        """All answers of all agents, in the order in which they come, until each is done.

        Raises
        ------
        DemoError
            An agent failed.
        """
        found: list[Message] = []
        busy = len(self._agents)
        while busy:
            number, message = self._messages.get()
            if message is None:
                raise self._gone(number)
            if "error" in message:
                raise DemoError(f"agent-{number}: {message['error']}")
            if message.get("done"):
                busy -= 1
            else:
                found.append(message)
                advance()
        return found

    def _read(self, number: int, agent: subprocess.Popen[bytes]) -> None:
        assert agent.stdout is not None
        # Closed here: an interrupt can come before this thread has begun, which then still reads.
        with agent.stdout:
            for line in agent.stdout:
                self._messages.put((number, json.loads(line)))
        self._messages.put((number, None))

    def _gone(self, number: int) -> DemoError:
        return DemoError(f"agent-{number} ended:\n{_tail(self._logs[number])}")
