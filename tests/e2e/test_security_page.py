"""The commands of docs/security.md, run as they stand there, on two loopback addresses."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.daemons import free_port
from support.waits import wait_s, wait_until

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.S)
COPIED = ("ca.pem", "coder.pem", "coder.key")


def blocks() -> list[list[str]]:
    """The commands of each block."""
    whole = PAGE.read_text().replace("\\\n", "")
    found = [re.findall(r"^\$ (.*)$", text, re.M) for text in BLOCK.findall(whole)]
    port = str(free_port())
    return [[command.replace("7766", port) for command in block] for block in found]


def environment(home: Path) -> dict[str, str]:
    """Of a machine with nothing on it: another home, and no variable of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOTONOE_")}
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        kept.pop(name, None)
    scripts = Path(sys.executable).parent
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return {
        **kept,
        "HOME": str(home),
        "XDG_CACHE_HOME": cache,
        "PATH": f"{scripts}:{kept['PATH']}",
        "TOTONOE_EMBEDDER": "hashing",
    }


def run(command: str, home: Path, folder: Path) -> str:
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=wait_s(),
        check=False,
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def machines(tmp_path: Path) -> Any:
    """Homes of the daemon's and of the agent's machine."""
    homes = tmp_path / "one", tmp_path / "two"
    for home in homes:
        home.mkdir()
    return homes


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no 127.0.0.2 by itself")
def test_page_leads_from_nothing_to_two_machines_in_five_commands(machines: Any) -> None:
    ours, theirs = machines
    first, second = blocks()
    assert len(first) == 5
    for command in first[:-1]:
        run(command, ours, ours)
    log = ours / "log"
    with log.open("w") as stderr:
        daemon = subprocess.Popen(
            ["/bin/sh", "-c", first[-1].replace("&& totonoe", "&& exec totonoe")],
            env=environment(ours),
            stderr=stderr,
        )
    try:
        certs = ours / ".local" / "state" / "totonoe" / "certs"
        for name in COPIED:
            shutil.copy(certs / name, theirs / name)
        wait_until(lambda: daemon.poll() is not None or "ready" in log.read_text())
        assert daemon.poll() is None, log.read_text()
        # All in one shell, because the first command sets variables for the others.
        said = run("; ".join(second), theirs, theirs)
        assert "5433" in said
        export = second[0] + "; "
        listed = json.loads(run(f"{export} totonoe --json list", theirs, theirs))
        assert {memory["agent_id"] for memory in listed["memories"]} == {"coder"}
        refused = subprocess.run(
            ["/bin/sh", "-c", f"{export} totonoe collections create other"],
            cwd=theirs,
            env=environment(theirs),
            capture_output=True,
            text=True,
            timeout=wait_s(),
            check=False,
        )
        assert refused.returncode == 1
        assert "NOT_GRANTED" in refused.stderr
    finally:
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(wait_s()) == 0
