"""The calls that clean up by rule: ends of sessions, exact doubles, what has faded."""

from __future__ import annotations

from totonoe.v1 import cleanup_pb2 as pb
from totonoe_core.domain.cleanup import CleanedUp, Decayed, SessionEnded
from totonoe_server.services.calls import Calls, Context
from totonoe_server.services.pending import answer_of
from totonoe_server.wire import cleanup as codec
from totonoe_server.wire.scalars import collection_name


class CleanupCalls(Calls):
    """EndSession, CleanUpDuplicates and Decay over an engine."""

    async def EndSession(self, request: pb.EndSessionRequest, _: Context) -> pb.EndSessionResponse:
        """Ends a session, or tells what that would supersede."""
        command = codec.end_session_from_wire(request)
        if request.dry_run:
            collection = collection_name(request.collection)
            found = await answer_of(self._engine.preview(collection, command))
            return codec.session_ended_to_wire(found.answer, found.revision, None)
        applied = await self._apply(request, command)
        (result,) = applied.results
        assert isinstance(result, SessionEnded)
        return codec.session_ended_to_wire(result, applied.revision, applied)

    async def CleanUpDuplicates(
        self, request: pb.CleanUpDuplicatesRequest, _: Context
    ) -> pb.CleanUpDuplicatesResponse:
        """Supersedes exact doubles, or tells them."""
        command = codec.clean_up_from_wire(request)
        if not request.apply:
            collection = collection_name(request.collection)
            found = await answer_of(self._engine.preview(collection, command))
            return codec.cleaned_up_to_wire(found.answer, found.revision, None)
        applied = await self._apply(request, command)
        (result,) = applied.results
        assert isinstance(result, CleanedUp)
        return codec.cleaned_up_to_wire(result, applied.revision, applied)

    async def Decay(self, request: pb.DecayRequest, _: Context) -> pb.DecayResponse:
        """Tells what has faded, and closes it if that is asked for."""
        command = codec.decay_from_wire(request)
        if request.dry_run or command.close_below is None:
            collection = collection_name(request.collection)
            found = await answer_of(self._engine.preview(collection, command))
            return codec.decayed_to_wire(found.answer, found.revision, None)
        applied = await self._apply(request, command)
        (result,) = applied.results
        assert isinstance(result, Decayed)
        return codec.decayed_to_wire(result, applied.revision, applied)
