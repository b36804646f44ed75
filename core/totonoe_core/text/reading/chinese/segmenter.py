"""Chinese words by jieba's dictionary, which all processes map, with words of our own in it.

rjieba holds 60 MB for that dictionary in each process. Here it lies in a prepared file as a tree
of characters, of which a text touches a few pages. `kernels.word_ways` finds the likeliest way
through a text; characters that it leaves alone are cut by rjieba's own model, which needs no
dictionary. A text comes out as by `rjieba.Jieba().tag`, the oracle of the tests.
"""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Sequence
from hashlib import blake2b
from importlib.machinery import ExtensionFileLoader
from importlib.resources import files
from importlib.util import find_spec, module_from_spec, spec_from_loader
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from totonoe_core.base.prepared import mapped
from totonoe_core.kernels.word_ways import NO_NODE, NO_PART, NO_WORD, find_word, likeliest_way

Given = Sequence[tuple[str, int | None]]
"""Words with their frequency; with `None` one that keeps the word whole."""
Tagged = list[tuple[str, str]]

_VERSION = 1
"""Of the bytes that `_build` makes."""
_HEAD_BYTES = 32
_OTHER = "x"
"""The class of what stands in no word."""


class Segmenter:
    """Cut texts into words with their classes. Only read, by any thread.

    Parameters
    ----------
    given : sequence of (str, int or None)
        Words that the dictionary gets, or frequencies for those that it has; one after the other.
    listed : sequence of str
        Words that it gets if it has not got them.

    Attributes
    ----------
    name : str
        Of its file.

    Raises
    ------
    ModuleNotFoundError
        rjieba is missing.
    """

    def __init__(self, given: Given, listed: Sequence[str]) -> None:
        packed = (files("totonoe_core.text.lexicon") / "zh" / "jieba.txt.xz").read_bytes()
        depends_on = packed + json.dumps([given, listed]).encode()
        digest = blake2b(depends_on, digest_size=8).hexdigest()
        jieba = _rjieba().Jieba
        self.name: Final = f"words-zh-{_VERSION}-{digest}"
        table = mapped(self.name, lambda: _build(packed, jieba(), given, listed))
        self._guessing: Any = jieba.empty()
        count, roots, total, names = table[:_HEAD_BYTES].cast("Q").tolist()
        self._log_total = math.log(total)
        sizes = (8 * count, 4 * count, 4 * (count + 1), 4 * roots, count, names)
        bounds = pairwise(accumulate(sizes, initial=_HEAD_BYTES))
        logs, *numbers, self._tags, said = (table[start:end] for start, end in bounds)
        self._logs = np.frombuffer(logs)
        characters, children, first = (np.frombuffer(part, np.uint32) for part in numbers)
        self._tree = first, characters, children
        self._names: list[str] = json.loads(bytes(said))

    def has_word(self, word: str) -> bool:
        """Return whether the dictionary has a word."""
        return bool(word) and self._node(word) >= 0

    def tag(self, text: str, guess: bool = True) -> Tagged:
        """Return the words of a text with their classes.

        Parameters
        ----------
        text : str
        guess : bool
            Whether characters that are no part of a longer word may make one, by their
            neighbours. Otherwise only letters and figures are kept together.
        """
        if not text:
            return []
        ends, nodes = np.empty((2, len(text)), np.int32)
        likeliest_way(_codes(text), *self._tree, self._logs, self._log_total, ends, nodes)
        end_of, node_of = ends.tolist(), nodes.tolist()
        found: Tagged = []
        start = run = 0
        while start < len(text):
            end, node = end_of[start], node_of[start]
            word = text[start:end]
            # Characters that stand alone are cut together, at the next word.
            if (
                end > start + 1
                or node == NO_PART
                or not (guess or (word.isascii() and word.isalnum()))
            ):
                if run < start:
                    self._cut(text[run:start], node_of[run:start], guess, found)
                found.append((word, _OTHER) if node == NO_PART else self._tagged(word, node))
                run = end
            start = end
        if run < start:
            self._cut(text[run:start], node_of[run:start], guess, found)
        return found

    def _cut(self, alone: str, nodes: list[int], guess: bool, found: Tagged) -> None:
        """Cut characters that the dictionary left alone."""
        if len(alone) == 1 or (guess and self.has_word(alone)):
            found.extend(map(self._tagged, alone, nodes))
            return
        words = self._guessing.cut(alone, guess)
        nodes = [self._node(word) for word in words]
        if min(nodes) >= 0:
            found.extend(map(self._tagged, words, nodes))
            return
        guessed = self._guessing.tag(alone, guess)
        found.extend(
            (word, tag) if node < 0 else self._tagged(word, node)
            for (word, tag), node in zip(guessed, nodes, strict=True)
        )

    def _tagged(self, word: str, node: int) -> tuple[str, str]:
        """Return a word with its class, which rjieba guesses if the dictionary has none."""
        if node >= 0:
            return word, self._names[self._tags[node]]
        ((_, tag),) = self._guessing.tag(word)
        return word, tag

    def _node(self, word: str) -> int:
        return find_word(_codes(word), *self._tree, self._logs)


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _rjieba() -> Any:
    """Return rjieba's extension module.

    The package makes a segmenter when it is imported, for whoever calls its functions. So its
    extension module is loaded without it.
    """
    package = find_spec("rjieba")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("rjieba")
    (path,) = Path(package.origin).parent.glob("rjieba.*.so")
    spec = spec_from_loader("rjieba.rjieba", ExtensionFileLoader("rjieba.rjieba", str(path)))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _build(packed: bytes, jieba: Any, given: Given, listed: Sequence[str]) -> bytes:
    """Return the tree of a dictionary, packed as `zh/jieba.txt.xz` is, with more words in it."""
    words: dict[str, tuple[int, str]] = {}
    for line in lzma.decompress(packed).decode().splitlines():
        word, frequency, tag = line.split(" ")
        words[word] = int(frequency), tag
    more = [*given, *((word, None) for word in listed if word not in words)]
    for word, asked in more:
        words[word] = jieba.add_word(word, asked, None), words.get(word, (0, ""))[1]
    ordered = sorted(words)
    names = sorted({tag for _, tag in words.values()})
    logs = np.array([math.log(words[word][0]) for word in ordered])
    tags = np.array([names.index(words[word][1]) for word in ordered], np.uint8)
    lengths = np.array([len(word) for word in ordered])
    codes = np.zeros((len(ordered), lengths.max()), np.uint32)
    codes[np.arange(codes.shape[1]) < lengths[:, None]] = _codes("".join(ordered))
    # A word makes a node for each character from the first on in which it differs from the word
    # before. What begins other words stands before them, so the last of its nodes is its own.
    differs = np.concatenate([[0], (codes[1:] != codes[:-1]).argmax(axis=1)])
    levels = [
        np.flatnonzero((differs <= level) & (level < lengths)) for level in range(codes.shape[1])
    ]
    starts = list(accumulate(map(len, levels), initial=0))
    children = [
        start + np.searchsorted(below, rows)
        for start, rows, below in zip(starts[1:], levels, [*levels[1:], levels[0][:0]], strict=True)
    ]
    first = np.full(codes[:, 0].max() + 1, NO_NODE, np.uint32)
    first[codes[levels[0], 0]] = np.arange(len(levels[0]))
    ended = [
        np.where(lengths[rows] == level, logs[rows], NO_WORD)
        for level, rows in enumerate(levels, start=1)
    ]
    said = json.dumps(names).encode()
    total = sum(frequency for frequency, _ in words.values())
    parts = (
        np.array([starts[-1], len(first), total, len(said)], np.uint64),
        np.concatenate(ended),
        np.concatenate([codes[rows, level] for level, rows in enumerate(levels)]),
        np.append(np.concatenate(children), starts[-1]).astype(np.uint32),
        first,
        np.concatenate([tags[rows] for rows in levels]),
    )
    return b"".join(part.tobytes() for part in parts) + said
