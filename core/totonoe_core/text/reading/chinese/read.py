"""Chinese texts, simplified or traditional, to readings.

script   traditional to simplified, width
words    words, cut alike wherever they stand
token    a word and its kind; grammar lists the function words
cut      the text to tokens, by these and `values`; what asks or denies by its place
roles    parts, by what stands beside a word
function_words   what no piece says, but counts
chinese          pieces of what carries content
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.chinese.cut import cut
from totonoe_core.text.reading.chinese.function_words import function_words
from totonoe_core.text.reading.chinese.grammar import KEPT, Kind, words
from totonoe_core.text.reading.chinese.roles import assign
from totonoe_core.text.reading.chinese.token import Token
from totonoe_core.text.reading.model import Piece, Reading, Role, is_stated

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
    asks = assign(tokens) and not is_stated(text)
    counted = function_words(tokens)
    key_of = lexicon("zh").key
    for token in tokens:
        token.key = token.word if token.kind is Kind.VALUE else key_of(token.word)
    kept = sorted((t for t in tokens if t.kind in KEPT), key=lambda token: token.start)
    counts = Counter(token.key for token in kept)
    in_turn = any(token.word in _ORDERED for token in kept)
    # Which of several equal words another belongs to, its place tells.
    ambiguous = {key for key, count in counts.items() if count > 1 or in_turn}
    # "I" who does something goes without saying, unless there is somebody else. "My" does not: a
    # memory is read by others, too.
    others = any(t.kind is Kind.PERSON and t.word != "我" for t in kept)
    universal = any(key in _UNIVERSAL or key.startswith("date:every") for key in counts)
    pieces = tuple(_piece(token, ambiguous, others, universal) for token in kept)
    orders = bool(tokens) and not asks and tokens[0].kind in (Kind.VERB, Kind.OBJECT)
    return Reading("zh", pieces, asks, orders, bool(pieces) and whole, counted)


@lru_cache(maxsize=65_536)
def _relations(word: str, key: str) -> tuple[frozenset[str], frozenset[str], bool]:
    lists = lexicon("zh")
    return lists.near(word), lists.opposites(key), not lists.light.isdisjoint((word, key))


def _piece(token: Token, ambiguous: set[str], others: bool, universal: bool) -> Piece:
    key, role = token.key, token.role
    head = token.head.key if token.head is not None else ""
    if head in ambiguous or key in ambiguous:
        role, head = Role.UNKNOWN, ""
    near, opposites, light = _relations(token.word, key)
    light = light or (key == "都" and universal)
    if key == "我" and (others or token.role != Role.AGENT):
        light = False
    weight = _LIGHT_WEIGHT if light and not token.negated else 1.0
    return Piece(
        token.start, token.end, key, token.type, role, head, token.negated, token.modality,
        token.tense, near, opposites, weight,
    )  # fmt: skip
