"""Stores of agents, written by us in the form that the programs give them (docs/import.md)."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

_WRITTEN_S = 1772355600
"""2026-03-01T09:00:00Z, of files whose text names no time."""

AGENT_INDEX = """# Reviewer

- [Ports](ports.md) - what listens where
- The nightly backup runs at 02:00.
- Reviews are written in English.

## Style

The team prefers small commits
with a reason in the body.

```
- no memory: this is code
```
"""
AGENT_PAGE = """---
name: ports
description: what listens where
type: reference
---
The staging database listens on port 5433.
"""

HANDBOOK = """# Task Group: shop/deploy

scope: Deploys of the shop.
applies_to: cwd=/home/mia/shop; reuse_rule=checkout-specific

## Task 1: Move staging to another port, success

### rollout_summary_files

- rollout_summaries/2026-03-01T09-00-00-aBcD-port.md (cwd=/home/mia/shop, \
rollout_path=/home/mia/.codex/sessions/r.jsonl, updated_at=2026-03-01T09:30:00+00:00, \
thread_id=019c6e27-e55b-73d1-87d8-4e01f1f75043, success)

### keywords

- staging, port, postgres

## User preferences

- when a deploy fails, the user asked "show me the log first" -> print the log first [Task 1]

## Reusable knowledge

- The staging database listens on port 5433. [Task 1]
- The build needs Node 20. [Task 1][ad-hoc note]

## Failures and how to do differently

- Deploys on a Monday collide with the backup -> deploy on Fridays. [Task 1]
"""
SUMMARY = """v1

## User Profile

Mia runs a small web shop.

## User preferences

- Answers in English.

## General Tips

- The build needs Node 20.

## What's in Memory

### /home/mia/shop

- deploy: keywords: staging, port
"""
SESSION = """thread_id: 019c6e27-e55b-73d1-87d8-4e01f1f75043
updated_at: 2026-03-01T09:30:00+00:00
rollout_path: /home/mia/.codex/sessions/r.jsonl
cwd: /home/mia/shop

# Moved the staging database

The port of staging was taken, so it was moved.
"""

NOTE = """---
title: Staging
type: note
permalink: ops/staging
tags:
- ops
- database
created: 2026-03-01T09:00:00+00:00
---

# Staging

What the team knows about staging.

## Observations

- [fact] The database listens on port 5433 #postgres (since spring)
- [ ] a task is no observation
- [00:01:30] a line of a transcript is none

## Relations

- depends_on [[Backup]]
- "is watched by" [[Grafana]]
"""
OTHER_NOTE = """---
title: Backup
type: note
permalink: ops/backup
tags: [ops]
---
- [fact] It runs at 02:00
- [fact] It runs at 02:00
"""


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (_WRITTEN_S, _WRITTEN_S))
    return path


def claude_agents(folder: Path) -> Path:
    """Write a project with two agents, one of them local."""
    shared = folder / "shop" / ".claude" / "agent-memory" / "reviewer"
    _written(shared / "MEMORY.md", AGENT_INDEX)
    _written(shared / "ports.md", AGENT_PAGE)
    local = folder / "shop" / ".claude" / "agent-memory-local" / "tester"
    _written(local / "MEMORY.md", "- The tests take eleven minutes.\n")
    return folder / "shop"


def codex(folder: Path) -> Path:
    """Write Codex's folder `memories`."""
    root = folder / "memories"
    _written(root / "MEMORY.md", HANDBOOK)
    _written(root / "memory_summary.md", SUMMARY)
    _written(root / "raw_memories.md", "# Raw Memories\n\n- The build needs Node 20.\n")
    _written(root / "rollout_summaries" / "2026-03-01T09-00-00-aBcD-port.md", SESSION)
    note = root / "extensions" / "ad_hoc" / "notes" / "2026-03-02T10-00-00-tea.md"
    _written(note, "Mia drinks tea, no coffee.\n")
    _written(root / ".git" / "HEAD", "ref: refs/heads/main\n")
    _written(root / ".git" / "notes.md", "- no memory\n")
    return root


def basic_memory(folder: Path) -> Path:
    """Write a project of basic-memory."""
    root = folder / "basic-memory"
    _written(root / "ops" / "Staging.md", NOTE)
    _written(root / "ops" / "Backup.md", OTHER_NOTE)
    return root


def _memory(number: int, path: str, content: str | None, day: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "memory",
        "id": f"mem_{number}",
        "memory_store_id": "memstore_1",
        "memory_version_id": f"memver_{number}{day}",
        "path": path,
        "content": content,
        "content_sha256": "0" * 64,
        "content_size_bytes": len(content or ""),
        "created_at": "2026-03-01T09:00:00Z",
        "updated_at": f"2026-03-{day:02}T09:00:00Z",
        **more,
    }


def _version(number: int, day: int, content: str | None, **more: Any) -> dict[str, Any]:
    return {
        "type": "memory_version",
        "id": f"memver_{number}{day}",
        "memory_id": f"mem_{number}",
        "memory_store_id": "memstore_1",
        "operation": "modified",
        "path": "/ops/staging.md",
        "content": content,
        "created_at": f"2026-03-{day:02}T09:00:00Z",
        "created_by": {"type": "session_actor", "session_id": "sesn_1"},
        **more,
    }


def anthropic_rows() -> dict[str, list[dict[str, Any]]]:
    """Return two memories, the first with two earlier versions, and versions of a deleted one."""
    return {
        "memories": [
            _memory(1, "/ops/staging.md", "The staging database listens on port 5433.", 7),
            _memory(2, "/team/tea.md", "Mia drinks tea, no coffee.", 2),
        ],
        "memory_versions": [
            _version(1, 7, "The staging database listens on port 5433."),
            _version(1, 5, "The staging database listens on port 6000."),
            _version(1, 1, "The staging database listens on port 5432.", operation="created"),
            _version(3, 4, None, operation="deleted"),
            _version(1, 3, None, path=None, redacted_at="2026-03-06T09:00:00Z"),
        ],
    }


def anthropic_memory(folder: Path) -> Path:
    """Write what the API answers about a store into one file."""
    return _written(folder / "store.json", json.dumps(anthropic_rows()))


_GRAPH = """
CREATE TABLE entities (id TEXT PRIMARY KEY, name TEXT NOT NULL, type TEXT DEFAULT 'unknown',
 properties TEXT DEFAULT '{}', created_at TEXT DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE triples (id TEXT PRIMARY KEY, subject TEXT NOT NULL, predicate TEXT NOT NULL,
 object TEXT NOT NULL, valid_from TEXT, valid_to TEXT, confidence REAL DEFAULT 1.0,
 source_closet TEXT, source_file TEXT, source_drawer_id TEXT, adapter_name TEXT,
 extracted_at TEXT DEFAULT CURRENT_TIMESTAMP);
INSERT INTO entities (id, name) VALUES ('mia', 'Mia'), ('shop', 'the shop'), ('acme', 'Acme');
INSERT INTO triples (id, subject, predicate, object, valid_from, valid_to, extracted_at) VALUES
 ('t1', 'mia', 'works_for', 'acme', '2024-01-01', '2025-01-01', '2026-03-01T09:00:00'),
 ('t2', 'mia', 'runs', 'shop', '2025-01-01', NULL, '2026-03-01T09:00:00');
"""
DRAWERS = (
    ("drawer_shop_ops_1", "ops", "The staging database listens on port 5433."),
    ("drawer_shop_ops_2", "ops", "The staging database listens on port 5433."),
    ("drawer_shop_team_3", "team", "Mia drinks tea, no coffee."),
)


def mempalace(file: Path) -> Path:
    """Make a palace of a database of Chroma 1.5.9 that another program wrote."""
    database = sqlite3.connect(file)
    database.execute(
        "UPDATE collections SET name = 'mempalace_drawers' WHERE name LIKE '%memories'"
    )
    (segment,) = database.execute(
        "SELECT segments.id FROM segments JOIN collections ON collections.id = collection"
        " WHERE name = 'mempalace_drawers' AND scope = 'METADATA'"
    ).fetchone()
    database.execute("DELETE FROM embedding_metadata")
    database.execute("DELETE FROM embeddings")
    for number, (drawer, room, text) in enumerate(DRAWERS, 1):
        database.execute(
            "INSERT INTO embeddings (id, segment_id, embedding_id, seq_id) VALUES (?, ?, ?, ?)",
            (number, segment, drawer, number),
        )
        fields = {
            "chroma:document": text,
            "wing": "shop",
            "room": room,
            "source_file": "/home/mia/shop/notes.md",
            "added_by": "mempalace",
            "filed_at": f"2026-03-0{number}T09:00:00",
        }
        rows = [(number, key, value) for key, value in fields.items()]
        database.executemany(
            "INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)", rows
        )
        database.execute(
            "INSERT INTO embedding_metadata (id, key, int_value) VALUES (?, 'chunk_index', 0)",
            (number,),
        )
    database.commit()
    database.close()
    graph = sqlite3.connect(file.with_name("knowledge_graph.sqlite3"))
    graph.executescript(_GRAPH)
    graph.close()
    return file.parent


WRITERS: dict[str, Callable[[Path], Path]] = {
    "claude-agents": claude_agents,
    "codex": codex,
    "basic-memory": basic_memory,
    "anthropic-memory": anthropic_memory,
}
