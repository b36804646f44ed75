"""Neighbours, merges and episodes: wire <-> records."""

from __future__ import annotations

from totonoe.v1 import graph_pb2, types_pb2
from totonoe_core.commands import (
    Applied,
    CreateEpisode,
    EpisodeDeleted,
    EpisodeMade,
    LostDetail,
    Merge,
    Merged,
)
from totonoe_core.queries import EpisodePage, EpisodeRead, Neighborhood, NeighborsQuery
from totonoe_core.records import Episode
from totonoe_server.codec import FINDINGS, LINK_TYPES, required, time_from_wire, time_to_wire
from totonoe_server.codec_answers import duplicate_to_wire, layer_to_wire
from totonoe_server.codec_memory import link_to_wire, memory_to_wire, revisions_from_wire

_QUERY = NeighborsQuery("", ())
_EPISODE = CreateEpisode("", "", ())


def neighbors_from_wire(request: graph_pb2.NeighborsRequest) -> NeighborsQuery:
    """The query of a Neighbors."""
    return NeighborsQuery(
        agent_id=request.agent_id,
        ids=tuple(request.ids),
        depth=request.depth or _QUERY.depth,
        limit=request.limit or _QUERY.limit,
        types=LINK_TYPES.list_from_wire(request.types, "types"),
        min_confidence=request.min_confidence,
        hop_decay=request.hop_decay if request.HasField("hop_decay") else _QUERY.hop_decay,
    )


def neighborhood_to_wire(value: Neighborhood, include_vectors: bool) -> graph_pb2.NeighborsResponse:
    """Answer of a Neighbors."""
    return graph_pb2.NeighborsResponse(
        revision=value.revision,
        neighbors=[
            graph_pb2.Neighbor(
                memory=memory_to_wire(one.memory, include_vectors),
                depth=one.depth,
                activation=one.activation,
                via_id=one.via_id,
                via=link_to_wire(one.via),
            )
            for one in value.neighbors
        ],
        truncated=value.truncated,
    )


def merge_from_wire(request: graph_pb2.MergeRequest) -> Merge:
    """The command of a Merge."""
    return Merge(
        agent_id=request.agent_id,
        keep_id=request.keep_id,
        remove_ids=tuple(request.remove_ids),
        content=request.content,
        vector=request.vector,
        reason=request.reason,
        expected_revisions=revisions_from_wire(request.expected_revisions),
        force=request.force,
    )


def merged_to_wire(applied: Applied) -> graph_pb2.MergeResponse:
    """Answer of a Merge."""
    (result,) = applied.results
    assert isinstance(result, Merged)
    guard = result.guard
    return graph_pb2.MergeResponse(
        revision=applied.revision,
        merged=result.merged,
        memory=memory_to_wire(result.memory),
        sources=[memory_to_wire(memory) for memory in result.sources],
        duplicate=duplicate_to_wire(guard.duplicate) if guard else None,
        layers=[layer_to_wire(item) for item in guard.layers] if guard else (),
        lost=[lost_to_wire(detail) for detail in result.lost],
        moved_link_count=result.moved_link_count,
        dropped_link_count=result.dropped_link_count,
        replayed=applied.replayed,
        operation_id=applied.operation_id,
    )


def lost_to_wire(value: LostDetail) -> graph_pb2.LostDetail:
    """A detail that a merged text no longer has."""
    start, end = value.place
    return graph_pb2.LostDetail(
        memory_id=value.memory_id,
        finding=FINDINGS.to_wire(value.finding),
        place=types_pb2.Span(start=start, end=end),
        text=value.text,
    )


def episode_from_wire(request: graph_pb2.CreateEpisodeRequest) -> CreateEpisode:
    """The command of a CreateEpisode."""
    required(request.HasField("episode"), "episode")
    draft = request.episode
    return CreateEpisode(
        agent_id=request.agent_id,
        summary=draft.summary,
        # Repeats are folded and the first place counts.
        memory_ids=tuple(dict.fromkeys(draft.memory_ids)),
        start_us=time_from_wire(draft, "start_time", "episode.start_time"),
        end_us=time_from_wire(draft, "end_time", "episode.end_time"),
        importance=draft.importance if draft.HasField("importance") else _EPISODE.importance,
        private=draft.private,
    )


def episode_to_wire(value: Episode) -> graph_pb2.Episode:
    """An episode as an answer shows it: the engine has mapped and filtered its memories."""
    return graph_pb2.Episode(
        id=value.id,
        summary=value.summary,
        memory_ids=value.memory_ids,
        gone_count=value.gone_count,
        start_time=time_to_wire(value.start_us),
        end_time=time_to_wire(value.end_us),
        importance=value.importance,
        agent_id=value.agent_id,
        private=value.private,
        created_time=time_to_wire(value.created_us),
        revision=value.revision,
    )


def episode_made_to_wire(applied: Applied) -> graph_pb2.CreateEpisodeResponse:
    """Answer of a CreateEpisode."""
    (result,) = applied.results
    assert isinstance(result, EpisodeMade)
    return graph_pb2.CreateEpisodeResponse(
        revision=applied.revision,
        episode=episode_to_wire(result.episode),
        replayed=applied.replayed,
        operation_id=applied.operation_id,
    )


def episode_deleted_to_wire(applied: Applied) -> graph_pb2.DeleteEpisodeResponse:
    """Answer of a DeleteEpisode."""
    (result,) = applied.results
    assert isinstance(result, EpisodeDeleted)
    return graph_pb2.DeleteEpisodeResponse(
        revision=applied.revision,
        episode=episode_to_wire(result.episode),
        replayed=applied.replayed,
        operation_id=applied.operation_id,
    )


def episode_read_to_wire(value: EpisodeRead) -> graph_pb2.GetEpisodeResponse:
    """Answer of a GetEpisode."""
    return graph_pb2.GetEpisodeResponse(
        revision=value.revision,
        episode=episode_to_wire(value.episode),
        memories=[memory_to_wire(memory) for memory in value.memories],
        note=_note(value.episode.gone_count),
    )


def _note(gone_count: int) -> str:
    match gone_count:
        case 0:
            return ""
        case 1:
            return "1 memory no longer exists"
        case _:
            return f"{gone_count} memories no longer exist"


def episodes_to_wire(value: EpisodePage) -> graph_pb2.ListEpisodesResponse:
    """One page of episodes."""
    return graph_pb2.ListEpisodesResponse(
        revision=value.revision,
        episodes=[episode_to_wire(episode) for episode in value.episodes],
        next_page_token=value.next_page_token,
    )
