"""Which status code an error becomes. The only place that knows.

The reason decides; HOUSE and contract name the code of each. An error whose reason is
not in the table, or that is no `TotonoeError`, is a bug: INTERNAL, with an id that
finds it in the log, and nothing of the inside.
"""

from __future__ import annotations

import secrets
from typing import Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from grpc_status.rpc_status import GRPC_DETAILS_METADATA_KEY

from totonoe.v1 import memory_service_pb2
from totonoe_core.base.errors import TotonoeError, typed
from totonoe_server.advice import of_error
from totonoe_server.logger import logger, trace_of

DOMAIN: Final = "totonoe.v1"
MESSAGE_CHARS_MAX = 1000
DETAIL_CHARS_MAX = 500
"""Status travels in HTTP/2 trailers, of which clients take 8 KiB by default."""

_BY_CODE: dict[int, str] = {
    code_pb2.INVALID_ARGUMENT: """
        EMPTY_TEXT NUL_IN_TEXT LIMIT_EXCEEDED DIMENSION_MISMATCH NON_FINITE_VECTOR
        ZERO_VECTOR VECTOR_REQUIRED OUT_OF_RANGE UNKNOWN_ENUM BAD_NAME BAD_PAGE_TOKEN
        BAD_TIME BAD_UPDATE_MASK MISSING_FIELD SELF_LINK MALFORMED_MESSAGE BAD_MERGE
        BAD_PLAN BAD_IMPORT REVIEW_FIRST""",
    code_pb2.NOT_FOUND: """
        MEMORY_NOT_FOUND COLLECTION_NOT_FOUND LINK_NOT_FOUND OPERATION_NOT_FOUND
        EPISODE_NOT_FOUND SNAPSHOT_NOT_FOUND MEMORY_NOT_YET""",
    code_pb2.ALREADY_EXISTS: """
        COLLECTION_EXISTS EXTERNAL_ID_EXISTS OPERATION_ID_REUSED SNAPSHOT_EXISTS""",
    code_pb2.UNAUTHENTICATED: "TOKEN_MISSING TOKEN_INVALID TOKEN_EXPIRED TOKEN_REVOKED",
    code_pb2.PERMISSION_DENIED: "NOT_OWNER NOT_GRANTED AGENT_MISMATCH",
    code_pb2.ABORTED: "STALE_REVISION UNDO_CONFLICT NOT_CONFIRMED",
    code_pb2.OUT_OF_RANGE: "REVISION_OUT_OF_RANGE",
    code_pb2.FAILED_PRECONDITION: """
        NOT_ACTIVE MODEL_MISMATCH READ_ONLY UNSUPPORTED_FORMAT DEFAULT_COLLECTION
        EMBEDDER_MISCONFIGURED NOT_UNDOABLE APPEND_ONLY PROTECTED REEMBEDDING
        NOTHING_TO_REEMBED COMMITS_LOST NOT_PENDING""",
    code_pb2.RESOURCE_EXHAUSTED: "QUOTA_EXCEEDED WATCH_TOO_SLOW BLAST_RADIUS RATE_LIMITED",
    code_pb2.UNAVAILABLE: """
        OVERLOADED EMBEDDER_UNAVAILABLE EMBEDDER_BUSY SHUTTING_DOWN STREAM_IDLE
        STORE_UNAVAILABLE NOT_CAUGHT_UP""",
    code_pb2.DATA_LOSS: "CORRUPT_ROW WRONG_FILE MISSING_FILE",
    code_pb2.INTERNAL: "INTERNAL",
    code_pb2.DEADLINE_EXCEEDED: "DEADLINE_PASSED",
    code_pb2.UNIMPLEMENTED: "NOT_ON_THIS_STORE",
}
CODES: Final = {reason: code for code, names in _BY_CODE.items() for reason in names.split()}
"""Reason of the contract -> number of the status code."""


def status_of(error: Exception) -> status_pb2.Status:
    """The google.rpc.Status of an error: ErrorInfo, and RetryInfo if waiting helps.

    A bug is logged here, with its trace and without its message, which may quote a memory.
    """
    error = _known(error)
    code = CODES[error.reason]
    status = status_pb2.Status(code=code, message=_cut(error.message, MESSAGE_CHARS_MAX))
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=_details(error))
    _attach(status.details.add(), info)
    retry_delay_ms = getattr(error, "retry_delay_ms", None)
    if retry_delay_ms is not None:
        delay = Duration()
        delay.FromMilliseconds(retry_delay_ms)
        _attach(status.details.add(), error_details_pb2.RetryInfo(retry_delay=delay))
    return status


def reason_of(error: Exception) -> str:
    """Return the reason that the status of an error names."""
    found = typed(error)
    if isinstance(found, TotonoeError) and found.reason in CODES:
        return found.reason
    return "INTERNAL"


def grpc_status_of(error: Exception) -> grpc.Status:
    """Return the status that `context.abort_with_status` takes."""
    status: grpc.Status = rpc_status.to_status(status_of(error))
    return status


def message_of(status: grpc.Status) -> status_pb2.Status:
    """The google.rpc.Status that `grpc_status_of` made this of."""
    (data,) = (value for key, value in status.trailing_metadata if key == GRPC_DETAILS_METADATA_KEY)
    return status_pb2.Status.FromString(data)


def item_error_of(error: Exception) -> memory_service_pb2.ItemError:
    """The same for one item of a RememberMany."""
    error = _known(error)
    return memory_service_pb2.ItemError(
        code=CODES[error.reason],
        reason=error.reason,
        message=_cut(error.message, MESSAGE_CHARS_MAX),
        details=_details(error),
    )


def _known(error: Exception) -> TotonoeError:
    """An error of the contract: this one, or INTERNAL in its place."""
    found = typed(error)
    return found if isinstance(found, TotonoeError) and found.reason in CODES else _internal(error)


def _internal(error: Exception) -> TotonoeError:
    error_id = "err_" + secrets.token_hex(6)
    logger.error("internal error", error_id=error_id, **trace_of(error))
    message = f"internal error; the daemon's log has it under {error_id}"
    return TotonoeError("INTERNAL", message, error_id=error_id)


def _details(error: TotonoeError) -> dict[str, str]:
    advice = of_error(error.reason, error.details)
    details = error.details | ({"advice": advice} if advice else {})
    return {name: _cut(value, DETAIL_CHARS_MAX) for name, value in details.items()}


def _cut(text: str, chars_max: int) -> str:
    """Bounded, and without lone surrogates, which no message can hold."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def _attach(
    slot: AnyMessage, detail: error_details_pb2.ErrorInfo | error_details_pb2.RetryInfo
) -> None:
    slot.Pack(detail)
