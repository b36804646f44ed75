"""The calls about memories in their relations: neighbours, merges, episodes."""

from __future__ import annotations

from google.protobuf.message import Message

from totonoe.v1 import graph_pb2 as pb
from totonoe_core.base import limits
from totonoe_core.domain.queries import EpisodeQuery, EpisodesQuery, GetQuery, Gotten
from totonoe_server.services.building import Encoded
from totonoe_server.services.calls import UNMEASURED_MEMORIES_MAX, Calls, Context, fits_an_answer
from totonoe_server.wire import graph as codec
from totonoe_server.wire.answers import gotten_to_wire
from totonoe_server.wire.scalars import range_from_wire

MERGED_BYTES_MAX = 1024 * 1024
"""Of a Merge's answer besides the sources: the merged memory, what is lost, the guard's report."""


class GraphCalls(Calls):
    """Neighbors, Merge and the calls on episodes over an engine."""

    async def Neighbors(self, request: pb.NeighborsRequest, _: Context) -> Encoded:
        """Follows links."""
        with_vectors = request.include_vectors
        return await self._read(
            request.collection,
            codec.neighbors_from_wire(request),
            lambda neighborhood: codec.neighborhood_to_wire(neighborhood, with_vectors),
            request.min_revision,
        )

    async def Merge(self, request: pb.MergeRequest, _: Context) -> Encoded:
        """Makes one memory of several."""
        if UNMEASURED_MEMORIES_MAX <= len(request.remove_ids) <= limits.MERGE_IDS_MAX:
            await self._check_sources(request)
        command = codec.merge_from_wire(request)
        return await self._applied_or_previewed(
            request, command, request.dry_run, codec.merged_to_wire
        )

    async def _check_sources(self, request: pb.MergeRequest) -> None:
        """Refuses a Merge whose answer would be too long, while nothing is merged yet."""

        def to_wire(sources: Gotten) -> Message:
            answer = gotten_to_wire(sources, include_vectors=False)
            fits_an_answer(answer, "remove_ids", "merge fewer at once", MERGED_BYTES_MAX)
            return answer

        query = GetQuery(request.agent_id, tuple(request.remove_ids))
        await self._read(request.collection, query, to_wire)

    async def CreateEpisode(self, request: pb.CreateEpisodeRequest, _: Context) -> Encoded:
        """Keeps memories together."""
        command = codec.episode_from_wire(request)
        return await self._applied(request, command, codec.episode_made_to_wire)

    async def GetEpisode(self, request: pb.GetEpisodeRequest, _: Context) -> Encoded:
        """Reads an episode."""
        query = EpisodeQuery(request.agent_id, request.id, request.include_memories)
        return await self._read(
            request.collection, query, codec.episode_read_to_wire, request.min_revision
        )

    async def ListEpisodes(self, request: pb.ListEpisodesRequest, _: Context) -> Encoded:
        """One page of episodes."""
        query = EpisodesQuery(
            request.agent_id,
            range_from_wire(request, "time", "time"),
            request.memory_id,
            request.page_size or limits.PAGE_SIZE_DEFAULT,
            request.page_token,
        )
        return await self._read(
            request.collection, query, codec.episodes_to_wire, request.min_revision
        )

    async def DeleteEpisode(self, request: pb.DeleteEpisodeRequest, _: Context) -> Encoded:
        """Takes an episode away."""
        command = codec.delete_episode_from_wire(request)
        return await self._applied(request, command, codec.episode_deleted_to_wire)
