"""JSON files of other programs, read element by element.

Memory is bounded by the largest element, and that by a limit: a list of any length is never loaded
as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from totonoe.importers.records import RECORD_BYTES_MAX, Reason, Skipped

_PIECE_BYTES = 64 * 1024
HEAD_BYTES = 64 * 1024
"""Bytes of a file that are read to recognise it."""
_SPACE = " \t\r\n\ufeff"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a list, or an object of a file of lines. `key`: the list's name, if any."""

    where: str
    value: Any
    key: str = ""


@dataclass(frozen=True, slots=True)
class Header:
    """A value beside the list, at the top of the file."""

    key: str
    value: Any


def head(path: Path) -> str:
    """Return the beginning of a file as text, empty if it cannot be read."""
    try:
        with path.open("rb") as raw:
            return raw.read(HEAD_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return ""


def first_element(path: Path) -> Element | None:
    """Return the first element of a file's list, `None` if it has none."""
    try:
        for item in elements(path):
            if isinstance(item, Element):
                return item
    except ValueError:
        return None
    return None


def first_object(path: Path) -> Any:
    """Return the first JSON value of a file of lines, `None` if it begins with none."""
    try:
        first = next(objects(path), None)
    except ValueError:
        return None
    return first.value if isinstance(first, Element) else None


def objects(path: Path) -> Iterator[Element | Skipped]:
    """Yield the JSON values of a file of lines; a line may hold several. Raises `ValueError`."""
    with _binary(path) as raw:
        number = 0
        while line := raw.readline(RECORD_BYTES_MAX + 1):
            number += 1
            if len(line) > RECORD_BYTES_MAX:
                while not line.endswith(b"\n") and (line := raw.readline(RECORD_BYTES_MAX)):
                    pass
                yield Skipped(f"line {number}", Reason.TOO_LARGE)
            else:
                yield from _of_line(f"line {number}", line)


def _of_line(where: str, line: bytes) -> Iterator[Element | Skipped]:
    try:
        text = line.decode("utf-8-sig").strip(_SPACE)
        while text:
            value, end = _DECODER.raw_decode(text)
            text = text[end:].lstrip(_SPACE)
            yield Element(where, value)
    except json.JSONDecodeError as error:
        yield Skipped(where, Reason.DAMAGED, error.msg)
    except (UnicodeDecodeError, RecursionError) as error:
        yield Skipped(where, Reason.DAMAGED, type(error).__name__)


def _binary(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None


def elements(path: Path) -> Iterator[Element | Header | Skipped]:
    """Yield the elements of the lists in a file: a list, or an object whose values are lists.

    Values that are no lists come as `Header`. A file that ends in the middle, or is no JSON from
    some place on, ends with one `Skipped`. Raises `ValueError` if it cannot be opened.
    """
    with _binary(path) as raw:
        text = _Text(raw)
        try:
            yield from _top(text)
        except _BadJsonError as error:
            detail = (
                f"{error}; nothing after it was read" if str(error) else "nothing after it was read"
            )
            yield Skipped(text.where, error.reason, detail)


class _BadJsonError(Exception):
    """The file is no JSON from here on."""

    def __init__(self, message: str, reason: Reason = Reason.DAMAGED) -> None:
        super().__init__(message)
        self.reason = reason


class _Text:
    """The text of a file from a place on, read piece by piece."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._buffer = ""
        self._at = 0
        self._rest = b""
        self.where = "the beginning"

    def _more(self) -> bool:
        """Read a piece; return false at the end of the file, with everything as it was."""
        piece = self._raw.read(max(_PIECE_BYTES, len(self._buffer) - self._at))
        if not piece:
            if self._rest:
                raise _BadJsonError("no UTF-8")
            return False
        data = self._rest + piece
        try:
            text, self._rest = data.decode("utf-8"), b""
        except UnicodeDecodeError as error:
            # A character may be cut by the end of the piece.
            if error.start < len(data) - 3:
                raise _BadJsonError("no UTF-8") from None
            text, self._rest = data[: error.start].decode("utf-8"), data[error.start :]
        self._buffer, self._at = self._buffer[self._at :] + text, 0
        return True

    def peek(self) -> str:
        """Return the next character that is no space, empty at the end of the file."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SPACE:
                    return self._buffer[self._at]
                self._at += 1
            if not self._more():
                return ""

    def take(self, allowed: str) -> str:
        """Return the next character, one of those allowed. Raises `_BadJsonError`."""
        found = self.peek()
        if not found:
            raise _BadJsonError("the file ends in the middle")
        if found not in allowed:
            raise _BadJsonError(f"allowed here: {' '.join(allowed)}")
        self._at += 1
        return found

    def value(self) -> Any:
        """Return the next value. Raises `_BadJsonError`."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except RecursionError:
                raise _BadJsonError("nested too deeply") from None
            except json.JSONDecodeError as error:
                if not _is_cut(error, len(self._buffer)):
                    raise _BadJsonError(error.msg) from None
                if len(self._buffer) - self._at > RECORD_BYTES_MAX:
                    raise _BadJsonError("", Reason.TOO_LARGE) from None
                if not self._more():
                    raise _BadJsonError("the file ends in the middle") from None
                continue
            # A number may go on in the next piece.
            if end < len(self._buffer) or not self._more():
                self._at = end
                return value


def _is_cut(error: json.JSONDecodeError, length: int) -> bool:
    """Return true if more text could make the value complete."""
    return error.msg.startswith("Unterminated") or error.pos >= length - 16


def _top(text: _Text) -> Iterator[Element | Header | Skipped]:
    if text.take("[{") == "[":
        yield from _list(text, "")
        return
    if text.peek() == "}":
        return
    while True:
        key = text.value()
        text.take(":")
        if text.peek() == "[":
            text.take("[")
            yield from _list(text, str(key))
        else:
            yield Header(str(key), text.value())
        if text.take(",}") == "}":
            return


def _list(text: _Text, key: str) -> Iterator[Element]:
    number = 0
    if text.peek() == "]":
        text.take("]")
        return
    while True:
        number += 1
        text.where = f"{key} {number}".strip()
        yield Element(text.where, text.value(), key)
        if text.take(",]") == "]":
            return
