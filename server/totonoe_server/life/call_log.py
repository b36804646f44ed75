"""Log one line for each call: never with a text, an agent or an id that somebody made up."""

from __future__ import annotations

import itertools
import logging
import re
import secrets
from typing import Any

from totonoe_core.base.ids import COLLECTION_NAME
from totonoe_server.logger import logger
from totonoe_server.wire.scalars import collection_name

REQUEST_ID_KEY = "x-request-id"
"""A caller may name its call by this key of the metadata, so that it finds the line."""
TRACEPARENT = "traceparent"
"""By this one it names its span."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_START = secrets.token_hex(4)
_NUMBERS = itertools.count(1)


class CallLog:
    """Writes the lines, at one severity.

    Parameters
    ----------
    level : str
        Name of the severity.
    """

    def __init__(self, level: str = "debug") -> None:
        self._logger = logging.getLogger("totonoe.server")
        self.set_level(level)

    def set_level(self, level: str) -> None:
        """Changes the severity. From the next line on."""
        self._level = logging.getLevelNamesMapping()[level.upper()]

    def wanted(self) -> bool:
        """Return whether lines of this severity are logged now. Cheap: asked for every call."""
        return self._logger.isEnabledFor(self._level)

    def write(
        self,
        request_id: str,
        method: str,
        code: str,
        reason: str,
        seconds: float,
        identity: str,
        request: Any,
        answer: Any,
    ) -> None:
        """Log an ended call.

        Parameters
        ----------
        request_id : str
            See `request_id_of`.
        identity : str
            Name of the identity that the daemon found out, empty for none. Not the agent id of the
            request, which anybody may claim.
        request, answer : message or None
            The first and the last one of a stream.
        """
        logger.log(
            self._level,
            "call",
            request_id=request_id,
            method=method,
            code=code,
            reason=reason,
            ms=round(seconds * 1000, 2),
            identity=identity,
            collection=collection_of(request),
            revision=getattr(answer, "revision", 0),
        )


def request_id_of(context: Any) -> str:
    """The name that the caller gave its call, or a new one. Log and trace show the same."""
    for key, value in context.invocation_metadata() or ():
        if key == REQUEST_ID_KEY and isinstance(value, str) and _REQUEST_ID.fullmatch(value):
            return value
    return f"{_START}-{next(_NUMBERS)}"


def collection_of(request: Any) -> str:
    """The collection that a request names, empty where it names none or a wrong one.

    A wrong name may be anything, a memory too.
    """
    if request is None:
        return ""
    names = request.DESCRIPTOR.fields_by_name
    if request.DESCRIPTOR.name.endswith("CollectionRequest"):
        name = request.name
    elif "collection" in names:
        name = collection_name(request.collection)
    elif "items" in names and request.items:
        return collection_of(request.items[0])  # each names its own; mostly they are the same
    else:
        return ""
    return name if COLLECTION_NAME.match(name) else ""
