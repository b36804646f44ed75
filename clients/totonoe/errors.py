"""The exceptions of failed calls, as a tree. Catch the branch that you can handle.

    TotonoeError
    ├── InvalidArgument       the request is wrong: correct it and call again
    ├── NotFound              it does not exist, or is private to another agent (reason
    │                         MEMORY_NOT_YET: it did not exist yet at `as_of`)
    ├── AlreadyExists         a collection of this name exists
    │   ├── ExternalIdExists  a memory that the caller sees has the external id
    │   └── OperationIdReused the operation id was used with another payload
    ├── StaleRevision         the memory changed since it was read: read it, decide again
    │   ├── UndoRefused       what an operation touched changed since, or it is undone already
    │   └── NotConfirmed      what would be replaced changed since it was confirmed
    ├── FailedPrecondition    the state of the store forbids it; waiting does not help
    │   ├── NotActive         the memory is forgotten, superseded or closed
    │   ├── ModelMismatch     the collection's vectors come from another model
    │   └── ReadOnly          the store cannot write (disk full, failed writer, lost commits)
    ├── QuotaExceeded         a limit of the store, or of the size of a message
    │   └── RateLimited       more calls than the identity may make: wait `retry_delay_s`
    ├── Unavailable           not now: try again after `retry_delay_s`
    │   └── Unreachable       no daemon answers at the address
    ├── HandshakeFailed       no TLS connection: a certificate does not fit
    ├── DeadlineExceeded      no answer in time; a write may have been done
    ├── DataLoss              a checksum on disk does not match
    ├── PermissionDenied      the caller may not do this
    ├── Unauthenticated       the caller is not known
    ├── OutOfRange            a revision that the collection has not reached, or a time to come
    ├── Unimplemented         the daemon is older than this client, or its store cannot do this
    ├── Cancelled             the call was given up by the caller
    └── Internal              a bug in the daemon; `details["error_id"]` finds it in its log

Except after `DeadlineExceeded`, `Cancelled` and `Internal` nothing was changed. After those,
calling again with the same operation id is safe: it gives the first answer, or does it once.

Beside the tree stand `ClientClosed`: the program called a client that it had closed; and
`InsecureConnection`: a token would have gone over a network unprotected.
"""

# These are named for what happened, as in the core, not for being errors.
# ruff: noqa: N818

from __future__ import annotations

from collections.abc import Mapping


class ClientClosed(RuntimeError):
    """A call was made after the client's `close`. A mistake in the program, no failed call."""


class InsecureConnection(ValueError):
    """A token would have gone over plain TCP to another machine. Nothing was sent."""


class TotonoeError(Exception):
    """Base of all failures of a call.

    Attributes
    ----------
    code : str
        Name of the status code, for instance `INVALID_ARGUMENT`.
    reason : str
        Name of a `totonoe.v1.ErrorReason` without its prefix. Empty if the failure came
        from the transport; unknown to this client if the daemon is newer.
    message : str
        What is wrong, for people.
    details : mapping of str to str
        What is wrong, for programs: for instance `field`, `got`, `allowed`.
    retry_delay_s : float or None
        How long the daemon asks to wait before the next try.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        details: Mapping[str, str] | None = None,
        retry_delay_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self.retry_delay_s = retry_delay_s

    def __str__(self) -> str:
        return f"{self.message} ({self.reason or self.code})"

    @property
    def advice(self) -> str:
        """Hint for an agent, and what to do next; empty if there is none."""
        return self.details.get("advice", "")


class InvalidArgument(TotonoeError):
    """The request is wrong; `details` name the field, what it got and what is allowed."""


class NotFound(TotonoeError):
    """The memory, collection or other object does not exist, or is private to another agent.

    Reason `MEMORY_NOT_YET`: the memory did not exist yet at the moment `as_of`.
    """


class AlreadyExists(TotonoeError):
    """The name is taken: another collection has it."""


class ExternalIdExists(AlreadyExists):
    """Another memory that the caller sees has this external id."""


class OperationIdReused(AlreadyExists):
    """The operation id was used before with another payload: take a new one."""


class StaleRevision(TotonoeError):
    """The row is not at `expected_revision`: read it again, then decide again."""


class UndoRefused(StaleRevision):
    """An operation cannot be taken back as a whole; nothing was changed.

    A dry run of `undo` lists all that stands in the way, `partial` takes back the rest.
    """

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The first of what stands in the way, in words."""
        return tuple(filter(None, self.details.get("conflicts", "").split("; ")))


class NotConfirmed(StaleRevision):
    """The confirmation token is not for what would be replaced now. Nothing was changed.

    Ask without a token again, and look at what would be lost.
    """


class FailedPrecondition(TotonoeError):
    """The state of the store forbids it. Differs from `Unavailable`: waiting does not help."""


class NotActive(FailedPrecondition):
    """The memory is forgotten, superseded or closed; `details["superseded_by"]` took its place."""


class ModelMismatch(FailedPrecondition):
    """The collection's vectors come from another model than the daemon runs.

    `reembed` gives it vectors of the daemon's. Until then `recall` finds by words.
    """


class ReadOnly(FailedPrecondition):
    """The store cannot write (disk full, failed writer); reads go on.

    Reason `COMMITS_LOST`: acknowledged commits are gone from the disk; `details["revisions"]` names
    them, and the message the ways on.
    """


class QuotaExceeded(TotonoeError):
    """A stated limit of the store is reached, or a message is over 16 MiB.

    Reason `BLAST_RADIUS`: a clean-up would take more memories than the collection allows a day.
    """


class RateLimited(QuotaExceeded):
    """The identity makes more calls than its limits allow; try again after `retry_delay_s`."""


class Unavailable(TotonoeError):
    """Not now: a queue is full, the embedder restarts, or the daemon starts or stops.

    The client has tried again already, until the deadline or as its retry policy says.

    Attributes
    ----------
    tried_count : int
        Tries of the call in all; 0 if it was not tried again.
    tried_s : float
        Seconds from the first try to the last.
    """

    tried_count = 0
    tried_s = 0.0

    def __str__(self) -> str:
        if self.tried_count < 2:
            return super().__str__()
        tried = f"tried {self.tried_count} times in {self.tried_s:.1f} s"
        return f"{self.message} ({self.reason or self.code}, {tried})"


class Unreachable(Unavailable):
    """No daemon answers at the address: it is not running, or elsewhere."""


class HandshakeFailed(TotonoeError):
    """There is no TLS connection: a certificate is missing, expired, of another authority or of
    another name, or one side speaks no TLS. Differs from `Unreachable`: waiting does not help."""


class DeadlineExceeded(TotonoeError):
    """No answer within `timeout_s`. A write may have been done or not."""


class DataLoss(TotonoeError):
    """A checksum on disk does not match; the damaged row is not served."""


class PermissionDenied(TotonoeError):
    """The caller may not do this: no grant allows it, `agent_id` is another agent's, or another
    agent's memory would be made private or public."""


class Unauthenticated(TotonoeError):
    """The daemon does not know the caller: no token, or an unknown, expired or revoked one."""


class OutOfRange(TotonoeError):
    """A revision that the collection has not reached or no longer keeps, or a time to come."""


class Unimplemented(TotonoeError):
    """The daemon does not know this call: it is older than this client.

    Reason `NOT_ON_THIS_STORE`: the call needs something that only a store of files has.
    """


class Cancelled(TotonoeError):
    """The call was given up before its answer came."""


class Internal(TotonoeError):
    """A bug in the daemon, or an answer outside the contract."""


_BY_CODE: dict[str, type[TotonoeError]] = {
    "INVALID_ARGUMENT": InvalidArgument,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "ABORTED": StaleRevision,
    "FAILED_PRECONDITION": FailedPrecondition,
    "RESOURCE_EXHAUSTED": QuotaExceeded,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "DATA_LOSS": DataLoss,
    "PERMISSION_DENIED": PermissionDenied,
    "UNAUTHENTICATED": Unauthenticated,
    "OUT_OF_RANGE": OutOfRange,
    "UNIMPLEMENTED": Unimplemented,
    "CANCELLED": Cancelled,
    "INTERNAL": Internal,
}

# Only reasons that a caller handles otherwise than the rest of their code.
_BY_REASON: dict[str, type[TotonoeError]] = {
    "EXTERNAL_ID_EXISTS": ExternalIdExists,
    "OPERATION_ID_REUSED": OperationIdReused,
    "UNDO_CONFLICT": UndoRefused,
    "NOT_CONFIRMED": NotConfirmed,
    "NOT_ACTIVE": NotActive,
    "MODEL_MISMATCH": ModelMismatch,
    "READ_ONLY": ReadOnly,
    "COMMITS_LOST": ReadOnly,
    "RATE_LIMITED": RateLimited,
}


def build(
    code: str,
    message: str,
    *,
    reason: str = "",
    details: Mapping[str, str] | None = None,
    retry_delay_s: float | None = None,
) -> TotonoeError:
    """The exception for a status code and a reason; neither has to be known.

    A reason picks its subclass only under the code it belongs to, so that a daemon that
    changes the code of a reason is still caught by the branch of the code.
    """
    branch = _BY_CODE.get(code, TotonoeError)
    kind = _BY_REASON.get(reason, branch)
    if not issubclass(kind, branch):
        kind = branch
    return kind(message, code=code, reason=reason, details=details, retry_delay_s=retry_delay_s)
