"""Dismiss and Undismiss: said once, counting while the texts are what they were, taken back."""

from __future__ import annotations

import random

import apsw
import pytest

from support.engines import (
    Store,
    contents,
    dismiss,
    forget,
    undismiss,
    undo,
    update,
)
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.dismissals import Dismissed, Undismissed
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import ChangesQuery, OperationFilter, OperationsQuery
from totonoe_core.domain.questions import Answer, Resolve
from totonoe_core.store.sqlite.reader import ReaderPool

UNKNOWN = "mem_0123456789abcdef"


def counting(store: Store, *pairs: tuple[int, int]) -> set[tuple[int, int]]:
    """Those of some pairs of rows that are dismissed."""
    pool = ReaderPool(store.file(), 1)
    with pool.rows() as rows:
        found = rows.dismissed(pairs)
    pool.close()
    return found


def test_a_pair_is_dismissed_once_in_whatever_order(store: Store) -> None:
    one, two = store.save("one"), store.save("two")
    first = store.apply(dismiss(two, one, reason="other things"))
    assert first.results == (Dismissed(True, (two, one)),)
    assert counting(store, (1, 2), (2, 1)) == {(1, 2), (2, 1)}
    again = store.apply(dismiss(one, two))
    assert again.results == (Dismissed(False, (one, two)),)
    assert again.revision == first.revision
    store.reopen()
    assert counting(store, (1, 2)) == {(1, 2)}


def test_undismiss_takes_it_back_and_nothing_twice(store: Store) -> None:
    one, two = store.save("one"), store.save("two")
    store.do(dismiss(one, two))
    assert store.do(undismiss(two, one, agent="berta")) == Undismissed(True, (two, one))
    assert counting(store, (1, 2)) == set()
    revision = store.revision
    assert store.do(undismiss(one, two)) == Undismissed(False, (one, two))
    assert store.revision == revision


def test_it_counts_until_one_of_the_texts_is_another(store: Store) -> None:
    one, two = store.save("one"), store.save("two")
    store.do(dismiss(one, two))
    store.do(update(one, importance=5))
    assert counting(store, (1, 2)) == {(1, 2)}
    store.do(update(two, content="two and a half"))
    assert counting(store, (1, 2)) == set()
    store.do(undo(store.revision))
    assert counting(store, (1, 2)) == {(1, 2)}
    store.do(update(two, content="three"))
    assert store.do(dismiss(one, two)).changed
    assert counting(store, (1, 2)) == {(1, 2)}


def test_of_many_pairs_those_are_found_that_a_dict_would_find(store: Store) -> None:
    texts = [f"text {number}" for number in range(40)]
    ids = [store.save(text) for text in texts]
    generator = random.Random(3)
    said = {tuple(sorted(generator.sample(range(1, 41), 2))) for _ in range(60)}
    store.apply(*(dismiss(ids[a - 1], ids[b - 1]) for a, b in said))
    store.do(update(ids[0], content="another"))
    every = [(a, b) for a in range(1, 41) for b in range(1, 41) if a != b]
    expected = {(a, b) for a, b in every if tuple(sorted((a, b))) in said and 1 not in (a, b)}
    assert counting(store, *every) == expected
    assert counting(store) == set()


def test_undo_brings_back_what_was_said(store: Store) -> None:
    one, two = store.save("one"), store.save("two")
    store.do(dismiss(one, two, reason="first"))
    made, before = store.revision, contents(store)
    store.do(undismiss(one, two))
    store.do(undo(store.revision))
    assert contents(store) == before
    store.do(undismiss(one, two))
    store.do(dismiss(one, two, reason="second"))
    error = store.refused(undo(made))
    assert error.reason == "UNDO_CONFLICT"
    answer = store.preview(undo(made))[1]
    (conflict,) = answer.conflicts
    assert (conflict.memory_id, conflict.target_id) == (one, two)
    assert conflict.revision == store.revision, "the one to undo first"


def test_operation_names_the_pair_to_those_who_see_both(store: Store) -> None:
    one = store.save("one", private=True)
    two, three = store.save("two"), store.save("three")
    store.do(dismiss(one, two, reason="hers"))
    store.do(dismiss(three, two))
    store.do(undismiss(three, two))

    def told(agent: str, memory_id: str = "") -> list[tuple[str, tuple[str, ...], str]]:
        where = OperationFilter(memory_id=memory_id, kinds=("Dismiss", "Undismiss"))
        found = store.read(OperationsQuery(agent, where, 100, ""))
        return [(row.kind, row.memory_ids, row.reason) for row in found.operations]

    public = [("Undismiss", (two, three), ""), ("Dismiss", (two, three), "")]
    assert told("anna") == [*public, ("Dismiss", (one, two), "hers")]
    assert told("berta") == public == told("anna", three) == told("berta", two)
    assert told("anna", one) == [("Dismiss", (one, two), "hers")]
    assert store.refused(undo(4, agent="berta")).reason == "OPERATION_NOT_FOUND"
    assert store.do(undo(4)).undone


def test_what_is_not_there_or_not_live_is_refused(store: Store) -> None:
    one, two = store.save("one"), store.save("two")
    hers = store.save("hers", agent="berta", private=True)
    for command in (dismiss(one, UNKNOWN), dismiss(hers, one), undismiss(one, hers)):
        assert store.refused(command).reason == "MEMORY_NOT_FOUND"
    assert store.refused(dismiss(one, one)).reason == "SELF_LINK"
    assert store.refused(undismiss(two, two)).reason == "SELF_LINK"
    assert store.refused(dismiss("one", two)).reason == "MEMORY_NOT_FOUND"
    assert store.refused(dismiss(one, two, reason="x" * 2000)).reason == "LIMIT_EXCEEDED"
    store.do(dismiss(one, two))
    store.do(forget(two))
    assert store.refused(dismiss(one, two)).reason == "NOT_ACTIVE"
    assert store.do(undismiss(one, two)).changed


def test_a_memory_is_in_so_many_pairs_at_most(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DISMISSALS_PER_MEMORY_MAX", 2)
    hub, *others = (store.save(text) for text in ("hub", "a", "b", "c"))
    store.do(dismiss(hub, others[0]))
    store.do(dismiss(others[1], hub))
    error = store.refused(dismiss(others[2], hub))
    assert (error.reason, error.details["field"]) == ("LIMIT_EXCEEDED", "id_b")
    store.do(update(hub, content="another hub"))
    assert store.do(dismiss(hub, others[0])).changed, "one that is there already takes no room"


def test_a_purge_takes_it_and_its_images(store: Store) -> None:
    one, two, three = (store.save(text) for text in ("one", "two", "three"))
    store.apply(dismiss(one, two), dismiss(one, three), dismiss(two, three))
    store.do(undismiss(one, three))
    store.do(undismiss(two, three))
    store.do(Purge("anna", (one,)))
    connection = apsw.Connection(str(store.file()), flags=apsw.SQLITE_OPEN_READONLY)
    assert list(connection.execute("SELECT a, b FROM dismissal")) == []
    images = "SELECT key FROM image WHERE entity = 'dismissal'"
    assert list(connection.execute(images)) == [("2~3",)]
    connection.close()
    answer = store.do(undo(5, partial=True))
    assert not answer.undone, "nothing is left of it to come back"
    assert store.do(undo(6)).undone
    assert counting(store, (1, 2), (2, 3)) == {(2, 3)}


def test_a_damaged_row_is_not_believed(store: Store) -> None:
    one, two = store.save("one"), store.save("two")
    store.do(dismiss(one, two))
    store.engine.close(wait_s())
    connection = apsw.Connection(str(store.file()))
    connection.execute("UPDATE dismissal SET note = 'x'")
    connection.close()
    with pytest.raises(errors.Corruption):
        counting(store, (1, 2))
    store.engine = store._opened()


@pytest.mark.parametrize("seed", range(4))
def test_in_any_order_of_calls_what_counts_is_what_a_dict_holds(store: Store, seed: int) -> None:
    generator = random.Random(seed)
    ids = [store.save(f"text {number}") for number in range(5)]
    texts = {row: f"text {row - 1}" for row in range(1, 6)}
    said: dict[tuple[int, int], tuple[str, str]] = {}
    before: dict[int, tuple[dict[int, str], dict[tuple[int, int], tuple[str, str]]]] = {}
    every = [(a, b) for a in range(1, 6) for b in range(a + 1, 6)]
    for step in range(50):
        a, b = generator.choice(every)
        pair, revision = (ids[a - 1], ids[b - 1]), store.revision
        was = dict(texts), dict(said)
        match generator.choice(["dismiss", "dismiss", "undismiss", "update", "undo", "reopen"]):
            case "dismiss":
                changed = said.get((a, b)) != (texts[a], texts[b])
                assert store.do(dismiss(*generator.sample(pair, 2))).changed is changed
                said[a, b] = texts[a], texts[b]
            case "undismiss":
                assert store.do(undismiss(*pair)).changed is ((a, b) in said)
                said.pop((a, b), None)
            case "update":
                # Of a few texts for each, so that some come back.
                texts[a] = f"text {a - 1}" if generator.random() < 0.5 else f"other {a}"
                store.do(update(ids[a - 1], content=texts[a], force=True))
            case "undo" if revision in before:
                assert store.do(undo(revision)).undone
                texts, said = (dict(part) for part in before[revision])
            case "reopen" if step % 5 == 0:
                store.reopen()
        if store.revision > revision:
            before[store.revision] = was
        expected = {(a, b) for (a, b), of in said.items() if of == (texts[a], texts[b])}
        assert counting(store, *every) == expected


def test_watchers_hear_which_pair_it_was(store: Store) -> None:
    one, two = store.save("one", tags=("a",)), store.save("two")
    store.do(dismiss(one, two))
    store.do(undismiss(one, two))
    store.do(Resolve("anna", one, two, Answer.DIFFERENT))

    def heard(agent: str, where: Filter | None = None) -> list[tuple[str, tuple[str, ...]]]:
        query = ChangesQuery(agent, 2, where)
        found = store.read(query)
        told = [change for change in found.changes if not (change.memories or change.links)]
        return [(item.operation.kind, item.operation.memory_ids) for item in told]

    expected = [(kind, (one, two)) for kind in ("Dismiss", "Undismiss", "Resolve")]
    assert heard("anna") == heard("berta") == heard("anna", Filter(tags=("a",))) == expected
    assert heard("anna", Filter(tags=("b",))) == []
    store.do(update(two, private=True))
    assert heard("berta") == []
