"""Which look-alikes an answer shows as the nearest memory, by `shown_from`, on pairs kept aside.

    python -m bench.shown [--cache DIRECTORY]

The pairs are those of `bench/judge`: agents' pairs (`probability_data` says which topics are kept
aside), and groups (`Group.aside` does). Every two `same` texts of a group are a pair that says the
same, every `same` with every `different` text a look-alike.

Rows of bench/results/shown.jsonl: for each set, all languages and each of them, and each value of
`shown_from`, the share of the same and of the look-alikes that is refused, asked about or shown;
names with `_read` count only pairs that the guard reads when one text is saved beside the other.
The row "value" has the `shown_from` at which SHARE of the look-alikes of a set is reached.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import common
from bench import probability_data as data
from bench.boosting import Float64
from bench.judge.data import HERE, Group, groups
from bench.probability_data import Example, Measured, Vectors
from totonoe_core.domain.policy import LIKELY_FROM, PRESETS, SHOWN_FROM, Preset, Tokenizer
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.engine.guarding.compare import token_jaccard
from totonoe_core.guard.candidates import WORDS_ABOVE
from totonoe_core.guard.probability import same_probability
from totonoe_core.kernels.cosine import similarity64
from totonoe_server.tools.quality.figures import auc, share
from totonoe_server.tools.quality.rig import opened

SHARE = 0.2
"""Share of the look-alikes kept aside that is to be refused, asked about or shown."""
VALUES = sorted({0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, SHOWN_FROM, LIKELY_FROM})
"""Values of `shown_from` that are measured, the default among them."""


def grouped(groups: Sequence[Group]) -> list[Example]:
    """Return the pairs of groups."""
    found = []
    for number, group in enumerate(groups):
        said = group.file, group.language, f"{group.file} {number}"
        for a, b in combinations(group.same, 2):
            found.append(Example(f"{said[2]}/{len(found)}", *said, "", True, a, b))
        for a, (b, _, kind) in product(group.same, group.different):
            found.append(Example(f"{said[2]}/{len(found)}", *said, kind, False, a, b))
    return found


def is_read(pair: Measured, vectors: Vectors) -> bool:
    """Return whether the guard reads the pair: near enough, or with enough words in common."""
    one, policy = pair.example, PRESETS[Preset.STANDARD]
    assert policy.judged_from is not None
    cosine = similarity64(vectors[one.a], vectors[one.b])
    words = token_jaccard(one.a, one.b, Tokenizer.SCRIPT_AWARE)
    return pair.equal or cosine >= policy.judged_from or words > WORDS_ABOVE


def probabilities(pairs: Sequence[Measured]) -> Float64:
    """Return the shipped probability of each pair; 1 for equal words, 0 for a hard difference."""
    return np.array(
        [
            1.0 if measured.equal else 0.0 if measured.hard else same_probability(measured.seen)
            for measured in pairs
        ]
    )


def figures(
    report: common.Report, name: str, pairs: Sequence[Measured], read: NDArray[np.bool_]
) -> None:
    """Add the rows of a set, all languages first."""
    p = probabilities(pairs)
    same = np.array([measured.example.same for measured in pairs])
    languages = np.array([measured.example.language for measured in pairs])
    for language in ("", *dict.fromkeys(languages.tolist())):
        inside = languages == language if language else np.ones(len(pairs), bool)
        one, other = inside & same, inside & ~same
        if not one.any() or not other.any():
            continue
        where = {"texts": name, "language": language}
        report.add(
            part="value",
            **where,
            n_same=int(one.sum()),
            n_different=int(other.sum()),
            auc=auc(p[inside], same[inside]),
            shown_from=round(float(np.quantile(p[other], 1.0 - SHARE)), 4),
            read_of_same=share(int(read[one].sum()), int(one.sum())),
            read_of_different=share(int(read[other].sum()), int(other.sum())),
        )
        for value in VALUES:
            reached = p >= value
            row = {
                f"{of}{by}": share(int((reached & which & seen).sum()), int(which.sum()))
                for of, which in (("same", one), ("different", other))
                for by, seen in (("", True), ("_read", read))
            }
            report.add(part="pairs", **where, shown_from=value, **row)


def main() -> None:
    """Read the options."""
    parser = common.parser(__doc__)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "totonoe-fit")
    options = parser.parse_args()
    with (
        common.Report("shown", options.seed, options.out) as report,
        opened(EmbedderSettings(kind="use")) as rig,
    ):
        vectors = Vectors(rig, options.cache / "vectors.npz")
        both: list[tuple[str, list[Example]]] = [
            ("agent pairs kept aside", data.agent_pairs(HERE / "pairs", kept_aside=True)),
            ("groups kept aside", grouped([group for group in groups() if group.aside])),
        ]
        for name, examples in both:
            pairs = data.measured(examples, vectors, rig.model)
            read = np.array([is_read(measured, vectors) for measured in pairs])
            figures(report, name, pairs, read)


if __name__ == "__main__":
    main()
