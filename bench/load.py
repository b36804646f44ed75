"""Many agent processes at once, each with a mix of calls and no pause between them.

    python -m bench.load [--agents 16] [--limit-s 120] [--texts FILE]

70 % Recall, 20 % Remember (one in five says again what its agent said before), 5 % Forget, 5 %
Get. The daemon embeds, as it does for users. Without pauses the machine is saturated: the
latencies are those of a queue that as many callers make, not of one call.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from bench import common, material
from bench.agent import SHARES
from bench.filling import store
from bench.processes import Crew, Daemon


def orders(options: argparse.Namespace, address: str) -> list[dict[str, Any]]:
    """One order for each agent; with real texts each has its own."""
    texts = material.read_texts(options.texts) if options.texts else []
    return [
        {
            "address": address,
            "worker": worker,
            "seed": options.seed,
            "limit_s": options.limit_s,
            "texts": texts[worker :: options.agents],
        }
        for worker in range(options.agents)
    ]


def run(options: argparse.Namespace) -> None:
    """A row for each call, one for all calls, and one for the daemon."""
    with (
        common.Report("load", options.seed, options.out) as report,
        tempfile.TemporaryDirectory(prefix="totonoe-bench-") as directory,
        Daemon(Path(directory) / "data", embedder=options.embedder) as daemon,
    ):
        with daemon.client() as client:
            store(client, options.seed, options.stored, 0)
        with Crew("bench.agent", orders(options, daemon.address)) as crew:
            before = daemon.idle()
            answers = crew.run()
            with daemon.client() as client:
                after = client.stats()
        wall_s = max(answer["end_s"] for answer in answers) - min(
            answer["begin_s"] for answer in answers
        )
        said = {
            "n": options.stored,
            "agents": options.agents,
            "embedder": options.embedder,
            "texts": options.texts.name if options.texts else "synthetic",
            "wall_s": wall_s,
        }
        errors: dict[str, int] = {}
        for answer in answers:
            for reason, count in answer["errors"].items():
                errors[reason] = errors.get(reason, 0) + count
        every: list[float] = []
        for call in SHARES:
            latencies_s = [value for answer in answers for value in answer["latencies_s"][call]]
            every += latencies_s
            failed = {
                reason.partition(": ")[2]: count
                for reason, count in errors.items()
                if reason.startswith(call)
            }
            figures = {"ops": len(latencies_s), "ops_per_s": len(latencies_s) / wall_s}
            report.add(
                call=call, **said, **figures, **common.percentiles_ms(latencies_s), errors=failed
            )
        cpu_s = after.cpu_s - before.cpu_s
        embedder_cpu_s = after.embedder_cpu_s - before.embedder_cpu_s
        report.add(
            call="all",
            **said,
            ops=len(every),
            ops_per_s=len(every) / wall_s,
            **common.percentiles_ms(every),
            errors=errors,
            server_cpu_s=cpu_s,
            embedder_cpu_s=embedder_cpu_s,
            server_cpu_ms_per_op=cpu_s / max(1, len(every)) * 1e3,
            embedder_cpu_ms_per_op=embedder_cpu_s / max(1, len(every)) * 1e3,
            rss_before_bytes=before.rss_bytes,
            rss_after_bytes=after.rss_bytes,
            active_after=sum(stats.active_count for stats in after.collections),
        )


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--agents", type=int, default=16)
    parser.add_argument("--limit-s", type=float, default=120.0)
    parser.add_argument("--stored", type=int, default=1_000, help="memories there before")
    parser.add_argument("--embedder", default="use")
    parser.add_argument("--texts", type=Path, help="what agents say and ask, a text a line")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
