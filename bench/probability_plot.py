"""Draws how often pairs of a probability were the same: docs/reliability.svg.

    python -m bench.probability_plot [docs/reliability.svg] [--out bench/results]

It reads the rows `reliability` of bench/results/probability.jsonl, which
`bench.probability_fit` writes, so that picture and rows are of one run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from bench import common

PLOT = common.ROOT / "docs" / "reliability.svg"
PANELS = {
    "agent pairs kept aside": "agent pairs kept aside",
    "stream_en": "stream, English",
    "stream_ja": "stream, Japanese",
    "stream_zh": "stream, Chinese",
}
"""`texts` of the rows that are shown -> title."""
SIDE, GAP, LEFT, TOP, COUNTS = 190, 34, 40, 34, 70
COLOUR = "#1565c0"
Row = dict[str, Any]


def shown(rows: Sequence[Row]) -> dict[str, list[list[float]]]:
    """Return the points of each panel: mean probability, share of same pairs, count."""
    return {
        row["texts"]: row["points"]
        for name in PANELS
        for row in rows
        if row["part"] == "reliability" and row["texts"] == name and row["cosine"]
    }


def plot(rows: Sequence[Row]) -> str:
    """Return the picture as SVG."""
    found = shown(rows)
    width = LEFT + len(found) * (SIDE + GAP)
    height = TOP + SIDE + COUNTS
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="10" fill="#444">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, (name, points) in enumerate(found.items()):
        lines += _panel(PANELS[name], points, LEFT + number * (SIDE + GAP))
    lines.append(
        f'<text x="{LEFT}" y="{height - 10}">across: same_probability, mean of each tenth; up: '
        "share of its pairs that are the same; below: how many pairs. On the line both are equal."
        "</text>"
    )
    return "\n".join([*lines, "</svg>", ""])


def _panel(title: str, points: Iterable[Sequence[float]], left: int) -> list[str]:
    """Return one frame with its points; `data-` attributes carry the exact figures."""
    bottom = TOP + SIDE
    lines = [
        f'<g data-texts="{escape(title)}">',
        f'<text x="{left}" y="{TOP - 10}" font-size="12" font-weight="bold">{escape(title)}</text>',
        f'<rect x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#bbb"/>',
        f'<path d="M{left} {bottom}L{left + SIDE} {TOP}" stroke="#bbb" stroke-dasharray="4 3"/>',
    ]
    for share in (0.0, 0.5, 1.0):
        at = round(SIDE * share, 1)
        lines.append(
            f'<text x="{left - 4}" y="{bottom - at + 3}" text-anchor="end">{share:.0%}</text>'
        )
        lines.append(
            f'<text x="{left + at}" y="{bottom + 13}" text-anchor="middle">{share:g}</text>'
        )
    places = []
    for predicted, observed, count in points:
        x, y = round(left + SIDE * predicted, 1), round(bottom - SIDE * observed, 1)
        places.append(f"{x},{y}")
        lines.append(
            f'<circle cx="{x}" cy="{y}" r="3.2" fill="{COLOUR}" data-predicted="{predicted:g}" '
            f'data-observed="{observed:g}" data-count="{count:g}"/>'
        )
        lines.append(
            f'<text x="{x}" y="{bottom + 26}" font-size="8" text-anchor="end" '
            f'transform="rotate(-60 {x} {bottom + 26})">{count:,g}</text>'
        )
    steps = " ".join(places)
    lines.append(f'<polyline points="{steps}" fill="none" stroke="{COLOUR}" stroke-width="1.4"/>')
    return [*lines, "</g>"]


def main() -> None:
    """Read the options."""
    parser = common.parser(__doc__)
    parser.add_argument("plot", nargs="?", type=Path, default=PLOT, help="where the plot goes")
    options = parser.parse_args()
    text = (options.out / "probability.jsonl").read_text(encoding="utf-8")
    options.plot.write_text(
        plot([json.loads(line) for line in text.splitlines()]), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
