"""Whether two statements certainly exclude each other, so that the newer replaces the older.

    The timeout is 30 s.       The timeout is 60 s.         excluded: one slot, another value
    The cache is enabled.      The cache is not enabled.    excluded: the statement, and its denial
    Tom likes tea.             Tom likes coffee.            both may be true: members of a set
    Aisle 14 is closed.        Aisle 41 is closed.          two objects: the number is a name
    We deployed 1.2.           We deployed 1.3.             both happened

Only a figure or a moment that something has now, and a main predicate that is affirmed or denied,
are slots with room for one value. Names and words are not: most of them are members of sets. In
doubt the answer is no, unless the daemon's own judge has read both texts and is certain
(`Finding.EXCLUSIVE`). Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from totonoe_core.base import limits
from totonoe_core.domain.records import Evidence, Finding, Judgement, Verdict
from totonoe_core.guard.sentences import sentences
from totonoe_core.guard.traits import traits_of
from totonoe_core.text.reading.language import common_language
from totonoe_core.text.reading.model import FunctionKind, Piece, PieceType, Reading, Role, Span
from totonoe_core.text.reading.read import READ_CHARS_MAX

Places = tuple[tuple[Span, Span], ...]

_VALUES = frozenset(
    {
        *(Finding.NUMBER, Finding.QUANTITY, Finding.DATE, Finding.TIME, Finding.VERSION),
        *(Finding.IDENTIFIER, Finding.PATH),
    }
)
_DENIALS = frozenset({Finding.POLARITY, Finding.OPPOSITE})
_FINDINGS = {Verdict.UPDATE: _VALUES, Verdict.CONTRADICTION: _DENIALS}
_WORDED = frozenset({PieceType.WORD, PieceType.NAME, PieceType.IDENTIFIER})
_PREDICATE_LAST = frozenset({"ja", "ko"})
_JOINTS = frozenset("-/#.")
_FIGURES = re.compile(r"[\d.,\s]+")
_PORTS = frozenset({"port", "ポート", "端口", "포트", "порт", "puerto"})


def certainly_exclusive(own: str, other: str, judgement: Judgement) -> Places:
    """Return the places of the values by which two statements exclude each other.

    Parameters
    ----------
    own, other : str
        The new text and a memory's, in the order of `verdict.compare`.
    judgement : Judgement
        That of `verdict.compare`.

    Returns
    -------
    tuple of (Span, Span)
        Half-open offsets into both texts; empty if both may be true, or if that is not certain.
    """
    if judgement.excludes:
        return _differing(own, other, judgement)
    findings = {line.finding for line in judgement.evidence}
    if len(judgement.evidence) >= limits.EVIDENCE_MAX:
        return ()  # it may be cut
    if not findings or not findings <= _FINDINGS.get(judgement.verdict, frozenset()):
        return ()
    language = common_language(own, other)
    places = tuple((line.own, line.other) for line in judgement.evidence)
    here = _sentence(own, [mine for mine, _ in places], language)
    there = _sentence(other, [theirs for _, theirs in places], language)
    if here is None or there is None or here.modalities != there.modalities:
        return ()
    if judgement.verdict is Verdict.CONTRADICTION:
        certain = len(places) == 1 and _denied(here, there, judgement.evidence[0])
    else:
        certain = all(_values(here, there, judgement.evidence))
    return places if certain else ()


def _differing(own: str, other: str, judgement: Judgement) -> Places:
    """Return the places of what differs; both texts if no difference has one in both."""
    places = tuple(
        (line.own, line.other) for line in judgement.evidence if line.own[1] and line.other[1]
    )
    return places or (((0, len(own)), (0, len(other))),)


def tells_what_happened(own: str, other: str, judgement: Judgement) -> bool:
    """Return whether a difference stands in a sentence about the past, in either text."""
    language = common_language(own, other)
    sides = (
        (own, [line.own for line in judgement.evidence]),
        (other, [line.other for line in judgement.evidence]),
    )
    return any(_is_past(text, spans, language) for text, spans in sides)


def _is_past(text: str, spans: Sequence[Span], language: str) -> bool:
    for start, stop in sentences(text):
        held = any(start < end and begin < stop for begin, end in spans)
        if held and stop - start <= READ_CHARS_MAX:
            reading = traits_of(text[start:stop], language).reading
            if any(piece.tense == "past" for piece in reading.pieces):
                return True
    return False


def _sentence(text: str, spans: Sequence[Span], language: str) -> _Sentence | None:
    """Return the sentence that holds all spans; `None` if it may be about several things.

    It can be read, states what is so now, and joins no clauses: a value in a condition ("if it is
    over 5") says when something else holds.
    """
    begin, end = min(span[0] for span in spans), max(span[1] for span in spans)
    for start, stop in sentences(text):
        if start <= begin < end and end <= stop and stop - start <= READ_CHARS_MAX:
            reading = traits_of(text[start:stop], language).reading
            past = any(piece.tense == "past" for piece in reading.pieces)
            joined = any(word.kind is FunctionKind.CONJUNCTION for word in reading.function_words)
            if not reading.certain or reading.asks or past or joined:
                return None
            return _Sentence(text[start:stop], start, reading)
    return None


class _Sentence:
    """One sentence of a text with its reading."""

    def __init__(self, text: str, start: int, reading: Reading) -> None:
        self.text, self.start = text, start
        self.pieces, self.language = reading.pieces, reading.language
        self.modalities = Counter(piece.modality for piece in reading.pieces if piece.modality)
        self.modalities.update(
            word.key for word in reading.function_words if word.kind is FunctionKind.MODALITY
        )
        self.denials = sum(piece.negated for piece in reading.pieces)
        self.predicates = [piece for piece in reading.pieces if piece.role == Role.PREDICATE]

    def at(self, span: Span) -> int:
        """Return the number of the piece with a span of the text, -1 if there is none."""
        wanted = span[0] - self.start, span[1] - self.start
        found = (n for n, piece in enumerate(self.pieces) if (piece.start, piece.end) == wanted)
        return next(found, -1)

    def unit(self, quantity: Piece) -> str:
        """Return the unit of a quantity as it is written, without a plural."""
        return _FIGURES.sub("", self.text[quantity.start : quantity.end]).casefold().rstrip("s")

    def holds_value(self, number: int) -> bool:
        """Return whether a figure or moment says something, and does not name what it is said of.

        It names an object at the beginning, before a colon, and before the predicate. A figure also
        does right behind a word, unless that is a verb and it counts what follows.
        """
        piece = self.pieces[number]
        if number == 0 or piece.key.startswith(("no.", "date:relative")):
            return False
        if self.text[piece.end :].lstrip(" )]）】」").startswith((":", "：")):
            return False
        first = self.predicates[0].start if self.predicates else 0
        if self.language not in _PREDICATE_LAST and piece.start < first:
            return False
        if piece.type is PieceType.DATE:
            return self._is_day(piece)
        return piece.type is not PieceType.NUMBER or self._is_figure(number)

    def _is_day(self, piece: Piece) -> bool:
        """Return whether a day is one moment: not "Tuesday's review", nor "runs on Tuesdays"."""
        if "weekday" in piece.key and piece.role != Role.PREDICATE:
            return all(other.role != Role.AGENT for other in self.pieces)
        return piece.role not in (Role.MODIFIER, Role.UNKNOWN)

    def _is_figure(self, number: int) -> bool:
        """Return whether a bare figure is no part of a name: "aisle 14", "HTTP/2", "2024-0718"."""
        piece, before = self.pieces[number], self.pieces[number - 1]
        if self.text[piece.start - 1] in _JOINTS:
            return False
        if before.type not in _WORDED or self.text[before.end : piece.start].strip():
            return True
        if number == 1:
            return False
        return before.key in _PORTS or (before.role == Role.PREDICATE and self._counts(number))

    def is_said(self, number: int) -> bool:
        """Return whether a piece is a predicate: "runs", "open" of "the door is open"."""
        piece = self.pieces[number]
        if number == 0:
            return False
        if piece.role == Role.PREDICATE:
            return True
        head = [predicate.start for predicate in self.predicates if predicate.key == piece.head]
        return piece.role == Role.MODIFIER and bool(head) and head[0] < piece.start

    def is_state(self, number: int) -> bool:
        """Return whether a word says last what state something is in."""
        piece = self.pieces[number]
        last = number == len(self.pieces) - 1 and not self.denials
        return last and piece.role in (Role.PREDICATE, Role.MODIFIER, Role.ADVERB)

    def _counts(self, number: int) -> bool:
        """Return whether a noun stands right behind a figure."""
        after = self.pieces[number + 1 : number + 2]
        end = self.pieces[number].end
        return bool(after) and not self.text[end : after[0].start].strip()


def _values(here: _Sentence, there: _Sentence, evidence: Sequence[Evidence]) -> Iterator[bool]:
    """Yield for each difference whether both sides hold a value of one slot."""
    # What is denied of one value may be denied of another.
    affirmed = not here.denials and not there.denials
    for line in evidence:
        mine, theirs = here.at(line.own), there.at(line.other)
        yield (
            affirmed
            and min(mine, theirs) >= 0
            and here.holds_value(mine)
            and there.holds_value(theirs)
            and _comparable(here, mine, there, theirs)
        )


def _comparable(here: _Sentence, mine: int, there: _Sentence, theirs: int) -> bool:
    """Return whether two values differ and have one unit, written alike: 2048 MB may be 2 GB."""
    own, other = here.pieces[mine], there.pieces[theirs]
    if own.key == other.key or own.type is not other.type:
        return False
    return own.type is not PieceType.QUANTITY or here.unit(own) == there.unit(other)


def _denied(here: _Sentence, there: _Sentence, line: Evidence) -> bool:
    """Return whether one sentence denies what the other says, or its state has an opposite."""
    if line.finding is Finding.OPPOSITE:
        mine, theirs = here.at(line.own), there.at(line.other)
        return min(mine, theirs) > 0 and here.is_state(mine) and there.is_state(theirs)
    said, denied = sorted((here, there), key=lambda sentence: sentence.denials)
    if (said.denials, denied.denials) != (0, 1):
        return False
    (at,) = (number for number, piece in enumerate(denied.pieces) if piece.negated)
    keys = [piece.key for piece in said.pieces if not piece.negated]
    return denied.is_said(at) and denied.pieces[at].key in keys
