"""Limits of identities: rates, calls at once, memories and bytes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import grpc
import pytest

import totonoe
from support.access import add_identity
from support.http2 import INITIAL_WINDOW_SIZE, UNREADING, Peer, hello, message, settings
from support.waits import wait_until
from totonoe_server.access import book as entries
from totonoe_server.access.book import Book
from totonoe_server.access.buckets import AtOnce, Bucket
from totonoe_server.access.errors import RateLimited, SettingError
from totonoe_server.access.identities import Limits
from totonoe_server.access.metering import FIGURES_KEPT_S
from totonoe_server.tools.testing import running_server


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now_s = 50.0

    def __call__(self) -> float:
        return self.now_s


def test_bucket_gives_a_second_at_once_then_its_rate() -> None:
    clock = Clock()
    bucket = Bucket("writes_per_s", 4.0, clock)
    for _ in range(4):
        bucket.check()
        bucket.take(1)
    with pytest.raises(RateLimited) as caught:
        bucket.check()
    assert caught.value.retry_delay_ms == 250
    clock.now_s += caught.value.retry_delay_ms / 1000
    bucket.check()


@pytest.mark.parametrize("per_s", [0.1, 1.0, 7.5, 1000.0])
def test_bucket_lets_no_more_through_than_its_rate(per_s: float) -> None:
    clock, draw = Clock(), random.Random(7)
    bucket = Bucket("reads_per_s", per_s, clock)
    taken, begun_s = 0, clock.now_s
    for _ in range(2000):
        clock.now_s += draw.expovariate(per_s * 3)
        if not bucket.delay_ms():
            bucket.take(1)
            taken += 1
    allowed = per_s * (clock.now_s - begun_s) + max(1.0, per_s)
    assert allowed * 0.5 < taken <= allowed + 1


def test_message_of_many_items_leaves_a_debt_that_is_waited_for() -> None:
    clock = Clock()
    bucket = Bucket("writes_per_s", 2.0, clock)
    bucket.take(12)
    assert bucket.delay_ms() == 5500
    clock.now_s += 5.5
    assert bucket.delay_ms() == 0


def test_rate_that_is_changed_holds_from_then_on() -> None:
    clock = Clock()
    bucket = Bucket("writes_per_s", 100.0, clock)
    bucket.set_rate(1.0)
    bucket.take(1)
    assert bucket.delay_ms() == 1000
    bucket.set_rate(1000.0)
    assert bucket.delay_ms() == 1


def test_at_once_counts_those_that_run() -> None:
    at_once = AtOnce("calls_at_once", 1)
    at_once.enter()
    with pytest.raises(RateLimited):
        at_once.enter()
    at_once.leave()
    at_once.enter()


@pytest.mark.parametrize(
    "values",
    [
        {"writes_per_s": 0},
        {"reads_per_s": -1},
        {"writes_per_s": float("nan")},
        {"reads_per_s": float("inf")},
        {"calls_at_once": 0},
        {"calls_at_once": 1.5},
        {"streams_at_once": True},
        {"memories": 0},
        {"bytes": -5},
        {"writes_per_s": "5"},
    ],
)
def test_limit_outside_what_is_allowed_is_refused_by_name(values: dict[str, Any]) -> None:
    (name,) = values
    with pytest.raises(SettingError, match=f"^{name}: got .* above 0"):
        Limits(**values)


def limited(data_dir: Path, name: str, pattern: str, bounds: Limits | None) -> None:
    Book(data_dir).change(
        lambda old: entries.changed(old, name, lambda one: entries.limited(one, pattern, bounds))
    )


def test_rate_of_an_identity_is_refused_with_a_delay_and_changed_at_run_time(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    slow = {"*": Limits(writes_per_s=0.01)}
    token = add_identity(data_dir, "ann", "*:read,remember", limits=slow)
    other = add_identity(data_dir, "bob", "*:read,remember")
    with (
        running_server(data_dir) as server,
        totonoe.Client(server.address, token=token) as hers,
        totonoe.Client(server.address, token=other) as his,
    ):
        assert hers.remember("One is allowed.").saved
        with pytest.raises(totonoe.errors.RateLimited) as caught:
            hers.remember("Two are not.")
        assert caught.value.code == "RESOURCE_EXHAUSTED"
        assert caught.value.details["limit"] == "writes_per_s"
        assert 50 < (caught.value.retry_delay_s or 0) <= 100
        assert hers.list().memories and his.remember("Others are not slowed.").saved
        limited(data_dir, "ann", "*", None)

        def written() -> bool:
            try:
                return bool(hers.remember("Two are allowed now."))
            except totonoe.errors.RateLimited:
                return False

        wait_until(written)


def test_items_of_a_stream_are_limited_one_by_one(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    bounds = {"default": Limits(writes_per_s=3.0)}
    token = add_identity(data_dir, "ann", "*:read,remember", limits=bounds)
    with running_server(data_dir) as server, totonoe.Client(server.address, token=token) as hers:
        results = list(hers.remember_many([f"Line {n} of many." for n in range(40)]))
    failed = [result.error for result in results if result.error is not None]
    assert len(results) == 40
    assert 30 < len(failed) < 40
    assert {error.reason for error in failed} == {"RATE_LIMITED"}
    assert all(error.retry_delay_s for error in failed)


def test_streams_at_once_of_an_identity_are_bounded(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    bounds = {"*": Limits(streams_at_once=1)}
    token = add_identity(data_dir, "ann", "*:read", limits=bounds)
    with running_server(data_dir) as server, totonoe.Client(server.address, token=token) as hers:
        first = hers.watch()
        next(iter(first))
        with pytest.raises(totonoe.errors.RateLimited) as caught:
            next(iter(hers.watch()))
        assert caught.value.details["limit"] == "streams_at_once"
        assert hers.list().memories == ()
        first.close()

        def opened() -> bool:
            try:
                again = hers.watch()
                next(iter(again))
            except totonoe.errors.RateLimited:
                return False
            again.close()
            return True

        wait_until(opened)


def test_65_idle_streams_of_an_identity_leave_one_out_and_hurt_nobody(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    bounds = {"*": Limits(streams_at_once=64)}
    token = add_identity(data_dir, "ann", "*:read,remember", limits=bounds)
    other = add_identity(data_dir, "bob", "*:read,remember")
    with (
        running_server(data_dir) as server,
        totonoe.Client(server.address, token=token) as hers,
        totonoe.Client(server.address, token=other) as his,
    ):

        def opened(client: totonoe.Client) -> Any:
            stream = client.watch()
            next(iter(stream))
            return stream

        streams = [opened(hers) for _ in range(64)]
        for _ in range(3):
            with pytest.raises(totonoe.errors.RateLimited) as caught:
                opened(hers)
            assert caught.value.details["limit"] == "streams_at_once"
        # Her calls, his calls and his streams go on.
        assert hers.remember("Her calls are no streams.").saved
        assert his.remember("His door is green.").saved
        theirs = [opened(his) for _ in range(8)]
        streams.pop().close()

        def freed() -> bool:
            try:
                streams.append(opened(hers))
            except totonoe.errors.RateLimited:
                return False
            return True

        wait_until(freed)
        for stream in (*streams, *theirs):
            stream.close()


@pytest.mark.parametrize("bounds", [Limits(memories=3), Limits(bytes=1)])
def test_full_collection_takes_no_more_of_the_identity(tmp_path: Path, bounds: Limits) -> None:
    data_dir = tmp_path / "data"
    token = add_identity(data_dir, "ann", "*:read,remember,forget", limits={"*": bounds})
    texts = ["The port is 8080.", "Ann manages Bob.", "Tea is hot.", "Cats sleep.", "Rain falls."]
    with running_server(data_dir) as server, totonoe.Client(server.address, token=token) as hers:
        refused = 0
        for text in texts:
            try:
                hers.remember(text)
            except totonoe.errors.QuotaExceeded as error:
                assert error.reason == "QUOTA_EXCEEDED"
                refused += 1
        assert refused == (2 if bounds.memories else 5)
        assert len(hers.list().memories) == 5 - refused
    assert FIGURES_KEPT_S == 1.0


def test_unread_answers_count_as_calls_at_once(tmp_path: Path) -> None:
    bounds = {"*": Limits(calls_at_once=2)}
    token = add_identity(tmp_path / "data", "ann", "*:read", limits=bounds)
    path, given = "/totonoe.v1.MemoryService/List", (b"authorization", f"Bearer {token}".encode())
    with running_server(tmp_path / "data") as server, Peer(server.address) as peer:
        peer.send(hello(*UNREADING))
        unread = [peer.call_unread(path, message(b""), given) for _ in range(2)]
        refused = peer.end_of(peer.call(path, message(b""), given))
        assert refused.status == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
        assert "calls_at_once" in refused.headers["grpc-message"]
        peer.send(settings((INITIAL_WINDOW_SIZE, 65_535)))
        assert peer.end_of(unread[-1]).status == 0
        wait_until(lambda: peer.end_of(peer.call(path, message(b""), given)).status == 0)
