"""The table of reasons and codes, and what an error looks like on the wire."""

from __future__ import annotations

import errno
import logging
import re
from pathlib import Path

import grpc
import pytest
from google.rpc import code_pb2

from totonoe.v1 import errors_pb2
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base import errors
from totonoe_server import status
from totonoe_server.advice import NOT_FOUND

PROTO = Path(__file__).parents[2] / "proto/totonoe/v1/errors.proto"


def reasons_of_the_contract() -> dict[str, str]:
    """Reason -> code name, read from the comments of errors.proto."""
    text = PROTO.read_text()
    pairs = re.findall(r"\((\w+)(?:, with retry delay)?\)\n\s+ERROR_REASON_(\w+) =", text)
    return {reason: code for code, reason in pairs}


def test_codes_every_reason_has_the_code_its_comment_names():
    documented = reasons_of_the_contract()
    declared = {
        name.removeprefix("ERROR_REASON_")
        for name in errors_pb2.ErrorReason.DESCRIPTOR.values_by_name
    }
    assert set(documented) == declared - {"UNSPECIFIED"}
    assert {reason: code_pb2.Code.Name(code) for reason, code in status.CODES.items()} == documented


@pytest.mark.parametrize("reason", sorted(status.CODES))
def test_call_failing_with_a_reason_answers_its_code_and_reason(fake, fails, reason):
    error = errors.TotonoeError(reason, "words for people", field="name")
    if status.CODES[reason] == code_pb2.UNAVAILABLE:
        error = errors.Unavailable(reason, "words for people", retry_delay_ms=350)
    fake.engine.behave = lambda *_, **__: error
    advice = {"advice": NOT_FOUND} if reason == "MEMORY_NOT_FOUND" else {}
    failure = fails(fake.memory.Get, pb.GetRequest(ids=["mem_1"]))
    assert failure.code.value[0] == status.CODES[reason]
    assert (failure.reason, failure.domain) == (reason, "totonoe.v1")
    assert failure.message == "words for people"
    if status.CODES[reason] == code_pb2.UNAVAILABLE:
        assert failure.retry_delay_ms == 350
    else:
        assert failure.retry_delay_ms is None
        assert failure.details == {"field": "name"} | advice


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidArgument("OUT_OF_RANGE", field="k", got=0, allowed="1"), "INVALID_ARGUMENT"),
        (errors.NotFound("MEMORY_NOT_FOUND", kind="memory", name="m"), "NOT_FOUND"),
        (errors.AlreadyExists("COLLECTION_EXISTS", kind="collection", name="c"), "ALREADY_EXISTS"),
        (errors.NotOwner("not yours", memory_id="m"), "PERMISSION_DENIED"),
        (errors.StaleRevision(name="m", expected=1, actual=2), "ABORTED"),
        (errors.UndoRefused(3, ["mem_1: changed at revision 5"]), "ABORTED"),
        (errors.OutOfRange(field="after_revision", got=9, newest=4), "OUT_OF_RANGE"),
        (errors.Quota("QUOTA_EXCEEDED", "full"), "RESOURCE_EXHAUSTED"),
        (errors.Unavailable("OVERLOADED", "busy", retry_delay_ms=1), "UNAVAILABLE"),
        (errors.ModelMismatch(collection="c", stamped="a", running="b"), "FAILED_PRECONDITION"),
        (errors.ReadOnly("READ_ONLY", "disk full"), "FAILED_PRECONDITION"),
        (
            errors.CommitsLost(file="memory.db", target="c", revisions="2-3", commit_count=2),
            "FAILED_PRECONDITION",
        ),
        (errors.UnsupportedFormat("UNSUPPORTED_FORMAT", "old"), "FAILED_PRECONDITION"),
        (errors.Corruption("CORRUPT_ROW", "crc"), "DATA_LOSS"),
        (errors.Corruption("WRONG_FILE", "another's"), "DATA_LOSS"),
        (errors.Corruption("MISSING_FILE", "gone"), "DATA_LOSS"),
        (errors.NotOnThisStore("snapshots", "memory"), "UNIMPLEMENTED"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_status_of_each_core_error_is_the_code_of_the_house(error, code):
    assert code_pb2.Code.Name(status.status_of(error).code) == code


@pytest.mark.parametrize(
    "bug",
    [ValueError("a secret memory"), errors.TotonoeError("NO_SUCH_REASON", "a secret memory")],
    ids=["foreign", "reason not in the contract"],
)
def test_bug_answers_internal_with_an_id_and_leaks_nothing(fake, fails, caplog, bug):
    fake.engine.behave = lambda *_, **__: bug
    with caplog.at_level(logging.ERROR):
        failure = fails(fake.memory.Get, pb.GetRequest(ids=["mem_1"]))
    assert failure.code is grpc.StatusCode.INTERNAL
    assert failure.reason == "INTERNAL"
    assert "secret" not in failure.message
    error_id = failure.details["error_id"]
    assert error_id in failure.message
    assert error_id in caplog.text
    assert "conftest" in caplog.text or "pending.py" in caplog.text  # the trace is there
    assert "secret" not in caplog.text


def test_long_and_strange_details_still_travel(fake, fails):
    fake.engine.behave = lambda *_, **__: errors.InvalidArgument(
        "BAD_NAME", field="x", got="é\udc80" * 50_000, allowed="short ones"
    )
    failure = fails(fake.memory.Get, pb.GetRequest(ids=["mem_1"]))
    assert failure.reason == "BAD_NAME"
    assert len(failure.details["got"]) == status.DETAIL_CHARS_MAX


def test_item_error_has_code_reason_message_and_details():
    error = errors.Unavailable("OVERLOADED", "busy", retry_delay_ms=200)
    item = status.item_error_of(error)
    assert (item.code, item.reason, item.message) == (code_pb2.UNAVAILABLE, "OVERLOADED", "busy")
    assert item.details == {"retry_delay_ms": "200"}
    assert status.item_error_of(KeyError("secret")).reason == "INTERNAL"
    assert "secret" not in status.item_error_of(KeyError("secret")).message


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.EMFILE, "OVERLOADED"), (errno.ENFILE, "OVERLOADED"), (errno.EACCES, "INTERNAL")],
)
def test_lack_of_file_descriptors_is_no_bug(fake, fails, number, reason):
    fake.engine.behave = lambda *_, **__: OSError(number, "no")
    failure = fails(fake.memory.Get, pb.GetRequest(ids=["m"]))
    assert failure.reason == reason
    item = status.item_error_of(OSError(number, "no"))
    assert item.reason == reason
