"""The contract is documented, and generated code is that of its source."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.rpc import status_pb2

ROOT = Path(__file__).resolve().parents[2]
PROTOS = sorted((ROOT / "proto" / "totonoe" / "v1").glob("*.proto"))
ELEMENT = re.compile(
    r"^\s*(?:(?:syntax|import|option)\b.*"
    r"|(?P<named>(?:message|enum|service|rpc|oneof|package)\s+[\w.]+)"
    r"|(?P<field>(?:optional\s+|repeated\s+|map<[^>]+>\s+|[\w.]+\s+)+\w+\s*=\s*\d+;)"
    r"|(?P<value>[A-Z][A-Z0-9_]*\s*=\s*\d+;))"
)


def undocumented(text: str) -> list[str]:
    """Elements of a .proto file without a comment right above them."""
    found, previous = [], ""
    for line in text.splitlines():
        match = ELEMENT.match(line)
        name = match and (match["named"] or match["field"] or match["value"])
        if name and not previous.strip().startswith("//"):
            found.append(name.strip())
        previous = line
    return found


@pytest.mark.parametrize("path", PROTOS, ids=lambda path: path.name)
def test_contract_every_element_is_commented(path: Path) -> None:
    assert undocumented(path.read_text()) == []


def test_undocumented_missing_comments_are_found() -> None:
    message = ["// P.", "package p;", "message A {", "  // F.", "  int32 f = 1;", "  string g = 2;"]
    text = "\n".join([*message, "}", "enum E {", "  X = 0;", "}"])
    assert undocumented(text) == ["message A", "string g = 2;", "enum E", "X = 0;"]


@pytest.mark.parametrize("script", ["proto/generate.py", "clients/generate_async.py"])
def test_generated_code_made_again_is_equal(script: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / script, "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_contract_compiles_by_itself(tmp_path: Path) -> None:
    # protoc's own includes (google/protobuf) are found beside it, as those of any protoc.
    out = tmp_path / "contract"
    command = [sys.executable, "-m", "grpc_tools.protoc", "-Iproto", f"--descriptor_set_out={out}"]
    sources = [str(path.relative_to(ROOT)) for path in PROTOS]
    done = subprocess.run(
        [*command, "--include_imports", *sources],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made = {file.name: file for file in FileDescriptorSet.FromString(out.read_bytes()).file}
    # Of the files of others there is a copy, which must stay the one that stubs are made with.
    there = FileDescriptorProto()
    status_pb2.DESCRIPTOR.CopyToProto(there)
    for file in (made["google/rpc/status.proto"], there):
        file.ClearField("options")
        for message in file.message_type:
            for field in message.field:
                field.ClearField("json_name")
    assert made["google/rpc/status.proto"] == there


def test_contract_ships_only_what_it_imports() -> None:
    imported = {
        name
        for path in PROTOS
        for name in re.findall(r'^import (?:public )?"(.+)"', path.read_text(), re.M)
    }
    others = (ROOT / "proto" / "google").rglob("*.proto")
    shipped = {path.relative_to(ROOT / "proto").as_posix() for path in others}
    assert shipped == {
        name for name in imported if not name.startswith(("totonoe/", "google/protobuf/"))
    }


LOADER = """
const loader = require("@grpc/proto-loader");
const found = loader.loadSync(process.argv.slice(1), {includeDirs: ["proto"]});
console.log(Object.keys(found).filter((name) => name.endsWith("Service")).join(" "));
"""


def test_contract_loads_in_node() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    probe = [node, "-e", 'require.resolve("@grpc/proto-loader")']
    if subprocess.run(probe, cwd=ROOT, capture_output=True, check=False).returncode != 0:
        pytest.skip("the npm package @grpc/proto-loader is not installed (NODE_PATH names where)")
    services = [f"totonoe/v1/{name}_service.proto" for name in ("memory", "admin")]
    done = subprocess.run(
        [node, "-e", LOADER, *services], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["totonoe.v1.MemoryService", "totonoe.v1.AdminService"]


def test_docs_every_rpc_is_mentioned() -> None:
    rpcs = [
        name for path in PROTOS for name in re.findall(r"^\s*rpc (\w+)", path.read_text(), re.M)
    ]
    docs = "\n".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    assert len(rpcs) > 10
    assert [name for name in rpcs if not re.search(rf"\b{name}\b", docs)] == []
