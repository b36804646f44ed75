"""Errors of the engine, as a tree.

    TotonoeError
    ├── InvalidArgument      the caller's fault: a field is outside what is allowed
    │   └── BadImport        a line of an import file
    ├── NotFound             the named thing does not exist, or the caller may not see it
    │   └── NotYet           the memory did not exist at the moment of the past asked for
    ├── AlreadyExists        the name or operation id is taken
    ├── NotOwner             only the agent that owns the memory or operation may do this
    ├── StaleRevision        the row changed since the caller read it
    ├── UndoRefused          rows of the operation changed since, or it is undone already
    ├── NotConfirmed         what would be replaced is not what the caller confirmed
    ├── OutOfRange           a revision that the collection has not reached, or a time to come
    ├── Precondition         the thing is not in a state that allows the call
    ├── NotOnThisStore       the store of the daemon cannot do this at all
    ├── Quota                a stated limit of the store is reached
    ├── Unavailable          try again later, after `retry_delay_ms`
    │   ├── NotCaughtUp      the daemon has not seen the revision that a read wants
    │   └── Unanswered       a commit was sent and its answer lost: it may be stored
    ├── ModelMismatch        the collection was made with another embedding model
    ├── ReadOnly             the store cannot write now (disk full, failed writer)
    │   └── CommitsLost      acknowledged commits are gone from the disk: nothing is written
    ├── UnsupportedFormat    the data on disk is of another format version
    └── Corruption           what is on disk is damaged, missing, or not what it should be

Every error carries a `reason` (an upper-case constant of the public contract) and
`details` (strings; never the text of a memory). Which status code an error becomes
on the wire is decided by the server alone.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

from totonoe_core.base import limits

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
        Values for a program that reacts to the error. Holds no memory text.
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


def over_limit(field: str, got: object, most: object) -> InvalidArgument:
    """Return the error for more of something than its limit, `most`, allows."""
    return InvalidArgument("LIMIT_EXCEEDED", field=field, got=got, allowed=f"at most {most}")


class BadImport(InvalidArgument):
    """A line of an import file is not valid. The error names line and field.

    With `as_is`, the batches before that line are saved; through the guard, the lines before it.
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


class NotYet(NotFound):
    """The memory was created after the requested moment of the past."""

    def __init__(self, *, name: str, revision: int) -> None:
        super().__init__("MEMORY_NOT_YET", kind="memory", name=name)
        self.message = f"memory {name!r} was not there yet at revision {revision}: it came later"
        self.args = (self.message,)
        self.details["as_of_revision"] = str(revision)


class AlreadyExists(TotonoeError):
    """The name, external id or operation id is taken. Nothing was changed."""

    def __init__(self, reason: str, *, kind: str, name: str, hint: str = "") -> None:
        message = f"{kind} {name!r} already exists" + (f": {hint}" if hint else "")
        super().__init__(reason, message, kind=kind, name=name)


class NotOwner(TotonoeError):
    """Only the agent of the memory, or of the operation, may do this. Nothing was changed."""

    def __init__(self, message: str, **details: object) -> None:
        super().__init__("NOT_OWNER", message, **details)


class StaleRevision(TotonoeError):
    """The row changed since the caller read it. Read it again, then decide again."""

    def __init__(self, *, name: str, expected: int, actual: int, operation_id: str = "") -> None:
        by = f" since operation {operation_id}" if operation_id else ""
        details = {"operation_id": operation_id} if operation_id else {}
        super().__init__(
            "STALE_REVISION",
            f"{name} is at revision {actual}{by}, not at the expected {expected}",
            name=name,
            expected=expected,
            actual=actual,
            **details,
        )


class UndoRefused(TotonoeError):
    """An operation cannot be taken back whole: rows changed since, or it is undone already.

    Nothing was changed. A dry run lists all conflicts, `partial` takes back the rest.
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
    """The confirmation token does not match the data that would be replaced now. Nothing was
    changed.

    Call again without a token, and look at what would be lost.
    """

    def __init__(self, *, name: str) -> None:
        super().__init__(
            "NOT_CONFIRMED",
            f"the confirmation token is not for collection {name!r} as it is now",
            name=name,
        )


class OutOfRange(TotonoeError):
    """The requested revision or time lies in the future. Nothing was read.

    `newest` is the newest revision; for a time, `now` takes its place.
    """

    def __init__(self, *, field: str, got: int | str, newest: int, now: str = "") -> None:
        allowed = f"a time up to now, {now}" if now else f"0 to {newest}, the newest revision"
        more = {"now": now} if now else {}
        super().__init__(
            "REVISION_OUT_OF_RANGE",
            f"{field}: got {got}, allowed: {allowed}",
            field=field,
            got=got,
            newest=newest,
            **more,
        )


class Precondition(TotonoeError):
    """The thing is not in a state that allows the call (a forgotten memory, the default
    collection, a misconfigured embedder). Nothing was changed; waiting does not help."""


class NotOnThisStore(TotonoeError):
    """The call needs something that only a store of files has. Nothing was changed.

    Differs from `Precondition` in that nothing makes it possible but another store.
    """

    def __init__(self, capability: str, store: str) -> None:
        super().__init__(
            "NOT_ON_THIS_STORE",
            f"this daemon keeps its collections in {store}, which has no {capability}",
            capability=capability,
            store=store,
        )


class Quota(TotonoeError):
    """A stated limit of the store is reached. Nothing was changed."""


class Unavailable(TotonoeError):
    """The engine cannot serve the call now: a queue is full, a worker restarts, or the daemon
    stops.

    Differs from `ReadOnly` in that waiting helps. Nothing was changed.
    """

    def __init__(self, reason: str, message: str, *, retry_delay_ms: int) -> None:
        super().__init__(reason, message, retry_delay_ms=retry_delay_ms)
        self.retry_delay_ms = retry_delay_ms


class NotCaughtUp(Unavailable):
    """The daemon has not seen the revision that a read wants. Another daemon may have."""

    def __init__(self, revision: int) -> None:
        super().__init__(
            "NOT_CAUGHT_UP",
            f"min_revision: this daemon has not seen revision {revision} of the collection",
            retry_delay_ms=limits.RETRY_DELAY_MS,
        )


class Unanswered(Unavailable):
    """A commit was sent, and the connection was lost before its answer: it may be stored.

    The only error after which something may have changed. The same operation id gets the first
    answer if it is.
    """


class ModelMismatch(TotonoeError):
    """The collection is stamped with another embedding model than the daemon runs."""

    def __init__(self, *, collection: str, stamped: str, running: str) -> None:
        super().__init__(
            "MODEL_MISMATCH",
            f"collection {collection!r} was made with {stamped}; this daemon runs {running}"
            + (
                ": start it with that model"
                if running == "none"
                else ", whose vectors a re-embedding gives it"
            ),
            collection=collection,
            stamped=stamped,
            running=running,
        )


class ReadOnly(TotonoeError):
    """The store cannot write (disk full, failed writer). Reads go on; nothing was changed."""


class CommitsLost(ReadOnly):
    """A file lacks commits that were acknowledged. Reads show what is left; nothing was changed.

    Bring the file and its log back, restore a snapshot, or confirm the loss: `revisions` names
    what is lost, as the command `accept-loss` takes it. `target` is the collection, or
    "--catalogue".
    """

    def __init__(self, *, file: str, target: str, revisions: str, commit_count: int) -> None:
        super().__init__(
            "COMMITS_LOST",
            f"{file} lacks commits that were acknowledged ({commit_count}, revisions {revisions}), "
            "and is not written: bring its files back, restore a snapshot, or stop the daemon and "
            f"confirm the loss: totonoe accept-loss {target} --revisions {revisions} "
            "--data-dir DIR",
            file=file,
            revisions=revisions,
            commit_count=commit_count,
        )


class UnsupportedFormat(TotonoeError):
    """The data on disk has another format version. Nothing was touched."""


class Corruption(TotonoeError):
    """Data on disk is damaged, missing, or another collection's. It is not served.

    CORRUPT_ROW: a checksum does not match its row, or SQLite finds damage. MISSING_FILE,
    WRONG_FILE: a collection's file is gone, or is another's; nothing was written.
    """


def typed(error: BaseException) -> BaseException:
    """Return `Unavailable` for an `OSError` that says that no more files can be opened, else
    `error`.

    Such an error says nothing about the file itself, and passes when other files are closed.
    """
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        unavailable = Unavailable(
            "OVERLOADED",
            "the daemon has as many files open as it may; see ulimit -n",
            retry_delay_ms=limits.RETRY_DELAY_MS,
        )
        unavailable.__cause__ = error
        return unavailable
    return error
