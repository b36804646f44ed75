"""The queue of the embedder: order, coalescing, cancelling, cache."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from totonoe_core.base import errors, limits
from totonoe_core.embedding.pending import Pending, Piece, Request, settle, text_key
from totonoe_core.embedding.protocol import Vectors, text_refused

DIMENSION = 4


def make_pending(cache_texts_max: int = 0) -> Pending:
    return Pending(queue_texts_max=100, cache_texts_max=cache_texts_max)


def ask(pending: Pending, *texts: str, flow: str = "") -> Request:
    keys = [text_key(text) for text in texts]
    request = pending.lookup(keys)
    pending.add(request, texts, keys, ("", flow))
    return request


def vectors_of(batch: list[Piece]) -> Vectors:
    rows = np.zeros((len(batch), DIMENSION), dtype=np.float32)
    for i, piece in enumerate(batch):
        rows[i, len(piece.chunk) % DIMENSION] = 1.0
    return rows


def serve(pending: Pending) -> list[str]:
    """Take and deliver one batch; returns its chunks."""
    batch = pending.take()
    settle(pending.deliver(batch, vectors_of(batch), {}))
    return [piece.chunk for piece in batch]


def test_short_texts_go_in_order_of_arrival_and_by_batch_limits() -> None:
    pending = make_pending()
    texts = [f"text {i}" for i in range(40)]
    for text in texts:
        ask(pending, text)
    assert serve(pending) == texts[: limits.EMBED_BATCH_TEXTS_MAX]
    assert serve(pending) == texts[limits.EMBED_BATCH_TEXTS_MAX :]
    assert serve(pending) == []
    assert pending.waiting_count == 0


def test_characters_of_a_batch_are_bounded() -> None:
    pending = make_pending()
    for i in range(12):
        ask(pending, f"{i:02}" * 500)
    assert len(serve(pending)) == limits.EMBED_BATCH_CHARS_MAX // 1000


def test_short_text_overtakes_later_chunks_of_long_text() -> None:
    pending = make_pending()
    long = ask(pending, "x" * 32_000)
    assert len(serve(pending)) == 8
    short = ask(pending, "short")
    assert "short" in serve(pending)
    assert short.future.result(0).shape == (1, DIMENSION)
    assert not long.future.done()


def test_long_text_is_not_starved_by_short_ones() -> None:
    pending = make_pending()
    long = ask(pending, "x" * 4000)
    batches = 0
    while not long.future.done():
        for i in range(limits.EMBED_BATCH_TEXTS_MAX):
            ask(pending, f"{batches}.{i} " + "y" * 200)
        serve(pending)
        batches += 1
        assert batches < 5


def test_text_of_another_flow_waits_for_no_long_list() -> None:
    pending = make_pending()
    bulk = [f"{number:02}" + "x" * 900 for number in range(40)]
    for text in bulk:
        ask(pending, text, flow="bulk")
    assert serve(pending) == bulk[:9]
    ask(pending, "short", flow="other")
    assert "short" in serve(pending)


def test_text_of_the_same_flow_waits_for_one_chunk_of_a_long_one() -> None:
    pending = make_pending()
    ask(pending, "x" * 32_000, flow="one")
    ask(pending, "short", flow="one")
    assert "short" in serve(pending)


def test_flows_that_are_done_are_forgotten() -> None:
    pending = make_pending()
    for number in range(3000):
        ask(pending, f"text {number}", flow=str(number))
        serve(pending)
    assert len(pending._nexts) < 2000


def test_equal_waiting_texts_are_embedded_once() -> None:
    pending = make_pending()
    requests = [ask(pending, "same", "other", "same"), ask(pending, "same")]
    assert pending.waiting_count == 4
    assert serve(pending) == ["same", "other"]
    first = requests[0].future.result(0)
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(requests[1].future.result(0)[0], first[0])
    assert pending.waiting_count == 0


def test_cancelled_request_is_not_embedded_unless_another_waits() -> None:
    pending = make_pending()
    cancelled = ask(pending, "mine", "ours")
    waiting = ask(pending, "ours")
    assert cancelled.future.cancel()
    assert serve(pending) == ["ours"]
    assert waiting.future.done()
    assert cancelled.future.cancelled()
    assert pending.waiting_count == 0


def test_cancel_while_under_way_is_harmless() -> None:
    pending = make_pending()
    request = ask(pending, "a")
    batch = pending.take()
    settled = pending.deliver(batch, vectors_of(batch), {})
    assert request.future.cancel()
    settle(settled)
    assert request.future.cancelled()


def test_refused_text_fails_its_request_and_no_other() -> None:
    pending = make_pending()
    mixed, good = ask(pending, "good", "bad"), ask(pending, "good")
    batch = pending.take()
    error = text_refused("x")
    settle(pending.deliver(batch, vectors_of(batch), {1: error}))
    assert mixed.future.exception(0) is error
    assert good.future.result(0).shape == (1, DIMENSION)
    assert pending.waiting_count == 0


def test_fail_all_settles_each_request_once() -> None:
    pending = make_pending()
    requests = [ask(pending, "a", "b", "a"), ask(pending, "b", "x" * 5000)]
    batch = pending.take()
    error = errors.Unavailable("SHUTTING_DOWN", "closing", retry_delay_ms=1)
    settled = pending.fail_all(error)
    assert len(settled) == 2
    settle(settled)
    assert pending.deliver(batch, vectors_of(batch), {}) == []
    assert pending.fail(batch, error) == []
    assert all(request.future.exception(0) is error for request in requests)
    assert not pending.has_work()
    assert pending.waiting_count == 0


def test_cache_answers_and_drops_least_recently_used() -> None:
    pending = make_pending(cache_texts_max=2)
    for text in ("a", "bb"):
        ask(pending, text)
    serve(pending)
    assert ask(pending, "a").missing == 0  # now "bb" is the oldest
    ask(pending, "ccc")
    serve(pending)
    assert pending.lookup([text_key("a"), text_key("ccc")]).missing == 0
    assert pending.lookup([text_key("bb")]).missing == 1
    assert pending.cache_hits == 3


def test_results_belong_to_the_caller() -> None:
    pending = make_pending(cache_texts_max=2)
    result = ask(pending, "a")
    serve(pending)
    result.future.result(0)[0] = 7.0
    row = pending.lookup([text_key("a")]).rows[0]
    assert row is not None
    assert row.max() == 1.0
    assert not row.flags.writeable


def test_text_key_of_lone_surrogate_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        text_key("\ud800")


@given(st.lists(st.lists(st.integers(0, 6000), min_size=1, max_size=4), max_size=8))
def test_every_request_is_answered_with_unit_rows(sizes: list[list[int]]) -> None:
    pending = make_pending()
    requests = [ask(pending, *("z" * size for size in row)) for row in sizes]
    for _ in range(200):
        if not pending.has_work():
            break
        serve(pending)
    for request, row in zip(requests, sizes, strict=True):
        result = request.future.result(0)
        assert result.shape == (len(row), DIMENSION)
        np.testing.assert_allclose(np.linalg.norm(result, axis=1), 1.0, atol=1e-6)
    assert pending.waiting_count == 0
