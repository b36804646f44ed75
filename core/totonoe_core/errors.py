"""What can go wrong in the engine, as a tree.

    TotonoeError
    ├── InvalidArgument      the caller's fault: a field is outside what is allowed
    │   └── BadImport        a line of an import file
    ├── NotFound             the named thing does not exist, or the caller may not see it
    ├── AlreadyExists        the name or operation id is taken
    ├── NotOwner             only the agent that the memory belongs to may do this
    ├── StaleRevision        the row changed since the caller read it
    ├── UndoRefused          rows of the operation changed since; they are named
    ├── NotConfirmed         what would be replaced is not what the caller confirmed
    ├── OutOfRange           a revision that the collection has not reached
    ├── Precondition         the thing is not in a state that allows the call
    ├── Quota                a stated limit of the store is reached
    ├── Unavailable          try again later, after `retry_delay_ms`
    ├── ModelMismatch        the collection was made with another embedding model
    ├── ReadOnly             the store cannot write now (disk full, failed writer)
    ├── UnsupportedFormat    the data on disk is of another format version
    └── Corruption           a checksum on disk does not match

Every error carries a `reason` (an upper-case constant of the public contract) and
`details` (strings; never the text of a memory). Which status code an error becomes
on the wire is decided by the server alone.
"""

from __future__ import annotations

from collections.abc import Sequence

# Names without "Error": they say what happened and
# every one of them is also a name in the contract.
# ruff: noqa: N818


class TotonoeError(Exception):
    """Base of all typed failures.

    Attributes
    ----------
    reason : str
        Constant of `totonoe.v1.ErrorReason`, without its prefix.
    details : dict of str to str
        What a program needs to react. Holds no memory text.
    """

    def __init__(self, reason: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.details = {name: str(value) for name, value in details.items()}


class InvalidArgument(TotonoeError):
    """A field is outside what is allowed. Nothing was changed; correct it and call again."""

    def __init__(self, reason: str, *, field: str, got: object, allowed: str) -> None:
        super().__init__(
            reason,
            f"{field}: got {got}, allowed: {allowed}",
            field=field,
            got=got,
            allowed=allowed,
        )


class BadImport(InvalidArgument):
    """A line of an import file is not what it may be. Names line and field.

    Of an import as it is, the batches before that line are in; through the guard, the lines.
    """

    def __init__(self, line: int, *, field: str, got: object, allowed: str) -> None:
        super().__init__("BAD_IMPORT", field=field, got=got, allowed=allowed)
        self.message = f"line {line}: {self.message}"
        self.args = (self.message,)
        self.line = line
        self.details["line"] = str(line)


class NotFound(TotonoeError):
    """The named thing does not exist, or is private to another agent. Nothing was changed."""

    def __init__(self, reason: str, *, kind: str, name: str) -> None:
        super().__init__(reason, f"{kind} {name!r} not found", kind=kind, name=name)


class AlreadyExists(TotonoeError):
    """The name, external id or operation id is taken. Nothing was changed."""

    def __init__(self, reason: str, *, kind: str, name: str, hint: str = "") -> None:
        message = f"{kind} {name!r} already exists" + (f": {hint}" if hint else "")
        super().__init__(reason, message, kind=kind, name=name)


class NotOwner(TotonoeError):
    """A change that only the agent to whom the memory belongs may make. Nothing was changed."""

    def __init__(self, *, memory_id: str, field: str) -> None:
        super().__init__(
            "NOT_OWNER",
            f"{field} of {memory_id} may be changed only by the agent that it belongs to",
            memory_id=memory_id,
            field=field,
        )


class StaleRevision(TotonoeError):
    """The row changed since the caller read it. Read it again, then decide again."""

    def __init__(self, *, name: str, expected: int, actual: int) -> None:
        super().__init__(
            "STALE_REVISION",
            f"{name} is at revision {actual}, not at the expected {expected}",
            name=name,
            expected=expected,
            actual=actual,
        )


class UndoRefused(TotonoeError):
    """Rows of an operation changed since it was done, so that it cannot be taken back whole.

    Nothing was changed. A dry run lists all of them, `partial` takes back the rest.
    """

    def __init__(self, revision: int, conflicts: Sequence[str]) -> None:
        shown = "; ".join(conflicts[:8]) + (" ..." if len(conflicts) > 8 else "")
        super().__init__(
            "UNDO_CONFLICT",
            f"the operation of revision {revision} cannot be undone whole: {shown}",
            revision=revision,
            conflicts=shown,
            conflict_count=len(conflicts),
        )


class NotConfirmed(TotonoeError):
    """The token does not confirm what would be replaced now: it changed since, or is another.

    Nothing was changed. Ask without a token again, and look at what would be lost.
    """

    def __init__(self, *, name: str) -> None:
        super().__init__(
            "NOT_CONFIRMED",
            f"the confirmation token is not for collection {name!r} as it is now",
            name=name,
        )


class OutOfRange(TotonoeError):
    """A revision that the collection has not reached. Nothing was read."""

    def __init__(self, *, field: str, got: int, newest: int) -> None:
        super().__init__(
            "REVISION_OUT_OF_RANGE",
            f"{field}: got {got}, allowed: 0 to {newest}, the newest revision",
            field=field,
            got=got,
            newest=newest,
        )


class Precondition(TotonoeError):
    """The thing is not in a state that allows the call (a forgotten memory, the default
    collection, a misconfigured embedder). Nothing was changed; waiting does not help."""


class Quota(TotonoeError):
    """A stated limit of the store is reached. Nothing was changed."""


class Unavailable(TotonoeError):
    """Not now: a queue is full, a worker restarts, or the daemon is stopping.

    Differs from `ReadOnly` in that waiting helps. Nothing was changed.
    """

    def __init__(self, reason: str, message: str, *, retry_delay_ms: int) -> None:
        super().__init__(reason, message, retry_delay_ms=retry_delay_ms)
        self.retry_delay_ms = retry_delay_ms


class ModelMismatch(TotonoeError):
    """The collection is stamped with another embedding model than the daemon runs."""

    def __init__(self, *, collection: str, stamped: str, running: str) -> None:
        super().__init__(
            "MODEL_MISMATCH",
            f"collection {collection!r} was made with {stamped}; this daemon runs {running}"
            + ("" if running == "none" else ", whose vectors Reembed gives it"),
            collection=collection,
            stamped=stamped,
            running=running,
        )


class ReadOnly(TotonoeError):
    """The store cannot write (disk full, failed writer). Reads go on; nothing was changed."""


class UnsupportedFormat(TotonoeError):
    """The data on disk was written by another format version. Nothing was touched."""


class Corruption(TotonoeError):
    """A checksum on disk does not match its row. The row is not served."""
