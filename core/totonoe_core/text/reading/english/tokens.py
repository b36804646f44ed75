"""English text to tokens: contractions undone, fixed expressions as one token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.english import closed
from totonoe_core.text.reading.english.closed import listed
from totonoe_core.text.reading.english.expressions import EXPRESSIONS, LIGHT_VERBS
from totonoe_core.text.reading.english.words import Word, word
from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values.find import Value

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[.!?;:…]+|[,()\[\]–—]|--+|['’]|-")
_CONTRACTED = {
    "n't": "not", "'re": "are", "'ve": "have", "'ll": "will", "'m": "am", "'d": "would",
}  # fmt: skip
_WHOLE = {
    "can't": ("can", "not"), "won't": ("will", "not"), "shan't": ("shall", "not"),
    "cannot": ("can", "not"), "let's": ("let", "us"), "gonna": ("going", "to"),
    "wanna": ("want", "to"), "gotta": ("got", "to"), "ain't": ("is", "not"),
    "dont": ("do", "not"), "doesnt": ("does", "not"), "didnt": ("did", "not"),
    "isnt": ("is", "not"), "cant": ("can", "not"), "wont": ("will", "not"),
}  # fmt: skip
_IS_AFTER = listed(
    "it he she that there here what who where this how when everything everyone nobody"
)


class Token:
    """A word, value or mark with its place and what has been found out about it."""

    __slots__ = ("end", "form", "lemma", "start", "tag", "value", "word")

    def __init__(self, start: int, end: int, form: str, tag: str, value: Value | None = None):
        self.start = start
        self.end = end
        self.form = form
        self.tag = tag
        self.value = value
        self.word: Word | None = None
        self.lemma = form

    def forms(self) -> str:
        return self.word.forms if self.word is not None else ""


def split(text: str, values: Sequence[Value]) -> list[Token]:
    """The tokens of `text`; `values` (ascending, disjoint) stand as one token each."""
    tokens: list[Token] = []
    cased = _case_tells(text)
    at = 0
    for value in values:
        _words_between(text, at, value.start, tokens, cased)
        tokens.append(Token(value.start, value.end, value.key, "#", value))
        at = value.end
    _words_between(text, at, len(text), tokens, cased)
    return tokens


def _case_tells(text: str) -> bool:
    """Whether capitals mark names here: not in a text of capitals only, nor in a headline."""
    letters = [part[0] for part in text.split() if part[0].isalpha()]
    upper = sum(map(str.isupper, letters))
    return upper * 3 < len(letters) * 2 or (len(letters) < 4 and not text.isupper())


def _words_between(text: str, at: int, end: int, tokens: list[Token], cased: bool) -> None:
    first = not tokens
    for match in _TOKEN.finditer(text, at, end):
        start, stop = match.span()
        surface = match.group()
        mark = surface[0]
        if not mark.isalnum():
            if mark in "-'’" and len(surface) == 1:
                if (
                    mark != "-"
                    and tokens
                    and tokens[-1].end == start
                    and tokens[-1].form[-1] == "s"
                ):
                    tokens.append(Token(start, stop, "'s", "'"))
                elif mark == "-" and not (start and stop < end and not text[stop].isspace()):
                    tokens.append(Token(start, stop, ",", ","))
                continue
            strong = mark in ".!?;:…" and not (
                surface == "." and tokens and _abbreviated(tokens[-1], stop, end)
            )
            if strong:
                tokens.append(Token(start, stop, surface, "."))
                first = True
            elif surface != ".":
                tokens.append(Token(start, stop, ",", ","))
            continue
        form = (
            surface.lower().replace("’", "'")
            if not surface.islower()
            else surface.replace("’", "'")
        )
        capital = cased and mark.isupper()
        if "'" in form:
            _contracted(form, start, stop, tokens, capital and not first)
        else:
            parts = _WHOLE.get(form)
            if parts:
                tokens.extend(_plain(part, start, stop, False) for part in parts)
            else:
                named = capital and (
                    not first or (surface.isupper() and len(surface) > 1) or _sounds_named(form)
                )
                tokens.append(_plain(form, start, stop, named))
        first = False


def _abbreviated(last: Token, stop: int, end: int) -> bool:
    """Whether a full stop belongs to the word before it (Dr. Smith, J. Smith)."""
    if stop >= end:
        return False
    return last.form in closed.TITLES or (len(last.form) == 1 and last.form.isalpha())


def _sounds_named(form: str) -> bool:
    """Whether a capital at the start of a sentence is that of a name."""
    found = word(form)
    return not (found.closed or found.known)


def _plain(form: str, start: int, stop: int, named: bool) -> Token:
    found = word(form)
    token = Token(start, stop, form, found.closed)
    token.word = found
    token.lemma = found.lemma
    if named and (not found.closed or found.closed in "PQ"):
        token.tag = "M"
        token.lemma = form
    return token


def _contracted(form: str, start: int, stop: int, tokens: list[Token], named: bool) -> None:
    whole = _WHOLE.get(form)
    if whole:
        tokens.extend(_plain(part, start, stop, False) for part in whole)
        return
    if form.endswith("n't") and len(form) > 3:
        tokens.append(_plain(form[:-3], start, stop - 3, False))
        tokens.append(_plain("not", stop - 3, stop, False))
        return
    stem, _, rest = form.partition("'")
    suffix = "'" + rest
    if suffix in _CONTRACTED:
        tokens.append(_plain(stem, start, start + len(stem), named))
        tokens.append(_plain(_CONTRACTED[suffix], start + len(stem), stop, False))
    elif suffix == "'s":
        tokens.append(_plain(stem, start, stop - 2, named))
        if stem in _IS_AFTER:
            tokens.append(_plain("is", stop - 2, stop, False))
        else:
            tokens.append(Token(stop - 2, stop, "'s", "'"))
    else:
        tokens.append(_plain(form, start, stop, named))


@cache
def _expressions() -> dict[str, list[tuple[tuple[str, ...], str, str]]]:
    """First lemma -> (further lemmas, key, tag); the longest first. An empty key drops it."""
    found: dict[str, list[tuple[tuple[str, ...], str, str]]] = {}

    def add(expression: str, key: str, tag: str) -> None:
        first, *rest = expression.split()
        found.setdefault(first, []).append((tuple(rest), key, tag))

    for tag, table in EXPRESSIONS.items():
        for expression, key in table.items():
            add(expression, key, tag)
    lists = lexicon("en")
    entries = {*lists.representatives, *lists.near_groups, *lists.opposite_keys, *lists.light}
    for entry in sorted(entries):
        if " " in entry:
            first = word(entry.split()[0])
            tag = "V" if first.strong or first.lemma in LIGHT_VERBS else "N"
            add(entry, entry, tag)
            if tag == "V":
                for article in (" a ", " an "):
                    if article in entry:
                        add(entry.replace(article, " the ", 1), entry, tag)
    for options in found.values():
        options.sort(key=lambda option: -len(option[0]))
    return found


_NO_OPTIONS: list[tuple[tuple[str, ...], str, str]] = []


def joined(tokens: list[Token]) -> list[Token]:
    """Fixed expressions brought to one token, or dropped."""
    expressions = _expressions()
    out: list[Token] = []
    at = 0
    count = len(tokens)
    while at < count:
        token = tokens[at]
        form = token.form
        stem = token.word.verb if token.word is not None else form
        if form not in expressions and stem not in expressions:
            out.append(token)
            at += 1
            continue
        options = expressions.get(form, _NO_OPTIONS)
        if stem != form:
            options = [*options, *expressions.get(stem, _NO_OPTIONS)]
        if options and token.value is None:
            for rest, key, tag in options:
                stop = at + 1 + len(rest)
                if stop > count or (rest and not _may_be(rest[0], tokens[at + 1])):
                    continue
                exact = tag not in ("V", "N")
                if tag == "V" and out and out[-1].tag in ("T", "$"):
                    continue  # "the run down the hill"
                if exact and stem != token.form and expressions.get(token.form) is None:
                    continue
                if all(
                    part == other.form or (not exact and part in (other.lemma, _stem(other)))
                    for part, other in zip(rest, tokens[at + 1 : stop], strict=True)
                ):
                    if tag:
                        out.append(_expressed(tokens, at, stop, key, tag))
                    at = stop
                    break
            else:
                out.append(token)
                at += 1
        else:
            out.append(token)
            at += 1
    return out


def _may_be(part: str, token: Token) -> bool:
    return part == token.form or part == token.lemma or part == _stem(token)


def _stem(token: Token) -> str:
    return token.word.verb if token.word is not None else token.form


def _expressed(tokens: list[Token], at: int, stop: int, key: str, tag: str) -> Token:
    first = tokens[at]
    joined = Token(first.start, tokens[stop - 1].end, key, "" if tag == "V" else tag)
    joined.lemma = key
    if tag == "2":
        joined.tag = "#"
        joined.value = Value(joined.start, joined.end, PieceType.NUMBER, "2")
    elif tag == "V":
        forms = first.forms() or "V"
        joined.word = Word(key, "", forms.replace("N", "").replace("A", ""), True, True, key, "")
    elif tag == "A":
        joined.word = Word(key, "", "A", False, True, key, "")
    return joined
