"""Labelled files: JSON lines, plain or gzip, in one of three forms.

The form is recognised by the fields of the first row. A recall file has a partner: what
`NAME_memories.jsonl` says is asked for by `NAME_queries.jsonl`.
"""

from __future__ import annotations

import gzip
import itertools
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.records import Verdict
from totonoe_core.guard.probe import REPORTED_ONLY, right_verdicts
from totonoe_core.rules import validate

T = TypeVar("T")
Row = dict[str, Any]

MEMORIES, QUERIES = "_memories", "_queries"


class FileError(ValueError):
    """A file cannot be read as labelled data. The message is one line that names it."""


class Form(StrEnum):
    """The form of a file: which records it holds."""

    PAIRS = "pairs"
    STREAM = "stream"
    RECALL = "recall"


@dataclass(frozen=True, slots=True)
class BenchmarkPair:
    """Two texts; label 1: they say the same, 0: they do not, `None`: nobody knows.

    `verdicts` that are right, where the file names them. What does not count is told by kind only.
    """

    id: str
    lang: str
    a: str
    b: str
    label: int | None
    kind: str
    verdicts: tuple[str, ...] = ()
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Item:
    """A memory of a stream. `dup_of`: the first item that says the same, empty if none does."""

    id: str
    agent: str
    text: str
    dup_of: str
    kind: str
    differs_from: tuple[str, ...]
    near: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkNote:
    """A memory that questions ask for. `created_us` is `None` where the file has no time.

    `thread` is the conversation or document of which it is a part; empty if the file names none.
    """

    id: str
    conv: str
    level: str
    speaker: str
    created_us: int | None
    text: str
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of all memories, of any level, that answer it."""

    id: str
    conv: str
    text: str
    category: str
    evidence_ids: frozenset[str]


def form_of(path: Path) -> Form:
    """Form of a file by its first row. Raises `FileError`."""
    row = next(rows(path), None)
    if row is None:
        raise FileError(f"{path}: has no rows")
    if "a" in row and "b" in row:
        return Form.PAIRS
    if "question" in row or "conv" in row:
        return Form.RECALL
    if "text" in row and "dup_of" in row:
        return Form.STREAM
    raise FileError(
        f"{path}: neither pairs (a, b), a stream (text, dup_of), memories (conv, text) "
        "nor queries (question)"
    )


def partners(path: Path) -> tuple[Path, Path]:
    """Memories and queries file that belong together, by the name of either."""
    name = path.name
    for mine, other in ((MEMORIES, QUERIES), (QUERIES, MEMORIES)):
        head, found, tail = name.rpartition(mine)
        if not found:
            continue
        partner = path.with_name(head + other + tail)
        if not partner.exists():
            raise FileError(f"{path}: its partner {partner} is not there")
        return (path, partner) if mine == MEMORIES else (partner, path)
    raise FileError(f"{path}: a recall file is named *{MEMORIES}* or *{QUERIES}*")


def read_pairs(path: Path, limit: int | None = None) -> list[BenchmarkPair]:
    """The first `limit` pairs. Raises `FileError`."""
    return _read(path, _pair, limit)


def read_stream(path: Path, limit: int | None = None) -> list[Item]:
    """The first `limit` items in their order. Raises `FileError`."""
    return _read(path, _item, limit)


def read_memories(path: Path) -> list[BenchmarkNote]:
    """All memories of a recall file. Raises `FileError`."""
    return _read(path, _told, None)


def read_questions(path: Path, limit: int | None = None) -> list[Question]:
    """The first `limit` questions. Raises `FileError`."""
    return _read(path, _question, limit)


def read_mixed(path: Path) -> tuple[list[Item], list[Question]]:
    """A stream with questions about it in the same file. Raises `FileError`."""
    found = _read(path, lambda row: _question(row) if "question" in row else _item(row), None)
    items = [item for item in found if isinstance(item, Item)]
    return items, [item for item in found if isinstance(item, Question)]


def rows(path: Path) -> Iterator[Row]:
    """Rows of a file. Raises `FileError`, with the number of the line."""
    number = 0
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if is_gzip(path)
            else path.open(encoding="utf-8") as lines
        ):
            for number, line in enumerate(lines, 1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise FileError(f"{path}:{number}: is no JSON object")
                    yield row
    except json.JSONDecodeError as error:
        raise FileError(f"{path}:{number}: is no JSON ({error.msg})") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}:{number + 1}: is not UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def is_gzip(path: Path) -> bool:
    """Whether a file begins as gzip does. Raises `OSError`."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _read(path: Path, make: Callable[[Row], T], limit: int | None) -> list[T]:
    made = []
    for number, row in enumerate(itertools.islice(rows(path), limit), 1):
        try:
            made.append(make(row))
        except KeyError as error:
            raise FileError(f"{path}: row {number}: has no field {error}") from None
        except ValueError as error:
            raise FileError(f"{path}: row {number}: {error}") from None
        except InvalidArgument as error:
            raise FileError(f"{path}: row {number}: {error.message}") from None
    return made


def _pair(row: Row) -> BenchmarkPair:
    if "verdict" in row:
        return _probe_pair(row)
    label = row["label"]
    if label not in (0, 1, None):
        raise ValueError(f"label is {label!r}, must be 0, 1 or null")
    kind = (row.get("meta") or {}).get("kind", "")
    return BenchmarkPair(
        id=_text(row, "id"),
        lang=str(row.get("lang") or ""),
        a=_content(row, "a"),
        b=_content(row, "b"),
        label=label,
        kind=str(kind or ""),
    )


def _probe_pair(row: Row) -> BenchmarkPair:
    """A row as the probe set has it: a verdict in place of a label, the language in its id."""
    expected, kind, id_ = _text(row, "verdict"), _text(row, "class"), _text(row, "id")
    verdicts = tuple(verdict.value for verdict in right_verdicts(expected, _ids(row, "also")))
    return BenchmarkPair(
        id=id_,
        lang=str(row.get("lang") or id_.partition("-")[0]),
        a=_content(row, "a"),
        b=_content(row, "b"),
        label=int(verdicts[0] == Verdict.DUPLICATE.value),
        kind=kind,
        verdicts=verdicts,
        counts=kind not in REPORTED_ONLY,
    )


def _item(row: Row) -> Item:
    return Item(
        id=_text(row, "id"),
        agent=str(row.get("agent") or ""),
        text=_content(row, "text"),
        dup_of=str(row["dup_of"] or ""),
        kind=str(row.get("kind") or ""),
        differs_from=_ids(row, "differs_from"),
        near=_ids(row, "near"),
    )


def _told(row: Row) -> BenchmarkNote:
    return BenchmarkNote(
        id=_text(row, "id"),
        conv=str(row.get("conv") or ""),
        level=str(row.get("level") or ""),
        speaker=str(row.get("speaker") or ""),
        created_us=_time_us(row.get("time")),
        text=_content(row, "text"),
        thread=str(row.get("thread") or ""),
    )


def _question(row: Row) -> Question:
    return Question(
        id=_text(row, "id"),
        conv=str(row.get("conv") or ""),
        text=_content(row, "question"),
        category=str(row.get("category_name") or row.get("category") or ""),
        # Each level has a field of its own; whose memory an id is shows which level it means.
        evidence_ids=frozenset(
            itertools.chain(_ids(row, "evidence_ids"), _ids(row, "evidence_obs_ids"))
        ),
    )


def _text(row: Row, field: str) -> str:
    value = row[field]
    if isinstance(value, str):
        return value
    raise ValueError(f"{field} is {type(value).__name__}, must be text")


def _content(row: Row, field: str) -> str:
    """A text that the engine would take."""
    value = _text(row, field)
    validate.text(value, field)
    return value


def _ids(row: Row, field: str) -> tuple[str, ...]:
    value = row.get(field) or []
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    raise ValueError(f"{field} is {type(value).__name__}, must be a list of ids")


def _time_us(text: str | None) -> int | None:
    if not text:
        return None
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return int(time.timestamp()) * 1_000_000
