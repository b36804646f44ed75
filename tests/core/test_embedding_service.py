"""The embedding service with real child processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.embedding import ScriptedModel, assert_unit_rows, is_running
from support.waits import wait_s, wait_until
from totonoe_core.base import errors, limits
from totonoe_core.embedding import (
    EmbedderSettings,
    EmbeddingService,
    IdentityChanged,
    open_service,
)
from totonoe_core.embedding.frames import settings_to_wire
from totonoe_core.embedding.hashing import HashingEmbedder
from totonoe_core.helper import frames
from totonoe_core.helper.child import Child, ChildGoneError, child_environment

HASHING = EmbedderSettings(kind="hashing")
Start = Callable[..., EmbeddingService]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts services and closes them; no child may be left behind."""
    services: list[EmbeddingService] = []

    def start_one(settings: EmbedderSettings, **options: Any) -> EmbeddingService:
        service = EmbeddingService(settings, **options)
        services.append(service)
        service.start()
        return service

    yield start_one
    for service in services:
        pids = service.worker_pids
        service.close()
        assert not service.worker_pids
        assert not any(is_running(pid) for pid in pids)


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    return ScriptedModel(tmp_path, monkeypatch)


def failure_of(future: Future[Any]) -> BaseException | None:
    return future.exception(wait_s())


def test_service_equals_embedder_in_process_whatever_the_batch(start: Start) -> None:
    service = start(HASHING, cache_texts_max=0)
    texts = [f"note number {i} about the harbour" for i in range(100)]
    futures = [service.submit([text]) for text in texts]  # waits for the first load
    together = service.submit(texts).result(wait_s())
    expected = HashingEmbedder().embed(texts)
    assert_unit_rows(together, 100, 384)
    np.testing.assert_allclose(together, expected, atol=1e-6)
    singles = np.concatenate([future.result(wait_s()) for future in futures])
    np.testing.assert_allclose(singles, expected, atol=1e-6)
    stats = service.stats()
    assert stats.texts_count == 200
    assert stats.waiting_count == 0
    assert stats.batches_count < 100
    assert stats.cpu_s > 0
    assert service.state == "ready"
    assert service.failure == ""


def test_start_returns_at_once_and_identity_follows(start: Start) -> None:
    service = start(HASHING)
    assert service.state == "loading"
    identity = service.wait_ready(wait_s())
    assert identity == service.identity == HashingEmbedder().identity
    with pytest.raises(RuntimeError):
        service.start()


def test_long_text_is_the_mean_of_its_chunks(start: Start) -> None:
    service = start(HASHING)
    text = "The pump in hall 3 runs hot. " * 200
    alone = service.submit([text]).result(wait_s())
    among = service.submit(["other", text]).result(wait_s())
    assert_unit_rows(alone, 1, 384)
    assert np.array_equal(alone[0], among[1])
    assert float(alone[0] @ HashingEmbedder().embed([text])[0]) > 0.98


def test_repeated_text_comes_from_the_cache(start: Start) -> None:
    service = start(HASHING)
    first = service.submit(["again", "again", "new"]).result(wait_s())
    chunks_count = service.stats().chunks_count
    second = service.submit(["again"])
    assert second.done()
    assert np.array_equal(second.result(0)[0], first[0])
    assert service.stats().chunks_count == chunks_count == 2
    assert service.stats().cache_hits_count == 1


def test_full_queue_is_refused_with_retry_delay(start: Start, scripted: ScriptedModel) -> None:
    service = start(scripted.settings, queue_texts_max=3)
    service.wait_ready(wait_s())
    blocked = service.submit(["wait here"])
    wait_until(scripted.batches)
    waiting = service.submit(["a", "b"])
    with pytest.raises(errors.Unavailable) as raised:
        service.submit(["c"])
    assert raised.value.reason == "EMBEDDER_BUSY"
    assert raised.value.retry_delay_ms > 0
    scripted.release("wait here")
    assert blocked.result(wait_s()).shape == (1, 8)
    assert waiting.result(wait_s()).shape == (2, 8)
    assert service.submit(["c"]).result(wait_s()).shape == (1, 8)


def test_what_waits_is_sent_as_one_batch_without_the_cancelled(
    start: Start, scripted: ScriptedModel
) -> None:
    service = start(scripted.settings)
    service.submit(["wait here"])
    wait_until(scripted.batches)
    futures = [service.submit([f"text {i}"]) for i in range(5)]
    assert futures[2].cancel()
    scripted.release("wait here")
    for i in (0, 1, 3, 4):
        futures[i].result(wait_s())
    assert scripted.batches() == [["wait here"], ["text 0", "text 1", "text 3", "text 4"]]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([], "LIMIT_EXCEEDED"),
        (["a"] * (limits.EMBED_QUEUE_TEXTS_MAX + 1), "LIMIT_EXCEEDED"),
        (["あ" * 11_000], "LIMIT_EXCEEDED"),
        (["secret \ud800"], "MALFORMED_MESSAGE"),
    ],
)
def test_bad_texts_are_refused_unquoted(start: Start, texts: list[str], reason: str) -> None:
    service = start(HASHING)
    with pytest.raises(errors.InvalidArgument) as raised:
        service.submit(texts)
    assert raised.value.reason == reason
    assert raised.value.__context__ is None or raised.value.__suppress_context__
    assert "secret" not in str(raised.value)


def test_killed_child_fails_pending_and_is_replaced(start: Start, scripted: ScriptedModel) -> None:
    service = start(scripted.settings)
    service.wait_ready(wait_s())
    [pid] = service.worker_pids
    under_way = service.submit(["wait for nothing"])
    wait_until(scripted.batches)
    queued = service.submit(["queued"])
    os.kill(pid, signal.SIGKILL)
    for future in (under_way, queued):
        error = failure_of(future)
        assert isinstance(error, errors.Unavailable)
        assert error.reason == "EMBEDDER_UNAVAILABLE"
        assert error.retry_delay_ms > 0
    assert "died" in service.failure
    service.wait_ready(wait_s())
    assert service.worker_pids != [pid]
    assert service.submit(["queued"]).result(wait_s()).shape == (1, 8)
    assert service.stats().restarts_count == 1


def test_child_killed_when_idle_is_replaced_unasked(start: Start) -> None:
    service = start(HASHING)
    service.wait_ready(wait_s())
    [pid] = service.worker_pids
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: service.stats().restarts_count == 1)
    service.wait_ready(wait_s())
    assert_unit_rows(service.submit(["hello"]).result(wait_s()), 1, 384)


def test_child_that_does_not_answer_is_killed(start: Start, scripted: ScriptedModel) -> None:
    service = start(scripted.settings, batch_time_limit_s=0.3)
    service.wait_ready(wait_s())
    [pid] = service.worker_pids
    error = failure_of(service.submit(["wait for ever"]))
    assert isinstance(error, errors.Unavailable)
    assert "in time" in service.failure
    assert "ever" not in service.failure
    assert not is_running(pid)
    service.wait_ready(wait_s())
    assert service.submit(["quick"]).result(wait_s()).shape == (1, 8)


def test_stopped_child_that_takes_no_input_is_given_up_in_time() -> None:
    child = Child("totonoe_core.embedding.worker", settings_to_wire(HASHING), threading.Condition())
    try:
        wait_until(lambda: child.received)
        os.kill(child.pid, signal.SIGSTOP)
        os.waitpid(child.pid, os.WUNTRACED)  # until all its threads have stopped
        with pytest.raises(ChildGoneError, match="does not take"):
            child.send(frames.REQUEST, b"x" * 1_000_000, time.monotonic() + 0.2)
    finally:
        child.kill()
        child.end()
    with pytest.raises(ChildGoneError, match="died"):
        dead = Child(
            "totonoe_core.embedding.worker", settings_to_wire(HASHING), threading.Condition()
        )
        try:
            dead.kill()
            dead.send(frames.REQUEST, b"[]", time.monotonic() + wait_s())
        finally:
            dead.end()


def test_restarting_service_refuses_at_once(start: Start, scripted: ScriptedModel) -> None:
    service = start(scripted.settings)
    known = service.submit(["known"]).result(wait_s())
    scripted.set_dies_at_load(True)
    os.kill(service.worker_pids[0], signal.SIGKILL)
    wait_until(lambda: service.stats().restarts_count >= 2)
    assert service.state == "restarting"
    with pytest.raises(errors.Unavailable) as raised:
        service.submit(["new"])
    assert raised.value.reason == "EMBEDDER_UNAVAILABLE"
    assert raised.value.retry_delay_ms >= limits.RETRY_DELAY_MS
    assert np.array_equal(service.submit(["known"]).result(0), known)
    with pytest.raises(errors.Unavailable):
        service.wait_ready(0.01)
    scripted.set_dies_at_load(False)
    service.wait_ready(wait_s())
    assert service.submit(["new"]).result(wait_s()).shape == (1, 8)


def test_first_load_that_fails_fails_what_waits(start: Start, scripted: ScriptedModel) -> None:
    scripted.set_dies_at_load(True)
    service = start(scripted.settings)
    assert isinstance(failure_of(service.submit(["early"])), errors.Unavailable)


def test_embedder_that_cannot_run_stops_the_service(start: Start, tmp_path: Path) -> None:
    service = start(EmbedderSettings(kind="model2vec", path=str(tmp_path / "missing")))
    early = service.submit(["early"])
    with pytest.raises(errors.Precondition) as raised:
        service.wait_ready(wait_s())
    assert raised.value.reason == "EMBEDDER_MISCONFIGURED"
    assert isinstance(failure_of(early), errors.Precondition)
    assert service.state == "stopped"
    assert "embedder.path" in service.failure
    with pytest.raises(errors.Precondition):
        service.submit(["late"])


def test_another_model_after_restart_is_refused(start: Start, scripted: ScriptedModel) -> None:
    service = start(scripted.settings)
    identity = service.wait_ready(wait_s())
    scripted.set_dimension(16)
    os.kill(service.worker_pids[0], signal.SIGKILL)
    wait_until(lambda: service.state == "stopped")
    assert service.identity == identity
    with pytest.raises(IdentityChanged) as raised:
        service.submit(["text"])
    assert raised.value.reason == "MODEL_MISMATCH"
    assert raised.value.details["stamped"] == identity.key


def test_prints_of_a_library_do_not_break_the_frames(
    start: Start, scripted: ScriptedModel, capfd: pytest.CaptureFixture[str]
) -> None:
    service = start(scripted.settings)
    assert service.submit(["print", "print more"]).result(wait_s()).shape == (2, 8)
    assert service.submit(["after"]).result(wait_s()).shape == (1, 8)
    assert service.stats().restarts_count == 0
    service.close()
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "while it loads" in captured.err
    assert "quotes" not in captured.err


def test_refused_text_fails_alone_and_unquoted(start: Start, scripted: ScriptedModel) -> None:
    service = start(scripted.settings)
    service.submit(["wait here"])
    wait_until(scripted.batches)
    futures = [service.submit([text]) for text in ("good", "refuse this", "fine")]
    scripted.release("wait here")
    assert futures[0].result(wait_s()).shape == (1, 8)
    assert futures[2].result(wait_s()).shape == (1, 8)
    error = failure_of(futures[1])
    assert isinstance(error, errors.Precondition)
    assert error.reason == "EMBEDDER_MISCONFIGURED"
    assert "this" not in str(error)
    assert service.state == "ready"


def test_text_without_a_vector_gets_a_unit_vector(start: Start, scripted: ScriptedModel) -> None:
    service = start(scripted.settings)
    result = service.submit(["zero", "zero two", "infinite", "plain"]).result(wait_s())
    assert_unit_rows(result, 4, 8)
    again = service.submit(["zero"]).result(wait_s())
    assert np.array_equal(again[0], result[0])


def test_several_workers_share_the_queue(start: Start, scripted: ScriptedModel) -> None:
    service = start(scripted.settings, workers=2)
    service.wait_ready(wait_s())
    wait_until(lambda: len(service.worker_pids) == 2)
    blocked = service.submit(["wait here"])
    wait_until(scripted.batches)
    assert service.submit(["passes"]).result(wait_s()).shape == (1, 8)
    assert not blocked.done()
    scripted.release("wait here")
    blocked.result(wait_s())


def test_submit_from_many_threads_answers_all(start: Start) -> None:
    service = start(HASHING, cache_texts_max=16)
    embedder = HashingEmbedder()
    wrong: list[str] = []

    def work(number: int) -> None:
        for i in range(30):
            text = f"thread {number} text {i % 20}"
            if not np.array_equal(service.submit([text]).result(wait_s()), embedder.embed([text])):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(wait_s())
    assert not wrong
    assert service.stats().texts_count == 240


def test_callback_may_submit_and_close(start: Start) -> None:
    service = start(HASHING)
    second: list[Future[Any]] = []
    done = threading.Event()

    def again(_: Future[Any]) -> None:
        second.append(service.submit(["two"]))
        service.close()
        done.set()

    service.submit(["one"]).add_done_callback(again)
    assert done.wait(wait_s())
    assert isinstance(failure_of(second[0]), errors.Unavailable)


@pytest.mark.parametrize("loaded", [True, False])
def test_close_fails_pending_and_leaves_no_process(
    start: Start, scripted: ScriptedModel, loaded: bool
) -> None:
    service = start(scripted.settings)
    if loaded:
        service.wait_ready(wait_s())
    pending = service.submit(["wait for nothing"])
    wait_until(lambda: service.worker_pids and (scripted.batches() or not loaded))
    pids = service.worker_pids
    service.close()
    error = failure_of(pending)
    assert isinstance(error, errors.Unavailable)
    assert error.reason == "SHUTTING_DOWN"
    assert not any(is_running(pid) for pid in pids)
    assert service.state == "stopped"
    with pytest.raises(errors.Unavailable) as raised:
        service.submit(["late"])
    assert raised.value.reason == "SHUTTING_DOWN"
    service.close()


def test_service_not_started_refuses() -> None:
    service = EmbeddingService(HASHING)
    assert service.state == "stopped"
    with pytest.raises(errors.Unavailable):
        service.submit(["text"])
    service.close()


def test_kind_none_has_no_service() -> None:
    assert open_service(EmbedderSettings(kind="none")) is None
    with pytest.raises(errors.Precondition):
        EmbeddingService(EmbedderSettings(kind="none"))
    with pytest.raises(errors.Precondition):
        EmbeddingService(HASHING, workers=0)


def test_parent_killed_leaves_no_child(scripted: ScriptedModel) -> None:
    script = f"""
import time
from totonoe_core.embedding import EmbedderSettings, open_service
service = open_service(EmbedderSettings(kind="model2vec", path={str(scripted.directory)!r}))
service.wait_ready(60)
service.submit(["wait for nothing"])  # the child is busy when its parent dies
print(*service.worker_pids, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env=child_environment(), text=True
    )
    with parent:
        assert parent.stdout
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 1
        wait_until(scripted.batches)
        assert is_running(pids[0])
        parent.kill()
    wait_until(lambda: not is_running(pids[0]))
