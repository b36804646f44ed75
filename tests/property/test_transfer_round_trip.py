"""Any collection comes out of a file as it went in, byte for byte."""

from __future__ import annotations

import math
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.engines import DIMENSION, NOON, Store, opened, unit
from support.transfers import exported, imported, objects, records
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.domain.records import (
    Dismissal,
    Episode,
    Fields,
    Kind,
    Link,
    LinkType,
    Memory,
    Source,
    StateKind,
    Status,
    TimeRange,
    TypedKey,
)
from totonoe_core.engine.collection.collection import Collection
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.jsonl.values import TIME_MAX_US, TIME_MIN_US
from totonoe_core.store.records import Touched
from totonoe_core.text.normalize import refusing_hash, shows_nothing

# Odd ones among them: line ends of other systems, marks without width, what needs two code units.
ODD = '\r\n\t\x01\x1f\x7f\x85\xa0\u200b\u200d\u2028\u2029\ufeff\ufffd\U0001f600\U0010ffff"\\/{}é'
texts = st.text(
    st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=["Cs"])), max_size=30
)
texts = texts.map(lambda text: text.replace("\0", ""))
said = texts.filter(lambda text: not shows_nothing(text))
times = st.one_of(
    st.integers(TIME_MIN_US, TIME_MAX_US), st.sampled_from([TIME_MIN_US, 0, TIME_MAX_US])
)
maybe_time = st.one_of(st.none(), times)
unit_floats = st.one_of(
    st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 5e-324, 0.1 + 0.2, math.nextafter(1.0, 0.0)])
)
numbers = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53))
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
agents = st.sampled_from(["", "anna", "ben", "日本\u2028"])
ids = st.integers(0, 2**64 - 1).map(lambda number: f"mem_{number:016x}")


@st.composite
def ranges(draw: st.DrawFn) -> tuple[int | None, int | None]:
    begin, end = draw(maybe_time), draw(maybe_time)
    return (begin, end) if begin is None or end is None or begin < end else (begin, None)


@st.composite
def all_fields(draw: st.DrawFn) -> Fields:
    kind = draw(st.sampled_from(Kind))
    states = [item for item in StateKind if item is not StateKind.NONE]
    state_kind = draw(st.sampled_from(states)) if kind is Kind.STATE else StateKind.NONE
    keys = st.one_of(st.none(), st.builds(TypedKey, said, said))
    return Fields(
        external_id=draw(texts),
        kind=kind,
        state_kind=state_kind,
        category=draw(texts),
        tags=tuple(draw(st.lists(said, max_size=3))),
        attributes=draw(json_objects),
        payload=draw(json_objects),
        importance=draw(st.integers(1, 5)),
        confidence=draw(unit_floats),
        salience=draw(unit_floats),
        emotion=draw(texts),
        perception_type=draw(texts),
        life_stage=draw(texts),
        session_id=draw(texts),
        thread_id=draw(texts),
        entities=tuple(draw(st.lists(said, max_size=3))),
        evidence_ids=tuple(draw(st.lists(ids, max_size=2))),
        about_time=TimeRange(*draw(ranges())),
        last_confirmed_us=draw(maybe_time),
        done_us=draw(maybe_time),
        **dict(zip(("valid_from_us", "valid_to_us"), draw(ranges()), strict=True)),
        private=draw(st.booleans()),
        key=draw(keys) if kind is Kind.STATE else None,
        source=draw(st.sampled_from(Source)),
    )


@st.composite
def collections(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Memories, and what is between them; rows are those of a fresh collection."""
    count = draw(st.integers(0, 6))
    names = draw(st.lists(ids, min_size=count, max_size=count, unique=True))
    memories, taken = [], set()
    for row, name in enumerate(names, 1):
        found = draw(all_fields())
        content = draw(said)
        status = draw(st.sampled_from([item for item in Status if item is not Status.PURGED]))
        key = found.external_id, found.private  # private ones are all anna's
        if key in taken:
            found = _replaced(found, external_id="")
        taken.add(key)
        others = [each_name for each_name in names if each_name != name]
        count_of = draw(st.integers(0, 2**40))
        memories.append(
            Memory(
                row=row,
                id=name,
                content=content,
                content_hash=refusing_hash(content),
                vector=unit(draw(vectors)).tobytes(),
                agent_id="anna" if found.private else draw(agents),
                fields=found,
                created_us=draw(times),
                updated_us=draw(times),
                status=status,
                superseded_by=draw(st.sampled_from(["", *others])),
                revision=1,
                access_count=count_of,
                last_access_us=draw(times) if count_of else draw(maybe_time),
            )
        )
    live = [memory for memory in memories if memory.status is not Status.FORGOTTEN]
    pairs = [(a, b) for a in live for b in live if a.row < b.row]
    some = (
        st.lists(
            st.sampled_from(pairs), max_size=4, unique_by=lambda pair: (pair[0].row, pair[1].row)
        )
        if pairs
        else st.just([])
    )
    links = [
        (a, b, Link(b.id, draw(st.sampled_from(LinkType)), draw(unit_floats), draw(texts)))
        for a, b in draw(some)
    ]
    dismissals = [
        Dismissal(a.row, b.row, a.content_hash, b.content_hash, draw(agents), draw(texts), 1)
        for a, b in draw(some)
    ]
    episodes = [
        Episode(
            id=f"ep_{number:016x}",
            summary=draw(said),
            memory_ids=tuple(draw(st.lists(st.sampled_from(names), unique=True))) if names else (),
            start_us=start,
            end_us=draw(st.integers(start, TIME_MAX_US)),
            importance=draw(st.integers(1, 5)),
            agent_id="anna",
            private=draw(st.booleans()),
            created_us=draw(times),
            revision=1,
        )
        for number, start in enumerate(draw(st.lists(times, max_size=3)))
    ]
    return {"memories": memories, "links": links, "dismissals": dismissals, "episodes": episodes}


vectors = st.lists(st.floats(-1, 1, width=32), min_size=DIMENSION, max_size=DIMENSION).filter(
    lambda values: sum(value * value for value in values) > 1e-3
)


def _replaced(value: Fields, **more: Any) -> Fields:
    return Fields(**({field.name: getattr(value, field.name) for field in fields(value)} | more))


def put(store: Store, drawn: dict[str, list[Any]]) -> None:
    """Writes a collection row by row, past every check, as one operation."""
    collection: Collection = store.engine._collections.opened("default").result(wait_s())
    state = collection._state

    def work() -> None:
        ledger = Ledger(state)
        operation = Operation(revision=1, now_us=NOON, touched=Touched())
        with state.file.transaction():
            for memory in drawn["memories"]:
                assert state.take_row() == memory.row
                ledger.add(operation, memory, ledger.features_of(memory))
                if memory.last_access_us is not None:
                    figures = memory.row, memory.last_access_us, memory.access_count
                    state.file.recalls.put_access([figures])
            for a, b, link in drawn["links"]:
                ledger.put_link_pair(operation, a, b, link)
            for dismissal in drawn["dismissals"]:
                ledger.put_dismissal(operation, dismissal)
            for episode in drawn["episodes"]:
                ledger.file.put_episode(episode)
                operation.touched.episodes.append(episode.id)
            state.file.put_operation(1, "op", "anna", "Remember", "", operation.touched, NOON)
        state.revision = 1
        state.publish()

    collection._writer.call(work).result(wait_s())


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(collections(), st.booleans(), st.integers(1, 4), st.integers(1, 5000))
def test_any_collection_comes_back_byte_for_byte(
    drawn: dict[str, list[Any]], with_vectors: bool, batch_lines: int, piece_bytes: int
) -> None:
    before = limits.IMPORT_BATCH_LINES
    limits.IMPORT_BATCH_LINES = batch_lines
    try:
        with tempfile.TemporaryDirectory() as folder:
            _round_trip(Path(folder), drawn, with_vectors, piece_bytes)
    finally:
        limits.IMPORT_BATCH_LINES = before


def _round_trip(
    folder: Path, drawn: dict[str, list[Any]], with_vectors: bool, piece_bytes: int
) -> None:
    with opened(folder / "a") as store, opened(folder / "b") as other:
        put(store, drawn)
        data = exported(store, include_vectors=True)
        counts = objects(data)[-1]["counts"]
        assert counts["memory"] == len(drawn["memories"])
        assert counts["link"] == len(drawn["links"])
        assert counts["episode"] == len(drawn["episodes"])
        assert counts["dismissal"] == len(drawn["dismissals"])
        told, _ = imported(other, data, "once", as_is=True, piece_bytes=piece_bytes)
        assert told.done
        assert records(exported(other, include_vectors=with_vectors)) == records(
            exported(store, include_vectors=with_vectors)
        )
        own = {memory.id: memory for memory in store.list()}
        for memory in other.list():
            assert memory.content == own[memory.id].content
            assert memory.fields == own[memory.id].fields
            assert memory.vector == own[memory.id].vector
            assert set(memory.links) == set(own[memory.id].links)
        # Into where it came from, nothing changes.
        revision = store.revision
        told, items = imported(store, data, piece_bytes=piece_bytes)
        assert (told.saved_count, told.failed_count, items) == (0, 0, [])
        assert store.revision == revision
