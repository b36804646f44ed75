"""How far each finding of a judgement moves the probability that both texts say the same. Pure.

A finding is taken out by making the texts equal where it stands: the new text gets the memory's
words there, and what only one of them has is cut out of it. Then both are compared again, with all
else as it was: the cosine of the whole texts, and what a judge said of them.

    weight = ((all - all without it) + (it alone - none)) / 2

`none` has no finding that can be taken out, `it alone` no other one. The last step alone would say
nothing where two findings each tell the texts apart: without one of them the other still does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from totonoe_core.domain.records import SHARED, Evidence, Finding, Judgement
from totonoe_core.text.normalize import refusing_form

Reread = Callable[[str, str], float | None]
"""Returns the probability of a new text and a memory's; `None` if they are not read to the end."""

_KEPT = frozenset(
    {
        # What the texts share: without it there is nothing to compare.
        *SHARED,
        # Where words stand: no words at one place make it equal.
        *(Finding.ORDER, Finding.ROLE),
    }
)
"""Findings that cannot be taken out."""
_Edit = tuple[int, int, str]
"""Start and end of a stretch, and what takes its place."""


def weighed(
    own: str, other: str, judgement: Judgement, reread: Reread, unjudged: float | None = None
) -> Judgement:
    """Return a judgement whose evidence has weights, where a finding can be taken out.

    Parameters
    ----------
    own, other : str
        The new text and that of a memory, which the evidence is about.
    reread : callable
        Called at most twice for each finding, and once for all together.
    unjudged : float, optional
        The probability without the judge, if one moved it: its weight is what it moved.
    """
    with_all = judgement.same_probability
    known: dict[tuple[str, str], float | None] = {(own, other): with_all}

    def probability(out: Sequence[Evidence]) -> float | None:
        texts = _without(out, own, other)
        if texts not in known:
            # Nothing to compare would be left of one text.
            left = texts[0].strip() and texts[1].strip()
            known[texts] = reread(*texts) if left else None
        return known[texts]

    taken = [line for line in judgement.evidence if _can_be_taken_out(line, own, other)]

    def weight(line: Evidence) -> float | None:
        if line.finding is Finding.JUDGE:
            return None if unjudged is None else with_all - unjudged
        if line not in taken:
            return None
        without, none = probability([line]), probability(taken)
        alone = probability([each for each in taken if each is not line])
        if without is None or alone is None or none is None:
            return None
        return (with_all - without + alone - none) / 2.0

    evidence = tuple(replace(line, weight=weight(line)) for line in judgement.evidence)
    return replace(judgement, evidence=evidence)


def _can_be_taken_out(one: Evidence, own: str, other: str) -> bool:
    here, there = own[slice(*one.own)], other[slice(*one.other)]
    # The same words: what differs stands beside them, as a denial does.
    alike = refusing_form(here).casefold() == refusing_form(there).casefold()
    return one.finding not in _KEPT and not alike and here != own and there != other


def _without(out: Sequence[Evidence], own: str, other: str) -> tuple[str, str]:
    """Return both texts without some findings; of two in one place the first is taken out."""
    edits = [(*line.own, other[slice(*line.other)]) for line in out if line.own != (0, 0)]
    cuts = [(*line.other, "") for line in out if line.own == (0, 0)]
    return _edited(own, edits), _edited(other, cuts)


def _edited(text: str, edits: Sequence[_Edit]) -> str:
    """Return a text with other words at some places."""
    parts: list[str] = []
    at = 0
    for start, end, words in sorted(edits):
        if start >= at:
            parts += (text[at:start], words)
            at = end
    return "".join((*parts, text[at:]))
