"""A client of several daemons: which one it asks, and what its reads carry along."""

from __future__ import annotations

from typing import Any

import pytest

from totonoe import Client
from totonoe.call.channel import resolve_addresses
from totonoe.call.places import DOWN_S, PLACES_MAX, Places, SeenRevisions, collection_of
from totonoe.call.retry import Attempts, RetryPolicy
from totonoe.errors import NotFound, Unavailable
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import types_pb2 as types_pb


def attempts(place: int | None = None) -> Attempts:
    made = Attempts(RetryPolicy(), 10.0)
    made.place = place
    return made


def unavailable(reason: str = "") -> Unavailable:
    return Unavailable("no", code="UNAVAILABLE", reason=reason)


def test_daemons_are_asked_in_turn_and_one_that_is_down_is_passed_over_for_a_while() -> None:
    now_s = 0.0
    places = Places(3, lambda: now_s, 0)
    assert [places.pick() for _ in range(4)] == [0, 1, 2, 0]
    failed = attempts(1)
    assert places.after(failed, unavailable(), 0.5) == 0.0, "another one is asked at once"
    assert failed.moved_on
    assert 1 not in [places.pick() for _ in range(6)]
    now_s = DOWN_S
    assert 1 in [places.pick() for _ in range(3)]


def test_collection_stays_with_the_daemon_that_answered_for_it_while_that_one_is_up() -> None:
    now_s = 0.0
    places = Places(3, lambda: now_s, 0)
    call = attempts(1)
    call.collection = "a"
    places.answered(call)
    assert [places.pick("a") for _ in range(3)] == [1, 1, 1]
    assert [places.pick("b"), places.pick()] == [0, 1], "others are asked in turn"
    places.after(call, unavailable(), 0.5)
    call.place = places.pick("a")
    assert call.place != 1
    places.answered(call)
    now_s = DOWN_S
    assert {places.pick("a") for _ in range(3)} == {call.place}, "its index has caught up there"


def test_what_is_kept_of_collections_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("totonoe.call.places._COLLECTIONS_MAX", 2)
    places = Places(2, lambda: 0.0, 0)
    for name in ("a", "b", "c"):
        call = attempts(1)
        call.collection = name
        places.answered(call)
    assert [places.pick(name) for name in ("b", "c", "a")] == [1, 1, 0], "the oldest is forgotten"


def test_clients_with_the_same_list_do_not_all_begin_with_one_daemon() -> None:
    assert {Places(2).pick() for _ in range(64)} == {0, 1}


def test_collection_of_a_call_is_that_of_its_request() -> None:
    assert collection_of(pb.RememberRequest(collection="a")) == "a"
    nested = pb.WhyNotRequest(recall=pb.RecallRequest(collection="b"), memory_id="mem_1")
    assert collection_of(nested) == "b"
    assert collection_of(pb.ListRequest()) == "", "that of the daemon"
    assert collection_of(admin_pb.ListCollectionsRequest()) is None


def test_where_all_are_down_the_call_waits_and_asks_them_all_the_same() -> None:
    places = Places(2, lambda: 0.0)
    assert places.after(attempts(0), unavailable(), 0.5) == 0.0
    assert places.after(attempts(1), unavailable(), 0.5) == 0.5
    assert {places.pick() for _ in range(2)} == {0, 1}


def test_only_a_daemon_that_is_unavailable_is_passed_over() -> None:
    places = Places(2, lambda: 0.0)
    assert places.after(attempts(0), NotFound("no", code="NOT_FOUND"), 0.5) == 0.5
    assert {places.pick() for _ in range(2)} == {0, 1}
    one = Places(1)
    failed = attempts(0)
    assert one.after(failed, unavailable(), 0.5) == 0.5
    assert not failed.moved_on


def test_reads_carry_the_newest_revision_of_their_collection() -> None:
    seen = SeenRevisions()
    seen.note(pb.RememberRequest(collection="a"), pb.RememberResponse(revision=7))
    seen.note(pb.ListRequest(collection="a"), pb.ListResponse(revision=5))
    seen.note(pb.RememberRequest(collection="b"), pb.RememberResponse(revision=2))
    seen.note(admin_pb.ListCollectionsRequest(), admin_pb.ListCollectionsResponse(revision=99))
    for collection, revision in (("a", 7), ("b", 2), ("c", 0)):
        request = pb.RecallRequest(collection=collection)
        seen.carry(request)
        assert request.min_revision == revision
    asked = pb.ListRequest(collection="a", min_revision=9)
    seen.carry(asked)
    assert asked.min_revision == 9, "what the caller asks for holds"
    nested = pb.WhyNotRequest(recall=pb.RecallRequest(collection="a"), memory_id="mem_1")
    seen.carry(nested)
    assert nested.recall.min_revision == 7


def test_memory_newer_than_its_answer_counts_as_seen() -> None:
    seen = SeenRevisions()
    memory = types_pb.Memory(revision=8)
    seen.note(pb.ListRequest(collection="a"), pb.ListResponse(revision=5, memories=[memory]))
    hit = pb.Hit(memory=types_pb.Memory(revision=9))
    seen.note(pb.RecallRequest(collection="b"), pb.RecallResponse(revision=5, hits=[hit]))
    redirected = pb.GetResponse(revision=4, redirects={"mem_1": "mem_2"})
    seen.note(pb.GetRequest(collection="c"), redirected)
    for collection, revision in (("a", 8), ("b", 9), ("c", 4)):
        request = pb.GetRequest(collection=collection)
        seen.carry(request)
        assert request.min_revision == revision


def test_read_gives_up_where_a_second_daemon_has_not_what_it_wants() -> None:
    seen, tries = SeenRevisions(), attempts()
    request: Any = pb.GetRequest(collection="a")
    seen.note(request, pb.GetResponse(revision=7))
    assert not seen.gives_up(request, tries, unavailable("OVERLOADED"))
    assert not seen.gives_up(request, tries, unavailable("NOT_CAUGHT_UP"))
    assert seen.gives_up(request, tries, unavailable("NOT_CAUGHT_UP"))
    again = pb.GetRequest(collection="a")
    seen.carry(again)
    assert again.min_revision == 0, "it may be another collection of that name"


@pytest.mark.parametrize(
    "address", ["a:1,a:1", "a:1,", ",".join(f"a:{port}" for port in range(1, PLACES_MAX + 2))]
)
def test_addresses_are_different_and_not_too_many(address: str) -> None:
    with pytest.raises(ValueError, match=f"1 to {PLACES_MAX} different ones"):
        resolve_addresses(address)


def test_each_of_several_addresses_has_the_form_of_one() -> None:
    assert resolve_addresses("a:1, unix:/b") == ("a:1", "unix:/b")
    with pytest.raises(ValueError, match="got 'nowhere', allowed: host:port"):
        resolve_addresses("a:1,nowhere")
    with Client("127.0.0.1:1,127.0.0.1:2", token="") as client:
        assert client.address == "127.0.0.1:1,127.0.0.1:2"
        with pytest.raises(Unavailable, match=r"no daemon answers at .*:1,.*:2; "):
            client.stats(timeout_s=0.5)
