"""English text to tokens: contractions undone, fixed expressions as one token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.english import closed
from totonoe_core.text.reading.english.expressions import EXPRESSIONS, LIGHT_VERBS
from totonoe_core.text.reading.english.words import Word, word
from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values.find import Value

_LOWER_WORDS_MAX = 32_768
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[.!?;:…]+|[,()\[\]–—]|--+|['’]|-")
_GENITIVE = re.compile(r"['’]s(?!\w)")
_CONTRACTED = closed.GRAMMAR.pairs("contracted endings")
_WHOLE = {
    form: tuple(words.split()) for form, words in closed.GRAMMAR.pairs("contractions").items()
}
_IS_AFTER = closed.GRAMMAR.words("before 's that is is")


class Token:
    """A word, value or mark with its place and what has been found out about it."""

    __slots__ = ("end", "form", "lemma", "start", "tag", "value", "word")

    def __init__(
        self,
        start: int,
        end: int,
        form: str,
        tag: str,
        value: Value | None = None,
        word: Word | None = None,
        lemma: str = "",
    ):
        self.start = start
        self.end = end
        self.form = form
        self.tag = tag
        self.value = value
        self.word = word
        self.lemma = lemma or form

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
        if _GENITIVE.match(text, at):
            tokens.append(Token(at, at + 2, "'s", "'"))
            at += 2
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
        surface = match[0]
        start, stop = match.span()
        word = _lower_word(surface)
        if word is not None:
            tokens.append(Token(start, stop, surface, word.closed, None, word, word.lemma))
            first = False
            continue
        mark = surface[0]
        if not mark.isalnum():
            first = _marked(text, end, start, stop, tokens) or first
            continue
        form = surface.lower()
        if "’" in form:
            form = form.replace("’", "'")
        capital = cased and mark.isupper()
        if "'" in form or form in _WHOLE:
            _contracted(form, start, stop, tokens, capital and not first)
        else:
            named = capital and (
                not first or (surface.isupper() and len(surface) > 1) or _sounds_named(form)
            )
            tokens.append(_plain(form, start, stop, named))
        first = False


@lru_cache(_LOWER_WORDS_MAX)
def _lower_word(surface: str) -> Word | None:
    """Return a word in lower case that stands for itself, as most do; `None` for any other."""
    if surface in _WHOLE or not surface.isalnum() or surface != surface.lower():
        return None
    return word(surface)


def _marked(text: str, end: int, start: int, stop: int, tokens: list[Token]) -> bool:
    """Add the token of a mark, if it is one; return whether a sentence ends with it."""
    surface = text[start:stop]
    if surface == "-":
        if not start or stop >= end or text[stop].isspace():
            tokens.append(Token(start, stop, ",", ","))
    elif surface in "'’":
        if tokens and tokens[-1].end == start and tokens[-1].form[-1] == "s":
            tokens.append(Token(start, stop, "'s", "'"))
    elif surface[0] not in ".!?;:…":
        tokens.append(Token(start, stop, ",", ","))
    elif surface != "." or not tokens or not _abbreviated(tokens[-1], stop, end):
        tokens.append(Token(start, stop, surface, "."))
        return True
    return False


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
    closed_tag = found.closed
    if named and (not closed_tag or closed_tag in "PQ"):
        return Token(start, stop, form, "M", None, found)
    return Token(start, stop, form, closed_tag, None, found, found.lemma)


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


_Option = tuple[tuple[str, ...], str, str]
"""Further lemmas of an expression, its key and its tag. An empty key drops it."""


class _Options(NamedTuple):
    """Expressions with one first lemma."""

    options: list[_Option]
    """The longest first."""
    seconds: frozenset[str]
    """The lemmas that may stand second; an empty one where nothing need follow."""


@cache
def _expressions() -> dict[str, _Options]:
    """Expressions by their first lemma."""
    found: dict[str, list[_Option]] = {}

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
    return {
        first: _Options(
            sorted(options, key=lambda option: -len(option[0])),
            frozenset(rest[0] if rest else "" for rest, _, _ in options),
        )
        for first, options in found.items()
    }


def joined(tokens: list[Token]) -> list[Token]:
    """Fixed expressions brought to one token, or dropped."""
    expressions = _expressions()
    out: list[Token] = []
    stop = 0
    for at, token in enumerate(tokens):
        if at < stop:
            continue
        word = token.word
        if token.form in expressions or (word is not None and word.verb in expressions):
            stop = 0 if token.value is not None else _expression_at(tokens, at, out)
            if stop:
                continue
        out.append(token)
    return out


def _expression_at(tokens: list[Token], at: int, out: list[Token]) -> int:
    """Add the expression that begins at a place to `out`; return where it ends, 0 without one."""
    expressions = _expressions()
    form, stem = tokens[at].form, _stem(tokens[at])
    seconds: tuple[str, ...] = ("",)
    if at + 1 < len(tokens):
        following = tokens[at + 1]
        seconds = ("", following.form, following.lemma, _stem(following))
    options: list[_Option] = []
    begun = expressions.get(form)
    if begun is not None and not begun.seconds.isdisjoint(seconds):
        options = begun.options
    if stem != form and (begun := expressions.get(stem)) is not None:
        options = [*options, *begun.options]
    for rest, key, tag in options:
        stop = at + 1 + len(rest)
        if stop > len(tokens) or (rest and rest[0] not in seconds):
            continue
        exact = tag not in ("V", "N")
        if tag == "V" and out and out[-1].tag in ("T", "$"):
            continue  # "the run down the hill"
        if exact and stem != form and form not in expressions:
            continue
        if all(
            part == other.form or (not exact and part in (other.lemma, _stem(other)))
            for part, other in zip(rest, tokens[at + 1 : stop], strict=True)
        ):
            if tag:
                out.append(_expressed(tokens, at, stop, key, tag))
            return stop
    return 0


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
    return joined
