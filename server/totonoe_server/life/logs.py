"""Send the log of the process to standard error, in one format."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING, Any

import structlog

from totonoe_server.logger import SHARED, logger, trace_of

if TYPE_CHECKING:
    from totonoe_server.life.config import LogFormat


def configure(level: str, log_format: LogFormat, number: int = 0) -> None:
    """Sends every log record of the process to standard error in one format.

    With the `number` of a daemon in each, if several write to the same place; 0: without.
    """

    def numbered(
        _logger: Any, _name: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        return {**event, "daemon": number} if number else event

    renderer: structlog.typing.Processor
    if log_format == "json":
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        # The default traceback would print local variables, that is: memories.
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    threading.excepthook = _thread_ended
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*SHARED, _strip_exception],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                numbered,
                renderer,
            ],
        )
    )
    logging.getLogger().handlers[:] = [handler]
    set_level(level)
    logging.getLogger("grpc._cython.cygrpc").addFilter(_is_news)


def set_level(level: str) -> None:
    """Changes from which severity on records are logged. While the process runs, too."""
    root = logging.getLogger()
    root.setLevel(level.upper())
    # One line a request of theirs, at info: nothing an operator of this daemon asked for.
    for name in ("httpx", "httpcore", "numba"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def _thread_ended(given: threading.ExceptHookArgs) -> None:
    """Logs a thread that a bug ended, without its error's message, which may quote a memory."""
    if given.exc_value is not None:
        name = "" if given.thread is None else given.thread.name
        logger.error("a thread ended", thread=name, **trace_of(given.exc_value))


def _is_news(record: logging.LogRecord) -> bool:
    """gRPC reports as an error that an answer found its client gone. That is daily life."""
    return not str(record.msg).startswith("ExecuteBatchError raised in core")


def _strip_exception(
    _logger: Any, _name: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Records of other loggers: an attached exception keeps its trace and loses its message."""
    info = event.pop("exc_info", None)
    if isinstance(info, tuple) and info[1] is not None:
        event.update(trace_of(info[1]))
    return event
