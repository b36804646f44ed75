"""Makes `clients/typescript/gen`: stubs from the contract in `proto`, and tools from those of MCP.

Run it as `make proto`. `--check` makes them in a temporary folder and compares. The generator is
the npm package `@bufbuild/protoc-gen-es`, pinned in package.json; where it is not installed, this
says so and does nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from grpc_tools import protoc

from totonoe.fence import LEAD
from totonoe.mcp.schemas import MemoryTool
from totonoe.mcp.server import ANNOTATIONS, DESCRIPTIONS, RETRY
from totonoe.mcp.tools import CoreTools

HERE = Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"
STUBS = HERE / "gen"
COMMANDS = HERE / "node_modules" / ".bin"
TOOLS = ("remember", "recall", "forget", "resolve", "undo")
"""Tools that agents in TypeScript have."""
_ABSENT = re.compile("|".join(rf"\b{name}\b" for name in DESCRIPTIONS if name not in TOOLS))


def generate(out: Path) -> dict[str, bytes]:
    """Writes the stubs below `out`, and returns them by their paths relative to it."""
    sources = sorted(path.relative_to(PROTO).as_posix() for path in PROTO.rglob("*.proto"))
    # The generator is a script that starts `node`: that of its own package first.
    os.environ["PATH"] = f"{COMMANDS}{os.pathsep}{os.environ.get('PATH', '')}"
    arguments = [
        "protoc",
        f"--proto_path={PROTO}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        f"--plugin=protoc-gen-es={COMMANDS / 'protoc-gen-es'}",
        f"--es_out={out}",
        "--es_opt=target=js+dts,import_extension=js",
        *sources,
    ]
    if protoc.main(arguments) != 0:
        raise SystemExit("protoc failed")
    (out / "tools.js").write_text(_tools(), "utf-8")
    (out / "tools.d.ts").write_text(_TYPES, "utf-8")
    return read(out)


_TYPES = """// Made by generate.py from the tools of totonoe mcp.
/** A tool as a model sees it: its description, and the JSON schema of its input. */
export declare const TOOLS: Record<
  string,
  { description: string; inputSchema: Record<string, unknown> }
>;
/** What a model reads before notes that agents saved. */
export declare const LEAD: string;
"""


def _tools() -> str:
    """Descriptions and schemas of the tools, and the words before notes, as a module."""
    methods, found = CoreTools(cast(Any, None)), {}
    for name in TOOLS:
        sentences = DESCRIPTIONS[name].format(retry=RETRY[False]).split(". ")
        # A sentence about a tool that is not there would have the model call it.
        description = ". ".join(
            sentence for sentence in sentences if not _ABSENT.search(sentence)
        ).rstrip(".")
        tool = MemoryTool.made(getattr(methods, name), f"{description}.", ANNOTATIONS[name])
        found[name] = {"description": tool.description, "inputSchema": tool.parameters}
    head = "// Made by generate.py from the tools of totonoe mcp.\n"
    tools = f"export const TOOLS = {json.dumps(found, indent=2)};\n"
    return f"{head}{tools}export const LEAD = {json.dumps(LEAD)};\n"


def read(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by their paths relative to it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def main() -> None:
    """Writes the stubs, or with `--check` exits with 1 if they are stale."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    if not (COMMANDS / "protoc-gen-es").exists():
        print("The stubs of the TypeScript client were left alone: its npm packages are missing.")
        return
    with tempfile.TemporaryDirectory() as folder:
        made, committed = generate(Path(folder)), read(STUBS)
        if check:
            names = sorted(made.keys() | committed.keys())
            stale = [name for name in names if made.get(name) != committed.get(name)]
            sys.exit(f"stale stubs, run `make proto`: {', '.join(stale)}" if stale else 0)
        shutil.rmtree(STUBS, ignore_errors=True)
        shutil.copytree(folder, STUBS)


if __name__ == "__main__":
    main()
