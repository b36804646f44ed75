"""The calls about what was found or left out: pairs that are no duplicates, and why not."""

from __future__ import annotations

from totonoe.v1 import audit_pb2, memory_service_pb2
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.search.why_not import WhyNotQuery
from totonoe_server.services.building import Encoded
from totonoe_server.services.calls import Calls, Context
from totonoe_server.services.pending import answer_of
from totonoe_server.wire import audit as codec
from totonoe_server.wire.answers import recall_from_wire
from totonoe_server.wire.scalars import collection_name


class AuditCalls(Calls):
    """Dismiss, Undismiss and WhyNot over an engine."""

    async def Dismiss(
        self, request: audit_pb2.DismissRequest, _: Context
    ) -> audit_pb2.DismissResponse:
        """Says that two memories are no duplicates."""
        return codec.dismissed_to_wire(await self._apply(request, codec.dismiss_from_wire(request)))

    async def Undismiss(
        self, request: audit_pb2.UndismissRequest, _: Context
    ) -> audit_pb2.UndismissResponse:
        """Takes it back."""
        return codec.undismissed_to_wire(
            await self._apply(request, codec.undismiss_from_wire(request))
        )

    async def WhyNot(self, request: memory_service_pb2.WhyNotRequest, _: Context) -> Encoded:
        """Why a memory does not come."""
        collection, query = await self._asked(request.recall)
        return await self._read(
            collection,
            WhyNotQuery(request.memory_id, query),
            codec.why_not_to_wire,
            request.recall.min_revision,
        )

    async def _asked(self, request: memory_service_pb2.RecallRequest) -> tuple[str, RecallQuery]:
        """Collection and query of a Recall, its diversity laid over the collection's."""
        collection = collection_name(request.collection)
        base = DiversityPolicy()
        if request.HasField("diversity"):
            base = (await answer_of(self._engine.get_collection(collection))).diversity
        return collection, recall_from_wire(request, base)
