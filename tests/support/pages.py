"""Console examples of the pages: run as printed, compared with the page, or written into it.

    make examples

runs all commands of README.md and docs/tour.md in order, each page against a new daemon, and writes
what they print. A line `...` stands for lines that are left out; as many lines before and after it
stay as there were. Ids that a page has already stay the same.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.daemons import DaemonProcess
from support.waits import wait_s, wait_until

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/tour.md")
ID = re.compile(r"\b(?:mem|ep|op|snap)_[0-9a-f]+")
BLOCK = re.compile(r"```(console|python)\n(.*?)```", re.S)
ELIDED = "..."
_VARYING = (
    (ID, "ID"),
    (re.compile(r"just now|\b\d+m ago"), "AGE"),
    (re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.]+(Z| UTC|[+-]\d\d:\d\d))?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "SHA256"),
    (re.compile(r"\b[\d,]+(\.\d+)? (s|MB|bytes)\b"), "FIGURE"),
    (re.compile(r"(?<=--page-token )\S+"), "TOKEN"),
    (re.compile("[━╇┃│]+"), " "),
)


@dataclass(frozen=True)
class Example:
    """A command of a page, and the lines below it."""

    command: str
    printed: str


def blocks(page: str) -> list[tuple[str, str]]:
    """Returns the code blocks of a page that are run: (language, text)."""
    return [(match[1], match[2]) for match in BLOCK.finditer((ROOT / page).read_text("utf-8"))]


def examples(block: str) -> list[Example]:
    """Each `$ command` of a console block with the lines printed below it."""
    found: list[Example] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(Example(line[2:], ""))
        elif found:
            found[-1] = Example(found[-1].command, found[-1].printed + line + "\n")
    return found


def loosened(text: str) -> list[str]:
    """Lines without ids, ages, times, rules of tables and runs of white space."""
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def agrees(printed: str, out: str) -> bool:
    """Whether a page shows what came out. `...` stands for any lines."""
    shown, found = loosened(printed), loosened(out)
    if ELIDED not in shown:
        return shown == found
    at = shown.index(ELIDED)
    head, tail = shown[:at], shown[at + 1 :]
    long_enough = len(found) >= len(head) + len(tail)
    return long_enough and found[:at] == head and found[len(found) - len(tail) :] == tail


def elided(out: str, printed: str) -> str:
    """Returns what came out, as far as the page showed it before."""
    shown, lines = printed.splitlines(), [line.rstrip() for line in out.rstrip().splitlines()]
    if ELIDED in shown:
        at = shown.index(ELIDED)
        behind = len(shown) - at - 1
        lines = [*lines[:at], ELIDED, *lines[len(lines) - behind :]]
    return "".join(line + "\n" for line in lines)


class Run:
    """Runs the blocks of a page in order, in a home of its own.

    Parameters
    ----------
    programs : Path
        The `bin` of the environment.
    home : Path
        Home and working directory of the commands; the daemon listens where they look first.
    """

    def __init__(self, programs: Path, home: Path) -> None:
        self._known: dict[str, str] = {}
        self._folder = home
        variables = {name: value for name, value in os.environ.items() if "TOTONOE" not in name}
        variables.pop("XDG_STATE_HOME", None)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self._environment = variables | {"PATH": path, "COLUMNS": "120", "HOME": str(home)}

    def python(self, block: str) -> None:
        self._output(["python", "-c", block])

    def output(self, example: Example) -> str:
        """Run a command of the page; return what it prints, with the page's own ids."""
        # A KeyError: the page names an id that none of its commands has printed.
        command = ID.sub(lambda one: self._known[one[0]], example.command)
        if command.startswith("totonoe watch"):
            out = self._watched(command.split(), len(example.printed.splitlines()))
        else:
            out = self._output(["bash", "-c", command])
        for shown, made in zip(firsts(example.printed), firsts(out), strict=False):
            if made not in self._known.values():
                self._known.setdefault(shown, made)
        own = {made: shown for shown, made in self._known.items()}
        for made in firsts(out):
            if made not in own:
                self._known[made] = own[made] = made
        return ID.sub(lambda one: own[one[0]], out)

    def _output(self, command: list[str]) -> str:
        """Output of a command that must end with 0, or with 3: refused as a duplicate."""
        done = subprocess.run(
            command,
            env=self._environment,
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=wait_s(200),
            check=False,
        )
        assert done.returncode in (0, 3), (command, done.stdout, done.stderr)
        return done.stdout

    def _watched(self, command: list[str], count: int) -> str:
        """Leaves a command running until it has printed as many lines as the page shows."""
        path = self._folder / "watched"
        with path.open("wb") as out:
            process = subprocess.Popen(command, env=self._environment, stdout=out)
        try:
            wait_until(lambda: path.read_text().count("\n") >= count, path.read_text)
        finally:
            process.kill()
            process.wait()
        return "".join(path.read_text().splitlines(keepends=True)[:count])


def firsts(text: str) -> list[str]:
    """The ids of a text, each once."""
    return list(dict.fromkeys(ID.findall(text)))


@contextmanager
def served_home(made: Callable[..., DaemonProcess] = DaemonProcess) -> Iterator[Path]:
    """A home whose daemon, `made` of its data directory, is found without an address."""
    # The path of a socket has at most some hundred characters.
    with tempfile.TemporaryDirectory(prefix="totonoe-", dir="/tmp") as directory:
        home = Path(directory).resolve()
        state = "Library/Application Support" if sys.platform == "darwin" else ".local/state"
        data_dir = home / state / "totonoe"
        data_dir.parent.mkdir(parents=True)
        daemon = made(data_dir, embedder="use")
        daemon.address = f"unix:{data_dir / 'totonoe.sock'}"
        with daemon:
            yield home


def run_blocks(page: Iterable[tuple[str, str]], programs: Path, home: Path) -> None:
    """Run the blocks of a page, each of which must print what is shown below it."""
    run = Run(programs, home)
    for language, block in page:
        if language == "python":
            run.python(block)
            continue
        for example in examples(block):
            out = run.output(example)
            assert agrees(example.printed, out), f"{example.command}\n{out}\n`make examples`"


def written(page: str, run: Run) -> str:
    """Return the text of a page with what its commands print now."""

    def block(match: re.Match[str]) -> str:
        if match[1] == "python":
            run.python(match[2])
            return match[0]
        shown = []
        for example in examples(match[2]):
            out = run.output(example)
            kept = agrees(example.printed, out)
            printed = example.printed if kept else elided(out, example.printed)
            shown.append(f"$ {example.command}\n{printed}")
        return f"```console\n{''.join(shown)}```"

    return BLOCK.sub(block, (ROOT / page).read_text("utf-8"))


if __name__ == "__main__":
    for name in PAGES:
        with served_home() as own:
            text = written(name, Run(Path(sys.executable).parent, own))
        (ROOT / name).write_text(text, encoding="utf-8")
