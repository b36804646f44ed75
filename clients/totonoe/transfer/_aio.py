# Made by clients/generate_async.py from calls.py. Do not edit.
"""Calls that export and import whole collections."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import transfer_models as models
from totonoe.call.lazily import transfer_transfers as transfers
from totonoe.call.retry import Patience
from totonoe.enums import StatusWord
from totonoe.v1 import transfer_pb2


class AsyncTransferCalls(AsyncCalls):
    """Calls that export and import whole collections."""

    def export(
        self,
        *,
        include_vectors: bool = False,
        statuses: Iterable[StatusWord] | None = None,
        collection: str | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """Exports the collection as the caller sees it now: lines of JSON, each with its end.

        See `Client.export`.
        """
        request = self._request(
            transfer_pb2.ExportRequest,
            include_vectors=include_vectors,
            statuses=statuses or (),
            collection=collection,
        )
        patience = Patience(self._retry, self._timeout_s)
        return transfers.export(self._channel, request, self.address, patience)

    async def import_file(
        self,
        source: transfers.AsyncSource,
        *,
        as_is: bool = False,
        dry_run: bool = False,
        operation_id: str = "",
        progress: transfers.Progress | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Imported:
        """Imports the lines of an export into a collection that exists.

        See `Client.import_file`.
        """
        start = self._request(
            transfer_pb2.ImportStart,
            as_is=as_is,
            dry_run=dry_run,
            operation_id=operation_id,
            collection=collection,
        )
        return await transfers.import_all_async(
            self, start, source, progress, self._limit_s(timeout_s)
        )
