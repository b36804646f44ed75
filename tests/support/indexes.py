"""Indexes with a history, and what makes two of them the same."""

from __future__ import annotations

import threading

import numpy as np

from totonoe_core.domain.policy import Tokenizer
from totonoe_core.domain.records import Fields, Memory, Status, TypedKey
from totonoe_core.index.arrays import COLUMNS, RETIRED, STATUSES
from totonoe_core.index.collection_index import CollectionIndex, Features, text_hash
from totonoe_core.index.dump import LABELS
from totonoe_core.index.lexical import bm25
from totonoe_core.text.normalize import refusing_hash
from totonoe_core.text.query_terms import query_terms

DIMENSION = 8
WORDS = [f"word{number}" for number in range(40)] + ["日本", "言葉"]
Known = dict[int, tuple[Memory, Features]]


def random_memory(rng: np.random.Generator, row: int, version: int = 0) -> tuple[Memory, Features]:
    """A memory of a row, whose id and text say which."""
    content = " ".join(rng.choice(WORDS, rng.integers(0, 9)).tolist()) + f" {row} v{version}"
    vector = rng.standard_normal(DIMENSION).astype(np.float32)
    vector /= np.linalg.norm(vector)
    fields = Fields(
        session_id=str(rng.choice(["", "s1", "s2", f"only {row}"])),
        category=str(rng.choice(["", "fact", "gotcha"])),
        tags=tuple(rng.choice(["a", "b", "c"], rng.integers(0, 3), replace=False).tolist()),
        attributes={"n": int(rng.integers(3))} if rng.random() < 0.3 else {},
        payload={"p": int(rng.integers(2))} if rng.random() < 0.3 else {},
        key=TypedKey("port", f"of {row % 5}") if rng.random() < 0.3 else None,
        private=bool(rng.random() < 0.2),
        valid_to_us=int(rng.integers(1000)) if rng.random() < 0.2 else None,
    )
    memory_id = f"mem_{row:016x}" if row % 7 else f"mem_{row:012x}"
    memory = Memory(
        row=row,
        id=memory_id,
        content=content,
        content_hash=refusing_hash(content),
        vector=vector.tobytes(),
        agent_id=str(rng.choice(["anna", "ben"])),
        fields=fields,
        created_us=row,
        updated_us=row + version,
        status=Status.ACTIVE,
        superseded_by="",
        revision=row,
    )
    return memory, Features.of(content, vector, Tokenizer.SCRIPT_AWARE)


def random_index(
    seed: int, *, index: CollectionIndex | None = None, begin: int = 1, prefix: bool = False
) -> tuple[CollectionIndex, Known]:
    """An index after adds, updates, changes of status and rolled-back operations.

    The second is what the rows would hold: the newest version of each memory that it made.
    """
    rng = np.random.default_rng(seed)
    index = index or CollectionIndex(DIMENSION, Tokenizer.SCRIPT_AWARE)
    known: Known = {}
    for step in range(150):
        mark = index.mark()
        kind = rng.random()
        rows = list(known)
        if not rows or kind < 0.6:
            row = begin + step
            before = None
            known[row] = random_memory(rng, row)
            index.add(*known[row])
        elif kind < 0.8:
            row = int(rng.choice(rows))
            before = known[row]
            known[row] = random_memory(rng, row, step)
            index.add(*known[row], replaces=index.slot_by_row[row])
        else:
            row = int(rng.choice(rows))
            before = memory, features = known[row]
            status = list(Status)[rng.integers(4)]
            changed = {name: getattr(memory, name) for name in Memory.__dataclass_fields__}
            changed.update(status=status, updated_us=1000 + step)
            known[row] = Memory(**changed), features
            index.set_status(index.slot_by_row[row], status, 1000 + step)
        if rng.random() < 0.1:
            index.rollback(mark)
            if before is None:
                del known[row]
            else:
                known[row] = before
        index.publish()
        if prefix and step == 100:
            _fit(index)
            index.token_index.catch_up(index.view())
    return index, known


def _fit(index: CollectionIndex) -> None:
    index.prefix.maintain(threading.Event())


def newest(index: CollectionIndex) -> dict[int, int]:
    """Row to slot of all that is neither retired nor purged."""
    view = index.view()
    status, rows = view.column("status"), view.column("row")
    dead = (status == RETIRED) | (status == STATUSES[Status.PURGED])
    return {int(rows[slot]): int(slot) for slot in np.flatnonzero(~dead)}


def assert_same_index(one: CollectionIndex, other: CollectionIndex, seed: object = "") -> None:
    """Same rows, and for each the same columns, tokens, terms, labels; same answers of all parts.

    Slots may be numbered otherwise.
    """
    slots, others = newest(one), newest(other)
    assert slots.keys() == others.keys(), f"seed {seed}"
    rows = sorted(slots)
    a = np.array([slots[row] for row in rows], np.int64)
    b = np.array([others[row] for row in rows], np.int64)
    view, other_view = one.view(), other.view()
    for name in COLUMNS:
        mine, its = view.take(name, a), other_view.take(name, b)
        if name in LABELS:
            names, other_names = (getattr(x.arrays, LABELS[name]) for x in (one, other))
            assert [names.name(code) for code in mine] == [other_names.name(code) for code in its]
        elif name != "replaced_by":
            assert mine.tolist() == its.tolist(), f"seed {seed}, column {name}"
    assert view.vectors(a).tobytes() == other_view.vectors(b).tobytes()
    for slot, other_slot in zip(a.tolist(), b.tolist(), strict=True):
        assert view.tokens(slot).tolist() == other_view.tokens(other_slot).tolist()
    assert one.arrays.live_count == other.arrays.live_count
    _assert_same_answers(one, other, a, b, seed)


def _assert_same_answers(
    one: CollectionIndex, other: CollectionIndex, a: np.ndarray, b: np.ndarray, seed: object
) -> None:
    view, other_view = one.view(), other.view()
    rows = view.take("row", a)
    mask, other_mask = np.zeros(view.count, np.bool_), np.zeros(other_view.count, np.bool_)
    mask[a], other_mask[b] = True, True

    def by_row(index: CollectionIndex, slots: np.ndarray, values: np.ndarray) -> dict[int, float]:
        found = index.view().take("row", slots.astype(np.int64)).tolist()
        return dict(zip(found, values.tolist(), strict=True))

    rng = np.random.default_rng(7)
    for _ in range(5):
        text = " ".join(rng.choice(WORDS, 3).tolist())
        found = []
        for index, chosen in ((one, mask), (other, other_mask)):
            weight, _ = bm25(
                index.terms, query_terms(text), index.view().column("term_count"), chosen
            )
            held = np.flatnonzero(weight)
            found.append(by_row(index, held, weight[held].round(9)))
        assert found[0] == found[1], f"seed {seed}"
        tokens = Features.of(text, np.zeros(0, np.float32), one.tokenizer).tokens
        query = rng.standard_normal(one.arrays.dimension).astype(np.float32)
        query /= np.linalg.norm(query)
        near, alike, labelled = [], [], []
        for index, chosen in ((one, mask), (other, other_mask)):
            slots, values = index.prefix.reaching(index.view(), query, chosen, 0.3)
            # By bound or plainly: rows within rounding of the threshold may be left out.
            sure = values >= 0.301
            near.append(by_row(index, slots[sure], values[sure].round(5)))
            alike.append(by_row(index, *index.token_index.above(index.view(), tokens, 0.2, chosen)))
            tagged = index.labels.slots_with_all(["ta"])
            tagged = tagged[(tagged < len(chosen))]
            labelled.append(set(index.view().take("row", tagged[chosen[tagged]].astype(np.int64))))
        assert near[0] == near[1], f"seed {seed}"
        assert alike[0] == alike[1], f"seed {seed}"
        assert labelled[0] == labelled[1], f"seed {seed}"
    hashes = view.take("text_hash", a)
    for at, row in enumerate(rows.tolist()):
        key = int(hashes[at]).to_bytes(8, "little")
        assert text_hash(key) == int(hashes[at])
        for index, slots in ((one, a), (other, b)):
            assert index.slot_by_row[row] == slots[at]
            assert slots[at] in index.slots_with_text(key)
        words = int(view.value("canonical_hash", int(a[at])))
        assert a[at] in one.slots_with_words(words)
        assert b[at] in other.slots_with_words(words)
