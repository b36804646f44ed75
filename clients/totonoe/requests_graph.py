"""Requests about memories in their relations: neighbours, merges, episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from totonoe import convert, convert_graph, graph_models, models, scalars
from totonoe.drafts import Vector
from totonoe.enums import LinkType
from totonoe.prepared import MEMORY_SERVICE as _MEMORY
from totonoe.prepared import Caller, Prepared, new_operation_id
from totonoe.v1 import graph_pb2 as graph_pb


class GraphRequests(Caller):
    """What is asked about several memories together."""

    def neighbors(
        self,
        ids: str | Iterable[str],
        depth: int,
        limit: int,
        types: Iterable[LinkType | str],
        min_confidence: float,
        hop_decay: float | None,
        include_vectors: bool,
        collection: str | None,
    ) -> Prepared[graph_models.Neighborhood]:
        """Neighbors of one memory or several."""
        request = graph_pb.NeighborsRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            ids=scalars.encode_ids(ids, "ids"),
            depth=depth,
            limit=limit,
            types=[
                convert.LINK_TYPE.encode(one, "types")
                for one in scalars.encode_texts(types, "types")
            ],
            min_confidence=min_confidence,
            hop_decay=hop_decay,
            include_vectors=include_vectors,
        )
        return Prepared(
            _MEMORY + "Neighbors",
            request,
            graph_pb.NeighborsResponse,
            convert_graph.decode_neighborhood,
        )

    def merge(
        self,
        keep_id: str,
        remove_ids: str | Iterable[str],
        content: str,
        vector: Vector,
        reason: str,
        expected_revisions: Mapping[str, int] | None,
        force: bool,
        operation_id: str,
        collection: str | None,
    ) -> Prepared[graph_models.Merged]:
        """Merge."""
        request = graph_pb.MergeRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            keep_id=keep_id,
            remove_ids=scalars.encode_ids(remove_ids, "remove_ids"),
            content=content,
            vector=b"" if vector is None else scalars.encode_vector(vector),
            reason=reason,
            expected_revisions=expected_revisions,
            force=force,
        )
        return Prepared(
            _MEMORY + "Merge", request, graph_pb.MergeResponse, convert_graph.decode_merged
        )

    def create_episode(
        self,
        summary: str,
        memory_ids: Iterable[str],
        start_time: datetime | None,
        end_time: datetime | None,
        importance: int | None,
        private: bool,
        operation_id: str,
        collection: str | None,
    ) -> Prepared[graph_models.EpisodeMade]:
        """CreateEpisode."""
        draft = graph_pb.EpisodeDraft(
            summary=summary,
            memory_ids=scalars.encode_texts(memory_ids, "memory_ids"),
            importance=importance,
            private=private,
        )
        if start_time is not None:
            draft.start_time.CopyFrom(scalars.encode_time(start_time, "start_time"))
        if end_time is not None:
            draft.end_time.CopyFrom(scalars.encode_time(end_time, "end_time"))
        request = graph_pb.CreateEpisodeRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            episode=draft,
        )
        return Prepared(
            _MEMORY + "CreateEpisode",
            request,
            graph_pb.CreateEpisodeResponse,
            convert_graph.decode_made,
        )

    def get_episode(
        self, episode_id: str, include_memories: bool, collection: str | None
    ) -> Prepared[graph_models.EpisodeRead]:
        """GetEpisode."""
        request = graph_pb.GetEpisodeRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            id=episode_id,
            include_memories=include_memories,
        )
        return Prepared(
            _MEMORY + "GetEpisode", request, graph_pb.GetEpisodeResponse, convert_graph.decode_read
        )

    def list_episodes(
        self,
        time: models.TimeRange | None,
        memory_id: str,
        page_size: int,
        page_token: str,
        collection: str | None,
    ) -> Prepared[graph_models.EpisodePage]:
        """ListEpisodes."""
        request = graph_pb.ListEpisodesRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            time=None if time is None else convert.encode_range(time, "time"),
            memory_id=memory_id,
            page_size=page_size,
            page_token=page_token,
        )
        return Prepared(
            _MEMORY + "ListEpisodes",
            request,
            graph_pb.ListEpisodesResponse,
            convert_graph.decode_episodes,
        )

    def delete_episode(
        self, episode_id: str, reason: str, operation_id: str, collection: str | None
    ) -> Prepared[graph_models.EpisodeDeleted]:
        """DeleteEpisode."""
        request = graph_pb.DeleteEpisodeRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            id=episode_id,
            reason=reason,
        )
        return Prepared(
            _MEMORY + "DeleteEpisode",
            request,
            graph_pb.DeleteEpisodeResponse,
            convert_graph.decode_gone,
        )
