"""The calls about pairs that probably say the same."""

from __future__ import annotations

from totonoe.v1 import questions_pb2 as pb
from totonoe_server.services.calls import Calls, Context
from totonoe_server.services.pending import answer_of
from totonoe_server.wire import questions as codec
from totonoe_server.wire.scalars import collection_name


class QuestionCalls(Calls):
    """Resolve and ListQuestions over an engine."""

    async def Resolve(self, request: pb.ResolveRequest, _: Context) -> pb.ResolveResponse:
        """Answers whether two memories say the same."""
        return codec.resolved_to_wire(await self._apply(request, codec.resolve_from_wire(request)))

    async def ListQuestions(
        self, request: pb.ListQuestionsRequest, _: Context
    ) -> pb.ListQuestionsResponse:
        """Returns one page of questions."""
        query = codec.questions_from_wire(request)
        found = await answer_of(self._engine.read(collection_name(request.collection), query))
        return codec.questions_to_wire(found)
