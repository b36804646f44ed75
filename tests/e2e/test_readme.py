"""Every command of the README's tour works as printed, in order, against a real daemon."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.daemons import DaemonProcess

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```(console|python)\n(.*?)```", re.S)


def tour() -> list[tuple[str, str]]:
    """The code blocks of the tour: (language, text)."""
    text = (ROOT / "README.md").read_text()
    begin, end = text.index("## A tour"), text.index("## Where your data lies")
    return [(match[1], match[2]) for match in BLOCK.finditer(text[begin:end])]


def commands(block: str) -> list[tuple[str, str]]:
    """Each `$ command` of a console block with the lines printed below it."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def loosened(text: str) -> str:
    """Text with ids and figures replaced, and without rules and runs of white space."""
    text = re.sub(r"mem_[0-9a-f]+", "MEMORY", text)
    text = re.sub(r"\d+(\.\d+)*", "FIGURE", text)
    return " ".join(re.sub("[━╇┃│]", " ", text).split())


@pytest.mark.timeout(300)
def test_readme_tour_prints_what_it_says(tmp_path: Path) -> None:
    blocks = tour()
    assert len(blocks) >= 3
    with DaemonProcess(tmp_path / "data", embedder="use") as daemon:
        environment = {
            **os.environ,
            "TOTONOE_ADDRESS": daemon.address,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "120",
            "HOME": str(tmp_path),
        }
        memory_ids: list[str] = []
        for language, block in blocks:
            if language == "python":
                run([sys.executable, "-c", block], environment, tmp_path)
                continue
            for command, printed in commands(block):
                if memory_ids:
                    command = re.sub(r"mem_[0-9a-f]+", memory_ids[0], command)
                out = run(["bash", "-c", command], environment, tmp_path)
                memory_ids += re.findall(r"mem_[0-9a-f]+", out)
                assert loosened(printed) in loosened(out), (command, out)


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    """Output of a command that must end with 0, or with 3: refused as a duplicate."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode in (0, 3), (command, done.stdout, done.stderr)
    return done.stdout
