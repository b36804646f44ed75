"""How often the guard is right on labelled pairs and streams, beside other guards.

    python -m bench.quality [FILE ...] [--policies standard] [--limit N] [--embedder use]

The probe set comes first, then the FILEs, pairs or streams as `totonoe quality` reads them. A row
for each file of pairs (`kind` empty) and each class in it, with what every guard of `beside` does
with the same pairs; a row with the operating curves of the verdict and of the plain cosine; a row
for each stream and policy. `python -m bench.quality_tables` makes tables and a plot of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import common
from bench.quality_fit import as_labelled
from totonoe_core.domain.calibration import weights_for
from totonoe_core.domain.policy import PRESETS, Preset
from totonoe_core.domain.weights import Weights
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.guard.calibrate import curve_of, point_at, probabilities_of
from totonoe_core.guard.probe import LANGUAGES, probe_files
from totonoe_server.tools.quality import streams
from totonoe_server.tools.quality.files import Form, form_of, read_pairs, read_stream
from totonoe_server.tools.quality.pairs import GuardedPair, figures, judge_all
from totonoe_server.tools.quality.rig import Rig, opened

CURVE = ("at_least", "false_merge_rate", "duplicate_recall")


def ignore(_: int) -> None:
    """Nobody follows the progress: rows come soon enough."""


def pairs(report: common.Report, rig: Rig, source: str, path: Path, limit: int | None) -> None:
    """Rows of a file of pairs."""
    policy = PRESETS[Preset.STANDARD]
    judged = judge_all(read_pairs(path, limit), policy, rig, ignore)
    head = {"texts": source, "embedder": rig.model.name, "policy": Preset.STANDARD.value}
    counted = [pair for pair in judged if pair.pair.counts]
    kinds = sorted({pair.pair.kind for pair in judged} - {""})
    groups = {"": counted} | {
        kind: [pair for pair in judged if pair.pair.kind == kind] for kind in kinds
    }
    for kind, group in groups.items():
        report.add(part="pairs", kind=kind, **head, **figures(group))
    report.add(part="curve", **head, **curves(counted, weights_for(None, rig.model)))


def curves(judged: Sequence[GuardedPair], weights: Weights) -> dict[str, Any]:
    """Operating curves over the threshold, and the point that is in use."""
    same = np.array([pair.pair.label == 1 for pair in judged], np.bool_)
    p = probabilities_of([as_labelled(pair, "") for pair in judged], weights)
    cosines = np.clip([pair.cosine for pair in judged], 0.0, 1.0)
    chosen = point_at(p, same, weights.at_least)
    return {
        "verdict": _points(curve_of(p, same, weights.at_least)),
        "cosine": _points(curve_of(cosines, same, 0.95)),
        "chosen": _points([chosen])[0],
    }


def _points(curve: Sequence[Any]) -> list[list[float]]:
    return [[round(getattr(point, name), 4) for name in CURVE] for point in curve]


def stream(
    report: common.Report, rig: Rig, path: Path, policies: Sequence[Preset], limit: int | None
) -> None:
    """A row for each policy on a stream."""
    items = read_stream(path, limit)
    for policy in policies:
        found = streams.measure(items, PRESETS[policy], rig, ignore)
        names = {"texts": _name(path), "embedder": rig.model.name, "policy": policy.value}
        report.add(part="stream", **names, **found)


def _name(path: Path) -> str:
    return path.name.partition(".")[0]


def main() -> None:
    """Reads the options."""
    parser = common.parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="labelled pairs and streams")
    parser.add_argument("--policies", default=Preset.STANDARD.value, help="of streams, with commas")
    parser.add_argument("--limit", type=int, help="only the first rows of each file")
    parser.add_argument("--embedder", default="use", help="use or hashing")
    options = parser.parse_args()
    policies = [Preset(name) for name in options.policies.split(",")]
    with (
        common.Report("quality", options.seed, options.out) as report,
        opened(EmbedderSettings(kind=options.embedder)) as rig,
    ):
        for language, file in zip(LANGUAGES, probe_files(), strict=True):
            pairs(report, rig, f"probe_{language}", Path(str(file)), options.limit)
        for path in options.files:
            if form_of(path) is Form.PAIRS:
                pairs(report, rig, _name(path), path, options.limit)
            else:
                stream(report, rig, path, policies, options.limit)


if __name__ == "__main__":
    main()
