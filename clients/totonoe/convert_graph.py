"""Neighbours, merges and episodes: wire to models."""

from __future__ import annotations

from totonoe import graph_models as models
from totonoe import scalars
from totonoe.convert import (
    FINDING,
    decode_duplicate,
    decode_layer,
    decode_link,
    decode_memory,
    decode_optional_time,
)
from totonoe.v1 import graph_pb2


def decode_neighborhood(answer: graph_pb2.NeighborsResponse) -> models.Neighborhood:
    """Answer of Neighbors."""
    return models.Neighborhood(
        revision=answer.revision,
        neighbors=tuple(
            models.Neighbor(
                memory=decode_memory(one.memory),
                depth=one.depth,
                activation=one.activation,
                via_id=one.via_id,
                via=decode_link(one.via),
            )
            for one in answer.neighbors
        ),
        truncated=answer.truncated,
    )


def decode_merged(answer: graph_pb2.MergeResponse) -> models.Merged:
    """Answer of Merge."""
    return models.Merged(
        revision=answer.revision,
        merged=answer.merged,
        memory=decode_memory(answer.memory),
        sources=tuple(decode_memory(memory) for memory in answer.sources),
        duplicate=decode_duplicate(answer),
        layers=tuple(decode_layer(layer) for layer in answer.layers),
        lost=tuple(
            models.LostDetail(
                memory_id=one.memory_id,
                finding=FINDING.decode(one.finding),
                place=(one.place.start, one.place.end),
                text=one.text,
            )
            for one in answer.lost
        ),
        moved_link_count=answer.moved_link_count,
        dropped_link_count=answer.dropped_link_count,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


# -- episodes


def _decode_episode(message: graph_pb2.Episode) -> models.Episode:
    return models.Episode(
        id=message.id,
        summary=message.summary,
        memory_ids=tuple(message.memory_ids),
        gone_count=message.gone_count,
        start_time=decode_optional_time(message, "start_time"),
        end_time=decode_optional_time(message, "end_time"),
        importance=message.importance,
        agent_id=message.agent_id,
        private=message.private,
        created_time=scalars.decode_time(message.created_time),
        revision=message.revision,
    )


def decode_made(answer: graph_pb2.CreateEpisodeResponse) -> models.EpisodeMade:
    """Answer of CreateEpisode."""
    return models.EpisodeMade(
        revision=answer.revision,
        episode=_decode_episode(answer.episode),
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_read(answer: graph_pb2.GetEpisodeResponse) -> models.EpisodeRead:
    """Answer of GetEpisode."""
    return models.EpisodeRead(
        revision=answer.revision,
        episode=_decode_episode(answer.episode),
        memories=tuple(decode_memory(memory) for memory in answer.memories),
        note=answer.note,
    )


def decode_episodes(answer: graph_pb2.ListEpisodesResponse) -> models.EpisodePage:
    """Answer of ListEpisodes."""
    return models.EpisodePage(
        revision=answer.revision,
        episodes=tuple(_decode_episode(one) for one in answer.episodes),
        next_page_token=answer.next_page_token,
    )


def decode_gone(answer: graph_pb2.DeleteEpisodeResponse) -> models.EpisodeDeleted:
    """Answer of DeleteEpisode."""
    return models.EpisodeDeleted(
        revision=answer.revision,
        episode=_decode_episode(answer.episode),
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )
