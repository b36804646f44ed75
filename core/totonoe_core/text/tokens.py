"""Tokens of a text in any script, for the token Jaccard and the lexical index.

Spaced scripts give words, with identifiers split at `_`, `=`, `-` and inner capitals; scripts
written without spaces (and Korean, whose words carry endings) give the bigrams of each run. Numbers
stay whole with their sign, decimals and unit letters, and so do dates, times and versions: in a bag
of words 2026-01-10 and 2026-10-01 would be the same three numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from operator import add

import numpy as np
import numpy.typing as npt

from totonoe_core.text.normalize import HAN_KANA, fold_width
from totonoe_core.text.reading.chinese.script import simplified_shapes
from totonoe_core.text.reading.language import languages
from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values.find import find_values
from totonoe_core.text.stopwords import STOP_WORDS, STOP_WORDS_002

_HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
_THAI_LAO = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece"
_MYANMAR_KHMER = "\u1000-\u109f\u1780-\u17d3"
_RUN = re.compile(f"([{HAN_KANA}]+|[{_HANGUL}]+|[{_THAI_LAO}]+|[{_MYANMAR_KHMER}]+)")


def _marks() -> str:
    """Return combining marks as the inside of a character class; `\\w` leaves them out.

    Without them the vowel signs of Devanagari or Arabic would cut words in pieces.
    """
    ranges: list[list[int]] = []
    for block in (range(0x300, 0x3100), range(0xA000, 0xAC00), range(0xFB00, 0xFE30)):
        for code in block:
            if unicodedata.category(chr(code)) in ("Mn", "Mc"):
                if ranges and ranges[-1][1] == code - 1:
                    ranges[-1][1] = code
                else:
                    ranges.append([code, code])
    # U+FE0F and its kin choose between two looks of one emoji: not part of a word.
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in ranges if not 0xFE00 <= a <= 0xFE0F)


def _word_pattern(inside: str) -> str:
    """Return the expression for one token, over lower-case text in which `_` is a space.

    In order: an operator that negates or orders; a word or number, its parts joined by
    `. , : / -` only between digits or by an apostrophe between letters, with an end mark that
    changes what it names (c++, c#, 50%).
    """
    return (
        r"!=|≠|[<>]=|≤|≥|(?<= )[<>](?= )"
        rf"|(?:(?<![\w.)\]-])[-−](?=\d))?[{inside}]+"
        rf"(?:(?:(?<=\d)[.,:/-](?=\d)|(?<=[^\W\d])'(?=[^\W\d]))[{inside}]+)*"
        r"(?:\+\+(?!\w)|[#%](?!\w))?"
    )


_ASCII_TOKEN = re.compile(_word_pattern("a-z0-9"), re.ASCII)
_TOKEN = re.compile(_word_pattern(r"\w" + _marks()))

# Parts of two letters and more, so that units (GHz, mAh), iPhone and SQLite stay whole.
_CAMEL = re.compile(r"(?<=[a-z]{2})(?=[A-Z][A-Za-z])|(?<=[A-Z]{3})(?=[A-Z][a-z]{2})")
_HAS_CAMEL = re.compile(r"[a-z]{2}[A-Z]|[A-Z]{4}[a-z]{2}")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?:\D|\Z))")
# l'eau, qu'il, dell'arte; n' is the French negation and comes back as "ne".
_ELISION = re.compile(r"\b(?:[ldjcsmt]|qu|dell|nell|all)'(?=[^\W\d]{2})")
_NEGATION = re.compile(r"\bn'(?=[^\W\d])")
_POSSESSIVE = re.compile(r"'s\b")


def _prepared(text: str) -> str:
    """Normalise width, split identifiers, lower the case. `lower`: casefold makes Maße Masse."""
    if not text.isascii():
        text = fold_width(text).replace("’", "'")
    if _HAS_CAMEL.search(text):
        text = _CAMEL.sub(" ", text)
    text = text.lower().replace("_", " ")
    if "'" in text:
        text = _NEGATION.sub("ne ", _ELISION.sub("", _POSSESSIVE.sub("", text)))
    if "," in text:
        text = _THOUSANDS.sub("", text)
    return text


def _all_tokens(prepared: str) -> list[str]:
    if prepared.isascii():
        return _ASCII_TOKEN.findall(prepared)
    found: list[str] = []
    # With its one group, split alternates: other text, run, other text, ...
    for number, part in enumerate(_RUN.split(prepared)):
        if number % 2 == 0:
            if part:
                found += _TOKEN.findall(part)
        elif len(part) > 1:
            found += map(add, part, part[1:])
        else:
            found.append(part)
    return found


def tokens(text: str) -> list[str]:
    """Return the tokens of a text in order, with repeats, without stop words.

    Parameters
    ----------
    text : str
        Any text in any script.

    Returns
    -------
    list of str
        Normal width, lower case. Empty for a text of symbols, emoji or stop words alone, which
        means "no evidence", never "equal".
    """
    return [token for token in _all_tokens(_prepared(text)) if token not in STOP_WORDS]


_MEASURED = frozenset(
    (PieceType.NUMBER, PieceType.QUANTITY, PieceType.DATE, PieceType.TIME, PieceType.VERSION)
)
_MARKUP = re.compile(r"\*\*|`")
_VALUED_CHARS_MAX = 4_000
"""A longer text keeps its values as they are written: finding them takes a microsecond a letter."""


def compared_tokens(text: str) -> set[str]:
    """Return the token set by which the guard nominates texts to compare.

    It is `tokens` after what only looks different is made equal: traditional and simplified
    characters, markup, and the notation of values ("30s", "30 seconds", "0.5 min").

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    set of str
        A value is one token, its type and key; everything else is as in `tokens`.
    """
    text = _MARKUP.sub("", text)
    if not text.isascii():
        text = simplified_shapes(text)
    if len(text) > _VALUED_CHARS_MAX or not _FIGURE.search(text):
        return set(tokens(text))
    said, rest, at = set(), [], 0
    for value in find_values(text, next(iter(languages(text)), "")):
        if value.type in _MEASURED:
            said.add(f"{value.type}:{value.key}")
            rest.append(text[at : value.start])
            at = value.end
    return said.union(tokens(" ".join((*rest, text[at:]))))


def whitespace_tokens(text: str) -> set[str]:
    """Return the token set of docs/sources.md, 002, Layer 2: lower case, split at white space."""
    return set(text.lower().split()) - STOP_WORDS_002


@lru_cache(maxsize=1 << 13)
def _token_hash(token: str) -> int:
    return int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "little")


def token_hashes(tokens: Iterable[str]) -> npt.NDArray[np.uint64]:
    """Return a set of tokens for the kernels.

    Parameters
    ----------
    tokens : iterable of str
        Order and repeats do not matter.

    Returns
    -------
    uint64[n]
        BLAKE2b-8 of each distinct token, ascending and unique; the same on every machine. Two
        tokens of one million share a hash with probability 3e-8.
    """
    return np.array(sorted(set(map(_token_hash, tokens))), dtype=np.uint64)


# A name made by a machine or a maker: parts of letters and digits joined by - _ . / and the
# like. It needs a digit beside letters, an inner capital, or the shape of a file name.
_CHUNK = re.compile(r"[A-Za-z0-9]+(?:[-_./\\@#+]+[A-Za-z0-9]+)*")
_SHAPE = re.compile(r"[a-z][A-Z]|[A-Za-z]_[A-Za-z]|[A-Za-z]{2}\.[A-Za-z]{1,4}\Z")
_DIGIT = re.compile("[0-9]")
_FIGURE = re.compile(r"\d")
_LETTER = re.compile("[A-Za-z]")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def _identifiers(text: str) -> list[str]:
    # One search for each sign, not one expression: 32 kB of digits must stay linear.
    return [
        chunk
        for chunk in _CHUNK.findall(text)
        # Most are plain words or numbers, which need no search.
        if not (chunk.isdigit() or (chunk.isalpha() and chunk[1:].islower()))
        and ((_DIGIT.search(chunk) and _LETTER.search(chunk)) or _SHAPE.search(chunk))
    ]


def has_identifier(text: str) -> bool:
    """Return whether the text holds a part number, version, file name or camelCase name.

    Examples: ASR-1603, v1.2, 12.5N, grip_force, main.py, iPhone. Plain capitalised names and
    names in Chinese or Japanese are not told apart from other words.
    """
    return bool(_identifiers(fold_width(text)))


@lru_cache(maxsize=1 << 12)
def _word_terms(word: str) -> tuple[str, ...]:
    """Return a word with the 4-grams of its form in ^ and $, so that endings need no stemmer."""
    if len(word) < 3:
        return (word,)
    framed = f"^{word}$"
    return (word, *(framed[at : at + 4] for at in range(len(framed) - 3)))


@lru_cache(maxsize=1 << 10)
def _identifier_terms(identifier: str) -> tuple[str, ...]:
    """Return an identifier without separators, framed to equal no word, and its trigrams."""
    whole = _SEPARATORS.sub("", identifier).lower()
    return (f"#{whole}", *(f"#{whole[at : at + 3]}" for at in range(len(whole) - 2)))


def search_terms(text: str) -> list[str]:
    """Return terms for the lexical arm of Recall (BM25), with repeats.

    The tokens of `tokens`; for each word its character 4-grams with both ends marked (recall@5
    on conversational English 0.578 -> 0.637; a suffix stemmer gave 0.625); for each Chinese or
    Japanese run its single Han characters (0.875 -> 0.887 on Japanese, 0.829 -> 0.842 on
    Chinese); for each identifier the whole, however its parts are joined, and its trigrams.

    Parameters
    ----------
    text : str
        A memory or a query; both take the same way.

    Returns
    -------
    list of str
        Empty for a text of symbols or stop words alone.
    """
    terms: list[str] = []
    for token in tokens(text):
        if token.isascii() or not _RUN.match(token):
            terms += _word_terms(token)
        else:
            terms.append(token)
    if not text.isascii():
        text = fold_width(text)
        for run in _RUN.findall(text):
            if len(run) > 1:
                terms += [han for han in _HAN.findall(run) if han not in STOP_WORDS]
    for identifier in _identifiers(text):
        terms += _identifier_terms(identifier)
    return terms


def forget_cached() -> None:
    """Empty the caches, which hold words of texts. Called by Purge."""
    _token_hash.cache_clear()
    _word_terms.cache_clear()
    _identifier_terms.cache_clear()
