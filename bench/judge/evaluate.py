"""Figures of a judge on pairs kept aside: `python -m bench.judge.evaluate --weights FILE`.

Every figure is of topics that nothing was fitted on. A bound is chosen on the look-alikes of the
same pairs ("at 5 % of look-alikes"), so a figure at a bound says what the order of the scores is
worth, not what a bound chosen elsewhere does.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.judge.data import HERE, Group, groups, is_kept_aside, rows

_POSITIVES = 4
_SHARES = 0.005, 0.01, 0.02, 0.05, 0.08, 0.15, 0.20
_LOOK_ALIKES = 5
_PRECISION = 0.97
_EXCLUSIVE, _COMPATIBLE = 3, 4
Score = Callable[[list[tuple[str, str]]], np.ndarray]
"""Pairs of texts in, float[pair, 1 + relations] out: the logit of *same*, those of relations."""


class Aside(NamedTuple):
    """A pair of a group that is kept aside."""

    a: str
    b: str
    same: int
    relation: int
    language: str
    kind: str
    file: str
    group: int


def kept_aside(groups: Sequence[Group], seed: int = 1) -> list[Aside]:
    """Return the pairs of groups, shuffled: at most 4 that say the same, and each look-alike."""
    found = []
    for number, group in enumerate(groups):
        tail = group.language, "same", group.file, number
        texts = group.same
        same = [(a, b) for i, a in enumerate(texts) for b in texts[i + 1 :]]
        found += [Aside(a, b, 1, 0, *tail) for a, b in same[:_POSITIVES]]
        for i, (text, relation, kind) in enumerate(group.different):
            where = group.language, kind, group.file, number
            found.append(Aside(texts[i % len(texts)], text, 0, relation, *where))
    random.Random(seed).shuffle(found)
    return found


def auc(values: np.ndarray, same: np.ndarray) -> float:
    """Return the area under the curve; ties count half."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(1, len(values) + 1)
    _, inverse = np.unique(values, return_inverse=True)
    sums = np.bincount(inverse, ranks)
    ranks = (sums / np.bincount(inverse))[inverse]
    count = int(same.sum())
    if count in (0, len(same)):
        return float("nan")
    above = ranks[same].sum() - count * (count + 1) / 2
    return float(above / (count * (len(same) - count)))


def found_at(values: np.ndarray, same: np.ndarray, share: float) -> float:
    """Return the share of *same* that is above the bound which `share` of the others is over."""
    others = np.sort(values[~same])[::-1]
    bound = others[min(int(share * len(others)), len(others) - 1)]
    return float((values[same] > bound).mean())


def twin_first(score: Score, groups_aside: Sequence[Group], seed: int = 1) -> float:
    """Return how often one true twin stands before five look-alikes, by the logit of *same*."""
    draw, asked, sizes = random.Random(seed), [], []
    for group in groups_aside:
        if len(group.different) < _LOOK_ALIKES:
            continue
        anchor, twin = draw.sample(group.same, 2)
        others = draw.sample(group.different, _LOOK_ALIKES)
        asked += [(anchor, twin), *((anchor, text) for text, _, _ in others)]
        sizes.append(1 + _LOOK_ALIKES)
    logits = score(asked)[:, 0].reshape(len(sizes), 1 + _LOOK_ALIKES)
    return float((logits[:, 0] > logits[:, 1:].max(1)).mean())


def exclusive_found(out: np.ndarray, relation: np.ndarray) -> dict[str, float]:
    """Return AUC of exclusive against compatible, and the share found at 97 % precision."""
    known = (relation == _EXCLUSIVE) | (relation == _COMPATIBLE)
    values = out[known, 1 + _EXCLUSIVE] - out[known, 1 + _COMPATIBLE]
    exclusive = relation[known] == _EXCLUSIVE
    order = np.argsort(-values, kind="stable")
    right = np.cumsum(exclusive[order])
    precise = right / np.arange(1, len(order) + 1) >= _PRECISION
    found = right[np.flatnonzero(precise)[-1]] if precise.any() else 0
    return {"AUC": auc(values, exclusive), "found": float(found / exclusive.sum())}


def figures(logits: np.ndarray, same: np.ndarray) -> dict[str, float]:
    """Return the AUC, and the share of *same* found at each share of look-alikes."""
    found = {f"at {share:.1%}": found_at(logits, same, share) for share in _SHARES}
    return {"pairs": len(same), "AUC": auc(logits, same), **found}


def measured(score: Score, every: Sequence[Group]) -> dict[str, dict[str, float]]:
    """Return all figures of a judge on the groups and agents' pairs that nothing is fitted on."""
    apart = [group for group in every if group.published]
    pairs = kept_aside(apart)
    out = score([(pair.a, pair.b) for pair in pairs])
    logits = out[:, 0]
    same = np.array([pair.same == 1 for pair in pairs])
    relation = np.array([pair.relation for pair in pairs])
    table = {"all": figures(logits, same)}
    of_language = np.array([pair.language for pair in pairs])
    light = np.array([pair.file.startswith("light") for pair in pairs])
    for name in sorted(set(of_language)):
        table[name] = figures(logits[of_language == name], same[of_language == name])
    table["light edits"] = figures(logits[light], same[light])
    agents = agent_pairs(HERE / "pairs")
    table["agents' pairs"] = figures(
        score([(a, b) for a, b, _ in agents])[:, 0], np.array([agent for _, _, agent in agents])
    )
    table["exclusive, compatible"] = exclusive_found(out, relation)
    table["the twin first"] = {"share": twin_first(score, apart)}
    bound = np.sort(logits[~same])[::-1][int(0.05 * (~same).sum())]
    kinds = np.array([pair.kind for pair in pairs])
    for kind in sorted(set(kinds) - {"same"}):
        of_kind = kinds == kind
        if of_kind.sum() >= 40:
            over = float((logits[of_kind] > bound).mean())
            table[f"kind {kind}"] = {"pairs": int(of_kind.sum()), "over the bound of 5 %": over}
    return table


def agent_pairs(directory: Path) -> list[tuple[str, str, bool]]:
    """Return the agents' pairs that are kept aside."""
    return [
        (row["a"], row["b"], bool(row["label"]))
        for path in sorted(directory.glob("agent_pairs_*.jsonl"))
        for row in rows(path)
        if row["label"] is not None and is_kept_aside(row["meta"]["topic"])
    ]


def main() -> None:
    """Print the figures of weights, or write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--wheels", type=Path, default=Path("wheels"))
    parser.add_argument("--groups", type=Path, default=HERE / "groups")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from bench.judge.train import loaded

    table = measured(loaded(options.weights, options.wheels), groups(options.groups))
    for name, row in table.items():
        print(f"{name:24}", "  ".join(f"{key} {round(value, 3)}" for key, value in row.items()))
    if options.json:
        options.json.write_text(json.dumps(table, indent=1), "utf-8")


if __name__ == "__main__":
    main()
