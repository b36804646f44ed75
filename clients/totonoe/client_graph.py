"""Calls of the blocking client about several memories together: neighbours, merges, episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from totonoe import graph_models, models
from totonoe.calls import Calls
from totonoe.drafts import Vector
from totonoe.enums import LinkType


class GraphCalls(Calls):
    """What a blocking client does with memories in their relations."""

    def neighbors(
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
        """Follows links from some memories by spreading activation; highest first.

        Parameters
        ----------
        ids : str or iterable of str
            Where to begin, 1 to 100 memories.
        depth : int
            How many links away at most, 1 to 5.
        limit : int
            How many neighbours at most, 1 to 1,000.
        types : iterable of LinkType or str
            Follow only links of these types, as the nearer memory holds them; none: all.
        min_confidence : float
            Follow only links of at least this confidence, 0 to 1.
        hop_decay : float or None
            What is left of an activation after each link, above 0 to 1; `None`: 0.5.
        """
        prepared = self._requests.neighbors(
            ids, depth, limit, types, min_confidence, hop_decay, include_vectors, collection
        )
        return self._run(prepared, timeout_s)

    def merge(
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
        """Makes one memory of several; the others become superseded by it.

        Links, tags, evidence and figures are joined. A changed text passes the guard; if it
        repeats another memory, the answer says so (`merged` is false). `lost` in the answer
        warns of numbers, names and dates that the text no longer has.

        Parameters
        ----------
        keep_id : str
            Live memory that stays.
        remove_ids : str or iterable of str
            Live memories that it takes the place of, 1 to 64.
        content : str
            Text of the merged memory; empty: that of the one that stays.
        vector : bytes, sequence of float or buffer
            Vector of the new text; `None`: it is embedded.
        expected_revisions : mapping of str to int or None
            Raise `StaleRevision` unless these memories are at these revisions.
        force : bool
            Merge even if the text then repeats another live memory.
        """
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
        return self._run(prepared, timeout_s)

    # -- episodes

    def create_episode(
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
        """Keeps memories together as something that happened.

        Parameters
        ----------
        summary : str
            What happened, at most 32 KiB.
        memory_ids : iterable of str
            Its memories in their order, 1 to 1,000, each there and not forgotten.
        start_time, end_time : datetime or None
            `None`: when its first, and its last memory was created.
        importance : int or None
            1 to 5; `None`: 3.
        private : bool
            Only this agent may see it.
        """
        prepared = self._requests.create_episode(
            summary, memory_ids, start_time, end_time, importance, private, operation_id, collection
        )
        return self._run(prepared, timeout_s)

    def get_episode(
        self,
        episode_id: str,
        *,
        include_memories: bool = False,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> graph_models.EpisodeRead:
        """One episode, with its memories if asked for. Raises `NotFound`."""
        prepared = self._requests.get_episode(episode_id, include_memories, collection)
        return self._run(prepared, timeout_s)

    def list_episodes(
        self,
        *,
        time: models.TimeRange | None = None,
        memory_id: str = "",
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> graph_models.EpisodePage:
        """One page of episodes by start, then id; `page_size` 1 to 1,000.

        Parameters
        ----------
        time : TimeRange or None
            Only those that overlap it.
        memory_id : str
            Only those that hold this memory, or one that it took the place of.
        """
        prepared = self._requests.list_episodes(time, memory_id, page_size, page_token, collection)
        return self._run(prepared, timeout_s)

    def delete_episode(
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
        return self._run(prepared, timeout_s)
