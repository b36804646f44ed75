"""Makes the asynchronous calls of the client (`_aio.py`) from the blocking ones (`calls.py`).

Run it as `make proto`. `--check` compares with the files that are there, and changes nothing.

A method is a coroutine if its twin waits: if its body calls `self._run` or another function that
has an asynchronous twin. Docstrings are cut to their first paragraph. All else is replaced by name,
as `TWINS` says, and formatted by ruff.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent / "totonoe"
HEADER = "# Made by clients/generate_async.py from calls.py. Do not edit.\n"

_ABC = "from collections.abc import "
TWINS = (
    (r"\bclass (\w+)Calls\(Calls\)", r"class Async\1Calls(AsyncCalls)"),
    (r"\bimport Calls\b", "import AsyncCalls"),
    (r"\bself\._run\(", "await self._run("),
    (r"\bself\.list\(", "await self.list("),
    # Streams: an iterator becomes an asynchronous generator.
    (r"-> Reopened\[(.+)\]:", r"-> AsyncGenerator[\1, None]:"),
    (r"-> transfers\.Export:", "-> AsyncGenerator[bytes, None]:"),
    (r"-> Iterator\[", "-> AsyncIterator["),
    (r"\bReopened\b", "reopened"),
    (r"\btransfers\.Export\(", "transfers.export("),
    (r"\btransfers\.import_all\(", "await transfers.import_all_async("),
    (r"\btransfers\.Source\b", "transfers.AsyncSource"),
    (r"\bstreams\.remember_all\(", "streams.remember_all_async("),
    (r"\bItems\b", "AsyncItems"),
    (r"( +)yield from (.+)", r"\1for item in \2:\n\1    yield item"),
    (
        r"from collections\.abc import ",
        "from collections.abc import AsyncGenerator, AsyncIterator, ",
    ),
)


def asynchronous(source: str) -> str:
    """Makes the source of the asynchronous twin, not yet formatted."""
    tree = ast.parse(source)
    lines = source.splitlines()
    group = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    for node in reversed(group.body):
        if isinstance(node, ast.FunctionDef):
            _shorten(lines, node)
    text = "\n".join(lines) + "\n"
    for pattern, twin in TWINS:
        text = re.sub(pattern, twin, text)
    if _ABC not in text:
        text = text.replace("annotations\n", f"annotations\n\n{_ABC}AsyncGenerator\n", 1)
    return HEADER + _awaited(text)


def _shorten(lines: list[str], method: ast.FunctionDef) -> None:
    """Cuts a method's docstring to its first paragraph."""
    docstring = method.body[0]
    text = ast.get_docstring(method)
    if text is None or "\n\n" not in text:
        return
    first = text.partition("\n\n")[0].splitlines()
    rest = ["", f"See `Client.{method.name}`.", '"""']
    first[0] = '"""' + first[0]
    indent = " " * docstring.col_offset
    lines[docstring.lineno - 1 : docstring.end_lineno] = [
        indent + line if line else "" for line in first + rest
    ]


def _awaited(text: str) -> str:
    """Writes `async def` where a body awaits."""
    lines = text.splitlines()
    # For `ast`, a plain function that awaits is no syntax error.
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and "await " in "\n".join(
            lines[node.lineno - 1 : node.end_lineno]
        ):
            lines[node.lineno - 1] = lines[node.lineno - 1].replace("def ", "async def ", 1)
    return "\n".join(lines) + "\n"


def formatted(text: str) -> str:
    """Formats the text as `make format` does, without imports that nothing uses."""
    for arguments in (["check", "--fix-only", "--select", "I,F401"], ["format"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--quiet", "--stdin-filename"]
        done = subprocess.run(
            [*command, str(ROOT / "memories" / "_aio.py"), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout
    return text


def main() -> None:
    """Writes the asynchronous calls, or with `--check` exits with 1 if they are stale."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for calls in sorted(ROOT.glob("*/calls.py")):
        target = calls.with_name("_aio.py")
        made = formatted(asynchronous(calls.read_text("utf-8")))
        if target.exists() and target.read_text("utf-8") == made:
            continue
        stale.append(f"{calls.parent.name}/_aio.py")
        if not check:
            target.write_text(made, "utf-8")
    if check and stale:
        sys.exit(f"stale calls, run `make proto`: {', '.join(stale)}")


if __name__ == "__main__":
    main()
