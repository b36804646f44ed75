"""Made names that say where something is: URLs, e-mail and IP addresses, hosts, commits.

Another one is another value ("the host is db-02.internal"). Any other made name may be what a
statement is about: a ticket, a line, a room.
"""

from __future__ import annotations

import re

_ADDRESS = re.compile(
    r"\w+://|www\.|[^/\s]+@"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?!\w)"
    r"|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?\Z"
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,128}\Z",
    re.IGNORECASE | re.ASCII,
)


def is_address(key: str) -> bool:
    """Return whether the key of an identifier or path is an address, a host or a commit."""
    return _ADDRESS.match(key) is not None
