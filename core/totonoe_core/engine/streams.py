"""What the seam hands out to be read in pieces: of Consolidate, Export, Import and Reembed."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol

from totonoe_core.consolidate import ConsolidateMessage
from totonoe_core.reembed import ReembedTold
from totonoe_core.transfer import ExportChunk, ImportTold


class Consolidation(Protocol):
    """What a Consolidate tells, as it is read."""

    def read(self) -> Future[tuple[ConsolidateMessage, ...]]:
        """The next messages, at least one; none: it is over. One read at a time.

        Fails with `Unavailable` (SHUTTING_DOWN) when the collection is closed meanwhile, and with
        what the operation failed with.
        """
        ...

    def leave(self) -> None:
        """Ends the work soon; the token of the last message goes on for a while. Idempotent."""
        ...


class Export(Protocol):
    """The lines of an export, as they are read."""

    def read(self) -> Future[ExportChunk]:
        """The next lines; no data: that was all. One read at a time.

        Fails with `StaleRevision` if the collection got another model's vectors meanwhile, and
        `Unavailable` (SHUTTING_DOWN) when it is closed.
        """
        ...

    def leave(self) -> None:
        """Lets go of it. Idempotent."""
        ...


class Import(Protocol):
    """An import that takes its file in pieces."""

    def feed(self, data: bytes, last: bool) -> Future[ImportTold]:
        """Takes the next piece; `last`: it is over after it. One at a time.

        Fails with `BadImport` for a file that is not what it may be, and with what stands in the
        way of every line. Begun again under its operation id it does nothing twice.
        """
        ...

    def leave(self) -> None:
        """Lets go of it. Idempotent."""
        ...


class Reembedding(Protocol):
    """What a Reembed tells, as it is read."""

    def read(self) -> Future[tuple[ReembedTold, ...]]:
        """The next messages, at least one; none: it is over. One read at a time.

        Fails with `Precondition` (REEMBEDDING) when it was cancelled or the daemon runs another
        model, with `Unavailable` (SHUTTING_DOWN) when the collection is closed meanwhile.
        """
        ...

    def leave(self) -> None:
        """Ends the telling; the work goes on. Idempotent."""
        ...
