/**
 * The errors of failed calls, as a tree. Catch the branch that you can handle.
 *
 *     TotonoeError
 *     ├── InvalidArgument       the request is wrong: correct it and call again
 *     ├── NotFound              it does not exist, or is private to another agent
 *     ├── AlreadyExists         a collection of this name exists
 *     │   ├── ExternalIdExists  a memory that the caller sees has the external id
 *     │   └── OperationIdReused the operation id was used with another payload
 *     ├── StaleRevision         the memory changed since it was read: read it, decide again
 *     │   ├── UndoRefused       what an operation touched changed since, or it is undone already
 *     │   └── NotConfirmed      what would be replaced changed since it was confirmed
 *     ├── FailedPrecondition    the state of the store forbids it; waiting does not help
 *     │   ├── NotActive         the memory is forgotten, superseded or closed
 *     │   ├── ModelMismatch     the collection's vectors come from another model
 *     │   └── ReadOnly          the store cannot write (disk full, failed writer, lost commits)
 *     ├── QuotaExceeded         a limit of the store, or of the size of a message
 *     │   └── RateLimited       more calls than the identity may make: wait `retryDelayMs`
 *     ├── Unavailable           not now: try again after `retryDelayMs`
 *     │   └── Unreachable       no daemon answers at the address
 *     ├── HandshakeFailed       no TLS connection: a certificate does not fit
 *     ├── DeadlineExceeded      no answer in time; a write may have been done
 *     ├── DataLoss              a checksum on disk does not match
 *     ├── PermissionDenied      the caller may not do this
 *     ├── Unauthenticated       the caller is not known
 *     ├── OutOfRange            a revision that the collection has not reached, or a time to come
 *     ├── Unimplemented         the daemon is older than this client, or its store cannot do this
 *     ├── Cancelled             the daemon gave the call up
 *     └── Internal              a bug in the daemon; `details.error_id` finds it in its log
 *
 * Except after `DeadlineExceeded`, `Cancelled` and `Internal` nothing was changed. After those,
 * calling again with the same operation id is safe: it gives the first answer, or does it once.
 *
 * Beside the tree: a call whose `signal` is aborted rejects with the signal's reason, as `fetch`
 * does. An argument that cannot be sent is a `TypeError` or `RangeError`, and nothing was sent.
 */

/** What a failure is made of. */
export interface Failure {
  /** Name of the status code, for instance `INVALID_ARGUMENT`. */
  code?: string;
  /** Name of an ErrorReason of the contract without its prefix; empty: the transport failed. */
  reason?: string;
  /** What is wrong, for programs. */
  details?: Readonly<Record<string, string>>;
  /** How long the daemon asks to wait before the next try. */
  retryDelayMs?: number | undefined;
  /** What the transport said, where there was no answer. */
  cause?: unknown;
}

/** Base of all failures of a call. */
export class TotonoeError extends Error {
  /** Name of the status code, for instance `INVALID_ARGUMENT`. */
  readonly code: string;
  /** Name of an ErrorReason of the contract without its prefix; empty: the transport failed. */
  readonly reason: string;
  /** What is wrong, for programs: for instance `field`, `got`, `allowed`. */
  readonly details: Readonly<Record<string, string>>;
  /** How long the daemon asks to wait before the next try, in milliseconds. */
  readonly retryDelayMs: number | undefined;

  constructor(message: string, failure: Failure = {}) {
    super(message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.name = new.target.name;
    this.code = failure.code ?? "UNKNOWN";
    this.reason = failure.reason ?? "";
    this.details = failure.details ?? {};
    this.retryDelayMs = failure.retryDelayMs;
  }

  /** The field that is wrong; empty if no single one is. */
  get field(): string {
    return this.details["field"] ?? "";
  }

  /** What the field may be; empty if the daemon does not say. */
  get allowed(): string {
    return this.details["allowed"] ?? "";
  }

  /** What an agent does next, in words for its model; empty: nothing. */
  get advice(): string {
    return this.details["advice"] ?? "";
  }
}

/** The request is wrong; `field` and `allowed` say where and what may be. */
export class InvalidArgument extends TotonoeError {}
/** The memory, collection or other object does not exist, or is private to another agent. */
export class NotFound extends TotonoeError {}
/** The name is taken: another collection has it. */
export class AlreadyExists extends TotonoeError {}
/** Another memory that the caller sees has this external id. */
export class ExternalIdExists extends AlreadyExists {}
/** The operation id was used before with another payload: take a new one. */
export class OperationIdReused extends AlreadyExists {}
/** The row is not at `expectedRevision`: read it again, then decide again. */
export class StaleRevision extends TotonoeError {}
/** An operation cannot be taken back as a whole; nothing was changed. */
export class UndoRefused extends StaleRevision {
  /** The first of what stands in the way, in words. */
  get conflicts(): string[] {
    return (this.details["conflicts"] ?? "").split("; ").filter(Boolean);
  }
}
/** The confirmation token is not for what would be replaced now. Nothing was changed. */
export class NotConfirmed extends StaleRevision {}
/** The state of the store forbids it. Differs from `Unavailable`: waiting does not help. */
export class FailedPrecondition extends TotonoeError {}
/** The memory is forgotten, superseded or closed; `details.superseded_by` took its place. */
export class NotActive extends FailedPrecondition {}
/** The collection's vectors come from another model than the daemon runs. */
export class ModelMismatch extends FailedPrecondition {}
/** The store cannot write (disk full, failed writer, lost commits); reads go on. */
export class ReadOnly extends FailedPrecondition {}
/** A stated limit of the store is reached, or a message is over 16 MiB. */
export class QuotaExceeded extends TotonoeError {}
/** The identity makes more calls than its limits allow; try again after `retryDelayMs`. */
export class RateLimited extends QuotaExceeded {}
/** Not now. The client has tried again already, until the deadline or as its retry policy says. */
export class Unavailable extends TotonoeError {
  /** Tries of the call in all; 0 if it was not given up yet. */
  triedCount = 0;
  /** Milliseconds from the first try to the last. */
  triedMs = 0;
}
/** No daemon answers at the address: it is not running, or elsewhere. */
export class Unreachable extends Unavailable {}
/** There is no TLS connection: a certificate is missing, expired or another's. Waiting does not help. */
export class HandshakeFailed extends TotonoeError {}
/** No answer within `timeoutMs`. A write may have been done or not. */
export class DeadlineExceeded extends TotonoeError {}
/** A checksum on disk does not match; the damaged row is not served. */
export class DataLoss extends TotonoeError {}
/** The caller may not do this: no grant allows it, or it is about another agent. */
export class PermissionDenied extends TotonoeError {}
/** The daemon does not know the caller: no token, or an unknown, expired or revoked one. */
export class Unauthenticated extends TotonoeError {}
/** A revision that the collection has not reached or no longer keeps, or a time to come. */
export class OutOfRange extends TotonoeError {}
/**
 * The daemon does not know this call: it is older than this client. Reason `NOT_ON_THIS_STORE`: the
 * call needs something that only a store of files has.
 */
export class Unimplemented extends TotonoeError {}
/** The daemon gave the call up before its answer came. */
export class Cancelled extends TotonoeError {}
/** A bug in the daemon, or an answer outside the contract. */
export class Internal extends TotonoeError {}

/** A call was made after the client's `close`. A mistake in the program, no failed call. */
export class ClientClosed extends Error {
  override name = "ClientClosed";
  constructor() {
    super("the client is closed: make a new one");
  }
}

/** A token would have gone over plain TCP to another machine. Nothing was sent. */
export class InsecureConnection extends RangeError {
  override name = "InsecureConnection";
}

type Kind = new (message: string, failure?: Failure) => TotonoeError;

const BY_CODE: Readonly<Record<string, Kind>> = {
  INVALID_ARGUMENT: InvalidArgument,
  NOT_FOUND: NotFound,
  ALREADY_EXISTS: AlreadyExists,
  ABORTED: StaleRevision,
  FAILED_PRECONDITION: FailedPrecondition,
  RESOURCE_EXHAUSTED: QuotaExceeded,
  UNAVAILABLE: Unavailable,
  DEADLINE_EXCEEDED: DeadlineExceeded,
  DATA_LOSS: DataLoss,
  PERMISSION_DENIED: PermissionDenied,
  UNAUTHENTICATED: Unauthenticated,
  OUT_OF_RANGE: OutOfRange,
  UNIMPLEMENTED: Unimplemented,
  CANCELLED: Cancelled,
  INTERNAL: Internal,
};

// Only reasons that a caller handles otherwise than the rest of their code.
const BY_REASON: Readonly<Record<string, Kind>> = {
  EXTERNAL_ID_EXISTS: ExternalIdExists,
  OPERATION_ID_REUSED: OperationIdReused,
  UNDO_CONFLICT: UndoRefused,
  NOT_CONFIRMED: NotConfirmed,
  NOT_ACTIVE: NotActive,
  MODEL_MISMATCH: ModelMismatch,
  READ_ONLY: ReadOnly,
  COMMITS_LOST: ReadOnly,
  RATE_LIMITED: RateLimited,
};

/**
 * The error for a status code and a reason; neither has to be known. A reason picks its class only
 * under the code it belongs to, so that the branch of the code always catches it.
 */
export function build(message: string, failure: Failure): TotonoeError {
  const branch = BY_CODE[failure.code ?? ""] ?? TotonoeError;
  const own = BY_REASON[failure.reason ?? ""];
  const kind = own !== undefined && own.prototype instanceof branch ? own : branch;
  return new kind(message, failure);
}
