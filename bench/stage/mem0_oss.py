"""mem0 OSS without a language model, as a system for the stage; made for mem0ai 2.2.

    pip install mem0ai
    totonoe quality --stage --system bench.stage.mem0_oss:Mem0

What mem0 does with a new text is its language model's work; without one (`infer=False`) it stores
every text as it is. So this measures its search alone, with the daemon's embedder: mem0 with a
model needs a key, and gives other figures. It syncs each text: all groups take an hour, so use
`--limit`.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from totonoe_server.tools.quality.stage.system import Embed, Shown


class Mem0:
    """Stores every text, and finds by what mem0's search finds.

    Parameters
    ----------
    embed : Embed
        Stands in for mem0's own embedder.
    """

    name = "mem0 OSS, infer=False"

    def __init__(self, embed: Embed) -> None:
        if find_spec("mem0") is None:
            raise ImportError("mem0 is not installed: pip install mem0ai")
        self._folder = tempfile.TemporaryDirectory(prefix="stage-mem0-")
        os.environ["MEM0_DIR"], os.environ["MEM0_TELEMETRY"] = self._folder.name, "False"
        from mem0 import Memory  # type: ignore[import-not-found]

        self._memory: Any = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "collection_name": "stage",
                        "embedding_model_dims": embed(["x"]).shape[1],
                        "path": f"{self._folder.name}/qdrant",
                    },
                },
                # Neither of the two is ever asked; both want a key when they are made.
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "embedder": {"provider": "openai", "config": {"api_key": "none"}},
                "history_db_path": f"{self._folder.name}/history.db",
            }
        )
        self._memory.embedding_model = _Embedder(embed)
        self._users = (f"stage-{number}" for number in itertools.count())
        self.clear()

    def clear(self) -> None:
        """Go on as a user of whom nothing is known: to delete costs a commit each."""
        self._user = next(self._users)

    def remember(self, text: str) -> bool:
        """Store a text."""
        return bool(self._memory.add(text, infer=False, user_id=self._user)["results"])

    def recall(self, query: str, k: int) -> Sequence[Shown]:
        """Return what mem0 finds, best first."""
        found = self._memory.search(query, top_k=k, filters={"user_id": self._user}, threshold=0.0)
        return [Shown(result["memory"]) for result in found["results"]]

    def close(self) -> None:
        """Remove its files."""
        self._folder.cleanup()


class _Embedder:
    """Answers as an embedder of mem0, which also says what for (`memory_action`)."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    def embed(self, text: str, *_memory_action: str, **_named: str) -> list[float]:
        return self._embed([text])[0].tolist()

    def embed_batch(
        self, texts: list[str], *_memory_action: str, **_named: str
    ) -> list[list[float]]:
        return [self.embed(text) for text in texts]
