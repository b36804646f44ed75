"""The daemon's log: structured, to standard error, and never with the text of a memory.

Everything goes through the standard library's `logging`, so that a program which runs the
daemon in its own process (tests) sees and filters it as usual; only `configure`, which
the `serve` command calls, sets up where it goes.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any, Literal, cast

import structlog

LogFormat = Literal["console", "json"]
_FRAMES_MAX = 50

_SHARED: list[structlog.typing.Processor] = [
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]

logger: structlog.stdlib.BoundLogger = cast(
    structlog.stdlib.BoundLogger,
    structlog.wrap_logger(
        logging.getLogger("totonoe.server"),
        wrapper_class=structlog.stdlib.BoundLogger,
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
    ),
)


def configure(level: str, log_format: LogFormat) -> None:
    """Sends every log record of the process to standard error in one format."""
    renderer: structlog.typing.Processor
    if log_format == "json":
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        # The default traceback would print local variables, that is: memories.
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_SHARED, _strip_exception],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # One line a request of theirs, at info: nothing an operator of this daemon asked for.
    for name in ("httpx", "httpcore", "numba"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.getLogger("grpc._cython.cygrpc").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """gRPC reports as an error that an answer found its client gone. That is daily life."""
    return not str(record.msg).startswith("ExecuteBatchError raised in core")


def trace_of(error: BaseException) -> dict[str, Any]:
    """Types and places of an error and its causes, without their messages.

    A message may quote what was being handled (`KeyError`, `UnicodeEncodeError`).
    """
    types: list[str] = []
    frames: list[str] = []
    link: BaseException | None = error
    while link is not None and len(types) < 5:
        types.append(type(link).__qualname__)
        frames += [
            f"{frame.filename}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(link.__traceback__, limit=_FRAMES_MAX)
        ]
        link = link.__cause__ or link.__context__
    return {"error_types": types, "trace": frames[:_FRAMES_MAX]}


def _strip_exception(
    _logger: Any, _name: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Records of other loggers: an attached exception keeps its trace and loses its message."""
    info = event.pop("exc_info", None)
    if isinstance(info, tuple) and info[1] is not None:
        event.update(trace_of(info[1]))
    return event
