"""Calibrate in a collection: what it changes, replays, what it leaves in the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    HeldEmbedding,
    InProcessEmbedding,
    Store,
    dismiss,
    forget,
    merge,
    opened,
    remember,
    undismiss,
    undo,
    update,
)
from support.probes import WHAT, small_probe
from support.reembedding import reembed, restarted, settle
from support.waits import wait_s, wait_until
from totonoe_core.base import limits, plain
from totonoe_core.base.errors import AlreadyExists, InvalidArgument, Unavailable
from totonoe_core.domain.cleanup import CleanUpDuplicates
from totonoe_core.domain.collections import Calibrate, Calibrated, CollectionInfo
from totonoe_core.domain.records import TypedKey
from totonoe_core.embedding.hashing import HashingEmbedder
from totonoe_core.engine.collection import calibrating
from totonoe_core.engine.commands.judged_pairs import JudgedPair, judged_pairs
from totonoe_core.store.sqlite.reader import ReaderPool

LOOSE, PLAIN = "Zora really likes rowing", "Zora likes rowing"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrating, "probe_pairs", small_probe)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path, embedding=InProcessEmbedding()) as opened_store:
        opened_store.set(("guard.judged_from", 0.0))
        yield opened_store


def preview(store: Store, budget: float = 0.005) -> tuple[int, Calibrated]:
    command = Calibrate("anna", budget)
    return store.preview(command)


def test_calibrate_makes_the_verdict_that_of_the_model(store: Store) -> None:
    store.save(PLAIN, text_only=True)
    assert store.check(remember(LOOSE, text_only=True)).would_save
    found = store.do(Calibrate("anna", 0.005))
    assert not store.check(remember(LOOSE, text_only=True)).would_save
    made = found.fitted.calibration
    assert (made.false_merge_rate, made.duplicate_recall, made.pair_count) == (0.0, 1.0, 120)
    assert made == store.info().calibration
    assert made.model == store.info().model
    assert made.created_us == store.clock()
    assert {item.name for item in found.fitted.classes} == {"light", "number", "cross_language"}


def judged(store: Store, model_number: int = 0) -> list[JudgedPair]:
    """Pairs that a Calibrate would learn from."""
    pool = ReaderPool(store.file(), 1)
    with pool.rows() as rows:
        found = judged_pairs(rows, model_number, limits.CALIBRATION_OWN_PAIRS_MAX)
    pool.close()
    return found


def counts(store: Store) -> tuple[int, int]:
    """How many of them were dismissed, and merged."""
    found = judged(store)
    return sum(not pair.same for pair in found), sum(pair.same for pair in found)


def save(store: Store, *texts: str, **more: Any) -> list[str]:
    return [store.save(text, force=True, text_only=True, **more) for text in texts]


def test_a_dismissed_pair_is_different_from_then_on(store: Store) -> None:
    one, other = save(store, PLAIN, LOOSE)
    first = store.do(Calibrate("anna", 0.005)).fitted
    store.do(forget(other))
    assert not store.check(remember(LOOSE, text_only=True)).would_save
    store.do(undo(store.revision))
    store.do(dismiss(one, other))
    found = store.do(Calibrate("anna", 0.005)).fitted
    assert (found.dismissed_count, found.merged_count) == (1, 0)
    assert found.calibration.false_merge_rate == 0.0
    assert found.calibration.weights.at_least > first.calibration.weights.at_least
    store.do(forget(other))
    assert store.check(remember(LOOSE, text_only=True)).would_save


def test_dismissed_pairs_count_while_both_live_and_say_what_they_said(store: Store) -> None:
    one, other, third = save(store, PLAIN, LOOSE, "Zora likes to row")
    for pair in ((one, other), (other, third), (one, third)):
        store.do(dismiss(*pair))
    assert counts(store) == (3, 0)
    store.do(undismiss(one, other))
    assert counts(store) == (2, 0)
    store.do(update(third, importance=5))
    assert counts(store) == (2, 0)
    store.do(update(third, content="Zora rows", vector=np.ones(64, np.float32)))
    assert counts(store) == (0, 0)
    store.do(undo(store.revision))
    assert counts(store) == (2, 0)
    store.do(forget(other))
    assert counts(store) == (1, 0)


def test_private_pairs_are_nobodys_to_learn_from(store: Store) -> None:
    one, other, third = save(store, PLAIN, LOOSE, "Zora likes to row", private=True)
    store.do(dismiss(one, other))
    store.do(merge(third, other))
    assert counts(store) == (0, 0)
    (public,) = save(store, "Zora is fond of rowing")
    store.do(dismiss(one, public))
    assert counts(store) == (0, 0)


def test_merged_pairs_are_the_same_unless_undone_or_rewritten(store: Store) -> None:
    key = TypedKey("zora", "sport")
    old = save(store, "Zora likes golf", key=key)[0]
    one, other, third, fourth = save(store, PLAIN, LOOSE, "Zora likes to row", "Ann likes chess")
    holder = save(store, "Zora likes polo", key=key)[0]
    assert store.one(old).superseded_by == holder
    first = store.apply(merge(one, other, third))
    assert counts(store) == (0, 2)
    # What it had superseded is only pointed to the one that stays.
    second = store.apply(merge(fourth, holder))
    assert store.one(old).superseded_by == fourth
    assert counts(store) == (0, 3)
    store.do(undo(second.revision))
    assert counts(store) == (0, 2)
    store.do(undo(first.revision))
    assert counts(store) == (0, 0)
    store.do(merge(one, other, content="Zora likes rowing, really", text_only=True))
    assert counts(store) == (0, 0)
    store.do(merge(one, third))
    assert counts(store) == (0, 1)
    # A later text of the one that stays is of no account.
    store.do(update(one, content="Zora rows", vector=np.ones(64, np.float32)))
    assert counts(store) == (0, 1)
    store.do(forget(one))
    assert counts(store) == (0, 0)


def test_what_rules_took_is_no_judgement(store: Store) -> None:
    save(store, PLAIN, PLAIN)
    assert store.do(CleanUpDuplicates("anna")).duplicates
    assert counts(store) == (0, 0)


def test_pairs_with_vectors_of_another_model_are_left_out(store: Store) -> None:
    one, other, third, fourth = save(store, *(f"Ann likes {what}" for what in WHAT[:4]))
    store.do(dismiss(one, other))
    store.do(merge(third, fourth))
    restarted(store, InProcessEmbedding(HashingEmbedder(32)))
    reembed(store)
    settle(store)
    # The one that took the other's place has its vector of then in its before image.
    assert [pair.same for pair in judged(store, 1)] == [False]
    store.do(merge(one, other))
    assert [pair.same for pair in judged(store, 1)] == [True]


def test_the_last_judged_pairs_are_learned_from(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = save(store, *(f"Zora likes {what}" for what in WHAT))
    for memory_id, other in pairwise(ids):
        store.do(dismiss(memory_id, other))
    removed = save(store, *(f"Ann likes {what}" for what in WHAT))
    for memory_id in removed[1:]:
        store.do(merge(removed[0], memory_id))
    assert counts(store) == (5, 5)
    monkeypatch.setattr(limits, "CALIBRATION_OWN_PAIRS_MAX", 2)
    assert counts(store) == (2, 2)
    found = judged(store)
    assert [(pair.a, pair.b, pair.same) for pair in found] == [
        ("Zora likes jazz", "Zora likes tennis", False),
        ("Zora likes opera", "Zora likes jazz", False),
        ("Ann likes tea", "Ann likes tennis", True),
        ("Ann likes tea", "Ann likes jazz", True),
    ]
    vectors = store.engine._embedding.vectors([found[0].a, found[0].b])  # type: ignore[union-attr]
    assert found[0].cosine == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-6)


def test_calibrate_is_a_change_of_settings_that_lasts(store: Store) -> None:
    before = store.info()
    answer = store.apply(Calibrate("anna", 0.005))
    after = store.info()
    assert answer.revision == before.revision + 1 == after.revision == after.settings_revision
    store.reopen()
    assert store.info() == after


def test_calibrate_leaves_the_settings_as_they_were_before(store: Store) -> None:
    before = store.info()
    revision = store.apply(Calibrate("anna", 0.005)).revision
    store.close()
    with sqlite3.connect(store.file()) as file:
        rows = file.execute(
            "SELECT before FROM image WHERE revision = ? AND entity = 'setting'", (revision,)
        ).fetchall()
    [(image,)] = rows
    kept = plain.loads(CollectionInfo, image)
    assert (kept.calibration, kept.guard) == (None, before.guard)


def test_preview_answers_the_same_and_stores_nothing(store: Store) -> None:
    revision, previewed = preview(store)
    assert (revision, store.info().calibration) == (store.revision, None)
    assert store.do(Calibrate("anna", 0.005)) == previewed


def test_calibrate_again_with_its_operation_id_is_replayed(store: Store) -> None:
    first = store.apply(Calibrate("anna", 0.005), operation_id="op")
    store.clock.advance(1_000_000)
    asked = len(store.engine._embedding.texts)  # type: ignore[union-attr]
    again = store.apply(Calibrate("anna", 0.005), operation_id="op")
    assert again.replayed
    assert (again.results, again.revision) == (first.results, first.revision)
    assert len(store.engine._embedding.texts) == asked  # type: ignore[union-attr]
    with pytest.raises(AlreadyExists) as caught:
        store.apply(Calibrate("anna", 0.1), operation_id="op")
    assert caught.value.reason == "OPERATION_ID_REUSED"


@pytest.mark.parametrize("budget", [-0.001, 0.2001, float("nan"), float("inf")])
def test_budget_out_of_range_is_refused(store: Store, budget: float) -> None:
    for call in (lambda: store.do(Calibrate("anna", budget)), lambda: preview(store, budget)):
        with pytest.raises(InvalidArgument) as caught:
            call()
        assert caught.value.reason == "OUT_OF_RANGE"
        assert caught.value.details["field"] == "false_merge_budget"
    assert store.info().calibration is None


def test_vectors_of_clients_cannot_be_calibrated(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for call in (lambda: store.do(Calibrate("anna", 0.005)), lambda: preview(store)):
            with pytest.raises(InvalidArgument) as caught:
                call()
            assert caught.value.reason == "VECTOR_REQUIRED"
            assert caught.value.details["field"] == "collection"


def test_writes_go_on_while_the_probe_set_is_embedded(tmp_path: Path) -> None:
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        waiting = store.engine.apply("default", "", (Calibrate("anna", 0.005),))
        embedding.wait_held(1)
        store.set(("description", "written meanwhile"))
        assert not waiting.done()
        done(embedding, waiting)
        assert waiting.result(wait_s()).revision == 2
        assert store.info().description == "written meanwhile"
        assert len(embedding.texts) == 2 * len(small_probe())


def test_calibrate_whose_texts_cannot_be_embedded_fails_alone(tmp_path: Path) -> None:
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        waiting = store.engine.apply("default", "", (Calibrate("anna", 0.005),))
        embedding.wait_held(1)
        embedding.release(Unavailable("EMBEDDER_UNAVAILABLE", "it died", retry_delay_ms=1))
        with pytest.raises(Unavailable):
            waiting.result(wait_s())
        store.set(("description", "still written"))
        assert (store.info().revision, store.info().calibration) == (1, None)


def done(embedding: HeldEmbedding, waiting: Any) -> None:
    """Releases batch after batch, none of them larger than a batch."""

    def step() -> bool:
        assert all(len(texts) <= limits.CALIBRATION_BATCH_TEXTS for texts, _ in embedding.held)
        embedding.release()
        return bool(waiting.done())

    wait_until(step)
