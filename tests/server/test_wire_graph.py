"""Neighbours, merges and episodes: nothing is lost between wire and records."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from totonoe.v1 import graph_pb2 as pb
from totonoe.v1 import types_pb2
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain import records
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.graph import CreateEpisode, EpisodeDeleted, EpisodeMade
from totonoe_core.domain.memories import LostDetail, Merge, Merged
from totonoe_core.domain.queries import (
    EpisodePage,
    EpisodeRead,
    Neighbor,
    Neighborhood,
    NeighborsQuery,
)
from totonoe_server.wire import graph as codec

MEMORY = records.Memory(
    1, "mem_a", "text", b"hash", b"\0\0\x80\x3f", "ann", records.Fields(), 1_000_000, 2_000_000,
    records.Status.ACTIVE, "", 6,
)  # fmt: skip
LINK = records.Link("mem_a", records.LinkType.CAUSES, 0.25, "why")
EPISODE = records.Episode(
    id="ep_a", summary="The move.", memory_ids=("mem_b", "mem_a"), start_us=1_000_000,
    end_us=2_000_000, importance=5, agent_id="ann", private=True, created_us=3_000_000,
    revision=7, gone_count=2,
)  # fmt: skip


def sent(message: Any) -> Any:
    """What arrives of a message."""
    return type(message).FromString(message.SerializeToString())


def unset(message: Any, *but: str) -> set[str]:
    """Fields of a message that say nothing, but for those that may."""
    names = {descriptor.name for descriptor, _ in message.ListFields()}
    return set(message.DESCRIPTOR.fields_by_name) - names - set(but)


# -- Neighbors


def test_neighbors_of_every_field_and_of_none():
    request = pb.NeighborsRequest(
        agent_id="ann", ids=["mem_b", "mem_a"], depth=3, limit=7, hop_decay=1.0,
        types=[types_pb2.LINK_TYPE_CAUSES], min_confidence=0.25,
    )  # fmt: skip
    assert codec.neighbors_from_wire(sent(request)) == NeighborsQuery(
        "ann", ("mem_b", "mem_a"), 3, 7, (records.LinkType.CAUSES,), 0.25, 1.0
    )
    assert codec.neighbors_from_wire(pb.NeighborsRequest()) == NeighborsQuery("", (), 1, 50)
    assert codec.neighbors_from_wire(pb.NeighborsRequest(hop_decay=0.0)).hop_decay == 0.0


def test_neighbors_of_an_unknown_type_name_the_field():
    with pytest.raises(InvalidArgument) as caught:
        codec.neighbors_from_wire(pb.NeighborsRequest(types=[99]))
    assert (caught.value.reason, caught.value.details["field"]) == ("UNKNOWN_ENUM", "types")


@pytest.mark.parametrize("include_vectors", [False, True])
def test_neighborhood_is_shown_whole(include_vectors):
    found = Neighborhood(9, (Neighbor(MEMORY, 2, 0.125, "mem_b", LINK),), truncated=True)
    shown = sent(codec.neighborhood_to_wire(found, include_vectors))
    assert unset(shown) == unset(shown.neighbors[0]) == set()
    (one,) = shown.neighbors
    assert (one.memory.id, one.depth, one.activation, one.via_id) == ("mem_a", 2, 0.125, "mem_b")
    assert one.via.type == types_pb2.LINK_TYPE_CAUSES
    assert bool(one.memory.vector) is include_vectors


# -- Merge


def test_merge_of_every_field():
    request = pb.MergeRequest(
        agent_id="ann", keep_id="mem_a", remove_ids=["mem_c", "mem_b"], content="both",
        vector=b"\0\0\x80\x3f", reason="the same", expected_revisions={"mem_c": 3, "mem_a": 1},
        force=True,
    )  # fmt: skip
    assert codec.merge_from_wire(sent(request)) == Merge(
        "ann", "mem_a", ("mem_c", "mem_b"), "both", b"\0\0\x80\x3f", "the same",
        (("mem_a", 1), ("mem_c", 3)), True,
    )  # fmt: skip


def test_merged_is_shown_whole():
    lost = LostDetail("mem_b", records.Finding.NUMBER, (3, 7), "8080")
    layer = records.LayerReport(records.Method.EXACT, True)
    duplicate = records.Duplicate("mem_c", "1d ago", "te…", 1.0, records.Method.EXACT)
    guard = records.GuardReport(duplicate, records.Method.EXACT, 1.0, (), (layer,))
    result = Merged(True, MEMORY, (MEMORY,), guard, (lost,), 4, 5)
    shown = sent(codec.merged_to_wire(result, 9, Applied("op_9", 9, (result,), replayed=True)))
    assert (unset(shown), unset(shown.lost[0])) == ({"dry_run"}, set())
    assert (shown.moved_link_count, shown.dropped_link_count) == (4, 5)
    (detail,) = shown.lost
    assert (detail.memory_id, detail.text, detail.finding) == (
        "mem_b", "8080", types_pb2.FINDING_NUMBER,
    )  # fmt: skip
    assert (detail.place.start, detail.place.end) == (3, 7)
    unchanged = codec.merged_to_wire(Merged(True, MEMORY, (MEMORY,)), 9, None)
    assert (unchanged.dry_run, unchanged.operation_id) == (True, "")
    assert not unchanged.HasField("duplicate")
    assert len(unchanged.layers) == 0


# -- Episodes


def test_episode_draft_of_every_field_and_of_the_least():
    draft = pb.EpisodeDraft(
        summary="The move.", memory_ids=["mem_b", "mem_a", "mem_b"], importance=5, private=True,
        start_time=Timestamp(seconds=1), end_time=Timestamp(seconds=2),
    )  # fmt: skip
    request = pb.CreateEpisodeRequest(agent_id="ann", episode=draft)
    assert codec.episode_from_wire(sent(request)) == CreateEpisode(
        "ann", "The move.", ("mem_b", "mem_a"), 1_000_000, 2_000_000, 5, True
    )
    least = pb.CreateEpisodeRequest(episode={"summary": "s", "memory_ids": ["mem_a"]})
    assert codec.episode_from_wire(sent(least)) == CreateEpisode("", "s", ("mem_a",))
    said = pb.CreateEpisodeRequest(episode={"importance": 0})
    assert codec.episode_from_wire(said).importance == 0


def test_episode_draft_that_is_absent_or_has_an_impossible_time_names_the_field():
    for request, reason, field in (
        ({}, "MISSING_FIELD", "episode"),
        ({"episode": {"start_time": Timestamp(nanos=-1)}}, "BAD_TIME", "episode.start_time"),
        ({"episode": {"end_time": Timestamp(nanos=-1)}}, "BAD_TIME", "episode.end_time"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            codec.episode_from_wire(pb.CreateEpisodeRequest(**request))
        assert (caught.value.reason, caught.value.details["field"]) == (reason, field)


def test_episode_is_shown_whole_in_every_answer():
    shown = sent(codec.episode_to_wire(EPISODE))
    assert unset(shown) == set()
    for item in fields(EPISODE):
        value = getattr(EPISODE, item.name)
        if item.name.endswith("_us"):
            name = item.name.removesuffix("_us") + "_time"
            assert getattr(shown, name).ToMicroseconds() == value
        elif item.name == "memory_ids":
            assert list(shown.memory_ids) == ["mem_b", "mem_a"]
        else:
            assert getattr(shown, item.name) == value
    made = codec.episode_made_to_wire(Applied("op", 9, (EpisodeMade(EPISODE),), replayed=True))
    gone = codec.episode_deleted_to_wire(
        Applied("op", 9, (EpisodeDeleted(EPISODE),), replayed=True)
    )
    read = codec.episode_read_to_wire(EpisodeRead(9, EPISODE, (MEMORY,)))
    page = codec.episodes_to_wire(EpisodePage(9, (EPISODE,), "more"))
    for answer in (made, gone, read, page):
        assert unset(answer) == set()
    assert made.episode == gone.episode == read.episode == page.episodes[0] == shown


@pytest.mark.parametrize(
    ("gone_count", "note"),
    [(0, ""), (1, "1 memory no longer exists"), (3, "3 memories no longer exist")],
)
def test_note_of_an_episode_only_speaks_of_memories_that_are_gone(gone_count, note):
    episode = records.Episode("ep_a", "s", (), 0, 0, 3, "", False, 0, 1, gone_count)
    assert codec.episode_read_to_wire(EpisodeRead(9, episode)).note == note
