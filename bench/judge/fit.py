"""Fits what the daemon makes of its judge's opinions.

    python -m bench.judge.fit PAIRS STREAMS [--cache DIRECTORY] [--write]

PAIRS and STREAMS are those of `bench.probability_fit`. Two things are fitted, `--write` puts both
into the tree:

- in `judging/model/judge.json`: the scale of the judge's logit for each language;
- in `guard/same_probability.json`: trees over the features of a pair and what the judge says of it.

The network knows the pairs that it has learned from, and is surer of them than of new ones. So
scales are fitted on half of the groups' topics that it never saw (`Group.for_tuning`), and the
trees see these groups, those that came behind its training (`Group.late`) and, of the pairs of
`bench.probability_fit`, those that it did not learn.
The other half of the topics is published (`bench.judge.figures`). Rows of
bench/results/judge_fit.jsonl: the AUC of trees that did not see a pair's topic, and the
probabilities that given shares of the look-alikes reach.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import boosting, common
from bench import probability_data as data
from bench import probability_fit as fit
from bench.judge.data import HERE, Group, groups
from bench.judge.evaluate import auc, kept_aside
from bench.judge.opinions import Opinions
from bench.probability_data import Example, Measured, Nominated, Vectors
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.guard.features import JUDGE_NAMES, NAMES
from totonoe_core.guard.probability import base
from totonoe_core.judging.own import SHIPPED, Manifest, Scale, scale_language
from totonoe_server.tools.quality.rig import opened

Float64 = NDArray[np.float64]
_SCALED_FROM = 200
"""Pairs of a language from which on it gets a scale of its own."""
_SENTENCE_FROM = 0.5
_LEARNED = ("agent_", "probe_")
"""Sources of pairs that the network knows by heart. What is made of their texts it has not seen."""
SHARES = {"certain_from": 0.005, "likely_from": 0.08, "shown_from": 0.2}
"""Share of the look-alikes that may reach each bound."""
_RISES = ("judge_log_odds", "judge_same")
_LOG_ODDS, _CERTAIN = JUDGE_NAMES.index("judge_log_odds"), NAMES.index("certain")


def with_judge(pairs: Sequence[Measured]) -> Float64:
    """Return the features of each pair, and what the judge says of it."""
    return np.hstack([fit.with_cosine(pairs), [pair.judged for pair in pairs]])


def judges(pairs: Sequence[Measured]) -> Float64:
    """Return the log odds by the judge alone, which the trees add to."""
    return np.array([base(float(pair.judged[_LOG_ODDS])) for pair in pairs])


def are_compared(pairs: Sequence[Measured]) -> NDArray[np.bool_]:
    """Return which pairs have readings that were compared: not those across languages."""
    return ~np.isnan(fit.with_cosine(pairs)[:, _CERTAIN])


WITH_JUDGE = fit.View(
    with_judge,
    [*fit.MONOTONE, *(1 if name in _RISES else -1 for name in JUDGE_NAMES)],
    boosting.Settings(trees=150, leaves=4, ridge=20.0),
    judges,
    are_compared,
)
"""Few and small trees, which the judge's log odds carry: more learn the pairs, not what holds.

With 300 trees of 8 leaves, and no base, the groups kept aside had an AUC below the judge's alone.
"""


def grouped(chosen: Sequence[Group]) -> list[Example]:
    """Return the pairs of groups, as `evaluate.kept_aside` draws them."""
    return [
        Example(
            *(f"group {number}", f"group_{pair.file}", pair.language, chosen[pair.group].topic),
            *(pair.kind, pair.same == 1, pair.a, pair.b),
        )
        for number, pair in enumerate(kept_aside(chosen))
    ]


def texts_of(pairs: Sequence[Measured]) -> list[tuple[str, str]]:
    """Return the two texts of each pair."""
    return [(pair.example.a, pair.example.b) for pair in pairs]


def scales(pairs: Sequence[tuple[str, str]], logits: Float64, same: NDArray[np.bool_]) -> Manifest:
    """Return the scale of each language; "" is that of all pairs together."""
    rows = defaultdict(list)
    for row, pair in enumerate(pairs):
        if not np.isnan(logits[row]):
            rows[scale_language(*pair)].append(row)
            rows[""].append(row)
    found = {}
    for language, chosen in rows.items():
        if not language or len(chosen) >= _SCALED_FROM:
            some, labels = logits[chosen], same[chosen]
            slope = fit.slope_of(some, labels, np.ones(len(some)))
            offset = fit.offset_of(slope * some, float(labels.mean()))
            found[language] = Scale(round(1.0 / slope, 4), round(offset, 4))
    return Manifest("", 0, found, _SENTENCE_FROM)


def write_scales(directory: Path, manifest: Manifest) -> None:
    """Put scales into `judge.json`."""
    path = directory / "judge.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    said["languages"] = {
        language: {"temperature": scale.temperature, "offset": scale.offset}
        for language, scale in sorted(manifest.scales.items())
    }
    said["bounds"] = {"sentence": manifest.sentence_from}
    path.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def judged(pairs: Sequence[Measured], opinions: Opinions, manifest: Manifest) -> list[Measured]:
    """Return the open pairs that the judge has an opinion on, with it."""
    pairs = [pair for pair in pairs if pair.open]
    said = opinions.features(texts_of(pairs), manifest)
    return [
        replace(pair, judged=row)
        for pair, row in zip(pairs, said, strict=True)
        if not np.isnan(row[_LOG_ODDS])
    ]


def judged_stream(
    stream: Sequence[Nominated], opinions: Opinions, manifest: Manifest
) -> list[Nominated]:
    """Return the pairs of a stream that `judged` returns."""
    of_example = {id(pair.measured.example): pair for pair in stream}
    pairs = judged([pair.measured for pair in stream], opinions, manifest)
    return [replace(of_example[id(pair.example)], measured=pair) for pair in pairs]


def level(made: fit.Fitted) -> fit.Fitted:
    """Return the fit with the mean offset for each language.

    The scales of the judge make its languages alike already. A stream of one language is of one
    kind of text, captions or questions; an offset from it alone moves notes of this language, of
    which then more or fewer are refused than of others.
    """
    return replace(made, offsets=dict.fromkeys(made.offsets, made.offsets[""]))


def report_bounds(
    report: common.Report, made: fit.Fitted, pairs: Sequence[Measured], unsettled: int
) -> None:
    """Add the rows of trees that did not see a pair's topic, by the source of the pairs.

    `unsettled` is the number of look-alikes of the groups, open or not.
    """
    sums = fit.out_of_fold(pairs, WITH_JUDGE)
    before = fit.out_of_fold(pairs, fit.WITH_COSINE)
    offsets = np.array([made.offsets[fit.language_of(pair)] for pair in pairs])
    p = fit.logistic(made.slope * sums + offsets)
    same = np.array([pair.example.same for pair in pairs])
    sources = np.array([pair.example.source.split("_")[0] for pair in pairs])
    logits = np.array([pair.judged[0] for pair in pairs])
    for source in dict.fromkeys(sources.tolist()):
        inside = sources == source
        heard = inside & ~np.isnan(logits)
        report.add(
            part="auc",
            texts=source,
            n=int(inside.sum()),
            both=auc(sums[inside], same[inside]),
            features=auc(before[inside], same[inside]),
            judge=auc(logits[heard], same[heard]),
        )
    of_groups = sources == "group"
    others, twins = np.sort(p[of_groups & ~same])[::-1], p[of_groups & same]
    for name, share in SHARES.items():
        bound = float(others[min(int(share * unsettled), len(others) - 1)])
        report.add(
            part="bound", texts="groups", name=name, share=share, bound=bound,
            same=float((twins > bound).mean()),
        )  # fmt: skip


def main() -> None:
    """Read the options."""
    parser = common.parser(__doc__)
    _add_arguments(parser)
    options = parser.parse_args()
    with (
        common.Report("judge_fit", options.seed, options.out) as report,
        opened(EmbedderSettings(kind="use")) as rig,
    ):
        vectors = Vectors(rig, options.cache / "vectors.npz")
        opinions = Opinions(options.model, options.cache / "opinions.npz")
        tuning = data.measured(
            grouped([group for group in groups(HERE / "groups") if group.for_tuning]),
            vectors,
            rig.model,
        )
        same = np.array([pair.example.same for pair in tuning])
        manifest = scales(texts_of(tuning), opinions.rows(texts_of(tuning))[:, 0], same)
        for language, scale in manifest.scales.items():
            report.add(
                part="scale", texts="groups", language=language,
                temperature=scale.temperature, offset=scale.offset,
            )  # fmt: skip
        labelled = data.measured(
            [
                example
                for example in fit.examples(options.pairs, vectors)
                if not example.source.startswith(_LEARNED)
            ],
            vectors,
            rig.model,
        )
        late = [
            replace(example, source=f"late_{example.source}")
            for example in grouped([group for group in groups(HERE / "groups") if group.late])
        ]
        labelled += data.measured(late, vectors, rig.model)
        pairs = judged([*labelled, *tuning], opinions, manifest)
        streams = {}
        for name in data.STREAMS:
            _, stream = data.nominated(options.streams / f"{name}.jsonl.gz", vectors, rig.model)
            streams[name] = judged_stream(stream, opinions, manifest)
        made = level(fit.fitted(pairs, streams, WITH_JUDGE))
        report_bounds(report, made, pairs, int((~same).sum()))
    if options.write:
        write_scales(options.model, manifest)
        fit.ship(with_judge=fit.stored(made))


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pairs", type=Path, help="directory of labelled pairs")
    parser.add_argument("streams", type=Path, help="directory of streams")
    parser.add_argument("--model", type=Path, default=SHIPPED)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "totonoe-fit")
    parser.add_argument("--write", action="store_true", help="scales and trees into the tree")


if __name__ == "__main__":
    main()
