"""Find the statement inside labels, openings and the like, which state nothing themselves.

    Note: ...   [preference] ...   ## Decisions      labels, alone, in brackets or on their own line
    Just so you know, ...   Hi team, ...             openings
    ..., as mentioned before   ... Thanks!           closings
    ... #travel                                      hashtags: a field, or a word of the text

By closed lists only: "Port:" or "Staging:" says something, "Note:" does not. Offsets stay those of
the text. The lists are in lexicon/LANG/wrappers.txt, one phrase a line under a heading in square
brackets:

    [labels]    words for a note as such (note, decision, user preference)
    [fillers]   what may stand beside a label (quick, important, for the robot)
    [openings]  phrases before a statement
    [closings]  phrases after a statement
    [sorts]     words of labels that say what sort of statement it is, those of one sort in a line:
                a label is content beside another text with another sort ("Plan:", "Fact:")

In a phrase `[a|b]` is one of several, `(a|b)` the same or nothing; no nesting.
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from importlib.resources import files

from totonoe_core.base.kept import kept
from totonoe_core.text import lexicon as lexicons
from totonoe_core.text.reading.chinese.script import simplify

_SPANS_KEPT_CHARS = 600_000
_ROUNDS_MAX = 6
"""Wrappers around wrappers that are taken off on either side."""
_WRAPPER_CHARS_MAX = 160
_UNSPACED = frozenset({"ja", "zh"})
_SECTIONS = ("labels", "fillers", "openings", "closings", "sorts")

_OPEN, _SHUT = r"[\[(<{（【〔［「『《〈★☆■◆]", r"[\])>}）】〕］」』》〉★☆■◆]"
_SYMBOL = "[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f]"
_MARK = rf"(?:\s*(?:[:：>|｜／!！。]+|\.(?=\s)|\n|——?|{_SYMBOL}+)|\s[-–—]+(?=\s))\s*"
_MARKED = re.compile(rf"(?<={_SYMBOL})|(?<={_SYMBOL}\s)|\s*(?:{_SYMBOL}|{_OPEN}|[*#])")
_BRACKETED = re.compile(r"[)）\]】>][\s.!。！]*\Z")
_BEFORE_CLOSING = r"(?<![\s,;、，—–-])[\s,;、，—–-]*"
_AFTER_CLOSING = r"[\s.!。！)）]*\Z"
_BULLET = re.compile(r"\s*(?:[-*•・▪>]+\s+|\d{1,2}(?:[.)．]\s+|、))")
# Where the text is searched, a run of spaces is looked at from its beginning only.
_HASHTAG = re.compile(r"(?<!\s)\s*#([\w-]{1,40})\s*\Z")
_WORD = re.compile(r"\w")
_WORDS = re.compile(r"[^\W\d_]+")
_RUNS = re.compile(r"[^\W_]+")
_LAST_CHARS = 48


class _Wrappers:
    """Anchored patterns over case-folded text, each compiled when a text needs it first.

    A pattern with all labels in it takes milliseconds to compile, and most texts need two.

    Attributes
    ----------
    sorts : dict
        Number of the sort of each word of a label that says one.
    last_words : frozenset of str
        Words with one of which a closing ends, which take less to look up; empty in languages
        without spaces.
    """

    def __init__(self, language: str, lists: dict[str, list[str]]) -> None:
        spaced = language not in _UNSPACED
        self.sorts = {word: at for at, line in enumerate(lists["sorts"]) for word in line.split()}
        ends = (phrase for name in ("labels", "fillers", "closings") for phrase in lists[name])
        words = (word for phrase in ends for word in _RUNS.findall(phrase))
        self.last_words = frozenset(words) if spaced else frozenset()
        self._labels, self._fillers, self._openings, self._closings = (
            "|".join(_pattern(phrase) for phrase in sorted(lists[section], key=len, reverse=True))
            or r"(?!)"
            for section in _SECTIONS[:-1]
        )
        self._stop = r"(?!\w)" if spaced else ""
        self._gap = r"[ _&/,-]{1,3}" if spaced else r"[ _&/・,、の-]{0,3}"
        self._after = (
            r"(?:\s*[,:;.!…、，。：！—–-]+\s*|\s+)" if spaced else r"\s*[,:;.!…、，。：；！—-]*\s*"
        )
        if language == "zh":
            # 记住 without a mark says that something is to be remembered.
            self._after = r"[呀啊呢哈吧]?(?:\s*[,:;.!~…、，。：；！—-]+\s*|\s+)"

    @property
    def _label(self) -> str:
        """One label, with what may stand beside it."""
        stop, gap, fillers, labels = self._stop, self._gap, self._fillers, self._labels
        return (
            rf"(?:(?:{fillers}){stop}{gap}){{0,4}}(?:{labels}){stop}"
            rf"(?:{gap}(?:{fillers}|{labels}){stop}){{0,4}}(?:\s*[#№]?\d{{1,4}}(?!\w))?"
        )

    @cached_property
    def label(self) -> re.Pattern[str]:
        """A label before a statement that no mark stands before."""
        return re.compile(rf"\s*{self._label}{_MARK}")

    @cached_property
    def marked_label(self) -> re.Pattern[str]:
        """A label before a statement, in brackets or behind a symbol or not."""
        label = self._label
        return re.compile(
            rf"\s*(?:{_SYMBOL}+\s*)?(?:"
            rf"{_OPEN}\s*{label}\s*[:：]?\s*{_SHUT}\s*(?:[:：]|[-–—]+(?=\s))?\s*"
            rf"|\*{{1,2}}{label}\s*[:：]?\*{{1,2}}\s*[:：]?\s*"
            rf"|#{{1,6}}[ \t]*{label}[:：]?[ \t]*\n\s*"
            # one word only: what follows a mere space may be the statement's own
            rf"|(?:#|(?<={_SYMBOL})|(?<={_SYMBOL}\s))(?:{self._labels}){self._stop}\s+"
            rf"|{label}{_MARK})"
        )

    @cached_property
    def opening(self) -> re.Pattern[str]:
        """A phrase before a statement."""
        return re.compile(rf"\s*(?:{self._openings}){self._stop}{self._after}")

    @cached_property
    def closing(self) -> re.Pattern[str]:
        """A phrase after a statement that no bracket ends."""
        return re.compile(rf"{_BEFORE_CLOSING}(?<!\w)(?:{self._closings}){_AFTER_CLOSING}")

    @cached_property
    def bracketed_closing(self) -> re.Pattern[str]:
        """A phrase or a label after a statement, in brackets or not."""
        closings, label = self._closings, self._label
        return re.compile(
            rf"{_BEFORE_CLOSING}(?:(?<!\w)(?:{closings})"
            rf"|[(（\[【](?:{closings}|{label})[)）\]】]"
            rf"|</(?:{label})>){_AFTER_CLOSING}"
        )

    @cached_property
    def tag(self) -> re.Pattern[str]:
        """A label by itself."""
        return re.compile(self._label)


@kept(_SPANS_KEPT_CHARS)
def inner(text: str, language: str) -> tuple[int, int]:
    """Return the span of the statement in a text, without the words wrapped around it.

    Parameters
    ----------
    text : str
        Any text.
    language : str
        ISO 639-1 code. Without a list of its own nothing is taken off.

    Returns
    -------
    tuple of int
        Start and end, code points. The whole text if nothing else would be left.
    """
    wrappers = _wrappers(language)
    if wrappers is None:
        return 0, len(text)
    folded = simplify(text).lower() if language == "zh" else text.lower()
    if len(folded) != len(text):
        folded = text  # a capital that folds to two letters: offsets come first
    start, end = 0, len(text)
    for _ in range(_ROUNDS_MAX):
        found = _start(folded, start, end, wrappers)
        if found == start or not _WORD.search(folded, found, end):
            break
        start = found
    for _ in range(_ROUNDS_MAX):
        found = _end(folded, start, end, wrappers)
        if found == end or not _WORD.search(folded, start, found):
            break
        end = found
    return start, end


def other_sorts(own: str, other: str, language: str) -> bool:
    """Whether what was taken off before two statements says that they are of two sorts.

    "Old rule" and "New rule" are, "Rule" and "Team rule" are not.
    """
    wrappers = _wrappers(language)
    if not own or not other or wrappers is None or not wrappers.sorts:
        return False
    here, there = (
        {wrappers.sorts[word] for word in _WORDS.findall(text.lower()) if word in wrappers.sorts}
        for text in (own, other)
    )
    return bool(here - there and there - here)


def _start(text: str, start: int, end: int, wrappers: _Wrappers) -> int:
    limit = min(end, start + _WRAPPER_CHARS_MAX)
    if match := _BULLET.match(text, start, limit):
        return match.end()
    marked = _MARKED.match(text, start, limit) is not None
    match = (wrappers.marked_label if marked else wrappers.label).match(text, start, limit)
    match = match or wrappers.opening.match(text, start, limit)
    return match.end() if match else start


def _end(text: str, start: int, end: int, wrappers: _Wrappers) -> int:
    tail = max(start, end - _WRAPPER_CHARS_MAX)
    if match := _HASHTAG.search(text, tail, end):
        word = match.group(1)
        named = re.split(r"[_-]", word)
        known = wrappers.tag.fullmatch(word) is not None
        rest = text[start : match.start()]
        return match.start() if known or all(part in rest for part in named) else end
    if wrappers.last_words:
        runs = _RUNS.findall(text, max(start, end - _LAST_CHARS), end)
        if runs and runs[-1] not in wrappers.last_words and not runs[-1].isdecimal():
            return end
    bracketed = _BRACKETED.search(text, tail, end) is not None
    closing = wrappers.bracketed_closing if bracketed else wrappers.closing
    match = closing.search(text, tail, end)
    return match.start() if match else end


@cache
def _wrappers(language: str) -> _Wrappers | None:
    file = files(lexicons) / language / "wrappers.txt"
    if not language or not file.is_file():
        return None
    lists: dict[str, list[str]] = {section: [] for section in _SECTIONS}
    section = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        phrase = line.partition("#")[0].strip().lower()
        if phrase.startswith("[") and phrase[1:-1] in lists:
            section = phrase[1:-1]
        elif phrase:
            lists[section].append(phrase)
    return _Wrappers(language, lists)


def _pattern(phrase: str) -> str:
    """A phrase of the lists as a regular expression."""
    out = []
    for part in re.split(r"(\[[^\]]*\]|\([^)]*\)) ?", phrase):
        if part[:1] in ("[", "("):
            options = "|".join(_literal(option) for option in part[1:-1].split("|"))
            out.append(f"(?:{options})" if part[0] == "[" else f"(?:(?:{options})\\s*)?")
            if part[0] == "[":
                out.append(r"\s*")
        elif part:
            out.append(_literal(part))
    return "".join(out)


def _literal(words: str) -> str:
    return re.escape(words.strip(" ")).replace(r"\ ", r"[\s_-]+") + (
        r"\s*" if words.endswith(" ") else ""
    )
