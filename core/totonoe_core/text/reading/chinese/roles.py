"""Parts of a Chinese sentence, by what stands beside a word.

One pass from left to right. A preposition names the part of the phrase behind it; what stands bare
before a predicate acts, what stands behind it is acted on. What cannot be told keeps the role ""
and is compared by its place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from totonoe_core.text.reading.chinese.grammar import PRONOUNS, Kind, words
from totonoe_core.text.reading.chinese.token import Token
from totonoe_core.text.reading.model import PieceType, Role

_ASKS_ADVERB = words("怎么 哪里 为什么 什么时候 多久 怎么样 怎么办")
_NOMINAL = frozenset((Kind.NOUN, Kind.PERSON, Kind.TIME, Kind.VALUE, Kind.ASK, Kind.DETERMINER))
_WHEN = frozenset((PieceType.DATE, PieceType.TIME))


@dataclass(slots=True)
class _Clause:
    """Parts before the next predicate, and the predicate before it.

    Attributes
    ----------
    waiting : list of Token
        Adverbs and nouns that wait for their predicate; nouns with the role that a preposition
        gave them.
    open : Token or None
        The predicate that takes what follows.
    last : Token or None
        The predicate before, in this clause or another one.
    case : str
        Role that the next noun gets from a preposition.
    """

    waiting: list[Token] = field(default_factory=list)
    open: Token | None = None
    last: Token | None = None
    case: str = ""
    copula: bool = False
    passive: Token | None = None
    negated: bool = False
    modality: str = ""
    tense: str = ""


def assign(tokens: list[Token]) -> bool:
    """Give each token its role, head, negation, modality and tense.

    Returns
    -------
    bool
        True if the text asks.
    """
    clause = _Clause()
    for at in range(len(tokens)):
        _step(clause, tokens, at)
    _end(clause)
    _leftovers(clause)
    _doubt(tokens)
    return any(
        token.asks or token.kind is Kind.QUESTION or token.value == "asks" for token in tokens
    )


def is_time(token: Token) -> bool:
    """Return whether a token says when."""
    return token.kind is Kind.TIME or token.type in _WHEN


def _step(clause: _Clause, tokens: list[Token], at: int) -> None:
    token = tokens[at]
    kind = token.kind
    before = tokens[at - 1].kind if at else Kind.BREAK
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if kind is Kind.ADVERB or (kind is Kind.ASK and token.word in _ASKS_ADVERB):
        token.role = Role.ADVERB
        clause.waiting.append(token)
    elif kind in _NOMINAL or kind is Kind.ADJECTIVE or kind is Kind.VERB:
        owner = _owner(tokens, at)
        if kind in _NOMINAL:
            _noun(clause, token, owner, after is not None and after.kind is Kind.AND)
        elif kind is Kind.ADJECTIVE and owner is not None:
            token.role, token.head = Role.MODIFIER, owner
        else:
            main = clause.open, clause.last
            _predicate(clause, token)
            if owner is not None:  # 升级的网关: says which gateway
                token.role, token.head = Role.MODIFIER, owner
                clause.open, clause.last = main
    elif kind is Kind.NOT:
        _negation(clause, token, after)
    elif kind is Kind.MODAL or (kind is Kind.QUESTION and token.value):
        clause.modality = token.value
    elif kind is Kind.TENSE:
        _tense(clause, token, before, after)
    elif kind is Kind.COPULA:
        clause.copula, clause.open = True, None
    elif kind in (Kind.PREPOSITION, Kind.PASSIVE, Kind.OBJECT):
        _case(clause, token, before)
    elif kind is Kind.LOCALIZER:
        _place(clause, token, tokens[at - 1] if at else None)
    elif kind in (Kind.BREAK, Kind.QUESTION):
        _end(clause)


def _case(clause: _Clause, token: Token, before: Kind) -> None:
    """Take a preposition; behind a verb its phrase belongs to that, else to the next predicate."""
    if token.kind is Kind.PREPOSITION:
        clause.case = "prep:" + token.value
    else:
        clause.case = Role.AGENT if token.kind is Kind.PASSIVE else Role.PATIENT
        clause.passive = token if token.kind is Kind.PASSIVE else clause.passive
    if before is not Kind.VERB:
        clause.open = None


def _place(clause: _Clause, token: Token, before: Token | None) -> None:
    """Say where a noun is."""
    token.word = token.value
    if before is not None and before.kind in _NOMINAL:
        token.role, token.head = Role.MODIFIER, before
        if token.word == "里":
            token.kind = Kind.EMPTY
    elif clause.last is not None:
        token.role, token.head = Role.ADVERB, clause.last


def _negation(clause: _Clause, token: Token, after: Token | None) -> None:
    if after is not None and after.kind is Kind.NOUN and token.value == "":
        after.negated ^= True
    else:
        clause.negated = not clause.negated
        clause.modality = token.value or clause.modality


def _tense(clause: _Clause, token: Token, before: Kind, after: Token | None) -> None:
    last = clause.last
    if token.word == "过" and last is not None:
        last.tense = "past"
    elif token.word != "了":
        clause.tense = token.value or clause.tense
    elif (
        last is not None
        and not last.negated
        and before in (Kind.VERB, Kind.PREPOSITION)
        and (after is None or after.kind not in (Kind.OF, Kind.ASK))
    ):
        last.tense = "past"


# -- What belongs to what


def _owner(tokens: list[Token], at: int) -> Token | None:
    """Return the noun behind a word to which it belongs: 大门, 的 between them, or a compound."""
    token, place = tokens[at], at + 1
    while place < len(tokens) and tokens[place].kind is Kind.OF:
        place += 1
    if place >= len(tokens):
        return None
    noun = tokens[place]
    if noun.kind not in _NOMINAL:
        return None
    if any(between.kind is Kind.OF for between in tokens[at + 1 : place]):
        return noun
    if token.kind is Kind.ADJECTIVE:
        return noun if noun.kind is Kind.NOUN else None
    return None if token.kind is Kind.VERB or _starts_anew(token, noun) else noun


def _starts_anew(before: Token, token: Token) -> bool:
    """Return whether two nouns side by side are no compound."""
    if before.kind is Kind.DETERMINER:
        return False
    if is_time(token) != is_time(before):
        return True
    return token.kind is Kind.PERSON and token.word in PRONOUNS


def _noun(clause: _Clause, token: Token, owner: Token | None, in_row: bool) -> None:
    """Give a noun its part; `in_row`: 和 or 、 follows it."""
    if owner is not None:
        token.role, token.head = Role.MODIFIER, owner
        return
    role = clause.case
    if role in ("", "prep:在") and is_time(token):
        role = Role.ADVERB
    token.in_row = in_row
    if not in_row:
        clause.case = ""
    if clause.copula and not role:
        bare = [noun for noun in clause.waiting if not noun.role]
        if len(bare) == 1 and bare[0].kind is Kind.ASK:
            # "What is X" as "X is what".
            clause.waiting[clause.waiting.index(bare[0])], token = token, bare[0]
        _predicate(clause, token)
        clause.open = None
    elif clause.open is not None:
        token.role, token.head = role or Role.PATIENT, clause.open
    else:
        token.role = role
        clause.waiting.append(token)


def _predicate(clause: _Clause, token: Token) -> None:
    """Give a predicate what waits for it."""
    token.negated ^= clause.negated
    token.modality = clause.modality or token.modality
    token.tense = clause.tense
    token.role, token.head = Role.PREDICATE, clause.last
    part = Role.PATIENT if clause.passive is not None else Role.AGENT
    bare = [noun for noun in clause.waiting if not noun.role]
    for noun in clause.waiting:
        noun.head = token
    for noun in reversed(bare):
        # The last of several says who does it, with those in a row with it.
        part = part if noun is bare[-1] or noun.in_row else Role.TOPIC
        noun.role = part
    if clause.passive is not None and not clause.waiting:
        # Nothing else tells that it is suffered, not done.
        clause.passive.kind, clause.passive.role = Kind.ADVERB, Role.ADVERB
        clause.passive.head = token
    clause.waiting, clause.open, clause.last = [], token, token
    clause.negated = clause.copula = False
    clause.passive = None
    clause.modality = clause.tense = clause.case = ""


def _end(clause: _Clause) -> None:
    """End a clause; a bare noun waits for the predicate of the next one."""
    if clause.negated:
        denied = clause.waiting[-1] if clause.waiting else clause.last
        if denied is not None:
            denied.negated ^= True
            clause.negated = False
    clause.open = None
    clause.copula, clause.case = False, ""


def _leftovers(clause: _Clause) -> None:
    """Give parts to the nouns of a text that has no predicate, or none behind them."""
    if not clause.waiting:
        return
    main = clause.waiting[-1]
    for noun in clause.waiting[:-1]:
        noun.role, noun.head = noun.role or Role.TOPIC, main
    alone = Role.PREDICATE if clause.last is None else Role.TOPIC
    main.role, main.head = main.role or alone, clause.last
    main.negated ^= clause.negated
    main.modality = clause.modality


def _doubt(tokens: list[Token]) -> None:
    """Leave open the part of two nouns that seem to play one part, and stand in no row."""
    nouns = [token for token in tokens if token.kind in _NOMINAL and token.role != Role.MODIFIER]
    parts = Counter((noun.role, id(noun.head)) for noun in nouns if not noun.in_row)
    for noun in nouns:
        if parts[noun.role, id(noun.head)] > 1:
            noun.role, noun.head = Role.UNKNOWN, None
