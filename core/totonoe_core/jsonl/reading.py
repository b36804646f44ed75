"""Parser of an export file: checks each line as strictly as a request, and reads every field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NoReturn

from totonoe_core.base import limits
from totonoe_core.base.errors import BadImport
from totonoe_core.domain.transfer import Header, Record
from totonoe_core.jsonl import FORMAT, KINDS, VERSION, parts
from totonoe_core.jsonl.values import Values, Wrong


@dataclass(frozen=True, slots=True)
class Entry:
    """A line with a record, or with its fault.

    `memory_id` names the memory of a faulty line, if it could be read.
    """

    line: int
    raw: bytes
    record: Record | None = None
    error: BadImport | None = None
    memory_id: str = ""


@dataclass(slots=True)
class LineReader:
    """Parser of a file that arrives in pieces of any size.

    Memory is bounded by the longest line, which has a limit. A fault of the file itself (header,
    order, end, checksum, a line that is too long) raises `BadImport`; a fault of one record is in
    its entry.
    """

    header: Header | None = None
    line: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    ended: bool = False
    _rest: bytes = b""
    _kind: int = 0
    _sum: Any = field(default_factory=sha256)

    def take(self, data: bytes, last: bool) -> Iterator[Entry]:
        """Yield the records of the lines that end in this piece; `last` if no piece follows."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if last and self._rest:
            lines.append(self._rest)
            self._rest = b""
        for raw in lines:
            self.line += 1
            if len(raw) > limits.IMPORT_LINE_BYTES_MAX:
                self._too_long(self.line)
            entry = self._read(raw)
            if entry is not None:
                yield entry
            self._sum.update(raw + b"\n")
        if len(self._rest) > limits.IMPORT_LINE_BYTES_MAX:
            self._too_long(self.line + 1)
        if last and not self.ended:
            self._bad(self.line + 1, "record", "the end of the file", 'a line "end": it was cut')

    def _read(self, raw: bytes) -> Entry | None:
        number = self.line
        if self.ended:
            self._bad(number, "record", "a line after the end", "none")
        try:
            values = Values(_object(raw))
            kind = values.take("record", str)
            if self.header is None:
                self._begin(kind, values)
                return None
            if kind == "end":
                self._end(values)
                return None
            self._in_order(kind)
        except Wrong as wrong:
            self._bad(number, wrong.field, wrong.got, wrong.allowed)
        memory_id = parts.id_of(values)
        try:
            record: Record
            if kind == "memory":
                record = parts.memory(values, self.header)
            else:
                record = _OTHERS[kind](values)
            values.all_taken()
        except Wrong as wrong:
            error = BadImport(number, field=wrong.field, got=wrong.got, allowed=wrong.allowed)
            self.counts[kind] += 1
            return Entry(number, raw, error=error, memory_id=memory_id)
        self.counts[kind] += 1
        return Entry(number, raw, record)

    def _begin(self, kind: str, values: Values) -> None:
        if kind != "header" or values.take("format", str) != FORMAT:
            raise Wrong("record", "another kind of file", f'a line "header" of format {FORMAT!r}')
        version = values.take("version", int)
        if version != VERSION:
            raise Wrong("version", version, f"{VERSION}: a newer totonoe reads newer files")
        self.header = parts.header(values)
        values.all_taken()

    def _in_order(self, kind: str) -> None:
        if kind not in KINDS:
            raise Wrong("record", repr(kind[:64]), ", ".join((*KINDS, "end")))
        place = KINDS.index(kind)
        if place < self._kind:
            raise Wrong(
                "record", f"a {kind} after a {KINDS[self._kind]}", "the order of the format"
            )
        self._kind = place

    def _end(self, values: Values) -> None:
        counts = Values(values.take("counts", dict))
        found = {kind: counts.take(kind, int) for kind in KINDS}
        digest = values.take("sha256", str)
        counts.all_taken()
        values.all_taken()
        if found != self.counts:
            self._bad(self.line, "counts", self.counts, f"{found}: lines are missing or too many")
        if digest != self._sum.hexdigest():
            self._bad(self.line, "sha256", self._sum.hexdigest(), f"{digest}: lines were changed")
        self.ended = True

    def _too_long(self, line: int) -> NoReturn:
        limit = limits.IMPORT_LINE_BYTES_MAX
        self._bad(line, "line", "a longer one", f"at most {limit} bytes")

    @staticmethod
    def _bad(line: int, name: str, got: object, allowed: str) -> NoReturn:
        raise BadImport(line, field=name, got=got, allowed=allowed)


_OTHERS: dict[str, Callable[[Values], Record]] = {
    "link": parts.link,
    "episode": parts.episode,
    "dismissal": parts.dismissal,
}


def _no_constant(name: str) -> NoReturn:
    raise Wrong("line", name, "finite numbers")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _object(raw: bytes) -> dict[str, Any]:
    """Parse the JSON object of a line. The error quotes nothing of the line."""
    try:
        found = _DECODER.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise Wrong("line", f"bytes that are no UTF-8 at {error.start}", "UTF-8") from None
    except json.JSONDecodeError as error:
        raise Wrong("line", f"no JSON: {error.msg} at {error.pos}", "a JSON object") from None
    except RecursionError:
        raise Wrong("line", "JSON that is too deep", "a JSON object") from None
    except ValueError:
        raise Wrong("line", "a number that is too long", "a JSON object") from None
    if not isinstance(found, dict):
        raise Wrong("line", f"a {type(found).__name__}", "a JSON object")
    return found
