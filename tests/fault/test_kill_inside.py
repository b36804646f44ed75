"""kill -9 before every statement of an operation of each kind: it is there whole, or not.

Also after its answer, until all is closed: a purge goes on cleaning its file then.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.engines import opened
from support.operations import OPERATIONS, SECRET, carry_out, prepared, seen
from support.processes import ROOT
from support.waits import wait_s
from totonoe_core.store.sqlite.reader import Rows
from totonoe_core.store.sqlite.schema import open_reader

STATEMENTS_MAX = 500
KILLED = -9


class Killer:
    """Forks children that do one operation and die in it."""

    def __init__(self) -> None:
        paths = [ROOT / name for name in ("core", "server", "clients", "tests")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.operations"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def die(
        self, directory: Path, kind: str, named: dict[str, str], statement: int
    ) -> tuple[bool, bool]:
        """Whether the operation was answered before the child died; and whether it lived."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        job = {"directory": str(directory), "kind": kind, "named": named, "statement": statement}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        answered = said == "answered"
        if answered:
            said = json.loads(self.process.stdout.readline())
        assert said in (KILLED, 0), f"{kind}, statement {statement}"
        return answered, said == 0

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(wait_s())
        self.process.stdout.close()


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    made = Killer()
    yield made
    made.close()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    directory = tmp_path_factory.mktemp("prepared") / "data"
    return directory, prepared(directory)


def look(directory: Path) -> Any:
    with opened(directory) as store:
        return seen(store)


def left_to_clean(directory: Path) -> bool:
    """Whether a closed collection says that bytes of a purge may still be there."""
    (file,) = (directory / "collections").glob("*/memory.db")
    connection = open_reader(file)
    try:
        return Rows(connection).setting("cleaning") is not None
    finally:
        connection.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", sorted(OPERATIONS))
def test_kill_inside_an_operation_leaves_all_or_nothing(
    killer: Killer, base: tuple[Path, dict[str, str]], tmp_path: Path, kind: str
) -> None:
    directory, named = base
    before = look(directory)
    whole = tmp_path / "whole"
    shutil.copytree(directory, whole)
    carry_out(whole, kind, named, -1)
    after = look(whole)
    assert after[0] == before[0] + 1
    lived, done_from = False, None
    for statement in range(STATEMENTS_MAX):
        copy = tmp_path / str(statement)
        shutil.copytree(directory, copy)
        answered, lived = killer.die(copy, kind, named, statement)
        found = look(copy)
        if found == after:
            done_from = statement if done_from is None else done_from
        else:
            assert found == before, f"half done before statement {statement}"
            assert done_from is None, "what was done went away"
            assert not answered, "what was answered is lost"
        if kind == "purge" and found == after:
            assert not left_to_clean(copy)
            held = [path for path in copy.rglob("*") if path.is_file()]
            assert not [path for path in held if SECRET.encode() in path.read_bytes()]
        shutil.rmtree(copy)
        if lived:
            break
    assert done_from is not None
    assert lived
    assert answered
    assert statement > 5, "the trace saw no statements"
