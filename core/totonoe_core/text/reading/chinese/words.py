"""Words of a Chinese text, cut alike wherever they stand.

The segmenter cuts words, with the words of our lists in its dictionary. Where it takes a whole
phrase for a word (很漂亮, 重新启动), that is cut again, by itself alone: function words come off at
its ends, and words of four characters fall into two known words. Words that it only guesses
from their neighbours are cut without guessing, since another text has other neighbours.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate

from totonoe_core.base.once import once
from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.chinese.grammar import (
    GRAMMAR,
    LISTS,
    PRONOUNS,
    QUANTIFIERS,
    QUESTIONS,
)
from totonoe_core.text.reading.chinese.segmenter import Segmenter

_NAME_TAGS = ("nr", "ns", "nt", "nz")

_NO_WORDS = tuple(sorted(LISTS.words("no words")))
"""Phrases of the dictionary that tear the words beside them."""

_NOT_CUT = LISTS.words("not cut")
"""Denials that would be cut as 不断, which is "always", and a rest."""

_WHOLE = LISTS.words("whole")
"""Words that look like two: by a denial (不断), a result (受到), an aspect (不过), 最 (最近)."""

_PREFIXES = "不没未别还求很最太好真更这那每各再也都在被把是"

_SUFFIXES = "个些了的吗吧啊呢着过么到上"


@once
def segmenter() -> Segmenter:
    """The dictionary with the words of our lists in it. Only read, by any thread."""
    given: list[tuple[str, int | None]] = [(phrase, 1) for phrase in _NO_WORDS]
    given += [(denial, None) for denial in sorted(_NOT_CUT)]
    words = sorted(word for word in _listed() if len(word) > 1 and not word.isascii())
    return Segmenter(given, words)


@lru_cache(maxsize=65536)
def known(word: str) -> bool:
    return is_listed(word) or segmenter().has_word(word)


@cache
def _classes() -> dict[str, str]:
    found: dict[str, str] = {}
    file = files("totonoe_core.text.lexicon") / "zh" / "words.txt"
    for line in file.read_text(encoding="utf-8").splitlines():
        tag, *listed = line.partition("#")[0].split() or [""]
        found.update(dict.fromkeys(listed, tag))
    return found


@lru_cache(maxsize=65536)
def class_of(word: str, tag: str) -> str:
    """The class of a word: ours, or the segmenter's, or its synonym's where that has none."""
    if found := _classes().get(word, tag):
        return found
    key = lexicon("zh").key(word)
    return "" if key == word else class_of(key, tag_of(key))


@cache
def _listed() -> frozenset[str]:
    lists = lexicon("zh")
    return frozenset(
        {*lists.representatives, *lists.near_groups, *lists.opposite_keys, *lists.light}
        | {*QUESTIONS, *PRONOUNS, *QUANTIFIERS, *GRAMMAR, *_classes()}
    )


def is_listed(word: str) -> bool:
    return word in _listed()


_Parts = tuple[tuple[str, str, int], ...]


@lru_cache(maxsize=65536)
def word_parts(word: str, tag: str) -> _Parts:
    """The word, or what it falls into, each with its tag and offset."""
    if len(word) == 1 or word in _WHOLE or word[0].isascii():
        return ((word, tag, 0),)
    if len(word) == 2 and tag[:1] == "v" and word[1] in "到在给过了着":
        return (word[0], "v", 0), (word[1], "u", 1)
    if word[0] in "比被把由给跟" and tag[:2] == "nr" and len(word) > 2:
        # A preposition that a guessed name swallowed.
        return (word[0], "p", 0), (word[1:], tag, 1)
    if is_listed(word) or (tag[:2] in _NAME_TAGS and len(word) < 5):
        return ((word, tag, 0),)
    parts = segmenter().tag(word, False)
    if len(parts) > 1:
        # A word only guessed from its context would be cut otherwise in another context.
        starts = accumulate((len(part) for part, _ in parts), initial=0)
        return tuple((part, tag, at) for (part, tag), at in zip(parts, starts, strict=False))
    if known(word[1:]) and word[0] in (_PREFIXES if len(word) > 2 else "不没未别最"):
        return _cut_at(word, 1)
    if len(word) > 2 and word[-1] in _SUFFIXES:
        return _cut_at(word, len(word) - 1)
    for middle in range(len(word) - 2, 1, -1):
        if known(word[:middle]) and known(word[middle:]):
            return _cut_at(word, middle)
    return ((word, tag, 0),)


def _cut_at(word: str, middle: int) -> _Parts:
    left, right = word[:middle], word[middle:]
    moved = ((part, tag, at + middle) for part, tag, at in word_parts(right, tag_of(right)))
    return *word_parts(left, tag_of(left)), *moved


@lru_cache(maxsize=65536)
def tag_of(word: str) -> str:
    return segmenter().tag(word, False)[0][1]
