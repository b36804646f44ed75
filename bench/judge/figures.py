"""Figures of the guard with its judge, on topics that nothing was fitted on.

    make judge-figures [ARGS="--streams DIRECTORY"]

Each pair is judged by the code that a daemon runs. Rows of bench/results/judge.jsonl: "scores", the
figures of `evaluate` for the guard without a judge, the judge alone, and both; "outcomes", the
shares that the default policy refuses, asks about and shows; "edits", the shares of single edits
that are refused, by their kind; "exclusive", how many pairs are named as exclusive, and how many
of them rightly; "streams", what is asked when notes are saved one after the other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench import common
from bench import probability_data as data
from bench import probability_fit as fit
from bench.judge import evaluate
from bench.judge.data import HERE, RELATIONS, Group, groups
from bench.judge.evaluate import Aside
from bench.judge.fit import grouped, judged_stream
from bench.judge.opinions import Opinions
from bench.probability_data import Example, Vectors
from totonoe_core.domain.calibration import weights_for
from totonoe_core.domain.policy import PRESETS, Action, Preset
from totonoe_core.domain.records import Judgement, ModelIdentity, Verdict
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.guard.exclusive import certainly_exclusive
from totonoe_core.guard.features import JUDGE_NAMES
from totonoe_core.guard.probability import same_probability_judged
from totonoe_core.guard.verdict import compare
from totonoe_core.judging import cascade
from totonoe_core.judging.own import SHIPPED
from totonoe_core.judging.protocol import Opinion
from totonoe_core.kernels.cosine import similarity64
from totonoe_server.tools.quality.figures import share
from totonoe_server.tools.quality.rig import opened

POLICY = PRESETS[Preset.STANDARD]
REPLACING = replace(POLICY, on_update=Action.SUPERSEDE, on_contradiction=Action.SUPERSEDE)
_EXCLUSIVE = RELATIONS.index("exclusive")
_SURE = 40.0
"""Log odds of what is refused without a judge; its negative is that of a hard difference."""
_SAME = JUDGE_NAMES.index("judge_same")
_EDITED = 4
"""Texts that say the same, of each group, that are edited."""


class Read(NamedTuple):
    """A pair as the guard judges it alone, the opinion of the judge, and the judgement of both."""

    before: Judgement
    opinion: Opinion | None
    after: Judgement
    replacing: Judgement
    """Of both, by a policy whose verdicts supersede."""


class Reader:
    """Judges pairs as a daemon does, and keeps what it found."""

    def __init__(self, vectors: Vectors, model: ModelIdentity, opinions: Opinions) -> None:
        self._vectors, self._weights = vectors, weights_for(None, model)
        self._opinions = opinions
        self._kept: dict[tuple[str, str], Read] = {}

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Read]:
        """Return what is said of each pair."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._kept]
        self._vectors.add(text for pair in new for text in pair)
        said = self._opinions.opinions(new, self._opinions.manifest)
        for pair, opinion in zip(new, said, strict=True):
            self._kept[pair] = self._read(pair, opinion)
        return [self._kept[pair] for pair in pairs]

    def _read(self, pair: tuple[str, str], opinion: Opinion | None) -> Read:
        one, other = pair
        cosine = similarity64(self._vectors[one], self._vectors[other])
        compared = compare(other, one, cosine, self._weights, bundled=True)
        before = after = POLICY.settled(compared.judgement)
        if opinion is not None and cascade.is_read(compared, before, other, one):
            after = cascade.judged_by(cascade.OpenPair(0, compared, before), opinion, POLICY)
        replacing = after
        if opinion is not None and cascade.may_replace(compared, before, REPLACING, other, one):
            replacing = cascade.judged_by(cascade.OpenPair(0, compared, before), opinion, REPLACING)
        return Read(before, opinion, after, replacing)

    def by_guard(self, pairs: list[tuple[str, str]]) -> NDArray[np.float64]:
        """Return the log odds of *same* by the guard without a judge."""
        return self._scores(pairs, [_log_odds(reading.before) for reading in self.read(pairs)])

    def by_judge(self, pairs: list[tuple[str, str]]) -> NDArray[np.float64]:
        """Return the log odds of *same* by the judge alone."""
        said = [
            -_SURE if reading.opinion is None else logit(reading.opinion.same)
            for reading in self.read(pairs)
        ]
        return self._scores(pairs, said)

    def by_both(self, pairs: list[tuple[str, str]]) -> NDArray[np.float64]:
        """Return the log odds of *same* by the guard with its judge."""
        return self._scores(pairs, [_log_odds(reading.after) for reading in self.read(pairs)])

    def _scores(self, pairs: list[tuple[str, str]], odds: list[float]) -> NDArray[np.float64]:
        """Return float64[pair, 1 + relations], as `evaluate.Score` does."""
        even = (1.0 / 6.0,) * 6
        shares = [
            even if reading.opinion is None else reading.opinion.relations
            for reading in self.read(pairs)
        ]
        return np.column_stack([odds, np.log(np.maximum(shares, 1e-9))])


def logit(probability: float) -> float:
    """Return log odds, within the bounds of what is certain."""
    if probability <= 0.0 or probability >= 1.0:
        return _SURE if probability >= 1.0 else -_SURE
    return log(probability) - log(1.0 - probability)


def _log_odds(judgement: Judgement) -> float:
    if judgement.hard:
        return -_SURE
    refused = not judgement.by_judge and POLICY.action(judgement) is Action.REFUSE
    return _SURE if refused else logit(judgement.same_probability)


def outcome(judgement: Judgement) -> str:
    """Return what the policy does with a text beside a memory."""
    if POLICY.action(judgement) is Action.REFUSE:
        return "refused"
    if POLICY.is_likely(judgement):
        return "asked"
    return "shown" if POLICY.is_shown(judgement) else ""


def outcomes(examples: Sequence[Example], reader: Reader) -> dict[str, dict[str, float | None]]:
    """Return shares of what becomes of pairs, without and with the judge."""
    pairs = reader.read([(example.a, example.b) for example in examples])
    same = np.array([example.same for example in examples])
    found = {}
    for name, judgements in (
        ("guard", [reading.before for reading in pairs]),
        ("both", [reading.after for reading in pairs]),
    ):
        what = np.array([outcome(judgement) for judgement in judgements])
        row = {}
        for of, which in (("same", same), ("different", ~same)):
            for name_of in ("refused", "asked", "shown"):
                count = int((which & (what == name_of)).sum())
                row[f"{name_of}_of_{of}"] = share(count, int(which.sum()))
        found[name] = {"n_same": int(same.sum()), "n_different": int((~same).sum()), **row}
    return found


def scored(report: common.Report, every: Sequence[Group], reader: Reader) -> None:
    """Add the figures of `evaluate` for each score."""
    for by, score in (
        ("guard", reader.by_guard),
        ("judge", reader.by_judge),
        ("both", reader.by_both),
    ):
        for texts, row in evaluate.measured(score, every).items():
            report.add(part="scores", texts=texts, by=by, **row)


def acted(report: common.Report, every: Sequence[Group], reader: Reader) -> None:
    """Add what the policy does with the groups, by language, and with the agents' pairs."""
    of_groups = grouped([group for group in every if group.published])
    sets = {"groups": of_groups, "light edits": [], "agents' pairs": []}
    for example in of_groups:
        sets.setdefault(f"groups, {example.language}", []).append(example)
        if example.source.startswith("group_light"):
            sets["light edits"].append(example)
    sets["agents' pairs"] = data.agent_pairs(HERE / "pairs", kept_aside=True)
    for texts, examples in sets.items():
        for by, row in outcomes(examples, reader).items():
            report.add(part="outcomes", texts=texts, by=by, **row)


def edited(report: common.Report, every: Sequence[Group], reader: Reader) -> None:
    """Add the shares of edits that change the meaning and are refused, by kind."""
    texts = [
        Example(*(f"{number} {at}", "", group.language, "", "", True), text, text)
        for number, group in enumerate(every)
        if group.published
        for at, text in enumerate(group.same[:_EDITED])
    ]
    made = [example for example in data.edited(texts) if example.source == "made_edit"]
    refused: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    for example, read in zip(
        made, reader.read([(example.a, example.b) for example in made]), strict=True
    ):
        both = tuple(outcome(said) == "refused" for said in (read.before, read.after))
        for kind in ("", example.kind):
            refused.setdefault((example.language, kind), []).append((both[0], both[1]))
    for (language, kind), found in refused.items():
        table = np.array(found)
        guard, both = table.mean(0).round(5).tolist()
        row = {"n": len(found), "refused_guard": guard, "refused_both": both}
        report.add(part="edits", texts="groups", language=language, kind=kind, **row)


def excluded(report: common.Report, every: Sequence[Group], reader: Reader) -> None:
    """Add what verdicts, the rule alone, and the rule with the judge call exclusive."""
    pairs = [
        pair
        for pair in evaluate.kept_aside([each for each in every if each.published])
        if pair.relation >= 0
    ]
    read = reader.read([(pair.a, pair.b) for pair in pairs])
    exclusive = np.array([pair.relation == _EXCLUSIVE for pair in pairs])
    verdicts = {Verdict.UPDATE, Verdict.CONTRADICTION}
    for by, named in (
        ("verdict", [reading.before.verdict in verdicts for reading in read]),
        (
            "guard",
            [_replaces(pair, reading.before) for pair, reading in zip(pairs, read, strict=True)],
        ),
        (
            "both",
            [_replaces(pair, reading.replacing) for pair, reading in zip(pairs, read, strict=True)],
        ),
    ):
        chosen = np.array(named)
        right = int((chosen & exclusive).sum())
        report.add(
            part="exclusive",
            texts="groups",
            by=by,
            n=len(pairs),
            n_exclusive=int(exclusive.sum()),
            n_named=int(chosen.sum()),
            right=share(right, int(chosen.sum())),
            found=share(right, int(exclusive.sum())),
        )


def _replaces(pair: Aside, judgement: Judgement) -> bool:
    return bool(certainly_exclusive(pair.b, pair.a, judgement))


def streams(
    report: common.Report,
    directory: Path,
    vectors: Vectors,
    model: ModelIdentity,
    opinions: Opinions,
) -> None:
    """Add what streams are asked, without and with the judge."""
    assert POLICY.likely_from is not None
    for name in data.STREAMS:
        count, stream = data.nominated(directory / f"{name}.jsonl.gz", vectors, model)
        before = np.array([_probability(pair.measured) for pair in stream])
        heard = {
            (pair.item, pair.earlier): pair
            for pair in judged_stream(stream, opinions, opinions.manifest)
        }
        both = [heard.get((pair.item, pair.earlier), pair) for pair in stream]
        after = np.array([_probability(pair.measured) for pair in both])
        both = [_refused(pair, p) for pair, p in zip(both, after.tolist(), strict=True)]
        for by, pairs, p in (("guard", stream, before), ("both", both, after)):
            row = fit.questions(count, pairs, p, POLICY.likely_from)
            refusing = [
                pair.worth == "same"
                for pair, at in zip(pairs, p.tolist(), strict=True)
                if pair.measured.refused and at >= POLICY.likely_from and pair.worth != "unscored"
            ]
            row |= {
                "n_refusing": len(refusing),
                "refusing_right": share(sum(refusing), len(refusing)),
            }
            report.add(part="streams", texts=name, by=by, n_open=len(heard), **row)


def _refused(one: data.Nominated, probability: float) -> data.Nominated:
    """Return the pair, refused if the judge is certain and may refuse it."""
    certain = POLICY.certain_from is not None and probability >= POLICY.certain_from
    if not (certain and one.measured.refusable and one.measured.judged[_SAME] >= 0.5):
        return one
    return replace(one, measured=replace(one.measured, verdict=Verdict.DUPLICATE))


def _probability(pair: data.Measured) -> float:
    if pair.equal:
        return 1.0
    if not np.isnan(pair.judged[0]):
        return same_probability_judged(pair.seen, pair.judged)
    return fit.same_probability(pair.seen)


def main() -> None:
    """Read the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--streams", type=Path, help="directory of streams")
    parser.add_argument("--model", type=Path, default=SHIPPED)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "totonoe-fit")
    options = parser.parse_args()
    every = groups(HERE / "groups")
    with (
        common.Report("judge", options.seed, options.out) as report,
        opened(EmbedderSettings(kind="use")) as rig,
    ):
        vectors = Vectors(rig, options.cache / "vectors.npz")
        opinions = Opinions(options.model, options.cache / "opinions.npz")
        reader = Reader(vectors, rig.model, opinions)
        scored(report, every, reader)
        acted(report, every, reader)
        edited(report, every, reader)
        excluded(report, every, reader)
        if options.streams:
            streams(report, options.streams, vectors, rig.model, opinions)


if __name__ == "__main__":
    main()
