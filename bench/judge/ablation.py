"""Worth of each reader, each kind of finding and each group of features beside the judge.

    make judge-ablation PAIRS=... STREAMS=... [ARGS="--only 'English: expressions' 'roles: en'"]

Each row of bench/results/judge_ablation.jsonl has one part switched off: texts are read and
compared anew, the trees are fitted anew, with the judge's opinions and without them, on the pairs
of `bench.judge.fit`. Measured is what nothing was fitted on: the published groups and the agents'
pairs kept aside, and the streams. The row "all" has everything; the others show what it costs to do
without. A part whose loss is under half a point decides nothing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import compress
from pathlib import Path
from unittest import mock
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bench import boosting, common
from bench import probability_data as data
from bench import probability_fit as fit
from bench.judge.data import HERE, groups
from bench.judge.evaluate import auc
from bench.judge.fit import WITH_JUDGE, grouped, judged
from bench.judge.opinions import Opinions
from bench.probability_data import Example, Measured, Nominated, Vectors
from totonoe_core.domain.records import Evidence, Finding, ModelIdentity
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.guard import traits, verdict
from totonoe_core.guard.features import JUDGE_NAMES, NAMES
from totonoe_core.judging.own import SHIPPED
from totonoe_core.text.reading import read as reading
from totonoe_core.text.reading.language import common_language
from totonoe_core.text.reading.model import Piece, Reading
from totonoe_server.tools.quality.rig import opened

Float64 = NDArray[np.float64]
_SURE = 40.0
_LIKELY, _CERTAIN = 0.45, 0.85
_SAME = JUDGE_NAMES.index("judge_same")
_LOOK_ALIKES = 0.08
"""Share of look-alikes that may be asked about, where the share of found twins is measured."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A part that can be switched off.

    Attributes
    ----------
    off : callable
        Returns a context in which texts are read and compared without the part.
    languages : tuple of str
        Texts in other languages are not touched by it; empty: all are.
    without : tuple of str
        Columns of `features.NAMES` that the trees do not get.
    """

    off: Callable[[], ExitStack]
    languages: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def _patched(*patches: object) -> ExitStack:
    stack = ExitStack()
    for patch in patches:
        stack.enter_context(patch)  # type: ignore[arg-type]
    return stack


def _read_as(change: Callable[[Reading], Reading], *languages: str) -> Callable[[], ExitStack]:
    """Return a switch by which readings are changed before they are compared."""
    plain = reading.read.__wrapped__

    def read(text: str, language: str) -> Reading:
        found = plain(text, language)
        return change(found) if not languages or language in languages else found

    return lambda: _patched(mock.patch.object(traits, "read", read))


def _pieces_as(change: Callable[[Piece], Piece]) -> Callable[[], ExitStack]:
    return _read_as(lambda one: replace(one, pieces=tuple(map(change, one.pieces))))


def _unread(one: Reading) -> Reading:
    return Reading(one.language, (), certain=False)


def _unnamed(*findings: Finding) -> Callable[[], ExitStack]:
    """Return a switch by which differences of some kinds are not named."""
    plain = verdict.differences

    def differences(*given: object) -> Iterator[Evidence]:
        return (line for line in plain(*given) if line.finding not in findings)  # type: ignore[arg-type]

    return lambda: _patched(mock.patch.object(verdict, "differences", differences))


def _nothing() -> ExitStack:
    return ExitStack()


_PARTS: dict[str, Switch] = {
    "all": Switch(_nothing),
    "reader: Chinese": Switch(_read_as(_unread, "zh"), ("zh",)),
    "reader: Japanese": Switch(_read_as(_unread, "ja"), ("ja",)),
    "reader: English": Switch(_read_as(_unread, "en"), ("en",)),
    "reader: Korean": Switch(_read_as(_unread, "ko"), ("ko",)),
    "reader: European": Switch(
        _read_as(_unread, "de", "fr", "es", "pt", "it", "ru"), ("de", "fr", "es", "pt", "it", "ru")
    ),
    "roles": Switch(_pieces_as(lambda one: replace(one, role="", head=""))),
    "heads": Switch(_pieces_as(lambda one: replace(one, head=""))),
    "forms": Switch(_pieces_as(lambda one: replace(one, form=""))),
    "modality": Switch(_pieces_as(lambda one: replace(one, modality=""))),
    "tense": Switch(_pieces_as(lambda one: replace(one, tense=""))),
    "denials": Switch(_pieces_as(lambda one: replace(one, negated=False))),
    "opposites": Switch(_pieces_as(lambda one: replace(one, opposites=frozenset()))),
    "loose synonyms": Switch(_pieces_as(lambda one: replace(one, near=frozenset()))),
    "light words": Switch(_pieces_as(lambda one: replace(one, weight=1.0))),
    "function words": Switch(_read_as(lambda one: replace(one, function_words=()))),
    "order of steps": Switch(
        lambda: _patched(mock.patch.object(verdict, "out_of_order", lambda *_: None))
    ),
    "exchanged words": Switch(
        lambda: _patched(mock.patch.object(verdict, "exchanged", lambda *_: None))
    ),
    "marks": Switch(lambda: _patched(mock.patch.object(verdict, "same_marks", lambda *_: True))),
}
for _finding in (
    *(Finding.ROLE, Finding.ORDER, Finding.MODALITY, Finding.TENSE, Finding.QUESTION),
    *(Finding.SUBJECT, Finding.REPLACED, Finding.CONJUNCTION, Finding.FUNCTION_WORD),
    *(Finding.QUANTIFIER, Finding.POLARITY, Finding.OPPOSITE, Finding.NAME),
):
    _PARTS[f"finding: {_finding.value}"] = Switch(_unnamed(_finding))
_PARTS |= {
    f"roles: {language}": Switch(
        _pieces_as(lambda one: replace(one, role="", head="")), (language,)
    )
    for language in ("en", "ja", "zh", "ko")
}


def _calls(language: str, *changes: tuple[str, str, object]) -> Switch:
    """Return a switch by which functions of a reader do something else.

    Each change is a module of `text.reading`, a name in it, which may be that of a method, and the
    function in its place.
    """

    def off() -> ExitStack:
        found = []
        for module, name, instead in changes:
            owner = import_module(f"{_READING}.{module}")
            *path, last = name.split(".")
            for part in path:
                owner = getattr(owner, part)
            found.append(mock.patch.object(owner, last, instead))
        return _patched(*found)

    return Switch(off, (language,))


_READING = "totonoe_core.text.reading"


def _same(given: object, *_: object) -> object:
    return given


_PARTS |= {
    "Chinese: words cut again": _calls(
        "zh", ("chinese.cut", "word_parts", lambda word, tag: ((word, tag, 0),))
    ),
    "Chinese: function words": _calls("zh", ("chinese.read", "function_words", lambda *_: ())),
    "Japanese: light verbs": _calls("ja", ("japanese.parts", "_without_light_verbs", _same)),
    "Japanese: parts": _calls("ja", ("japanese.parts", "_name_parts", lambda *_: None)),
    "Japanese: function words": _calls("ja", ("japanese.read", "function_words", lambda *_: ())),
    "English: expressions": _calls("en", ("english.tags", "joined", _same)),
    "English: function words": _calls("en", ("english.read", "function_words", lambda *_: ())),
}
_FINDINGS = tuple(name for name in NAMES if name.startswith("finding_"))
_ROLES = ("roles_agree", "heads_agree", "predicate_paired", "rest_predicates", "soft", "moved")
_PARTS |= {
    f"features: {name}": Switch(_nothing, (), columns)
    for name, columns in {
        "findings": _FINDINGS,
        "roles": _ROLES,
        "readings": NAMES[NAMES.index("certain") :],
        "texts": NAMES[: NAMES.index("certain")],
    }.items()
}


def forget() -> None:
    """Empty the caches of readings and pairs."""
    verdict.forget_cached()
    reading.forget_cached()


@contextmanager
def switched(switch: Switch) -> Iterator[None]:
    """Switch a part off."""
    forget()
    with switch.off():
        yield
    forget()


@dataclass(slots=True)
class Sets:
    """All pairs, with what was measured of them."""

    fitted: list[Measured]
    """Those that trees are fitted on; not all are open."""
    published: list[Measured]
    streams: dict[str, tuple[int, list[Nominated]]]

    def all_pairs(self) -> list[Measured]:
        """Return the measured pairs in one row."""
        nominated = [pair.measured for _, stream in self.streams.values() for pair in stream]
        return [*self.fitted, *self.published, *nominated]


class Bench:
    """Measures pairs with a part switched off, and fits trees to them."""

    def __init__(
        self, vectors: Vectors, model: ModelIdentity, opinions: Opinions, streams: Path, pairs: Path
    ) -> None:
        self._vectors, self._model, self._opinions = vectors, model, opinions
        every = groups(HERE / "groups")
        learned = ("agent_", "probe_")
        labelled = [
            example
            for example in fit.examples(pairs, vectors)
            if not example.source.startswith(learned) and not _left_out(example)
        ]
        tuning = grouped([group for group in every if group.for_tuning])
        published = grouped([group for group in every if group.published])
        agents = data.agent_pairs(HERE / "pairs", kept_aside=True)
        forget()
        self.whole = Sets(
            data.measured([*labelled, *tuning], vectors, model),
            data.measured([*published, *agents], vectors, model),
            {
                name: data.nominated(streams / f"{name}.jsonl.gz", vectors, model)
                for name in data.STREAMS
            },
        )

    def sets(self, switch: Switch) -> Sets:
        """Return what is measured without a part."""
        if switch.off is _nothing:
            return self.whole

        def again(pairs: Sequence[Measured]) -> list[Measured]:
            touched = [
                not switch.languages
                or common_language(measured.example.a, measured.example.b) in switch.languages
                for measured in pairs
            ]
            chosen = [measured.example for measured in compress(pairs, touched)]
            found = iter(data.measured(chosen, self._vectors, self._model))
            return [
                next(found) if is_touched else measured
                for measured, is_touched in zip(pairs, touched, strict=True)
            ]

        whole = self.whole
        with switched(switch):
            return Sets(
                again(whole.fitted),
                again(whole.published),
                {
                    name: (
                        count,
                        [
                            replace(pair, measured=measured)
                            for pair, measured in zip(
                                stream, again([pair.measured for pair in stream]), strict=True
                            )
                        ],
                    )
                    for name, (count, stream) in whole.streams.items()
                },
            )

    def with_opinions(self, pairs: Sequence[Measured]) -> list[Measured]:
        """Return all pairs; those that are open with what the judge says of them."""
        heard = judged(pairs, self._opinions, self._opinions.manifest)
        of_example = {id(measured.example): measured for measured in heard}
        return [of_example.get(id(measured.example), measured) for measured in pairs]

    def row(self, switch: Switch) -> common.Row:
        """Return the figures without a part."""
        sets = self.sets(switch)
        columns = [NAMES.index(name) for name in switch.without]
        guard, both = _view(fit.WITH_COSINE, columns), _view(WITH_JUDGE, columns)
        fitted = [measured for measured in sets.fitted if not measured.equal]
        open_ones = judged(fitted, self._opinions, self._opinions.manifest)
        alone, together = guard.fit(fitted), both.fit(open_ones)
        published = self.with_opinions(sets.published)
        before, after = (
            _odds(published, guard, alone),
            _odds(published, both, together, alone, guard),
        )
        found = _of_pairs(published, before, after)
        found |= _changed(self.whole, sets)
        for name, (count, stream) in sets.streams.items():
            found |= self._of_stream(name, count, stream, both, together, alone, guard)
        return found

    def _of_stream(
        self, name: str, count: int, stream: list[Nominated],
        both: fit.View, together: boosting.Trees, alone: boosting.Trees, guard: fit.View,
    ) -> common.Row:  # fmt: skip
        measured = self.with_opinions([pair.measured for pair in stream])
        heard = [replace(pair, measured=said) for pair, said in zip(stream, measured, strict=True)]
        odds = _odds(measured, both, together, alone, guard)
        scored = np.array([pair.counts for pair in heard])
        same = np.array([pair.worth == "same" for pair in heard])
        offset = fit.offset_of(odds[scored], float(same[scored].mean()))
        p = fit.logistic(odds + offset)
        asked = fit.questions(count, heard, p, _LIKELY)
        refused = np.array([pair.measured.refused and not pair.measured.equal for pair in heard])
        certain = np.array([pair.measured.judged[_SAME] >= 0.5 for pair in heard]) & (p >= _CERTAIN)
        hard = np.array([pair.measured.hard for pair in heard])
        likely = (p >= _LIKELY) & ~hard | refused
        short = name.removeprefix("stream_")
        return {
            f"{short}_auc": auc(odds[scored], same[scored]),
            f"{short}_refused": int((refused & same).sum()),
            f"{short}_refused_wrong": int((refused & scored & ~same).sum()),
            f"{short}_refused_both": int(((refused | certain) & same).sum()),
            f"{short}_heard": int((likely & scored & same).sum()),
            f"{short}_heard_wrong": int((likely & scored & ~same).sum()),
            f"{short}_questions": asked["per_100_saves"],
            f"{short}_right": asked["right"],
            f"{short}_lost": asked["lookalikes_lost"],
        }


def _left_out(one: Example) -> bool:
    """Return whether a made pair is left out: a third of them is enough to see a difference."""
    return one.source.startswith("made_") and crc32(one.id.encode()) % 3 > 0


def _view(view: fit.View, without: Sequence[int]) -> fit.View:
    """Return a view that misses some columns."""

    def columns(pairs: Sequence[Measured]) -> Float64:
        seen = view.columns(pairs)
        seen[:, without] = np.nan
        return seen

    return replace(view, columns=columns)


def _odds(
    pairs: Sequence[Measured], view: fit.View, trees: boosting.Trees,
    alone: boosting.Trees | None = None, guard: fit.View | None = None,
) -> Float64:  # fmt: skip
    """Return the log odds of each pair; those without an opinion are the guard's."""
    sums = view.sums(trees, pairs)
    if alone is not None and guard is not None:
        unheard = np.array([bool(np.isnan(measured.judged[0])) for measured in pairs])
        sums = np.where(unheard, guard.sums(alone, pairs), sums)
    sums = np.where([measured.hard for measured in pairs], -_SURE, sums)
    return np.where([measured.equal or measured.refused for measured in pairs], _SURE, sums)


def _of_pairs(pairs: Sequence[Measured], before: Float64, after: Float64) -> common.Row:
    same = np.array([measured.example.same for measured in pairs])
    sources = np.array([measured.example.source for measured in pairs])
    light = np.char.startswith(sources, "group_light")
    agents = np.char.startswith(sources, "agent_")
    hard = np.array([measured.hard for measured in pairs])
    refused = np.array([measured.refused for measured in pairs])
    found: common.Row = {}
    for texts, inside in (
        ("groups", ~agents), ("light", light), ("agents", agents), ("edits", light | agents),
    ):  # fmt: skip
        found[f"{texts}_guard"] = auc(before[inside], same[inside])
        found[f"{texts}_both"] = auc(after[inside], same[inside])
        others = np.sort(after[inside & ~same])[::-1]
        bound = others[int(_LOOK_ALIKES * len(others))]
        found[f"{texts}_found"] = float((after[inside & same] > bound).mean())
        found[f"{texts}_hard_different"] = int((hard & ~same & inside).sum())
        found[f"{texts}_hard_same"] = int((hard & same & inside).sum())
        found[f"{texts}_refused_same"] = int((refused & same & inside).sum())
        found[f"{texts}_refused_different"] = int((refused & ~same & inside).sum())
    return found


def _changed(whole: Sets, sets: Sets) -> common.Row:
    """Return how many pairs have another verdict, and another hard difference."""
    both = list(zip(whole.all_pairs(), sets.all_pairs(), strict=True))
    return {
        "pairs": len(both),
        "verdicts_changed": sum(measured.verdict is not other.verdict for measured, other in both),
        "hard_lost": sum(measured.hard and not other.hard for measured, other in both),
        "hard_gained": sum(other.hard and not measured.hard for measured, other in both),
        "refused_lost": sum(measured.refused and not other.refused for measured, other in both),
        "refused_gained": sum(other.refused and not measured.refused for measured, other in both),
    }


def main() -> None:
    """Read the options."""
    parser = common.parser(__doc__)
    _add_arguments(parser)
    options = parser.parse_args()
    names = options.only or list(_PARTS)
    with (
        common.Report(options.name, options.seed, options.out) as report,
        opened(EmbedderSettings(kind="use")) as rig,
    ):
        vectors = Vectors(rig, options.cache / "vectors.npz")
        opinions = Opinions(options.model, options.cache / "opinions.npz")
        bench = Bench(vectors, rig.model, opinions, options.streams, options.pairs)
        for name in names:
            report.add(part=name, **bench.row(_PARTS[name]))


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pairs", type=Path, help="directory of labelled pairs")
    parser.add_argument("streams", type=Path, help="directory of streams")
    parser.add_argument("--only", nargs="*", choices=[*_PARTS], metavar="PART")
    parser.add_argument("--name", default="judge_ablation", help="of the file of rows")
    parser.add_argument("--model", type=Path, default=SHIPPED)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "totonoe-fit")


if __name__ == "__main__":
    main()
