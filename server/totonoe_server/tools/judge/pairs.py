"""The file of labelled pairs: JSON lines, plain or gzip."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.judging import Relation
from totonoe_core.rules import validate
from totonoe_server.tools.quality.files import FileError, is_gzip


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two texts, the number of their line, and what they are to each other.

    Attributes
    ----------
    a, b : str
        The memory, and the text that is saved after it.
    same : bool
        They say the same (label 1).
    relation : Relation or None
        Of b to a; `None` if the line does not say it.
    """

    line: int
    a: str
    b: str
    same: bool
    relation: Relation | None


def read_pairs(path: Path, limit: int | None = None) -> list[LabelledPair]:
    """Return the first `limit` pairs that have a label, at most JUDGE_TRY_PAIRS_MAX.

    Raises
    ------
    FileError
        The file cannot be read, is too large, has too many pairs or none; or a line is wrong, which
        is named. No text of it is quoted.
    """
    pairs: list[LabelledPair] = []
    for number, line in enumerate(_content(path).splitlines(), 1):
        if len(pairs) == limit:
            break
        if not line.strip():
            continue
        if len(pairs) == limits.JUDGE_TRY_PAIRS_MAX:
            raise FileError(
                f"{path}:{number}: more than {limits.JUDGE_TRY_PAIRS_MAX} pairs; name fewer "
                "with --limit"
            )
        try:
            pairs += _pairs(number, line)
        except InvalidArgument as error:
            raise FileError(f"{path}:{number}: {error.message}") from None
        except ValueError as error:
            raise FileError(f"{path}:{number}: {error}") from None
    if not pairs:
        raise FileError(f"{path}: has no pair with a label")
    return pairs


def _content(path: Path) -> bytes:
    try:
        with gzip.open(path) if is_gzip(path) else path.open("rb") as file:
            content = file.read(limits.JUDGE_TRY_BYTES_MAX + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > limits.JUDGE_TRY_BYTES_MAX:
        raise FileError(f"{path}: is larger than {limits.JUDGE_TRY_BYTES_MAX} bytes")
    return content


def _pairs(number: int, line: bytes) -> Iterator[LabelledPair]:
    """Yield the pair of a line; nothing if its label is null: nobody knows."""
    row = _row(line)
    a, b = _text(row, "a"), _text(row, "b")
    label = row.get("label", "nothing")
    if label is None:
        return
    if label not in (0, 1) or isinstance(label, bool):
        raise ValueError("label: allowed: 0, 1 or null")
    relation = _relation(row.get("relation"))
    if relation is not None and (relation is Relation.SAME) is not (label == 1):
        raise ValueError(f"relation: got {relation} with label {label}; `same` goes with label 1")
    yield LabelledPair(number, a, b, label == 1, relation)


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"is no JSON ({error.msg})") from None
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    except RecursionError:
        raise ValueError("is nested too deep") from None
    if isinstance(row, dict):
        return row
    raise ValueError("is no JSON object")


def _text(row: dict[str, Any], field: str) -> str:
    value = row.get(field)
    if isinstance(value, str):
        validate.text(value, field)
        return value
    raise ValueError(f"{field}: allowed: a text")


def _relation(given: object) -> Relation | None:
    if given is None or given in list(Relation):
        return None if given is None else Relation(str(given))
    raise ValueError(f"relation: allowed: {', '.join(Relation)}, or null")
