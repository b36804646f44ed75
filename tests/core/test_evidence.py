"""The evidence of a verdict is what a person would say of two notes: `tests/data/evidence.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from totonoe_core.domain.calibration import SHIPPED
from totonoe_core.domain.records import Evidence, Verdict
from totonoe_core.guard.verdict import compare

FILE = Path(__file__).parents[1] / "data" / "evidence.txt"
ROWS = [
    tuple(line.split(" | "))
    for line in FILE.read_text("utf-8").splitlines()
    if line and line[0] not in "#["
]


def shown(one: Evidence) -> str:
    """Return evidence as a person reads it."""
    place = f"{one.place}: " if one.place else ""
    if one.own_text and one.other_text:
        return f"{place}{one.other_text} -> {one.own_text}"
    return f"+ {one.own_text}" if one.own_text else f"- {one.other_text}"


@pytest.mark.parametrize(("memory", "new", "expected"), ROWS, ids=[row[2] for row in ROWS])
def test_evidence_is_what_a_person_expects(memory: str, new: str, expected: str) -> None:
    found = compare(new, memory, 0.9, SHIPPED[0].weights).judgement
    assert found.verdict is not Verdict.DUPLICATE
    assert any(shown(line).endswith(expected) for line in found.evidence)
