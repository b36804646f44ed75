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
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
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
        "--include_imports",
        f"--descriptor_set_out={out / 'contract'}",
        *sources,
    ]
    if protoc.main(arguments) != 0:
        raise SystemExit("protoc failed")
    without = methods_without_verb((out / "contract").read_bytes())
    if without:
        raise SystemExit(f"no verb in option (totonoe.v1.access): {', '.join(without)}")
    made = sorted((out / "totonoe" / "v1").glob("*_pb2*.py*"))
    # errors.proto and types.proto declare no service: their *_grpc.py would be empty.
    for path in made:
        if path.name.endswith("_pb2_grpc.py") and "_service_" not in path.name:
            path.unlink()
    return [path for path in made if path.exists()]


def methods_without_verb(contract: bytes) -> list[str]:
    """Names the methods of a descriptor set that do not say which verb their caller needs.

    A stream of calls needs the verb of each.
    """
    files = descriptor_pb2.FileDescriptorSet.FromString(contract)
    pool = DescriptorPool()
    for file in files.file:
        pool.Add(file)  # type: ignore[no-untyped-call]
    # The options of this contract, not of the stubs that are being replaced.
    kind = GetMessageClass(pool.FindMessageTypeByName("google.protobuf.MethodOptions"))
    access = pool.FindExtensionByName("totonoe.v1.access")
    return [
        f"{service.name}.{method.name}"
        for file in files.file
        for service in file.service
        for method in service.method
        if not _says_verb(kind.FromString(method.options.SerializeToString()).Extensions[access])
    ]


def _says_verb(access: Any) -> bool:
    return bool(access.verb or access.calls)


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
