"""The calls that clean up by rule: ends of sessions, exact doubles, what has faded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from totonoe.v1 import cleanup_pb2 as pb
from totonoe_core.domain.cleanup import CleanUpDuplicates, Decay, EndSession
from totonoe_core.domain.commands import Applied
from totonoe_server.services.building import Encoded
from totonoe_server.services.calls import Calls, Context, Write
from totonoe_server.wire import cleanup as codec

_CleanUp = EndSession | CleanUpDuplicates | Decay


class CleanupCalls(Calls):
    """EndSession, CleanUpDuplicates and Decay over an engine."""

    async def EndSession(self, request: pb.EndSessionRequest, _: Context) -> Encoded:
        """Ends a session, or tells what that would supersede."""
        command = codec.end_session_from_wire(request)
        return await self._cleaned(request, command, request.dry_run, codec.session_ended_to_wire)

    async def CleanUpDuplicates(self, request: pb.CleanUpDuplicatesRequest, _: Context) -> Encoded:
        """Supersedes exact doubles, or tells them."""
        command = codec.clean_up_from_wire(request)
        return await self._cleaned(request, command, not request.apply, codec.cleaned_up_to_wire)

    async def Decay(self, request: pb.DecayRequest, _: Context) -> Encoded:
        """Tells what has faded, and closes it if that is asked for."""
        command = codec.decay_from_wire(request)
        dry_run = request.dry_run or command.close_below is None
        return await self._cleaned(request, command, dry_run, codec.decayed_to_wire)

    async def _cleaned(
        self,
        request: Write,
        command: _CleanUp,
        dry_run: bool,
        to_wire: Callable[[Any, int, Applied | None], Message],
    ) -> Encoded:
        """The answer of a clean-up, or of its dry run."""
        if dry_run:
            return await self._previewed(
                request.collection, command, lambda found, revision: to_wire(found, revision, None)
            )
        return await self._applied(
            request, command, lambda done: to_wire(done.results[0], done.revision, done)
        )
