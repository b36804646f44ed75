"""Neighbors, Merge and the calls on episodes."""

from __future__ import annotations

from totonoe.v1 import graph_pb2, types_pb2
from totonoe_core.domain.graph import CreateEpisode, DeleteEpisode, EpisodeDeleted, EpisodeMade
from totonoe_core.domain.memories import LostDetail, Merge, Merged
from totonoe_core.domain.queries import (
    EpisodePage,
    EpisodeRead,
    Neighbor,
    Neighborhood,
    NeighborsQuery,
)
from totonoe_core.domain.records import Episode
from totonoe_server.wire.mapping import answer, answer_or_preview, decoder, encoder
from totonoe_server.wire.memories import memory_to_wire
from totonoe_server.wire.scalars import required, time_from_wire

_EPISODE = CreateEpisode("", "", ())


neighbors_from_wire = decoder(
    graph_pb2.NeighborsRequest, NeighborsQuery, without=("include_vectors",)
)
_neighbor_to_wire = encoder(Neighbor, graph_pb2.Neighbor, given=("memory",))
_neighborhood_to_wire = encoder(Neighborhood, graph_pb2.NeighborsResponse, given=("neighbors",))


def neighborhood_to_wire(value: Neighborhood, include_vectors: bool) -> graph_pb2.NeighborsResponse:
    """Return the answer of a Neighbors."""
    neighbors = [
        _neighbor_to_wire(neighbor, memory=memory_to_wire(neighbor.memory, include_vectors))
        for neighbor in value.neighbors
    ]
    return _neighborhood_to_wire(value, neighbors=neighbors)


merge_from_wire = decoder(graph_pb2.MergeRequest, Merge, without=("dry_run",))
lost_to_wire = encoder(
    LostDetail,
    graph_pb2.LostDetail,
    computed={"place": lambda value: types_pb2.Span(start=value.place[0], end=value.place[1])},
)
merged_to_wire = answer_or_preview(
    Merged,
    graph_pb2.MergeResponse,
    names={"duplicate": "guard.duplicate", "layers": "guard.layers"},
)
episode_to_wire = encoder(Episode, graph_pb2.Episode)
episode_made_to_wire = answer(EpisodeMade, graph_pb2.CreateEpisodeResponse)
episode_deleted_to_wire = answer(EpisodeDeleted, graph_pb2.DeleteEpisodeResponse)
episodes_to_wire = encoder(EpisodePage, graph_pb2.ListEpisodesResponse)
episode_read_to_wire = encoder(
    EpisodeRead,
    graph_pb2.GetEpisodeResponse,
    computed={"note": lambda value: _note(value.episode.gone_count)},
)
delete_episode_from_wire = decoder(
    graph_pb2.DeleteEpisodeRequest, DeleteEpisode, names={"episode_id": "id"}
)


def episode_from_wire(request: graph_pb2.CreateEpisodeRequest) -> CreateEpisode:
    """Return the command of a CreateEpisode."""
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


def _note(gone_count: int) -> str:
    match gone_count:
        case 0:
            return ""
        case 1:
            return "1 memory no longer exists"
        case _:
            return f"{gone_count} memories no longer exist"
