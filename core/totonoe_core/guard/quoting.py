"""Quotations in evidence, chosen so that a person sees the difference.

A finding about a piece often quotes the same word of both texts; the difference is beside it.
'Priya' against 'Priya' shows nothing, 'Priya, before: Tom' against 'Tom, before: Priya' does. Such
a quotation is widened, in both texts alike, until the two differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from totonoe_core.base import limits
from totonoe_core.domain.records import Evidence, Finding
from totonoe_core.text.normalize import refusing_form, snippet
from totonoe_core.text.reading.model import Piece

Span = tuple[int, int]
_NOTHING: Span = (0, 0)
_SAME = frozenset({Finding.SAME_TEXT, Finding.SAME_WORDS, Finding.SAME_CONTENT})
# Findings about the place of a piece: its neighbours on both sides show the place.
_PLACES = frozenset({Finding.ORDER, Finding.ROLE})
_NEIGHBOURS_MAX = 4
_BEFORE_CHARS = 20
_MARKS = ",.;:!、。，．；：！・…\"'“”‘’「」『』()[]{}（）"
# Nobody would notice punctuation as a difference in a quotation, except a question mark.
_UNNOTICED = str.maketrans("", "", _MARKS + " \t\n\r\u3000")
_TRIMMED = " \t\r\n\u3000,;:、，；：。."


@dataclass(frozen=True, slots=True)
class Side:
    """One of two compared texts.

    Attributes
    ----------
    text : str
        The whole text.
    stretch : tuple of int
        Start and end of the part that was read.
    pieces : tuple of Piece
        Pieces of the stretch, in text order; offsets count from its start.
    """

    text: str
    stretch: Span
    pieces: tuple[Piece, ...] = ()

    def quote(self, span: Span) -> str:
        """Return the text of a span of the stretch, on one line and cut."""
        start = self.stretch[0]
        return snippet(self.text[start + span[0] : start + span[1]], limits.EVIDENCE_CHARS)

    def place(self, span: Span) -> Span:
        """Return a span of the stretch as one of the whole text."""
        return span if span == _NOTHING else (span[0] + self.stretch[0], span[1] + self.stretch[0])

    def trimmed(self, span: Span) -> Span:
        """Return a span of the stretch without white space and marks at its ends."""
        text = self.text[self.stretch[0] + span[0] : self.stretch[0] + span[1]]
        start = span[0] + len(text) - len(text.lstrip(_TRIMMED))
        return start, max(start, span[0] + len(text.rstrip(_TRIMMED)))


def quoted(found: Sequence[Evidence], own: Side, other: Side) -> tuple[Evidence, ...]:
    """Return evidence with offsets into the whole texts, and quotations.

    The two quotations of a finding differ, also those of an added and a missing piece, unless the
    finding is that something is the same.
    """
    plain = [
        Evidence(
            one.finding,
            own.place(one.own),
            other.place(one.other),
            own.quote(one.own) if one.own != _NOTHING else "",
            other.quote(one.other) if one.other != _NOTHING else "",
        )
        for one in found
    ]
    for at, one in enumerate(plain):
        if one.own_text and one.own_text == one.other_text and one.finding not in _SAME:
            spans = _told_apart(one.finding, found[at].own, found[at].other, own, other)
            plain[at] = _evidence(one.finding, spans, own, other)
    for added, missing in _both_ways(plain):
        spans = _told_apart(Finding.ADDED, found[added].own, found[missing].other, own, other)
        both = _evidence(Finding.ADDED, spans, own, other)
        plain[added] = Evidence(Finding.ADDED, both.own, _NOTHING, both.own_text)
        plain[missing] = Evidence(Finding.MISSING, _NOTHING, both.other, "", both.other_text)
    return tuple(plain)


def _both_ways(found: Sequence[Evidence]) -> Iterator[tuple[int, int]]:
    """Yield places of an added and a missing piece with the same words, read in different ways."""
    missing: defaultdict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(found):
        if one.finding is Finding.MISSING:
            missing[one.other_text].append(at)
    for at, one in enumerate(found):
        if one.finding is Finding.ADDED and missing[one.own_text]:
            yield at, missing[one.own_text].pop(0)


def _evidence(
    finding: Finding, spans: tuple[Span, Span] | None, own: Side, other: Side
) -> Evidence:
    if spans is None:
        return _first_difference(finding, own, other)
    here, there = own.trimmed(spans[0]), other.trimmed(spans[1])
    return Evidence(
        finding, own.place(here), other.place(there), own.quote(here), other.quote(there)
    )


def _told_apart(
    finding: Finding, here: Span, there: Span, own: Side, other: Side
) -> tuple[Span, Span] | None:
    """Return the narrowest spans around two equal ones whose quotations differ, or `None`.

    It tries first the words between a piece and its neighbours (not, from, to), then one neighbour
    on either side, then more. Two neighbours show a place, if they fit.
    """

    def differ(spans: tuple[Span, Span]) -> bool:
        return _noticed(own.quote(spans[0])) != _noticed(other.quote(spans[1]))

    if finding in _PLACES:
        two = _widened(here, own, 2), _widened(there, other, 2)
        if max(end - start for start, end in two) <= limits.EVIDENCE_CHARS and differ(two):
            return two
    first = 1 if finding in _PLACES or finding is Finding.ADDED else 0
    for reach in range(first, _NEIGHBOURS_MAX + 1):
        wide_here, wide_there = _widened(here, own, reach), _widened(there, other, reach)
        both = wide_here, wide_there
        left = (wide_here[0], here[1]), (wide_there[0], there[1])
        right = (here[0], wide_here[1]), (there[0], wide_there[1])
        for spans in (both,) if finding in _PLACES else (left, right, both):
            if differ(spans):
                return spans
    return None


def _widened(span: Span, side: Side, reach: int) -> Span:
    """Widen a span to its neighbours (`reach` 0), or by `reach` of them on either side."""
    ends = [piece.end for piece in side.pieces if piece.end <= span[0]]
    starts = [piece.start for piece in side.pieces if piece.start >= span[1]]
    length = side.stretch[1] - side.stretch[0]
    if not reach:
        return max(ends, default=0), min(starts, default=length)
    before = [piece.start for piece in side.pieces if piece.end <= span[0]]
    after = [piece.end for piece in side.pieces if piece.start >= span[1]]
    return (
        before[-reach] if len(before) >= reach else 0,
        after[reach - 1] if len(after) >= reach else length,
    )


def _noticed(text: str) -> str:
    return text.translate(_UNNOTICED).casefold()


def _first_difference(finding: Finding, own: Side, other: Side) -> Evidence:
    """Return the first differing stretches, for differences far from the piece, or in a mark."""
    here = refusing_form(own.text[slice(*own.stretch)])
    there = refusing_form(other.text[slice(*other.stretch)])
    shorter = min(len(here), len(there))
    at = next((at for at in range(shorter) if here[at] != there[at]), shorter)
    window = slice(max(0, at - _BEFORE_CHARS), max(0, at - _BEFORE_CHARS) + limits.EVIDENCE_CHARS)
    return Evidence(finding, own.stretch, other.stretch, here[window], there[window])
