"""Public benchmarks of long conversations, as their authors publish them: one JSON array a file.

Both become memories and questions of a recall file. A turn or observation without text is left
out. A longer text than a memory may have is cut at the limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.rules import validate
from totonoe_server.tools.quality.files import BenchmarkNote, FileError, Question

FILE_BYTES_MAX = 1 << 30
TURN, OBSERVATION = "turn", "observation"
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_SPACE = re.compile(r"\s*")
_PLACE = re.compile(r"D:?(\d+):(\d+)")
"""Of a turn. The files have "D8:6; D9:17", "D:11:26" and "D30:05" too."""
Row = dict[str, Any]


class Benchmark(StrEnum):
    """A form of which `--form` says that files have it."""

    LOCOMO = "locomo"
    LONGMEMEVAL = "longmemeval"


@dataclass
class BenchmarkQuestions:
    """Memories, and the questions about them."""

    told: list[BenchmarkNote] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def read(path: Path, form: Benchmark, limit: int | None = None) -> BenchmarkQuestions:
    """Return the first `limit` questions, and the conversations that they are about.

    Raises
    ------
    FileError
        The file cannot be read, is too large, or is not of this form.
    """
    add = _READERS[form]
    found = BenchmarkQuestions()
    for number, row in enumerate(_elements(path), 1):
        if limit is not None and len(found.questions) >= limit:
            break
        try:
            add(row, found)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise FileError(
                f"{path}: element {number}: is not of the form {form}: {error}"
            ) from None
    if not found.questions:
        raise FileError(f"{path}: has no questions")
    if limit is not None:
        del found.questions[limit:]
    return found


def _elements(path: Path) -> Iterator[Row]:
    """Yield the elements of a JSON array, one after the other: a file may have 300 MB."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise FileError(f"{path}: has more than {FILE_BYTES_MAX} bytes")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise FileError(f"{path}: is not UTF-8") from None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    decoder, at = json.JSONDecoder(), _skip(text, 0)
    if text[at : at + 1] != "[":
        raise FileError(f"{path}: is no JSON array")
    at = _skip(text, at + 1)
    while text[at : at + 1] not in ("]", ""):
        try:
            row, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise FileError(f"{path}: is no JSON ({error.msg})") from None
        yield row
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _locomo(row: Row, into: BenchmarkQuestions) -> None:
    """Add a conversation: its turns, the observations noted from them, and its questions."""
    conv, talk = str(row["sample_id"]), row["conversation"]
    observations: dict[str, set[tuple[int, int]]] = {}
    for key, turns in talk.items():
        if not (session := _SESSION.fullmatch(key)):
            continue
        created_us = _microseconds(talk[f"{key}_date_time"], "%I:%M %p on %d %B, %Y")
        for turn in turns:
            for place in _places(turn["dia_id"]):
                told = (turn["speaker"], created_us, turn["text"], key)
                _tell(into, _id(conv, place), conv, TURN, *told)
        noted = row.get("observation", {}).get(f"{key}_observation", {})
        for speaker, texts in noted.items():
            for number, (text, of) in enumerate(texts):
                name = f"{conv}/observation {session[1]}.{speaker}.{number}"
                observations[name] = set(_places(json.dumps(of)))
                _tell(into, name, conv, OBSERVATION, speaker, created_us, text, key)
    for number, asked in enumerate(row["qa"]):
        places = {place for quoted in asked.get("evidence", ()) for place in _places(str(quoted))}
        evidence = {_id(conv, place) for place in places}
        evidence |= {name for name, of in observations.items() if of & places}
        category = _CATEGORIES[asked["category"]]
        into.questions.append(
            Question(
                f"{conv}/{number}", conv, str(asked["question"]), category, frozenset(evidence)
            )
        )


def _longmemeval(row: Row, into: BenchmarkQuestions) -> None:
    """Add a question and the conversations among which its evidence lies."""
    conv, evidence = str(row["question_id"]), set()
    sessions = zip(row["haystack_dates"], row["haystack_sessions"], strict=True)
    for session, (date, turns) in enumerate(sessions):
        created_us = _microseconds(date, "%Y/%m/%d (%a) %H:%M")
        for number, turn in enumerate(turns):
            name = f"{conv}/{session}.{number}"
            told = (turn["role"], created_us, turn["content"], f"session_{session}")
            _tell(into, name, conv, TURN, *told)
            if turn.get("has_answer"):
                evidence.add(name)
    into.questions.append(
        Question(conv, conv, str(row["question"]), str(row["question_type"]), frozenset(evidence))
    )


_READERS: dict[Benchmark, Callable[[Row, BenchmarkQuestions], None]] = {
    Benchmark.LOCOMO: _locomo,
    Benchmark.LONGMEMEVAL: _longmemeval,
}


def _tell(
    into: BenchmarkQuestions,
    id_: str,
    conv: str,
    level: str,
    speaker: str,
    created_us: int,
    text: str,
    thread: str,
) -> None:
    text = text.encode()[: limits.CONTENT_BYTES_MAX].decode(errors="ignore")
    try:
        validate.text(text, "text")
    except InvalidArgument:
        return
    into.told.append(BenchmarkNote(id_, conv, level, str(speaker), created_us, text, thread))


def _places(text: str) -> Iterator[tuple[int, int]]:
    for session, turn in _PLACE.findall(text):
        yield int(session), int(turn)


def _id(conv: str, place: tuple[int, int]) -> str:
    return f"{conv}/D{place[0]}:{place[1]}"


def _microseconds(time: str, form: str) -> int:
    return int(datetime.strptime(time, form).replace(tzinfo=UTC).timestamp() * 1e6)
