"""kill -9 before every statement of an operation of each kind: it is there whole, or not.

Also after its answer, until all is closed: a purge goes on cleaning its file then.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.engines import opened
from support.forking import Forker, forker
from support.operations import OPERATIONS, SECRET, carry_out, prepared, seen
from totonoe_core.store.sqlite.reader import Rows
from totonoe_core.store.sqlite.schema import open_reader

STATEMENTS_MAX = 500


@pytest.fixture(scope="module")
def killer() -> Iterator[Forker]:
    """Forks children that do one operation and die in it."""
    with forker("support.operations") as made:
        yield made


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
    killer: Forker, base: tuple[Path, dict[str, str]], tmp_path: Path, kind: str
) -> None:
    directory, named = base
    before = look(directory)
    whole = tmp_path / "whole"
    shutil.copytree(directory, whole)
    carry_out(str(whole), kind, named, -1)
    after = look(whole)
    assert after[0] == before[0] + 1
    lived, done_from = False, None
    for statement in range(STATEMENTS_MAX):
        copy = tmp_path / str(statement)
        shutil.copytree(directory, copy)
        answered, lived = killer.die(
            directory=str(copy), kind=kind, named=named, statement=statement
        )
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
