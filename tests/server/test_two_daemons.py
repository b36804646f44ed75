"""Two daemons over gRPC on one database: one truth, whichever is asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
import typer
from typer.testing import CliRunner

import totonoe
from support.postgres import migrated
from support.waits import wait_s, wait_until
from totonoe.call.places import Places
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2, snapshot_pb2
from totonoe_server.life import config
from totonoe_server.tools import tokens

CLIENTS, ROUNDS = 16, 3


@pytest.fixture(scope="module")
def url() -> str:
    return migrated()


@pytest.fixture(scope="module")
def pair(url: str, tmp_path_factory: pytest.TempPathFactory, open_wire: Any) -> Iterator[Any]:
    """Wires to two daemons, and the directory with their derived files."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "user_cache_path", lambda _: cache)
        with open_wire(store=url) as one, open_wire(store=url) as other:
            yield one, other


@pytest.fixture
def collection(pair: Any) -> str:
    name: str = pair[0].collection()
    return name


def recalled(wire: Any, collection: str, query: str, agent: str = "") -> list[str]:
    answer = wire.memory.Recall(
        pb.RecallRequest(collection=collection, text=query, agent_id=agent, k=10), timeout=30
    )
    return [hit.memory.content for hit in answer.hits]


def test_of_many_clients_that_say_the_same_through_both_one_is_saved(
    pair: Any, collection: str
) -> None:
    for number in range(ROUNDS):
        together = threading.Barrier(CLIENTS)

        def say(at: int, number: int = number, together: threading.Barrier = together) -> Any:
            together.wait(wait_s())
            return pair[at % 2].remember(
                f"the heating of round {number} is set to 21 degrees", collection
            )

        with ThreadPoolExecutor(CLIENTS) as pool:
            answers = list(pool.map(say, range(CLIENTS)))
        assert sum(answer.saved for answer in answers) == 1, (
            "one of them, whichever daemon it asked"
        )
        (kept,) = {answer.memory_id for answer in answers if answer.saved}
        assert {answer.duplicate.memory_id for answer in answers if not answer.saved} == {kept}
    for wire in pair:
        listed = wire.memory.List(pb.ListRequest(collection=collection), timeout=30)
        assert len(listed.memories) == ROUNDS


def test_remember_through_one_is_recalled_through_the_other_and_undone_there(
    pair: Any, collection: str
) -> None:
    one, other = pair
    said = one.remember("the boiler was cleaned in May", collection)
    wait_until(lambda: recalled(other, collection, "boiler") == ["the boiler was cleaned in May"])
    other.memory.Undo(
        operations_pb2.UndoRequest(collection=collection, target_revision=said.revision), timeout=30
    )
    assert recalled(other, collection, "boiler") == []
    wait_until(lambda: recalled(one, collection, "boiler") == [])


def test_watch_of_one_shows_what_both_did_in_the_one_order(pair: Any, collection: str) -> None:
    one, other = pair
    request = operations_pb2.WatchRequest(collection=collection, agent_id="anna")
    events = one.memory.Watch(request, timeout=wait_s())
    assert next(events).HasField("heartbeat"), "it has begun"
    said = [
        wire.remember(f"the roof of house {number} is made of {stuff}", collection).memory_id
        for number, (wire, stuff) in enumerate([(other, "slate"), (one, "reed"), (other, "tin")])
    ]
    changes = (event for event in events if event.HasField("change"))
    found = [next(changes) for _ in said]
    events.cancel()
    assert [event.change.memories[0].memory_id for event in found] == said
    first = found[0].revision
    assert [event.revision for event in found] == [first, first + 1, first + 2]


def test_read_that_wants_a_revision_gets_it_at_once_from_the_other_daemon(
    pair: Any, collection: str
) -> None:
    one, other = pair
    for number in range(5):
        said = one.remember(f"the boiler was cleaned in the year {2000 + number}", collection)
        listed = other.memory.List(
            pb.ListRequest(collection=collection, min_revision=said.revision), timeout=30
        )
        assert said.memory_id in [memory.id for memory in listed.memories]
        assert listed.revision >= said.revision


def test_revision_that_nobody_has_is_refused_by_name_and_retry_delay(
    pair: Any, collection: str, fails: Any
) -> None:
    for wire in pair:
        failure = fails(wire.memory.Recall, pb.RecallRequest(
            collection=collection, text="boiler", min_revision=1_000_000))  # fmt: skip
        assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "NOT_CAUGHT_UP")
        assert failure.retry_delay_ms
    negative = fails(pair[0].memory.Get, pb.GetRequest(collection=collection, min_revision=-1))
    assert (negative.reason, negative.details["field"]) == ("OUT_OF_RANGE", "min_revision")


@pytest.fixture
def in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that ask the daemons in turn, as for collections of which nobody answered yet."""
    monkeypatch.setattr(Places, "answered", lambda *_: None)


@pytest.fixture
def both(pair: Any, collection: str) -> Iterator[totonoe.Client]:
    addresses = ",".join(wire.server.address for wire in pair)
    with totonoe.Client(addresses, agent_id="ann", collection=collection) as client:
        yield client


@pytest.mark.usefixtures("in_turn")
def test_client_of_both_reads_what_it_wrote_whichever_it_asks(both: totonoe.Client) -> None:
    for number in range(6):
        said = both.remember(f"the key of cabin {number} hangs at hook {number * 3}")
        assert said.saved
        assert said.memory_id in [memory.id for memory in both.list().memories]
        assert both.get(said.memory_id).content.startswith(f"the key of cabin {number}")


@pytest.mark.usefixtures("in_turn")
def test_asynchronous_client_of_both_reads_what_it_wrote(pair: Any, collection: str) -> None:
    async def work() -> None:
        addresses = ",".join(wire.server.address for wire in pair)
        async with totonoe.AsyncClient(addresses, collection=collection) as client:
            for number in range(6):
                said = await client.remember(f"the boat {number} lies at pier {number * 3}")
                assert (await client.get(said.memory_id)).content.endswith(str(number * 3))

    asyncio.run(work())


def test_client_goes_on_with_the_other_daemon_where_one_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_wire: Any
) -> None:
    monkeypatch.setattr(config, "user_cache_path", lambda _: tmp_path)
    url = migrated()
    with open_wire(store=url) as one, open_wire(store=url) as other:
        addresses = f"{one.server.address},{other.server.address}"
        with totonoe.Client(addresses, agent_id="ann") as client:
            first = client.remember("the mill has two wheels", operation_id="op-1")
            one.server.stop()
            for _ in range(4):
                again = client.remember("the mill has two wheels", operation_id="op-1")
                assert again.replayed and again.memory_id == first.memory_id
                assert client.get(first.memory_id).content == "the mill has two wheels"


def test_private_memory_stays_private_at_the_other_daemon(pair: Any, collection: str) -> None:
    one, other = pair
    secret = "the present for ben is a red bicycle"
    one.remember(secret, collection, agent_id="ann", private=True)
    wait_until(lambda: recalled(other, collection, "present for ben", "ann") == [secret])
    assert recalled(other, collection, "present for ben", "ben") == []
    # Said by another agent it is new to it: the answer is no way to learn of the first.
    again = other.remember(secret, collection, agent_id="ben")
    assert again.saved


def test_collection_of_one_is_listed_by_the_other(pair: Any) -> None:
    one, other = pair
    name = one.collection(description="of the first daemon")
    page = other.admin.ListCollections(admin_pb.ListCollectionsRequest(page_size=1000), timeout=30)
    assert name in [collection.name for collection in page.collections]


def test_snapshot_of_one_is_restored_by_the_other_and_purged(pair: Any, collection: str) -> None:
    one, other = pair
    secret = one.remember("The code is 4711.", collection).memory_id
    one.remember("The pump is hot.", collection)
    request = snapshot_pb2.CreateSnapshotRequest(collection=collection)
    made = one.admin.CreateSnapshot(request, timeout=30).snapshot
    asked = snapshot_pb2.ListSnapshotsRequest(collection=collection)
    assert list(other.admin.ListSnapshots(asked, timeout=30).snapshots) == [
        *one.admin.ListSnapshots(asked, timeout=30).snapshots
    ]
    purge = admin_pb.PurgeRequest(
        collection=collection, ids=[secret], snapshots=snapshot_pb2.SNAPSHOT_USE_REWRITE
    )
    (found,) = other.admin.Purge(purge, timeout=30).snapshots
    assert (found.rewritten, found.snapshot.purged_count) == (True, 1)
    copy = f"{collection}-copy"
    restored = other.admin.RestoreSnapshot(
        snapshot_pb2.RestoreSnapshotRequest(snapshot_id=made.id, collection=copy), timeout=30
    )
    assert restored.restored
    wait_until(lambda: recalled(one, copy, "the pump", "ann") == ["The pump is hot."])


def test_page_token_of_one_daemon_is_taken_by_the_other(pair: Any, collection: str) -> None:
    one, other = pair
    for number in range(3):
        other.remember(
            f"the colour of door {number} is number {number * 7}", collection, force=True
        )
    wait_until(lambda: len(one.memory.List(pb.ListRequest(collection=collection)).memories) == 3)
    first = one.memory.List(pb.ListRequest(collection=collection, page_size=2), timeout=30)
    rest = other.memory.List(
        pb.ListRequest(collection=collection, page_size=2, page_token=first.next_page_token),
        timeout=30,
    )
    assert (len(first.memories), len(rest.memories)) == (2, 1)


def test_token_made_and_revoked_once_holds_at_both_daemons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_wire: Any
) -> None:
    monkeypatch.setattr(config, "user_cache_path", lambda _: tmp_path)
    url, app = migrated(), typer.Typer()
    tokens.register(app)

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["tokens", *arguments, "--store", url])
        assert result.exit_code == 0, result.output
        return str(result.stdout).strip()

    def refused(wire: Any, token: str) -> str:
        with totonoe.Client(wire.server.address, token=token) as client:
            try:
                client.recall("anything")
            except totonoe.errors.Unauthenticated as error:
                return error.reason
        return ""

    with open_wire(store=url) as one, open_wire(store=url) as other:
        assert refused(one, "") == refused(other, "") == "", "nobody was named yet"
        token = run("create", "ann", "--grant", "*:read,remember")
        for wire in (one, other):
            wait_until(lambda wire=wire: refused(wire, "") == "TOKEN_MISSING")
            assert refused(wire, token) == ""
        run("revoke", "ann")
        for wire in (one, other):
            wait_until(lambda wire=wire: refused(wire, token) == "TOKEN_REVOKED")
