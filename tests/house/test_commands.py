"""Command lines in pages, sources and contracts name commands and options that exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from totonoe.cli.main import app

ROOT = Path(__file__).parents[2]
SUFFIXES = (".md", ".py", ".ts", ".proto", ".toml", ".html", ".yml")
QUOTED = re.compile(r"`(?:[\w./-]*/)?totonoe\s([^`]+)`")
TYPED = re.compile(r"^(?:    |\$ )(?:[\w./-]*/)?totonoe (.+)$", re.M)
WORD = re.compile(r"[a-z][a-z-]*")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
GROUP = typer.main.get_command(app)


@cache
def command(*names: str) -> Any:
    """Return the command of these names, or None."""
    found: Any = GROUP
    for name in names:
        found = found.get_command(typer.Context(found), name)
        if found is None:
            return None
    return found


@cache
def groups() -> frozenset[str]:
    """Return the names of commands that have commands of their own, which they need."""
    names = GROUP.list_commands(typer.Context(GROUP))
    found = {name: command(name) for name in names}
    return frozenset(
        name
        for name, made in found.items()
        if hasattr(made, "commands") and not made.invoke_without_command
    )


@cache
def options(*names: str) -> frozenset[str]:
    """Return the options of a command, those that its help shows included."""
    own = {
        name
        for parameter in command(*names).params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*names, "--help"]).output
    return frozenset(own | {*OPTION.findall(shown)})


def takes_nothing(names: list[str], word: str) -> bool:
    """Return whether a word is an argument, and the command has none."""
    found = command(*names)
    # Without a parameter of its own a command reads its line by itself.
    own = {parameter.param_type_name for parameter in found.params}
    is_word = re.fullmatch(r"[\w./:]+", word) is not None
    return is_word and own == {"option"} and not hasattr(found, "commands")


def wrong(text: str) -> Iterator[str]:
    """Yield the commands and options of a text that do not exist."""
    for line in (*QUOTED.findall(text), *TYPED.findall(text)):
        words = [word for word in line.split()[:2] if WORD.fullmatch(word)]
        if not words or line.split()[0] != words[0]:
            continue
        group = hasattr(command(words[0]), "commands")
        names = words if group and (words[0] in groups() or command(*words)) else words[:1]
        if command(*names) is None:
            yield " ".join(names)
        elif missing := {*OPTION.findall(line)} - options(*names):
            yield f"{' '.join(names)} {sorted(missing)}"
        elif line.split()[len(names) :] and takes_nothing(names, line.split()[len(names)]):
            yield f"{' '.join(names)} takes no {line.split()[len(names)]}"
    # A page that speaks of a command of a group often leaves out the name of the program. A line
    # of the log is called `judge stopped`.
    alone = "|".join(sorted(groups() - {"judge"}))
    for name, own in re.findall(rf"`({alone}) ([a-z][a-z-]*)`", text):
        if command(name, own) is None:
            yield f"{name} {own}"


def test_command_lines_name_commands_and_options_that_exist() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    read = [name for name in listed if name.endswith(SUFFIXES) and not name.startswith("tests/")]
    assert len(read) > 300
    found = {name: said for name in read if (said := [*wrong((ROOT / name).read_text("utf-8"))])}
    assert found == {}


def test_wrong_commands_and_options_are_found() -> None:
    text = """`totonoe recal x`, `totonoe collections
    get`, `collections set`, `totonoe recall x --limitt 3`, `totonoe serve --storre x`
    totonoe tokens add
    totonoe reembed NAME --address x
$ .venv/bin/totonoe collections show x --k 3
"""
    assert sorted(wrong(text)) == [
        "collections get",
        "collections set",
        "collections show ['--k']",
        "recal",
        "recall ['--limitt']",
        "reembed takes no NAME",
        "serve ['--storre']",
        "tokens add",
    ]
