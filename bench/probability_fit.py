"""Fits the probability that two texts say the same, and prints what it does on pairs kept aside.

    python -m bench.probability_fit PAIRS STREAMS [--cache DIRECTORY] [--write]

PAIRS and STREAMS are directories of labelled files as `totonoe quality` reads them;
`probability_data` says which of them are fitted on. `--write` puts the fit into
core/totonoe_core/guard/same_probability.json. Rows go to bench/results/probability.jsonl, those of
the pairs kept aside first, then what a pair costs (`time`); `python -m bench.probability_plot`
draws their reliability. Vectors stay in the cache, so that a second run takes a minute or two.

The log odds of the trees get a slope by logistic regression on predictions of folds that a tree
never saw, and for each language an offset, so that the mean probability of the pairs that a stream
nominates is the share of them that are the same.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import compress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from bench import boosting, common
from bench import probability_data as data
from bench.boosting import Float64, Trees
from bench.probability_data import Measured, Nominated, Vectors
from bench.quality_fit import SOURCES
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.guard import features
from totonoe_core.guard.features import JUDGE_NAMES, NAMES
from totonoe_core.guard.probability import FILE, same_probability
from totonoe_server.tools.quality.figures import auc, share
from totonoe_server.tools.quality.rig import Rig, opened

SHIPPED = common.ROOT / "core" / "totonoe_core" / "guard" / FILE
SETTINGS = boosting.Settings()
FOLDS = 5
WEIGHTS = {
    "agent_": 20.0, "probe_": 2.0, "group_": 3.0, "late_": 3.0,
    "made_edit": 0.2, "made_longer": 0.1, "made_near": 0.2, "": 0.5,
}  # fmt: skip
"""Weight of an example, by the first name that its source begins with."""
RISES = (
    "words_jaccard", "words_contained", "words_covered", "bigrams_dice", "bigrams_contained",
    "trigrams_dice", "trigrams_contained", "shared", "marks", "roles_agree", "heads_agree", "agree",
)  # fmt: skip
FALLS = (
    "digits_differ", "digits_one_sided", "asks_differ", "asks", "rest_fewer", "rest_more",
    "opposite", "other_value", "replaced", "values_differ", "names_differ", "rest_values_fewer",
    "rest_values_more", "unexplained_fewer", "unexplained_more", "denied_parity",
    "modality_differs", "tense_differs", "findings",
)  # fmt: skip
"""Features with which the probability may only rise, or only fall; with every finding it falls."""
MONOTONE = [
    1 if name in RISES else -1 if name in FALLS or name.startswith("finding_") else 0
    for name in NAMES
]
COSINE = NAMES.index("cosine")
MINIMAL_FROM = 0.8
"""Likeness of the characters from which a pair with a single change is a minimal look-alike."""
TIMED, TIMED_S = 20, 5.0
"""Repeats of a measurement of time at most, and seconds."""
LIKELY_FROM = (0.3, 0.35, 0.4, 0.42, 0.45, 0.5, 0.6, 0.7)


@dataclass(frozen=True, slots=True)
class View:
    """Columns that trees see of pairs, as float64[pair, column], and what the trees add to.

    Attributes
    ----------
    columns : callable
    monotone : list of int
        1 for a column with which the sum may only rise, -1 to only fall, else 0.
    settings : boosting.Settings
    base : callable
        Returns the log odds, as float64[pair], that the trees add to.
    grown : callable
        Returns for which pairs, as bool[pair], there are trees. For others the base stands alone.
    """

    columns: Callable[[Sequence[Measured]], Float64]
    monotone: list[int]
    settings: boosting.Settings = SETTINGS
    base: Callable[[Sequence[Measured]], Float64] = lambda pairs: np.zeros(len(pairs))
    grown: Callable[[Sequence[Measured]], NDArray[np.bool_]] = lambda pairs: np.ones(
        len(pairs), np.bool_
    )

    def fit(self, pairs: Sequence[Measured]) -> Trees:
        """Fit trees to those pairs that get trees."""
        pairs = list(compress(pairs, self.grown(pairs)))
        base = self.base(pairs)
        return boosting.fit(self.columns(pairs), *labels(pairs), base, self.monotone, self.settings)

    def sums(self, trees: Trees, pairs: Sequence[Measured]) -> Float64:
        """Return the log odds of each pair, without a scale."""
        added = np.where(self.grown(pairs), trees.sums(self.columns(pairs)), 0.0)
        return np.asarray(self.base(pairs) + added)


def with_cosine(pairs: Sequence[Measured]) -> Float64:
    """Return the features of each pair."""
    return np.array([pair.seen for pair in pairs]).reshape(len(pairs), len(NAMES))


def without_cosine(pairs: Sequence[Measured]) -> Float64:
    """Return the features of each pair, the cosine missing."""
    seen = with_cosine(pairs)
    seen[:, COSINE] = np.nan
    return seen


WITH_COSINE, WITHOUT_COSINE = View(with_cosine, MONOTONE), View(without_cosine, MONOTONE)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Trees with their scale; `offsets` maps a language to its offset, "" to that of others."""

    view: View
    trees: Trees
    slope: float
    offsets: dict[str, float]

    def probabilities(self, pairs: Sequence[Measured]) -> Float64:
        """Return the probability of each pair; 1 for equal words."""
        offsets = np.array([self.offsets[language_of(pair)] for pair in pairs])
        odds = self.slope * self.view.sums(self.trees, pairs) + offsets
        return np.where([pair.equal for pair in pairs], 1.0, logistic(odds))


def logistic(odds: Float64) -> Float64:
    """Return the probabilities of log odds."""
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -40.0, 40.0)))


def language_of(pair: Measured) -> str:
    """Return en, ja or zh as the features say; "" for any other."""
    return next((code for code in ("en", "ja", "zh") if pair.seen[NAMES.index(code)] == 1.0), "")


def weight_of(pair: Measured) -> float:
    """Return the weight of an example."""
    return next(w for name, w in WEIGHTS.items() if pair.example.source.startswith(name))


# -- Fitting


def labels(pairs: Sequence[Measured]) -> tuple[NDArray[np.bool_], Float64]:
    """Return whether each pair says the same, and its weight."""
    return (
        np.array([pair.example.same for pair in pairs], np.bool_),
        np.array([weight_of(pair) for pair in pairs]),
    )


def fold_of(pair: Measured) -> int:
    """Return the fold of a pair, by its group."""
    digest = hashlib.blake2b(b"fold " + pair.example.group.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % FOLDS


def out_of_fold(pairs: Sequence[Measured], view: View) -> Float64:
    """Return for each pair the sum of trees that saw none of its group."""
    folds = np.array([fold_of(pair) for pair in pairs])
    sums = np.zeros(len(pairs))
    for fold in range(FOLDS):
        inside = folds == fold
        trees = view.fit(list(compress(pairs, ~inside)))
        sums[inside] = view.sums(trees, list(compress(pairs, inside)))
    return sums


def slope_of(sums: Float64, same: NDArray[np.bool_], weights: Float64) -> float:
    """Return the slope of a logistic regression on the sums (Newton's method)."""
    columns = np.column_stack([sums, np.ones(len(sums))])
    found = np.zeros(2)
    for _ in range(30):
        p = logistic(columns @ found)
        slope = columns.T @ (weights * (p - same))
        bend = (columns * (weights * p * (1.0 - p))[:, None]).T @ columns
        found = found - np.linalg.solve(bend, slope)
    return float(found[0])


def offset_of(odds: Float64, expected_share: float) -> float:
    """Return the offset with which the mean probability is the expected share (bisection)."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if logistic(odds + middle).mean() < expected_share:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def fitted(pairs: Sequence[Measured], streams: dict[str, list[Nominated]], view: View) -> Fitted:
    """Fit trees, slope and offsets."""
    trees = view.fit(pairs)
    slope = slope_of(out_of_fold(pairs, view), *labels(pairs))
    offsets = {}
    for language in ("en", "ja", "zh"):
        stream = [pair.measured for pair in streams[f"stream_{language}"] if pair.counts]
        odds, (same, _) = slope * view.sums(trees, stream), labels(stream)
        offsets[language] = offset_of(odds, float(same.mean()))
    offsets[""] = float(np.mean(list(offsets.values())))
    return Fitted(view, trees, slope, offsets)


# -- Figures


def is_minimal(pair: Measured) -> bool:
    """Return whether a different pair is almost the same text: a single change."""
    one = pair.example
    matcher = SequenceMatcher(None, one.a, one.b, autojunk=False)
    return not one.same and matcher.ratio() >= MINIMAL_FROM


def bands(pairs: Sequence[Measured], p: Float64, likely_from: float) -> common.Row:
    """Return shares that are certain or likely, of same pairs and of look-alikes."""
    same = np.array([pair.example.same for pair in pairs])
    minimal = np.array([is_minimal(pair) for pair in pairs])
    refused = np.array([pair.refused for pair in pairs]) & (p >= likely_from)
    hard = np.array([pair.hard for pair in pairs])
    likely = (p >= likely_from) & ~hard & ~refused
    either = refused | likely
    reworded = ~same & ~minimal
    return {
        "likely_from": likely_from,
        "n": len(pairs),
        "n_same": int(same.sum()),
        "n_minimal": int(minimal.sum()),
        "n_reworded": int(reworded.sum()),
        "auc": auc(p, same),
        "same": share(int((either & same).sum()), int(same.sum())),
        "minimal": share(int((either & minimal).sum()), int(minimal.sum())),
        "reworded": share(int((either & reworded).sum()), int(reworded.sum())),
        "certain_of_same": share(int((refused & same).sum()), int(same.sum())),
        "certain_of_different": share(int((refused & ~same).sum()), int((~same).sum())),
        "hard_of_same": share(int((hard & same).sum()), int(same.sum())),
        "hard_of_different": share(int((hard & ~same).sum()), int((~same).sum())),
    }


def by_language(
    pairs: Sequence[Measured], p: Float64
) -> Iterable[tuple[str, list[Measured], Float64]]:
    """Yield all pairs, then those of each language, with their probabilities."""
    yield "", list(pairs), p
    languages = [pair.example.language for pair in pairs]
    for language in dict.fromkeys(languages):
        chosen = np.array([code == language for code in languages])
        yield language, [pair for pair in pairs if pair.example.language == language], p[chosen]


def reliability(p: Float64, same: NDArray[np.bool_]) -> list[list[float]]:
    """Return mean probability, share of same pairs and count, by tenths of the probability."""
    found = []
    for tenth in range(10):
        inside = np.minimum((p * 10).astype(int), 9) == tenth
        if inside.any():
            means = float(p[inside].mean()), float(same[inside].mean())
            found.append([round(means[0], 4), round(means[1], 4), int(inside.sum())])
    return found


def questions(count: int, pairs: Sequence[Nominated], p: Float64, likely_from: float) -> common.Row:
    """Return how many items of a stream are saved with a question, and how many rightly.

    An item that an earlier one refuses is not saved. An item asks once, about the likeliest.
    """
    of_item: defaultdict[int, list[tuple[float, Nominated]]] = defaultdict(list)
    for judged, probability in zip(pairs, p, strict=True):
        of_item[judged.item].append((float(probability), judged))
    refused: set[int] = set()
    worths: list[str] = []
    lost = restated = 0
    for item in sorted(of_item):
        beside = [(at, judged) for at, judged in of_item[item] if judged.earlier not in refused]
        certain = [judged for at, judged in beside if judged.measured.refused and at >= likely_from]
        if certain:
            refused.add(item)
            lost += certain[0].worth == "lookalike"
            continue
        restated += any(judged.worth == "same" for _, judged in beside)
        likely = [pair for pair in beside if pair[0] >= likely_from and not pair[1].measured.hard]
        if likely:
            worths.append(max(likely, key=lambda pair: pair[0])[1].worth)
    scored = [worth for worth in worths if worth != "unscored"]
    saved = count - len(refused)
    return {
        "likely_from": likely_from,
        "n": count,
        "n_saved": saved,
        "n_questions": len(worths),
        "per_100_saves": share(100 * len(worths), saved),
        "restated_per_100_saves": share(100 * restated, saved),
        "right": share(scored.count("same"), len(scored)),
        "lookalikes_asked": worths.count("lookalike"),
        "lookalikes_lost": lost,
    }


def left_out(report: common.Report, pairs: Sequence[Measured]) -> None:
    """Add a row for each source: the AUC of trees that never saw it."""
    for source in dict.fromkeys(pair.example.source for pair in pairs):
        if source.startswith("made_"):
            continue
        rest = [pair for pair in pairs if pair.example.source != source]
        held = [pair for pair in pairs if pair.example.source == source]
        sums = WITH_COSINE.sums(WITH_COSINE.fit(rest), held)
        same, _ = labels(held)
        report.add(part="left_out", texts=source, n=len(held), auc=auc(sums, same))


def figures(
    report: common.Report,
    made: Fitted,
    without: Fitted,
    sets: dict[str, list[Measured]],
    streams: dict[str, tuple[int, list[Nominated]]],
) -> None:
    """Add the rows of everything that was never fitted on, the pairs kept aside first."""
    for name, pairs in sets.items():
        for cosine, fit in ((True, made), (False, without)):
            p = fit.probabilities(pairs)
            for language, group, some in by_language(pairs, p):
                for likely_from in LIKELY_FROM:
                    row = bands(group, some, likely_from)
                    report.add(part="pairs", texts=name, language=language, cosine=cosine, **row)
            same = np.array([pair.example.same for pair in pairs])
            points = reliability(p, same)
            report.add(part="reliability", texts=name, cosine=cosine, points=points)
    for name, (count, stream) in streams.items():
        scored = [pair for pair in stream if pair.worth != "unscored"]
        p = made.probabilities([pair.measured for pair in scored])
        same = np.array([pair.worth == "same" for pair in scored])
        report.add(part="reliability", texts=name, cosine=True, points=reliability(p, same))
        p = made.probabilities([pair.measured for pair in stream])
        for likely_from in LIKELY_FROM:
            row = questions(count, stream, p, likely_from)
            report.add(part="stream", texts=name, **row)


# -- What a pair costs


def times(report: common.Report, pairs: Sequence[Measured], vectors: Vectors, rig: Rig) -> None:
    """Add CPU of a pair in microseconds: texts read and compared, features and trees, trees.

    The readings of a text are cached, as in a daemon, which reads a text once for many pairs. The
    first pass over all pairs is not measured.
    """
    asked: list[tuple[Any, ...]] = []
    computed = features.features

    def recorded(*given: Any) -> NDArray[np.float64]:
        asked.append(given)
        return computed(*given)

    with mock.patch.object(features, "features", recorded):
        data.measured([pair.example for pair in pairs], vectors, rig.model)
    rows = [computed(*given) for given in asked]
    for part, work in (
        (
            "compare",
            lambda _: data.measured([measured.example for measured in pairs], vectors, rig.model),
        ),
        ("features and trees", lambda _: [same_probability(computed(*given)) for given in asked]),
        ("trees", lambda _: [same_probability(row) for row in rows]),
    ):
        found = common.repeat(work, TIMED, TIMED_S)
        cpu_us = float(np.median(found.cpu_s)) * 1e6 / len(pairs)
        report.add(
            part="time", texts="agent pairs kept aside", work=part, n=len(pairs), cpu_us=cpu_us
        )


# -- The shipped file


def ship(**parts: Any) -> None:
    """Put parts into the shipped file, which keeps the others, and gets another version."""
    body = json.loads(SHIPPED.read_text(encoding="utf-8"))
    del body["version"]
    body |= {"features": [*NAMES, *JUDGE_NAMES], **parts}
    digest = hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=4).hexdigest()
    lines = ",\n".join(
        f" {json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
        for key, value in {"version": f"same-{digest}", **body}.items()
    )
    SHIPPED.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


def stored(fit: Fitted) -> dict[str, Any]:
    """Return a fit as JSON, its numbers in six digits."""
    trees = fit.trees
    return {
        "slope": round(fit.slope, 6),
        "offsets": {language: round(offset, 6) for language, offset in fit.offsets.items()},
        "roots": trees.roots,
        "feature": trees.feature,
        "threshold": [float(f"{value:.6g}") for value in trees.threshold],
        "left": trees.left,
        "right": trees.right,
        "missing_left": trees.missing_left,
        "value": [float(f"{value:.6g}") for value in trees.value],
    }


def examples(directory: Path, vectors: Vectors) -> list[data.Example]:
    """Return everything that is fitted on."""
    agents, probe = data.agent_pairs(directory, kept_aside=False), data.probe_examples()
    own = [*agents, *probe]
    vectors.add(text for example in own for text in (example.a, example.b))
    near = [*data.neighbours(agents, vectors), *data.neighbours(probe, vectors)]
    made = [*data.edited(own), *data.longer(own), *near]
    return [*own, *data.public_pairs(directory, SOURCES), *made]


def main() -> None:
    """Read the options."""
    parser = common.parser(__doc__)
    parser.add_argument("pairs", type=Path, help="directory of labelled pairs")
    parser.add_argument("streams", type=Path, help="directory of streams")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "totonoe-fit")
    parser.add_argument("--likely-from", type=float, default=0.45)
    parser.add_argument("--write", action="store_true", help="the fit into the tree")
    options = parser.parse_args()
    with (
        common.Report("probability", options.seed, options.out) as report,
        opened(EmbedderSettings(kind="use")) as rig,
    ):
        vectors = Vectors(rig, options.cache / "vectors.npz")
        pairs = data.measured(examples(options.pairs, vectors), vectors, rig.model)
        pairs = [pair for pair in pairs if not pair.equal]
        streams = {
            name: data.nominated(options.streams / f"{name}.jsonl.gz", vectors, rig.model)
            for name in data.STREAMS
        }
        found = {name: stream for name, (_, stream) in streams.items()}
        made, without = (fitted(pairs, found, view) for view in (WITH_COSINE, WITHOUT_COSINE))
        kept = data.agent_pairs(options.pairs, kept_aside=True)
        sets = {"agent pairs kept aside": data.measured(kept, vectors, rig.model)}
        for name in data.NEVER:
            some = data.public_pairs(options.pairs, [name])
            sets[name] = data.measured(some, vectors, rig.model)
        figures(report, made, without, sets, streams)
        left_out(report, pairs)
        times(report, sets["agent pairs kept aside"], vectors, rig)
    if options.write:
        written = "written for this project"
        ship(
            fitted_on={**dict.fromkeys(("probe", *data.AGENTS), written), **SOURCES},
            likely_from=options.likely_from,
            with_cosine=stored(made),
            without_cosine=stored(without),
        )


if __name__ == "__main__":
    main()
