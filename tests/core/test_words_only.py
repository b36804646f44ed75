"""Memories without vectors: no model makes those of the collection, and the daemon runs none."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    NOON,
    InProcessEmbedding,
    Store,
    forget,
    opened,
    remember,
    undo,
    update,
    vector_of,
)
from support.indexes import assert_same_index
from support.reembedding import reembed, restarted, settle, state_of
from support.transfers import exported, imported, objects
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.cleanup import CleanUpDuplicates, Decay, EndSession, Measure
from totonoe_core.domain.collections import Calibrate
from totonoe_core.domain.consolidate import Consolidated, ConsolidateQuery
from totonoe_core.domain.memories import Merge, Purge
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import AsOf, RecallMode, RecallQuery
from totonoe_core.domain.records import LinkType, Method, StateKind, Status, Verdict
from totonoe_core.domain.tidy import Tidy, TidyOp, TidyUpdate, TidyUpsert
from totonoe_core.engine.state import checkpointing, loading
from totonoe_core.index import hnsw, prefix
from totonoe_core.rules.audit import AuditQuery
from totonoe_core.search.why_not import Outcome, WhyNotQuery

# Of the memory that is there and of the new text; two vectors are compared by their cosine.
WHO_HAS_A_VECTOR = pytest.mark.parametrize(
    ("there", "own"), [(False, False), (False, True), (True, False)]
)
PLAIN = DiversityPolicy(enabled=False)
PORT = "the staging database listens on port 5433"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "own", client_vector_dimension=0) as made:
        yield made


def text(content: str, **more: Any) -> Any:
    return remember(content, text_only=True, **more)


def save(store: Store, *contents: str, **more: Any) -> list[str]:
    return [store.save(content, text_only=True, **more) for content in contents]


def reworded(memory_id: str, content: str, **more: Any) -> Any:
    """An Update of a text that brings no vector."""
    made = update(memory_id, content=content, **more)
    return replace(made, vector=b"", mask=tuple(name for name in made.mask if name != "vector"))


def dimension(store: Store) -> int:
    return store.info().model.dimension


def layers(guard: Any) -> dict[Method, tuple[bool, str]]:
    return {layer.layer: (layer.ran, layer.skipped_because) for layer in guard.layers}


def found(store: Store, query: str, **more: Any) -> list[str]:
    return [hit.memory.id for hit in store.recall(RecallQuery("anna", query, **more)).hits]


def assert_sound(store: Store) -> None:
    """What is in memory is what the rows say, before the collection is opened again and after."""
    for _ in range(2):
        opened_one = store.engine._collections.opened(store.collection).result(wait_s())
        state = opened_one._state

        def rows(state: Any = state) -> Any:
            with state.file.reading():
                return loading.rebuilt(state.file, state.info, state.index.access())

        fresh = opened_one._on_writer(rows).result(wait_s())
        assert_same_index(state.index, fresh)
        assert state.index.lacking_count() == fresh.lacking_count()
        vectors = state.index.view().vectors(np.arange(state.index.view().count))
        assert state.index.view().has_vectors().tolist() == vectors.any(axis=1).tolist()
        store.reopen()


# -- The guard


def test_text_is_saved_without_a_vector_and_the_layers_say_why(store: Store) -> None:
    answer = store.do(text(PORT))
    assert answer.saved
    assert store.one(answer.memory_id).vector == b""
    ran = layers(answer.guard)
    assert ran[Method.EXACT] == ran[Method.JACCARD] == (True, "")
    assert not ran[Method.COSINE][0]
    assert "no vector" in ran[Method.COSINE][1]
    assert "re-embedding" in ran[Method.COSINE][1]


@WHO_HAS_A_VECTOR
@pytest.mark.parametrize("vectors", [False, True], ids=["first", "later"])
@pytest.mark.parametrize(
    ("content", "method", "verdict"),
    [
        (f" {PORT}", Method.EXACT, Verdict.DUPLICATE),
        ("The staging database listens on PORT 5433.", Method.JACCARD, Verdict.DUPLICATE),
        ("the staging database listens on port 5434", Method.NONE, Verdict.UPDATE),
        ("the staging database does not listen on port 5433", Method.NONE, Verdict.CONTRADICTION),
        ("Mika likes green tea", Method.NONE, Verdict.NEW),
    ],
)
def test_guard_by_hash_and_words_is_the_same_whoever_has_a_vector(
    store: Store,
    vectors: bool,
    own: bool,
    there: bool,
    content: str,
    method: Method,
    verdict: Verdict,
) -> None:
    if vectors:
        store.save("Lina drinks oolong")
    first = store.save(PORT, text_only=not there)
    checked = store.check(remember(content, text_only=not own)).guard
    answer = store.do(remember(content, text_only=not own))
    assert (answer.guard.method, answer.guard.verdict) == (method, verdict)
    assert (checked.method, checked.verdict, checked.layers) == (
        method,
        verdict,
        answer.guard.layers,
    )
    assert answer.saved is (method is Method.NONE)
    if not answer.saved:
        assert answer.memory_id == first


@WHO_HAS_A_VECTOR
@pytest.mark.parametrize("vectors", [False, True], ids=["first", "later"])
def test_words_in_another_order_are_judged_by_reading(
    store: Store, vectors: bool, there: bool, own: bool
) -> None:
    if vectors:
        store.save("Lina drinks oolong")
    first = store.save("Ann manages Bob.", text_only=not there)
    answer = store.do(remember("Bob is managed by Ann.", text_only=not own))
    assert (answer.saved, answer.memory_id, answer.guard.method) == (False, first, Method.JACCARD)
    assert answer.guard.duplicate.judgement.verdict is Verdict.DUPLICATE
    assert store.do(remember("Bob manages Ann.", text_only=not own)).saved


def test_verdict_links_and_supersedes_without_a_vector(store: Store) -> None:
    (first,) = save(store, PORT)
    answer = store.do(text("the staging database listens on port 5440"))
    assert [(link.target_id, link.type) for link in answer.links] == [(first, LinkType.UPDATES)]


def test_nearness_links_nothing_that_has_no_vector(store: Store) -> None:
    store.set(("guard.link_distance_below", 2.0))
    (first,) = save(store, PORT)
    vectored = store.save("Mika likes green tea")
    answer = store.do(remember("Releases are cut on Tuesdays"))
    assert {link.target_id for link in answer.links} == {vectored}
    assert first not in {link.target_id for link in answer.links}


def test_first_vector_is_compared_with_nothing_and_the_layer_says_so(store: Store) -> None:
    save(store, PORT)
    ran = layers(store.do(remember("Mika likes green tea")).guard)
    assert ran[Method.COSINE] == (False, "no memory of the collection has a vector yet")
    ran = layers(store.do(remember("Lina drinks oolong")).guard)
    assert ran[Method.COSINE] == (True, "")


@pytest.mark.parametrize("preset", ["robotmem", "ego"])
def test_presets_take_texts_without_vectors(store: Store, preset: str) -> None:
    store.set(("guard.preset", preset))
    (first,) = save(store, "grip force of twelve newton works best for cups", session_id="s")
    again = store.do(text("grip force of twelve newton works best for cups!", session_id="s"))
    assert again.saved is (preset == "ego")
    ran = layers(again.guard)
    assert ran[Method.JACCARD][0] is (preset == "robotmem")
    if preset == "ego":
        assert not ran[Method.COSINE][0]
        assert "no vector" in ran[Method.COSINE][1]
    else:
        assert again.memory_id == first


def test_n_equal_texts_of_one_batch_are_saved_once(store: Store) -> None:
    given = ["", *("vector" for _ in range(3)), "", ""]
    requests = [
        ("", [remember("they say the same" + "!" * at, text_only=not text)])
        for at, text in enumerate(given)
    ]
    answers = [
        future.result(wait_s()).results[0] for future in store.engine.apply_all("default", requests)
    ]
    assert [answer.saved for answer in answers] == [True, *[False] * 5]
    assert len({answer.memory_id for answer in answers}) == 1


# -- Reading


def test_recall_goes_by_words_and_says_so(store: Store) -> None:
    first, other = save(store, PORT, "Mika likes green tea")
    answer = store.recall(RecallQuery("anna", "which port is it"))
    assert [hit.memory.id for hit in answer.hits] == [first]
    assert (answer.arms, answer.hits[0].cosine_similarity) == (("lexical",), None)
    assert answer.degraded_because
    with pytest.raises(errors.InvalidArgument) as caught:
        store.recall(RecallQuery("anna", "tea", mode=RecallMode.VECTOR))
    assert caught.value.reason == "VECTOR_REQUIRED"
    # A vector is near nothing that has none.
    vector = vector_of("tea").tobytes()
    assert found(store, "tea", vector=vector) == [other]
    assert found(store, "", vector=vector) == []
    near = store.save("Lina drinks oolong", vector=vector_of("tea"))
    answer = store.recall(RecallQuery("anna", "tea", vector=vector))
    assert {hit.memory.id: hit.cosine_similarity is None for hit in answer.hits} == {
        near: False,
        other: True,
    }
    assert found(store, "", vector=vector, mode=RecallMode.VECTOR) == [near]
    assert found(store, "port", as_of=None) == [first]


def test_why_not_of_a_memory_without_a_vector(store: Store) -> None:
    first, other = save(store, PORT, "Mika likes green tea")
    query = RecallQuery("anna", "tea", vector=vector_of("tea").tobytes())
    for asked, outcome in ((first, Outcome.NO_MATCH), (other, Outcome.CAME)):
        answer = store.read(WhyNotQuery(asked, query))
        assert answer.outcome is outcome
        assert answer.standing.vector.rank == 0


def test_recall_of_the_past_goes_by_words(store: Store) -> None:
    (first,) = save(store, PORT)
    store.save("Mika likes green tea")
    store.do(forget(first))
    assert found(store, "port", as_of=AsOf(revision=1)) == [first]
    vector = vector_of("tea").tobytes()
    assert found(store, "port", vector=vector, as_of=AsOf(revision=1)) == [first]


# -- The first vector


def test_first_vector_comes_beside_texts_and_moves_no_memory(store: Store) -> None:
    ids = save(store, PORT, "Mika likes green tea", "Releases are cut on Tuesdays")
    store.do(reworded(ids[0], "the staging database listens on port 5444"))
    answer = store.do(remember("the staging database listens on port 5450"))
    assert dimension(store) == 8
    assert [link.target_id for link in answer.links] == [ids[0]]
    assert [store.one(item).vector == b"" for item in (*ids, answer.memory_id)] == [True] * 3 + [
        False
    ]
    assert found(store, "green tea") == [ids[1]]
    assert_sound(store)


@pytest.mark.parametrize("again", [False, True])
def test_first_vector_by_update_or_merge_fixes_the_dimension(store: Store, again: bool) -> None:
    one, other = save(store, "alpha beta", "gamma delta")
    if again:
        store.do(Merge("anna", one, (other,), content="alpha gamma", vector=_bytes("x", 5)))
    else:
        store.do(update(one, vector=vector_of("x", 5)))
    assert (dimension(store), len(store.one(one).vector)) == (5, 20)
    with pytest.raises(errors.InvalidArgument) as caught:
        store.do(update(one, vector=vector_of("x", 6)))
    assert caught.value.reason == "DIMENSION_MISMATCH"
    assert_sound(store)


def test_first_vector_that_is_rolled_back_fixes_nothing(store: Store) -> None:
    (first,) = save(store, PORT)
    with pytest.raises(errors.NotFound):
        store.apply(remember("Mika likes green tea"), forget("ext:nothing"))
    assert dimension(store) == 0
    (second,) = save(store, "Releases are cut on Tuesdays")
    store.save("Lina drinks oolong", vector=vector_of("x", 3))
    assert dimension(store) == 3
    assert set(found(store, "port Tuesdays")) == {first, second}
    assert_sound(store)


def test_first_vectors_of_a_batch_beside_texts_let_one_win(store: Store) -> None:
    (first,) = save(store, PORT)
    commands = [text("alpha beta"), remember("gamma", vector=vector_of("g", 4))]
    commands += [remember("delta", vector=vector_of("d", 6)), text("epsilon zeta")]
    futures = store.engine.apply_all("default", [("", [command]) for command in commands])
    failed = [future.exception(wait_s()) for future in futures]
    assert [getattr(exception, "reason", "") for exception in failed] == [
        "",
        "",
        "DIMENSION_MISMATCH",
        "",
    ]
    assert (dimension(store), len(store.list())) == (4, 4)
    assert found(store, "port") == [first]
    assert_sound(store)


def _bytes(content: str, size: int) -> bytes:
    return np.asarray(vector_of(content, size), "<f4").tobytes()


# -- Changes


def test_update_undo_and_redo_of_texts_without_vectors(store: Store) -> None:
    (first,) = save(store, PORT)
    store.do(reworded(first, "the staging database listens on port 5434"))
    assert not store.do(
        reworded(save(store, "tea")[0], "the staging database listens on port 5434")
    ).updated
    store.do(undo(2))
    assert (store.one(first).content, store.one(first).vector) == (PORT, b"")
    store.do(update(first, vector=vector_of(PORT)))
    store.do(undo(store.revision))
    assert store.one(first).vector == b""
    assert_sound(store)


def test_merge_purge_and_forget_of_texts_without_vectors(store: Store) -> None:
    keep, other, third = save(store, "alpha beta", "gamma delta", "epsilon zeta")
    merged = store.do(Merge("anna", keep, (other,), content="alpha beta gamma delta"))
    assert (merged.merged, merged.memory.vector) == (True, b"")
    store.do(undo(store.revision))
    assert store.one(other).status is Status.ACTIVE
    store.do(forget(third))
    assert store.do(text("epsilon zeta")).guard.forgotten.memory_id == third
    store.do(Purge("anna", (keep,)))
    store.reopen()
    assert_sound(store)


def test_clean_ups_take_texts_without_vectors(store: Store) -> None:
    said = [
        "the gripper holds cups at the blue station",
        "the gripper holds cups at the blue station firmly",
        "the gripper holds cups at the blue station firmly today",
    ]
    ids = [store.save(text, text_only=True, force=True, session_id="s") for text in said]
    for measure in (Measure.COSINE, Measure.VERDICT):
        assert store.do(EndSession("anna", "s", measure=measure)).groups == ()
    ended = store.do(EndSession("anna", "s"))
    assert len(ended.groups) == 1
    assert {memory.memory_id for memory in ended.groups[0].superseded} < set(ids)
    doubles = [store.save(PORT, text_only=True, force=True) for _ in range(3)]
    assert len(store.do(CleanUpDuplicates("anna")).duplicates) == 2
    store.do(undo(store.revision))
    assert len(store.do(Tidy("anna")).clusters) == 1
    assert sum(store.one(memory_id).status is Status.ACTIVE for memory_id in doubles) == 1
    store.do(Decay("anna"))


def test_tidy_plan_upserts_a_text_without_a_vector(store: Store) -> None:
    one = TidyUpdate(TidyOp.UPSERT, kind=StateKind.FACT, body_text="Mika likes green tea")
    answer = store.do(TidyUpsert("anna", one))
    assert (answer.saved, store.one(answer.memory_id).vector) == (True, b"")


def test_audit_consolidate_and_near_states_take_texts_without_vectors(store: Store) -> None:
    save(store, PORT, f"{PORT} in Osaka", "Mika likes green tea")
    report = store.read(AuditQuery("anna"))
    assert report is not None
    for above, expected in ((None, 0), (0.5, 1)):
        query = ConsolidateQuery("anna", window_hours=0.0, jaccard_above=above)
        run = store.engine.consolidate("default", "", query).result(wait_s())
        messages = []
        while told := run.read().result(wait_s()):
            messages += told
        run.leave()
        assert isinstance(messages[-1].told, Consolidated)
        assert len(messages[-1].told.candidates) == expected


def test_calibrate_says_what_it_needs(store: Store) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        store.do(Calibrate("anna", 0.01))
    assert caught.value.reason == "VECTOR_REQUIRED"


# -- Files


@pytest.mark.parametrize("with_vector", [False, True])
def test_reopened_collection_is_as_it_was(
    store: Store, with_vector: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr(checkpointing, "FROM_COUNT", 1)
    monkeypatch.setattr(checkpointing, "CHANGED_AT_CLOSE", 1)
    ids = save(store, PORT, "Mika likes green tea")
    if with_vector:
        ids.append(store.save("Releases are cut on Tuesdays"))
    for _ in range(2):
        store.reopen()
        assert found(store, "tea port Tuesdays") and len(store.list()) == len(ids)
        assert not store.do(text("Mika likes GREEN tea.")).saved
        assert not store.do(remember("Mika likes GREEN tea!", text_only=not with_vector)).saved
        assert_sound(store)
    assert state_of(store).opening.checkpoint is not None
    assert state_of(store).index.lacking_count() == 2


@pytest.mark.parametrize("include_vectors", [False, True])
@pytest.mark.parametrize("as_is", [False, True])
@pytest.mark.parametrize("with_vector", [False, True])
def test_export_and_import_keep_what_has_no_vector(
    store: Store, tmp_path: Path, include_vectors: bool, as_is: bool, with_vector: bool
) -> None:
    save(store, PORT, "Mika likes green tea")
    if with_vector:
        store.save("Releases are cut on Tuesdays")
    data = exported(store, include_vectors=include_vectors)
    lines = [entry for entry in objects(data) if entry["record"] == "memory"]
    assert [line.get("vector", "") != "" for line in lines] == [False, False, include_vectors][
        : len(lines)
    ]
    with opened(tmp_path / "other", client_vector_dimension=0) as other:
        told, items = imported(other, data, as_is=as_is)
        assert (told.saved_count, items) == (len(lines), [])
        vectors = {memory.content: memory.vector != b"" for memory in other.list()}
        assert vectors == {
            line["content"]: include_vectors and line["content"].startswith("Rel") for line in lines
        }
    with opened(tmp_path / "model", embedding=InProcessEmbedding()) as other:
        imported(other, data, as_is=as_is)
        assert all(memory.vector for memory in other.list())


# -- With a model in the end


def test_texts_get_their_vectors_from_reembed(store: Store) -> None:
    ids = save(store, PORT, "Mika likes green tea", "Releases are cut on Tuesdays")
    store.do(reworded(ids[2], "Releases are cut on Mondays"))
    gone = save(store, "forgotten soon")[0]
    store.do(forget(gone))
    restarted(store, InProcessEmbedding())
    assert found(store, "tea") == [ids[1]]
    with pytest.raises(errors.InvalidArgument, match="re-embedding"):
        store.do(text("Lina drinks oolong"))
    done = reembed(store)
    settle(store)
    assert (done.before.name, done.memory_count, done.embedded_count) == ("none", 4, 4)
    assert all(memory.vector for memory in store.list())
    answer = store.recall(RecallQuery("anna", "green tea"))
    assert (answer.arms, answer.degraded_because) == (("vector", "lexical"), "")
    assert answer.hits[0].cosine_similarity > 0.5
    again = store.do(text("Mika likes GREEN tea."))
    assert not again.saved
    assert "no vector" not in layers(again.guard)[Method.COSINE][1]
    saved = store.do(text("Mika likes green tea very much", force=False))
    assert any(link.target_id == ids[1] for link in saved.links)
    # The version before has no vector of the model: it is made when the text comes back.
    store.do(undo(4))
    assert store.one(ids[2]).content == "Releases are cut on Tuesdays"
    assert store.one(ids[2]).vector
    assert_sound(store)


def test_mixed_collection_gets_vectors_of_one_model(store: Store) -> None:
    first = save(store, PORT)[0]
    second = store.save("Mika likes green tea")
    restarted(store, InProcessEmbedding())
    reembed(store)
    settle(store)
    assert {len(store.one(memory_id).vector) for memory_id in (first, second)} == {4 * 64}
    assert_sound(store)


def test_model_that_is_gone_again_refuses_texts(store: Store) -> None:
    save(store, PORT)
    restarted(store, InProcessEmbedding())
    reembed(store)
    restarted(store, None)
    with pytest.raises(errors.ModelMismatch):
        store.do(text("Mika likes green tea"))
    assert store.recall(RecallQuery("anna", "port")).degraded_because


# -- Against an oracle


def test_large_collection_finds_what_has_a_vector_and_what_has_none(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a prefix and a graph; every second memory has no vector."""
    monkeypatch.setattr(prefix, "FROM_COUNT", 64)
    monkeypatch.setattr(hnsw, "FROM_COUNT", 64)
    monkeypatch.setattr(hnsw, "_TAIL_MIN", 8)
    random_ = random.Random(7)
    names = [f"{a}{b}" for a, b in itertools.product("bcdfghklmn", "aeiouy")]
    texts = [" ".join(random_.sample(names, 5)) for _ in range(300)]
    ids = [
        store.save(text, text_only=at % 2 == 0, force=True, created_us=NOON - 1)
        for at, text in enumerate(texts)
    ]
    index = state_of(store).index
    for part in (index.prefix, index.graph):
        if part.due():
            part.maintain(threading.Event())
    assert index.graph.count <= len(ids) // 2
    for at in range(0, 300, 7):
        for own in (True, False):
            again = store.check(remember(texts[at].upper(), text_only=own))
            assert (again.would_save, again.guard.duplicate.memory_id) == (False, ids[at])
        vector = vector_of(texts[at])
        query = RecallQuery(
            "anna", vector=vector.tobytes(), mode=RecallMode.VECTOR, k=3, diversity=PLAIN
        )
        hits = store.recall(query).hits
        expected = sorted(range(1, 300, 2), key=lambda one: -float(vector_of(texts[one]) @ vector))[
            :3
        ]
        assert {hit.memory.id for hit in hits} == {ids[number] for number in expected}
