"""Calls that export and import whole collections."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe.call.base import Calls
from totonoe.call.lazily import transfer_models as models
from totonoe.call.lazily import transfer_transfers as transfers
from totonoe.call.retry import Patience
from totonoe.enums import StatusWord
from totonoe.v1 import transfer_pb2


class TransferCalls(Calls):
    """Calls that export and import whole collections."""

    def export(
        self,
        *,
        include_vectors: bool = False,
        statuses: Iterable[StatusWord] | None = None,
        collection: str | None = None,
    ) -> transfers.Export:
        """Exports the collection as the caller sees it now: lines of JSON, each with its end.

        Writers go on meanwhile. A stream that breaks has to be begun again: only the last line says
        that the export is complete. `save` writes it to a file.

        Parameters
        ----------
        include_vectors : bool
            Vectors too, so that an import need not embed the texts again.
        statuses : iterable of Status or None
            Memories of these statuses only. `None`: all.
        """
        request = self._request(
            transfer_pb2.ExportRequest,
            include_vectors=include_vectors,
            statuses=statuses or (),
            collection=collection,
        )
        patience = Patience(self._retry, self._timeout_s)
        return transfers.Export(self._channel, request, self.address, patience)

    def import_file(
        self,
        source: transfers.Source,
        *,
        as_is: bool = False,
        dry_run: bool = False,
        operation_id: str = "",
        progress: transfers.Progress | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Imported:
        """Imports the lines of an export into a collection that exists.

        Live memories pass the guard as if they were remembered, under new ids; all else is left
        out. With `as_is` everything is as it was, in a collection that is empty.

        A file that is seekable is begun again when the stream breaks or the daemon is busy; what
        was done is not done twice. So it is if the caller calls again with the same operation id.

        Parameters
        ----------
        source : binary file or iterable of bytes
            Read on the calling thread.
        dry_run : bool
            Only check the file.
        progress : callable or None
            Called with how far it is after each piece.
        timeout_s : float or None
            Seconds to wait for the answer to a piece of 128 KiB, not for the whole file.

        Raises
        ------
        InvalidArgument
            Reason BAD_IMPORT: the file is not what it may be; `details` name line and field. What
            stands before that line is done: through the guard by lines, as it is by batches.
        """
        start = self._request(
            transfer_pb2.ImportStart,
            as_is=as_is,
            dry_run=dry_run,
            operation_id=operation_id,
            collection=collection,
        )
        return transfers.import_all(self, start, source, progress, self._limit_s(timeout_s))
