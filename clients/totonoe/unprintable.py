"""Characters that would steer what shows a text, in place of standing in it.

Control characters but for tab and line feed, C1 included; all that ends a line somewhere; and the
marks that turn the direction of writing.
"""

from __future__ import annotations

import re

_BIDI = "\u202a-\u202e\u2066-\u2069"
STEERING = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_BIDI}]")
# In JSON nothing is lost by an escape, so the invisible marks of direction are escaped as well.
_IN_JSON = re.compile(f"[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\ud800-\udfff{_BIDI}]")


def line_feeds(text: str) -> str:
    """The text with the line ends of Windows as line feeds."""
    return text.replace("\r\n", "\n")


def escaped(text: str) -> str:
    """The text with each such character as `\\u` and four hex digits."""
    return STEERING.sub(_escape, line_feeds(text))


def escaped_json(text: str) -> str:
    """JSON with them escaped in its strings, so that a reader gets back what was there."""
    return _IN_JSON.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
