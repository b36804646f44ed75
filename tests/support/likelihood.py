"""Judgements by a table in place of the fit: a test says which pairs are likely the same."""

from __future__ import annotations

from typing import Any

import pytest

from totonoe_core.domain.records import Evidence, Finding, Judgement, Verdict

# Whole, before anything is replaced: a module that is first loaded afterwards would keep the table
# beyond its test, for the tests of other files.
from totonoe_core.engine import embedded, pairs  # noqa: F401
from totonoe_core.engine.guarding import judging
from totonoe_core.guard.verdict import Comparison


class Likelihood:
    """What the guard finds about pairs of texts, in either order; other pairs are unlike."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._said: dict[frozenset[str], Judgement] = {}
        monkeypatch.setattr(judging.verdict, "compare", self._compare)

    def say(
        self,
        one: str,
        other: str,
        probability: float,
        verdict: Verdict = Verdict.RELATED,
        *,
        finding: Finding = Finding.SAME_CONTENT,
        hard: bool = False,
    ) -> None:
        """Set the judgement of a pair."""
        evidence = (Evidence(finding),)
        self._said[frozenset((one, other))] = Judgement(verdict, probability, evidence, hard)

    def _compare(self, own: str, other: str, *_: Any, **__: Any) -> Comparison:
        unlike = Judgement(Verdict.RELATED, 0.0, ())
        return Comparison(self._said.get(frozenset((own, other)), unlike))
