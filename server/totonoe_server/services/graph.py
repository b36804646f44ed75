"""The calls about memories in their relations: neighbours, merges, episodes."""

from __future__ import annotations

from totonoe.v1 import graph_pb2 as pb
from totonoe_core.base import limits
from totonoe_core.domain.queries import EpisodeQuery, EpisodesQuery, GetQuery
from totonoe_server.services.calls import UNMEASURED_MEMORIES_MAX, Calls, Context, fits_an_answer
from totonoe_server.services.pending import answer_of
from totonoe_server.wire import graph as codec
from totonoe_server.wire.answers import gotten_to_wire
from totonoe_server.wire.scalars import collection_name, range_from_wire

MERGED_BYTES_MAX = 1024 * 1024
"""Of a Merge's answer besides the sources: the merged memory, what is lost, the guard's report."""


class GraphCalls(Calls):
    """Neighbors, Merge and the calls on episodes over an engine."""

    async def Neighbors(self, request: pb.NeighborsRequest, _: Context) -> pb.NeighborsResponse:
        """Follows links."""
        collection, query = collection_name(request.collection), codec.neighbors_from_wire(request)
        found = await answer_of(self._engine.read(collection, query))
        return codec.neighborhood_to_wire(found, request.include_vectors)

    async def Merge(self, request: pb.MergeRequest, _: Context) -> pb.MergeResponse:
        """Makes one memory of several."""
        if UNMEASURED_MEMORIES_MAX <= len(request.remove_ids) <= limits.MERGE_IDS_MAX:
            await self._check_sources(request)
        return codec.merged_to_wire(await self._apply(request, codec.merge_from_wire(request)))

    async def _check_sources(self, request: pb.MergeRequest) -> None:
        """Refuses a Merge whose answer would be too long, while nothing is merged yet."""
        collection, ids = collection_name(request.collection), tuple(request.remove_ids)
        sources = await answer_of(
            self._engine.read(collection, GetQuery(request.agent_id, tuple(ids)))
        )
        answer = gotten_to_wire(sources, include_vectors=False)
        fits_an_answer(answer, "remove_ids", "merge fewer at once", MERGED_BYTES_MAX)

    async def CreateEpisode(
        self, request: pb.CreateEpisodeRequest, _: Context
    ) -> pb.CreateEpisodeResponse:
        """Keeps memories together."""
        applied = await self._apply(request, codec.episode_from_wire(request))
        return codec.episode_made_to_wire(applied)

    async def GetEpisode(self, request: pb.GetEpisodeRequest, _: Context) -> pb.GetEpisodeResponse:
        """Reads an episode."""
        future = self._engine.read(
            collection_name(request.collection),
            EpisodeQuery(request.agent_id, request.id, request.include_memories),
        )
        return codec.episode_read_to_wire(await answer_of(future))

    async def ListEpisodes(
        self, request: pb.ListEpisodesRequest, _: Context
    ) -> pb.ListEpisodesResponse:
        """One page of episodes."""
        page = await answer_of(
            self._engine.read(
                collection_name(request.collection),
                EpisodesQuery(
                    request.agent_id,
                    range_from_wire(request, "time", "time"),
                    request.memory_id,
                    request.page_size or limits.PAGE_SIZE_DEFAULT,
                    request.page_token,
                ),
            )
        )
        return codec.episodes_to_wire(page)

    async def DeleteEpisode(
        self, request: pb.DeleteEpisodeRequest, _: Context
    ) -> pb.DeleteEpisodeResponse:
        """Takes an episode away."""
        command = codec.delete_episode_from_wire(request)
        return codec.episode_deleted_to_wire(await self._apply(request, command))
