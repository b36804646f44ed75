"""How much memory a daemon and its helpers take, and how long the first notes of a language take.

    python -m bench.memory [--embedder use] [--judge own|none] [--texts-count 4000]

A daemon starts on an empty directory and remembers four notes in English, then in Japanese,
Chinese and German: the second restates the first, so that the language is read, and no pause is
made for its word lists to load. A row says what the daemon's processes take: after the start,
after each language and a pause, and after `--texts-count` English notes, when the caches are
full. Each page counts once: what the processes hold for themselves, and of each mapped file the
pages of the process that touched most of it. Other daemons, which share these files, change
nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import totonoe
from bench import common, material
from bench.processes import BenchError, Daemon
from totonoe_core.helper.serving import PAUSE_S

NOTES = {
    "en": (
        "The staging database listens on port 5433.",
        "The database for staging is listening on port 5433.",
        "Maria owns the billing service and works in Berlin.",
        "Anna owns the billing service and works in Berlin.",
    ),
    "ja": (
        "ステージングのデータベースはポート5433で待ち受けています。",
        "ステージング用データベースはポート5433で待ち受けている。",
        "田中さんは毎朝コーヒーを飲みます。",
        "山田さんは毎朝コーヒーを飲みます。",
    ),
    "zh": (
        "预发布数据库监听5433端口。",
        "预发布的数据库在5433端口监听。",
        "李雷每天早上在公司喝咖啡。",
        "王芳每天早上在公司喝咖啡。",
    ),
    "de": (
        "Die Staging-Datenbank lauscht auf Port 5433.",
        "Auf Port 5433 lauscht die Staging-Datenbank.",
        "Maria trinkt jeden Morgen Kaffee im Büro.",
        "Anna trinkt jeden Morgen Kaffee im Büro.",
    ),
}
SETTLE_S = PAUSE_S + 1.0
"""Helpers give memory back after a pause."""
_MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ (\S+) (\S+) \S+ \d+ *(.*)")


def family(pid: int) -> list[int]:
    """A process and its children."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [
        pid,
        *(int(child) for task in tasks for child in (task / "children").read_text().split()),
    ]


def helper(pid: int) -> str:
    """Which of the daemon's helpers a process is."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    return "judge" if b"totonoe_core.judging" in command else "embedder"


def pages(pid: int) -> tuple[int, dict[tuple[str, ...], int]]:
    """Bytes that a process holds for itself, and those it has touched of each mapping of a file."""
    own, resident = 0, 0
    files: defaultdict[tuple[str, ...], int] = defaultdict(int)
    mapping: tuple[str, ...] = ()
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if found := _MAPPING.match(line):
            mapping = found.groups()
            continue
        name, value, *_ = line.split()
        if name == "Rss:":
            resident = int(value) << 10
        elif name == "Anonymous:":
            own += int(value) << 10
            files[mapping] += resident - (int(value) << 10)
    return own, files


def figures(pid: int) -> dict[str, Any]:
    """Memory of a daemon and its children."""
    files: dict[tuple[str, ...], int] = {}
    own: dict[str, int] = {"daemon": 0, "embedder": 0, "judge": 0}
    resident = own.copy()
    for process in family(pid):
        private, touched = pages(process)
        name = "daemon" if process == pid else helper(process)
        own[name] += private
        resident[name] += private + sum(touched.values())
        for mapping, count in touched.items():
            files[mapping] = max(count, files.get(mapping, 0))
    return {
        "memory_bytes": sum(own.values()) + sum(files.values()),
        "private_bytes": sum(own.values()),
        "file_bytes": sum(files.values()),
        **{f"{name}_private_bytes": count for name, count in own.items()},
        **{f"{name}_rss_bytes": count for name, count in resident.items()},
    }


def cpu_s(pid: int) -> float:
    """CPU of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def remember(client: totonoe.Client, notes: tuple[str, ...], pid: int) -> dict[str, Any]:
    """Remembers notes of a language; the times of the first one and of the slowest."""
    before_s, times_ms = cpu_s(pid), []
    for note in notes:
        begin_s = time.perf_counter()
        client.remember(note)
        times_ms.append((time.perf_counter() - begin_s) * 1e3)
    time.sleep(SETTLE_S)
    return {
        "n": len(notes),
        "first_ms": times_ms[0],
        "max_ms": max(times_ms),
        "cpu_s": cpu_s(pid) - before_s,
    }


def run(options: argparse.Namespace) -> None:
    """A row for the start, one for each language, one for many notes."""
    if sys.platform != "linux":
        raise BenchError("only Linux says which pages processes share")
    generator = np.random.default_rng(options.seed)
    with (
        common.Report("memory", options.seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
        Daemon(Path(directory) / "data", embedder=options.embedder, judge=options.judge) as daemon,
        daemon.client() as client,
    ):
        said = {"embedder": options.embedder, "judge": options.judge, "texts": "synthetic"}
        daemon.idle()
        report.add(phase="start", n=0, **said, **figures(daemon.pid))
        for language, notes in NOTES.items():
            done = remember(client, notes, daemon.pid)
            report.add(phase=language, **said, **done, **figures(daemon.pid))
        texts = material.texts(generator, options.texts_count)
        for _ in client.remember_many(texts):
            pass
        daemon.idle()
        time.sleep(SETTLE_S)
        report.add(phase="many", n=len(texts), **said, **figures(daemon.pid))


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--embedder", default="use")
    parser.add_argument("--judge", choices=["own", "none"], default="own")
    parser.add_argument("--texts-count", type=int, default=4_000, help="of the last row")
    run(parser.parse_args())


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(str(error))
