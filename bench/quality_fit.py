"""Makes the weights of the bundled model again, and what the test of the probe set holds.

    python -m bench.quality_fit DIRECTORY [--budget 0.005] [--write]

DIRECTORY holds labelled pairs as `totonoe quality` reads them. Fitted on are the probe set and, of
the directory, only the five files of SOURCES, whose licences allow it (CC BY 4.0, CC BY-SA 4.0).
Each source is also left out once: its row says what weights that never saw it do on it. `--write`
puts the numbers into core/totonoe_core/domain/shipped.py and tests/core/probe_floors.json.
"""

from __future__ import annotations

import argparse
import json
import pprint
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import common
from totonoe_core.domain.calibration import FALSE_MERGE_BUDGET, Fitted
from totonoe_core.domain.policy import PRESETS, Preset
from totonoe_core.domain.records import Verdict
from totonoe_core.domain.weights import Weights
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.guard.calibrate import (
    COEFFICIENTS,
    Labelled,
    calibrated,
    fitted_weights,
    merged_anyway,
    point_at,
    probabilities_of,
    threshold,
)
from totonoe_core.guard.probe import LANGUAGES, probe_files
from totonoe_core.guard.verdict import compare
from totonoe_server.tools.quality.files import read_pairs
from totonoe_server.tools.quality.pairs import GuardedPair, judge_all
from totonoe_server.tools.quality.rig import Rig, opened

SOURCES = {
    "en_scpp_replace": "SugarCrepe++, CC BY 4.0",
    "en_negation": "CANNOT, CC BY-SA 4.0",
    "en_bugs_hadoop": "GitBugs, CC BY 4.0",
    "ja_jsts_train": "JSTS of JGLUE, CC BY-SA 4.0",
    "ja_jsick_train": "JSICK, CC BY-SA 4.0",
}
SHIPPED = common.ROOT / "core" / "totonoe_core" / "domain" / "shipped.py"
FLOORS = common.ROOT / "tests" / "core" / "probe_floors.json"


def judged_pairs(rig: Rig, path: Path) -> list[GuardedPair]:
    """The labelled pairs of a file."""
    return judge_all(read_pairs(path), PRESETS[Preset.STANDARD], rig, lambda _: None)


def as_labelled(one: GuardedPair, source: str) -> Labelled:
    """A judged pair as fitting takes it."""
    return Labelled(
        name=one.pair.kind,
        language=one.pair.lang,
        source=source,
        same=one.pair.label == 1,
        counts=one.pair.counts,
        features=one.comparison.features,
        merged=merged_anyway(one.comparison),
    )


def held_out(rows: Sequence[Labelled], budget: float) -> None:
    """Prints what each source gets from weights and threshold that never saw it."""
    print(f"{'left out':18} {'pairs':>6} {'false merges':>13} {'found':>7}")
    for source in sorted({row.source for row in rows}):
        rest = [row for row in rows if row.source != source and row.counts]
        held = [row for row in rows if row.source == source and row.counts]
        weights = fitted_weights(rest, budget)
        at_least = threshold(probabilities_of(rest, weights), _same(rest), budget)
        point = point_at(probabilities_of(held, weights), _same(held), at_least)
        rates = f"{point.false_merge_rate:13.2%} {point.duplicate_recall:7.1%}"
        print(f"{source:18} {len(held):6} {rates}")


def _same(rows: Sequence[Labelled]) -> Any:
    return np.array([row.same for row in rows], np.bool_)


def floors_of(judged: Sequence[GuardedPair], weights: Weights) -> dict[str, dict[str, int]]:
    """Of each class: duplicates found, false merges, verdicts that are right."""
    classes: defaultdict[str, dict[str, int]] = defaultdict(
        lambda: {"found": 0, "merged": 0, "right": 0}
    )
    for pair in judged:
        verdict = compare(pair.pair.b, pair.pair.a, pair.cosine, weights).judgement.verdict
        counts = classes[pair.pair.kind]
        if verdict is Verdict.DUPLICATE:
            counts["found" if pair.pair.label == 1 else "merged"] += 1
        counts["right"] += verdict.value in pair.pair.verdicts
    return {name: classes[name] for name in sorted(classes)}


def module(fitted: Fitted) -> str:
    """The text of domain/shipped.py."""
    made = fitted.calibration
    values = {name: getattr(made.weights, name) for name in (*COEFFICIENTS, "at_least")}
    lines = "\n".join(f"    {name}={value!r}," for name, value in values.items())
    named = "\n".join(f"    {name:16} {licence}" for name, licence in SOURCES.items())
    model = made.model
    return f'''"""Weights of the bundled model. Written by `python -m bench.quality_fit`.

Fitted to the probe set (`guard.probe`) and to

{named}
"""

from __future__ import annotations

from totonoe_core.domain.weights import Weights

MODEL, VERSION, DIMENSION = "{model.name}", "{model.version}", {model.dimension}
WEIGHTS = Weights(
{lines}
)
FALSE_MERGE_BUDGET = {made.false_merge_budget!r}
FALSE_MERGE_RATE = {made.false_merge_rate:.6f}
DUPLICATE_RECALL = {made.duplicate_recall:.6f}
PAIR_COUNT = {made.pair_count}
'''


def main() -> None:
    """Reads the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path, help="holds NAME.jsonl.gz of each source")
    parser.add_argument("--budget", type=float, default=FALSE_MERGE_BUDGET)
    parser.add_argument("--write", action="store_true", help="weights and floors into the tree")
    options = parser.parse_args()
    with opened(EmbedderSettings(kind="use")) as rig:
        model = replace(rig.model, weights_sha256="")
        probe = {
            language: judged_pairs(rig, Path(str(file)))
            for language, file in zip(LANGUAGES, probe_files(), strict=True)
        }
        rows = [
            as_labelled(pair, f"probe_{language}")
            for language, judged in probe.items()
            for pair in judged
        ]
        for name in SOURCES:
            path = options.directory / f"{name}.jsonl.gz"
            rows += [as_labelled(pair, name) for pair in judged_pairs(rig, path)]
    held_out(rows, options.budget)
    fitted = calibrated(rows, model, options.budget, None)
    pprint.pp(fitted.calibration)
    if options.write:
        SHIPPED.write_text(module(fitted), encoding="utf-8")
        weights = fitted.calibration.weights
        floors = {language: floors_of(judged, weights) for language, judged in probe.items()}
        FLOORS.write_text(json.dumps(floors, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
