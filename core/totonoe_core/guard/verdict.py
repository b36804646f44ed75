"""What a new text is to a memory: duplicate, update, contradiction, refinement, related or new.

    same words in the same order (`canonical_form`)      DUPLICATE
    what is wrapped around, and sentences both have, are set aside
    the rest is read and aligned (`alignment`)
        a named difference                               CONTRADICTION, UPDATE or RELATED
        something on one side only                       REFINEMENT
        all paired, nothing swapped                      DUPLICATE, if the cosine agrees

A similarity never makes a duplicate by itself: it decides only whether loose synonyms and
light words left over may be overlooked (`Weights`). Pure: texts, their cosine and the weights
in, a judgement out. Symmetric: swapping the texts swaps ADDED with MISSING and the spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from totonoe_core import limits
from totonoe_core.guard.alignment import Alignment, Pair, Tie, align
from totonoe_core.guard.differences import (
    LIGHT_MAX,
    Parts,
    differences,
    parts_of,
    span,
    whole,
)
from totonoe_core.guard.marks import marks, same_marks
from totonoe_core.guard.sentences import unshared
from totonoe_core.guard.weights import Features, Weights
from totonoe_core.records import Evidence, Finding, Judgement, Verdict
from totonoe_core.text.normalize import canonical_form, refusing_form, snippet
from totonoe_core.text.reading.language import common_language
from totonoe_core.text.reading.model import Reading
from totonoe_core.text.reading.read import read
from totonoe_core.text.reading.wrapping import inner


@dataclass(frozen=True, slots=True)
class Comparison:
    """A judgement, and the features it rests on where no difference could be named."""

    judgement: Judgement
    features: Features | None = None


_FORMS_KEPT = 4_096
_SHARED_MIN = 0.4
"""Share of the weight that has to be common before a difference is one of the same frame."""
_RELATED_FROM = 0.6
"""Cosine from which texts without a common frame are still related."""

# What a named difference makes of two texts with one frame; the first that is found decides.
_VERDICTS: dict[Verdict, tuple[Finding, ...]] = {
    Verdict.RELATED: (
        Finding.QUESTION,
        Finding.SUBJECT,
        Finding.ROLE,
        Finding.ORDER,
        Finding.IDENTIFIER,
        Finding.PATH,
        Finding.QUOTE,
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


_form = lru_cache(maxsize=_FORMS_KEPT)(canonical_form)
"""One new text is compared with many, and those with the next."""


def forget_cached() -> None:
    """Empty the cache, which holds texts. For Purge."""
    _form.cache_clear()


def judged(own: str, other: str, cosine: float, weights: Weights) -> Judgement:
    """What `own` is to `other`. See `compare`."""
    return compare(own, other, cosine, weights).judgement


def compare(own: str, other: str, cosine: float, weights: Weights) -> Comparison:
    """What `own` is to `other`, with the features that decided.

    Parameters
    ----------
    own, other : str
        The new text and that of a memory.
    cosine : float
        Similarity of their vectors, -1..1.
    weights : Weights
        Of the model that made the vectors.
    """
    if refusing_form(own) == refusing_form(other):
        return _same(Finding.SAME_TEXT, own, other)
    if (form := _form(own)) and form == _form(other):
        return _same(Finding.SAME_WORDS, own, other)
    # In one order whoever asks: which of two swapped pieces counts as moved is chance.
    if (len(other), other) < (len(own), own):
        return _mirrored(_compare_texts(other, own, cosine, weights))
    return _compare_texts(own, other, cosine, weights)


def _mirrored(compared: Comparison) -> Comparison:
    """The same comparison with the texts changing places."""
    found = compared.judgement
    evidence = tuple(
        Evidence(
            _MIRRORED.get(one.finding, one.finding),
            one.other,
            one.own,
            one.other_text,
            one.own_text,
        )
        for one in found.evidence
    )
    return Comparison(Judgement(found.verdict, found.confidence, evidence), compared.features)


_MIRRORED = {Finding.ADDED: Finding.MISSING, Finding.MISSING: Finding.ADDED}


def _compare_texts(own: str, other: str, cosine: float, weights: Weights) -> Comparison:
    language = common_language(own, other)
    own_in, other_in = inner(own, language), inner(other, language)
    own_text, other_text = own[slice(*own_in)], other[slice(*other_in)]
    if (form := _form(own_text)) and form == _form(other_text):
        return _same(Finding.SAME_WORDS, own, other, own_in, other_in)
    own_at, other_at = unshared(own_text, other_text)
    own_at = own_at[0] + own_in[0], own_at[1] + own_in[0]
    other_at = other_at[0] + other_in[0], other_at[1] + other_in[0]
    own_rest, other_rest = own[slice(*own_at)], other[slice(*other_at)]
    if not own_rest.strip() or not other_rest.strip():
        return _whole_sentences(own, own_at, other, other_at)
    here, there = read(own_rest, language), read(other_rest, language)
    same = same_marks(marks(own_rest, here.pieces), marks(other_rest, there.pieces))
    shares_sentences = len(own_rest) < len(own_text.strip())
    compared = _compare_readings(here, there, same, cosine, weights, shares_sentences)
    found = compared.judgement
    evidence = tuple(
        _quoted(one, own, own_at[0], other, other_at[0])
        for one in found.evidence[: limits.EVIDENCE_MAX]
    )
    return Comparison(Judgement(found.verdict, found.confidence, evidence), compared.features)


def _whole_sentences(
    own: str, own_at: tuple[int, int], other: str, other_at: tuple[int, int]
) -> Comparison:
    """One text has all sentences of the other; what it has beside them is whole sentences."""
    if not own[slice(*own_at)].strip() and not other[slice(*other_at)].strip():
        return _same(Finding.SAME_WORDS, own, other)
    if own[slice(*own_at)].strip():
        more = Evidence(Finding.ADDED, own_at)
    else:
        more = Evidence(Finding.MISSING, (0, 0), other_at)
    quoted = _quoted(more, own, 0, other, 0)
    return Comparison(Judgement(Verdict.REFINEMENT, 1.0, (quoted,)))


def _same(
    finding: Finding,
    own: str,
    other: str,
    own_at: tuple[int, int] | None = None,
    other_at: tuple[int, int] | None = None,
) -> Comparison:
    """Nothing new, from end to end or between what is wrapped around both."""
    everything = Evidence(finding, own_at or (0, len(own)), other_at or (0, len(other)))
    quoted = _quoted(everything, own, 0, other, 0)
    return Comparison(Judgement(Verdict.DUPLICATE, 1.0, (quoted,)))


def _quoted(one: Evidence, own: str, own_at: int, other: str, other_at: int) -> Evidence:
    """Evidence with offsets into the whole texts, and what stands there."""

    def place(span: tuple[int, int], by: int, text: str) -> tuple[tuple[int, int], str]:
        if span == (0, 0):
            return span, ""
        start, end = span[0] + by, span[1] + by
        return (start, end), snippet(text[start:end], limits.EVIDENCE_CHARS)

    own_span, own_text = place(one.own, own_at, own)
    other_span, other_text = place(one.other, other_at, other)
    return Evidence(one.finding, own_span, other_span, own_text, other_text)


def _compare_readings(
    own: Reading,
    other: Reading,
    marks_agree: bool,
    cosine: float,
    weights: Weights,
    shares_sentences: bool,
) -> Comparison:
    if not (own.certain and other.certain) or max(len(own.pieces), len(other.pieces)) > (
        limits.VERDICT_PIECES_MAX
    ):
        return _unread(cosine, shares_sentences)
    if not own.pieces or not other.pieces:
        return _unread(cosine, shares_sentences)
    aligned = align(own.pieces, other.pieces)
    shared = sum(min(pair.own.weight, pair.other.weight) for pair in aligned.shared())
    total = sum(piece.weight for piece in (*own.pieces, *other.pieces)) or 1.0
    share = 1.0 if shares_sentences else 2.0 * shared / total
    named = list(differences(own, other, aligned))
    if not marks_agree:
        named.append(Evidence(Finding.SYMBOL, whole(own), whole(other)))
    if share < _SHARED_MIN:
        verdict = Verdict.RELATED if cosine >= _RELATED_FROM else Verdict.NEW
        return _judged(verdict, cosine if verdict is Verdict.RELATED else 1 - cosine, named)
    added = [piece for piece in aligned.added if piece.weight > LIGHT_MAX]
    missing = [piece for piece in aligned.missing if piece.weight > LIGHT_MAX]
    leftover = [Evidence(Finding.ADDED, span(piece)) for piece in added]
    leftover += [Evidence(Finding.MISSING, (0, 0), span(piece)) for piece in missing]
    if named and not _only_more(named, bool(added), bool(missing)):
        return _judged(_verdict_of(named, bool(added and missing)), share, named + leftover)
    if leftover:
        both = bool(added and missing)
        verdict = Verdict.RELATED if both else Verdict.REFINEMENT
        return _judged(verdict, share, [*leftover, *named])
    return _reworded(aligned, total, cosine, weights)


def _only_more(named: Sequence[Evidence], added: bool, missing: bool) -> bool:
    """Whether all that is named are quantifiers within what one text says more: "every night"."""
    if added == missing or any(one.finding is not Finding.QUANTIFIER for one in named):
        return False
    nothing = (0, 0)
    return all((one.other if added else one.own) == nothing for one in named)


def _judged(verdict: Verdict, confidence: float, evidence: Sequence[Evidence]) -> Comparison:
    confidence = max(0.0, min(1.0, confidence))
    return Comparison(Judgement(verdict, confidence, tuple(evidence)))


def _unread(cosine: float, shares_sentences: bool) -> Comparison:
    """Where reading found nothing to go by, nobody is refused."""
    near = shares_sentences or cosine >= _RELATED_FROM
    verdict = Verdict.RELATED if near else Verdict.NEW
    return _judged(verdict, abs(cosine), [Evidence(Finding.UNREAD)])


def _verdict_of(named: Sequence[Evidence], both_left_over: bool) -> Verdict:
    found = {one.finding for one in named}
    denied = not found.isdisjoint(_VERDICTS[Verdict.CONTRADICTION])
    if denied and sum(one.finding is Finding.ROLE for one in named) == 1:
        # One piece alone exchanges its part with nobody: a topic that was read as who does it.
        found.discard(Finding.ROLE)
    for verdict, findings in _VERDICTS.items():
        if not found.isdisjoint(findings):
            # With more left over on both sides it is another statement, not another value.
            if both_left_over and verdict is Verdict.UPDATE:
                return Verdict.RELATED
            return verdict
    return Verdict.RELATED


def _reworded(aligned: Alignment, total: float, cosine: float, weights: Weights) -> Comparison:
    """All that says something is paired and nothing contradicts: how far apart are the words?"""
    near = [pair for pair in aligned.pairs if _loose(pair)]
    soft = [pair for pair in aligned.pairs if not _loose(pair) and parts_of(pair) is Parts.ROUGH]
    light = (*aligned.added, *aligned.missing)
    features = Features(
        cosine=cosine,
        near=_weight(near) / total,
        light=sum(piece.weight for piece in light) / total,
        soft=_weight(soft) / total,
        moved=_weight([pair for pair in aligned.pairs if pair.moved]) / total,
    )
    probability = features.probability(weights)
    evidence = [Evidence(Finding.SYNONYM, span(pair.own), span(pair.other)) for pair in near]
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
    if probability >= weights.at_least:
        verdict, confidence = Verdict.DUPLICATE, probability
    else:
        one_sided = bool(aligned.added) != bool(aligned.missing) and not near
        verdict = Verdict.REFINEMENT if one_sided else Verdict.RELATED
        confidence = 1.0 - probability
    judged = _judged(verdict, confidence, [shared, *evidence])
    return Comparison(judged.judgement, features)


def _weight(pairs: Sequence[Pair]) -> float:
    return sum(pair.own.weight + pair.other.weight for pair in pairs)


def _loose(pair: Pair) -> bool:
    """Not the same word, though no difference: a loose synonym, or the opposite denied."""
    return pair.tie is Tie.NEAR or pair.tie is Tie.OPPOSITE
