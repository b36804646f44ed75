"""The form into which every reader brings a text: pieces with a place, a key and a part.

A reader drops what carries no content of its own (articles, particles, politeness, light verbs)
after it has read off what that says about the pieces: who does what to whom (`role`, `head`),
whether it is denied (`negated`), wished, allowed or ordered (`modality`), when (`tense`).
So two texts that say the same in other grammar give the same pieces, and what differs has a
name and a span.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def quick(made: type[_T]) -> type[_T]:
    """Make a data class that nobody may change: the type checker sees to that.

    A class that is frozen at run time as well takes four times as long to make an object of, and
    a reading has a dozen of them.
    """
    return dataclass(slots=True, unsafe_hash=True)(made)


class PieceType(StrEnum):
    """Kind of a piece: it decides what a difference in the piece means."""

    WORD = "word"
    """A content word: noun, verb, adjective, adverb, question word."""
    NAME = "name"
    """A proper name: of a person, product, place, organisation."""
    QUANTIFIER = "quantifier"
    """How much or how often, without a figure: all, some, only, most, always, at least."""
    NUMBER = "number"
    """A bare figure, an ordinal or a range of figures."""
    QUANTITY = "quantity"
    """A figure with a unit, in the unit's base ("1 kg" and "1000 g" have one key)."""
    DATE = "date"
    """A day, week, month, year or a span of them, absolute or relative."""
    TIME = "time"
    """A time of day."""
    VERSION = "version"
    """v1.2, 3.11.7, Rev A."""
    IDENTIFIER = "identifier"
    """A made name: SR-2023-052, mem_a1, grip_force, port 8080's number, a hash."""
    PATH = "path"
    """A file path, URL, e-mail address, host; case is kept."""
    QUOTE = "quote"
    """A quoted string; case is kept."""


Span = tuple[int, int]
"""Start and end in a text."""
VALUES = frozenset(PieceType) - {PieceType.WORD, PieceType.NAME, PieceType.QUANTIFIER}
"""Types whose key is a value: two of one type with other keys are different, never near."""


class Role:
    """Parts a piece can play. A preposition or case particle that is none of these is the role
    itself, in the form "prep:with", "prep:で"; "" means that the reader does not know."""

    PREDICATE = "predicate"
    """The verb, or what is said of the subject ("is available")."""
    AGENT = "agent"
    """The doer: subject of an active clause, by-phrase of a passive one."""
    PATIENT = "patient"
    """The thing acted on: object of an active clause, subject of a passive one."""
    MODIFIER = "modifier"
    """Belongs to `head`: adjective, possessor, relative clause, compound part."""
    ADVERB = "adverb"
    """How, how much or how often the predicate holds."""
    TOPIC = "topic"
    """The topic, where agent and patient look the same (ja は, zh topic)."""
    UNKNOWN = ""


@quick
class Piece:
    """One content-bearing piece of a text.

    Attributes
    ----------
    start, end : int
        Code point offsets into the text; the surface that stands for it.
    key : str
        Normal form. WORD: lemma in lower case, in its base spelling (kana, script, width), or the
        representative of its synonym group; NAME: case and width folded; values: canonical.
    type : PieceType
    role : str
        Part in its clause, see `Role`.
    head : str
        Key of the piece it belongs to: the predicate for its agent, patient and prepositional
        phrases, the noun for a modifier; empty for a main predicate or where unknown.
    negated : bool
        Denied in its own scope, double negation resolved ("not unavailable" is not negated).
    modality : str
        "" as a fact; else want, can, may, must, should, try, seem, if, plan ... (lower-case English
        names in all languages, so that they compare).
    tense : str
        "past", "future" or "" (present, timeless, unknown).
    near : frozenset of str
        Names of weak synonym groups (looser than the key's): sharing one makes a weak match.
    opposites : frozenset of str
        Keys that say the contrary (enable/disable, before/after, like/hate).
    weight : float
        How much is lost if the piece is missing: 1 for content, about 0.3 for light words that
        another wording may leave out ("very", "currently", "positioned").
    form : str
        What the form of the word says beyond its lemma, as far as readers tell it; two words of one
        key with two forms are likely the same, never certainly, and "" agrees with any. "one" or
        "many" of a noun that "the" or the like points at (without it a text may speak of one or of
        many in general); "more", "most" or "plain" of an adjective; "doing", "done" or "being
        done" of a participle with its noun and of a passive.
    """

    start: int
    end: int
    key: str
    type: PieceType = PieceType.WORD
    role: str = Role.UNKNOWN
    head: str = ""
    negated: bool = False
    modality: str = ""
    tense: str = ""
    near: frozenset[str] = frozenset()
    opposites: frozenset[str] = frozenset()
    weight: float = 1.0
    form: str = ""


class FunctionKind(StrEnum):
    """Word class of a function word, which names a difference in it."""

    CONJUNCTION = "conjunction"
    """Joins clauses or phrases: and, or, because, until."""
    RELATION = "relation"
    """A preposition or particle: on, off, for, から."""
    NEGATION = "negation"
    """Denies a statement: not."""
    MODALITY = "modality"
    """Says how far a statement holds: may, must."""
    TENSE = "tense"
    """Says when a statement holds: was, will."""


@quick
class FunctionWord:
    """A function word whose meaning no piece carries.

    A reader lists every function word except those on its closed list of ignorable words, and those
    that a piece already carries as its role, modality, tense or denial.

    Attributes
    ----------
    start, end : int
        Code point offsets into the text.
    key : str
        Canonical form. Words that say the same have one key.
    """

    start: int
    end: int
    key: str
    kind: FunctionKind


@dataclass(frozen=True, slots=True)
class Reading:
    """Pieces and function words that a reader found in one text.

    Attributes
    ----------
    language : str
        ISO 639-1 code, "" if unknown.
    pieces : tuple of Piece
        In text order. Empty: nothing was understood, which is no evidence of anything.
    function_words : tuple of FunctionWord
        In text order. Both texts of a duplicate have the same ones, in any order.
    asks : bool
        A question (not whether it has a question mark: whether it asks).
    orders : bool
        A command or request ("Restart the server"), as opposed to a statement.
    certain : bool
        False where the reader knows it may have missed something (unknown script, a text too
        long or with hardly a known word): then nothing can be called a duplicate by reading.
    """

    language: str
    pieces: tuple[Piece, ...]
    asks: bool = False
    orders: bool = False
    certain: bool = True
    function_words: tuple[FunctionWord, ...] = ()


_STATED, _ASKED = re.compile(r"[。.]\s*\Z"), re.compile("[?？]")


def is_stated(text: str) -> bool:
    """Return whether a text ends with a full stop and has no question mark.

    English and Chinese then ask nothing ("What is missing is a test."); in Japanese and Korean a
    question may end so.
    """
    return _STATED.search(text) is not None and _ASKED.search(text) is None
