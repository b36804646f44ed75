"""Tables of docs/quality.md and its plot, from the rows of the last `make bench-quality`.

python -m bench.quality_tables [--plot docs/quality-curve.svg] [--out bench/results]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from bench import common

Row = dict[str, Any]

COLUMNS = 3
WIDTH, HEIGHT, GAP, TITLE = 230, 130, 46, 18
MERGES_MAX = 0.1
"""Right end of every panel: share of false merges."""
STYLES = {"cosine": ("#8a8a8a", "4 3"), "verdict": ("#0b63c4", "")}


def rate(value: float | None) -> str:
    """Percent with a decimal; nothing where there was nothing to count."""
    return "-" if value is None else f"{100 * value:.1f}"


def both(rates: Row) -> str:
    """False merges / duplicates found."""
    return f"{rate(rates['false_merge_rate'])} / {rate(rates['duplicate_recall'])}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a Markdown table and an empty one."""
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def by_file(rows: Sequence[Row]) -> Iterator[str]:
    """Each file of pairs: what every guard does with them, and how many verdicts are right."""
    whole = [row for row in rows if row["part"] == "pairs" and not row["kind"]]
    guards = list(whole[0]["beside"]) if whole else []
    lines = [
        [row["texts"], str(row["n"])]
        + [both(row["beside"][guard]) for guard in guards]
        + [rate(row["verdict_accuracy"])]
        for row in whole
    ]
    if lines:
        yield from table(("pairs", "n", *guards, "verdicts right"), lines)


def by_class(rows: Sequence[Row]) -> Iterator[str]:
    """Each class of the probe set, languages side by side: `standard`, and verdicts right."""
    found = {
        (row["kind"], row["texts"]): row
        for row in rows
        if row["part"] == "pairs" and row["texts"].startswith("probe_") and row["kind"]
    }
    sources = list(dict.fromkeys(source for _, source in found))
    lines = []
    for kind in sorted({kind for kind, _ in found}):
        line = [kind]
        for source in sources:
            row = found.get((kind, source))
            line.append("" if row is None else f"{both(row)}, {rate(row['verdict_accuracy'])}")
        lines.append(line)
    if lines:
        yield from table(("class", *(source.removeprefix("probe_") for source in sources)), lines)


def by_stream(rows: Sequence[Row]) -> Iterator[str]:
    """Each stream and policy."""
    lines = [
        [
            row["texts"],
            row["policy"],
            f"{rate(row['precision'])} / {rate(row['recall'])}",
            f"{row['lookalikes_lost']} of {row['lookalikes']}",
        ]
        for row in rows
        if row["part"] == "stream"
    ]
    if lines:
        yield from table(("stream", "policy", "precision / recall", "look-alikes lost"), lines)


# -- The plot


def plot(rows: Sequence[Row]) -> str:
    """SVG with a panel for each file: false merges (across, to 10 %) and duplicates found."""
    panels = [row for row in rows if row["part"] == "curve"]
    lines = -(-len(panels) // COLUMNS)
    width = COLUMNS * (WIDTH + GAP) + GAP
    height = lines * (HEIGHT + GAP + TITLE) + GAP
    body = [
        panel(row, GAP + at % COLUMNS * (WIDTH + GAP), at // COLUMNS * (HEIGHT + GAP + TITLE) + 30)
        for at, row in enumerate(panels)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="10" fill="#444">',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            *body,
            f'<text x="{GAP}" y="{height - 8}">across: false merges, 0 to {MERGES_MAX:.0%}; up: '
            "duplicates found. Blue: verdict, the dot is in use. Grey: plain cosine.</text>",
            "</svg>",
            "",
        ]
    )


def panel(row: Row, left: int, top: int) -> str:
    """One file's curves in a frame."""
    parts = [
        f'<text x="{left}" y="{top - 6}" font-weight="bold">{escape(row["texts"])}</text>',
        f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#bbb"/>',
    ]
    for share in (0.0, 0.5, 1.0):
        x, y = _place(0.0, share, left, top)
        parts.append(f'<text x="{x - 4}" y="{y + 3}" text-anchor="end">{share:.0%}</text>')
    for share in (0.01, 0.05, MERGES_MAX):
        x, y = _place(share, 0.0, left, top)
        parts.append(f'<path d="M{x} {y}V{top}" stroke="#eee"/>')
        parts.append(f'<text x="{x}" y="{y + 12}" text-anchor="middle">{share:.0%}</text>')
    for name, (colour, dashes) in STYLES.items():
        shown = [point for point in row[name] if point[1] <= MERGES_MAX]
        places = [_place(merges, recall, left, top) for _, merges, recall in shown]
        steps = " ".join(f"{x},{y}" for x, y in places)
        parts.append(
            f'<polyline points="{steps}" fill="none" stroke="{colour}" stroke-width="1.6" '
            f'stroke-dasharray="{dashes}"/>'
        )
    _, merges, recall = row["chosen"]
    x, y = _place(min(merges, MERGES_MAX), recall, left, top)
    parts.append(f'<circle cx="{x}" cy="{y}" r="3.2" fill="{STYLES["verdict"][0]}"/>')
    return "\n".join(parts)


def _place(merges: float, recall: float, left: int, top: int) -> tuple[float, float]:
    return round(left + merges / MERGES_MAX * WIDTH, 1), round(top + (1.0 - recall) * HEIGHT, 1)


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--plot", type=Path, help="where the plot goes, as SVG")
    options = parser.parse_args()
    text = (options.out / "quality.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    for part in (by_file, by_class, by_stream):
        print("\n".join(part(rows)))
    if options.plot:
        options.plot.write_text(plot(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
