"""Unpacking of a front-coded list of words and their lemmas into a hash table.

The list is simplemma's (`strategies/dictionaries/frontcode.py` there): each record names how many
bytes its form shares with the form before, then the rest; its lemma is that of the record before,
or the form without some bytes of its end and with others, or written out.

The table is `places uint32[c]`, open addressing with linear probing by the CRC-32 of a form, c a
power of two above the number of forms: where the form's record begins, + 1; 0: a free place. A
record is the form's length, the number of bytes that the lemma begins with in common with it, the
length of the lemma's rest, the form, and that rest.

Oracle: the dictionary that simplemma itself makes of the list, in
`tests/core/text/test_word_forms.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import kernel, uint8_in

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]

BYTES_MAX = 255
"""Of a form or a lemma."""
_SAME, _WRITTEN_OUT = 254, 255
_HEAD = 3

uint8_out = types.Array(types.uint8, 1, "C")
uint32_in = types.Array(types.uint32, 1, "C", readonly=True)
uint32_out = types.Array(types.uint32, 1, "C")


_two = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]
_three = types.UniTuple(types.int64, 3)  # type: ignore[no-untyped-call]


@kernel(_two(uint8_in, types.int64), exact=True)
def _varint(data: UInt8, at: int) -> tuple[int, int]:
    """Return a number of 7 bits a byte, and the place behind it; -1 if the data end before."""
    value = shift = 0
    for _ in range(4):
        if at >= data.shape[0]:
            break
        byte = int(data[at])
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    return -1, at


@kernel(types.int64(uint8_out, types.int64, uint8_in, types.int64, types.int64), exact=True)
def _replace_end(word: UInt8, kept: int, data: UInt8, at: int, size: int) -> int:
    """Write bytes of the data behind the first bytes of a word; its new length, -1 if too long."""
    if kept < 0 or size < 0 or at + size > data.shape[0] or kept + size > BYTES_MAX:
        return -1
    for place in range(size):
        word[kept + place] = data[at + place]
    return kept + size


@kernel(_three(uint8_in, types.int64, uint8_out, types.int64, uint8_out, types.int64), exact=True)
def _next_record(
    data: UInt8, at: int, form: UInt8, length: int, lemma: UInt8, lemma_length: int
) -> tuple[int, int, int]:
    """Replace form and lemma by those of the record at a place.

    Returns the place behind it, -1 if the list is damaged; and the lengths of form and lemma.
    """
    shared, at = _varint(data, at)
    size, at = _varint(data, at)
    if shared > length:
        return -1, 0, 0
    length = _replace_end(form, shared, data, at, size)
    at += size
    if length < 0 or at >= data.shape[0]:
        return -1, 0, 0
    cut = int(data[at])
    at += 1
    if cut != _SAME:
        kept = 0 if cut == _WRITTEN_OUT else length - cut
        for place in range(kept):
            lemma[place] = form[place]
        size, at = _varint(data, at)
        lemma_length = _replace_end(lemma, kept, data, at, size)
        at += size
        if lemma_length < 0:
            return -1, 0, 0
    return at, length, lemma_length


@kernel(types.void(uint8_in, types.int64, types.int64, uint32_in, uint32_out), exact=True)
def _put(form: UInt8, length: int, record: int, crc_table: UInt32, places: UInt32) -> None:
    """Note in the table where the record of a form begins."""
    crc = np.uint32(0xFFFFFFFF)
    for at in range(length):
        crc = crc_table[(crc ^ form[at]) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    last = places.shape[0] - 1
    place = int(crc ^ np.uint32(0xFFFFFFFF)) & last
    for _ in range(places.shape[0]):
        if places[place] == 0:
            break
        place = (place + 1) & last
    places[place] = record + 1


@kernel(types.int64(uint8_in, types.int64, uint32_in, uint32_out, uint8_out), exact=True)
def unpack_forms(data: UInt8, start: int, crc_table: UInt32, places: UInt32, records: UInt8) -> int:
    """Write records, and where they begin.

    Parameters
    ----------
    data : uint8[n]
        The list.
    start : int64
        Where its first record begins.
    crc_table : uint32[256]
        Of CRC-32, reflected.
    places : uint32[c]
        All 0, and more than there are forms.
    records : uint8[m]
        As long as all records, or empty: then nothing is written.

    Returns
    -------
    int64
        Bytes of all records; -1 if the list is damaged.
    """
    form, lemma = np.zeros(BYTES_MAX, np.uint8), np.zeros(BYTES_MAX, np.uint8)
    at, total, length, lemma_length = start, 0, 0, 0
    while at < data.shape[0]:
        at, length, lemma_length = _next_record(data, at, form, length, lemma, lemma_length)
        if at < 0:
            return -1
        common = 0
        while common < min(length, lemma_length) and form[common] == lemma[common]:
            common += 1
        end = total + _HEAD + length + lemma_length - common
        if records.shape[0]:
            if end > records.shape[0]:
                return -1
            records[total] = length
            records[total + 1] = common
            records[total + 2] = lemma_length - common
            records[total + _HEAD : total + _HEAD + length] = form[:length]
            records[total + _HEAD + length : end] = lemma[common:lemma_length]
            _put(form, length, total, crc_table, places)
        total = end
    return total
