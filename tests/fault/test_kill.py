"""kill -9 at random moments under load: what was answered is there, once, and replays."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support.engines import Store, opened, remember
from support.processes import THREADS, child, load_operation, load_text

SEEDS = range(2)
KILLS_PER_SEED = 5
SOAK_KILLS = 1000


def check_after_kill(store: Store, seed: int, said: list[list[object]]) -> None:
    """Nothing that was acknowledged is lost, and nothing is there twice."""
    where = f"seed {seed}"
    memories = store.list("nobody")
    by_id = {memory.id: memory for memory in memories}
    texts = [memory.content for memory in memories]
    assert len(texts) == len(set(texts)), f"{where}: a text was saved twice"
    assert len(memories) == store.revision, f"{where}: each saved one is one revision"
    assert sorted(memory.revision for memory in memories) == list(range(1, store.revision + 1))
    for thread, number, saved, memory_id, revision in said:
        text, _ = load_text(seed, int(thread), int(number))
        assert by_id[memory_id].content == text, f"{where}: {thread}/{number} is lost"
        if saved:
            assert by_id[memory_id].revision == revision, where
    for memory in memories:
        for link in memory.links:
            back = {other.target_id: other for other in by_id[link.target_id].links}
            assert back[memory.id].type is link.type.inverse, f"{where}: a link of one side"
            assert back[memory.id].confidence == link.confidence, where
    # The last answers of each thread once more, and the one that nobody heard.
    for thread in range(THREADS):
        heard = [line for line in said if line[0] == thread][-3:]
        for _, number, saved, memory_id, revision in heard:
            text, vector = load_text(seed, thread, int(number))
            answer = store.apply(
                remember(text, agent=f"agent-{thread}", vector=vector),
                operation_id=load_operation(seed, thread, int(number)),
            )
            result = answer.results[0]
            assert answer.replayed, where
            assert (result.saved, result.memory_id) == (saved, memory_id), where
            assert answer.revision == revision, where
    assert store.revision == len(memories), f"{where}: a replay changed something"


def kill_under_load(directory: Path, seed: int) -> None:
    """Some lives, each in a directory of its own."""
    generator = random.Random(seed)
    for turn in range(KILLS_PER_SEED):
        load = seed * 100 + turn
        with child("load", directory / str(turn), load) as writer:
            # From the first commit on, after anything between no time and a burst of writes.
            writer.listen(generator.choice([1, 5, 20, 60, 150]))
            writer.listen_for(generator.random() * 0.05)
            assert writer.process.poll() is None, "it must not end by itself"
            writer.kill()
        assert writer.said
        with opened(directory / str(turn)) as store:
            check_after_kill(store, load, writer.said)
            assert store.do(remember("after the crash")).saved


@pytest.mark.parametrize("seed", SEEDS)
def test_kill_under_load_loses_nothing_that_was_answered(tmp_path: Path, seed: int) -> None:
    kill_under_load(tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1000 + SOAK_KILLS // KILLS_PER_SEED))
def test_a_thousand_kills_lose_nothing_that_was_answered(tmp_path: Path, seed: int) -> None:
    kill_under_load(tmp_path, seed)


def test_kill_again_and_again_on_one_directory_adds_up(tmp_path: Path) -> None:
    """The same operations in each life: a store that crashed goes on where it was."""
    said: list[list[object]] = []
    for _ in range(3):
        with child("load", tmp_path, 7) as writer:
            writer.listen(100)
            writer.kill()
        heard = {(line[0], line[1]): line for line in said}
        for line in writer.said:
            before = heard.setdefault((line[0], line[1]), line)
            assert before == line, "a replayed answer differs from the first"
        said = list(heard.values())
    with opened(tmp_path) as store:
        check_after_kill(store, 7, said)
