"""Requests of exports and imports."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe.convert import STATUS
from totonoe.enums import Status
from totonoe.prepared import Caller, new_operation_id
from totonoe.v1 import transfer_pb2 as pb


class TransferRequests(Caller):
    """What is asked to take a collection out, or in."""

    def export(
        self,
        include_vectors: bool,
        statuses: Iterable[Status | str] | None,
        collection: str | None,
    ) -> pb.ExportRequest:
        """Export."""
        return pb.ExportRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            include_vectors=include_vectors,
            statuses=[STATUS.encode(one, "statuses") for one in statuses or ()],
        )

    def import_start(
        self, as_is: bool, dry_run: bool, operation_id: str, collection: str | None
    ) -> pb.ImportRequest:
        """The first message of an Import."""
        return pb.ImportRequest(
            start=pb.ImportStart(
                collection=self._where(collection),
                agent_id=self._agent_id,
                operation_id=operation_id or new_operation_id(),
                as_is=as_is,
                dry_run=dry_run,
            )
        )
