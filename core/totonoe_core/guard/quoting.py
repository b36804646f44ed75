"""Quotations in evidence, chosen so that a person sees the difference.

A finding about a piece often quotes the same word of both texts; the difference is beside it.
'Priya' against 'Priya' shows nothing, 'Priya, before: Tom' against 'Tom, before: Priya' does. Such
a quotation is widened, in both texts alike, until the two differ.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from totonoe_core.base import limits
from totonoe_core.domain.records import SHARED, Evidence, Finding
from totonoe_core.guard.marks import first_difference
from totonoe_core.text.normalize import refusing_form, snippet
from totonoe_core.text.reading.model import Piece, Span

_NOTHING: Span = (0, 0)
# Findings about the place of a piece: its neighbours on both sides show the place.
_PLACES = frozenset({Finding.ORDER, Finding.ROLE})
_SHOWN_BY_EXCHANGE = _PLACES | {Finding.UNREAD, Finding.SAME_CONTENT}
_BETWEEN = frozenset({Finding.FUNCTION_WORD, Finding.CONJUNCTION})
_LEFT = frozenset({Finding.ADDED, Finding.MISSING})
_READ_OTHERWISE = Finding.REPLACED
_JOINED_MAX = 32
_UNSPACED_FROM = "\u2e80"
_NEIGHBOURS_MAX = 4
_BEFORE_CHARS = 20
_MARKS = ",.;:!、。，．；：！・…\"'“”‘’「」『』()[]{}（）"
# Nobody would notice punctuation as a difference in a quotation, except a question mark.
_UNNOTICED = str.maketrans("", "", _MARKS + " \t\n\r\u3000")
# A comma of a Western script also parts the names of a list, of which the order is the difference.
_CLAUSE_END = re.compile("[;；，]")
# Behind a hiragana, and no particle by itself.
_VERB_ENDING = re.compile(
    r"(?<=[\u3041-\u3096])(?!(?:[をがはもでとのへにや]|から|まで|より|[にでと][はも])(?![\u3041-\u3096]))"
    r"[\u3041-\u3096]{1,10}"
)
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
        return snippet(self.words(span), limits.EVIDENCE_CHARS) if span != _NOTHING else ""

    def words(self, span: Span) -> str:
        """Return the text of a span of the stretch."""
        return self.text[self.stretch[0] + span[0] : self.stretch[0] + span[1]]

    def place(self, span: Span) -> Span:
        """Return a span of the stretch as one of the whole text."""
        return span if span == _NOTHING else (span[0] + self.stretch[0], span[1] + self.stretch[0])

    def whole_words(self, span: Span) -> Span:
        """Return a span of the stretch with all of the pieces that it cuts."""
        cut = [piece for piece in self.pieces if piece.start < span[1] and span[0] < piece.end]
        starts, ends = [piece.start for piece in cut], [piece.end for piece in cut]
        return min(starts, default=span[0]), max(ends, default=span[1])

    def to_verb_end(self, span: Span) -> Span:
        """Return a span that ends within a Japanese verb to the end of that: 待た of 待たずに."""
        before_next = self.words((0, _widened(span, self, 0)[1]))
        ending = _VERB_ENDING.match(before_next, span[1])
        return span if ending is None or span == _NOTHING else (span[0], ending.end())

    def trimmed(self, span: Span) -> Span:
        """Return a span of the stretch without white space and marks at its ends."""
        text = self.words(span)
        start = span[0] + len(text) - len(text.lstrip(_TRIMMED))
        return start, max(start, span[0] + len(text.rstrip(_TRIMMED)))


def of_exchange(
    changed: Sequence[tuple[Span, Span]], evidence: Sequence[Evidence], own: Side, other: Side
) -> tuple[Evidence, ...]:
    """Return evidence that shows from one of two places to the other what changed them.

    "Ann manages Bob" against "Bob manages Ann"; of two places that are far from each other, what
    stands in each. A value in place of another one is named already.

    Parameters
    ----------
    changed : sequence of pairs of spans
        As `exchange.exchanged` finds them, in the stretches.
    """
    of_place = [line.finding for line in evidence if line.finding in _SHOWN_BY_EXCHANGE]
    if not of_place:
        return tuple(evidence)
    finding = Finding.ROLE if Finding.ROLE in of_place else Finding.ORDER
    spans = [(own.whole_words(here), other.whole_words(there)) for here, there in changed]
    (first, first_there), (last, last_there) = spans
    whole = (first[0], last[1]), (first_there[0], last_there[1])
    placed = _from_before(whole[0], own), _from_before(whole[1], other)
    fits = (
        parts for parts in (placed, whole) if max(b - a for a, b in parts) <= limits.EVIDENCE_CHARS
    )
    spans = [*fits][:1] or spans
    shown = quoted([Evidence(finding, *both) for both in spans], own, other)
    rest = [line for line in evidence if line.finding not in _SHOWN_BY_EXCHANGE]
    return (*shown, *(line for line in rest if not any(_shows(wide, line) for wide in shown)))


def quoted(
    found: Sequence[Evidence],
    own: Side,
    other: Side,
    place: Callable[[Evidence], str] = lambda _: "",
) -> tuple[Evidence, ...]:
    """Return evidence with offsets into the whole texts, and quotations; at most EVIDENCE_MAX.

    The two quotations of a finding differ, unless the finding is that something is the same. Words
    are not quoted twice: not as added and missing, nor under two findings.

    Parameters
    ----------
    place : callable
        Gives the words that name the place of a finding.
    """
    kept: list[Evidence] = []
    shown: set[tuple[Span, Span]] = set()
    for each in _paired(found, own, other):
        one = _at_mark(each, own, other) if each.finding is Finding.SYMBOL else each
        here, there = own.quote(one.own), other.quote(one.other)
        widened = here == there != "" and one.finding not in SHARED
        if widened:
            spans = _told_apart(one.finding, one.own, one.other, own, other)
            plain = _apart(one.finding, spans, own, other)
        else:
            plain = _evidence(one.finding, (one.own, one.other), own, other, place(one))
        both = plain.own, plain.other
        if both in shown or _repeats(plain, kept, widened):
            continue
        kept.append(plain)
        shown.add(both)
        if len(kept) == limits.EVIDENCE_MAX:
            break
    return tuple(kept)


def _at_mark(one: Evidence, own: Side, other: Side) -> Evidence:
    """Return a difference of marks with the spans of the first ones that differ."""
    spans = first_difference(*(side.text[slice(*side.stretch)] for side in (own, other)))
    return one if spans is None else Evidence(one.finding, *spans)


def _repeats(line: Evidence, kept: Sequence[Evidence], widened: bool) -> bool:
    """Return whether an earlier finding of other spans shows all that this one would show."""
    if widened and line.finding in _PLACES:
        # Of words in another order, one line shows a stretch.
        places = [earlier for earlier in kept if earlier.finding in _PLACES]
        return any(_meet(line.own, at.own) or _meet(line.other, at.other) for at in places)
    between, left = line.finding in _BETWEEN, line.finding in _LEFT
    if not (between or left or (widened and line.finding is _READ_OTHERWISE)):
        return False
    both = [earlier for earlier in kept if _NOTHING not in (earlier.own, earlier.other)]
    if between:
        return any(_shows(earlier, line) for earlier in both)
    if left:
        # Words around which a difference was widened.
        return any(_shows(earlier, line) for earlier in both if earlier.finding is _READ_OTHERWISE)
    # What makes the same words differ may have been said already.
    return any(_shows(line, earlier) for earlier in both)


def _meet(one: Span, another: Span) -> bool:
    """Return whether two spans have words in common."""
    return max(one[0], another[0]) < min(one[1], another[1])


def _shows(outer: Evidence, inner: Evidence) -> bool:
    """Return whether a finding quotes all that another one quotes."""
    return _holds(outer.own, inner.own) and _holds(outer.other, inner.other)


def _holds(wide: Span, within: Span) -> bool:
    return within == _NOTHING or (
        wide[0] <= within[0] and within[1] <= wide[1] <= wide[0] + limits.EVIDENCE_CHARS
    )


def _paired(found: Sequence[Evidence], own: Side, other: Side) -> list[Evidence]:
    """Join each added piece with a missing one of the same words; these come before the others.

    Such pieces were read in different ways, and are no words that only one text has.
    """
    added = [line for line in found if line.finding is Finding.ADDED]
    missing = [line for line in found if line.finding is Finding.MISSING]
    if not added or not missing:
        return list(found)
    here = {line.own: _noticed(own.words(line.own)) for line in added}
    there = {line.other: _noticed(other.words(line.other)) for line in missing}
    waiting: defaultdict[str, deque[Span]] = defaultdict(deque)
    for line in missing:
        waiting[there[line.other]].append(line.other)
    partner: dict[Span, Span] = {}
    for line in added:
        if same := waiting[here[line.own]]:
            partner[line.own] = same.popleft()
    taken = set(partner.values())
    unpaired = [line.other for line in missing if line.other not in taken][:_JOINED_MAX]
    free = dict.fromkeys(unpaired)
    for alone in [line.own for line in added if line.own not in partner][:_JOINED_MAX]:
        part = next((part for part in free if _share_words(here[alone], there[part])), None)
        if part is not None:
            partner[alone] = part
            del free[part]
    if not partner:
        return list(found)
    taken = set(partner.values())
    joined = [Evidence(_READ_OTHERWISE, *both) for both in partner.items()]
    left = [
        line
        for line in found
        if not (line.finding is Finding.ADDED and line.own in partner)
        and not (line.finding is Finding.MISSING and line.other in taken)
    ]
    first = next((at for at, line in enumerate(left) if line.finding in _LEFT), len(left))
    return [*left[:first], *joined, *left[first:]]


def _share_words(here: str, there: str) -> bool:
    """Return whether one text is a part of the other, by whole words where a script has spaces."""
    part, all_of_it = (here, there) if len(here) <= len(there) else (there, here)
    at = all_of_it.find(part)
    if not part or at < 0:
        return False
    before, after = all_of_it[:at][-1:], all_of_it[at + len(part) :][:1]
    return not ((_spaced(before) and _spaced(part[0])) or (_spaced(after) and _spaced(part[-1])))


def _spaced(letter: str) -> bool:
    return letter.isalnum() and letter < _UNSPACED_FROM


def _apart(finding: Finding, spans: tuple[Span, Span] | None, own: Side, other: Side) -> Evidence:
    """Return evidence of two spans that differ; without any, of where the texts first do."""
    if spans is None:
        return _first_difference(finding, own, other)
    return _evidence(finding, (own.trimmed(spans[0]), other.trimmed(spans[1])), own, other)


def _evidence(
    finding: Finding, spans: tuple[Span, Span], own: Side, other: Side, place: str = ""
) -> Evidence:
    here, there = own.to_verb_end(spans[0]), other.to_verb_end(spans[1])
    quotations = own.quote(here), other.quote(there)
    return Evidence(finding, own.place(here), other.place(there), *quotations, place)


def _told_apart(
    finding: Finding, here: Span, there: Span, own: Side, other: Side
) -> tuple[Span, Span] | None:
    """Return the narrowest spans around two equal ones whose quotations differ, or `None`.

    It tries first the words between a piece and its neighbours (not, from, to), then one neighbour
    on either side, then more. Two neighbours show a place, if they fit, those of its own clause
    where these are enough.
    """

    def differ(spans: tuple[Span, Span]) -> bool:
        # As they are shown: marks at an end are left out, and a long text is cut after them.
        here, there = own.quote(own.trimmed(spans[0])), other.quote(other.trimmed(spans[1]))
        return _noticed(here) != _noticed(there)

    if finding in _PLACES:
        two = _widened(here, own, 2), _widened(there, other, 2)
        clauses = _in_clause(here, two[0], own), _in_clause(there, two[1], other)
        if clauses != two and differ(clauses):
            two = clauses
        if max(end - start for start, end in two) <= limits.EVIDENCE_CHARS and differ(two):
            return two
    first = 1 if finding in _PLACES or finding is _READ_OTHERWISE else 0
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
    length = side.stretch[1] - side.stretch[0]
    if not reach:
        ends = [piece.end for piece in side.pieces if piece.end <= span[0]]
        starts = [piece.start for piece in side.pieces if piece.start >= span[1]]
        return max(ends, default=0), min(starts, default=length)
    before = [piece.start for piece in side.pieces if piece.end <= span[0]]
    after = [piece.end for piece in side.pieces if piece.start >= span[1]]
    return (
        before[-reach] if len(before) >= reach else 0,
        after[reach - 1] if len(after) >= reach else length,
    )


def _from_before(span: Span, side: Side) -> Span:
    """Widen a span to the piece before it, if that stands in one clause with it."""
    return _in_clause(span, _widened(span, side, 1), side)[0], span[1]


def _in_clause(span: Span, wide: Span, side: Side) -> Span:
    """Return the part of `wide` that stands in one clause with `span`."""
    before, after = (
        side.words((start, end)) for start, end in ((wide[0], span[0]), (span[1], wide[1]))
    )
    ends = [mark.end() for mark in _CLAUSE_END.finditer(before)]
    next_end = _CLAUSE_END.search(after)
    return (
        wide[0] + ends[-1] if ends else wide[0],
        span[1] + next_end.start() if next_end else wide[1],
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
