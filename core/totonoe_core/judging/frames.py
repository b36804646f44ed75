"""Bodies of the frames between the service and a judging process (`helper.frames`).

S  the directory of the model, JSON
R  name and version of the judge, JSON
Q  pairs of texts, a JSON array
A  a JSON array: CPU seconds of the process so far, and for each pair an array of seven
   probabilities, or null: *same*, and `RELATIONS`
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from totonoe_core.helper.frames import FrameError
from totonoe_core.judging.protocol import Opinion, TextPair


def pairs_to_wire(pairs: Sequence[TextPair]) -> bytes:
    """Body of Q. The texts hold no lone surrogates."""
    return json.dumps([(pair.one, pair.other) for pair in pairs], ensure_ascii=False).encode()


def pairs_from_wire(body: bytes) -> list[tuple[str, str]]:
    """Pairs of texts from the body of Q."""
    return [(first, other) for first, other in json.loads(body)]


def opinions_to_wire(opinions: Sequence[Opinion | None], cpu_s: float) -> bytes:
    """Body of A."""
    rows = [None if opinion is None else (opinion.same, *opinion.relations) for opinion in opinions]
    return json.dumps([cpu_s, rows]).encode()


def opinions_from_wire(body: bytes, by: str, count: int) -> tuple[list[Opinion | None], float]:
    """Opinions of the judge `by`, and its CPU seconds, from the body of A.

    Raises
    ------
    FrameError
        It does not hold `count` opinions.
    """
    try:
        said, rows = json.loads(body)
        cpu_s = float(said)
        found = [None if row is None else Opinion(row[0], tuple(row[1:]), by) for row in rows]
    except (ValueError, TypeError, IndexError):
        raise FrameError("an answer of another form") from None
    if len(found) != count:
        raise FrameError(f"{len(found)} opinions on {count} pairs")
    return found, cpu_s
