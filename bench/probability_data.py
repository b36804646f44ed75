"""Pairs that the probability is fitted on and measured on, each with its features.

Fitted on are four fifths of the agent pairs (by topic), the probe set and the public sets whose
licences allow it (`quality_fit.SOURCES`). To these come made pairs, in which one text of a labelled
pair is changed: an edit that changes the meaning (`mutations`), of the same or of the reworded text
(different), a sentence more on one side (different) or on both (as before), and texts of two pairs
that the guard would compare as neighbours (different). Never fitted on: the fifth that is kept
aside, the other public sets, and the streams.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.judge.data import is_kept_aside
from bench.mutations import KINDS
from totonoe_core.domain.calibration import weights_for
from totonoe_core.domain.records import Finding, ModelIdentity, Verdict
from totonoe_core.domain.weights import Weights
from totonoe_core.guard.features import JUDGE_NAMES, NAMES
from totonoe_core.guard.probability import Slot
from totonoe_core.guard.probe import LANGUAGES, probe_files
from totonoe_core.guard.verdict import compare
from totonoe_core.judging.cascade import is_open, may_refuse
from totonoe_core.kernels.cosine import similarity64
from totonoe_server.tools.quality.files import read_pairs, read_stream, rows
from totonoe_server.tools.quality.rig import Rig

Vector = NDArray[np.float32]
AGENTS = ("agent_pairs_en", "agent_pairs_ja", "agent_pairs_zh", "agent_pairs_xling")
NEVER = ("en_sick", "en_mrpc", "zh_lcqmc", "zh_bustm")
"""Public sets that are only measured on, because their licences do not allow more."""
STREAMS = ("stream_en", "stream_ja", "stream_zh", "stream_agent_issues", "stream_agent_lessons")
_LOOKED_AT, _NEIGHBOURS = 40, 1
_NEAR_FROM, _NEAR_TO = 0.35, 0.85
_EDITS_MAX = 4
_NOMINATED, _NOMINATED_FROM = 5, 0.5


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled pair.

    Attributes
    ----------
    source : str
        The file, or the kind of change for a made pair.
    group : str
        Examples of one group share a topic or a text: folds never part them.
    kind : str
        Names the difference, where the file does.
    """

    id: str
    source: str
    language: str
    group: str
    kind: str
    same: bool
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Measured:
    """An example with everything that the guard says of it.

    Attributes
    ----------
    seen : float64[n]
        By `features.NAMES`; NaN for equal words.
    open : bool
        The daemon's own judge may change what becomes of it.
    refusable : bool
        A judge that is certain may refuse it.
    judged : float64[m]
        By `features.JUDGE_NAMES`; NaN if no judge was asked, or none had an opinion.
    """

    example: Example
    seen: NDArray[np.float64]
    equal: bool
    verdict: Verdict
    hard: bool
    open: bool
    refusable: bool
    placed: tuple[tuple[Finding, Slot], ...]
    judged: NDArray[np.float64] = field(
        default_factory=lambda: np.full(len(JUDGE_NAMES), np.nan), compare=False
    )

    @property
    def refused(self) -> bool:
        """Return whether the guard refuses the second text beside the first."""
        return self.verdict is Verdict.DUPLICATE


def agent_pairs(directory: Path, kept_aside: bool) -> list[Example]:
    """Return the agent pairs that are kept aside, or all the others."""
    found = []
    for name in AGENTS:
        for row in rows(directory / f"{name}.jsonl"):
            topic, kind = row["meta"]["topic"], row["meta"]["kind"]
            if is_kept_aside(topic) is kept_aside:
                text = row["id"], name, row["lang"], f"topic {topic}", kind
                found.append(Example(*text, row["label"] == 1, row["a"], row["b"]))
    return found


def probe_examples() -> list[Example]:
    """Return the probe set; pairs that share a text are one group."""
    found = []
    for language, file in zip(LANGUAGES, probe_files(), strict=True):
        found += _of_file(Path(str(file)), f"probe_{language}")
    return found


def public_pairs(directory: Path, names: Iterable[str]) -> list[Example]:
    """Return the labelled pairs of public files."""
    return [example for name in names for example in _of_file(directory / f"{name}.jsonl.gz", name)]


def _of_file(path: Path, source: str) -> list[Example]:
    pairs = [pair for pair in read_pairs(path) if pair.label is not None]
    group: dict[str, str] = {}
    found = []
    for pair in pairs:
        name = group.get(pair.a) or group.get(pair.b) or pair.id
        group[pair.a] = group[pair.b] = name
        label = pair.label == 1
        found.append(Example(pair.id, source, pair.lang, name, pair.kind, label, pair.a, pair.b))
    return found


# -- Made pairs


def edited(examples: Sequence[Example]) -> Iterator[Example]:
    """Yield pairs in which an edit changed the meaning of one text, reworded or not.

    Of the edits that fit an example, _EDITS_MAX are taken, by a hash of their kinds.
    """
    for example in examples:
        edits = KINDS.get(example.language, {})
        by_hash = sorted(edits, key=lambda kind: _digest(f"{example.id} {kind}"))
        changed = ((kind, text) for kind in by_hash for text in islice(edits[kind](example.b), 1))
        for kind, text in islice(
            ((kind, text) for kind, text in changed if text != example.b), _EDITS_MAX
        ):
            made = replace(example, id=f"{example.id}/{kind}", kind=kind, same=False)
            yield replace(made, source="made_edit", a=example.b, b=text)
            if example.same:
                yield replace(made, source="made_edit_reworded", b=text)


def longer(examples: Sequence[Example]) -> Iterator[Example]:
    """Yield pairs with a sentence of another pair on one side, and on both sides."""
    by_language: defaultdict[str, list[Example]] = defaultdict(list)
    for example in examples:
        by_language[example.language].append(example)
    for language, group in by_language.items():
        gap = " " if language == "en" else ""
        for number, example in enumerate(group):
            more = group[(number * 7 + 13) % len(group)].a
            if language not in LANGUAGES or more in (example.a, example.b):
                continue
            a, b = _ended(example.a, language), _ended(example.b, language)
            made = replace(example, id=f"{example.id}/longer", source="made_longer", kind="longer")
            if number % 3 == 0:
                yield replace(made, a=a + gap + more, b=b + gap + more)
            elif number % 3 == 1:
                yield replace(made, same=False, b=b + gap + more)
            else:
                yield replace(made, same=False, b=a + gap + more)


def _ended(text: str, language: str) -> str:
    if text[-1:] in ".!?。！？":
        return text
    return text + ("." if language == "en" else "。")


def neighbours(examples: Sequence[Example], vectors: Vectors) -> Iterator[Example]:
    """Yield different pairs made of near texts of two topics, or of two groups of the probe set."""
    owner: dict[str, Example] = {}
    for example in examples:
        owner.setdefault(example.a, example)
        owner.setdefault(example.b, example)
    texts = list(owner)
    matrix = np.array([vectors[text] for text in texts])
    for number, text in enumerate(texts):
        cosines = matrix @ matrix[number]
        one, taken = owner[text], 0
        for at in np.argsort(-cosines, kind="stable")[:_LOOKED_AT]:
            other = owner[texts[at]]
            near = _NEAR_FROM <= cosines[at] <= _NEAR_TO
            if at > number and near and other.group != one.group and taken < _NEIGHBOURS:
                taken += 1
                names = f"{one.id}/near/{other.id}", "made_near", one.language, one.group
                yield Example(*names, "near", False, text, texts[at])


# -- Vectors and features


class Vectors:
    """Unit vectors of texts by the bundled model, kept in a file from run to run."""

    def __init__(self, rig: Rig, path: Path) -> None:
        self._rig, self._path = rig, path
        self._kept: dict[str, Vector] = {}
        if path.exists():
            with np.load(path) as stored:
                self._kept = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def __getitem__(self, text: str) -> Vector:
        return self._kept[_digest(text)]

    def add(self, texts: Iterable[str]) -> None:
        """Embed the texts that have no vector yet."""
        new = [text for text in dict.fromkeys(texts) if _digest(text) not in self._kept]
        if not new:
            return
        for text, vector in zip(new, self._rig.vectors(new, lambda _: None), strict=True):
            self._kept[_digest(text)] = vector
        self._path.parent.mkdir(parents=True, exist_ok=True)
        keys, vectors = list(self._kept), np.array(list(self._kept.values()))
        np.savez(self._path, keys=np.array(keys), vectors=vectors)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def measured(examples: Sequence[Example], vectors: Vectors, model: ModelIdentity) -> list[Measured]:
    """Compare each pair as the guard does."""
    vectors.add(text for example in examples for text in (example.a, example.b))
    weights = weights_for(None, model)
    return [_measured(example, vectors, weights) for example in examples]


def _measured(one: Example, vectors: Vectors, weights: Weights) -> Measured:
    cosine = similarity64(vectors[one.a], vectors[one.b])
    found = compare(one.b, one.a, cosine, weights, bundled=True)
    seen = found.pair_features
    return Measured(
        example=one,
        seen=np.full(len(NAMES), np.nan) if seen is None else seen,
        equal=seen is None,
        verdict=found.judgement.verdict,
        hard=found.judgement.hard,
        open=is_open(found, found.judgement, one.b, one.a),
        refusable=may_refuse(found, found.judgement),
        placed=found.placed,
    )


# -- Streams


@dataclass(frozen=True, slots=True)
class Nominated:
    """An item of a stream beside an earlier one, both by their place.

    `worth`: same, lookalike (labelled different), unscored (overlaps), different (all others).
    """

    item: int
    earlier: int
    worth: str
    measured: Measured

    @property
    def counts(self) -> bool:
        """Return whether the pair counts for the share of same ones: scored, and not equal."""
        return self.worth != "unscored" and not self.measured.equal


def nominated(path: Path, vectors: Vectors, model: ModelIdentity) -> tuple[int, list[Nominated]]:
    """Return the number of items of a stream, and each beside its nearest earlier ones."""
    items = read_stream(path)
    vectors.add(item.text for item in items)
    matrix = np.array([vectors[item.text] for item in items])
    class_of = {item.id: item.dup_of or item.id for item in items}
    found = []
    weights = weights_for(None, model)
    for number, item in enumerate(items):
        cosines = matrix[:number] @ matrix[number]
        nearest = np.argsort(-cosines, kind="stable")[:_NOMINATED]
        apart = {class_of.get(other, other) for other in item.differs_from}
        near = {class_of.get(other, other) for other in item.near}
        for at in map(int, nearest):
            if cosines[at] < _NOMINATED_FROM:
                continue
            named = class_of[items[at].id]
            worth = "different"
            if named == class_of[item.id]:
                worth = "same"
            elif named in apart:
                worth = "lookalike"
            elif named in near:
                worth = "unscored"
            name = path.name.partition(".")[0]
            example = Example(
                f"{item.id}/{at}",
                name,
                "",
                item.id,
                worth,
                worth == "same",
                items[at].text,
                item.text,
            )
            found.append(Nominated(number, at, worth, _measured(example, vectors, weights)))
    return len(items), found
