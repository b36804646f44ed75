"""Word lists of a language: which words say the same, nearly the same, or the contrary.

One folder a language, plain UTF-8, `#` begins a comment, words of a line are separated by
spaces, `_` stands for a space inside an expression:

    synonyms.txt    one group a line; the first word is the representative. Only words that may
                    replace each other in nearly any sentence (begin, start): a reading makes
                    them one key
    near.txt        one group a line; words that often, but not always, say the same (man, person).
                    A word may stand in several
    opposites.txt   two sides a line, `|` between them: each word left contradicts each word right
    light.txt       words that another wording may leave out without loss (very, currently)
    wrappers.txt    what stands around a statement and says nothing; see `text.reading.wrapping`
    grammar.txt     function words and other words that a reader treats in a way of their own: under
                    a heading in square brackets a set of words, or lines of a key, a colon and
                    words that have it
    units.txt, values.txt  words of quantities, numbers, days and times; see `reading.values`
    expressions.txt what is one word in several, under a heading that says what it is

Written for this project, but for `zh/jieba.txt.xz`: the dictionary of the package jieba, "word
frequency class" a line, which `reading.chinese.segmenter` reads. A word of one synonym group may
stand in no other.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The lists of one language, in lemmas. Opposites are by representative."""

    representatives: dict[str, str]
    near_groups: dict[str, frozenset[str]]
    opposite_keys: dict[str, frozenset[str]]
    light: frozenset[str]

    def key(self, lemma: str) -> str:
        """The representative of the word's synonym group; the word itself if it has none."""
        return self.representatives.get(lemma, lemma)

    def near(self, lemma: str) -> frozenset[str]:
        """Names of the weak groups in which the word, or its representative, stands."""
        found = self.near_groups.get(lemma, _NOTHING)
        key = self.representatives.get(lemma)
        return found if key is None else found | self.near_groups.get(key, _NOTHING)

    def opposites(self, lemma: str) -> frozenset[str]:
        """Representatives of the words that say the contrary."""
        return self.opposite_keys.get(self.key(lemma), _NOTHING)


@cache
def lexicon(language: str) -> Lexicon:
    """The lists of a language.

    Raises
    ------
    ValueError
        A word stands in two synonym groups, or contradicts itself.
    """
    folder = files(__name__) / language
    representatives: dict[str, str] = {}
    for group in _lines(folder / "synonyms.txt"):
        for word in group:
            if word in representatives:
                raise ValueError(f"{language}/synonyms.txt: {word!r} stands in two groups")
            representatives[word] = group[0]

    def key(word: str) -> str:
        return representatives.get(word, word)

    near: defaultdict[str, set[str]] = defaultdict(set)
    for group in _lines(folder / "near.txt"):
        for word in group:
            near[word].add(group[0])
            near[key(word)].add(group[0])
    opposites: defaultdict[str, set[str]] = defaultdict(set)
    for words in _lines(folder / "opposites.txt"):
        middle = words.index("|")
        for left in map(key, words[:middle]):
            for right in map(key, words[middle + 1 :]):
                if left == right:
                    raise ValueError(f"{language}/opposites.txt: {left!r} contradicts itself")
                opposites[left].add(right)
                opposites[right].add(left)
    return Lexicon(
        representatives,
        {word: frozenset(groups) for word, groups in near.items()},
        {word: frozenset(keys) for word, keys in opposites.items()},
        frozenset(word for words in _lines(folder / "light.txt") for word in words),
    )


def _words(line: str) -> list[str]:
    return [word.replace("_", " ") for word in line.split()]


def _lines(file: Traversable) -> list[list[str]]:
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        words = _words(line.partition("#")[0])
        if words:
            found.append(words)
    return found


class Grammar:
    """The tables of a language's `grammar.txt` or `expressions.txt`, by heading.

    Raises KeyError for a heading that is not there.
    """

    def __init__(self, language: str, name: str = "grammar") -> None:
        self.lines: dict[str, list[str]] = {}
        text = (files(__name__) / language / f"{name}.txt").read_text(encoding="utf-8")
        for line in text.splitlines():
            # "#" is also a word of its own: a comment begins a line.
            if not line or line.startswith("# "):
                continue
            if line.startswith("[") and line.endswith("]"):
                lines = self.lines[line[1:-1]] = []
            else:
                lines.append(line)

    def words(self, heading: str) -> frozenset[str]:
        """Return the words under a heading."""
        return frozenset(_words(" ".join(self.lines[heading])))

    def keys(self, heading: str) -> dict[str, str]:
        """Return the key of each word under a heading, of lines "key: word word"."""
        pairs = (line.partition(":") for line in self.lines[heading])
        return {word: key.strip() for key, _, words in pairs for word in _words(words)}

    def pairs(self, heading: str) -> dict[str, str]:
        """Return what stands on both sides of "=" in lines under a heading."""
        rows = (line.partition("=") for line in self.lines[heading])
        return {left.strip(): right.strip() for left, _, right in rows}
