"""Re-embed: another model while a collection serves; nothing mixed, nothing lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    HeldEmbedding,
    Store,
    forget,
    merge,
    remember,
    undo,
    update,
    vector_of,
)
from support.indexes import assert_same_index
from support.reembedding import (
    HALF,
    HalfEmbedder,
    assert_complete,
    assert_unmixed,
    begin,
    opened_with,
    reembed,
    restarted,
    running,
    settle,
    state_of,
    told_by,
)
from support.waits import wait_s, wait_until
from totonoe_core.base.errors import AlreadyExists, ModelMismatch, Precondition
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import (
    AsOf,
    OperationFilter,
    OperationsQuery,
    RecallMode,
    RecallQuery,
)
from totonoe_core.domain.records import Method
from totonoe_core.domain.reembed import Phase, Reembed
from totonoe_core.engine.state import checkpointing, loading

LEFT_RIGHT = ("left", "right")
TEXTS = [f"the pump {number} stands in hall {number % 7}" for number in range(40)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = opened_with(tmp_path, "left")
    yield made
    made.close()


def filled(store: Store, count: int = 12) -> list[str]:
    return [store.save(text, text_only=True, force=True) for text in TEXTS[:count]]


def recalled(store: Store, text: str, **more: Any) -> Any:
    return store.recall(RecallQuery("anna", text, **more))


def held_right() -> HeldEmbedding:
    return HeldEmbedding(HalfEmbedder("right"))


def wait_until_held(store: Store, embedding: HeldEmbedding) -> None:
    """Until texts wait at the embedder; each look at the state wakes the run."""
    wait_until(lambda: embedding.held or not state_of(store))


def test_collection_gets_the_model_that_runs(store: Store) -> None:
    ids = filled(store)
    store.do(update(ids[0], importance=5))
    store.do(forget(ids[1]))
    store.do(merge(ids[2], ids[3]))
    before = store.revision
    right = running("right")
    restarted(store, right)
    with pytest.raises(ModelMismatch):
        store.save("a new text", text_only=True)
    done = reembed(store, "op 1")
    assert (done.before.name, done.after.name) == LEFT_RIGHT
    assert (done.memory_count, done.embedded_count) == (12, 12)
    assert store.revision == before + 1
    assert store.info().model == right.identity
    assert_unmixed(store, LEFT_RIGHT)
    assert_complete(store, right)
    found = recalled(store, TEXTS[5], mode=RecallMode.VECTOR)
    assert found.hits[0].memory.id == ids[5]
    assert found.hits[0].cosine_similarity == pytest.approx(1.0, abs=1e-6)
    assert store.save("a new text", text_only=True)
    settle(store)
    assert_unmixed(store, LEFT_RIGHT)
    store.reopen()
    assert_unmixed(store, LEFT_RIGHT)
    assert store.stats().reembed is None


def test_it_is_an_operation_that_history_lists_and_an_undo_refuses(store: Store) -> None:
    filled(store, 3)
    restarted(store, running("right"))
    reembed(store, "op 1")
    pages = store.engine.read("default", OperationsQuery("anna", OperationFilter(), 10, ""))
    page = pages.result(wait_s())
    newest = page.operations[0]
    assert (newest.kind, newest.operation_id, newest.reason) == (
        "Reembed",
        "op 1",
        "a better model",
    )
    with pytest.raises(Precondition) as caught:
        store.do(undo(newest.revision))
    assert caught.value.reason == "NOT_UNDOABLE"


def test_same_operation_id_gives_the_first_answer(store: Store) -> None:
    filled(store, 3)
    restarted(store, running("right"))
    first = reembed(store, "op 1")
    (again,) = told_by(begin(store, "op 1"))
    assert (again.done, again.replayed) == (first, True)
    with pytest.raises(AlreadyExists):
        store.engine.reembed("default", "op 1", Reembed("anna")).result(wait_s())


def test_nothing_to_do_is_said(store: Store) -> None:
    filled(store, 2)
    with pytest.raises(Precondition) as caught:
        begin(store)
    assert caught.value.reason == "NOTHING_TO_REEMBED"
    restarted(store, None)
    with pytest.raises(Precondition) as caught:
        begin(store)
    assert caught.value.reason == "NOTHING_TO_REEMBED"


class TestMeanwhile:
    """What is written and read while the new model is prepared."""

    @pytest.fixture
    def held(self, store: Store) -> HeldEmbedding:
        filled(store)
        held = held_right()
        restarted(store, held)
        self.watch = begin(store)
        wait_until_held(store, held)
        return held

    def finish(self, store: Store, held: HeldEmbedding) -> None:
        for _ in range(3000):
            held.release()
            if store.stats().reembed is None:
                break
            threading.Event().wait(0.01)
        assert_unmixed(store, LEFT_RIGHT)
        assert_complete(store, held)

    def saved(self, store: Store, held: HeldEmbedding, command: Any) -> Any:
        # The batch of the re-embedding stays held: else the run may end before this is decided.
        held.wait_held()
        batch, held.held = held.held[:1], held.held[1:]
        future = store.engine.apply("default", "", (command,))
        while not future.done():
            held.release()
            threading.Event().wait(0.002)
        held.held = batch + held.held
        return future.result(wait_s()).results[0]

    def test_texts_are_saved_guarded_by_words_and_by_the_new_model(
        self, store: Store, held: HeldEmbedding
    ) -> None:
        new = self.saved(store, held, remember("a lamp hangs in the yard", text_only=True))
        assert new.saved
        layers = {layer.layer: layer for layer in new.guard.layers}
        assert not layers[Method.COSINE].ran
        assert "no vector" in layers[Method.COSINE].skipped_because
        again = self.saved(store, held, remember("A lamp hangs in the yard.", text_only=True))
        assert not again.saved
        assert again.memory_id == new.memory_id
        other = self.saved(store, held, remember("a lamp hangs in the attic", text_only=True))
        assert other.saved
        self.finish(store, held)

    def test_recall_goes_by_words_and_says_so(self, store: Store, held: HeldEmbedding) -> None:
        found = recalled(store, TEXTS[3])
        assert found.hits
        assert "re-embedded" in found.degraded_because
        with pytest.raises(ModelMismatch):
            recalled(store, TEXTS[3], mode=RecallMode.VECTOR)
        self.finish(store, held)

    def test_given_vectors_of_the_old_model_are_guarded_as_ever(
        self, store: Store, held: HeldEmbedding
    ) -> None:
        (old,) = running("left").vectors(["the pump 5 stands in hall 5!"])
        answer = self.saved(store, held, remember("the pump 5 stands in hall 5!", vector=old))
        assert not answer.saved
        (vector,) = running("left").vectors(["something else"])
        assert self.saved(store, held, remember("something else", vector=vector)).saved
        self.finish(store, held)

    def test_updates_merges_forgets_and_undos_are_in_it(
        self, store: Store, held: HeldEmbedding
    ) -> None:
        ids = [memory.id for memory in store.list()]
        text = "the pump was sold"
        self.saved(store, held, replace(update(ids[0], content=text), vector=b""))
        assert store.one(ids[0]).content == text
        self.saved(store, held, update(ids[1], importance=1))
        self.saved(store, held, forget(ids[2]))
        self.saved(store, held, undo(store.revision))
        self.saved(store, held, merge(ids[3], ids[4], content="both pumps", text_only=True))
        self.saved(store, held, undo(store.revision))
        self.finish(store, held)
        assert store.one(ids[3]).content == TEXTS[3]
        (vector,) = held.vectors([text])
        found = recalled(store, text, mode=RecallMode.VECTOR, vector=vector.tobytes())
        assert found.hits[0].memory.id == ids[0]

    def test_who_asks_again_joins_and_who_leaves_ends_nothing(
        self, store: Store, held: HeldEmbedding
    ) -> None:
        self.watch.leave()
        assert self.watch.read().result(wait_s()) == ()
        other = begin(store)
        first = other.read().result(wait_s())
        assert first[0].progress.phase is Phase.EMBEDDING or first[0].progress.total_count >= 0
        state = store.stats().reembed
        assert (state.model.name, state.progress.total_count) == ("right", 12)
        self.finish(store, held)

    def test_cancel_drops_what_was_made(self, store: Store, held: HeldEmbedding) -> None:
        waiting = store.engine.apply(
            "default", "", (remember("a lamp hangs in the yard", text_only=True),)
        )
        under_way, held.held = held.held[0], held.held[1:]
        held.wait_held()
        held.release()
        new = waiting.result(wait_s()).results[0]
        assert len(state_of(store).file.rows.beside.embeddings(list(range(1, 40)))) == 1
        assert under_way[0] == TEXTS[:12]
        future = store.engine.cancel_reembed("default")
        assert future.result(wait_s()) == 1
        assert store.engine.cancel_reembed("default").result(wait_s()) == -1
        with pytest.raises(Precondition):
            told_by(self.watch)
        rows = state_of(store).file.rows
        assert not rows.beside.embeddings(list(range(1, 40)))
        assert store.stats().reembed is None
        with pytest.raises(ModelMismatch):
            store.save("another", text_only=True)
        # What was saved meanwhile is found by words; the model before gives it a vector.
        assert recalled(store, "lamp", mode=RecallMode.LEXICAL).hits
        left = running("left")
        restarted(store, left)
        done = reembed(store)
        assert (done.before.name, done.after.name, done.embedded_count) == ("left", "left", 1)
        assert_complete(store, left)
        assert new.memory_id in {memory.id for memory in store.list()}

    def test_a_restart_goes_on_by_itself(self, store: Store, held: HeldEmbedding) -> None:
        del held
        right = running("right")
        restarted(store, right)
        state_of(store)
        settle(store)
        assert store.info().model == right.identity
        assert_complete(store, right)

    def test_another_model_waits_for_a_cancel(self, store: Store, held: HeldEmbedding) -> None:
        del held
        restarted(store, running("third"))
        with pytest.raises(Precondition) as caught:
            begin(store)
        assert caught.value.reason == "REEMBEDDING"
        settle(store)
        assert store.stats().reembed.progress.phase is Phase.WAITING
        assert store.engine.cancel_reembed("default").result(wait_s()) >= 0

    def test_purge_takes_the_new_vectors_too(self, store: Store, held: HeldEmbedding) -> None:
        text = "the password of the vault is Zanzibar"
        answer = self.saved(store, held, remember(text, text_only=True))
        (vector,) = held.vectors([text])
        store.do(Purge("anna", (answer.memory_id,)))
        rest = b"".join(path.read_bytes() for path in store.path.rglob("*") if path.is_file())
        assert vector.tobytes() not in rest
        assert text.encode() not in rest
        self.finish(store, held)


def test_purge_after_the_swap_takes_the_vectors_of_both_models(store: Store) -> None:
    ids = filled(store, 4)
    left, right = running("left"), running("right")
    for name in (right, left, right):
        restarted(store, name)
        reembed(store, f"op {name.identity.name} {store.revision}")
        settle(store)
    store.do(Purge("anna", (ids[2],)))
    rest = b"".join(path.read_bytes() for path in store.path.rglob("*") if path.is_file())
    for model in (left, right):
        assert model.vectors([TEXTS[2]]).tobytes() not in rest
        assert model.vectors([TEXTS[1]]).tobytes() in rest


def test_who_reads_and_writes_beside_the_swap_never_sees_two_models(store: Store) -> None:
    """Of two models a text is at 0 from itself; of one at 1."""
    filled(store, 8)
    right = running("right")
    restarted(store, right)
    over, wrong, seen = threading.Event(), [], {"words": 0, "vectors": 0}

    def read() -> None:
        while not over.is_set():
            for text in TEXTS[:2]:
                found = recalled(store, text)
                if found.degraded_because:
                    seen["words"] += 1
                else:
                    seen["vectors"] += 1
                    (best,) = [hit for hit in found.hits if hit.vector_rank == 1]
                    if best.cosine_similarity < 0.999:
                        wrong.append((text, best))

    saved: list[str] = []

    def write() -> None:
        while not over.is_set():
            text = f"a lamp with number {len(saved)} hangs there"
            saved.append(store.save(text, text_only=True, force=True))

    watch = begin(store)  # from here on texts are taken
    threads = [threading.Thread(target=call) for call in (read, write)]
    for thread in threads:
        thread.start()
    told_by(watch)
    for _ in range(3):
        recalled(store, TEXTS[0])
    while not seen["vectors"]:
        over.wait(0.01)
    over.set()
    for thread in threads:
        thread.join(wait_s())
    assert not wrong
    settle(store)
    assert_unmixed(store, LEFT_RIGHT)
    assert_complete(store, right)
    assert len({memory.id for memory in store.list()} & set(saved)) == len(saved)


class TestBackAndForth:
    def test_the_way_back_embeds_only_what_is_new(self, store: Store) -> None:
        filled(store)
        restarted(store, running("right"))
        reembed(store)
        settle(store)
        store.save("only the right one knew it", text_only=True)
        left = running("left")
        restarted(store, left)
        done = reembed(store)
        assert (done.after.name, done.embedded_count) == ("left", 1)
        assert_unmixed(store, LEFT_RIGHT)
        assert_complete(store, left)
        settle(store)
        assert_complete(store, left)

    def test_a_third_model_and_another_dimension(self, store: Store) -> None:
        filled(store)
        for name, dimension in (("right", 2 * HALF), ("left", 3 * HALF), ("right", 5 * HALF)):
            model = running(name, dimension)
            restarted(store, model)
            assert reembed(store).embedded_count == 12
            assert_complete(store, model)
        assert_unmixed(store, ("left", "right", "left", "right"))
        settle(store)
        assert_unmixed(store, ("left", "right", "left", "right"))
        store.reopen()
        assert_complete(store, model)

    def test_thresholds_and_calibration_are_the_models_own(self, store: Store) -> None:
        filled(store, 2)
        store.set(("guard.judged_from", 0.5), ("guard.exact", False))
        restarted(store, running("right"))
        assert reembed(store).thresholds_reset
        guard = store.info().guard
        assert (guard.judged_from, guard.exact) == (0.75, False)
        store.set(("guard.judged_from", 0.6))
        restarted(store, running("left"))
        reembed(store)
        assert store.info().guard.judged_from == 0.5
        restarted(store, running("right"))
        reembed(store)
        assert store.info().guard.judged_from == 0.6

    def test_undo_of_what_was_done_before_embeds_the_text_anew(self, store: Store) -> None:
        ids = filled(store, 4)
        store.do(replace(update(ids[0], content="the pump was sold"), vector=b""))
        changed = store.revision
        store.do(forget(ids[1]))
        forgotten = store.revision
        right = running("right")
        restarted(store, right)
        reembed(store)
        preview = store.preview(undo(changed))[1]
        assert preview.undone
        store.do(undo(changed))
        store.do(undo(forgotten))
        assert store.one(ids[0]).content == TEXTS[0]
        assert_unmixed(store, LEFT_RIGHT)
        assert_complete(store, right)

    def test_the_past_before_it_is_found_by_words(self, store: Store) -> None:
        ids = filled(store, 4)
        then = store.revision
        store.do(replace(update(ids[0], content="the pump was sold"), vector=b""))
        restarted(store, running("right"))
        reembed(store)
        old = recalled(store, TEXTS[0], as_of=AsOf(then))
        assert "another model" in old.degraded_because
        assert old.hits[0].memory.content == TEXTS[0]
        assert {hit.vector_rank for hit in old.hits} == {0}
        new = recalled(store, TEXTS[1], as_of=AsOf(store.revision))
        assert not new.degraded_because
        assert new.hits[0].vector_rank == 1


class TestClientsVectors:
    def test_a_collection_of_clients_vectors_gets_the_daemons_model(self, tmp_path: Path) -> None:
        store = Store(tmp_path, client_vector_dimension=2 * HALF)
        for text in TEXTS[:5]:
            store.save(text, vector=vector_of(text, 2 * HALF))
        right = running("right")
        restarted(store, right)
        done = reembed(store)
        assert (done.before.name, done.embedded_count) == ("none", 5)
        assert_complete(store, right)
        store.close()

    def test_an_empty_one_without_a_dimension_as_well(self, tmp_path: Path) -> None:
        store = Store(tmp_path, client_vector_dimension=0)
        assert store.stats().total_count == 0
        right = running("right")
        restarted(store, right)
        assert reembed(store).memory_count == 0
        assert store.save("a text", text_only=True)
        assert_complete(store, right)
        store.close()


def test_a_vector_that_was_given_for_the_model_before_is_not_taken_after_the_swap(
    store: Store,
) -> None:
    filled(store, 3)
    right = running("right")
    restarted(store, right)
    collection = store.engine._collections.opened("default").result(wait_s())
    (old,) = running("left").vectors(["late"])
    # Checked before the swap, decided after it.
    begun, real = [], collection._writer.submit
    collection._writer.submit = begun.append
    waiting = store.engine.apply("default", "", (remember("late", vector=old),))
    collection._writer.submit = real
    reembed(store)
    real(begun[0])
    assert waiting.result(wait_s()).results[0].saved
    assert_unmixed(store, LEFT_RIGHT)
    assert_complete(store, right)
    # A Recall likewise: asked before, answered after it.
    state = state_of(store)
    query = RecallQuery("anna", TEXTS[0], vector=np.asarray(old).tobytes())
    found = collection._searching(query, old, 0, "").result(wait_s())
    assert "another model" in found.degraded_because
    assert state.index.model_number == 1


def index_is_that_of_the_rows(store: Store) -> None:
    opened = store.engine._collections.opened("default").result(wait_s())
    state = opened._state

    def rebuilt() -> Any:
        return loading.rebuilt(state.file, state.info, state.index.access())

    fresh = opened._on_writer(rebuilt).result(wait_s())
    assert state.index.model_number == fresh.model_number == state.info.model_number
    assert_same_index(state.index, fresh)


@pytest.mark.parametrize("settled", [False, True])
def test_checkpoints_are_of_the_model_that_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch, settled: bool
) -> None:
    monkeypatch.setattr(checkpointing, "FROM_COUNT", 1)
    monkeypatch.setattr(checkpointing, "CHANGED_AT_CLOSE", 1)
    ids = filled(store)
    # Closed with a checkpoint of the old model.
    restarted(store, running("right"))
    assert store.stats().checkpoint.opened_from_revision == store.revision
    reembed(store)
    if settled:
        settle(store)
    store.do(forget(ids[0]))
    store.reopen()
    assert store.stats().checkpoint.opened_from_revision == store.revision, "one of the new model"
    assert_unmixed(store, LEFT_RIGHT)
    index_is_that_of_the_rows(store)
    assert_complete(store, running("right"))


def test_checkpoint_that_lacks_vectors_is_not_used_once_they_are_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointing, "FROM_COUNT", 1)
    monkeypatch.setattr(checkpointing, "CHANGED_AT_CLOSE", 1)
    filled(store)
    held = held_right()
    restarted(store, held)
    begin(store).leave()
    wait_until_held(store, held)
    # It is saved with no vector of the old model, which does not run.
    command = remember("a text that came meanwhile", text_only=True, force=True)
    saving = store.engine.apply("default", "", (command,))
    while len(held.held) < 2:
        threading.Event().wait(0.005)
    texts, future = held.held.pop()
    future.set_result(held.vectors(texts))
    assert saving.result(wait_s()).results[0].saved
    cancelled = store.engine.cancel_reembed("default")
    held.release()
    cancelled.result(wait_s())
    restarted(store, running("left"))
    old = store.stats().checkpoint
    assert old.opened_from_revision == store.revision, "a checkpoint that lacks a vector"
    reembed(store)
    assert_complete(store, running("left"))
    store.reopen()
    assert_complete(store, running("left"))
    index_is_that_of_the_rows(store)
