"""Calibrate in a collection: what it changes, replays, what it leaves in the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.embedding import poll
from support.engines import WAIT_S, HeldEmbedding, InProcessEmbedding, Store, opened, remember
from totonoe_core import limits, plain
from totonoe_core.commands import Calibrate, Calibrated, CollectionInfo
from totonoe_core.engine import calibrating
from totonoe_core.errors import AlreadyExists, InvalidArgument, Unavailable
from totonoe_core.guard.probe import ProbePair
from totonoe_core.records import Verdict

WHO = ("Ann", "Bert", "Carla", "Dora", "Emil", "Fred", "Greta", "Hans", "Ida", "Jan")
WHAT = ("tea", "rice", "chess", "opera", "jazz", "tennis")
LOOSE, PLAIN = "Zora really likes rowing", "Zora likes rowing"


def pair(number: int, a: str, b: str, verdict: Verdict, name: str) -> ProbePair:
    return ProbePair(f"en-{name}-{number}", name, "en", a, b, (verdict,))


def small_probe() -> list[ProbePair]:
    """Sixty pairs with a light word more or less, sixty with another number."""
    things = [f"{who} likes {what}" for who in WHO for what in WHAT]
    light = [text.replace("likes", "really likes") for text in things]
    return [
        *(
            pair(at, one, two, Verdict.DUPLICATE, "light")
            for at, (one, two) in enumerate(zip(light, things, strict=True))
        ),
        *(
            pair(at, f"{text} {at} times a day", f"{text} {at + 7} times a day", Verdict.UPDATE,
                 "number")
            for at, text in enumerate(things)
        ),
        pair(0, "Ann likes tea", "Anne aime le thé", Verdict.DUPLICATE, "cross_language"),
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrating, "probe_pairs", small_probe)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path, embedding=InProcessEmbedding()) as opened_store:
        opened_store.set(("guard.judged_from", 0.0))
        yield opened_store


def info(store: Store) -> CollectionInfo:
    found: CollectionInfo = store.engine.get_collection(store.collection).result(WAIT_S)
    return found


def preview(store: Store, budget: float = 0.005) -> tuple[int, Calibrated]:
    command = Calibrate("anna", budget)
    return store.engine.preview_calibration(store.collection, command).result(WAIT_S)


def test_calibrate_makes_the_verdict_that_of_the_model(store: Store) -> None:
    store.save(PLAIN, text_only=True)
    assert store.check(remember(LOOSE, text_only=True)).would_save
    found = store.do(Calibrate("anna", 0.005))
    assert not store.check(remember(LOOSE, text_only=True)).would_save
    made = found.fitted.calibration
    assert (made.false_merge_rate, made.duplicate_recall, made.pair_count) == (0.0, 1.0, 120)
    assert made == info(store).calibration
    assert made.model == info(store).model
    assert made.created_us == store.clock()
    assert {one.name for one in found.fitted.classes} == {"light", "number", "cross_language"}


def test_calibrate_is_a_change_of_settings_that_lasts(store: Store) -> None:
    before = info(store)
    answer = store.apply(Calibrate("anna", 0.005))
    after = info(store)
    assert answer.revision == before.revision + 1 == after.revision == after.settings_revision
    store.reopen()
    assert info(store) == after


def test_calibrate_leaves_the_settings_as_they_were_before(store: Store) -> None:
    before = info(store)
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
    assert (revision, info(store).calibration) == (store.revision, None)
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
    assert info(store).calibration is None


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
        released(embedding, 1)
        store.set(("description", "written meanwhile"))
        assert not waiting.done()
        done(embedding, waiting)
        assert waiting.result(WAIT_S).revision == 2
        assert info(store).description == "written meanwhile"
        assert len(embedding.texts) == 2 * len(small_probe())


def test_calibrate_whose_texts_cannot_be_embedded_fails_alone(tmp_path: Path) -> None:
    embedding = HeldEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        waiting = store.engine.apply("default", "", (Calibrate("anna", 0.005),))
        released(embedding, 1)
        embedding.release(Unavailable("EMBEDDER_UNAVAILABLE", "it died", retry_delay_ms=1))
        with pytest.raises(Unavailable):
            waiting.result(WAIT_S)
        store.set(("description", "still written"))
        assert (info(store).revision, info(store).calibration) == (1, None)


def released(embedding: HeldEmbedding, count: int) -> None:
    """Waits until so many requests are held: a pool's thread hands them in."""
    poll(lambda: len(embedding.held) >= count)


def done(embedding: HeldEmbedding, waiting: Any) -> None:
    """Releases batch after batch, none of them larger than a batch."""

    def step() -> bool:
        assert all(len(texts) <= limits.CALIBRATION_BATCH_TEXTS for texts, _ in embedding.held)
        embedding.release()
        return bool(waiting.done())

    poll(step)
