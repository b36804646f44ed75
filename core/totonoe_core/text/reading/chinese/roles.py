"""Parts of a Chinese sentence, by what stands beside a word.

One pass from left to right. A preposition names the part of the phrase behind it; what stands bare
before a predicate acts, what stands behind it is acted on. What cannot be told keeps the role ""
and is compared by its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from totonoe_core.text.reading.chinese.grammar import MODAL_QUESTIONS, PRONOUNS, Kind, words
from totonoe_core.text.reading.chinese.token import Token
from totonoe_core.text.reading.model import PieceType, Role

_OPEN_QUESTIONS = words("怎么 什么 哪里 哪个 哪些 怎么样 什么样 怎么办 为什么 多少钱")
_ASKS_ADVERB = words("怎么 哪里 为什么 什么时候 多久 怎么样 怎么办")
_NOMINAL = frozenset((Kind.NOUN, Kind.PERSON, Kind.TIME, Kind.VALUE, Kind.ASK, Kind.DETERMINER))
_DENIED_PAST = words("没 没有 未 未曾 未能")
_REMINDERS = words("忘 忘记 忘了")
_DENIALS = {
    "longer": "longer", "hardly": "hardly", "cannot": "can", "ban": "allow", "need": "must",
}  # fmt: skip
"""What a denial says beside that it denies."""
_WHEN = frozenset((PieceType.DATE, PieceType.TIME))
_AHEAD_MAX = 16


@dataclass(slots=True)
class _Clause:
    """What stands before the next predicate, and the predicate before it.

    Attributes
    ----------
    waiting : list of Token
        Heads of phrases that wait for their predicate, with the role that a preposition gave them.
    open : Token or None
        The predicate that takes what follows.
    last : Token or None
        The predicate before, in this clause or another one.
    case : str
        Role that the next phrase gets from a preposition.
    """

    waiting: list[Token] = field(default_factory=list)
    adverbs: list[Token] = field(default_factory=list)
    open: Token | None = None
    last: Token | None = None
    relative: Token | None = None
    case: str = ""
    copula: bool = False
    passive: Token | None = None
    manner: bool = False
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
    at = 0
    while at < len(tokens):
        at = _step(clause, tokens, at)
    _end(clause)
    _leftovers(clause)
    if asks_openly(tokens):
        for token in tokens:
            # "What can I ..." and "what do I ..." ask for the same.
            if token.modality in ("can", "should", "if") and not token.negated:
                token.modality = ""
            if token.tense == "past" and not token.negated:
                token.tense = ""
    return any(token.asks or token.kind is Kind.QUESTION for token in tokens)


def asks_openly(tokens: list[Token]) -> bool:
    """Return whether the text asks what, which, where or how."""
    return any(token.kind is Kind.ASK and token.word in _OPEN_QUESTIONS for token in tokens)


def is_time(token: Token) -> bool:
    """Return whether a token says when."""
    return token.kind is Kind.TIME or token.type in _WHEN


def _step(clause: _Clause, tokens: list[Token], at: int) -> int:
    token = tokens[at]
    kind = token.kind
    if kind is Kind.ADVERB or (kind is Kind.ASK and token.word in _ASKS_ADVERB):
        clause.adverbs.append(token)
    elif _in_phrase(tokens, at):
        heads, at = _phrase(tokens, at)
        _take(clause, heads)
        return at
    elif kind in (Kind.VERB, Kind.ADJECTIVE):
        _predicate(clause, token)
        clause.relative = token if _noun_behind(tokens, at) else None
    elif kind is Kind.NOT:
        return _negation(clause, tokens, at)
    elif kind is Kind.MODAL:
        clause.modality = token.value
    elif kind is Kind.QUESTION and token.word in MODAL_QUESTIONS:
        clause.modality = MODAL_QUESTIONS[token.word]
    elif kind is Kind.TENSE:
        _tense(clause, tokens, at)
    elif kind is Kind.COPULA:
        clause.copula, clause.open = True, None
    elif kind in (Kind.PREPOSITION, Kind.PASSIVE, Kind.OBJECT):
        _case(clause, tokens, at)
    elif kind is Kind.DEGREE:
        clause.manner = True
    elif kind in (Kind.LOCALIZER, Kind.COMPLEMENT) and clause.last is not None:
        token.word = token.value or token.word
        token.role, token.head = Role.ADVERB, clause.last
        token.light = kind is Kind.COMPLEMENT
    elif kind in (Kind.BREAK, Kind.QUESTION):
        _end(clause)
    return at + 1


def _case(clause: _Clause, tokens: list[Token], at: int) -> None:
    """Take a preposition; what follows it belongs to the predicate behind, if there is one."""
    token = tokens[at]
    if token.kind is Kind.PREPOSITION:
        clause.case = "prep:" + token.value
    else:
        clause.case = Role.AGENT if token.kind is Kind.PASSIVE else Role.PATIENT
        clause.passive = token if token.kind is Kind.PASSIVE else clause.passive
    behind_verb = at > 0 and tokens[at - 1].kind in (Kind.VERB, Kind.COMPLEMENT)
    if not behind_verb and _predicate_ahead(tokens, at + 1):
        clause.open = None


def _predicate_ahead(tokens: list[Token], at: int) -> bool:
    for token in tokens[at : at + _AHEAD_MAX]:
        if token.kind in (Kind.BREAK, Kind.VERB, Kind.ADJECTIVE):
            return token.kind is not Kind.BREAK
    return False


def _negation(clause: _Clause, tokens: list[Token], at: int) -> int:
    value = tokens[at].value
    if value == "yes":
        clause.modality = "must"
        return at + 1
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if following is not None and following.word in _REMINDERS:
        following.word = "记得"  # "do not forget to" is "remember to"
        return at + 1
    if following is not None and following.kind is Kind.NOUN and value == "":
        following.negated ^= True
        return at + 1
    clause.negated = not clause.negated
    clause.modality = _DENIALS.get(value, clause.modality)
    if tokens[at].word in _DENIED_PAST:
        clause.tense = "past"
    return at + 1


def _tense(clause: _Clause, tokens: list[Token], at: int) -> None:
    token, last = tokens[at], clause.last
    before = tokens[at - 1].kind if at else Kind.BREAK
    after = tokens[at + 1].kind if at + 1 < len(tokens) else Kind.BREAK
    behind_verb = before in (Kind.VERB, Kind.COMPLEMENT)
    if token.word == "了":
        done = behind_verb or before is Kind.PREPOSITION
        if last is None or last.tense or last.negated or last.modality:
            return
        if done and after not in (Kind.OF, Kind.ASK):
            last.tense = "past"
    elif token.word == "过" and behind_verb and last is not None:
        last.tense = "past"
    elif token.value:
        clause.tense = token.value


# -- Phrases


def _in_phrase(tokens: list[Token], at: int) -> bool:
    """Return whether a token belongs to a noun: a noun, or an adjective before 的 or a noun."""
    if at >= len(tokens):
        return False
    token = tokens[at]
    if token.kind in _NOMINAL:
        return token.kind is not Kind.ASK or token.word not in _ASKS_ADVERB
    if token.kind is not Kind.ADJECTIVE or at + 1 >= len(tokens):
        return False
    following = tokens[at + 1]
    if following.kind is Kind.OF:
        return _in_phrase(tokens, at + 2)
    return following.kind is Kind.NOUN and following.start == token.end


def _noun_behind(tokens: list[Token], at: int) -> bool:
    """Return whether 的 and a noun follow a verb: it says of which thing it is."""
    for place in range(at + 1, min(at + 4, len(tokens))):
        if tokens[place].kind is Kind.OF:
            return _in_phrase(tokens, place + 1)
        if tokens[place].kind not in (Kind.TENSE, Kind.COMPLEMENT):
            return False
    return False


def _phrase(tokens: list[Token], at: int) -> tuple[list[Token], int]:
    """Return the heads of a row of noun phrases and where it ends; what is in them gets parts."""
    start, heads = tokens[at].start, []
    inside: list[Token] = []
    while at < len(tokens):
        token = tokens[at]
        if _in_phrase(tokens, at):
            if inside and tokens[at - 1].kind is not Kind.OF and _starts_anew(inside[-1], token):
                break
            inside.append(token)
        elif token.kind is Kind.LOCALIZER and inside and token.value != "时":
            token.word = token.value or token.word
            token.light = token.word == "上"
            if token.word == "里":
                token.kind = Kind.EMPTY
            else:
                inside.append(token)
        elif token.kind in (Kind.AND, Kind.LIST) and inside and _in_phrase(tokens, at + 1):
            heads.append(_head_of(inside))
            inside = []
        elif token.kind is not Kind.MEASURE and not (
            token.kind is Kind.OF and inside and _in_phrase(tokens, at + 1)
        ):
            break
        at += 1
    if inside:
        heads.append(_head_of(inside))
    for head in heads:
        head.group = start
    return heads, at


def _head_of(inside: list[Token]) -> Token:
    """Return the head of a phrase: its last noun; each noun before belongs to the next one."""
    nouns = [token for token in inside if token.kind is not Kind.LOCALIZER]
    head = link = nouns[-1]
    for token in reversed(inside):
        if token is not head:
            token.role, token.head = Role.MODIFIER, link
        if token.kind in (Kind.NOUN, Kind.PERSON):
            link = token
    return head


def _starts_anew(before: Token, token: Token) -> bool:
    """Return whether two nouns side by side are no compound."""
    if before.kind is Kind.DETERMINER:
        return False
    if is_time(token) != is_time(before):
        return True
    if token.kind is Kind.PERSON and token.word in PRONOUNS:
        return before.kind not in (Kind.ADJECTIVE, Kind.VALUE)
    return token.kind is Kind.VALUE and before.word in PRONOUNS


# -- Clauses


def _take(clause: _Clause, heads: list[Token]) -> None:
    """Give a row of phrases its part."""
    if clause.relative is not None:
        verb, clause.relative = clause.relative, None
        verb.role, clause.last, verb.head = Role.MODIFIER, verb.head, heads[-1]
        clause.open = None
    role, clause.case = clause.case, ""
    if role in ("", "prep:在") and is_time(heads[-1]):
        role = Role.ADVERB
    if clause.copula and not role:
        _complement(clause, heads)
    elif clause.open is not None:
        for head in heads:
            head.role, head.head = role or Role.PATIENT, clause.open
    else:
        for head in heads:
            head.role = role
        clause.waiting += heads


def _complement(clause: _Clause, heads: list[Token]) -> None:
    """Say what follows 是 of the phrase before it; "what is X" as "X is what"."""
    bare = [token for token in clause.waiting if not token.role]
    if len(bare) == 1 and bare[0].kind is Kind.ASK and len(heads) == 1:
        clause.waiting[clause.waiting.index(bare[0])], heads = heads[0], bare
        heads[0].role = ""
    _predicate(clause, heads[-1])
    for head in heads[:-1]:
        head.role, head.head = heads[-1].role, heads[-1].head
    clause.open = None


def _predicate(clause: _Clause, token: Token) -> None:
    """Give a predicate what waits for it."""
    token.negated ^= clause.negated
    token.modality = clause.modality or token.modality
    tense = clause.tense or token.tense
    token.tense = "past" if tense == "done" else tense
    manner = clause.manner and clause.last is not None
    token.role, token.head = Role.ADVERB if manner else Role.PREDICATE, clause.last
    for adverb in clause.adverbs:
        adverb.role, adverb.head = Role.ADVERB, token
    bare = [head for head in clause.waiting if not head.role]
    for head in clause.waiting:
        head.head = token
    for head in bare:
        subject = head.group == bare[-1].group
        part = Role.PATIENT if clause.passive is not None else Role.AGENT
        head.role = part if subject else Role.TOPIC
    if clause.passive is not None and not clause.waiting:
        # Nothing else tells that it is suffered, not done.
        clause.passive.kind, clause.passive.role = Kind.ADVERB, Role.ADVERB
        clause.passive.head = token
    token.existential = clause.passive is not None or not bare
    clause.waiting, clause.adverbs, clause.open = [], [], token
    clause.last = clause.last if manner else token
    clause.negated = clause.manner = clause.copula = False
    clause.passive = None
    clause.modality = clause.tense = clause.case = ""


def _end(clause: _Clause) -> None:
    """End a clause; a bare phrase waits for the predicate of the next one."""
    if clause.last is not None:
        for adverb in clause.adverbs:
            adverb.role, adverb.head = Role.ADVERB, clause.last
        for head in clause.waiting:
            if head.role:
                head.head = clause.last
        clause.waiting = [head for head in clause.waiting if not head.role]
        clause.adverbs = []
    if clause.negated:
        denied = clause.waiting[-1] if clause.waiting else clause.last
        if denied is not None:
            denied.negated ^= True
            clause.negated = False
    clause.open = clause.relative = None
    clause.copula, clause.case = False, ""


def _leftovers(clause: _Clause) -> None:
    """Give parts to the phrases of a text that is only nouns, or ends in one."""
    if not clause.waiting:
        return
    main = clause.waiting[-1]
    for head in clause.waiting[:-1]:
        head.role, head.head = head.role or Role.TOPIC, main
    alone = Role.PREDICATE if clause.last is None else Role.TOPIC
    main.role, main.head = main.role or alone, clause.last
    main.negated ^= clause.negated
    main.modality = main.modality or clause.modality
