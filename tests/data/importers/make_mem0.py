"""Make mem0.json with mem0ai 2.2.1: `python make_mem0.py` where it is installed.

The vector store is the real one (Qdrant in a folder). Vectors are made up here and no model is
asked, since nothing may be downloaded: memories are added with `infer=False`.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile

from texts import FACTS, HERE

TEMPORARY = tempfile.TemporaryDirectory()
os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = TEMPORARY.name
os.environ["OPENAI_API_KEY"] = "not used"

from mem0 import Memory  # noqa: E402 - reads the environment when it is imported


class Vectors:
    """Vectors made of the digest of a text."""

    config = None

    def embed(self, text: str, *_: object, **__: object) -> list[float]:
        return [byte / 255 for byte in hashlib.sha256(text.encode()).digest()]

    def embed_batch(self, texts: list[str], *_: object, **__: object) -> list[list[float]]:
        return [self.embed(text) for text in texts]


def main() -> None:
    """Write the answer of `get_all`."""
    store = {"path": TEMPORARY.name + "/qdrant", "embedding_model_dims": 32, "on_disk": True}
    config = {"vector_store": {"provider": "qdrant", "config": store}, "version": "v1.1"}
    memory = Memory.from_config(config)
    memory.embedding_model = Vectors()
    for place, fact in enumerate(FACTS):
        memory.add(
            fact,
            user_id="mia",
            agent_id="coder",
            run_id="run-1",
            metadata={"place": place, "category": "setup"},
            infer=False,
        )
    answer = memory.get_all(filters={"user_id": "mia"}, top_k=100)
    answer["results"].sort(key=lambda item: item["metadata"]["place"])
    for place, item in enumerate(answer["results"]):
        # Fixed times, so that no clock of a machine that runs the tests is behind them.
        item["created_at"] = item["updated_at"] = f"2026-03-01T09:{place:02d}:00.000000+00:00"
    (HERE / "mem0.json").write_text(
        json.dumps(answer, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
