"""Makes the stubs in `clients/typescript/gen` from the contract in `proto`.

Run it as `make proto`. `--check` makes them in a temporary folder and compares. The generator is
the npm package `@bufbuild/protoc-gen-es`, pinned in package.json; where it is not installed, this
says so and does nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"
STUBS = HERE / "gen"
COMMANDS = HERE / "node_modules" / ".bin"


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
    return read(out)


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
