"""Search for details of texts that the text of a merged memory no longer says.

Pure: texts in, plain data out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from totonoe_core.base import limits
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.memories import LostDetail
from totonoe_core.domain.records import Finding, Verdict
from totonoe_core.guard.sentences import sentences
from totonoe_core.guard.verdict import compare
from totonoe_core.text.normalize import HAN_KANA, snippet
from totonoe_core.text.reading.budget import ReadingBudget, end_of_pieces, pieces_in
from totonoe_core.text.reading.language import common_language, languages
from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.read import READ_CHARS_MAX, read, reads
from totonoe_core.text.reading.values.find import find_values
from totonoe_core.text.tokens import tokens

# A letter or figure of a script that parts words by spaces.
_WORDY = rf"[^\W{HAN_KANA}\uac00-\ud7af]"
_WORD = re.compile(r"[^\W_]+(?:['’.:/_-][^\W_]+)*")
_UNSPACED = re.compile(rf"[{HAN_KANA}\uac00-\ud7af]")
_SENTENCE_END = re.compile(r"[.!?;。！？；\n]")
_LEADING = re.compile(r"(?:^|\s)((?:[^\W_]+(?:['’-][^\W_]+)*\s+)+)$")
_LIGHT = 0.5
"""Pieces of less weight may be left out by another wording."""
_OF_WORDS = frozenset({PieceType.WORD, PieceType.QUANTIFIER})
_BY_EVIDENCE = frozenset(
    {
        Finding.POLARITY,
        Finding.OPPOSITE,
        Finding.ROLE,
        Finding.MODALITY,
        Finding.TENSE,
        Finding.QUESTION,
        Finding.SYMBOL,
    }
)
"""Differences that words alone do not show."""
_SMALL = frozenset({Finding.CONJUNCTION, Finding.FUNCTION_WORD})
"""Differences that count where there is no other: next to one they belong to it."""


class _Detail(NamedTuple):
    """Something that a text says, with its place and a key by which it is compared."""

    start: int
    end: int
    type: PieceType
    key: str


class _LostStretch(NamedTuple):
    """A stretch of a text that says what the merged text does not."""

    start: int
    end: int
    finding: Finding


class _MergedText:
    """The details and words of a merged text, as a language reads it."""

    def __init__(self, text: str, language: str) -> None:
        self.folded = text.casefold()
        self.details: set[str] = set()
        self.words: set[str] = set()
        for code in {language, *languages(text)[:1]}:
            for found in _details(text, code, limits.LOST_READ_PIECES_MAX):
                self.details.add(found.key)
                if found.type is PieceType.QUOTE:
                    inside = text[found.start + 1 : found.end - 1]
                    self.details.update(value.key for value in find_values(inside, code))
            self.words.update(_read_words(text, code))
        self.surfaces = frozenset(_WORD.findall(self.folded))
        self.tokens = frozenset(tokens(text))

    def has_detail(self, found: _Detail, surface: str) -> bool:
        """Return whether a value or name is kept."""
        return found.key in self.details or _stands(found.type, found.key, surface, self.folded)

    def has_word(self, key: str, surface: str) -> bool:
        """Return whether a word is kept, in any form."""
        surface = surface.casefold()
        # A word of a script without spaces may stand anywhere.
        unspaced = _UNSPACED.match(surface) and surface in self.folded
        return key in self.words or surface in self.surfaces or bool(unspaced)


def lost_details(sources: Iterable[tuple[str, str]], merged_text: str) -> tuple[LostDetail, ...]:
    """Find what the sources say and the merged text does not: values, names and words.

    Values are compared by meaning: 1 kg and 1000 g, 8080 and 8,080, "14:30" and "2:30 pm" are the
    same. Words are compared by what the reader of their language makes of them, else by tokens;
    words next to each other are one detail, with the function words before them ("with oat milk").
    Where both texts can be read, what differs between the same words is found too (who does what to
    whom, "must", "not"). Another wording may give a false warning.

    Parameters
    ----------
    sources : iterable of (str, str)
        Memory id and text. The search ends after LOST_SCANNED_PIECES_MAX pieces of all texts; only
        LOST_READ_PIECES_MAX are read (`text.reading.budget` counts them).
    merged_text : str

    Returns
    -------
    tuple of LostDetail
        In the order of the sources and of their texts, each detail once a source; at most
        LOST_DETAILS_MAX. The finding is the kind of a value, NAME, MISSING for words, or the
        difference between the same words.
    """
    lost: list[LostDetail] = []
    scanned, read_pieces = limits.LOST_SCANNED_PIECES_MAX, limits.LOST_READ_PIECES_MAX
    budget = ReadingBudget(limits.LOST_READ_PIECES_MAX)
    merged_pieces = pieces_in(merged_text)
    kept: dict[str, _MergedText] = {}
    for memory_id, text in sources:
        if text == merged_text:
            continue
        language = common_language(text, merged_text) or next(iter(languages(text)), "")
        if language not in kept:
            scanned -= merged_pieces
            if scanned < 0:
                break  # half of the merged text's details would make false warnings
            kept[language] = _MergedText(merged_text, language)
        text = text[: end_of_pieces(text, scanned)]
        pieces = pieces_in(text)
        scanned -= pieces
        found = _lost_of(text, merged_text, language, kept[language], read_pieces, budget)
        for start, end, finding in found[: limits.LOST_DETAILS_MAX - len(lost)]:
            shown = snippet(text[start:end], limits.EVIDENCE_CHARS)
            lost.append(LostDetail(memory_id, finding, (start, end), shown))
        if len(lost) == limits.LOST_DETAILS_MAX:
            break
        read_pieces = max(0, read_pieces - pieces)
    return tuple(lost)


def _lost_of(
    text: str,
    merged_text: str,
    language: str,
    kept: _MergedText,
    read_pieces: int,
    budget: ReadingBudget,
) -> list[_LostStretch]:
    """Return what one text says and the merged one does not, in text order."""
    details = _details(text, language, read_pieces)
    said: set[str] = set()
    lost: list[_LostStretch] = []
    for detail in details:
        if detail.key not in said and not kept.has_detail(detail, text[detail.start : detail.end]):
            said.add(detail.key)
            lost.append(_LostStretch(detail.start, detail.end, Finding(detail.type.value)))
    judgement = compare(text, merged_text, 0.0, CAREFUL, budget).judgement
    if judgement.verdict is not Verdict.DUPLICATE:
        lost += _lost_words(text, language, kept, read_pieces, details)
        for findings in (_BY_EVIDENCE, frozenset() if lost else _SMALL):
            lost += [
                _LostStretch(*line.own, line.finding)
                for line in judgement.evidence
                if line.finding in findings and line.own[0] < line.own[1] and _apart(line.own, lost)
            ]
    return sorted(lost)


def _apart(span: tuple[int, int], lost: list[_LostStretch]) -> bool:
    return not any(span[0] < detail.end and detail.start < span[1] for detail in lost)


# -- Values and names


def _details(text: str, language: str, read_pieces: int) -> list[_Detail]:
    """Values of a text, and names of its beginning, in text order."""
    found = [
        _Detail(value.start, value.end, value.type, value.key)
        for value in find_values(text, language)
    ]
    for start, end in _readable(text, end_of_pieces(text, read_pieces)):
        found += [
            _Detail(start + piece.start, start + piece.end, piece.type, piece.key)
            for piece in read(text[start:end], language).pieces
            if piece.type is PieceType.NAME
        ]
    return sorted(found)


def _readable(text: str, end: int) -> Iterator[tuple[int, int]]:
    """Stretches up to an end that a reader takes: all of it, or its sentences."""
    if end == len(text) <= READ_CHARS_MAX:
        yield 0, end
        return
    yield from sentences(text[:end])


def _stands(type_: PieceType, key: str, surface: str, folded: str) -> bool:
    """Return whether the words of a name or quotation occur in a case-folded text.

    A reader may take a name for a word elsewhere, and a quotation may lose its marks. Values are
    not searched: as a part of another they mean something else, like 1.2 in 1.2.3.
    """
    if type_ is PieceType.NAME:
        forms = {key.casefold(), surface.casefold()}
    elif type_ is PieceType.QUOTE:
        forms = {key.casefold()}
    else:
        return False
    return any(re.search(rf"(?<!{_WORDY}){re.escape(form)}(?!{_WORDY})", folded) for form in forms)


# -- Words


def _read_words(text: str, language: str) -> Iterator[str]:
    """Yield the keys of the words and names that a reader finds in the beginning of a text."""
    for start, end in _readable(text, end_of_pieces(text, limits.LOST_READ_PIECES_MAX)):
        for piece in read(text[start:end], language).pieces:
            if piece.type in _OF_WORDS or piece.type is PieceType.NAME:
                yield piece.key


def _lost_words(
    text: str, language: str, kept: _MergedText, read_pieces: int, details: list[_Detail]
) -> list[_LostStretch]:
    """Return the runs of words that a merged text lacks, with the function words before them."""
    runs: list[_LostStretch] = []
    before = 0
    for start, end, is_lost in sorted(_words(text, language, kept, read_pieces, details)):
        if start < before:
            continue
        gap = text[before:start]
        if is_lost and runs and runs[-1].end == before and not _SENTENCE_END.search(gap):
            runs[-1] = runs[-1]._replace(end=end)
        elif is_lost:
            # Function words stand apart; what touches the word before belongs to that.
            lead = _LEADING.search(gap)
            runs.append(_LostStretch(start - (len(lead[1]) if lead else 0), end, Finding.MISSING))
        before = end
    return list(
        {text[detail.start : detail.end].casefold(): detail for detail in reversed(runs)}.values()
    )


def _words(
    text: str, language: str, kept: _MergedText, read_pieces: int, details: list[_Detail]
) -> Iterator[tuple[int, int, bool]]:
    """Yield the words and details of a text: start, end, and whether a word is lost.

    Words of no language that is read, and beyond the pieces that may be, are compared by tokens.
    """
    yield from ((detail.start, detail.end, False) for detail in details)
    read_end = end_of_pieces(text, read_pieces) if reads(language) else 0
    for start, end in _readable(text, read_end):
        for piece in read(text[start:end], language).pieces:
            at = start + piece.start, start + piece.end
            surface = text[slice(*at)]
            gone = piece.type in _OF_WORDS and piece.weight >= _LIGHT and tokens(surface)
            yield *at, bool(gone) and not kept.has_word(piece.key, surface)
    for word in _WORD.finditer(text, read_end):
        own = tokens(word[0])
        if own:
            yield word.start(), word.end(), not kept.tokens.issuperset(own)
