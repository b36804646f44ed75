"""The most probable way through a text by the words of a dictionary, as jieba takes it.

The dictionary is a tree of characters, level by level: node i has the character `characters[i]`
and the children from `children[i]` to `children[i + 1]`, ascending by character. `logs[i]` is the
logarithm of the frequency of the word that ends there, `NO_WORD` if none does. `first[c]` is the
node of the words that begin with the code point c, `NO_NODE` without such words.

A word's probability is its frequency's share of the total. A character with which no word begins
is one of frequency 1. Of two ways that are as probable, that with the longer word is taken. Han
characters, ASCII letters, figures and a few marks stand in words; ways end before any other.

Oracle: rjieba itself, in `tests/core/text/test_segmenter.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import float64_in, int32_out, kernel

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
UInt32 = npt.NDArray[np.uint32]

NO_WORD = -1.0
NO_NODE = 0xFFFFFFFF
UNKNOWN, NO_PART = -1, -2
_MARKS = (ord("+"), ord("#"), ord("&"), ord("."), ord("_"), ord("%"), ord("-"))

uint32_in = types.Array(types.uint32, 1, "C", readonly=True)


@kernel(types.int64(uint32_in, types.int64, types.int64, types.int64), exact=True)
def _child(characters: UInt32, low: int, high: int, code: int) -> int:
    """Return the node of a character among those from low to high; -1 if it is not there."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if characters[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low if low < end and characters[low] == code else -1


@kernel(types.boolean(types.int64), exact=True)
def _in_words(code: int) -> bool:
    """Return whether a character may be a part of a word."""
    if code < 0x80:
        letter = ord("a") <= code | 0x20 <= ord("z")
        return letter or ord("0") <= code <= ord("9") or code in _MARKS
    return (
        0x3400 <= code <= 0x4DBF
        or 0x4E00 <= code <= 0x9FFF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x2A6DF
        or 0x2A700 <= code <= 0x2EBEF
        or 0x2F800 <= code <= 0x2FA1F
    )


@kernel(types.int64(uint32_in, uint32_in, uint32_in, uint32_in, float64_in), exact=True)
def find_word(
    word: UInt32, first: UInt32, characters: UInt32, children: UInt32, logs: Float64
) -> int:
    """Return the node of a word of at least one code point; -1 if the tree has no such word."""
    code = int(word[0])
    node = int(first[code]) if code < first.shape[0] else NO_NODE
    if node == NO_NODE:
        return -1
    for at in range(1, word.shape[0]):
        node = _child(characters, int(children[node]), int(children[node + 1]), int(word[at]))
        if node < 0:
            return -1
    return node if logs[node] != NO_WORD else -1


@kernel(
    types.void(
        uint32_in, uint32_in, uint32_in, uint32_in, float64_in, types.float64, int32_out, int32_out
    ),
    exact=True,
)
def likeliest_way(
    text: UInt32,
    first: UInt32,
    characters: UInt32,
    children: UInt32,
    logs: Float64,
    log_total: float,
    ends: Int32,
    nodes: Int32,
) -> None:
    """Find the word that begins at each place on the likeliest way from there to the end.

    Parameters
    ----------
    text : uint32[n]
        Code points.
    first, characters, children, logs
        The tree.
    log_total : float64
        Logarithm of the sum of all frequencies.
    ends, nodes : int32[n]
        Filled with the end of that word, and its node: UNKNOWN where no word begins, NO_PART for
        a character that stands in no word.
    """
    count = text.shape[0]
    ways = np.zeros(count + 1)
    for start in range(count - 1, -1, -1):
        code = int(text[start])
        ends[start], nodes[start] = start + 1, NO_PART
        if not _in_words(code):
            continue
        nodes[start] = UNKNOWN
        ways[start] = ways[start + 1] - log_total
        if code >= first.shape[0] or first[code] == NO_NODE:
            continue
        node, end = int(first[code]), start + 1
        while node >= 0:
            if logs[node] != NO_WORD:
                way = logs[node] - log_total + ways[end]
                if nodes[start] < 0 or way >= ways[start]:
                    ways[start], ends[start], nodes[start] = way, end, node
            if end == count or nodes[end] == NO_PART:
                break
            node = _child(characters, int(children[node]), int(children[node + 1]), int(text[end]))
            end += 1
