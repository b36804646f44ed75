"""kill -9 inside a purge: it is done whole or not at all, and what is left of it goes later."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support.engines import opened
from support.processes import child, purged_text
from totonoe_core.domain.memories import Purge


def left(directory: Path, texts: list[str]) -> list[str]:
    """Texts of which anything is in any file."""
    files = [path.read_bytes() for path in directory.rglob("*") if path.is_file()]
    return [text for text in texts if any(text.encode() in data for data in files)]


@pytest.mark.parametrize("seed", range(6))
def test_a_purge_is_whole_whenever_it_is_killed(tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    with child("purge", tmp_path, seed) as writer:
        # After "saved" a purge begins: in it, behind it, or in what comes next.
        writer.listen(generator.choice([1, 3, 5, 7]))
        writer.listen_for(generator.random() * 0.02)
        assert writer.process.poll() is None, "it must not end by itself"
        writer.kill()
    saved = {start: ids for word, start, ids in writer.said if word == "saved"}
    purged = {start for word, start, _ in writer.said if word == "purged"}
    assert saved
    gone: list[str] = []
    with opened(tmp_path) as store:
        for start, ids in saved.items():
            there = [memory.id for memory in store.list() if memory.id in ids]
            assert len(there) in (0, len(ids)), "half is there"
            assert not (start in purged and there), "it was answered, and is undone"
            texts = [purged_text(seed, number) for number in range(start, start + 8)]
            if not there:
                gone += texts
                continue
            assert sorted(left(tmp_path, texts)) == sorted(texts)
            again = store.apply(Purge("anna", tuple(ids)), operation_id=f"purge {start}")
            assert not again.replayed
            assert again.results[0].version_count == len(ids)
            gone += texts
        kept = next(memory for memory in store.list() if memory.content == "what stays")
        with_links = {link.target_id for link in kept.links}
        assert with_links.isdisjoint(memory_id for ids in saved.values() for memory_id in ids)
    assert left(tmp_path, gone) == []
