"""The tables of docs/performance.md from the rows of the last runs, as Markdown.

    python -m bench.tables [NAME ...] [--out bench/results]

Each table stands under the command that made its rows; a bench that has not run has none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import common

Row = dict[str, Any]
Columns = dict[str, str]
"""Heading of each column, and the field it shows."""

SCAN: Columns = {"n": "n", "dim": "dimension", "texts": "texts", "distance": "distance"}
JOIN: Columns = {
    "join": "kernel",
    "n": "n",
    "dim": "dimension",
    "texts": "texts",
    "distance": "distance",
    "similarity above": "above",
    "method": "method",
    "found": "found",
    "CPU s": "cpu_s",
    "first after ms": "first_ms",
    "through": "finished",
}
SINGLE: Columns = {
    "kernel": "kernel",
    "n": "n",
    "dim": "dimension",
    "texts": "texts",
    "preset": "preset",
    "similarity above": "above",
    "method": "method",
    "recall_at_k": "recall_at_k",
    "CPU ms": "cpu_ms",
}
LATENCY: Columns = {"p50 ms": "p50_ms", "p99 ms": "p99_ms"}
GUARD: Columns = {
    "n": "n",
    "texts": "texts",
    "store": "store",
    "clients": "clients",
    "mode": "mode",
    "ops/s": "ops_per_s",
    "daemon CPU ms": "server_cpu_ms_per_op",
    "embedder CPU ms": "embedder_cpu_ms_per_op",
    "judge": "judge",
    "judge CPU ms": "judge_cpu_ms_per_op",
    "echo CPU ms": "echo_cpu_ms_per_op",
    "times echo": "echo_ratio",
    **LATENCY,
}
RECALL: Columns = {
    "n": "n",
    "mode": "mode",
    "clients": "clients",
    "calls/s": "ops_per_s",
    "daemon CPU ms": "server_cpu_ms_per_op",
    "echo CPU ms": "echo_cpu_ms_per_op",
    "times echo": "echo_ratio",
    **LATENCY,
}
HISTORY: Columns = {
    "call": "call",
    "n": "n",
    "memories or watchers": "items",
    "daemon CPU ms": "server_cpu_ms_per_op",
    **LATENCY,
}
LOAD: Columns = {"call": "call", "ops/s": "ops_per_s", **LATENCY, "errors": "errors"}
PEERS: Columns = {
    "peer": "peer",
    "version": "version",
    "ops/s": "ops_per_s",
    "CPU ms an item": "cpu_ms_per_op",
    "of": "cpu_of",
    **LATENCY,
    "duplicates let in": "duplicates_let_in",
    "skipped": "skipped",
}
FIND: Columns = {
    "n": "n",
    "dim": "dimension",
    "distance": "distance",
    "method": "method",
    "found": "found",
    "first after ms": "first_ms",
    "CPU until then": "first_cpu_ms",
    "CPU s": "cpu_s",
    "wall s": "wall_s",
}
WRITERS: Columns = {
    "n": "n",
    "agents": "agents",
    "beside": "beside",
    "runs": "runs",
    "ops": "ops",
    **LATENCY,
}
STARTUP: Columns = {
    "phase": "phase",
    "n": "n",
    "checkpoint": "checkpoint",
    "SERVING s": "serving_s",
    "opening s": "opening_s",
    "of it the engine": "opening_engine_s",
    "CPU s": "cpu_s",
    "first text s": "first_text_answer_s",
    "graph built s": "settled_s",
    "memory each, bytes": "settled_rss_bytes_per_memory",
    "file each": "file_bytes_per_memory",
    "CPU ms an item": "server_cpu_ms_per_op",
}


def of_kernel(*names: str) -> Callable[[Row], bool]:
    """Which rows of `bench.kernels` a table takes."""
    return lambda row: row["kernel"] in names


def every(_row: Row) -> bool:
    """All rows."""
    return True


def of_part(name: str) -> Callable[[Row], bool]:
    """Which rows of `bench.consolidate` a table takes."""
    return lambda row: row["part"] == name


TABLES: dict[str, list[tuple[Columns, Callable[[Row], bool]]]] = {
    "kernels": [
        (JOIN, of_kernel("cosine_join", "jaccard_join")),
        (SINGLE, of_kernel("top_k", "guard_query", "jaccard", "decay")),
    ],
    "consolidate": [(FIND, of_part("find")), (WRITERS, of_part("writers"))],
    "guard": [(GUARD, every)],
    "recall": [(RECALL, lambda row: "steps_us" not in row)],
    "history": [(HISTORY, every)],
    "load": [(LOAD, every)],
    "peers": [(PEERS, every)],
    "startup": [(STARTUP, every)],
}


def shown(value: Any) -> str:
    """A cell: three significant digits, thousands with commas, nothing for what is not there."""
    if value is None or value == "" or value == {}:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        value = float(f"{value:.3g}")
        return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(columns: Columns, rows: list[Row]) -> Iterator[str]:
    """Lines of a table; columns that no row fills are left out."""
    used = {
        head: field for head, field in columns.items() if any(shown(row.get(field)) for row in rows)
    }
    yield f"| {' | '.join(used)} |"
    yield "|" + "---|" * len(used)
    for row in rows:
        yield f"| {' | '.join(shown(row.get(field)) for field in used.values())} |"


def scans(rows: list[Row]) -> list[Row]:
    """Scan rows of the same work side by side: a column for each method and batch."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        if row.get("kernel") == "scan":
            key = tuple(row[field] for field in SCAN.values())
            head = dict(zip(SCAN.values(), key, strict=True))
            batch = "" if row["batch"] == 1 else f", {row['batch']} at once"
            found.setdefault(key, head)[row["method"] + batch] = row["cpu_ms"]
    return list(found.values())


def shares(rows: list[Row]) -> list[Row]:
    """Rows of `bench.recall` with the CPU of each step: a column for each, in microseconds."""
    return [
        {"n": row["n"], "mode": row["mode"], **row["steps_us"], "all": row["steps_total_us"]}
        for row in rows
        if "steps_us" in row
    ]


def lines(name: str, rows: list[Row]) -> Iterator[str]:
    """All tables of one bench."""
    side_by_side = scans(rows)
    if side_by_side:
        methods = {head: head for row in side_by_side for head in row if head not in SCAN.values()}
        yield from table(SCAN | methods, side_by_side)
        yield ""
    if found := shares(rows):
        yield from table({head: head for row in found for head in row}, found)
        yield ""
    for columns, wanted in TABLES[name]:
        chosen = [row for row in rows if wanted(row)]
        if chosen:
            yield from table(columns, chosen)
            yield ""


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("names", nargs="*", help="of benches; all if none is given")
    options = parser.parse_args()
    if unknown := set(options.names) - set(TABLES):
        parser.error(f"no bench {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    for name in options.names or TABLES:
        path: Path = options.out / f"{name}.jsonl"
        if path.exists():
            print(f"make bench-{name}\n")
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            print("\n".join(lines(name, rows)))


if __name__ == "__main__":
    main()
