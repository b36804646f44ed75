"""The pages on the command and on the client name everything there is."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group

from totonoe import Client, errors
from totonoe.cli.main import app
from totonoe.cli.session import ExitCode

DOCS = Path(__file__).parents[2] / "docs"


def _commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path}{name} ")
        else:
            yield path + name, command


COMMANDS = dict(_commands(get_group(app)))


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
