"""Probe set: labelled pairs of short memory texts, for calibrating a model.

One file a language, one JSON object a line:

    {"id": "en-number-007", "class": "number", "a": "...", "b": "...", "verdict": "update"}

`verdict` relates b, the new text, to a, the stored one; `also` lists other right verdicts. The
texts were written for this project, without looking at word lists or readers, and none is from
elsewhere. Seventeen classes (docs/quality.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from totonoe_core.domain.records import Verdict

LANGUAGES = ("en", "ja", "zh")
REPORTED_ONLY = frozenset({"cross_language"})
"""Classes that are shown, but neither fitted to nor counted: a reading is of one language."""


@dataclass(frozen=True, slots=True)
class ProbePair:
    """Two texts and their right verdicts, the expected one first."""

    id: str
    name: str
    language: str
    a: str
    b: str
    verdicts: tuple[Verdict, ...]

    @property
    def same(self) -> bool:
        """True if b says nothing new."""
        return self.verdicts[0] is Verdict.DUPLICATE


def probe_files() -> list[Traversable]:
    """Return the files, by language."""
    return [files(__name__) / f"{language}.jsonl" for language in LANGUAGES]


def probe_pairs() -> list[ProbePair]:
    """Return all shipped pairs, by language, in the order of the files."""
    by_language = zip(LANGUAGES, probe_files(), strict=True)
    return [pair for language, file in by_language for pair in _pairs(language, file)]


def right_verdicts(expected: str, also: Iterable[str]) -> tuple[Verdict, ...]:
    """Return the right verdicts of a labelled pair, the expected one first."""
    verdicts = tuple(map(Verdict, (expected, *also)))
    # The label does not say which text has more.
    return (*verdicts, Verdict.CONTAINED) if Verdict.REFINEMENT in verdicts else verdicts


def _pairs(language: str, file: Traversable) -> list[ProbePair]:
    lines = file.read_text(encoding="utf-8").splitlines()
    found = []
    for line in lines:
        row = json.loads(line)
        found.append(
            ProbePair(
                id=row["id"],
                name=row["class"],
                language=language,
                a=row["a"],
                b=row["b"],
                verdicts=right_verdicts(row["verdict"], row.get("also", ())),
            )
        )
    return found
