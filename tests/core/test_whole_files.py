"""Category `file`: nothing compares whole files, and Recall skips them."""

from __future__ import annotations

from typing import Any

from support.engines import DAY_US, Store, forget, remember, undo, update, vector_of
from support.waits import wait_s
from totonoe_core.domain.cleanup import CleanUpDuplicates, Decay, EndSession
from totonoe_core.domain.consolidate import ConsolidateQuery
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import AsOf, NearQuery, RecallQuery
from totonoe_core.domain.records import Kind, StateKind
from totonoe_core.domain.tidy import Tidy
from totonoe_core.rules.audit import AuditQuery
from totonoe_core.search.why_not import Outcome, WhyNotQuery

TEXT = "The staging database listens on port 5433."


def recalled(store: Store, *categories: str, **more: Any) -> list[str]:
    where = Filter(categories=categories)
    answer = store.recall(RecallQuery("anna", TEXT, b"", filter=where, touch=False, **more))
    return [hit.memory.id for hit in answer.hits]


def test_a_file_and_its_line_are_both_saved_in_either_order(store: Store) -> None:
    file = store.save(TEXT, category="file")
    line = store.save(TEXT)
    other = store.save(TEXT, category="file")
    assert len({file, line, other}) == 3
    assert all(memory.links == () for memory in store.get(file, line, other).memories)


def test_the_guard_names_no_file_and_says_why_it_did_not_run_on_one(store: Store) -> None:
    store.save(TEXT, category="file")
    asked = store.check(remember(TEXT + " It does."))
    assert (asked.guard.similar, asked.guard.question) == ((), None)
    layers = store.check(remember(TEXT, category="file")).guard.layers
    assert {layer.skipped_because for layer in layers} == {"category file is kept whole"}


def test_a_forgotten_file_is_no_tombstone(store: Store) -> None:
    store.set(("guard.refuse_forgotten", True))
    gone = store.save(TEXT, category="file")
    store.do(forget(gone))
    for category in ("file", ""):
        answer = store.do(remember(TEXT, category=category))
        assert (answer.saved, answer.guard.forgotten) == (True, None)


def test_a_summary_of_the_category_does_not_grow(store: Store) -> None:
    first = store.save("one", category="file", state_kind=StateKind.SUMMARY)
    assert store.save("two", category="file", state_kind=StateKind.SUMMARY) != first


def test_recall_skips_files_unless_the_filter_names_them(store: Store) -> None:
    file, line = store.save(TEXT, category="file"), store.save(TEXT)
    log = store.save(TEXT, category="file", kind=Kind.EVENT, state_kind=StateKind.NONE)
    assert recalled(store) == [line]
    assert set(recalled(store, "file")) == {file, log}
    assert set(recalled(store, "file", "")) == {file, log, line}
    store.do(forget(line))
    assert recalled(store) == []
    assert recalled(store, as_of=AsOf(store.revision - 1)) == [line]
    assert [memory.id for memory in store.list(where=Filter())] == [file, log], "List shows them"


def test_why_not_says_that_files_are_left_out(store: Store) -> None:
    file = store.save(TEXT, category="file")
    query = RecallQuery("anna", TEXT, b"", touch=False)
    found = store.read(WhyNotQuery(file, query))
    assert found.outcome is Outcome.EXCLUDED
    assert [(condition.name, condition.asked, condition.held) for condition in found.unmet] == [
        ("categories", "any but file", "file")
    ]


def test_clean_up_leaves_files_alone(store: Store) -> None:
    files = [store.save(TEXT, category="file", session_id="s", confidence=0.5) for _ in range(4)]
    before = store.revision
    assert store.do(CleanUpDuplicates("anna")).duplicates == ()
    assert store.do(EndSession("anna", "s")).consolidatable_count == 0
    assert store.do(Tidy("anna")).clusters == ()
    store.clock.advance(400 * DAY_US)
    assert store.do(Decay("anna", close_below=1.0)).closed == ()
    assert store.read(NearQuery("anna")).groups == ()
    assert store.read(AuditQuery("anna")).near_count == 0
    run = store.engine.consolidate("default", "", ConsolidateQuery("anna", window_hours=0.0))
    messages = run.result(wait_s())
    while found := messages.read().result(wait_s()):
        done = found[-1].told
    messages.leave()
    assert (done.candidates, done.memory_count) == ((), 0)
    assert {memory.revision for memory in store.get(*files).memories} <= set(range(before + 1))


def test_an_undo_brings_a_file_back_beside_an_equal_one(store: Store) -> None:
    file = store.save(TEXT, category="file")
    store.do(forget(file))
    gone = store.revision
    store.save(TEXT)
    store.save(TEXT, category="file")
    store.do(undo(gone))
    assert len(store.list(where=Filter(categories=("file",)))) == 2


def test_a_file_that_loses_the_category_passes_the_guard(store: Store) -> None:
    file = store.save(TEXT, category="file", vector=vector_of(TEXT))
    line = store.save(TEXT)
    answer = store.do(update(file, category="note"))
    assert not answer.updated
    assert answer.guard.duplicate.memory_id == line
    assert store.do(update(line, category="file")).updated
    assert store.do(update(file, category="note")).updated
