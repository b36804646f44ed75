"""Lemmas of a language's words, from the lists of the package `simplemma`.

As the package unpacks them, a list is a dictionary of byte strings: 109 MB and 1.4 s of CPU for
German. Here each is unpacked once into a table of bytes in the user's cache directory, which
processes map: a lookup touches two pages.
"""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
from simplemma.strategies.dictionaries.dictionary_factory import DATA_FOLDER, DictionaryFactory

from totonoe_core.base.once import once
from totonoe_core.base.prepared import Blocks, DamagedError, blocks

_VERSION = 1
"""Of the bytes that `_build` makes."""
_MAGIC = b"SMFC1\0"
"""Front-coded, words from their first byte on."""
_HEAD_BYTES = 8
"""Of the table: how many forms, how many places, each as a `_NUMBER`. The places follow."""
_NUMBER = struct.Struct("=I")
_HEAD = 3
"""Bytes before the form in a record: its length, and of its lemma what it shares and the rest."""
_RECORD_BYTES_MAX = _HEAD + 255 + 255


class WordForms(Mapping[str, str]):
    """Lemma of each form of a language; what `kernels.word_forms` wrote, read in place.

    A lookup checks the blocks that it reads. Where one is damaged, the table is made again.

    Parameters
    ----------
    name : str
        Of the prepared file.
    build : callable
        Returns its bytes, as `_build` does.
    """

    def __init__(self, name: str, build: Callable[[], bytes]) -> None:
        self._make_again = partial(blocks, name, build, whole=True)
        try:
            self._take(blocks(name, build, whole=False))
        except DamagedError:
            self._take(self._make_again())

    def _take(self, table: Blocks) -> None:
        """Read a table from now on. Raises `DamagedError`."""
        table.check(0, _HEAD_BYTES)
        self._count, places = table.view[:_HEAD_BYTES].cast("I")
        # Exchanged at once: other threads look words up meanwhile.
        self._table = table, places

    def get(self, form: str, default: Any = None) -> Any:
        """Return the lemma of a form."""
        try:
            return self._lemma(form.encode(), default)
        except DamagedError:
            self._take(self._make_again())
            return self._lemma(form.encode(), default)

    def _lemma(self, key: bytes, default: Any) -> Any:
        """Return the lemma of a form. Raises `DamagedError`."""
        (table, places), length = self._table, len(key)
        view, check = table.view, table.check
        place, records = zlib.crc32(key) & (places - 1), _HEAD_BYTES + _NUMBER.size * places
        while True:
            at = _HEAD_BYTES + _NUMBER.size * place
            check(at, at + _NUMBER.size)
            (number,) = _NUMBER.unpack_from(view, at)
            if not number:
                return default
            record = records + number - 1
            check(record, record + _RECORD_BYTES_MAX)
            start = record + _HEAD
            if view[record] == length and view[start : start + length] == key:
                end = start + length
                lemma = key[: view[record + 1]] + view[end : end + view[record + 2]]
                return lemma.decode()
            place = (place + 1) & (places - 1)

    def __getitem__(self, form: str) -> str:
        lemma: str | None = self.get(form)
        if lemma is None:
            raise KeyError(form)
        return lemma

    def __iter__(self) -> Iterator[str]:
        self._take(self._make_again())
        table, places = self._table
        view, at = table.view, _HEAD_BYTES + _NUMBER.size * places
        while at < len(view):
            length, rest = view[at], view[at + 2]
            yield str(view[at + _HEAD : at + _HEAD + length], "utf-8")
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
    digest = blake2b(_packed(language), digest_size=8).hexdigest()
    return WordForms(f"words-{language}-{_VERSION}-{digest}", partial(_build, language))


def _packed(language: str) -> bytes:
    return (DATA_FOLDER / f"{language}.plzma").read_bytes()


def _build(language: str) -> bytes:
    """Return a list as a table."""
    from totonoe_core.kernels.word_forms import unpack_forms

    raw = lzma.decompress(_packed(language))
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
