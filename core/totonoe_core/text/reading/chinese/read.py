"""Chinese texts, simplified or traditional, to readings.

script   traditional to simplified, width
words    words, cut alike wherever they stand
token    a word and its kind; grammar lists the function words
place    words in several tokens, and what asks or denies
cut      the text to tokens, by these and `values`
roles    parts, by what stands beside a word
function_words   what no piece says, but counts
chinese          pieces of what carries content
"""

from __future__ import annotations

from collections import Counter

from totonoe_core.text.lexicon import Lexicon, lexicon
from totonoe_core.text.reading.chinese.cut import cut
from totonoe_core.text.reading.chinese.function_words import function_words
from totonoe_core.text.reading.chinese.grammar import KEPT, Kind, words
from totonoe_core.text.reading.chinese.roles import asks_openly, assign
from totonoe_core.text.reading.chinese.token import Token
from totonoe_core.text.reading.model import Piece, Reading, Role

_ORDERED = words("分别 依次 各自 先后 顺次")

_UNIVERSAL = words("所有 每 大家 人人 每次 总是 谁 什么 哪里 哪个 怎么")
"""都 beside one of these says no more: all."""

_LIGHT_WEIGHT = 0.3


def read(text: str) -> Reading:
    """Read a Chinese text.

    Parameters
    ----------
    text : str
        Any text; what is not Chinese in it is kept as names.

    Returns
    -------
    Reading
        Pieces ascending by start. Time grows linearly with the text.
    """
    tokens = cut(text)
    # "What I want to say is" breaks off: what it says is not there to be read.
    last = next((token for token in reversed(tokens) if token.kind is not Kind.BREAK), None)
    whole = last is None or last.kind is not Kind.COPULA or last.word != "是"
    asks = assign(tokens)
    lists = lexicon("zh")
    keys = {id(t): _key(t, lists) for t in tokens}
    counted = function_words(tokens, asks_openly(tokens))
    kept = sorted((t for t in tokens if t.kind in KEPT), key=lambda token: token.start)
    ambiguous = _ambiguous(kept, keys)
    _doubt(kept)
    in_turn = any(t.word in _ORDERED for t in kept)
    # "I" who does something goes without saying, unless there is somebody else. "My" does not: a
    # memory is read by others, too.
    others = any(t.kind is Kind.PERSON and t.word != "我" for t in kept)
    universal = any(_is_universal(keys[id(t)]) for t in kept)
    pieces = tuple(_piece(t, keys, lists, ambiguous, in_turn, others, universal) for t in kept)
    orders = not asks and bool(tokens) and tokens[0].kind in (Kind.VERB, Kind.OBJECT)
    return Reading("zh", pieces, asks, orders, bool(pieces) and whole, counted)


def _key(token: Token, lists: Lexicon) -> str:
    return token.word if token.kind is Kind.VALUE else lists.key(token.word)


def _is_universal(key: str) -> bool:
    return key in _UNIVERSAL or key.startswith("date:every")


def _ambiguous(kept: list[Token], keys: dict[int, str]) -> set[str]:
    """Keys that several tokens have and that do not name one place in the sentence.

    Two that play the same part of one word, each with at most one dependant ("A cars and B
    cars"), may be taken for each other; else it matters to which of them a dependant belongs.
    """
    counts = Counter(keys[id(t)] for t in kept)
    repeated = {key for key, count in counts.items() if count > 1}
    if not repeated:
        return repeated
    parts: dict[str, set[tuple[str, int]]] = {}
    for token in kept:
        parts.setdefault(keys[id(token)], set()).add((token.role, id(token.head)))
    dependants = Counter(id(t.head) for t in kept if t.head is not None)
    crowded = {keys[id(t)] for t in kept if dependants[id(t)] > 1}
    return {key for key in repeated if len(parts[key]) > 1 or key in crowded}


def _doubt(kept: list[Token]) -> None:
    """Two phrases that seem to play one part of one predicate, and are no row of items, were
    misread: what part they play is unknown then."""
    groups: dict[tuple[str, int], set[int]] = {}
    for token in kept:
        if token.head is not None and token.group >= 0 and token.role != Role.MODIFIER:
            groups.setdefault((token.role, id(token.head)), set()).add(token.group)
    figures = Counter(id(t.head) for t in kept if t.kind is Kind.VALUE and t.head is not None)
    for token in kept:
        if token.kind is Kind.VALUE and figures[id(token.head)] > 1:
            token.role, token.head = Role.UNKNOWN, None
        if token.head is not None and len(groups.get((token.role, id(token.head)), ())) > 1:
            token.role, token.head = Role.UNKNOWN, None


def _piece(
    token: Token,
    keys: dict[int, str],
    lists: Lexicon,
    ambiguous: set[str],
    in_turn: bool,
    others: bool,
    universal: bool,
) -> Piece:
    key = keys[id(token)]
    head = keys[id(token.head)] if token.head is not None else ""
    role = token.role
    if in_turn or head in ambiguous or key in ambiguous:
        # Which of several equal words it belongs to cannot be said by key: its place must tell.
        role, head = Role.UNKNOWN, ""
    light = (
        token.light
        or (key == "都" and universal)
        or token.word in lists.light
        or key in lists.light
    )
    if key == "我" and (others or token.role != Role.AGENT):
        light = False
    if key == "有" and not token.existential:
        light = False
    return Piece(
        token.start,
        token.end,
        key,
        token.type,
        role,
        head,
        token.negated,
        token.modality,
        token.tense,
        lists.near(token.word),
        lists.opposites(key),
        _LIGHT_WEIGHT if light and not token.negated else 1.0,
    )
