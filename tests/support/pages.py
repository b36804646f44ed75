"""Commands of the pages, run as printed."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from support.waits import wait_s, wait_until

ROOT = Path(__file__).resolve().parents[2]
ID = re.compile(r"\b(?:mem|ep|op)_[0-9a-f]+")
BLOCK = re.compile(r"```(console|python)\n(.*?)```", re.S)


def blocks(page: str) -> list[tuple[str, str]]:
    """Returns the code blocks of a page that are run: (language, text)."""
    return [(match[1], match[2]) for match in BLOCK.finditer((ROOT / page).read_text("utf-8"))]


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
    """Text with ids, ages and figures replaced, and without rules and runs of white space.

    Revisions stay: on a new daemon a page makes exactly the revisions that it names, so that
    `totonoe undo 10` can be typed as it stands.
    """
    text = re.sub(r"just now|\d+m ago", "AGE", ID.sub("ID", text))
    text = re.sub(
        r"(\b(?:undo|revision) )?\d+(\.\d+)*", lambda one: (one[1] and one[0]) or "N", text
    )
    return " ".join(re.sub("[━╇┃│]", " ", text).split())


def learn(printed: str, out: str, known: dict[str, str]) -> bool:
    """Whether what is printed is in what came out; then also which of its ids is which."""
    if not printed.strip():
        return True
    before, found, _ = loosened(out).partition(loosened(printed))
    theirs = ID.findall(out)[len(re.findall(r"\bID\b", before)) :]
    pairs = zip(ID.findall(printed), theirs, strict=False)
    return bool(found) and all(known.setdefault(one, other) == other for one, other in pairs)


def run_blocks(page: Iterable[tuple[str, str]], programs: Path, address: str, folder: Path) -> None:
    """Runs the blocks of a page in order, with the programs of one environment.

    Parameters
    ----------
    programs
        The `bin` of the environment.
    address
        Of a daemon whose data directory was empty.
    folder
        Home and working directory of the commands.
    """
    known: dict[str, str] = {}
    environment = {
        **os.environ,
        "TOTONOE_ADDRESS": address,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "120",
        "HOME": str(folder),
    }
    for language, block in page:
        if language == "python":
            run([str(programs / "python"), "-c", block], environment, folder)
            continue
        for command, printed in commands(block):
            # A KeyError: the page names an id that none of its commands has printed.
            actual = ID.sub(lambda one: known[one[0]], command)
            if command.startswith("totonoe watch"):
                watched(actual.split(), printed, known, environment, folder / "watched")
                continue
            out = run(["bash", "-c", actual], environment, folder)
            assert learn(printed, out, known), (command, out, known)


def watched(
    command: list[str],
    printed: str,
    known: dict[str, str],
    environment: dict[str, str],
    path: Path,
) -> None:
    """Leaves a command running until it has printed what it should."""
    with path.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out)
    try:
        wait_until(lambda: learn(printed, path.read_text(), known), path.read_text)
    finally:
        process.kill()
        process.wait()


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    """Output of a command that must end with 0, or with 3: refused as a duplicate."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=wait_s(200),
        check=False,
    )
    assert done.returncode in (0, 3), (command, done.stdout, done.stderr)
    return done.stdout
