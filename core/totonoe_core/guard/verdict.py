"""The verdict on a new text and a memory: duplicate, update, contradiction and the others.

    same words in the same order (`canonical_form`)      DUPLICATE
    wrappings, and sentences that both have, are set aside
    the rest is read and aligned (`alignment`)
        a named difference                               CONTRADICTION, UPDATE or RELATED
        something on one side only                       REFINEMENT, or CONTAINED in the memory
        all paired, nothing swapped                      DUPLICATE, if the cosine agrees

A similarity never makes a duplicate by itself: it decides only whether leftover light words and
negated opposites may be ignored (`Weights`). A loose synonym may not: then the texts are likely the
same. Pure: texts, their cosine and the weights in, a judgement out. Symmetric: swapping the texts
swaps ADDED with MISSING, REFINEMENT with CONTAINED, and the spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import nan

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.kept import kept
from totonoe_core.domain.records import Evidence, Finding, Judgement, Verdict
from totonoe_core.domain.weights import EVEN_CHANCE, Features, Weights
from totonoe_core.guard import features as pair_features
from totonoe_core.guard import sentences, traits
from totonoe_core.guard.addresses import is_address
from totonoe_core.guard.alignment import AlignedPair, Alignment, Tie, align
from totonoe_core.guard.differences import (
    LIGHT_MAX,
    Parts,
    differences,
    is_about,
    parts_of,
    same_modality,
    span,
    whole,
)
from totonoe_core.guard.exchange import Exchange, exchanged
from totonoe_core.guard.features import Readings
from totonoe_core.guard.marks import same_marks
from totonoe_core.guard.places import Places
from totonoe_core.guard.probability import Slot, is_hard, placed, same_probability
from totonoe_core.guard.quoting import Side, of_exchange, quoted
from totonoe_core.guard.sentences import form_of, unshared, without_equal_ends
from totonoe_core.guard.steps import out_of_order
from totonoe_core.guard.traits import Traits, traits_of
from totonoe_core.text.normalize import refusing_form
from totonoe_core.text.reading.budget import ReadingBudget
from totonoe_core.text.reading.language import common_language
from totonoe_core.text.reading.model import Piece, PieceType, Reading, Role
from totonoe_core.text.reading.read import READ_CHARS_MAX, reads
from totonoe_core.text.reading.wrapping import inner, other_sorts


@dataclass(frozen=True, slots=True)
class Comparison:
    """A judgement, and how probably the texts say the same.

    Attributes
    ----------
    features : Features or None
        Of the wording, if no difference could be named.
    placed : tuple of (Finding, Slot)
        The named differences that have a place in both texts (`probability.placed`).
    pair_features : float64[n] or None
        By `features.NAMES`; `None` for equal text or words.
    whole_sentences : bool
        One text has all sentences of the other, and more.
    asks : bool
        One of the stretches that differ asks something, or a text ends where its answer would
        begin, with a colon.
    """

    judgement: Judgement
    features: Features | None = None
    placed: tuple[tuple[Finding, Slot], ...] = ()
    pair_features: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    whole_sentences: bool = False
    asks: bool = False

    def separate(self) -> Comparison:
        """Return the same with the finding that what one text leaves out restricts nothing."""
        (more,) = self.judgement.evidence
        evidence = (more, replace(more, finding=Finding.SEPARATE))
        return replace(self, judgement=replace(self.judgement, evidence=evidence))


_SHARED_MIN = 0.4
"""Share of the weight that must be common before a difference counts within one frame."""
_COLONS = (":", "：")
_COMPARED_KEPT_CHARS = 100_000
_RELATED_FROM = 0.6
"""Cosine from which texts without a common frame are still related."""

# Verdict for each named difference of two texts with one frame; the first match decides.
_VERDICTS: dict[Verdict, tuple[Finding, ...]] = {
    Verdict.RELATED: (
        Finding.QUESTION,
        Finding.SUBJECT,
        Finding.ROLE,
        Finding.ORDER,
        Finding.IDENTIFIER,
        Finding.PATH,
        Finding.QUOTE,
        Finding.CONJUNCTION,
        Finding.FUNCTION_WORD,
    ),
    Verdict.CONTRADICTION: (Finding.POLARITY, Finding.OPPOSITE),
    Verdict.UPDATE: (
        Finding.NUMBER,
        Finding.QUANTITY,
        Finding.DATE,
        Finding.TIME,
        Finding.VERSION,
        Finding.NAME,
        Finding.QUANTIFIER,
        Finding.MODALITY,
        Finding.TENSE,
        Finding.SYMBOL,
        Finding.REPLACED,
    ),
}


def forget_cached() -> None:
    """Empty the caches, which hold texts. Called by Purge."""
    _compared_freely.cache_clear()
    sentences.forget_cached()
    traits.forget_cached()
    pair_features.forget_cached()


def judged(
    own: str, other: str, cosine: float, weights: Weights, bundled: bool = False
) -> Judgement:
    """Return the judgement of `compare`."""
    return compare(own, other, cosine, weights, bundled=bundled).judgement


def compare(
    own: str,
    other: str,
    cosine: float,
    weights: Weights,
    budget: ReadingBudget | None = None,
    other_words: bool = False,
    bundled: bool = False,
) -> Comparison:
    """Compare a new text with a memory's; return the judgement and its features.

    Parameters
    ----------
    own, other : str
        The new text and that of a memory.
    cosine : float
        Similarity of their vectors, -1..1.
    weights : Weights
        Of the model that made the vectors.
    budget : ReadingBudget, optional
        Limits the pieces read; by default the pair has a budget of its own. If too little is left,
        the judgement says OVER_BUDGET, and never DUPLICATE.
    other_words : bool
        The caller knows that the canonical forms differ.
    bundled : bool
        The vectors come from the bundled model. The probability leaves out the cosine of any other.
    """
    if not other_words:
        if refusing_form(own) == refusing_form(other):
            return _same(Finding.SAME_TEXT, own, other)
        if (form := form_of(own)) and form == form_of(other):
            return _same(Finding.SAME_WORDS, own, other)
    budget = budget or ReadingBudget()
    # In a fixed order of the texts, since which of two swapped pieces counts as moved is chance.
    mirrored = (len(other), other) < (len(own), own)
    texts = (other, own) if mirrored else (own, other)
    if budget.covers(own, other):
        comparison, stretches, read = _compared_freely(*texts, cosine, weights, bundled, mirrored)
        budget.compare(*stretches)
        budget.read(*read)
    else:
        comparison = _compare_texts(*texts, cosine, weights, budget, bundled, mirrored)
    return _of_two_sorts(own, other, comparison)


class _Noted(ReadingBudget):
    """A budget that suffices for one pair, and notes what is to be paid for."""

    def __init__(self) -> None:
        super().__init__()
        self.stretches: tuple[str, str] = "", ""
        self.texts: tuple[str, ...] = ()

    def compare(self, own: str, other: str) -> bool:
        self.stretches = own, other
        return True

    def read(self, *texts: str) -> bool:
        self.texts = texts
        return True


@kept(_COMPARED_KEPT_CHARS)
def _compared_freely(
    own: str, other: str, cosine: float, weights: Weights, bundled: bool, mirrored: bool
) -> tuple[Comparison, tuple[str, str], tuple[str, ...]]:
    """Compare two texts for which the budget suffices; return also what to pay for.

    Kept, since a save that waits for a judge or a vector is decided again.
    """
    noted = _Noted()
    comparison = _compare_texts(own, other, cosine, weights, noted, bundled, mirrored)
    return comparison, noted.stretches, noted.texts


def _of_two_sorts(own: str, other: str, comparison: Comparison) -> Comparison:
    """Return the comparison, or one that is no duplicate if labels tell a plan from a fact."""
    if comparison.judgement.verdict is not Verdict.DUPLICATE:
        return comparison
    language = common_language(own, other)
    here, there = inner(own, language)[0], inner(other, language)[0]
    if not other_sorts(own[:here], other[:there], language):
        return comparison
    labels = _of_whole(Evidence(Finding.REPLACED, (0, here), (0, there)), own, other)
    evidence = (*labels, *comparison.judgement.evidence)[: limits.EVIDENCE_MAX]
    judgement = Judgement(
        Verdict.RELATED, min(comparison.judgement.same_probability, EVEN_CHANCE), evidence
    )
    return replace(comparison, judgement=judgement, features=None)


def _mirrored(line: Evidence) -> Evidence:
    """Return the same evidence with the texts swapped."""
    finding = _MIRRORED.get(line.finding, line.finding)
    return Evidence(finding, line.other, line.own, line.other_text, line.own_text, line.place)


_MIRRORED = {Finding.ADDED: Finding.MISSING, Finding.MISSING: Finding.ADDED}
_MIRRORED_VERDICTS = {
    Verdict.REFINEMENT: Verdict.CONTAINED,
    Verdict.CONTAINED: Verdict.REFINEMENT,
}


@dataclass(slots=True)
class _VerdictDraft:
    """Verdict and evidence, before the probability completes a `Comparison`."""

    verdict: Verdict
    evidence: Sequence[Evidence]
    features: Features | None = None
    whole_sentences: bool = False


class _Rest:
    """The stretch of each text that is still compared, the language of both, and whether the own
    text is the memory's."""

    def __init__(self, own: str, other: str, language: str, mirrored: bool) -> None:
        self.own, self.other, self.language, self.mirrored = own, other, language, mirrored
        self.own_at, self.other_at = (0, len(own)), (0, len(other))
        self.own_text, self.other_text = own, other

    @property
    def set_aside(self) -> float:
        """Return the share of both texts that is outside of the stretches."""
        whole_length = len(self.own) + len(self.other)
        return 1.0 - (len(self.own_text) + len(self.other_text)) / whole_length

    def narrow(self, own_at: tuple[int, int], other_at: tuple[int, int]) -> None:
        """Leave narrower stretches, given by offsets into these."""
        own_from, other_from = self.own_at[0], self.other_at[0]
        self.own_at = own_at[0] + own_from, own_at[1] + own_from
        self.other_at = other_at[0] + other_from, other_at[1] + other_from
        self.own_text = self.own[slice(*self.own_at)]
        self.other_text = self.other[slice(*self.other_at)]


def _compare_texts(
    own: str,
    other: str,
    cosine: float,
    weights: Weights,
    budget: ReadingBudget,
    bundled: bool,
    mirrored: bool,
) -> Comparison:
    language = common_language(own, other)
    rest = _Rest(own, other, language, mirrored)
    rest.narrow(inner(own, language), inner(other, language))
    stated = rest.own_at, rest.other_at
    wrapped = rest.own_text != own or rest.other_text != other
    stated_length = len(rest.own_text.strip())
    rest.narrow(*without_equal_ends(rest.own_text, rest.other_text))
    readings = None
    if not budget.compare(rest.own_text, rest.other_text):
        found = _unread(cosine, False, Finding.OVER_BUDGET)
    else:
        form = form_of(rest.own_text) if wrapped else ""
        if form and form == form_of(rest.other_text):
            return _same(Finding.SAME_WORDS, own, other, *stated, mirrored=mirrored)
        rest.narrow(*unshared(rest.own_text, rest.other_text))
        if not rest.own_text.strip() and not rest.other_text.strip():
            return _same(Finding.SAME_WORDS, own, other, mirrored=mirrored)
        shares_sentences = len(rest.own_text) < stated_length
        found, readings = _compare_rest(rest, shares_sentences, cosine, weights, budget)
    seen = pair_features.features(
        rest.own_text,
        rest.other_text,
        rest.set_aside,
        cosine if bundled else nan,
        language,
        readings,
    )
    differing = () if readings is None else placed(readings, rest.own_text, rest.other_text)
    asks = readings is not None and any(
        side.reading.asks for side in (readings.own, readings.other)
    )
    # "Verses that praise teachers:" states nothing yet.
    asks = asks or own.rstrip().endswith(_COLONS) or other.rstrip().endswith(_COLONS)
    verdict, evidence, hard = found.verdict, tuple(found.evidence), is_hard(differing)
    changed = exchanged(rest.own_text, rest.other_text)
    probability, weighed = same_probability(seen), found.features
    if changed and (verdict is not Verdict.DUPLICATE or _are_apart(changed, readings)):
        evidence, hard = of_exchange(changed, evidence, *_sides(rest, readings)), True
        if verdict is Verdict.DUPLICATE:
            verdict, weighed, probability = Verdict.RELATED, None, min(probability, EVEN_CHANCE)
    if mirrored:
        verdict = _MIRRORED_VERDICTS.get(verdict, verdict)
        evidence = tuple(map(_mirrored, evidence))
    judgement = Judgement(verdict, probability, evidence, hard)
    return Comparison(judgement, weighed, differing, seen, found.whole_sentences, asks)


def _are_apart(changed: Exchange, readings: Readings | None) -> bool:
    """Return whether more than a verb parts what changed places: no members of one list."""
    (first, _), (last, _) = changed
    pieces = () if readings is None else readings.own.reading.pieces
    between = [piece for piece in pieces if first[1] <= piece.start and piece.end <= last[0]]
    return any(piece.role != Role.PREDICATE for piece in between)


def _sides(rest: _Rest, readings: Readings | None) -> tuple[Side, Side]:
    """Return both stretches, with their pieces if they were read."""
    if readings is None:
        return Side(rest.own, rest.own_at), Side(rest.other, rest.other_at)
    return (
        Side(rest.own, rest.own_at, readings.own.reading.pieces),
        Side(rest.other, rest.other_at, readings.other.reading.pieces),
    )


def _compare_rest(
    rest: _Rest, shares_sentences: bool, cosine: float, weights: Weights, budget: ReadingBudget
) -> tuple[_VerdictDraft, Readings | None]:
    """Compare two stretches; return also their readings if they could be read."""
    own, other, language = rest.own_text, rest.other_text, rest.language
    if not own.strip() or not other.strip():
        return _whole_sentences(rest), None
    if not reads(language):
        return _unread(cosine, shares_sentences), None
    too_long = max(len(own), len(other)) > READ_CHARS_MAX
    if too_long or not budget.read(own, other):
        return _unread(cosine, shares_sentences, Finding.OVER_BUDGET), None
    both = traits_of(own, language), traits_of(other, language)
    here, there = (traits.reading for traits in both)
    if max(len(here.pieces), len(there.pieces)) > limits.VERDICT_PIECES_MAX:
        return _unread(cosine, shares_sentences, Finding.OVER_BUDGET), None
    if not here.pieces or not there.pieces:
        return _unread(cosine, shares_sentences), None
    readings = _aligned(*both)
    found = _compare_readings(readings, cosine, weights, shares_sentences)
    sides = _sides(rest, readings)
    places = Places(readings.aligned, *sides, words_of_own=rest.mirrored)
    found.evidence = quoted(found.evidence, *sides, places.name)
    return found, readings


def _one_sided(adds: bool) -> Verdict:
    return Verdict.REFINEMENT if adds else Verdict.CONTAINED


def _whole_sentences(rest: _Rest) -> _VerdictDraft:
    """Compare texts of which one has all sentences of the other: the rest is whole sentences."""
    adds = bool(rest.own_text.strip())
    if adds:
        more = Evidence(Finding.ADDED, rest.own_at)
    else:
        more = Evidence(Finding.MISSING, (0, 0), rest.other_at)
    evidence = _of_whole(more, rest.own, rest.other)
    return _VerdictDraft(_one_sided(adds), evidence, whole_sentences=True)


def _same(
    finding: Finding,
    own: str,
    other: str,
    own_at: tuple[int, int] | None = None,
    other_at: tuple[int, int] | None = None,
    mirrored: bool = False,
) -> Comparison:
    """Return a DUPLICATE, for the whole texts or the parts inside their wrappings."""
    everything = Evidence(finding, own_at or (0, len(own)), other_at or (0, len(other)))
    (shown,) = _of_whole(everything, own, other)
    evidence = (_mirrored(shown) if mirrored else shown,)
    return Comparison(Judgement(Verdict.DUPLICATE, 1.0, evidence))


def _of_whole(one: Evidence, own: str, other: str) -> tuple[Evidence, ...]:
    """Return evidence with quotations, if its offsets count from the start of both texts."""
    return quoted((one,), Side(own, (0, len(own))), Side(other, (0, len(other))))


def _aligned(own: Traits, other: Traits) -> Readings:
    here, there = own.reading, other.reading
    aligned = align(here.pieces, there.pieces)
    named = list(differences(here, there, aligned))
    marks_agree = same_marks(own.marks, other.marks) and not _marked_anew(own, other, aligned)
    if not marks_agree:
        named.append(Evidence(Finding.SYMBOL, whole(here), whole(there)))
    return Readings(own, other, aligned, tuple(named), marks_agree)


def _marked_anew(own: Traits, other: Traits, aligned: Alignment) -> bool:
    """Return whether marks may stand at other words than before: "tea ✓ milk ✗", "milk ✓ tea ✗"."""
    if not (own.marked and other.marked) or (_framed(own) and _framed(other)):
        return False
    if any(pair.moved for pair in aligned.pairs):
        return True
    # Where one text has more words, these are named.
    alike = len(own.reading.pieces) == len(other.reading.pieces)
    return alike and own.marked != other.marked


def _framed(traits: Traits) -> bool:
    """Return whether all marks stand before or all behind the words, as a decoration does."""
    return set(traits.marked) in ({0}, {len(traits.reading.pieces)})


def _compare_readings(
    readings: Readings, cosine: float, weights: Weights, shares_sentences: bool
) -> _VerdictDraft:
    own, other = readings.own.reading, readings.other.reading
    aligned, named = readings.aligned, readings.named
    if not (own.certain and other.certain):
        return _unread(cosine, shares_sentences)
    shared = sum([min(pair.own.weight, pair.other.weight) for pair in aligned.shared()])
    total = readings.weight
    share = 1.0 if shares_sentences else 2.0 * shared / total
    if share < _SHARED_MIN:
        verdict = Verdict.RELATED if cosine >= _RELATED_FROM else Verdict.NEW
        return _VerdictDraft(verdict, named)
    added = [piece for piece in aligned.added if piece.weight > LIGHT_MAX]
    missing = [piece for piece in aligned.missing if piece.weight > LIGHT_MAX]
    leftover = [Evidence(Finding.ADDED, span(piece)) for piece in added]
    leftover += [Evidence(Finding.MISSING, (0, 0), span(piece)) for piece in missing]
    if named and not _only_more(named, bool(added), bool(missing)):
        stated = _stated(named, readings)
        several = bool(added and missing) or _changed_count(stated, own, other) > 1
        another = _another_object(stated, aligned) or _in_one_part(added, missing)
        return _VerdictDraft(_verdict_of(stated, several, another), [*named, *leftover])
    if leftover:
        both = bool(added and missing)
        verdict = Verdict.RELATED if both else _one_sided(bool(added))
        return _VerdictDraft(verdict, [*leftover, *named])
    moved_step = out_of_order(own, other, aligned)
    if moved_step is not None:
        more = Evidence(Finding.ORDER, span(moved_step.own), span(moved_step.other))
        return _VerdictDraft(Verdict.RELATED, [more])
    return _reworded(aligned, total, cosine, weights)


def _only_more(named: Sequence[Evidence], added: bool, missing: bool) -> bool:
    """Return whether all findings lie within one text's addition: "every night", "on Friday"."""
    if added == missing or any(line.finding not in _WITHIN_MORE for line in named):
        return False
    nothing = (0, 0)
    return all((line.other if added else line.own) == nothing for line in named)


_WITHIN_MORE = (Finding.QUANTIFIER, Finding.FUNCTION_WORD, Finding.CONJUNCTION)


def _unread(
    cosine: float, shares_sentences: bool, finding: Finding = Finding.UNREAD
) -> _VerdictDraft:
    """Return a verdict that refuses nothing, for texts that were not read, or not to their end."""
    near = shares_sentences or cosine >= _RELATED_FROM
    verdict = Verdict.RELATED if near else Verdict.NEW
    return _VerdictDraft(verdict, [Evidence(finding)])


_CONTENTS = {
    Finding.NUMBER: "figures",
    Finding.QUANTITY: "figures",
    Finding.DATE: "moment",
    Finding.TIME: "moment",
    Finding.VERSION: "version",
    Finding.NAME: "word",
    Finding.REPLACED: "word",
}
"""Kinds of exchanged content. All figures count as one: "8 busy, 2 idle" is read off at once."""


def _changed_count(named: Sequence[Evidence], own: Reading, other: Reading) -> int:
    """Count the exchanged contents: one for each kind but words; words that touch are one.

    With two exchanged contents it is another statement: "Tom is on call on Monday" still holds
    where "Priya is on call on Tuesday" does.
    """
    here = {span(piece): place for place, piece in enumerate(own.pieces)}
    there = {span(piece): place for place, piece in enumerate(other.pieces)}
    kinds: set[str] = set()
    words: dict[tuple[str, str], tuple[int, int]] = {}
    for line in named:
        kind = _CONTENTS.get(line.finding)
        if kind is None or line.own not in here or line.other not in there:
            continue
        mine, theirs = here[line.own], there[line.other]
        if kind == "word":
            # A repeated word is exchanged once.
            words.setdefault((own.pieces[mine].key, other.pieces[theirs].key), (mine, theirs))
        else:
            kinds.add(kind)
    places = sorted(words.values())
    touching = sum((a + 1, b + 1) == after for (a, b), after in pairwise(places))
    return len(kinds) + len(places) - touching


def _stated(named: Sequence[Evidence], readings: Readings) -> list[Evidence]:
    """Return the findings that count for the verdict, as what they count.

    A host, an address or a commit is a value, unless it names the subject. A rule in the passive
    differs in no denial ("never run migrations", "migrations must never be run"), and what is
    ordered must be done.
    """
    own, other = readings.own.reading, readings.other.reading
    shared = tuple(readings.aligned.shared())
    flips = [pair for pair in shared if pair.own.negated != pair.other.negated]
    dropped = set()
    if _deny_one_phrase(flips):
        dropped |= {(Finding.POLARITY, span(pair.own), span(pair.other)) for pair in flips}
    for pair in shared:
        if _is_ordered(own, pair.own, pair.other) or _is_ordered(other, pair.other, pair.own):
            dropped.add((Finding.MODALITY, span(pair.own), span(pair.other)))
    values = {
        (span(pair.own), span(pair.other))
        for pair in readings.aligned.pairs
        if pair.tie is Tie.OTHER_VALUE and _says(pair.own, own) and _says(pair.other, other)
    }
    return [
        replace(line, finding=Finding.REPLACED)
        if line.finding in _MADE_NAMES and (line.own, line.other) in values
        else line
        for line in named
        if (line.finding, line.own, line.other) not in dropped
    ]


_MADE_NAMES = (Finding.IDENTIFIER, Finding.PATH)


def _says(piece: Piece, reading: Reading) -> bool:
    """Return whether a made name is what a statement says, not what it is about."""
    if piece is reading.pieces[0] or is_about(piece, reading):
        return False
    return piece.role == Role.PREDICATE or is_address(piece)


def _deny_one_phrase(flips: Sequence[AlignedPair]) -> bool:
    """Return whether each text denies one of two words that belong together in both."""
    if len(flips) != 2:
        return False
    one, another = flips
    return (
        one.own.negated is another.other.negated
        and _belong(one.own, another.own)
        and _belong(one.other, another.other)
    )


def _belong(one: Piece, another: Piece) -> bool:
    """Return whether one piece of a text belongs to the other."""
    return one.head == another.key or another.head == one.key


def _is_ordered(reading: Reading, ordered: Piece, stated: Piece) -> bool:
    """Return whether a piece is a command, and its partner says that it must be so."""
    return reading.orders and not ordered.modality and stated.modality == "must"


_NO_OBJECTS = frozenset({Role.PREDICATE, Role.ADVERB})


def _another_object(stated: Sequence[Evidence], aligned: Alignment) -> bool:
    """Return whether the texts speak of two things: "likes tea", "does not like coffee"."""
    contents = {(line.own, line.other) for line in stated if line.finding in _CONTENTS}
    exchanged = [pair for pair in aligned.pairs if (span(pair.own), span(pair.other)) in contents]
    denied = [pair for pair in aligned.shared() if pair.own.negated != pair.other.negated]
    return any(
        _NO_OBJECTS.isdisjoint((pair.own.role, pair.other.role))
        or (pair.own.role != Role.ADVERB and any(_follows(pair, verb) for verb in denied))
        for pair in exchanged
    )


def _follows(pair: AlignedPair, before: AlignedPair) -> bool:
    return pair.own.start > before.own.start and pair.other.start > before.other.start


def _in_one_part(added: Sequence[Piece], missing: Sequence[Piece]) -> bool:
    """Return whether the texts have another word in the same part: "in Kyiv", "in Lviv"."""
    if len(added) != 1 or len(missing) != 1:
        return False
    (one,), (another,) = added, missing
    alike = (one.role, one.type) == (another.role, another.type)
    return alike and one.role not in _NO_OBJECTS


def _verdict_of(stated: Sequence[Evidence], several: bool, another: bool) -> Verdict:
    """Return the verdict by the gravest finding.

    Parameters
    ----------
    several : bool
        More differs than one value: it is another statement, not another value.
    another : bool
        They speak of two things: to deny something else contradicts nothing.
    """
    found = {line.finding for line in stated}
    denied = not found.isdisjoint(_VERDICTS[Verdict.CONTRADICTION])
    if denied and sum(line.finding is Finding.ROLE for line in stated) == 1:
        # One piece alone swaps its part with no other: a topic was read as the actor.
        found.discard(Finding.ROLE)
    for verdict, findings in _VERDICTS.items():
        if not found.isdisjoint(findings):
            loose = several if verdict is Verdict.UPDATE else another
            return Verdict.RELATED if loose else verdict
    return Verdict.RELATED


def _reworded(aligned: Alignment, total: float, cosine: float, weights: Weights) -> _VerdictDraft:
    """Decide by the weights: all that counts is paired, and only the wording differs."""
    near = [pair for pair in aligned.pairs if _other_word(pair)]
    soft = [
        pair for pair in aligned.pairs if not _other_word(pair) and parts_of(pair) is Parts.ROUGH
    ]
    reformed = [pair for pair in aligned.pairs if _other_form(pair)]
    light = (*aligned.added, *aligned.missing)
    features = Features(
        cosine=cosine,
        near=_weight(near) / total,
        light=sum(piece.weight for piece in light) / total,
        soft=_weight(soft) / total,
        moved=_weight([pair for pair in aligned.pairs if pair.moved]) / total,
        loose=bool(reformed)
        or any(pair.tie is Tie.NEAR for pair in near)
        or any(piece.type is PieceType.QUANTIFIER for piece in light),
    )
    differing = [pair for pair in aligned.pairs if pair in near or pair in reformed]
    evidence = [Evidence(Finding.SYNONYM, span(pair.own), span(pair.other)) for pair in differing]
    evidence += [Evidence(Finding.ADDED, span(piece)) for piece in aligned.added]
    evidence += [Evidence(Finding.MISSING, (0, 0), span(piece)) for piece in aligned.missing]
    shared = Evidence(
        Finding.SAME_CONTENT,
        (aligned.pairs[0].own.start, max(pair.own.end for pair in aligned.pairs)),
        (
            min(pair.other.start for pair in aligned.pairs),
            max(pair.other.end for pair in aligned.pairs),
        ),
    )
    if features.refuse(weights):
        verdict = Verdict.DUPLICATE
    else:
        one_sided = bool(aligned.added) != bool(aligned.missing) and not near
        verdict = _one_sided(bool(aligned.added)) if one_sided else Verdict.RELATED
    return _VerdictDraft(verdict, [shared, *evidence], features)


def _weight(pairs: Sequence[AlignedPair]) -> float:
    return sum(pair.own.weight + pair.other.weight for pair in pairs)


def _other_form(pair: AlignedPair) -> bool:
    """Return whether two forms of one word may say two things: "the pump", "the pumps"."""
    own, other = pair.own, pair.other
    if own.form != other.form and own.form and other.form:
        return True
    return own.modality != other.modality and not same_modality(own, other)


def _other_word(pair: AlignedPair) -> bool:
    """Return whether a pair is a loose synonym, or the negated opposite: not the same word."""
    return pair.tie is Tie.NEAR or pair.tie is Tie.OPPOSITE
