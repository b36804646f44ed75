"""The daemon's logger: structured, and never with the text of a memory.

Every record goes through the standard library's `logging`, so that a program which runs the daemon
in its own process (tests) sees and filters the records as usual. Only `life.logs.configure`, which
the `serve` command calls, decides where the records go.
"""

from __future__ import annotations

import logging
import traceback
from typing import Any, cast

import structlog

_FRAMES_MAX = 50

SHARED: list[structlog.typing.Processor] = [
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
"""Steps that every record passes, whichever logger wrote it."""

logger: structlog.stdlib.BoundLogger = cast(
    structlog.stdlib.BoundLogger,
    structlog.wrap_logger(
        logging.getLogger("totonoe.server"),
        wrapper_class=structlog.stdlib.BoundLogger,
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
    ),
)


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
