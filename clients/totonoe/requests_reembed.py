"""Requests about re-embedding."""

from __future__ import annotations

from totonoe import convert_reembed, reembed_models
from totonoe.prepared import ADMIN_SERVICE as _ADMIN
from totonoe.prepared import Caller, Prepared, new_operation_id
from totonoe.v1 import reembed_pb2 as pb


class ReembedRequests(Caller):
    """What is asked to give a collection another model."""

    def reembed(self, reason: str, operation_id: str, collection: str | None) -> pb.ReembedRequest:
        """Reembed."""
        return pb.ReembedRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            reason=reason,
        )

    def cancel_reembed(self, collection: str | None) -> Prepared[reembed_models.ReembedCancelled]:
        """CancelReembed."""
        return Prepared(
            _ADMIN + "CancelReembed",
            pb.CancelReembedRequest(collection=self._where(collection), agent_id=self._agent_id),
            pb.CancelReembedResponse,
            convert_reembed.decode_cancelled,
        )
