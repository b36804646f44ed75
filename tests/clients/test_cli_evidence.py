"""What the command prints of evidence: in plain words, each line once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import Result

from totonoe.cli.show import parts
from totonoe.enums import Finding, Verdict
from totonoe.memories.models import Evidence, Judgement
from totonoe.v1 import admin_service_pb2, types_pb2

Run = Callable[..., Result]


def evidence(
    finding: Finding, own: str, other: str, place: str = "", weight: float | None = None
) -> Evidence:
    return Evidence(finding, (0, 1), (0, 1), own, other, place, weight)


def lines(capsys: pytest.CaptureFixture[str], *found: Evidence, **more: Any) -> list[str]:
    parts.judgement(Judgement(Verdict.UPDATE, found, 0.25, False), **more)
    return capsys.readouterr().out.splitlines()[1:]


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (evidence(Finding.NUMBER, "5434", "5433", "port"), "port: 5433 -> 5434"),
        (evidence(Finding.NUMBER, "5434", "5433"), "5433 -> 5434"),
        (evidence(Finding.ADDED, "in Oslo", ""), "only here: in Oslo"),
        (evidence(Finding.ORDER, "logs", "Logs"), "in another place: logs"),
        (
            evidence(Finding.ORDER, "reads not writes", "writes not reads"),
            "writes not reads -> reads not writes",
        ),
        (evidence(Finding.MISSING, "", "in Oslo"), "only there: in Oslo"),
        (evidence(Finding.QUANTIFIER, "only", ""), "only here: only"),
        (evidence(Finding.SAME_TEXT, "a", "a"), "same text: a"),
        (evidence(Finding.SYNONYM, "quick", "fast"), "synonym: fast = quick"),
        (evidence(Finding.JUDGE, "openai:small", ""), "judge: openai:small"),
        (evidence(Finding.UNREAD, "", ""), "not understood"),
    ],
)
def test_finding_is_shown_in_plain_words(
    capsys: pytest.CaptureFixture[str], found: Evidence, shown: str
) -> None:
    assert lines(capsys, found, indent="  ") == [f"  - {shown}"]


def test_equal_lines_are_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (evidence(Finding.NAME, "Tom", "Priya"), evidence(Finding.SUBJECT, "Tom", "Priya"))
    assert lines(capsys, one, other) == ["- Priya -> Tom"]


def test_weights_stand_behind_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    found = (
        evidence(Finding.NUMBER, "5434", "5433", "port", -0.984),
        evidence(Finding.JUDGE, "own", "", weight=0.3),
        evidence(Finding.NAME, "Tom", "Priya", weight=0.0),
        evidence(Finding.SUBJECT, "Tom", "Priya", weight=-0.5),
    )
    assert lines(capsys, *found) == [
        "- port: 5433 -> 5434 (-0.98)",
        "- judge: own (+0.30)",
        "- Priya -> Tom (+0.00)",
    ]


def test_comparison_says_which_text_has_the_words(run: Run) -> None:
    found = types_pb2.Evidence(finding=types_pb2.FINDING_ADDED, own_text="in Oslo")
    judgement = types_pb2.Judgement(verdict=types_pb2.VERDICT_REFINEMENT, evidence=[found])
    answer = admin_service_pb2.CompareResponse(judgement=judgement)
    result = run("compare", "a", "a in Oslo", Compare=lambda _request, _context: answer)
    assert result.stdout.splitlines()[-1] == "- only in the second: in Oslo"
