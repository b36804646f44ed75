"""Neighbours, merges and episodes: what is sent and read, in both clients."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from support.scripted import answering, scripted
from totonoe import LinkType, TimeRange
from totonoe.enums import Finding
from totonoe.v1 import graph_pb2 as graph_pb
from totonoe.v1 import types_pb2

Call = Callable[..., Any]
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
STAMP = Timestamp(seconds=1_767_225_600)
EPISODE = graph_pb.Episode(
    id="ep_1",
    summary="It rained.",
    memory_ids=["mem_1", "mem_2"],
    gone_count=1,
    start_time=STAMP,
    importance=4,
    agent_id="anna",
    private=True,
    created_time=STAMP,
    revision=6,
)


# -- neighbours, merges


def test_neighbors_send_how_far_and_read_the_ways(call: Call) -> None:
    there = types_pb2.Link(target_id="mem_2", type=types_pb2.LINK_TYPE_CAUSES, confidence=0.5)
    answer = graph_pb.NeighborsResponse(
        revision=3,
        neighbors=[
            graph_pb.Neighbor(
                memory=types_pb2.Memory(id="mem_2", vector=b"\x00\x00\x80\x3f"),
                depth=2,
                activation=0.25,
                via_id="mem_1",
                via=there,
            )
        ],
        truncated=True,
    )
    requests: list[graph_pb.NeighborsRequest] = []
    with scripted(Neighbors=answering(answer, requests)) as address:
        found = call(
            address,
            "neighbors",
            ["mem_0"],
            depth=3,
            limit=7,
            types=["causes", LinkType.COACTIVATED],
            min_confidence=0.1,
            hop_decay=1.0,
            include_vectors=True,
        )
        call(address, "neighbors", "mem_0")
    assert requests[0] == graph_pb.NeighborsRequest(
        ids=["mem_0"],
        depth=3,
        limit=7,
        types=[types_pb2.LINK_TYPE_CAUSES, types_pb2.LINK_TYPE_COACTIVATED],
        min_confidence=0.1,
        hop_decay=1.0,
        include_vectors=True,
    )
    assert requests[1] == graph_pb.NeighborsRequest(ids=["mem_0"], depth=1, limit=50)
    (neighbor,) = found.neighbors
    assert (neighbor.depth, neighbor.activation, neighbor.via_id) == (2, 0.25, "mem_1")
    assert (neighbor.memory.id, neighbor.via.type) == ("mem_2", "causes")
    assert neighbor.memory.vector.tolist() == [1.0]
    assert found.truncated


def test_neighbors_unknown_type_raises_before_sending(call: Call) -> None:
    with pytest.raises(ValueError, match=r"types: got 'likes'"):
        call("127.0.0.1:1", "neighbors", "mem_0", types=["likes"])
    with pytest.raises(TypeError, match="types"):
        call("127.0.0.1:1", "neighbors", "mem_0", types="causes")


def test_merge_reads_what_became_one_and_what_is_lost(call: Call) -> None:
    answer = graph_pb.MergeResponse(
        revision=9,
        merged=True,
        memory=types_pb2.Memory(id="mem_1", revision=9),
        sources=[types_pb2.Memory(id="mem_2")],
        layers=[types_pb2.LayerReport(layer=types_pb2.METHOD_EXACT, ran=True)],
        lost=[
            graph_pb.LostDetail(
                memory_id="mem_2",
                finding=types_pb2.FINDING_NUMBER,
                place=types_pb2.Span(start=3, end=7),
                text="5433",
            )
        ],
        moved_link_count=2,
        dropped_link_count=1,
        operation_id="op_m",
    )
    requests: list[graph_pb.MergeRequest] = []
    with scripted(Merge=answering(answer, requests)) as address:
        merged = call(
            address,
            "merge",
            "mem_1",
            ["mem_2"],
            content="both",
            vector=[1.0],
            reason="same",
            expected_revisions={"mem_2": 4},
            force=True,
            operation_id="op_m",
            options={"agent_id": "anna", "collection": "notes"},
        )
    assert requests == [
        graph_pb.MergeRequest(
            collection="notes",
            operation_id="op_m",
            agent_id="anna",
            keep_id="mem_1",
            remove_ids=["mem_2"],
            content="both",
            vector=b"\x00\x00\x80\x3f",
            reason="same",
            expected_revisions={"mem_2": 4},
            force=True,
        )
    ]
    assert (merged.merged, merged.duplicate, merged.duplicate_of) == (True, None, None)
    assert (merged.memory.revision, merged.sources[0].id) == (9, "mem_2")
    assert merged.lost[0].finding is Finding.NUMBER
    assert (merged.lost[0].place, merged.lost[0].text) == ((3, 7), "5433")
    assert (merged.moved_link_count, merged.dropped_link_count) == (2, 1)


def test_merge_refused_names_the_memory_that_says_the_same(call: Call) -> None:
    duplicate = types_pb2.Duplicate(memory_id="mem_3", method=types_pb2.METHOD_EXACT)
    requests: list[graph_pb.MergeRequest] = []
    answer = graph_pb.MergeResponse(duplicate=duplicate)
    with scripted(Merge=answering(answer, requests)) as address:
        merged = call(address, "merge", "mem_1", "mem_2", content="x")
    assert (merged.merged, merged.duplicate_of) == (False, "mem_3")
    assert list(requests[0].remove_ids) == ["mem_2"]
    assert requests[0].operation_id.startswith("op_")
    assert requests[0].vector == b""


# -- episodes


def test_create_episode_sends_what_is_said(call: Call) -> None:
    requests: list[graph_pb.CreateEpisodeRequest] = []
    answer = graph_pb.CreateEpisodeResponse(revision=6, episode=EPISODE, operation_id="op_e")
    with scripted(CreateEpisode=answering(answer, requests)) as address:
        made = call(
            address,
            "create_episode",
            "It rained.",
            ["mem_1", "mem_2"],
            start_time=MOMENT,
            end_time=MOMENT,
            importance=4,
            private=True,
        )
        call(address, "create_episode", "It rained.", ["mem_1"])
    assert requests[0].episode == graph_pb.EpisodeDraft(
        summary="It rained.",
        memory_ids=["mem_1", "mem_2"],
        start_time=STAMP,
        end_time=STAMP,
        importance=4,
        private=True,
    )
    assert requests[1].episode == graph_pb.EpisodeDraft(summary="It rained.", memory_ids=["mem_1"])
    episode = made.episode
    assert (made.operation_id, episode.id, episode.memory_ids) == (
        "op_e",
        "ep_1",
        ("mem_1", "mem_2"),
    )
    assert (episode.start_time, episode.end_time) == (MOMENT, None)
    assert (episode.gone_count, episode.importance, episode.private) == (1, 4, True)


def test_create_episode_naive_time_or_one_string_raises_before_sending(call: Call) -> None:
    with pytest.raises(ValueError, match="start_time"):
        call("127.0.0.1:1", "create_episode", "a", ["m"], start_time=datetime(2026, 1, 1))
    with pytest.raises(TypeError, match="memory_ids"):
        call("127.0.0.1:1", "create_episode", "a", "mem_1")


def test_get_and_delete_episode_read_it(call: Call) -> None:
    read = graph_pb.GetEpisodeResponse(
        episode=EPISODE, memories=[types_pb2.Memory(id="mem_1")], note="1 memory no longer exists"
    )
    got: list[graph_pb.GetEpisodeRequest] = []
    gone: list[graph_pb.DeleteEpisodeRequest] = []
    with scripted(
        GetEpisode=answering(read, got),
        DeleteEpisode=answering(graph_pb.DeleteEpisodeResponse(episode=EPISODE), gone),
    ) as address:
        answer = call(address, "get_episode", "ep_1", include_memories=True)
        deleted = call(address, "delete_episode", "ep_1", reason="r", operation_id="op_d")
    assert got == [graph_pb.GetEpisodeRequest(id="ep_1", include_memories=True)]
    assert gone == [graph_pb.DeleteEpisodeRequest(id="ep_1", reason="r", operation_id="op_d")]
    assert (answer.memories[0].id, answer.note) == ("mem_1", "1 memory no longer exists")
    assert deleted.episode == answer.episode


def test_list_episodes_sends_when_and_which_memory(call: Call) -> None:
    requests: list[graph_pb.ListEpisodesRequest] = []
    answer = graph_pb.ListEpisodesResponse(episodes=[EPISODE], next_page_token="t")
    with scripted(ListEpisodes=answering(answer, requests)) as address:
        page = call(address, "list_episodes", time=TimeRange(None, MOMENT), memory_id="mem_1")
        call(address, "list_episodes", page_size=3, page_token="s")
    assert requests == [
        graph_pb.ListEpisodesRequest(
            time=types_pb2.TimeRange(to_time=STAMP), memory_id="mem_1", page_size=100
        ),
        graph_pb.ListEpisodesRequest(page_size=3, page_token="s"),
    ]
    assert ([episode.id for episode in page.episodes], page.next_page_token) == (["ep_1"], "t")
