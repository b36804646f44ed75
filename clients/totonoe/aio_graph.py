"""Calls of the asyncio client about several memories together: neighbours, merges, episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from totonoe import graph_models, models
from totonoe.calls import AsyncCalls
from totonoe.drafts import Vector
from totonoe.enums import LinkType


class AsyncGraphCalls(AsyncCalls):
    """What an asyncio client does with memories in their relations."""

    async def neighbors(
        self,
        ids: str | Iterable[str],
        *,
        depth: int = 1,
        limit: int = 50,
        types: Iterable[LinkType | str] = (),
        min_confidence: float = 0.0,
        hop_decay: float | None = None,
        include_vectors: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> graph_models.Neighborhood:
        """Follows links from some memories by spreading activation; as `Client.neighbors`."""
        prepared = self._requests.neighbors(
            ids, depth, limit, types, min_confidence, hop_decay, include_vectors, collection
        )
        return await self._run(prepared, timeout_s)

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
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> graph_models.Merged:
        """Makes one memory of several; the others become superseded by it; as `Client.merge`."""
        prepared = self._requests.merge(
            keep_id,
            remove_ids,
            content,
            vector,
            reason,
            expected_revisions,
            force,
            operation_id,
            collection,
        )
        return await self._run(prepared, timeout_s)

    # -- episodes

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
    ) -> graph_models.EpisodeMade:
        """Keeps memories together as something that happened; as `Client.create_episode`."""
        prepared = self._requests.create_episode(
            summary, memory_ids, start_time, end_time, importance, private, operation_id, collection
        )
        return await self._run(prepared, timeout_s)

    async def get_episode(
        self,
        episode_id: str,
        *,
        include_memories: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> graph_models.EpisodeRead:
        """One episode, with its memories if asked for. Raises `NotFound`."""
        prepared = self._requests.get_episode(episode_id, include_memories, collection)
        return await self._run(prepared, timeout_s)

    async def list_episodes(
        self,
        *,
        time: models.TimeRange | None = None,
        memory_id: str = "",
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> graph_models.EpisodePage:
        """One page of episodes by start, then id; as `Client.list_episodes`."""
        prepared = self._requests.list_episodes(time, memory_id, page_size, page_token, collection)
        return await self._run(prepared, timeout_s)

    async def delete_episode(
        self,
        episode_id: str,
        *,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> graph_models.EpisodeDeleted:
        """Takes an episode away; its memories stay."""
        prepared = self._requests.delete_episode(episode_id, reason, operation_id, collection)
        return await self._run(prepared, timeout_s)
