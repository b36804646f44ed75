"""The calls that clean up by rule: ends of sessions, exact doubles, what has faded."""

from __future__ import annotations

from totonoe.v1 import cleanup_pb2 as pb
from totonoe_server.services.building import Encoded
from totonoe_server.services.calls import Calls, Context
from totonoe_server.wire import cleanup as codec


class CleanupCalls(Calls):
    """EndSession, CleanUpDuplicates and Decay over an engine."""

    async def EndSession(self, request: pb.EndSessionRequest, _: Context) -> Encoded:
        """Ends a session, or tells what that would supersede."""
        command = codec.end_session_from_wire(request)
        return await self._applied_or_previewed(
            request, command, request.dry_run, codec.session_ended_to_wire
        )

    async def CleanUpDuplicates(self, request: pb.CleanUpDuplicatesRequest, _: Context) -> Encoded:
        """Supersedes exact doubles, or tells them."""
        command = codec.clean_up_from_wire(request)
        return await self._applied_or_previewed(
            request, command, not request.apply, codec.cleaned_up_to_wire
        )

    async def Decay(self, request: pb.DecayRequest, _: Context) -> Encoded:
        """Tells what has faded, and closes it if that is asked for."""
        command = codec.decay_from_wire(request)
        dry_run = request.dry_run or command.close_below is None
        return await self._applied_or_previewed(request, command, dry_run, codec.decayed_to_wire)
