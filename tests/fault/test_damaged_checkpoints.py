"""Damaged checkpoints: set aside, whatever is wrong with them; nothing hangs or reads astray.

Each kind of damage runs in a child process: a kernel that does not end, or reads outside of its
arrays, ends no test run and no other test.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support import damaging
from support.processes import child

DAMAGES = 25
RESEALED = 300
SOAK = 20
"""Of one opening, which takes 0.03 s, and of the child's start."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "data"
    with child("make-checkpoint", path) as process:
        assert process.end() == 0
    return path


def opened(sound: Path, tmp_path: Path, kind: str, count: int) -> list[list[str]]:
    """[what, outcome] of each damage; the first is of the checkpoint as it was."""
    directory = tmp_path / "data"
    shutil.copytree(sound, directory)
    with child("checkpoints", directory, kind, count, 8) as process:
        while True:
            before = len(process.said)
            process.listen(before + 1)
            if len(process.said) == before:
                break
        assert process.end() == 0, f"{kind}: the child ended after damage {process.said[-1][0]}"
    assert process.said[0] == [-1, "nothing", "served"]
    return [[what, outcome] for _, what, outcome in process.said[1:]]


def check_damage(sound: Path, tmp_path: Path, kind: str, count: int) -> None:
    found = opened(sound, tmp_path, kind, count)
    assert len(found) > count * 2 / 3, "few damages change nothing"
    assert {outcome for _, outcome in found} == {"aside"}
    assert {what for what, _ in found} == set(damaging.HOWS)


def check_resealed(sound: Path, tmp_path: Path, count: int) -> None:
    found = opened(sound, tmp_path, "resealed", count)
    aside = {what for what, outcome in found if outcome == "aside"}
    # What leads somewhere is looked at; a vector or a time may be anything.
    assert aside >= {"meta", "row", "status", "graph", "terms_slots", "terms_sizes", "token_counts"}
    assert len(found) == count


@pytest.mark.parametrize("kind", damaging.FILES)
def test_damaged_file_is_set_aside_and_the_index_is_that_of_the_rows(
    sound: Path, tmp_path: Path, kind: str
) -> None:
    check_damage(sound, tmp_path, kind, DAMAGES)


def test_wrong_numbers_under_right_checksums_neither_hang_nor_crash(
    sound: Path, tmp_path: Path
) -> None:
    check_resealed(sound, tmp_path, RESEALED)


@pytest.mark.soak
@pytest.mark.parametrize("kind", damaging.FILES)
def test_many_damages_of_a_file_are_set_aside(sound: Path, tmp_path: Path, kind: str) -> None:
    check_damage(sound, tmp_path, kind, SOAK * DAMAGES)


@pytest.mark.soak
def test_many_wrong_numbers_neither_hang_nor_crash(sound: Path, tmp_path: Path) -> None:
    check_resealed(sound, tmp_path, SOAK * RESEALED)
