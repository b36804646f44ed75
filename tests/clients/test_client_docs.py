"""The pages on the command and on the client name everything there is."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group

from totonoe import Client, errors
from totonoe.cli.main import app
from totonoe.cli.session import ExitCode

DOCS = Path(__file__).parents[2] / "docs"


def _commands(commands: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command.commands, f"{path}{name} ")
        else:
            yield path + name, command


ROOT: Any = get_group(app)
COMMANDS = dict(_commands(ROOT.own_commands()))


@pytest.mark.parametrize("name", COMMANDS)
def test_cli_page_shows_each_command_with_its_options(name: str) -> None:
    page = (DOCS / "cli.md").read_text("utf-8")
    heading = f"### totonoe {name}\n"
    assert heading in page
    section = page.partition(heading)[2].partition("\n##")[0]
    every = page.partition("## Options of every command\n")[2].partition("\n## ")[0]
    filters = page.partition("## Filters\n")[2].partition("\n## ")[0]
    if "[filters](#filters)" in section:
        section += filters
    for item in COMMANDS[name].params:
        flags = [flag for flag in item.opts if flag.startswith("--") and flag != "--help"]
        for flag in flags:
            assert f"`{flag}" in section + every, flag


def test_cli_page_lists_each_exit_code() -> None:
    page = (DOCS / "cli.md").read_text("utf-8")
    assert all(f"| {code.value} |" in page for code in ExitCode)


def test_client_page_names_each_call_and_each_error() -> None:
    page = (DOCS / "client.md").read_text("utf-8")
    calls = [name for name, _ in inspect.getmembers(Client, inspect.isfunction) if name[0] != "_"]
    assert [name for name in calls if f"`{name}" not in page] == []
    kinds = [name for name, kind in vars(errors).items() if inspect.isclass(kind)]
    kinds = [name for name in kinds if name != "Mapping"]
    assert [name for name in kinds if f"`{name}`" not in page] == []


def _mypy(directory: Path, *blocks: str) -> subprocess.CompletedProcess[str]:
    """Checks blocks of Python strictly, each by itself, as a user of the package would."""
    for number, block in enumerate(blocks):
        (directory / f"block_{number}.py").write_text(block, encoding="utf-8")
    (directory / "mypy.ini").write_text("[mypy]\nstrict = True\n")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(directory / "cache"), "."]
    environment = os.environ | {"MYPYPATH": str(DOCS.parent / "clients")}
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def test_client_page_passes_a_strict_type_checker(tmp_path: Path) -> None:
    page = (DOCS / "client.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) >= 8
    done = _mypy(tmp_path, *blocks)
    assert done.returncode == 0, done.stdout


def test_strict_type_checker_finds_misspelt_words(tmp_path: Path) -> None:
    start = "from totonoe import Client, Draft, GuardPolicy\n"
    lines = [
        'Client().recall("x", mode="hybird")',
        'Client().remember("x", kind="evnt")',
        'Client().list(statuses=["activ"])',
        'Client().link("a", "b", "relates")',
        'GuardPolicy(preset="standrad")',
        'Draft("x", on_update="superseed")',
    ]
    done = _mypy(tmp_path, *(start + line + "\n" for line in lines))
    wrong = set(re.findall(r"block_(\d)\.py:2: error", done.stdout))
    assert wrong == {str(number) for number in range(len(lines))}, done.stdout
