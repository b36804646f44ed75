"""The reader of Korean: particles, endings and simple negation, without a dictionary.

A word is a verb (a stem and a plain or polite ending) or a noun (with or without a particle).
What shows neither stays as it is, with role "". Particles tell the parts, so that a verb's
nouns may stand in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from totonoe_core.text.lexicon import Grammar, lexicon
from totonoe_core.text.reading.model import Piece, PieceType, Reading, Role
from totonoe_core.text.reading.values.find import find_values

_LIGHT = 0.3
_NOTHING: frozenset[str] = frozenset()
_LISTS = Grammar("ko")
_PARTS = (Role.AGENT, Role.PATIENT, Role.TOPIC)
_PARTICLES = {
    word: key if key in _PARTS else f"prep:{key}" for word, key in _LISTS.keys("particles").items()
}
_LONGEST = max(map(len, _PARTICLES))
_AFTER_CONSONANT = dict.fromkeys(_LISTS.words("behind a consonant"), True)
_AFTER_CONSONANT |= dict.fromkeys(_LISTS.words("behind a vowel"), False)
_LIMITS = _LISTS.keys("limits")
_ENDS_IN_DO = _LISTS.words("end in 도")
_QUANTIFIER_KEYS = _LISTS.keys("quantifiers")
_TITLES = tuple(_LISTS.words("titles"))
_COPULA = re.compile("(?:(이었|였)(?:습니다|어요|다)|이에요|예요|입니다|입니까|이다)\\Z")
_DENYING = re.compile("않|못(?:하|했|합|한|해)")
_IS_NOT = re.compile("아니(?:다|에요|예요|었|고|며|지만|라)|아닙니|아닌")
# Other words end so too ("화면", "사고"): only after these is it surely a verb.
_JOINING = re.compile("(?<=[하되있없했됐었았않])(?:지만|으면|는데|면|고|며)\\Z")
_TOKEN = re.compile(r"[가-힣]{1,40}|[^\W_가-힣]{1,200}")
_ASKS = re.compile(r"[?？][\"'”’)\s]*\Z")
_FIRST = 0xAC00
_FINALS, _VOWELS = 28, 21
_NIEUN, _RIEUL, _BIEUP, _SSANG_SIOT = 4, 8, 17, 20
# A stem's vowel before it melts into 아, 어: ㅘ ㅝ ㅕ ㅙ to ㅗ ㅜ ㅣ ㅚ.
_MELTED = {9: 8, 14: 13, 6: 20, 10: 11}
_OPENED = _LISTS.keys("opened")


@dataclass(slots=True)
class _Draft:
    """A piece in the making."""

    start: int
    end: int
    key: str
    type: PieceType = PieceType.WORD
    role: str = Role.UNKNOWN
    negated: bool = False
    tense: str = ""
    modality: str = ""
    head: str = ""


def _final(syllable: str) -> int:
    """Number of a syllable's final consonant, 0 without one."""
    return (ord(syllable) - _FIRST) % _FINALS


def _bare(word: str) -> str:
    return word[:-1] + chr(ord(word[-1]) - _final(word[-1]))


def _opened(word: str) -> str:
    """The stem in a form that has melted with 아 or 어: 마셔 -> 마시, 해 -> 하."""
    last = word[-1]
    if last in _OPENED:
        return word[:-1] + _OPENED[last]
    if last in "라러" and len(word) > 1 and _final(word[-2]) == _RIEUL:
        return _bare(word[:-1]) + "르"
    initial, rest = divmod(ord(last) - _FIRST, _VOWELS * _FINALS)
    vowel, final = divmod(rest, _FINALS)
    vowel = _MELTED.get(vowel, vowel)
    return word[:-1] + chr(_FIRST + (initial * _VOWELS + vowel) * _FINALS + final)


def _verb(word: str) -> tuple[str, str, str] | None:
    """Stem, tense and modality of a verb with an ending that only verbs have."""
    modality = ""
    if (joining := _JOINING.search(word)) is not None:
        stem = word[: joining.start()]
        modality = "if" if word.endswith("면") else ""
    elif len(word) > 2 and word.endswith(("니다", "니까")) and _final(word[-3]) == _BIEUP:
        stem = word[:-3] if word[-3] == "습" else _bare(word[:-2])
    elif len(word) > 2 and word.endswith(("어요", "아요", "는다", "세요")):
        stem = word[:-2]
    elif len(word) > 1 and word[-1] == "요" and not _final(word[-2]):
        stem = _opened(word[:-1])
    elif len(word) > 1 and word[-1] == "다":
        stem = _bare(word[:-1]) if _final(word[-2]) == _NIEUN else word[:-1]
    else:
        return None
    if not stem:
        return None
    if stem[-1] == "겠":
        return stem[:-1] or stem, "future", modality
    if _final(stem[-1]) != _SSANG_SIOT or stem[-1] == "있":
        return stem, "", modality
    stem = stem[:-1] if stem[-1] in "었았였" and len(stem) > 1 else _opened(_bare(stem))
    return stem, "past", modality


def _noun(word: str) -> tuple[str, str, str]:
    """Noun, part and limiting particle ("only", "also")."""
    role, limit = Role.UNKNOWN, ""
    for _ in range(2):
        if word[-1] in _LIMITS and len(word) > 1 and word not in _ENDS_IN_DO and not limit:
            word, limit = word[:-1], _LIMITS[word[-1]]
        if role:
            break
        for size in range(min(_LONGEST, len(word) - 1), 0, -1):
            particle, rest = word[-size:], word[:-size]
            after = _AFTER_CONSONANT.get(particle)
            if particle in _PARTICLES and (after is None or after is bool(_final(rest[-1]))):
                word, role = rest, _PARTICLES[particle]
                break
    if len(word) > 2 and word[-1] == "들":
        word = word[:-1]
    return word, role, limit


class _Walk:
    """Reads word after word; nouns wait for their verb."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.drafts: list[_Draft] = []
        self.without_verb = 0
        self.denied = 0
        self.unable = False
        self.asks = bool(_ASKS.search(text))
        self.words = self.known = 0

    def read(self) -> None:
        tokens = list(self._tokens())
        number = 0
        while number < len(tokens):
            number = self._token(tokens, number)
        if self.denied % 2 and self.drafts:
            self.drafts[-1].negated = not self.drafts[-1].negated

    def _tokens(self) -> Iterator[_Draft]:
        at = 0
        for value in find_values(self.text, "ko"):
            yield from self._words(at, value.start)
            yield _Draft(value.start, value.end, value.key, value.type)
            at = value.end
        yield from self._words(at, len(self.text))

    def _words(self, start: int, end: int) -> Iterator[_Draft]:
        for match in _TOKEN.finditer(self.text, start, end):
            yield _Draft(match.start(), match.end(), match.group())

    def _token(self, tokens: list[_Draft], number: int) -> int:
        """Reads a token, with those that deny it; the number of the next one."""
        token = tokens[number]
        word = token.key
        if token.type is not PieceType.WORD or not "가" <= word[0] <= "힣":
            if token.type is PieceType.WORD:
                token.type = PieceType.NAME if word[0].isupper() else PieceType.WORD
                token.key = word.lower()
            self._put(token)
            return number + 1
        self.words += 1
        after = self.drafts[-1] if self.drafts else None
        glued = after is not None and after.end == token.start
        copula = _COPULA.search(word)
        if word in ("안", "못"):
            self.denied += 1
            self.unable = self.unable or word == "못"
        elif _IS_NOT.match(word):
            if after is not None:
                after.negated, after.role = not after.negated, Role.PREDICATE
                after.tense = "past" if "었" in word else ""
            self.known += 1
        elif after is not None and glued and word in _PARTICLES:
            after.role = _PARTICLES[word]
        elif after is not None and self._title(word, after):
            pass
        elif copula and (rest := word[: copula.start()] or glued) and rest not in ("하", "되"):
            self._is(token, copula, after if rest is True else None)
        elif word in _QUANTIFIER_KEYS:
            self._put(_Draft(token.start, token.end, _QUANTIFIER_KEYS[word], PieceType.QUANTIFIER))
        elif len(word) > 1 and word[-1] == "지" and self._denies(tokens, number + 1):
            return self._denied_verb(tokens, number)
        elif (verb := _verb(word)) is not None:
            self.asks = self.asks or (word.endswith("니까") and number == len(tokens) - 1)
            self._predicate(token, *verb)
        else:
            self._noun(token)
        return number + 1

    @staticmethod
    def _denies(tokens: list[_Draft], number: int) -> bool:
        return number < len(tokens) and _DENYING.match(tokens[number].key) is not None

    def _denied_verb(self, tokens: list[_Draft], number: int) -> int:
        """A stem with 지, and 않다 or 못하다, which may be denied in their turn."""
        token, stem = tokens[number], tokens[number].key[:-1]
        tense = modality = ""
        number += 1
        while self._denies(tokens, number):
            word = tokens[number].key
            token.end = tokens[number].end
            self.denied += 1
            self.unable = self.unable or word[0] == "못"
            _, tense, modality = _verb(word) or ("", "", "")
            number += 1
            if word[-1] != "지":
                break
        if stem[-1] == "하" or _final(stem[-1]) != _SSANG_SIOT or stem[-1] == "있":
            self._predicate(token, stem, tense, modality)
        else:
            self._predicate(token, _opened(_bare(stem)), "past", modality)
        return number

    def _title(self, word: str, after: _Draft) -> bool:
        """씨 and 님 by themselves: the word before is a name, and theirs is its particle."""
        noun, role, _ = _noun(word)
        if noun not in _TITLES:
            return False
        after.type, after.role = PieceType.NAME, role
        return True

    def _is(self, token: _Draft, copula: re.Match[str], after: _Draft | None) -> None:
        noun = after
        if noun is None:
            noun = token
            noun.key = token.key[: copula.start()]
            self._put(noun)
        noun.role = Role.PREDICATE
        noun.tense = "past" if copula[1] else ""
        self.known += 1
        self._close(noun)

    def _predicate(self, token: _Draft, stem: str, tense: str, modality: str) -> None:
        self.known += 1
        if stem == "없":
            stem = "있"
            self.denied += 1
        token.key, token.role, token.tense = stem, Role.PREDICATE, tense
        token.modality = "can" if self.unable else modality
        self._put(token)
        self._close(token)

    def _noun(self, token: _Draft) -> None:
        token.key, token.role, limit = _noun(token.key)
        self.known += bool(token.role)
        if len(token.key) > 2 and token.key[-1] in _TITLES:
            token.key, token.type = token.key[:-1], PieceType.NAME
        # 안, 못 deny the verb; a noun lets them wait.
        denied, self.denied = self.denied, 0
        self._put(token)
        self.denied = denied
        if limit:
            self.drafts.append(_Draft(token.end - 1, token.end, limit, PieceType.QUANTIFIER))

    def _put(self, draft: _Draft) -> None:
        if draft.role == Role.PREDICATE:
            draft.negated = self.denied % 2 == 1
            self.denied, self.unable = 0, False
        self.drafts.append(draft)

    def _close(self, verb: _Draft) -> None:
        for draft in self.drafts[self.without_verb :]:
            if draft is not verb and draft.role:
                draft.head = verb.key
        self.without_verb = len(self.drafts)


def read(text: str) -> Reading:
    """Reading of a Korean text.

    Parameters
    ----------
    text : str
        Any text; the caller bounds its length.

    Returns
    -------
    Reading
        `certain` if at least a third of the Korean words shows a particle or an ending.
    """
    walk = _Walk(text)
    walk.read()
    lists = lexicon("ko")
    pieces = []
    for draft in walk.drafts:
        key, near, opposites, weight = draft.key, _NOTHING, _NOTHING, 1.0
        # To whom, where, with what: another particle is another piece.
        case = draft.role if draft.role.startswith("prep:") and draft.role != "prep:의" else ""
        if draft.type is PieceType.WORD:
            near = frozenset(name + case for name in lists.near(key))
            opposites = frozenset(other + case for other in lists.opposites(key))
            weight = _LIGHT if key in lists.light else 1.0
            key = lists.key(key) + case
        elif draft.type is PieceType.NAME:
            key += case
        pieces.append(
            Piece(
                draft.start, draft.end, key, draft.type, draft.role, lists.key(draft.head),
                draft.negated, draft.modality, draft.tense, near, opposites, weight,
            )
        )  # fmt: skip
    return Reading("ko", tuple(pieces), asks=walk.asks, certain=3 * walk.known >= walk.words)
