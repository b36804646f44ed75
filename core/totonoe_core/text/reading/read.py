"""The way in: a text and a language to a reading, by the reader of that language."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib import import_module

from totonoe_core.base.kept import Kept, kept
from totonoe_core.text.reading.model import FunctionWord, Piece, Reading
from totonoe_core.text.reading.wrapping import inner

READ_CHARS_MAX = 2_000
"""Longer texts are not read: the verdict compares them sentence by sentence first, and what is
left over then is either short or too different to be called a duplicate."""

_READINGS_KEPT_CHARS = 300_000
_OWN_READERS = {
    "en": "english.read",
    "ja": "japanese.read",
    "zh": "chinese.read",
    "ko": "korean",
}
_EUROPEAN = frozenset({"de", "fr", "es", "pt", "it", "ru"})
_UNREAD = Reading("", (), certain=False)


def reads(language: str) -> bool:
    """Whether there is a reader of a language."""
    return language in _EUROPEAN or language in _OWN_READERS


@kept(_READINGS_KEPT_CHARS)
def read(text: str, language: str) -> Reading:
    """The reading of a text in a language.

    Parameters
    ----------
    text : str
        Any text.
    language : str
        ISO 639-1 code, as `common_language` gives it; empty or unknown: nothing is read.

    Returns
    -------
    Reading
        Of the statement without its wrappers (see `wrapping`), with offsets into `text`. Not
        `certain` and without pieces where there is no reader or the text is too long.
    """
    if len(text) > READ_CHARS_MAX:
        return _UNREAD
    start, end = inner(text, language)
    reading = _read(text[start:end], language)
    if not reading.pieces and end - start < len(text):
        return _read(text, language)
    return _shifted(reading, start) if start else reading


def _read(text: str, language: str) -> Reading:
    if not reads(language):
        return _UNREAD
    return _reader(language)(text)


@cache
def _reader(language: str) -> Callable[[str], Reading]:
    """The reader of a language, imported on first use: each brings word lists or a dictionary."""
    if language in _EUROPEAN:
        return partial(import_module(f"{__package__}.european.read").read, language=language)
    own: Callable[[str], Reading] = import_module(f"{__package__}.{_OWN_READERS[language]}").read
    return own


def _shifted(reading: Reading, by: int) -> Reading:
    # Written out, as `replace` takes four times as long for each piece.
    pieces = tuple(
        Piece(
            piece.start + by, piece.end + by, piece.key, piece.type, piece.role, piece.head,
            piece.negated, piece.modality, piece.tense, piece.near, piece.opposites, piece.weight,
            piece.form,
        )
        for piece in reading.pieces
    )  # fmt: skip
    function_words = tuple(
        FunctionWord(word.start + by, word.end + by, word.key, word.kind)
        for word in reading.function_words
    )
    return replace(reading, pieces=pieces, function_words=function_words)


def forget_cached() -> None:
    """Empty the caches, which hold texts, and those of the readers, which hold words. For Purge.

    A cache with a bound holds what texts say; one without holds what we ship.
    """
    read.cache_clear()
    inner.cache_clear()
    # Readers are imported on first use, so that those that are not have nothing to empty.
    own = [module for name, module in list(sys.modules.items()) if name.startswith(__package__)]
    for module in own:
        for value in list(vars(module).values()):
            bounded = hasattr(value, "cache_parameters") and value.cache_parameters()["maxsize"]
            if bounded or isinstance(value, Kept):
                value.cache_clear()
