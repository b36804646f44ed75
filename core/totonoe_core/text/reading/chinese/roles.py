"""Who does what to whom in a Chinese sentence: roles for the tokens that `cut` gives.

One pass from left to right. Noun phrases are put together as they come (modifiers, 的, items in a
row); they wait until a predicate takes them, or go to the one that is open. A verb that turns
out to stand before 的 was a relative clause: it becomes a modifier of the noun behind.
What cannot be told keeps the role "" and is compared by its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from totonoe_core.text.reading.chinese.grammar import CARRIES_OUT, MODAL_QUESTIONS, Kind, words
from totonoe_core.text.reading.chinese.phrases import (
    ASKS_ADVERB,
    NOMINAL,
    Phrase,
    acts,
    belongs,
    gather_which,
    is_time,
    modifies,
    next_token,
    noun_after,
    noun_phrase,
    predicate_ahead,
    relative_ahead,
    says_more,
)
from totonoe_core.text.reading.chinese.token import Token
from totonoe_core.text.reading.model import PieceType, Role

_OPEN_QUESTIONS = words("怎么 什么 哪里 哪个 哪些 怎么样 什么样 怎么办 为什么 多少钱")

_NAMING = frozenset((PieceType.NAME, PieceType.IDENTIFIER, PieceType.PATH))

_PLACED = words("怎么 哪里 什么时候")


_TAKES_PATIENT = words("赞成 完成 达成 形成 组成 构成 养成 促成 建成 生成 合成 认为 以为")


_FINISHED = words("完 完毕")
"""Behind a verb these say that all of it is done, not only that it succeeds."""


@dataclass(slots=True)
class _State:
    waiting: list[Phrase] = field(default_factory=list)
    adverbs: list[Token] = field(default_factory=list)
    open: Token | None = None
    """The predicate that may still take an object."""
    last: Token | None = None
    """The predicate that the next one is chained to."""
    objects: list[Phrase] = field(default_factory=list)
    subjects: list[Phrase] = field(default_factory=list)
    """Phrases that `open` took without a preposition."""
    how: bool = False
    """怎么 belongs to `open`."""
    copula: bool = False
    passive: Token | None = None
    manner: bool = False
    relative: list[tuple[Token, Token | None]] = field(default_factory=list)
    """Verbs before 的, with the predicate that was last before each."""
    previous_last: Token | None = None
    negated: bool = False
    modality: str = ""
    tense: str = ""
    asks: bool = False
    case: str = ""
    """Role that the next phrase gets from a preposition."""


def assign(tokens: list[Token]) -> bool:
    """Give each token its role, head, negation, modality and tense.

    Returns
    -------
    bool
        True if the text asks.
    """
    asks = any(t.asks or t.kind is Kind.QUESTION for t in tokens)
    state = _State(asks=asks)
    at = 0
    while at < len(tokens):
        at = _step(state, tokens, at)
    _close(state)
    _leftovers(state)
    if asks_openly(tokens):
        for token in tokens:
            # "What can I ..." and "what do I ..." ask for the same.
            if token.modality in ("can", "should", "if") and not token.negated:
                token.modality = ""
            if token.tense == "past" and not token.negated:
                token.tense = ""
    return asks


def asks_openly(tokens: list[Token]) -> bool:
    """Return whether the text asks what, which, where or how."""
    return any(t.kind is Kind.ASK and t.word in _OPEN_QUESTIONS for t in tokens)


def _step(state: _State, tokens: list[Token], at: int) -> int:
    token = tokens[at]
    kind = token.kind
    if kind is Kind.ASK and token.word in ASKS_ADVERB:
        return _asking(state, tokens, at)
    if kind in NOMINAL or (kind is Kind.ADJECTIVE and modifies(tokens, at)):
        phrase, at = noun_phrase(tokens, at)
        _take(state, phrase, tokens, at)
        return at
    done = at + 1 < len(tokens) and tokens[at + 1].word == "了"
    deed = at + 1 + done
    if token.word in CARRIES_OUT and deed < len(tokens) and acts(tokens[deed]):
        # 对 X 进行 V is V X.
        tokens[deed].kind, token.kind = Kind.VERB, Kind.EMPTY
        state.tense = state.tense or ("done" if done else "")
        for phrase in state.waiting:
            if phrase.role == "prep:对":
                phrase.role = Role.PATIENT
        return deed
    if kind in (Kind.VERB, Kind.ADJECTIVE):
        _predicate(state, token)
        following = next_token(tokens, at)
        if following is not None and following.kind is Kind.OF and noun_after(tokens, at):
            state.relative.append((token, state.previous_last))
    elif kind is Kind.NOT:
        return _negation(state, tokens, at)
    elif kind is Kind.MODAL:
        state.modality = token.value
    elif kind is Kind.QUESTION and token.word in MODAL_QUESTIONS:
        state.modality = MODAL_QUESTIONS[token.word]
    elif kind is Kind.TENSE:
        _tense(state, tokens, at)
    elif kind is Kind.COPULA:
        _be(state, tokens, at)
    elif kind is Kind.PREPOSITION:
        state.case = "prep:" + token.value
        before = tokens[at - 1].kind if at else Kind.BREAK
        if before not in (Kind.VERB, Kind.COMPLEMENT):
            state.open = None if predicate_ahead(tokens, at + 1) else state.open
    elif kind is Kind.PASSIVE:
        state.passive, state.case = token, Role.AGENT
    elif kind is Kind.OBJECT:
        state.case = Role.PATIENT
    elif kind is Kind.ADVERB:
        state.adverbs.append(token)
    elif kind is Kind.DEGREE:
        state.manner = True
    elif kind is Kind.LOCALIZER and state.last is not None:
        # Behind a verb it says when: before, after.
        token.word = token.value or token.word
        token.role, token.head = Role.ADVERB, state.last
    elif kind is Kind.COMPLEMENT:
        token.role, token.head = Role.ADVERB, state.last
        token.light = token.word not in _FINISHED
    elif kind in (Kind.BREAK, Kind.QUESTION):
        _close(state)
    return at + 1


def _asking(state: _State, tokens: list[Token], at: int) -> int:
    token = tokens[at]
    case, state.case = state.case, ""
    if token.word in ("怎么样", "怎么办") or (
        token.word == "怎么" and not predicate_ahead(tokens, at + 1)
    ):
        if token.word == "怎么":
            token.word = "怎么样"
        _predicate(state, token)
    elif predicate_ahead(tokens, at + 1) or (token.word == "为什么" and says_more(tokens, at + 1)):
        if token.word == "怎么样":
            token.word = "怎么"
        state.adverbs.append(token)
    elif state.last is not None:
        # "Ships to where" is not "ships where".
        token.role = case if case == "prep:到" else Role.ADVERB
        token.head = state.last
    else:
        _predicate(state, token)
    return at + 1


def _negation(state: _State, tokens: list[Token], at: int) -> int:
    value = tokens[at].value
    if value == "yes":
        state.modality = "must"
        return at + 1
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if following is not None and following.word in ("忘", "忘记", "忘了"):
        # "Do not forget to" is "remember to".
        following.word = "记得"
        return at + 1
    if following is not None and following.kind is Kind.NOUN and value == "":
        following.negated ^= True
        return at + 1
    state.negated = not state.negated
    if value in ("longer", "hardly"):
        state.modality = value
    elif value == "cannot":
        state.modality = "can"
    elif value in ("ban", "need"):
        state.modality = "must" if value == "need" else "allow"
    if tokens[at].word in ("没", "没有", "未", "未曾", "未能"):
        state.tense = "past"
    return at + 1


def _tense(state: _State, tokens: list[Token], at: int) -> None:
    token = tokens[at]
    before = tokens[at - 1] if at else None
    if token.value == "done" and token.word != "了":
        state.tense = "done"
    elif token.value == "done":
        following = tokens[at + 1].kind if at + 1 < len(tokens) else Kind.BREAK
        if (
            before is not None
            and before.kind in (Kind.VERB, Kind.COMPLEMENT, Kind.PREPOSITION)
            and following not in (Kind.OF, Kind.ASK)
            and state.last is not None
            and not state.last.tense
            and not state.last.negated
            and not state.last.modality
        ):
            state.last.tense = "past"
    elif token.word == "过" and before is not None and before.kind in (Kind.VERB, Kind.COMPLEMENT):
        if state.last is not None:
            state.last.tense = "past"
    elif token.value:
        state.tense = token.value


def _be(state: _State, tokens: list[Token], at: int) -> None:
    for token in tokens[at + 1 : at + 2]:
        if token.kind in NOMINAL or token.kind in (Kind.ADJECTIVE, Kind.VERB):
            state.copula = True
            state.open = None


def _take(state: _State, phrase: Phrase, tokens: list[Token], at: int) -> None:
    head = phrase.heads[-1] if phrase.heads else None
    if head is None:
        return
    if state.relative:
        for verb, last in state.relative:
            verb.role, verb.head = Role.MODIFIER, head
            state.last = last
        state.open = last if last is not None and not state.waiting else None
        state.relative = []
        state.subjects = []
    phrase.role = state.case
    if phrase.role in ("", "prep:在") and is_time(head):
        phrase.role = Role.ADVERB
    case, state.case = state.case, ""
    if state.copula and not case and phrase.role != Role.ADVERB and not relative_ahead(tokens, at):
        _complement(state, phrase)
    elif state.open is not None:
        _object(state, phrase)
    else:
        state.waiting.append(phrase)


def _object(state: _State, phrase: Phrase) -> None:
    verb = state.open
    for head in phrase.heads:
        head.head = verb
        becomes = verb is not None and _turns_into(verb)
        if verb is not None and verb.word[-1] == "于" and not phrase.role:
            phrase.role = "prep:在"
        head.role = phrase.role or ("prep:到" if becomes else Role.PATIENT)
    if not phrase.role:
        if state.objects and all(h.kind is Kind.PERSON for h in state.objects[-1].heads):
            for head in state.objects[-1].heads:
                head.role = "prep:给"
        state.objects.append(phrase)


def _turns_into(verb: Token) -> bool:
    """Return whether what follows the verb is what comes of it: 换成, 变为."""
    return verb.kind is Kind.VERB and verb.word[-1] in "成为" and verb.word not in _TAKES_PATIENT


def _complement(state: _State, phrase: Phrase) -> None:
    """What follows 是 is what is said of the phrase before it."""
    subjects = [p for p in state.waiting if not p.role]
    head = phrase.heads[-1]
    if (
        len(subjects) == 1
        and len(subjects[0].heads) == 1
        and subjects[0].heads[0].kind is Kind.ASK
        and head.kind is not Kind.ASK
    ):
        # "What is X" and "X is what".
        question = subjects[0].heads[0]
        subjects[0].heads, phrase.heads = phrase.heads, [question]
        head = question
    elif (
        len(subjects) == 1
        and len(subjects[0].heads) == len(phrase.heads) == 1
        and (head.type in _NAMING or head.kind is Kind.PERSON)
        and (
            subjects[0].heads[0].kind is Kind.NOUN
            or (head.type is PieceType.NAME and subjects[0].heads[0].kind is Kind.PERSON)
        )
        and subjects[0].heads[0].type is PieceType.WORD
        and not state.negated
    ):
        # "The head of X is A" as "A is the head of X".
        subjects[0].heads, phrase.heads = phrase.heads, subjects[0].heads
        head = phrase.heads[-1]
    state.copula = False
    _predicate(state, head)
    for other in phrase.heads:
        other.role, other.head = head.role, head.head
    state.open = None


def _predicate(state: _State, token: Token) -> None:
    """A predicate takes what waits for it."""
    carried = _carried(state, token)
    _settle_subjects(state)
    state.copula = False
    token.negated ^= state.negated
    token.modality = state.modality or token.modality
    tense = state.tense or token.tense
    if state.manner and state.last is not None:
        token.role, token.head = Role.ADVERB, state.last
    else:
        token.role, token.head = Role.PREDICATE, state.last
    for adverb in state.adverbs:
        adverb.role, adverb.head = Role.ADVERB, token
    state.how = any(adverb.word in _PLACED for adverb in state.adverbs)
    gather_which(state.waiting)
    plain = [p for p in state.waiting if not p.role]
    if state.passive is not None and not state.waiting:
        # Nothing else tells that it is suffered, not done.
        state.passive.kind, state.passive.role, state.passive.head = Kind.ADVERB, Role.ADVERB, token
    _roles(plain, state.passive is not None)
    for phrase in state.waiting:
        for head in phrase.heads:
            head.role, head.head = phrase.role, token
        if phrase.owner is not None:
            belongs(phrase, phrase.owner)
    token.existential = not any(p.role == Role.AGENT for p in plain)
    if _turns_into(token):
        # What is turned into what: "from" and "to", whether 把, 被 or neither says so.
        for phrase in state.waiting:
            things = all(h.kind is not Kind.PERSON for h in phrase.heads)
            if phrase.role == Role.PATIENT or (phrase.role == Role.AGENT and things):
                for head in phrase.heads:
                    head.role = "prep:从"
    state.subjects = plain
    token.tense = "past" if tense == "done" else tense
    for phrase in carried:
        for head in phrase.heads:
            head.role, head.head = Role.PATIENT, token
    state.previous_last = state.last
    if not state.manner:
        state.last = token
    state.open = token
    state.waiting, state.adverbs, state.objects = [], [], []
    state.negated, state.modality, state.tense = False, "", ""
    state.passive = None
    state.manner = False
    state.case = ""


def _carried(state: _State, token: Token) -> list[Phrase]:
    """What stands first as the object of the second verb ("noodles you like to eat")."""
    ready = token.kind is Kind.VERB and state.open is not None and state.open.kind is Kind.VERB
    if not ready or state.objects or state.waiting or len(state.subjects) < 2:
        return []
    found = [
        phrase
        for phrase in state.subjects
        if phrase.role == Role.TOPIC and phrase.heads[-1].kind is not Kind.PERSON
    ]
    state.subjects = [phrase for phrase in state.subjects if phrase not in found]
    return found


def _roles(plain: list[Phrase], passive: bool) -> None:
    """Roles of the bare phrases before a predicate."""
    if passive:
        for phrase in plain:
            phrase.role = Role.PATIENT if phrase is plain[-1] else Role.TOPIC
        return
    if (len(plain) > 1 and plain[-2].heads[-1].type is not PieceType.WORD) or (
        len(plain) > 1 and plain[-2].heads[-1].kind is Kind.NOUN
    ):
        inner = plain[-1].inner
        if any(t.kind is Kind.ASK and t is not plain[-1].heads[-1] for t in inner):
            # "In X, which film is good" asks which film of X is good.
            for head in plain[-2].heads:
                head.role = Role.MODIFIER
            plain[-2].role = Role.MODIFIER
            plain[-2].owner = plain[-1]
            plain = [plain[-1]]
    people = [p for p in plain if p.heads[-1].kind is Kind.PERSON]
    agent = people[-1] if people else (plain[-1] if plain else None)
    for phrase in plain:
        phrase.role = Role.AGENT if phrase is agent else Role.TOPIC


def _settle_subjects(state: _State) -> None:
    """A thing before a verb without object, asked "how", is what it is done to."""
    verb = state.open
    if verb is None or verb.kind is not Kind.VERB:
        return
    for phrase in state.subjects:
        if phrase.heads[-1].kind is Kind.PERSON:
            continue
        if state.objects:
            if state.how and not state.objects[-1].role:
                # "How do I, in the game, get gold" asks how to get the game's gold.
                belongs(phrase, state.objects[-1])
        elif (
            state.how
            or verb.modality == "can"
            or (phrase.role == Role.TOPIC and len(state.subjects) > 1)
        ):
            for head in phrase.heads:
                head.role = Role.PATIENT


def _close(state: _State) -> None:
    """The end of a clause."""
    _settle_subjects(state)
    if state.adverbs and state.last is not None:
        for adverb in state.adverbs:
            adverb.role, adverb.head = Role.ADVERB, state.last
        state.adverbs = []
    if state.last is not None:
        waiting = []
        for phrase in state.waiting:
            if phrase.role:
                for head in phrase.heads:
                    head.role, head.head = phrase.role, state.last
            else:
                waiting.append(phrase)
        state.waiting = waiting
    if state.negated:
        denied = state.waiting[-1].heads[-1] if state.waiting else state.last
        if denied is not None:
            denied.negated ^= True
            state.negated = False
    state.open = None
    state.copula = False
    state.relative, state.subjects, state.objects = [], [], []
    state.case = ""


def _leftovers(state: _State) -> None:
    """A text that is only a noun phrase, or ends with one."""
    if not state.waiting:
        return
    main = state.waiting[-1]
    for phrase in state.waiting:
        for head in phrase.heads:
            if phrase is main:
                alone = Role.PREDICATE if state.last is None else Role.TOPIC
                head.role, head.head = phrase.role or alone, state.last
                head.negated ^= state.negated
                head.modality = head.modality or state.modality
            else:
                head.role, head.head = phrase.role or Role.TOPIC, main.heads[-1]
