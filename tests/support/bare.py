"""Environments without extras: what they must say of what they lack."""

from __future__ import annotations

import subprocess
from pathlib import Path

from totonoe.cli.extensions import SERVER_COMMANDS, SERVER_SUBCOMMANDS

INSTALL = "pip install 'totonoe[server]'"
NEED_THE_SERVER = [
    *([name] for name in SERVER_COMMANDS),
    *([group, name] for group, names in SERVER_SUBCOMMANDS.items() for name in names),
]


def run(*command: str | Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command that finds nothing of the sources: only what is installed there."""
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "120", "HOME": str(directory)}
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def check_server_command(programs: Path, words: list[str], directory: Path) -> None:
    """A command of the server names the extra in one line."""
    done = run(programs / "totonoe", *words, directory=directory)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    name = " ".join(word for word in words if word not in ("x", "--json"))
    assert line.startswith(f"totonoe {name} needs the server: {INSTALL}")
    assert "apsw" in line


def check_mcp(programs: Path, arguments: list[str], directory: Path) -> None:
    """`totonoe mcp` names its extra in one line, and writes nothing."""
    done = run(programs / "totonoe", "mcp", *arguments, directory=directory)
    line = "totonoe mcp needs the extra `mcp`: pip install 'totonoe[mcp]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)
    assert not (directory / ".cursor").exists()
