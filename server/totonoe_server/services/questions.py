"""The calls about memories that somebody is asked about."""

from __future__ import annotations

from totonoe.v1 import questions_pb2 as pb
from totonoe_server.services.building import Encoded
from totonoe_server.services.calls import Calls, Context
from totonoe_server.wire import questions as codec


class QuestionCalls(Calls):
    """Resolve, Review and ListQuestions over an engine."""

    async def Resolve(self, request: pb.ResolveRequest, _: Context) -> Encoded:
        """Answers whether two memories say the same."""
        command = codec.resolve_from_wire(request)
        return await self._applied_or_previewed(
            request, command, request.dry_run, codec.resolved_to_wire
        )

    async def Review(self, request: pb.ReviewRequest, _: Context) -> Encoded:
        """Confirms or rejects a memory that waits for a review."""
        return await self._applied(request, codec.review_from_wire(request), codec.reviewed_to_wire)

    async def ListQuestions(self, request: pb.ListQuestionsRequest, _: Context) -> Encoded:
        """Returns one page of questions."""
        query = codec.questions_from_wire(request)
        return await self._read(request.collection, query, codec.questions_to_wire)
