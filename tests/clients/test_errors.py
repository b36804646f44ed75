"""Failed calls become exceptions that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from support.scripted import fail, scripted
from totonoe import errors
from totonoe.call import status
from totonoe.v1 import errors_pb2
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.wire.exceptions import from_item

# Code and class of each reason of the contract.
REASONS: dict[tuple[str, type[errors.TotonoeError]], str] = {
    ("INVALID_ARGUMENT", errors.InvalidArgument): (
        "EMPTY_TEXT NUL_IN_TEXT LIMIT_EXCEEDED DIMENSION_MISMATCH NON_FINITE_VECTOR ZERO_VECTOR "
        "VECTOR_REQUIRED OUT_OF_RANGE UNKNOWN_ENUM BAD_NAME BAD_PAGE_TOKEN BAD_TIME "
        "BAD_UPDATE_MASK MISSING_FIELD SELF_LINK MALFORMED_MESSAGE BAD_MERGE "
        "BAD_PLAN BAD_IMPORT REVIEW_FIRST"
    ),
    ("NOT_FOUND", errors.NotFound): (
        "MEMORY_NOT_FOUND COLLECTION_NOT_FOUND LINK_NOT_FOUND OPERATION_NOT_FOUND EPISODE_NOT_FOUND"
        " SNAPSHOT_NOT_FOUND MEMORY_NOT_YET"
    ),
    ("ALREADY_EXISTS", errors.AlreadyExists): "COLLECTION_EXISTS SNAPSHOT_EXISTS",
    ("ALREADY_EXISTS", errors.ExternalIdExists): "EXTERNAL_ID_EXISTS",
    ("ALREADY_EXISTS", errors.OperationIdReused): "OPERATION_ID_REUSED",
    ("ABORTED", errors.StaleRevision): "STALE_REVISION",
    ("ABORTED", errors.UndoRefused): "UNDO_CONFLICT",
    ("ABORTED", errors.NotConfirmed): "NOT_CONFIRMED",
    ("FAILED_PRECONDITION", errors.NotActive): "NOT_ACTIVE",
    ("FAILED_PRECONDITION", errors.ModelMismatch): "MODEL_MISMATCH",
    ("FAILED_PRECONDITION", errors.ReadOnly): "READ_ONLY COMMITS_LOST",
    ("FAILED_PRECONDITION", errors.FailedPrecondition): (
        "UNSUPPORTED_FORMAT DEFAULT_COLLECTION EMBEDDER_MISCONFIGURED NOT_UNDOABLE APPEND_ONLY "
        "PROTECTED REEMBEDDING NOTHING_TO_REEMBED NOT_PENDING"
    ),
    ("PERMISSION_DENIED", errors.PermissionDenied): "NOT_OWNER NOT_GRANTED AGENT_MISMATCH",
    ("UNAUTHENTICATED", errors.Unauthenticated): (
        "TOKEN_MISSING TOKEN_INVALID TOKEN_EXPIRED TOKEN_REVOKED"
    ),
    ("RESOURCE_EXHAUSTED", errors.RateLimited): "RATE_LIMITED",
    ("RESOURCE_EXHAUSTED", errors.QuotaExceeded): "QUOTA_EXCEEDED WATCH_TOO_SLOW BLAST_RADIUS",
    ("OUT_OF_RANGE", errors.OutOfRange): "REVISION_OUT_OF_RANGE",
    ("UNAVAILABLE", errors.Unavailable): (
        "OVERLOADED EMBEDDER_UNAVAILABLE EMBEDDER_BUSY SHUTTING_DOWN STREAM_IDLE STORE_UNAVAILABLE "
        "NOT_CAUGHT_UP"
    ),
    ("DATA_LOSS", errors.DataLoss): "CORRUPT_ROW WRONG_FILE MISSING_FILE",
    ("INTERNAL", errors.Internal): "INTERNAL",
    ("DEADLINE_EXCEEDED", errors.DeadlineExceeded): "DEADLINE_PASSED",
    ("UNIMPLEMENTED", errors.Unimplemented): "NOT_ON_THIS_STORE",
}
CASES = [
    (code, kind, reason) for (code, kind), reasons in REASONS.items() for reason in reasons.split()
] + [
    ("INVALID_ARGUMENT", errors.InvalidArgument, "A_REASON_OF_TOMORROW"),
    ("UNKNOWN", errors.TotonoeError, "WHATEVER"),
    # A daemon that files a reason under another code: the code decides.
    ("NOT_FOUND", errors.NotFound, "READ_ONLY"),
]


class FailedCall(grpc.RpcError):
    """An error as gRPC's own classes give it."""

    def __init__(self, code: grpc.StatusCode, details: str, trailers: Any) -> None:
        super().__init__()
        self._parts = code, details, trailers

    def code(self) -> grpc.StatusCode:
        return self._parts[0]

    def details(self) -> str:
        return self._parts[1]

    def trailing_metadata(self) -> Any:
        return self._parts[2]


def test_reasons_of_contract_are_all_cases() -> None:
    wire = {name.removeprefix("ERROR_REASON_") for name, _ in errors_pb2.ErrorReason.items()}
    assert wire - {"UNSPECIFIED"} <= {reason for _, _, reason in CASES}


@pytest.mark.parametrize(("code", "kind", "reason"), CASES, ids=lambda value: str(value))
def test_reason_each_raises_its_class(
    code: str, kind: type[errors.TotonoeError], reason: str
) -> None:
    def stats(_request: Any, context: grpc.ServicerContext) -> None:
        fail(context, code, reason, "because", metadata={"field": "x"}, retry_delay_s=0.5)

    with scripted(Stats=stats) as address, grpc.insecure_channel(address) as channel:
        method: Any = channel.unary_unary("/totonoe.v1.AdminService/Stats")
        with pytest.raises(grpc.RpcError) as caught:
            method(b"")
    error = status.from_call(caught.value, address)
    assert type(error) is kind
    assert (error.code, error.reason, error.message) == (code, reason, "because")
    assert error.details == {"field": "x"}
    assert error.retry_delay_s == 0.5
    assert str(error) == f"because ({reason})"


def test_error_over_the_wire_raises_same_in_both_clients(call: Callable[..., Any]) -> None:
    def get(_request: Any, context: grpc.ServicerContext) -> None:
        fail(context, "NOT_FOUND", "MEMORY_NOT_FOUND", "memory 'ü' not found")

    with scripted(Get=get) as address, pytest.raises(errors.NotFound, match="'ü' not found"):
        call(address, "get", "mem_000000000000")


def test_error_of_other_domain_keeps_code_without_reason(call: Callable[..., Any]) -> None:
    def get(_request: Any, context: grpc.ServicerContext) -> None:
        fail(context, "NOT_FOUND", "THEIRS", "gone", domain="proxy.example")

    with scripted(Get=get) as address, pytest.raises(errors.NotFound) as caught:
        call(address, "get", "mem_000000000000")
    assert (caught.value.reason, caught.value.details) == ("", {})
    assert str(caught.value) == "gone (NOT_FOUND)"


@pytest.mark.parametrize("trailers", [None, (), (("grpc-status-details-bin", b"\xff\xff"),)])
def test_error_without_usable_details_falls_back_to_code(trailers: Any) -> None:
    failed = FailedCall(grpc.StatusCode.DATA_LOSS, "broken", trailers)
    error = status.from_call(failed, "here")
    assert type(error) is errors.DataLoss
    assert (error.reason, error.details, error.retry_delay_s) == ("", {}, None)


def test_daemon_absent_raises_unreachable_with_hint(call: Callable[..., Any]) -> None:
    with scripted() as address:
        pass
    with pytest.raises(errors.Unreachable, match="totonoe serve") as caught:
        call(address, "stats")
    assert address in caught.value.message
    assert isinstance(caught.value, errors.Unavailable)


def test_call_unknown_to_daemon_raises_unimplemented(call: Callable[..., Any]) -> None:
    with scripted() as address, pytest.raises(errors.Unimplemented):
        call(address, "stats")


def test_answer_over_16_mib_raises_quota_exceeded(call: Callable[..., Any]) -> None:
    def get(_request: Any, _context: grpc.ServicerContext) -> pb.GetResponse:
        return pb.GetResponse(missing_ids=["x" * (17 * 1024 * 1024)])

    with scripted(Get=get) as address, pytest.raises(errors.QuotaExceeded):
        call(address, "get_many", ["mem_000000000000", "mem_000000000001"])


def test_item_error_unknown_code_raises_base() -> None:
    item = pb.ItemError(code=99, reason="X", details={"retry_delay_ms": "250"})
    error = from_item(item)
    assert type(error) is errors.TotonoeError
    assert (error.code, error.message, error.retry_delay_s) == ("UNKNOWN", "X", 0.25)


def test_undo_refused_tells_what_stands_in_the_way(call: Callable[..., Any]) -> None:
    def undo(_request: Any, context: grpc.ServicerContext) -> None:
        said = {"revision": "4", "conflicts": "mem_a changed; mem_b purged", "conflict_count": "2"}
        fail(context, "ABORTED", "UNDO_CONFLICT", "cannot be undone whole", metadata=said)

    with scripted(Undo=undo) as address, pytest.raises(errors.StaleRevision) as caught:
        call(address, "undo", 4)
    assert isinstance(caught.value, errors.UndoRefused)
    assert caught.value.conflicts == ("mem_a changed", "mem_b purged")
    assert errors.UndoRefused("x").conflicts == ()
