"""What every bench shares: rows on disk, the machine they come from, times and percentiles.

A bench writes `bench/results/NAME.jsonl`, one JSON object a row, and begins the file anew on
each run: the rows of one file are of one run. The same rows go to standard output, without what is
equal in all of them, and last the name of the file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
SEED = 20_261_122
PACKAGES = (
    "totonoe",
    "grpcio",
    "protobuf",
    "numpy",
    "numba",
    "hnswlib",
    "apsw",
    "faiss-cpu",
    "semhash",
)

Row = dict[str, Any]


def parser(description: str | None) -> argparse.ArgumentParser:
    """Options that every bench has."""
    made = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    made.add_argument("--seed", type=int, default=SEED, help="of the synthetic data")
    made.add_argument("--out", type=Path, default=RESULTS, help="directory for the rows")
    return made


def numbers(text: str) -> list[int]:
    """Several counts with commas, for options."""
    return [int(part) for part in text.split(",")]


def machine() -> Row:
    """Processor, cores, memory and system; no names of hosts or people."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Versions of what was measured; a package that is not installed is left out."""
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Commit of the code, with `+` behind it if files differ from it. Empty: not a checkout."""
    try:
        found = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--", "core", "server", "clients", "bench/*.py")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found + ("+" if changed else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


class Report:
    """The rows of one run; `with` opens and closes the file.

    Parameters
    ----------
    name : str
        Of the bench and of its file.
    seed : int
        Of the synthetic data.
    directory : Path
        Where the file goes; made if need be.
    """

    def __init__(self, name: str, seed: int, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / f"{name}.jsonl"
        self._head: Row = {"bench": name}
        # The same for the whole run, so it is asked for once.
        self._tail: Row = {
            "seed": seed,
            "commit": commit(),
            "machine": machine(),
            "versions": versions(),
        }
        self._file = self.path.open("w", encoding="utf-8")

    def add(self, **fields: Any) -> None:
        """Writes a row. The load of the machine is that of this moment: others may use it too."""
        load = {"load_1min": round(os.getloadavg()[0], 1)}
        row = self._head | {key: _short(value) for key, value in fields.items()}
        line = json.dumps(row | load | self._tail, ensure_ascii=False)
        self._file.write(line + "\n")
        self._file.flush()
        print(json.dumps(row | load, ensure_ascii=False), flush=True)

    def __enter__(self) -> Self:
        # Else what the bench has started would outlive a SIGTERM, as `timeout` sends it.
        signal.signal(signal.SIGTERM, _leave)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()
        print(self.path, flush=True)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _short(value: Any) -> Any:
    """Four significant digits: more would only look exact."""
    if isinstance(value, (float, np.floating)):
        return float(f"{float(value):.4g}")
    return value


def percentiles_ms(latencies_s: Sequence[float]) -> Row:
    """`p50_ms` and `p99_ms`; both null if nothing was measured."""
    if not len(latencies_s):
        return {"p50_ms": None, "p99_ms": None}
    p50, p99 = np.percentile(np.asarray(latencies_s), (50, 99)) * 1e3
    return {"p50_ms": _short(p50), "p99_ms": _short(p99)}


@dataclass(frozen=True, slots=True)
class Times:
    """Wall and CPU seconds of each repeat of a piece of work."""

    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]

    def row(self, queries: int = 1) -> Row:
        """Fields of a row: CPU is the median, because a busy machine disturbs wall time more.

        CPU is that of one of the `queries` that a repeat answers; percentiles are of repeats.
        """
        cpu_ms = float(np.median(self.cpu_s)) * 1e3 / queries
        return {"repeats": len(self.wall_s), "cpu_ms": cpu_ms, **percentiles_ms(self.wall_s)}


def repeat(work: Callable[[int], object], count_max: int, limit_s: float) -> Times:
    """Does `work(0), work(1), ...` once unmeasured, then until a count or a time is reached.

    CPU seconds are those of the whole process, so that helpers' threads count too.
    """
    work(0)
    wall, cpu = [], []
    end_s = time.perf_counter() + limit_s
    for number in range(count_max):
        wall_begin, cpu_begin = time.perf_counter(), time.process_time()
        work(number)
        cpu.append(time.process_time() - cpu_begin)
        wall.append(time.perf_counter() - wall_begin)
        if time.perf_counter() > end_s:
            break
    return Times(tuple(wall), tuple(cpu))
