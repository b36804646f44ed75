"""Makes the stubs in `clients/totonoe/v1` from the contract in `proto/totonoe/v1`.

Run it as `make proto`. `--check` makes them in a temporary folder and compares.
The generator's version is pinned in pyproject.toml (`dev`), because stubs refuse a
runtime that is older than it.
"""

from __future__ import annotations

import argparse
import filecmp
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent
STUBS = ROOT.parent / "clients" / "totonoe" / "v1"


def generate(out: Path) -> list[Path]:
    """Writes `out/totonoe/v1/*_pb2*.py(i)` and returns them, sorted."""
    sources = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("totonoe/v1/*.proto"))
    arguments = [
        "protoc",
        f"--proto_path={ROOT}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        f"--python_out={out}",
        f"--pyi_out={out}",
        f"--grpc_python_out={out}",
        *sources,
    ]
    if protoc.main(arguments) != 0:
        raise SystemExit("protoc failed")
    made = sorted((out / "totonoe" / "v1").glob("*_pb2*.py*"))
    # errors.proto and types.proto declare no service: their *_grpc.py would be empty.
    for path in made:
        if path.name.endswith("_pb2_grpc.py") and "_service_" not in path.name:
            path.unlink()
    return [path for path in made if path.exists()]


def main() -> None:
    """Writes the stubs, or with `--check` exits with 1 if they are stale."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        made = generate(Path(folder))
        names = {path.name for path in made}
        committed = {path.name for path in STUBS.glob("*_pb2*.py*")}
        stale = sorted(names ^ committed) + sorted(
            path.name
            for path in made
            if path.name in committed and not filecmp.cmp(path, STUBS / path.name, shallow=False)
        )
        if check:
            sys.exit(f"stale stubs, run `make proto`: {', '.join(stale)}" if stale else 0)
        for name in committed - names:
            (STUBS / name).unlink()
        for path in made:
            (STUBS / path.name).write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
