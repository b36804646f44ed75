"""Words of a Japanese text: morphemes with a tag, a key in base spelling, and values in place.

Sudachi cuts and normalises (kana, okurigana, width, long vowels). What its dictionary calls
potential verbs, negating prefixes and counters is brought to one form here, so that grammar
sees function words by their base only.
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

# Sudachi takes 49,149 bytes at once; a code point has at most four.
_SLICE_MAX: Final = 12_000
_PACKAGES: Final = ("sudachidict-small", "sudachipy")


class Tag:
    """Sorts of words."""

    NOUN: Final = "noun"
    WHEN: Final = "when"  # a noun that also stands as an adverb: today, many
    ACTION: Final = "action"  # a noun that する makes a verb
    STATE: Final = "state"  # 形状詞, and nouns that な makes one
    NAME: Final = "name"
    FIGURE: Final = "figure"
    VALUE: Final = "value"
    VERB: Final = "verb"
    ADJECTIVE: Final = "adjective"
    ADVERB: Final = "adverb"
    ADNOMINAL: Final = "adnominal"
    PREFIX: Final = "prefix"
    SUFFIX: Final = "suffix"
    COUNTER: Final = "counter"
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


NOMINAL: Final = words_of(
    "noun when action state name pronoun figure value prefix suffix counter quantifier"
)

QUANTIFIERS: Final = words_of("全て 沢山 幾つか 殆ど 少し 半分 常に 時々 滅多に 各 最大 最小")
"""Keys of words that say how many or how often without a figure."""

_HEARSAY: Final = "hearsay"
_CASES_ALONE: Final = words_of("が で と")
"""Behind a space the dictionary takes them for conjunctions."""

_OPEN: Final = NOMINAL | {Tag.VERB, Tag.ADJECTIVE}

# u-row to e-row: how a potential verb (読める) is made of a plain one (読む).
_POTENTIAL: Final = dict(zip("うくぐすつぬぶむる", "えけげせてねべめれ", strict=True))


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
        Dictionary form as the grammar tables spell it; ない for every negating auxiliary.
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


class _Local(threading.local):
    """A tokenizer for each thread: it is not made to be shared, its dictionary is."""

    def __init__(self) -> None:
        self.tokenizer = _dictionary().tokenizer()


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


@cache
def _local() -> _Local:
    return _Local()


def _morphemes(text: str) -> list[tuple[int, Any]]:
    """Morphemes with the offset of the slice they were cut from."""
    tokenize = _local().tokenizer.tokenize
    if len(text) <= _SLICE_MAX:
        return [(0, found) for found in tokenize(text)]
    found: list[tuple[int, Any]] = []
    start = 0
    while start < len(text):
        end = start + _SLICE_MAX
        if end < len(text):
            end = max(text.rfind("。", start, end), text.rfind("\n", start, end), end - 1000) + 1
        found += [(start, morpheme) for morpheme in tokenize(text[start:end])]
        start = end
    return found


_TAGS: Final = LISTS.keys("tags")


@cache
def _tag(part_of_speech: tuple[str, ...]) -> tuple[str, str, str]:
    """Tag, conjugation type and inflected form. The dictionary has some 1,600 of them."""
    first, second, third, _, conjugation, form = part_of_speech
    if first == "名詞" and second == "普通名詞":
        tag = Tag.ACTION if third in ("サ変可能", "サ変形状詞可能") else Tag.NOUN
        tag = {"形状詞可能": Tag.STATE, "副詞可能": Tag.WHEN}.get(third, tag)
    elif first == "接尾辞":
        tag = Tag.COUNTER if third == "助数詞" else Tag.SUFFIX
        if second == "動詞的":
            tag = Tag.VERB
        elif second == "形容詞的":
            tag = Tag.ADJECTIVE
    elif second == "助動詞語幹":
        tag = Tag.AUXILIARY
        if first == "名詞":
            conjugation = _HEARSAY
    else:
        tag = _TAGS.get(first) or _TAGS.get(f"{first}/{second}", Tag.OTHER)
    return tag, conjugation, form


_TAGS_BY_NUMBER: Final[dict[int, tuple[str, str, str]]] = {}


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
        found = [[each.normalized_form() for _, each in _morphemes(word)] for word in listed]
        heap.unmap(".dic")
        return json.dumps(found).encode()

    depends_on = (*listed, *(version(package) for package in _PACKAGES))
    digest = blake2b("\n".join(depends_on).encode(), digest_size=8).hexdigest()
    return [tuple(parts) for parts in json.loads(bytes(mapped(f"listed-ja-{digest}", look_up)))]


def _word(surface: str, start: int, end: int, morpheme: Any) -> Word:
    """Return a morpheme as grammar sees it: function words by their base only."""
    number = morpheme.part_of_speech_id()
    tags = _TAGS_BY_NUMBER.get(number)
    if tags is None:
        tags = _TAGS_BY_NUMBER[number] = _tag(morpheme.part_of_speech())
    tag, conjugation, form = tags
    normal, base = morpheme.normalized_form(), morpheme.dictionary_form()
    word = Word(surface, start, end, normal)
    word.base, word.tag, word.form = base, tag, form
    if tag == Tag.VERB:
        if base[-1] == "る" and normal != base:
            word.can = _is_potential(normal, base, conjugation)
    elif tag == Tag.AUXILIARY:
        if conjugation == "助動詞-ヌ":
            word.base = "ない"
        elif base == "だ" and normal == "た":
            word.base = "た"  # 飲んだ
        elif conjugation == _HEARSAY:
            word.base = "伝聞"  # 降るそうだ is said by somebody, 降りそうだ is seen
    elif tag == Tag.LINK and base in ("で", "ちゃ"):
        word.base = "て"
    elif tag == Tag.NOUN and surface[:1].isupper() and surface.isascii():
        word.tag = Tag.NAME  # the second word of ㏀ has no surface of its own
    return word


def words(text: str) -> list[Word]:
    """Morphemes of a text in order, values and listed expressions as one word each."""
    keys, joined = _listed()
    values = find_values(text, "ja")
    found: list[Word] = []
    begins = False
    at = 0  # of the next value
    for offset, morpheme in _morphemes(text):
        start, end = morpheme.begin() + offset, morpheme.end() + offset
        while at < len(values) and values[at].end <= start:
            at += 1
        if at < len(values) and values[at].start < end:
            value = values[at]
            if not found or found[-1].value is not value:
                surface = text[value.start : value.end]
                word = Word(surface, value.start, value.end, value.key)
                word.tag, word.value = Tag.VALUE, value
                found.append(word)
            if end <= value.end:
                continue
            start = value.end  # what is left of a morpheme that goes on behind the value
            word = Word(text[start:end], start, end, text[start:end])
            word.tag = Tag.SUFFIX
            found.append(word)
            continue
        word = _word(text[start:end], start, end, morpheme)
        tag, normal = word.tag, word.normal
        behind_space = bool(found) and found[-1].tag == Tag.SPACE
        if behind_space and tag in (Tag.OTHER, Tag.JOINER) and normal in _CASES_ALONE:
            word.tag = Tag.CASE  # ASR1603 が
        if word.surface == "は" and found and found[-1].normal == "又" and found[-1].end == start:
            found[-1].base = found[-1].normal = found[-1].key = "又は"  # cut in two: AまたはB
            found[-1].end = end
            continue
        word.key = key = keys.get(normal, normal)
        if word.tag == Tag.NAME and key != normal:
            word.tag = Tag.NOUN  # DB and the like
        if key in QUANTIFIERS and tag not in (Tag.VERB, Tag.COUNTER):
            word.tag = Tag.QUANTIFIER
        found.append(word)
        begins = begins or normal in joined
    return _join(found, joined, keys) if begins else found


def _joined_tag(whole: list[Word]) -> str:
    last = whole[-1].tag
    if last == Tag.SUFFIX:
        return Tag.NOUN
    if last == Tag.AUXILIARY and whole[0].tag == Tag.VERB:  # 走らせる
        return Tag.VERB
    return last if last in _OPEN else Tag.ADVERB


def _is_potential(normal: str, base: str, conjugation: str) -> bool:
    return (
        conjugation.startswith("下一段")
        and len(base) > 1
        and _POTENTIAL.get(normal[-1]) == base[-2]
        and normal[-2:] != base[-2:]
    )


def _join(
    found: list[Word], joined: dict[str, list[tuple[str, ...]]], keys: dict[str, str]
) -> list[Word]:
    """Make one word of each listed expression of several morphemes (男 + の + 人)."""
    result: list[Word] = []
    at = 0
    while at < len(found):
        word = found[at]
        for parts in joined.get(word.normal, ()):
            whole = found[at : at + len(parts)]
            if tuple(each.normal for each in whole) == parts:
                last, normal = whole[-1], "".join(parts)
                one = Word("".join(each.surface for each in whole), word.start, last.end, normal)
                one.base, one.form = last.base, last.form
                one.tag = _joined_tag(whole)
                if last.base == "ない":  # つまらない denies nothing
                    one.tag = Tag.ADJECTIVE
                one.key = keys.get(normal, normal)
                if one.key in QUANTIFIERS:
                    one.tag = Tag.QUANTIFIER
                result.append(one)
                at += len(parts)
                break
        else:
            result.append(word)
            at += 1
    return result
