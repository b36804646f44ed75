"""The asyncio client's calls that take a collection out, and in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable

from totonoe import transfers
from totonoe.calls import AsyncCalls
from totonoe.enums import Status
from totonoe.errors import TotonoeError
from totonoe.transfer_models import Imported


class AsyncTransferCalls(AsyncCalls):
    """What an asyncio client does with whole collections."""

    def export(
        self,
        *,
        include_vectors: bool = False,
        statuses: Iterable[Status | str] | None = None,
        collection: str | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """Lines of the collection as the caller sees it; as `Client.export`. `aclose` ends it."""
        request = self._requests.export(include_vectors, statuses, collection)
        return transfers.export(self._channel, request, self.address)

    async def import_file(
        self,
        source: transfers.Source | AsyncIterable[bytes],
        *,
        as_is: bool = False,
        dry_run: bool = False,
        operation_id: str = "",
        progress: transfers.Progress | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> Imported:
        """Takes the lines of an export into a collection; as `Client.import_file`.

        A file is read on the event loop; an asynchronous iterable of bytes will do too.
        """
        start = self._requests.import_start(as_is, dry_run, operation_id, collection)
        wait_s = self._attempts(timeout_s).remaining_s()
        attempts, rewound = self._attempts(float("inf")), transfers.Rewound(source)
        while True:
            try:
                return await transfers.run_import_async(
                    self._channel,
                    self.address,
                    float("inf") if wait_s is None else wait_s,
                    start,
                    source,
                    progress,
                )
            except TotonoeError as failure:
                again_s = attempts.wait_s(failure)
                if again_s is None or not rewound.again():
                    raise
            await asyncio.sleep(again_s)
