"""Streams of the engine that are read in pieces: Consolidate, Export, Import and Reembed."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol

from totonoe_core.domain.consolidate import ConsolidateMessage
from totonoe_core.domain.reembed import ReembedMessage
from totonoe_core.domain.transfer import ExportChunk, ImportProgress


class Consolidation(Protocol):
    """The messages of a Consolidate."""

    def read(self) -> Future[tuple[ConsolidateMessage, ...]]:
        """Return the next messages, at least one; none at the end. One read at a time.

        Fails with `Unavailable` (SHUTTING_DOWN) when the collection is closed meanwhile, and with
        the error of the operation.
        """
        ...

    def leave(self) -> None:
        """Stop the work soon; the token of the last message stays valid for a while. Idempotent."""
        ...


class Export(Protocol):
    """The lines of an export."""

    def read(self) -> Future[ExportChunk]:
        """Return the next lines; no data at the end. One read at a time.

        Fails with `StaleRevision` if the collection got another model's vectors meanwhile, and
        `Unavailable` (SHUTTING_DOWN) when it is closed.
        """
        ...

    def leave(self) -> None:
        """Stop reading. Idempotent."""
        ...


class Import(Protocol):
    """An import that takes its file in pieces."""

    def feed(self, data: bytes, last: bool) -> Future[ImportProgress]:
        """Take the next piece; `last` if no piece follows. One at a time.

        Fails with `BadImport` for an invalid file, and with errors that every line would meet.
        Started again under its operation id it does nothing twice.
        """
        ...

    def leave(self) -> None:
        """Stop feeding. Idempotent."""
        ...


class Reembedding(Protocol):
    """The messages of a Reembed."""

    def read(self) -> Future[tuple[ReembedMessage, ...]]:
        """Return the next messages, at least one; none at the end. One read at a time.

        Fails with `Precondition` (REEMBEDDING) when it was cancelled or the daemon runs another
        model, with `Unavailable` (SHUTTING_DOWN) when the collection is closed meanwhile.
        """
        ...

    def leave(self) -> None:
        """Stop the messages; the work goes on. Idempotent."""
        ...
