"""Neighbours, merges and episodes over the real engine, as any client sees them."""

from __future__ import annotations

import itertools

import grpc
import pytest

from totonoe.v1 import graph_pb2 as graph
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2 as ops
from totonoe.v1 import types_pb2

TEXTS = ("The pump is on.", "Ada likes green tea.", "Rain fell in April.", "Bob moved to Oslo.")


@pytest.fixture
def chain(wire):
    """A collection with four memories of which each is linked to the next, and their ids."""
    collection = wire.collection(guard={"link_distance_below": 0.0})
    ids = [wire.remember(text, collection).memory_id for text in TEXTS]
    for source, target in itertools.pairwise(ids):
        request = pb.LinkRequest(
            collection=collection, source_id=source, target_id=target, confidence=0.5,
            type="LINK_TYPE_CAUSES",
        )  # fmt: skip
        wire.memory.Link(request, timeout=10)
    return collection, ids


# -- Neighbors


def test_neighbors_spread_along_links_as_far_as_was_asked(wire, chain):
    collection, ids = chain
    request = graph.NeighborsRequest(collection=collection, ids=ids[:1], depth=2, hop_decay=1.0)
    answer = wire.memory.Neighbors(request, timeout=10)
    assert [neighbor.memory.id for neighbor in answer.neighbors] == ids[1:3]
    assert [(neighbor.depth, neighbor.activation) for neighbor in answer.neighbors] == [
        (1, 0.5),
        (2, 0.25),
    ]
    assert [neighbor.via_id for neighbor in answer.neighbors] == ids[:2]
    assert answer.neighbors[0].via.type == types_pb2.LINK_TYPE_CAUSES
    assert not answer.truncated
    request.limit = 1
    assert len(wire.memory.Neighbors(request, timeout=10).neighbors) == 1
    request.types.append(types_pb2.LINK_TYPE_CAUSED_BY)
    assert len(wire.memory.Neighbors(request, timeout=10).neighbors) == 0


# -- Merge


def test_merge_keeps_one_moves_links_and_undo_takes_it_back(wire, chain):
    collection, ids = chain
    request = graph.MergeRequest(
        collection=collection, keep_id=ids[0], remove_ids=ids[1:2], reason="one is enough",
        operation_id="m1",
    )  # fmt: skip
    done = wire.memory.Merge(request, timeout=10)
    assert (done.merged, done.memory.id, done.memory.content) == (True, ids[0], TEXTS[0])
    assert [memory.id for memory in done.sources] == ids[1:2]
    assert done.sources[0].status == types_pb2.STATUS_ACTIVE
    assert [link.target_id for link in done.memory.links] == ids[2:3]
    assert (done.moved_link_count, done.dropped_link_count) == (1, 1)
    assert len(done.layers) == 0
    assert wire.memory.Merge(request, timeout=10).replayed
    got = wire.memory.Get(
        pb.GetRequest(collection=collection, ids=ids[1:2], follow_superseded=True), timeout=10
    )
    assert [memory.id for memory in got.memories] == ids[:1]
    wire.memory.Undo(ops.UndoRequest(collection=collection, target_operation_id="m1"), timeout=10)
    listed = wire.memory.List(pb.ListRequest(collection=collection), timeout=10).memories
    assert [memory.id for memory in listed] == ids
    assert [link.target_id for link in listed[0].links] == ids[1:2]


def test_merge_with_a_text_warns_of_what_is_lost_and_is_refused_by_a_third(wire, chain):
    collection, ids = chain
    one = wire.remember("The relay needs 24 V.", collection).memory_id
    two = wire.remember("The relay is from Siemens.", collection).memory_id
    request = graph.MergeRequest(
        collection=collection, keep_id=one, remove_ids=[two], content=TEXTS[3]
    )
    refused = wire.memory.Merge(request, timeout=10)
    assert (refused.merged, refused.duplicate.memory_id) == (False, ids[3])
    assert len(refused.layers) > 0
    assert refused.memory.content == "The relay needs 24 V."
    request.content = "The relay needs a supply of its own."
    done = wire.memory.Merge(request, timeout=10)
    assert (done.merged, done.memory.content) == (True, request.content)
    assert any(detail.memory_id == one and "24" in detail.text for detail in done.lost)


def test_merge_of_what_another_merged_is_aborted(wire, fails, chain):
    collection, ids = chain
    got = wire.memory.Get(pb.GetRequest(collection=collection, ids=ids[:2]), timeout=10)
    request = graph.MergeRequest(
        collection=collection, keep_id=ids[0], remove_ids=ids[1:2],
        expected_revisions={memory.id: memory.revision for memory in got.memories},
    )  # fmt: skip
    assert wire.memory.Merge(request, timeout=10).merged
    failure = fails(wire.memory.Merge, request)
    assert (failure.code, failure.reason) == (grpc.StatusCode.ABORTED, "STALE_REVISION")


def test_merge_of_more_than_always_fit_an_answer_is_measured_and_done(wire):
    collection = wire.collection()
    ids = [wire.remember(f"Item {i} of {i * 17}.", collection).memory_id for i in range(18)]
    request = graph.MergeRequest(
        collection=collection, keep_id=ids[0], remove_ids=ids[1:], operation_id="m1"
    )
    assert len(wire.memory.Merge(request, timeout=10).sources) == 17
    again = wire.memory.Merge(request, timeout=10)
    assert (again.replayed, len(again.sources)) == (True, 17)


# -- Episodes


def test_episode_is_made_read_listed_and_taken_away(wire, fails, chain):
    collection, ids = chain
    made = wire.memory.CreateEpisode(
        graph.CreateEpisodeRequest(
            collection=collection, agent_id="ann", operation_id="e1",
            episode={"summary": "A day in spring.", "memory_ids": [ids[2], ids[0], ids[2]]},
        ),
        timeout=10,
    )  # fmt: skip
    episode = made.episode
    assert (list(episode.memory_ids), episode.importance) == ([ids[2], ids[0]], 3)
    assert (episode.agent_id, episode.revision) == ("ann", made.revision)
    request = graph.GetEpisodeRequest(collection=collection, id=episode.id, include_memories=True)
    read = wire.memory.GetEpisode(request, timeout=10)
    assert ([memory.id for memory in read.memories], read.note) == ([ids[2], ids[0]], "")
    wire.memory.Forget(
        pb.ForgetRequest(collection=collection, ids=ids[:1], operation_id="f1"), timeout=10
    )
    read = wire.memory.GetEpisode(request, timeout=10)
    assert (list(read.episode.memory_ids), read.episode.gone_count) == (ids[2:3], 1)
    assert read.note == "1 memory no longer exists"
    wire.memory.Undo(ops.UndoRequest(collection=collection, target_operation_id="f1"), timeout=10)
    assert wire.memory.GetEpisode(request, timeout=10).note == ""
    listing = graph.ListEpisodesRequest(collection=collection, memory_id=ids[0])
    assert [other.id for other in wire.memory.ListEpisodes(listing, timeout=10).episodes] == [
        episode.id
    ]
    listing.memory_id = ids[1]
    assert len(wire.memory.ListEpisodes(listing, timeout=10).episodes) == 0
    gone = wire.memory.DeleteEpisode(
        graph.DeleteEpisodeRequest(collection=collection, id=episode.id, reason="no"), timeout=10
    )
    assert gone.episode.summary == "A day in spring."
    failure = fails(wire.memory.GetEpisode, request)
    assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "EPISODE_NOT_FOUND")


def test_private_episode_and_memories_are_nobody_elses(wire, fails):
    collection = wire.collection()
    secret = wire.remember("The code is 4711.", collection, agent_id="ann", private=True).memory_id
    known = wire.remember(TEXTS[0], collection).memory_id
    wire.memory.Link(
        pb.LinkRequest(collection=collection, agent_id="ann", source_id=secret, target_id=known),
        timeout=10,
    )
    request = graph.NeighborsRequest(collection=collection, agent_id="bob", ids=[known])
    assert len(wire.memory.Neighbors(request, timeout=10).neighbors) == 0
    request.ids[:] = [secret]
    assert fails(wire.memory.Neighbors, request).reason == "MEMORY_NOT_FOUND"
    merge = graph.MergeRequest(
        collection=collection, agent_id="bob", keep_id=known, remove_ids=[secret]
    )
    assert fails(wire.memory.Merge, merge).reason == "MEMORY_NOT_FOUND"
    made = wire.memory.CreateEpisode(
        graph.CreateEpisodeRequest(
            collection=collection, agent_id="ann",
            episode={"summary": "Mine.", "memory_ids": [secret, known], "private": True},
        ),
        timeout=10,
    )  # fmt: skip
    reading = graph.GetEpisodeRequest(collection=collection, agent_id="bob", id=made.episode.id)
    assert fails(wire.memory.GetEpisode, reading).reason == "EPISODE_NOT_FOUND"
    listing = graph.ListEpisodesRequest(collection=collection, agent_id="bob")
    assert len(wire.memory.ListEpisodes(listing, timeout=10).episodes) == 0
