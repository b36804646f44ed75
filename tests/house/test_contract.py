"""The contract is documented, and generated code is that of its source."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_docs_every_rpc_is_mentioned() -> None:
    rpcs = [
        name for path in PROTOS for name in re.findall(r"^\s*rpc (\w+)", path.read_text(), re.M)
    ]
    docs = "\n".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    assert len(rpcs) > 10
    assert [name for name in rpcs if not re.search(rf"\b{name}\b", docs)] == []
