"""Statements of a Markdown file: its bullets and paragraphs, each with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

STATEMENTS_MAX = 128
"""Statements of one file that become memories of their own: the first of it."""

_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(?=\S)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_NO_STATEMENT = re.compile(r"\s*(?:#{1,6}(?:\s|$)|[|<>]|-->)")


@dataclass(frozen=True, slots=True)
class Statement:
    """A bullet or a paragraph, white space folded; `line` is its first, from 1."""

    line: int
    text: str

    @property
    def key(self) -> str:
        """Twelve hex digits by which statements of one text are the same."""
        return blake2b(self.text.encode(), digest_size=6).hexdigest()


def statements(text: str) -> tuple[Statement, ...]:
    """Return the bullets and paragraphs of a text, at most STATEMENTS_MAX.

    Headings, tables, quotations, HTML and fenced code state nothing of their own. Lines after a
    bullet belong to it, up to a blank line or the next bullet.
    """
    found: list[tuple[int, list[str]]] = []
    is_open = is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if _FENCE.match(line):
            is_open, is_code = False, not is_code
        elif is_code:
            continue
        elif not line.strip() or _NO_STATEMENT.match(line):
            is_open = False
        elif bullet := _BULLET.match(line):
            found.append((number, [line[bullet.end() :]]))
            is_open = True
        elif is_open:
            found[-1][1].append(line)
        else:
            found.append((number, [line]))
            is_open = True
        if len(found) > STATEMENTS_MAX:
            break
    folded = (Statement(line, " ".join(" ".join(parts).split())) for line, parts in found)
    # A rule, or a row of signs, says nothing.
    return tuple(statement for statement in folded if any(map(str.isalnum, statement.text)))[
        :STATEMENTS_MAX
    ]
