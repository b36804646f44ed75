"""The blocking client's calls that take a collection out, and in."""

from __future__ import annotations

import time
from collections.abc import Iterable

from totonoe import transfers
from totonoe.calls import Calls
from totonoe.enums import Status
from totonoe.errors import TotonoeError
from totonoe.transfer_models import Imported


class TransferCalls(Calls):
    """What a blocking client does with whole collections."""

    def export(
        self,
        *,
        include_vectors: bool = False,
        statuses: Iterable[Status | str] | None = None,
        collection: str | None = None,
    ) -> transfers.Export:
        """The collection as the caller sees it, as it is now: lines of JSON, each with its end.

        Writers go on meanwhile. A stream that breaks has to be begun again: the last line is what
        says that all came. `save` writes it to a file.

        Parameters
        ----------
        include_vectors : bool
            Vectors too, so that an import need not embed the texts again.
        statuses : iterable of Status or None
            Memories of these statuses only. `None`: all.
        """
        request = self._requests.export(include_vectors, statuses, collection)
        return transfers.Export(self._channel, request, self.address)

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
    ) -> Imported:
        """Takes the lines of an export into a collection that is there.

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
        start = self._requests.import_start(as_is, dry_run, operation_id, collection)
        wait_s = self._attempts(timeout_s).remaining_s()
        attempts, rewound = self._attempts(float("inf")), transfers.Rewound(source)
        while True:
            stream = transfers.ImportStream(
                self._channel, self.address, float("inf") if wait_s is None else wait_s
            )
            try:
                return transfers.run_import(stream, start, source, progress)
            except TotonoeError as failure:
                again_s = attempts.wait_s(failure)
                if again_s is None or not rewound.again():
                    raise
            time.sleep(again_s)
