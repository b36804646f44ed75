"""The picture of how often a probability is right shows the rows of the bench, and no others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from totonoe_core.domain.policy import SHOWN_FROM

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "bench" / "results" / "probability.jsonl"
ASKED = ROOT / "bench" / "results" / "quality.jsonl"
SHOWN = ROOT / "bench" / "results" / "shown.jsonl"
PICTURE = ROOT / "docs" / "reliability.svg"
PANELS = {
    "agent pairs kept aside": "agent pairs kept aside",
    "stream_en": "stream, English",
    "stream_ja": "stream, Japanese",
    "stream_zh": "stream, Chinese",
}


def rows(path: Path = ROWS) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_picture_has_every_point_of_the_rows_in_its_place() -> None:
    picture = ElementTree.fromstring(PICTURE.read_text(encoding="utf-8"))
    panels = {
        group.get("data-texts"): list(group) for group in picture.iter() if group.tag.endswith("}g")
    }
    assert set(panels) == set(PANELS.values())
    found = [row for row in rows() if row["part"] == "reliability" and row["cosine"]]
    points_of = {row["texts"]: row["points"] for row in found}
    for name, title in PANELS.items():
        circles = [panel for panel in panels[title] if panel.tag.endswith("circle")]
        names = ("data-predicted", "data-observed", "data-count")
        shown = [[float(circle.get(name, "nan")) for name in names] for circle in circles]
        assert shown == points_of[name]
        frame = next(panel for panel in panels[title] if panel.tag.endswith("rect"))
        left, top, side = (float(frame.get(key, "nan")) for key in ("x", "y", "width"))
        for circle, (predicted, observed, _) in zip(circles, shown, strict=True):
            assert float(circle.get("cx", "nan")) == pytest.approx(left + side * predicted, abs=0.1)
            assert float(circle.get("cy", "nan")) == pytest.approx(
                top + side * (1 - observed), abs=0.1
            )
        counts = [panel.text for panel in panels[title] if panel.get("transform")]
        assert counts == [f"{count:,g}" for _, _, count in shown]


def test_picture_drawn_again_is_the_same(tmp_path: Path) -> None:
    again = tmp_path / "again.svg"
    command = [sys.executable, "-m", "bench.probability_plot", str(again)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert again.read_text(encoding="utf-8") == PICTURE.read_text(encoding="utf-8")


def test_page_shows_the_picture_and_says_the_figures_of_the_rows() -> None:
    page = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    assert "](reliability.svg)" in page
    shipped = json.loads(
        (ROOT / "core/totonoe_core/guard/same_probability.json").read_text(encoding="utf-8")
    )
    (aside,) = (
        row
        for row in rows()
        if row["part"] == "pairs"
        and row["texts"] == "agent pairs kept aside"
        and row["language"] == ""
        and row["cosine"]
        and row["likely_from"] == shipped["likely_from"]
    )
    either = "| certain or likely: refused, or saved and asked about, % |"
    figures = (100 * aside[name] for name in ("same", "minimal", "reworded"))
    assert f"{either} {' | '.join(f'{figure:.1f}' for figure in figures)} |" in page


def test_page_says_what_the_daemon_asks_on_streams() -> None:
    page = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    streams = [row for row in rows(ASKED) if row["part"] == "stream"]
    assert len(streams) == 5
    for row in streams:
        asked, right = 100 * row["questions_per_save"], 100 * row["questions_right"]
        lost = row["lookalikes_lost"]
        assert f"| {row['texts']} | {asked:.1f} | {right:.0f} | {lost} |" in page, row["texts"]


def test_page_says_what_the_caller_is_shown() -> None:
    page = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    assert f"The default is {SHOWN_FROM}:" in page
    names = {
        ("agent pairs kept aside", ""): "agents' pairs",
        ("groups kept aside", ""): "groups",
        ("groups kept aside", "en"): "groups, English",
        ("groups kept aside", "ja"): "groups, Japanese",
        ("groups kept aside", "zh"): "groups, Chinese",
        ("groups kept aside", "xx"): "groups, across languages",
    }
    found = [
        row
        for row in rows(SHOWN)
        if row["part"] == "pairs"
        and row["shown_from"] == SHOWN_FROM
        and (row["texts"], row["language"]) in names
    ]
    assert len(found) == len(names)
    for row in found:
        name = names[row["texts"], row["language"]]
        shares = (row[key] for key in ("same", "different", "same_read", "different_read"))
        said = " | ".join(f"{100 * share:.1f}" for share in shares)
        assert f"| {name} | {said} |" in page, name
