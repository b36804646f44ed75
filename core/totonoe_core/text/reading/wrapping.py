"""What stands around a statement and says nothing of its own: where the statement itself is.

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
from dataclasses import dataclass
from functools import cache
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
_BULLET = re.compile(r"\s*(?:[-*•・▪>]+\s+|\d{1,2}(?:[.)．]\s+|、))")
# Where the text is searched, a run of spaces is looked at from its beginning only.
_HASHTAG = re.compile(r"(?<!\s)\s*#([\w-]{1,40})\s*\Z")
_WORD = re.compile(r"\w")
_WORDS = re.compile(r"[^\W\d_]+")
_RUNS = re.compile(r"[^\W_]+")
_LAST_CHARS = 48


@dataclass(frozen=True, slots=True)
class _Wrappers:
    """Anchored patterns over case-folded text."""

    labels: re.Pattern[str]
    openings: re.Pattern[str]
    closings: re.Pattern[str]
    tags: re.Pattern[str]
    sorts: dict[str, int]
    last_words: frozenset[str]
    """Words with one of which a closing ends, which take less to look up; empty in languages
    without spaces."""


@kept(_SPANS_KEPT_CHARS)
def inner(text: str, language: str) -> tuple[int, int]:
    """Where the statement of a text is, without what is only wrapped around it.

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
    for pattern in (_BULLET, wrappers.labels, wrappers.openings):
        match = pattern.match(text, start, min(end, start + _WRAPPER_CHARS_MAX))
        if match:
            return match.end()
    return start


def _end(text: str, start: int, end: int, wrappers: _Wrappers) -> int:
    tail = max(start, end - _WRAPPER_CHARS_MAX)
    if match := _HASHTAG.search(text, tail, end):
        word = match.group(1)
        named = re.split(r"[_-]", word)
        known = wrappers.tags.fullmatch(word) is not None
        rest = text[start : match.start()]
        return match.start() if known or all(part in rest for part in named) else end
    if wrappers.last_words:
        runs = _RUNS.findall(text, max(start, end - _LAST_CHARS), end)
        if runs and runs[-1] not in wrappers.last_words and not runs[-1].isdecimal():
            return end
    match = wrappers.closings.search(text, tail, end)
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
    spaced = language not in _UNSPACED
    ends = (
        phrase for section in _SECTIONS[:-1] if section != "openings" for phrase in lists[section]
    )
    last_words = frozenset(word for phrase in ends for word in _RUNS.findall(phrase))
    stop = r"(?!\w)" if spaced else ""
    labels, fillers, openings, closings = (
        "|".join(_pattern(phrase) for phrase in sorted(lists[section], key=len, reverse=True))
        or r"(?!)"
        for section in _SECTIONS[:-1]
    )
    gap = r"[ _&/,-]{1,3}" if spaced else r"[ _&/・,、の-]{0,3}"

    def label(heads: str) -> str:
        beside = rf"(?:{fillers}|{heads}){stop}"
        return (
            rf"(?:(?:{fillers}){stop}{gap}){{0,4}}(?:{heads}){stop}"
            rf"(?:{gap}{beside}){{0,4}}(?:\s*[#№]?\d{{1,4}}(?!\w))?"
        )

    def before(heads: str) -> re.Pattern[str]:
        one = label(heads)
        return re.compile(
            rf"\s*(?:{_SYMBOL}+\s*)?(?:"
            rf"{_OPEN}\s*{one}\s*[:：]?\s*{_SHUT}\s*(?:[:：]|[-–—]+(?=\s))?\s*"
            rf"|\*{{1,2}}{one}\s*[:：]?\*{{1,2}}\s*[:：]?\s*"
            rf"|#{{1,6}}[ \t]*{one}[:：]?[ \t]*\n\s*"
            # one word only: what follows a mere space may be the statement's own
            rf"|(?:#|(?<={_SYMBOL})|(?<={_SYMBOL}\s))(?:{heads}){stop}\s+"
            rf"|{one}{_MARK})"
        )

    after = r"(?:\s*[,:;.!…、，。：！—–-]+\s*|\s+)" if spaced else r"\s*[,:;.!…、，。：；！—-]*\s*"
    if language == "zh":
        # 记住 without a mark says that something is to be remembered.
        after = r"[呀啊呢哈吧]?(?:\s*[,:;.!~…、，。：；！—-]+\s*|\s+)"
    edge = r"(?<!\w)"
    return _Wrappers(
        labels=before(labels),
        openings=re.compile(rf"\s*(?:{openings}){stop}{after}"),
        closings=re.compile(
            rf"(?<![\s,;、，—–-])[\s,;、，—–-]*(?:{edge}(?:{closings})"
            rf"|[(（\[【](?:{closings}|{label(labels)})[)）\]】]"
            rf"|</(?:{label(labels)})>)[\s.!。！)）]*\Z"
        ),
        tags=re.compile(label(labels)),
        last_words=last_words if spaced else frozenset(),
        sorts={word: at for at, line in enumerate(lists["sorts"]) for word in line.split()},
    )


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
