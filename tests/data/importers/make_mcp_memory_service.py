"""Make mcp_memory_service.db.gz and .json with mcp-memory-service 12.2.0, where it is installed.

Vectors come from the package's own stand-in, since no model may be downloaded. Python needs SQLite
with extensions, for sqlite-vec.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from pathlib import Path

TEMPORARY = tempfile.TemporaryDirectory()
os.environ |= {
    "MCP_MEMORY_BASE_DIR": TEMPORARY.name,
    "MCP_MEMORY_ALLOW_HASH_EMBEDDINGS": "true",
    "HF_HUB_OFFLINE": "1",
    "HOSTNAME": "example",
}

from mcp_memory_service.models.memory import Memory  # noqa: E402 - reads the environment
from mcp_memory_service.storage.graph import GraphStorage  # noqa: E402
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage  # noqa: E402
from mcp_memory_service.sync.exporter import MemoryExporter  # noqa: E402
from mcp_memory_service.utils.hashing import generate_content_hash  # noqa: E402
from texts import FACTS, HERE, pack  # noqa: E402

BEGIN_S = 1772355600.0


async def fill(path: Path) -> None:
    """Store the facts, delete one memory, link two."""
    storage = SqliteVecMemoryStorage(str(path))
    await storage.initialize()
    hashes = []
    for place, fact in enumerate((*FACTS, "The printer is in room 12.")):
        memory = Memory(
            content=fact,
            content_hash=generate_content_hash(fact) if place != 1 else "f" * 64,
            tags=["setup", f"place-{place}"],
            memory_type="decision",
            metadata={"place": place, "nested": {"list": [1, 2]}},
            created_at=BEGIN_S + 60 * place,
            updated_at=BEGIN_S + 60 * place,
        )
        saved, message = await storage.store(memory, skip_semantic_dedup=True)
        assert saved, message
        hashes.append(memory.content_hash)
    await storage.delete(hashes[-1])
    graph = GraphStorage(str(path))
    await graph.store_association(hashes[0], hashes[6], 0.62, ["semantic"])
    await graph.store_association(hashes[2], hashes[3], 0.5, ["causal"], relationship_type="causes")
    await graph.close()
    exporter = MemoryExporter(storage)
    await exporter.export_to_json(HERE / "mcp_memory_service.json")
    await storage.close()


def main() -> None:
    """Write both files; the database's log is folded in and its vectors are left out."""
    path = Path(TEMPORARY.name) / "sqlite_vec.db"
    asyncio.run(fill(path))
    text = (HERE / "mcp_memory_service.json").read_text("utf-8")
    (HERE / "mcp_memory_service.json").write_text(
        text.replace(TEMPORARY.name, "/data") + "\n", encoding="utf-8"
    )
    database = sqlite3.connect(path)
    # Room for vectors is reserved in pages of 1,024: a fixture does without them.
    for (name,) in database.execute(
        "SELECT name FROM sqlite_master WHERE name LIKE 'memory_embeddings_vector_chunks%'"
    ).fetchall():
        database.execute(f"DELETE FROM {name}")
    database.commit()
    target = Path(TEMPORARY.name) / "packed.db"
    database.execute("VACUUM INTO ?", (str(target),))
    database.close()
    pack(target, "mcp_memory_service.db")


if __name__ == "__main__":
    main()
