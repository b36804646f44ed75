"""Decides what becomes of the second text of a pair while the first is the only memory.

The rows "totonoe" are worked out from the two texts, their vectors and the judge's opinion by the
code that a daemon runs; a test compares them with a daemon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from totonoe_core.domain.policy import PRESETS, Action, Preset, Tokenizer
from totonoe_core.domain.records import Judgement, Method
from totonoe_core.engine.pairs import PairOfTexts, read_pair
from totonoe_core.guard.candidates import NOMINATED_FROM, NOMINATED_WORDS_ABOVE, WORDS_ABOVE
from totonoe_core.judging import Judge, Opinion, cascade
from totonoe_server.tools.judge.pairs import LabelledPair
from totonoe_server.tools.judge.trying import ask_all
from totonoe_server.tools.quality.figures import share
from totonoe_server.tools.quality.rig import Advance, Rig
from totonoe_server.tools.quality.stage.system import System
from totonoe_server.tools.quality.stage.texts import PairOfGroup

REFUSED, ASKED, SHOWN, SAVED = "refused", "asked", "shown", "saved"
POLICY = PRESETS[Preset.STANDARD]
COSINES = (0.85, 0.92, 0.95, 0.97)
JACCARD = 0.70
OURS, WITHOUT_JUDGE = "totonoe", "totonoe, no judge"


@dataclass(frozen=True, slots=True)
class ReadPair:
    """A pair with what the guard says of it by itself."""

    pair: PairOfGroup
    found: PairOfTexts
    words: float
    """Token Jaccard similarity, 0 to 1."""

    @property
    def seen(self) -> bool:
        """Return whether the guard compares the texts without a judge."""
        assert POLICY.judged_from is not None
        return self.found.cosine >= POLICY.judged_from or self.words > WORDS_ABOVE

    @property
    def is_open(self) -> bool:
        """Return whether the judge reads the pair."""
        settled = POLICY.settled(self.found.compared.judgement)
        read = self.found.compared, settled, self.pair.text, self.pair.memory
        if self.found.refused_by(POLICY) is not Method.NONE:
            return cascade.may_keep(*read)
        nominated = self.found.cosine >= NOMINATED_FROM or self.words > NOMINATED_WORDS_ABOVE
        return nominated and cascade.is_open(*read)


def read_all(pairs: Sequence[PairOfGroup], rig: Rig, advance: Advance) -> list[ReadPair]:
    """Return what the guard says of pairs. `advance` is told each text that has its vector."""
    texts = [text for pair in pairs for text in (pair.memory, pair.text)]
    vectors = rig.vectors(texts, advance).reshape(len(pairs), 2, -1)
    found = []
    for pair, two in zip(pairs, vectors, strict=True):
        one = read_pair(pair.memory, pair.text, two, rig.model)
        found.append(ReadPair(pair, one, one.jaccard(Tokenizer.SCRIPT_AWARE)))
    return found


def without_judge(reading: ReadPair) -> str:
    """Return what a daemon with `--judge none` does."""
    if reading.found.refused_by(POLICY) is not Method.NONE:
        return REFUSED
    return _banded(POLICY.settled(reading.found.compared.judgement)) if reading.seen else SAVED


def with_judge(reading: ReadPair, opinion: Opinion | None) -> str:
    """Return what a daemon does that has this opinion; `None` if the judge has none."""
    if opinion is None or not reading.is_open:
        return without_judge(reading)
    settled = POLICY.settled(reading.found.compared.judgement)
    compared = replace(reading.found.compared, judgement=settled)
    heard = cascade.judged_by(cascade.OpenPair(0, compared, settled), opinion, POLICY)
    return REFUSED if POLICY.action(heard) is Action.REFUSE else _banded(heard)


def _banded(judgement: Judgement) -> str:
    if POLICY.is_likely(judgement):
        return ASKED
    return SHOWN if POLICY.is_shown(judgement) else SAVED


def opinions(read: Sequence[ReadPair], judge: Judge, advance: Advance) -> list[Opinion | None]:
    """Return the judge's opinions on the pairs that it reads; `None` on the others.

    Raises
    ------
    JudgeGoneError
        It fails again and again.
    """
    asked = [
        LabelledPair(number, reading.pair.memory, reading.pair.text, reading.pair.same, None)
        for number, reading in enumerate(read)
        if reading.is_open
    ]
    advance(len(read) - len(asked))
    answers, _ = ask_all(judge, asked, advance)
    said = {
        pair.line: answer.opinion
        for pair, answer in zip(asked, answers, strict=True)
        if answer is not None
    }
    return [said.get(number) for number in range(len(read))]


def one_by_one(system: System, pairs: Sequence[PairOfGroup], advance: Advance) -> list[str]:
    """Return what a system does with each pair."""
    found = []
    for pair in pairs:
        system.clear()
        system.remember(pair.memory)
        found.append(_refused(not system.remember(pair.text)))
        advance(1)
    system.clear()
    return found


def baselines(read: Sequence[ReadPair]) -> dict[str, list[str]]:
    """Return what guards by one threshold do: a text is refused from it on."""
    found = {
        f"cosine {least:.2f}": [_refused(reading.found.cosine >= least) for reading in read]
        for least in COSINES
    }
    found[f"word Jaccard {JACCARD:.2f}"] = [_refused(reading.words > JACCARD) for reading in read]
    return found


def _refused(refused: bool) -> str:
    return REFUSED if refused else SAVED


def row(name: str, pairs: Sequence[PairOfGroup], outcomes: Sequence[str]) -> dict[str, Any]:
    """Return the figures of one guard: shares of the pairs, also by language and relation."""
    what = np.array(outcomes)
    relations = np.array([pair.relation for pair in pairs])
    languages = np.array([pair.lang for pair in pairs])
    every = np.ones(len(pairs), np.bool_)
    return {
        "name": name,
        **_shares(what, relations, every),
        "by_lang": {
            str(lang): _shares(what, relations, languages == lang) for lang in np.unique(languages)
        },
        "refused_by_relation": {
            str(relation): share(
                int(((relations == relation) & (what == REFUSED)).sum()),
                int((relations == relation).sum()),
            )
            for relation in np.unique(relations)
        },
    }


def _shares(what: Any, relations: Any, counted: Any) -> dict[str, Any]:
    sides = {"same": counted & (relations == "same"), "different": counted & (relations != "same")}
    counts = {label: int(side.sum()) for label, side in sides.items()}
    found: dict[str, Any] = {f"n_{label}": count for label, count in counts.items()}
    for outcome in (REFUSED, ASKED, SHOWN):
        found[outcome] = {
            label: share(int((side & (what == outcome)).sum()), counts[label])
            for label, side in sides.items()
        }
    return found
