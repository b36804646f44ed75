"""The log's form, and that it holds no text of a memory."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Iterator

import pytest

from totonoe_server.life import logs
from totonoe_server.logger import logger, trace_of

SECRET = "the quince jam"


@pytest.fixture
def _logging_restored() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level, threading.excepthook
    yield
    root.handlers[:], root.level, threading.excepthook = before


def fail() -> None:
    """Fails as a bug would, with a memory in both messages."""
    try:
        raise KeyError(SECRET)
    except KeyError:
        "日本 the quince jam".encode("ascii")


@pytest.mark.usefixtures("_logging_restored")
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_log_of_an_exception_has_its_trace_and_not_its_message(capsys, log_format):
    logs.configure("info", log_format)
    try:
        fail()
    except UnicodeEncodeError as error:
        logger.error("ours", **trace_of(error))
        logging.getLogger("somebody.else").exception("theirs")
        logging.getLogger("somebody.else").error("theirs too", exc_info=error)
    logger.debug("too small to tell")
    text = capsys.readouterr().err
    assert "quince" not in text
    assert "too small" not in text
    assert text.count("UnicodeEncodeError") >= 3
    assert text.count("KeyError") >= 3
    assert "test_logs.py" in text
    if log_format == "json":
        lines = [json.loads(line) for line in text.splitlines()]
        assert [line["event"] for line in lines] == ["ours", "theirs", "theirs too"]
        assert all(line["level"] == "error" and line["timestamp"] for line in lines)


@pytest.mark.usefixtures("_logging_restored")
def test_log_leaves_out_that_a_client_was_gone(capsys):
    logs.configure("info", "console")
    logger = logging.getLogger("grpc._cython.cygrpc")
    logger.error("ExecuteBatchError raised in core by servicer method [%s]", "/x")
    logger.error("Something else")
    text = capsys.readouterr().err
    assert "ExecuteBatchError" not in text
    assert "Something else" in text


def test_trace_of_a_long_chain_is_bounded():
    error: Exception = ValueError("0")
    for number in range(100):
        try:
            raise ValueError(str(number)) from error
        except ValueError as next_error:
            error = next_error
    trace = trace_of(error)
    assert len(trace["error_types"]) == 5
    assert len(trace["trace"]) <= 50
    assert sys.exc_info() == (None, None, None)


@pytest.mark.usefixtures("_logging_restored")
def test_thread_that_a_bug_ends_is_logged_without_the_message(capsys):
    logs.configure("info", "json")
    thread = threading.Thread(target=fail, name="careless")
    thread.start()
    thread.join()
    said = json.loads(capsys.readouterr().err)
    assert (said["event"], said["thread"]) == ("a thread ended", "careless")
    assert said["error_types"] == ["UnicodeEncodeError", "KeyError"]
    assert "quince" not in str(said)
