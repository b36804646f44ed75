"""Make ego_mcp.sqlite3.gz with ego-mcp 1.7.0 and chromadb 1.5.9.

    python make_ego_mcp.py PATH/TO/ego-mcp/src

ego-mcp is on no package index, so its source tree is named. It wants Python 3.14, but its store
runs on 3.11. Vectors are made up here, since no model may be downloaded.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, sys.argv[1])

from ego_mcp import timezone_utils
from ego_mcp.embedding import EgoEmbeddingFunction
from ego_mcp.episode import EpisodeStore
from ego_mcp.memory import MemoryStore
from texts import FACTS, pack


class Vectors:
    """Vectors made of the digest of a text."""

    async def embed(self, texts: list[str]) -> list[list[float]]:
        digests = (hashlib.sha256(text.encode()).digest() for text in texts)
        return [[byte / 255 for byte in digest[:8]] for digest in digests]


async def fill(data_dir: Path) -> None:
    """Save the facts, link some, make an episode, forget one."""
    clock = iter(datetime(2026, 3, 1, 9, tzinfo=UTC) + timedelta(minutes=n) for n in range(99))
    timezone_utils.now = lambda: next(clock)
    config: Any = SimpleNamespace(data_dir=data_dir, lexical_search_enabled=False)
    store = MemoryStore(config, EgoEmbeddingFunction(Vectors()))
    store.connect()
    episodes = store.get_client().get_or_create_collection(
        name="ego_episodes", embedding_function=EgoEmbeddingFunction(Vectors())
    )
    saved = [
        await store.save(
            fact,
            emotion="curious",
            secondary=["calm"],
            importance=4,
            category="technical",
            tags=["setup", "node"],
            body_state={"time_phase": "morning"},
        )
        for fact in FACTS
    ]
    await store.link_memories(saved[0].id, saved[6].id, "related")
    await store.link_memories(saved[2].id, saved[3].id, "caused_by")
    wrong = await store.save("The moon is made of cheese.")
    await store.link_memories(saved[0].id, wrong.id, "similar")
    await store.delete(wrong.id)
    await EpisodeStore(store, episodes).create([saved[3].id, saved[5].id], "Set up the backup.")
    await store.save("I felt seen when Mia laughed.", emotion="moved", private=True)
    store.close()


def main() -> None:
    """Write the database of the folder, which is all that is read."""
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(fill(Path(temporary)))
        source = Path(temporary) / "chroma" / "chroma.sqlite3"
        target = Path(temporary) / "packed.sqlite3"
        database = sqlite3.connect(source)
        database.execute("VACUUM INTO ?", (str(target),))
        database.close()
        pack(target, "ego_mcp.sqlite3")


if __name__ == "__main__":
    main()
