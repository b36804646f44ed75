"""Each bench runs at its smallest, and its rows have the fields that docs/performance.md names."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bench.material import texts
from bench.notes import TEXTS_MIN
from support.waits import wait_s

ROOT = Path(__file__).parents[2]
LIMIT_S = 120.0
END_LIMIT_S = 20.0
# What the docs promise of every row, and of the rows of each bench.
EVERY = {"bench", "commit", "machine", "versions", "seed", "load_1min", "texts"}
BENCHES: dict[str, tuple[list[str], set[str]]] = {
    "kernels": (
        ["--stored", "64", "--dimensions", "8", "--decayed", "64", "--limit-s", "0.001"],
        {"kernel", "method", "n", "dimension"},
    ),
    "filtered": (
        ["--stored", "64", "--dimension", "8", "--limit-s", "0.001"],
        {"method", "n", "dimension", "passing", "by", "k", "recall_at_k", "answered_share"},
    ),
    "guard": (
        # The shipped notes are thousands, and their vectors most of what a run costs.
        [
            *("--stored", "20", "--clients", "1", "--modes", "unary", "--limit-s", "0.2"),
            *("--texts", "NOTES"),
        ],
        {
            *("n", "clients", "mode", "ops_per_s", "server_cpu_ms_per_op"),
            *("echo_cpu_ms_per_op", "echo_ratio", "embedder_cpu_ms_per_op", "p50_ms", "p99_ms"),
            *("store", "active_after", "judge_cpu_ms_per_op"),
        },
    ),
    "recall": (
        ["--stored", "20", "--clients", "1", "--modes", "both", "--limit-s", "0.2"],
        {"n", "clients", "mode", "k"},
    ),
    "history": (
        ["--stored", "20", "--items", "6", "--watchers", "1", "--repeats", "2"],
        {"call", "n", "items", "ops", "server_cpu_ms_per_op", "p50_ms", "p99_ms"},
    ),
    "load": (
        ["--agents", "1", "--limit-s", "0.3", "--stored", "10", "--embedder", "hashing"],
        {"call", "ops", "ops_per_s", "p50_ms", "p99_ms", "errors"},
    ),
    "peers": (
        ["--stored", "20", "--items", "60", "--peers", "hnswlib,chroma,pgvector"],
        {"peer", "version", "note", "duplicates_let_in"},
    ),
    "quality": (
        ["--limit", "2", "--embedder", "hashing"],
        {"part", "policy", "embedder"},
    ),
    "mutations": (
        ["--texts", "2", "--languages", "ja", "--embedder", "hashing"],
        {"language", "embedder", "kind", "n", "n_refused", "refused_share"},
    ),
    "startup": (
        ["--stored", "20", "--repeats", "1", "--calls", "1", "--embedder", "none"],
        {"phase", "n"},
    ),
    "collections": (
        ["--stored", "4", "--used", "3", "--repeats", "1"],
        {"phase", "n", "dimension"},
    ),
    "transfer": (
        ["--stored", "20"],
        {
            *("call", "n", "vectors", "file_bytes", "server_cpu_s", "client_cpu_s"),
            *("server_cpu_ms_per_op", "mb_per_s", "mb_per_cpu_s"),
        },
    ),
    "consolidate": (
        ["--stored", "200", "--dimension", "8", "--limit-s", "0.3"],
        {"part", "method", "n", "dimension", "distance"},
    ),
    "memory": (
        ["--texts-count", "20", "--embedder", "hashing"],
        {
            *("phase", "n", "memory_bytes", "private_bytes", "file_bytes"),
            *("daemon_rss_bytes", "embedder_rss_bytes"),
        },
    ),
    "idle": (
        [*("--connections", "20", "--clients", "2", "--limit-s", "0.3"), "--turns", "1"],
        {"turn", "connections", "clients", "p99_ms", "server_cpu_share", "rss_bytes"},
    ),
    "held": (
        ["--rows", "20", "--agents", "2", "--limit-s", "0.3"],
        {"call", "agents", "rows", "p99_ms", "longest_ms", "read_count"},
    ),
    "scale": (
        ["--stored", "20", "--dimension", "8", "--ops", "2"],
        {"phase", "n", "dimension"},
    ),
    "stores": (
        # The other parts only start more daemons.
        [
            *("--parts", "remember,recall,catch_up", "--stored", "20", "--clients", "2"),
            *("--ops", "6", "--limit-s", "0.3", "--judge", "none", "--texts", "NOTES"),
        ],
        {"part", "store", "n", "clients", "ops"},
    ),
    "transport": (
        ["--clients", "1", "--limit-s", "0.2", "--rounds", "1"],
        {"clients", "mode", "server_cpu_ms_per_op", "echo_cpu_ms_per_op", "echo_ratio"},
    ),
    "hard": (
        ["--sizes", "200", "--families", "1", "--limit-s", "0.2"],
        {"part", "family", "bytes", "ratio"},
    ),
    "embedding": (
        [*("--texts-count", "8", "--batches", "4", "--callers", "2"), "--limit-s", "0.2"],
        {"part", "method", "batch", "workers", "callers", "cpu_ms_per_text"},
    ),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """All benches at once, for time's sake: they wait for processes more than they compute."""
    directory = tmp_path_factory.mktemp("results")
    noted = tmp_path_factory.mktemp("notes") / "notes.txt"
    noted.write_text("".join(f"{text}\n" for text in texts(np.random.default_rng(0), TEXTS_MIN, 0)))
    started = {
        name: subprocess.Popen(
            [
                *(sys.executable, "-m", f"bench.{name}", "--out", str(directory)),
                *(str(noted) if option == "NOTES" else option for option in options),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, (options, _) in BENCHES.items()
    }
    yield started
    # A bench that a test has not waited for ends its own processes first.
    for process in started.values():
        process.send_signal(signal.SIGINT)
    for process in started.values():
        try:
            process.wait(wait_s(END_LIMIT_S))
        except subprocess.TimeoutExpired:
            process.kill()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


@pytest.mark.parametrize("name", BENCHES)
def test_smallest_run_gives_rows_with_the_promised_fields(
    name: str, results: dict[str, subprocess.Popen[str]]
) -> None:
    _, fields = BENCHES[name]

    out, errors = results[name].communicate(timeout=wait_s(LIMIT_S))

    assert results[name].returncode == 0, errors
    rows = [json.loads(line) for line in Path(out.splitlines()[-1]).read_text().splitlines()]
    assert rows
    for row in rows:
        assert set(row) >= EVERY | fields
        assert row["bench"] == name


def test_tables_put_methods_of_the_same_scan_side_by_side(tmp_path: Path) -> None:
    same = {"kernel": "scan", "n": 2000, "dimension": 8, "texts": "synthetic", "distance": 0.05}
    rows = [
        same | {"method": "totonoe", "batch": 1, "cpu_ms": 0.5},
        same | {"method": "totonoe", "batch": 32, "cpu_ms": 0.25},
        {"kernel": "decay", "method": "totonoe", "n": 10, "cpu_ms": 12.345},
    ]
    (tmp_path / "kernels.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    command = [sys.executable, "-m", "bench.tables", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip().splitlines() == [
        "make bench-kernels",
        "",
        "| n | dim | texts | distance | totonoe | totonoe, 32 at once |",
        "|---|---|---|---|---|---|",
        "| 2,000 | 8 | synthetic | 0.05 | 0.5 | 0.25 |",
        "",
        "| kernel | n | method | CPU ms |",
        "|---|---|---|---|",
        "| decay | 10 | totonoe | 12.3 |",
    ]


def test_quality_tables_show_what_the_rows_say_and_plot_every_curve(tmp_path: Path) -> None:
    rates = {"false_merge_rate": 0.01, "duplicate_recall": 0.5}
    pairs = {"part": "pairs", "texts": "probe_en", "n": 3, "verdict_accuracy": 0.75}
    rows: list[dict[str, object]] = [
        pairs | {"kind": "", "beside": {"standard": rates}},
        pairs | {"kind": "number"} | rates,
        {"part": "curve", "texts": "a<b", "verdict": [[0.5, 0.02, 0.5], [0.9, 0.0, 0.25]],
         "cosine": [[0.1, 0.5, 1.0], [0.9, 0.05, 0.25]], "chosen": [0.9, 0.0, 0.25]},
    ]  # fmt: skip
    (tmp_path / "quality.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    plot = tmp_path / "plot.svg"

    command = [sys.executable, "-m", "bench.quality_tables", "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--plot", str(plot)], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert "| probe_en | 3 | 1.0 / 50.0 | 75.0 |" in done.stdout.splitlines()
    assert "| number | 1.0 / 50.0, 75.0 |" in done.stdout.splitlines()
    picture = ElementTree.fromstring(plot.read_text())
    lines = [item.get("points") for item in picture.iter() if item.tag.endswith("polyline")]
    # What lies right of the frame is left out: the cosine's first point.
    assert [len((points or "").split()) for points in lines] == [1, 2]
    assert any(item.text == "a<b" for item in picture.iter())


def test_every_bench_has_a_target_and_a_place_in_the_docs() -> None:
    targets = set(re.findall(r"\bbench-([a-z]+)", (ROOT / "Makefile").read_text()))
    page = "\n".join(
        (ROOT / "docs" / name).read_text() for name in ("performance.md", "quality.md")
    )

    assert targets == set(BENCHES)
    for name, (_, fields) in BENCHES.items():
        assert f"make bench-{name}" in page
        missing = [field for field in EVERY | fields if f"`{field}`" not in page]
        assert not missing, f"docs/performance.md does not explain {missing}"
