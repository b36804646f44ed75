"""Words of a Chinese text, cut alike wherever they stand.

The segmenter cuts words, with the words of our lists in its dictionary. Where it takes a whole
phrase for a word (很漂亮, 重新启动), that is cut again, by itself alone: function words come off at
its ends, and words of four characters fall into two known words. Words that it only guesses
from their neighbours are cut without guessing, since another text has other neighbours.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files

from totonoe_core.base.once import once
from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.chinese.grammar import (
    GRAMMAR,
    LISTS,
    MEASURES,
    NEGATION_FREE,
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

_NO_SUPERLATIVE = LISTS.words("no superlative")

_WITH_RESULT = LISTS.words("with result")

_WITH_ASPECT = LISTS.words("with aspect")

_TAKES_OBJECT = frozenset("去来发看听买卖学做找开关订吃喝玩用写读放查改办")

_PREFIXES = ("非常", *"还求不很最太没好真更这那每各再也都在被把是")

_SUFFIXES = ("个", "些", "了", "的", "吗", "吧", "啊", "着", "过", "么", "到", "上")


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
    listed = _classes().get(word)
    if listed is not None:
        # The segmenter tells verbs that are used as nouns from others.
        return tag if listed == "v" and tag[:1] == "v" else listed
    if tag:
        return tag
    key = lexicon("zh").key(word)
    return tag if key == word else class_of(key, tag_of(key))


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
    two = _pair_of_characters(word, tag) if len(word) == 2 else None
    if two is not None:
        (first, first_tag), (second, second_tag) = two
        return (first, first_tag, 0), (second, second_tag, 1)
    if len(word) > 2 and word[0] in "比被把由给跟" and tag[:2] == "nr":
        # A preposition that a guessed name swallowed.
        return (word[0], "p", 0), *_moved(word_parts(word[1:], tag), 1)
    if len(word) < 2 or word in NEGATION_FREE or is_listed(word) or word[0].isascii():
        return ((word, tag, 0),)
    return _parts_of_unlisted(word, tag)


def _pair_of_characters(word: str, tag: str) -> tuple[tuple[str, str], tuple[str, str]] | None:
    first, second = word[0], word[1]
    if second in "到在给" and tag[:1] == "v" and word not in _WITH_RESULT:
        return (first, "v"), (second, "p")
    if first == "想" and second in _TAKES_OBJECT:
        return (first, "v"), (second, "v")
    if second in "过了着" and tag[:1] == "v" and word not in _WITH_ASPECT:
        return (first, "v"), (second, "u")
    if first in "这那每各某" and second in MEASURES and not is_listed(word):
        return (first, "r"), (second, "q")
    if first == "最" and word not in _NO_SUPERLATIVE:
        return (first, "d"), (second, tag_of(second))
    return None


def _parts_of_unlisted(word: str, tag: str) -> _Parts:
    if word[0] in "没未别" and tag[:1] in "vldi" and known(word[1:]):
        rest = word[1:]
        return (word[0], "d", 0), *_moved(word_parts(rest, tag_of(rest)), 1)
    if tag[:2] in _NAME_TAGS and len(word) < 5 and word[0] not in "不很最":
        return ((word, tag, 0),)
    if tag[:2] != "nr" and not known(word):
        # A word only guessed from its context would be cut otherwise in another context.
        return _cut_again(word)
    if len(word) > 2 and word[-1] in "吗吧啊呢么":
        return *_cut_again(word[:-1]), (word[-1], "y", len(word) - 1)
    parts = _without_affix(word)
    if parts is None and len(word) == 4 and known(word[:2]) and known(word[2:]):
        parts = _cut_at(word, 2)
    if parts is None and len(word) > 4 and tag[:2] not in ("nr", "nz"):
        parts = _halves(word)
    return parts or ((word, tag, 0),)


def _without_affix(word: str) -> _Parts | None:
    for prefix in _PREFIXES:
        rest = word[len(prefix) :]
        if len(rest) >= (1 if prefix == "不" else 2) and word.startswith(prefix) and known(rest):
            return (prefix, "d", 0), *_moved(word_parts(rest, tag_of(rest)), len(prefix))
    for suffix in _SUFFIXES:
        rest = word[: -len(suffix)]
        if len(word) > 2 and word.endswith(suffix) and known(rest):
            return *word_parts(rest, tag_of(rest)), (suffix, "u", len(rest))
    return None


def _cut_again(word: str) -> _Parts:
    found: list[tuple[str, str, int]] = []
    at = 0
    for part, tag in segmenter().tag(word, False):
        found.append((part, tag, at))
        at += len(part)
    return tuple(found)


def _halves(word: str) -> _Parts | None:
    for middle in range(len(word) - 2, 1, -1):
        if known(word[:middle]) and known(word[middle:]):
            return _cut_at(word, middle)
    return None


def _cut_at(word: str, middle: int) -> _Parts:
    left, right = word[:middle], word[middle:]
    return *word_parts(left, tag_of(left)), *_moved(word_parts(right, tag_of(right)), middle)


def _moved(parts: _Parts, offset: int) -> _Parts:
    return tuple((word, tag, at + offset) for word, tag, at in parts)


@lru_cache(maxsize=65536)
def tag_of(word: str) -> str:
    tagged = segmenter().tag(word, False)
    return tagged[0][1] if len(tagged) == 1 else "n"
