"""Flipped bits and cut ends of a collection's file: harmless, or said; never another answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compat.make_data import fill, vector
from support.engines import EVERY_STATUS, FakeClock, Store, opened
from support.telling import AGENTS
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.queries import (
    AsOf,
    ChangesQuery,
    EpisodesQuery,
    ListQuery,
    OperationFilter,
    OperationsQuery,
    RecallQuery,
)
from totonoe_core.domain.records import ANY_TIME, Memory
from totonoe_core.engine.jobs.verify import Pace
from totonoe_core.store.sqlite.inspection import inspect

PLACES = 48
BLOCKS = 6
SOAK_PLACES = 2400
STEPS_MAX = 2000  # a damaged page is passed row by row
FAST = Pace(share=1.0)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], int]:
    """A directory, what it tells, and the time of its clock."""
    path = tmp_path_factory.mktemp("sound") / "data"
    with opened(path, client_vector_dimension=4) as store:
        fill(store)
        rng = np.random.default_rng(7)
        for number in range(40):
            store.save(
                f"Box {number} stands in room {number % 7}",
                vector=vector(*rng.normal(size=4)),
                tags=(f"box-{number}",),
                external_id=f"box-{number}",
                force=True,
            )
        store.reopen()
        now_us = store.clock.now_us
        told = {name: call() for name, call in calls(store, ids_of(store)).items()}
    assert file_of(path).stat().st_size > 100_000
    assert not any(table.findings for table in inspect(path))
    return path, told, now_us


def ids_of(store: Store) -> dict[str, list[str]]:
    return {agent: [memory.id for memory in store.list(agent)] for agent in AGENTS}


def file_of(path: Path) -> Path:
    return next(path.glob("collections/*/memory.db"))


def calls(store: Store, ids: dict[str, list[str]]) -> dict[str, Callable[[], Any]]:
    """Every kind of answer that a damaged file could make wrong, by a name."""
    engine, name = store.engine, "default"
    found: dict[str, Callable[[], Any]] = {
        "info": lambda: engine.get_collection(name).result(wait_s()),
        "stats": lambda: counts(store),
    }
    for agent in AGENTS:
        query = RecallQuery(agent, "box lamp", vector(1, 2, 3, 4).tobytes(), 200, touch=False)
        mine: dict[str, Callable[[], Any]] = {
            "list": lambda agent=agent: store.list(agent),
            "recall": lambda query=query: [hit.memory for hit in store.recall(query).hits],
            "episodes": lambda agent=agent: engine.read(
                name, EpisodesQuery(agent, ANY_TIME, "", 100, "")
            ).result(wait_s()),
            "operations": lambda agent=agent: engine.read(
                name, OperationsQuery(agent, OperationFilter(), 200, "")
            ).result(wait_s()),
            "changes": lambda agent=agent: engine.read(name, ChangesQuery(agent, 0, None)).result(
                wait_s()
            ),
            "past": lambda agent=agent: engine.read(
                name, ListQuery(agent, EVERY_STATUS, 200, "", as_of=AsOf(20))
            ).result(wait_s()),
        }
        for memory_id in ids[agent]:
            mine[f"get {memory_id}"] = lambda agent=agent, memory_id=memory_id: store.one(
                memory_id, agent
            )
        found |= {f"{agent} {key}": call for key, call in mine.items()}
    return found


def counts(store: Store) -> tuple[int, ...]:
    stats = store.stats()
    return stats.active_count, stats.forgotten_count, stats.link_count, stats.revision


def memories_in(answer: Any) -> list[Memory]:
    if isinstance(answer, Memory):
        return [answer]
    if isinstance(answer, list):
        return [item for item in answer if isinstance(item, Memory)]
    return []


def tried(
    directory: Path, told: dict[str, Any], now_us: int, name: str = "memory.db"
) -> tuple[str, list[str]]:
    """How a damaged directory fares: "harmless", "refused" or "said"; and what it tells wrongly."""
    ids = {
        agent: [key.split()[-1] for key in told if key.startswith(f"{agent} get ")]
        for agent in AGENTS
    }
    right = {memory.id: memory for key in told for memory in memories_in(told[key])}
    try:
        store = Store(directory, clock=FakeClock(now_us), client_vector_dimension=4)
    except errors.TotonoeError:
        assert name == "catalog.db"
        return "refused", []
    try:
        differing, failed = [], []
        for key, call in calls(store, ids).items():
            try:
                answer = call()
            except errors.TotonoeError as error:
                failed.append(f"{key}: {error.reason}")
                continue
            if answer != told[key]:
                differing.append(key + _difference(answer, told[key]))
            for memory in memories_in(answer):
                # Links to what is set aside are left out, and figures that are bad; nothing else.
                assert (memory.content, memory.fields, memory.vector, memory.status) == (
                    right[memory.id].content,
                    right[memory.id].fields,
                    right[memory.id].vector,
                    right[memory.id].status,
                ), f"{key} tells another text or field of {memory.id}"
        if len(failed) == len(told):
            return "refused", []
        verifier = store.engine._collections.opened("default").result(wait_s()).verifier
        for _ in range(STEPS_MAX):
            if not verifier.step(FAST):
                break
        else:
            raise AssertionError("a pass that does not end")
        found = verifier.figures()
        said = bool(found.bad_row_counts or found.damage_count or found.reindexed_count)
        if not (differing or failed or said):
            return "harmless", []
        return "said", [] if said or not differing else differing
    finally:
        store.close()


def _difference(answer: Any, right: Any) -> str:
    """Names of the fields in which one memory differs."""
    if not (isinstance(answer, Memory) and isinstance(right, Memory)):
        return ""
    names = [name for name in Memory.__slots__ if getattr(answer, name) != getattr(right, name)]
    return f" {names}"


def test_flipped_bits_are_harmless_or_said(sound: Any, tmp_path: Path) -> None:
    outcomes = [damaged(sound, tmp_path, block, flip) for block in range(BLOCKS)]
    said = sum(outcome["said"] for outcome in outcomes)
    assert said > PLACES // 10, "a test that damages nothing shows nothing"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_cut_file_is_refused_or_said(sound: Any, tmp_path: Path, block: int) -> None:
    outcomes = damaged(sound, tmp_path, block, cut)
    assert outcomes["refused"] + outcomes["said"] > 0


@pytest.mark.soak
@pytest.mark.parametrize("how", ["flip", "cut"])
@pytest.mark.parametrize("block", range(BLOCKS, BLOCKS + SOAK_PLACES * BLOCKS // PLACES))
def test_damage_at_many_more_places_is_harmless_or_said(
    sound: Any, tmp_path: Path, block: int, how: str
) -> None:
    damaged(sound, tmp_path, block, {"flip": flip, "cut": cut}[how])


@pytest.mark.parametrize("damage", ["flip", "cut"])
def test_damaged_catalogue_is_refused_or_harmless(sound: Any, tmp_path: Path, damage: str) -> None:
    damaged(sound, tmp_path, 99, {"flip": flip, "cut": cut}[damage], "catalog.db")


def flip(data: bytearray, rng: np.random.Generator) -> str:
    at, bit = int(rng.integers(len(data))), int(rng.integers(8))
    data[at] ^= 1 << bit
    return f"byte {at} bit {bit}"


def cut(data: bytearray, rng: np.random.Generator) -> str:
    at = int(rng.integers(len(data)))
    del data[at:]
    return f"cut at {at}"


def damaged(
    sound: tuple[Path, dict[str, Any], int],
    tmp_path: Path,
    block: int,
    how: Callable[[bytearray, np.random.Generator], str],
    name: str = "memory.db",
) -> dict[str, int]:
    path, told, now_us = sound
    rng = np.random.default_rng((block, len(name)))
    outcomes = {"harmless": 0, "refused": 0, "said": 0}
    for number in range(PLACES // BLOCKS):
        directory = tmp_path / str(number)
        shutil.copytree(path, directory)
        file = directory / name if name == "catalog.db" else file_of(directory)
        data = bytearray(file.read_bytes())
        where = how(data, rng)
        file.write_bytes(data)
        outcome, wrong = tried(directory, told, now_us, name)
        assert not wrong, f"seed {block}, {where}: told wrongly in silence: {wrong}"
        outcomes[outcome] += 1
        shutil.rmtree(directory)
    return outcomes
