"""Lemmas of a language's words, from the lists of the package `simplemma`.

As the package unpacks them, a list is a dictionary of byte strings: 109 MB and 1.4 s of CPU for
German. Here each is unpacked once into a table of bytes in the user's cache directory, which
processes map: a lookup touches two pages.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
from simplemma.strategies.dictionaries.dictionary_factory import DATA_FOLDER, DictionaryFactory

from totonoe_core.base.once import once
from totonoe_core.base.prepared import mapped

_VERSION = 1
"""Of the bytes that `_build` makes."""
_MAGIC = b"SMFC1\0"
"""Front-coded, words from their first byte on."""
_HEAD = 3


class WordForms(Mapping[str, str]):
    """Lemma of each form of a language; what `kernels.word_forms` wrote, read in place."""

    def __init__(self, table: memoryview) -> None:
        self._count, places = (int(number) for number in table[:8].cast("I"))
        self._places = table[8 : 8 + 4 * places].cast("I")
        self._records = table[8 + 4 * places :]
        self._last = places - 1

    def get(self, form: str, default: Any = None) -> Any:
        """Return the lemma of a form."""
        key, records = form.encode(), self._records
        length, place = len(key), zlib.crc32(key) & self._last
        while record := self._places[place]:
            start = record + 2
            if records[record - 1] == length and records[start : start + length] == key:
                end = start + length
                lemma = key[: records[record]] + records[end : end + records[record + 1]]
                return lemma.decode()
            place = (place + 1) & self._last
        return default

    def __getitem__(self, form: str) -> str:
        lemma: str | None = self.get(form)
        if lemma is None:
            raise KeyError(form)
        return lemma

    def __iter__(self) -> Iterator[str]:
        at, records = 0, self._records
        while at < len(records):
            length, rest = records[at], records[at + 2]
            yield str(records[at + _HEAD : at + _HEAD + length], "utf-8")
            at += _HEAD + length + rest

    def __len__(self) -> int:
        return self._count


class MappedForms(DictionaryFactory):
    """Give simplemma's strategies the mapped lists."""

    __slots__ = ()

    def get_dictionary(self, lang: str) -> Mapping[str, str]:
        """Return the forms of a language that simplemma has a list of."""
        return word_forms(lang)


@once
def word_forms(language: str) -> WordForms:
    """Return the forms of a language.

    Raises
    ------
    OSError
        simplemma has no list of it, or it cannot be read.
    ValueError
        The list is damaged, or of another form than that of simplemma 2.0.
    """
    packed = (DATA_FOLDER / f"{language}.plzma").read_bytes()
    digest = blake2b(packed, digest_size=8).hexdigest()
    name = f"words-{language}-{_VERSION}-{digest}"
    return WordForms(mapped(name, partial(_build, language, packed)))


def _build(language: str, packed: bytes) -> bytes:
    """Return a list as a table."""
    from totonoe_core.kernels.word_forms import unpack_forms

    raw = lzma.decompress(packed)
    if not raw.startswith(_MAGIC):
        raise ValueError(f"simplemma's list of {language!r} has an unknown form")
    count, at, shift = 0, len(_MAGIC), 0
    while True:
        byte, at = raw[at], at + 1
        count, shift = count | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            break
    # CRC-32 of one byte is an entry of its table, but for the register's first and last turn.
    one_byte = [zlib.crc32(bytes([byte ^ 0xFF])) ^ 0xFF000000 for byte in range(256)]
    data, crc_table = np.frombuffer(raw, np.uint8), np.array(one_byte, np.uint32)
    places = np.zeros(1 << (3 * count // 2).bit_length(), np.uint32)
    size = unpack_forms(data, at, crc_table, places, np.zeros(0, np.uint8))
    records = np.zeros(max(0, size), np.uint8)
    written = unpack_forms(data, at, crc_table, places, records)
    if written < 0 or np.count_nonzero(places) != count:
        raise ValueError(f"simplemma's list of {language!r} is damaged")
    head = np.array([count, len(places)], np.uint32)
    return head.tobytes() + places.tobytes() + records.tobytes()
