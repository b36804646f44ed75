"""Words of a Japanese text: morphemes with a tag, a key in base spelling, and values in place.

Sudachi cuts and normalises (kana, okurigana, width, long vowels). Potential verbs and auxiliaries
are brought to one form here, so that grammar sees function words by their base only.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from typing import Any, Final

from totonoe_core.base import heap
from totonoe_core.base.once import once
from totonoe_core.base.prepared import mapped
from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.japanese.grammar import LISTS, words_of
from totonoe_core.text.reading.values.find import Value, find_values

_PACKAGES: Final = ("sudachidict-small", "sudachipy")


class Tag:
    """Sorts of words."""

    NOUN: Final = "noun"  # also 形状詞, suffixes and figures
    ACTION: Final = "action"  # a noun that する makes a verb
    NAME: Final = "name"
    VALUE: Final = "value"
    VERB: Final = "verb"
    ADJECTIVE: Final = "adjective"
    ADVERB: Final = "adverb"
    ADNOMINAL: Final = "adnominal"
    PREFIX: Final = "prefix"
    QUANTIFIER: Final = "quantifier"  # some, all, many: counts or stands beside what it counts
    AUXILIARY: Final = "auxiliary"
    CASE: Final = "case"
    TOPIC: Final = "topic"
    LINK: Final = "link"
    PARTICLE: Final = "particle"
    FINAL: Final = "final"
    NOMINALISER: Final = "nominaliser"
    STOP: Final = "stop"
    COMMA: Final = "comma"
    BRACKET: Final = "bracket"
    SPACE: Final = "space"
    JOINER: Final = "joiner"  # 接続詞: または, しかし
    OTHER: Final = "other"


NOMINAL: Final = words_of("noun action name value prefix quantifier")

QUANTIFIERS: Final = words_of("全て 沢山 幾つか 殆ど 少し 半分 常に 時々 滅多に 各 最大 最小")
"""Keys of words that say how many or how often without a figure."""

# What an expression of several morphemes is, by its last one: 走らせる is a verb.
_JOINED: Final = {tag: tag for tag in (*NOMINAL, Tag.VERB, Tag.ADJECTIVE)} | {
    Tag.AUXILIARY: Tag.VERB
}

# u-row to e-row: how a potential verb (読める) is made of a plain one (読む).
_POTENTIAL: Final = dict(zip("うくぐすつぬぶむる", "えけげせてねべめれ", strict=True))

# Auxiliaries whose form says more than their base.
_FORMS: Final = {
    ("だ", "意志推量形"): "だろう",
    ("です", "意志推量形"): "だろう",
    ("ます", "意志推量形"): "ましょう",
    ("だ", "仮定形-一般"): "なら",
    ("た", "仮定形-一般"): "たら",
    ("ない", "仮定形-融合"): "なきゃ",
}


class Word:
    """One morpheme, or one value.

    Attributes
    ----------
    start, end : int
        Code point offsets.
    normal : str
        Base spelling, with kana, okurigana and width folded.
    key : str
        The representative of the word's synonym group, else `normal`.
    base : str
        Dictionary form as the grammar tables spell it; ない for every negating auxiliary. Forms
        that say more (たら, だろう) are bases of their own.
    tag : str
        One of the constants of `Tag`.
    form : str
        Inflected form as Sudachi names it, "*" if there is none.
    value : Value or None
        The value that stands here.
    can : bool
        A potential verb: `key` is that of the plain one.
    """

    __slots__ = ("base", "can", "end", "form", "key", "normal", "start", "surface", "tag", "value")

    def __init__(self, surface: str, start: int, end: int, normal: str) -> None:
        self.surface = surface
        self.start = start
        self.end = end
        self.normal = normal
        self.key = normal
        self.base = normal
        self.tag = Tag.OTHER
        self.form = "*"
        self.value: Value | None = None
        self.can = False


_LOCAL: Final = threading.local()


@once
def _dictionary() -> Any:
    from sudachipy import Dictionary
    from sudachipy.errors import SudachiError

    try:
        return Dictionary(dict="small")
    except SudachiError as error:
        # Its errors are texts, in which the number of the system's error stands.
        found = re.search(r"os error (\d+)", str(error))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1]))) from error


def _morphemes(text: str) -> Any:
    # A tokenizer is not made to be shared by threads, its dictionary is.
    if not hasattr(_LOCAL, "tokenizer"):
        _LOCAL.tokenizer = _dictionary().tokenizer()
    return _LOCAL.tokenizer.tokenize(text)


_TAGS: Final = LISTS.keys("tags")


@cache
def _tag(part_of_speech: tuple[str, ...]) -> str:
    """Return the tag of the longest beginning of a part of speech that is listed."""
    begins = ("/".join(part_of_speech[:count]) for count in (3, 2, 1))
    return next((_TAGS[begin] for begin in begins if begin in _TAGS), Tag.OTHER)


@once
def _listed() -> tuple[dict[str, str], dict[str, list[tuple[str, ...]]]]:
    """Return the lists by the normal forms of their words, so that any spelling is found.

    Returns
    -------
    dict
        Key by normal form.
    dict
        Expressions that are several morphemes, by their first, longest first.
    """
    lists = lexicon("ja")
    keys: dict[str, str] = {}
    joined: dict[str, list[tuple[str, ...]]] = {}
    # Sorted: of two spellings of one word the first gives the key, the same in every process.
    listed = (*lists.representatives, *lists.near_groups, *lists.opposite_keys)
    listed = (*listed, *sorted(lists.light))
    for word, parts in zip(listed, _normal_forms(listed), strict=True):
        keys.setdefault("".join(parts), lists.key(word))
        if len(parts) > 1:
            joined.setdefault(parts[0], []).append(parts)
    for expressions in joined.values():
        expressions.sort(key=len, reverse=True)
    return keys, joined


def _normal_forms(listed: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the normal forms of the morphemes of each word.

    They are looked up once on a machine: 60 ms of CPU, which the first Japanese text would wait
    for, and 50 MB of the dictionary.
    """

    def look_up() -> bytes:
        found = [[each.normalized_form() for each in _morphemes(word)] for word in listed]
        heap.unmap(".dic")
        return json.dumps(found).encode()

    depends_on = (*listed, *(version(package) for package in _PACKAGES))
    digest = blake2b("\n".join(depends_on).encode(), digest_size=8).hexdigest()
    return [tuple(parts) for parts in json.loads(bytes(mapped(f"listed-ja-{digest}", look_up)))]


def _word(surface: str, start: int, end: int, morpheme: Any) -> Word:
    """Return a morpheme as grammar sees it: function words by their base only."""
    part_of_speech = morpheme.part_of_speech()
    *_, conjugation, form = part_of_speech
    normal, base = morpheme.normalized_form(), morpheme.dictionary_form()
    word = Word(surface, start, end, normal)
    word.base, word.tag, word.form = base, _tag(part_of_speech), form
    if word.tag == Tag.VERB:
        if conjugation.startswith("下一段") and normal[-2:] != base[-2:]:
            word.can = base[-2:] == _POTENTIAL.get(normal[-1], "") + "る"
    elif word.tag == Tag.AUXILIARY:
        if conjugation == "助動詞-ヌ":
            base = "ない"
        elif normal == "た":
            base = "た"  # 飲んだ
        elif part_of_speech[0] == "名詞":
            base = "伝聞"  # 降るそうだ is said by somebody, 降りそうだ is seen
        word.base = _FORMS.get((base, form), base)
    elif word.tag == Tag.LINK and base in ("で", "ちゃ"):
        word.base = "て"
    elif word.tag == Tag.NOUN and surface[:1].isupper():
        word.tag = Tag.NAME  # the second word of ㏀ has no surface of its own
    return word


def words(text: str) -> list[Word]:
    """Morphemes of a text in order, values and listed expressions as one word each."""
    keys, joined = _listed()
    values = find_values(text, "ja")
    words: list[Word] = []
    at = 0  # of the next value
    for morpheme in _morphemes(text):
        start, end = morpheme.begin(), morpheme.end()
        while at < len(values) and values[at].end <= start:
            at += 1
        if at < len(values) and values[at].start < end:
            value = values[at]
            if not words or words[-1].value is not value:
                surface = text[value.start : value.end]
                word = Word(surface, value.start, value.end, value.key)
                word.tag, word.value = Tag.VALUE, value
                words.append(word)
            if end <= value.end:
                continue
            start = value.end  # what is left of a morpheme that goes on behind the value
            word = Word(text[start:end], start, end, text[start:end])
            word.tag = Tag.NOUN
        else:
            word = _word(text[start:end], start, end, morpheme)
            word.key = keys.get(word.normal, word.normal)
            if word.tag == Tag.NAME and word.key != word.normal:
                word.tag = Tag.NOUN  # DB and the like
        words.append(word)
    return _join(words, joined, keys)


def _join(
    words: list[Word], joined: dict[str, list[tuple[str, ...]]], keys: dict[str, str]
) -> list[Word]:
    """Make one word of each listed expression of several morphemes (男 + の + 人)."""
    result: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        for parts in joined.get(word.normal, ()):
            whole = words[at : at + len(parts)]
            if tuple(each.normal for each in whole) == parts:
                last, normal = whole[-1], "".join(parts)
                word = Word("".join(each.surface for each in whole), word.start, last.end, normal)
                word.base, word.form = last.base, last.form
                word.tag = _JOINED.get(last.tag, Tag.ADVERB)
                word.key = keys.get(normal, normal)
                at += len(parts) - 1
                break
        if word.key in QUANTIFIERS:
            word.tag = Tag.QUANTIFIER
        result.append(word)
        at += 1
    return result
