"""Processes of support modules that fork a child for each job: both ends.

A child finds everything imported, so a job costs what it does, not a start of Python.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from support.processes import environment
from support.waits import wait_s

KILLED = -signal.SIGKILL


class Forker:
    """A process of `python -m MODULE ARGUMENTS`, which answers each JSON line by JSON lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout

    def ask(self, **job: Any) -> Any:
        """Hand in a job; return the first thing that is said of it."""
        self._input.write(json.dumps(job) + "\n")
        self._input.flush()
        return self.hear()

    def hear(self) -> Any:
        """Return what is said next."""
        return json.loads(self._output.readline())

    def die(self, **job: Any) -> tuple[bool, bool]:
        """Whether a job of `serve` was answered before its child died; and whether it lived."""
        said = self.ask(**job)
        answered = said == "answered"
        if answered:
            said = self.hear()
        assert said in (KILLED, 0), job
        return answered, said == 0


@contextmanager
def forker(module: str, *arguments: str, **more: str) -> Iterator[Forker]:
    """The process of a module, with more in its environment; it has ended in the end."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment() | more,
        text=True,
    ) as process:
        yield Forker(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(wait_s())


# -- in the process


def dying_at(number: int) -> Callable[..., bool]:
    """Return what ends this process by SIGKILL when it is called for that time (-1: never)."""
    numbers = itertools.count()

    def count(*_: Any) -> bool:
        if next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    return count


def say_answered() -> None:
    """Say that the job was answered: its result must be there, however this process ends."""
    os.write(1, b'"answered"\n')


def serve(carry_out: Callable[..., None]) -> None:
    """Fork for each job, before anything has a thread; say how each child ended."""
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                carry_out(**job)
            except BaseException as error:
                os.write(2, repr(error).encode())
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        os.write(1, json.dumps(os.waitstatus_to_exitcode(status)).encode() + b"\n")
