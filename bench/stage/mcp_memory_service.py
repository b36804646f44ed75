"""mcp-memory-service on sqlite-vec, as a system for the stage; made for 12.4.

    pip install mcp-memory-service
    totonoe quality --stage --system bench.stage.mcp_memory_service:McpMemoryService

What it refuses is its own: a text that is equal but for case, or whose cosine to a text of the
last 24 hours is 0.85 or more. What it finds is its search's default (`semantic`). Both by the
daemon's embedder, as its own fetches a model. It needs `mcp` below 2, so install it where totonoe
has no extra `mcp`, and a Python whose sqlite3 loads extensions (Debian's does, pyenv's does not).
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_server.tools.quality.stage.system import Embed, Shown

DUPLICATE = "Duplicate content detected"
"""How its answer begins if it refuses a text; another one is an error."""


class McpMemoryService:
    """Refuses by its check for duplicates, and finds by what its search finds.

    Parameters
    ----------
    embed : Embed
        Stands in for its own embedder.
    """

    name = "mcp-memory-service"

    def __init__(self, embed: Embed) -> None:
        if find_spec("mcp_memory_service") is None:
            raise ImportError("mcp-memory-service is not installed: pip install mcp-memory-service")
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            raise ImportError("mcp-memory-service needs a Python whose sqlite3 loads extensions")
        self._folder = tempfile.TemporaryDirectory(prefix="stage-mcp-memory-service-")
        # It makes folders when it is imported.
        os.environ["MCP_MEMORY_BASE_DIR"] = self._folder.name
        self._loop = asyncio.Runner()
        self._embed = embed
        self._storage: Any = None
        self.clear()

    def clear(self) -> None:
        """Begin a new database: an equal text is refused in all stores of one."""
        from mcp_memory_service.storage.sqlite_vec import (  # type: ignore[import-not-found]
            SqliteVecMemoryStorage,
        )

        self._end_storage()
        storage = SqliteVecMemoryStorage(":memory:")
        model = _Model(self._embed)

        async def use_ours() -> None:
            storage.embedding_model, storage.embedding_dimension = model, model.dimension

        storage._initialize_embedding_model = use_ours
        self._loop.run(storage.initialize())
        self._storage = storage

    def remember(self, text: str) -> bool:
        """Store a text unless it is a duplicate."""
        from mcp_memory_service.models.memory import Memory  # type: ignore[import-not-found]
        from mcp_memory_service.utils.hashing import (  # type: ignore[import-not-found]
            generate_content_hash,
        )

        memory = Memory(content=text, content_hash=generate_content_hash(text))
        stored, message = self._loop.run(self._storage.store(memory))
        if not stored and not message.startswith(DUPLICATE):
            raise RuntimeError(f"mcp-memory-service: {message}")
        return bool(stored)

    def recall(self, query: str, k: int) -> Sequence[Shown]:
        """Return what its search finds, best first."""
        found = self._loop.run(self._storage.search_memories(query, limit=k))
        if "error" in found:
            raise RuntimeError(f"mcp-memory-service: {found['error']}")
        return [Shown(memory["content"]) for memory in found["memories"]]

    def close(self) -> None:
        """End its database and remove its files."""
        self._end_storage()
        self._loop.close()
        self._folder.cleanup()

    def _end_storage(self) -> None:
        if self._storage is not None:
            self._loop.run(self._storage.close())


class _Model:
    """Answers as a model of sentence-transformers, which is what it expects."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self.dimension = embed(["x"]).shape[1]

    def encode(self, texts: Sequence[str], **_named: bool) -> NDArray[np.float32]:
        return self._embed(texts)
