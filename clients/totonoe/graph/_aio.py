# Made by clients/generate_async.py from calls.py. Do not edit.
"""Calls about several memories together: neighbours, merges, episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import graph_models as models
from totonoe.enums import LinkTypeWord
from totonoe.memories.drafts import Vector
from totonoe.memories.models import TimeRange
from totonoe.v1 import graph_pb2
from totonoe.wire.mapping import encode
from totonoe.wire.scalars import encode_ids


class AsyncGraphCalls(AsyncCalls):
    """Calls about several memories together."""

    async def neighbors(
        self,
        ids: str | Iterable[str],
        *,
        depth: int = 1,
        limit: int = 50,
        types: Iterable[LinkTypeWord] = (),
        min_confidence: float = 0.0,
        hop_decay: float | None = None,
        include_vectors: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Neighborhood:
        """Follows links from some memories by spreading activation; highest first.

        See `Client.neighbors`.
        """
        request = self._request(
            graph_pb2.NeighborsRequest,
            ids=encode_ids(ids, "ids"),
            depth=depth,
            limit=limit,
            types=types,
            min_confidence=min_confidence,
            hop_decay=hop_decay,
            include_vectors=include_vectors,
            collection=collection,
        )
        return await self._run(request, models.Neighborhood, timeout_s)

    async def merge(
        self,
        keep_id: str,
        remove_ids: str | Iterable[str],
        *,
        content: str = "",
        vector: Vector = None,
        reason: str = "",
        expected_revisions: Mapping[str, int] | None = None,
        force: bool = False,
        dry_run: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Merged:
        """Merges several memories into one, which supersedes the others.

        See `Client.merge`.
        """
        request = self._request(
            graph_pb2.MergeRequest,
            keep_id=keep_id,
            remove_ids=encode_ids(remove_ids, "remove_ids"),
            content=content,
            vector=vector,
            reason=reason,
            expected_revisions=expected_revisions,
            force=force,
            dry_run=dry_run,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.Merged, timeout_s)

    async def create_episode(
        self,
        summary: str,
        memory_ids: Iterable[str],
        *,
        start_time: datetime | None = None,
        end_time: datetime | None = None,
        importance: int | None = None,
        private: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.EpisodeMade:
        """Creates an episode: memories that belong together as something that happened.

        See `Client.create_episode`.
        """
        episode = encode(
            graph_pb2.EpisodeDraft,
            {
                "summary": summary,
                "memory_ids": memory_ids,
                "start_time": start_time,
                "end_time": end_time,
                "importance": importance,
                "private": private,
            },
        )
        request = self._request(
            graph_pb2.CreateEpisodeRequest,
            episode=episode,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.EpisodeMade, timeout_s)

    async def get_episode(
        self,
        episode_id: str,
        *,
        include_memories: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.EpisodeRead:
        """Returns an episode, on request with its memories. Raises `NotFound`."""
        request = self._request(
            graph_pb2.GetEpisodeRequest,
            id=episode_id,
            include_memories=include_memories,
            collection=collection,
        )
        return await self._run(request, models.EpisodeRead, timeout_s)

    async def list_episodes(
        self,
        *,
        time: TimeRange | None = None,
        memory_id: str = "",
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.EpisodePage:
        """Returns a page of episodes by start, then id; `page_size` 1 to 1,000.

        See `Client.list_episodes`.
        """
        request = self._request(
            graph_pb2.ListEpisodesRequest,
            time=time,
            memory_id=memory_id,
            page_size=page_size,
            page_token=page_token,
            collection=collection,
        )
        return await self._run(request, models.EpisodePage, timeout_s)

    async def delete_episode(
        self,
        episode_id: str,
        *,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.EpisodeDeleted:
        """Deletes an episode; its memories stay."""
        request = self._request(
            graph_pb2.DeleteEpisodeRequest,
            id=episode_id,
            reason=reason,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.EpisodeDeleted, timeout_s)
