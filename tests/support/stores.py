"""Stores of other programs: the committed fixtures, unpacked as their programs leave them."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support import agent_stores

FIXTURES = Path(__file__).parents[1] / "data" / "importers"

MEMORY = """---
name: Deploys run on Fridays
description: "When to deploy: \\"never\\" on Mondays"
metadata:
  node_type: memory
  type: project
  originSessionId: 5da15695-411e-4859-a37b-b739ede023ae
  modified: 2026-03-01T09:00:00.000Z
---

The deploy runs on Fridays at 16:00. See [[staging-port]].
"""
FLAT = """---
name: Staging port
description: where staging listens
type: reference
---
The staging database listens on port 5433.
"""
INSTRUCTIONS = """# Project

Some prose.

## Tests

- Run `make test` before a commit.
- The linter is ruff,
  and mypy runs in strict mode.
- See [the guide](guide.md) first.

```
- no memory: this is code
```

* The nightly backup is disabled.
"""


def claude_code(folder: Path) -> Path:
    """Write a folder as Claude Code keeps it; the form was taken from such folders."""
    memory = folder / "-home-mia-app" / "memory"
    memory.mkdir(parents=True)
    (memory / "deploys.md").write_text(MEMORY)
    (memory / "staging-port.md").write_text(FLAT)
    (memory / "MEMORY.md").write_text(
        "- [Deploys](deploys.md) - when\n- The nightly backup is enabled.\n"
    )
    os.utime(memory / "staging-port.md", (1772355600, 1772355600))
    (memory / "loose.md").write_text("Notes without front matter.\n")
    (folder / "-home-mia-app" / "CLAUDE.md").write_text(INSTRUCTIONS)
    return folder / "-home-mia-app"


def store_of(name: str, folder: Path) -> Path:
    """Return a store of a source as its program leaves it: a file, or a folder."""
    if name == "claude-code":
        return claude_code(folder)
    if name in agent_stores.WRITERS:
        return agent_stores.WRITERS[name](folder)
    if name == "mempalace":
        file = unpacked("ego_mcp.sqlite3.gz", folder / "palace" / "chroma.sqlite3")
        return agent_stores.mempalace(file)
    if name == "ego-mcp":
        return unpacked("ego_mcp.sqlite3.gz", folder / "chroma" / "chroma.sqlite3").parents[1]
    if name == "robotmem":
        return unpacked("robotmem.db.gz", folder / "memory.db")
    if name == "mcp-memory-service":
        return unpacked("mcp_memory_service.db.gz", folder / "sqlite_vec.db")
    file = {"mem0": "mem0.json", "mcp-memory": "mcp_memory.jsonl"}[name]
    return Path(shutil.copy(FIXTURES / file, folder / file))


def unpacked(name: str, target: Path) -> Path:
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.decompress((FIXTURES / name).read_bytes()))
    return target


@contextmanager
def changed(path: Path, *statements: str) -> Iterator[sqlite3.Connection]:
    """Change a database; its connection stays open in the `with`."""
    database = sqlite3.connect(path)
    try:
        for statement in statements:
            database.execute(statement)
        database.commit()
        yield database
    finally:
        database.close()
