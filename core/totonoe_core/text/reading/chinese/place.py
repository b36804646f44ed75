"""What a Chinese word is where it stands: 好 behind a verb, 在 before one, 给, 不 between, 老王."""

from __future__ import annotations

from totonoe_core.text.reading.chinese.grammar import (
    ADVERBS,
    COMPLEMENTS,
    MEASURES,
    Kind,
    words,
)
from totonoe_core.text.reading.chinese.joined import is_little_name, joins
from totonoe_core.text.reading.chinese.token import ABOUT, VERBS, Token, make_token
from totonoe_core.text.reading.chinese.words import is_listed, known, tag_of
from totonoe_core.text.reading.model import PieceType

_VERBS_TOO = words("用 使用 给 在 到 通过 经过 拿")

_NAMES_THINGS = frozenset((Kind.NOUN, Kind.PERSON, Kind.VALUE, Kind.DETERMINER))

_BEHIND_NOUNS = frozenset((Kind.NOUN, Kind.PASSIVE, Kind.COPULA, Kind.BREAK))

_NAMED = (Kind.NOUN, Kind.PERSON)

_SAYS = frozenset((Kind.VERB, Kind.ADJECTIVE, Kind.COPULA, Kind.MODAL, Kind.NOT))

_ASKS_NOUN = words("什么 哪个 哪些 多少 几 什么样")

_OFFERS = words("推荐 介绍 求 找 好 这 那 给 说 写 唱 讲 来 有 了")

_REACHED = words(
    "了 到 见 掉 开 起 动 完 好 住 成 上 下 进 出 出来 出去 上来 上去 下来 下去 进来 进去 "
    "起来 过来 过去"
)

_PHRASE_MAX_WORDS = 12

_HOW_GOOD = words("好不好 好吗 好么 行不行 可以吗 可以么")

_PERCEIVES = words("看 听 找 买 收 想 遇 见 感 得 受 学 吃 玩 猜 做 查 搜 碰 抓 拿 接 喝 用 说")


def settled(tokens: list[Token]) -> list[Token]:
    """What a word is where it stands: 好 after a verb, 得 before one, 过 the verb, A不A."""
    out: list[Token] = []
    count = len(tokens)
    at = 0
    while at < count:
        token = tokens[at]
        previous = out[-1] if out else None
        following = tokens[at + 1] if at + 1 < count else None
        if (
            token.word in ("不", "没")
            and previous is not None
            and following is not None
            and previous.word[:1] == following.word[:1]
            and following.word.startswith(previous.word)
        ):
            # 好不好, 喜不喜欢: asks, denies nothing.
            following.asks = True
            out.pop()
            out.append(following)
            at += 2
            continue
        if previous is not None and previous.kind is Kind.VERB:
            width = _potential(tokens, at)
            if width:
                # 下载不了, 打不开: whether it can be done.
                reached = "".join(t.word for t in tokens[at : at + width])[1:]
                if known(previous.word + reached):
                    previous.word += reached
                previous.negated ^= token.word[0] == "不"
                previous.modality = "can"
                previous.end = tokens[at + width - 1].end
                at += width
                continue
        if token.word in _HOW_GOOD and _only_a_noun(out):
            token = Token(token.start, token.end, "怎么样", Kind.ASK, asks=True)
        if previous is not None and joins(previous, token, following):
            at += 1
            continue
        _place(token, previous, following, tokens, at)
        if is_little_name(token, following):
            assert following is not None
            token = Token(
                token.start,
                following.start + 1,
                token.word + following.word[0],
                Kind.PERSON,
                type=PieceType.NAME,
            )
            rest = following.word[1:]
            at += 1
            if rest:
                out.append(token)
                tokens[at] = make_token(following.start + 1, following.end, rest, tag_of(rest))
                continue
        if previous is not None and previous.kind is Kind.VERB and _repeats(previous, token):
            previous.end = token.end  # 看看, 看一看
        else:
            out.append(token)
        at += 1
    _ask_nothing(out)
    return out


_OPEN_CHOICE = words("是否 能否 可否 会不会 能不能 可不可以")


def _ask_nothing(tokens: list[Token]) -> None:
    """Clear what would ask elsewhere: 没有哪一次, 那几个, 评估是否, 虽然 ... 还是."""
    conceded = False
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        conceded = conceded or (token.kind is Kind.LINK and token.value == "虽然")
        if before is None:
            continue
        if token.kind is Kind.ASK and before.word == "有" and before.negated:
            token.asks = False
        elif token.kind is Kind.ASK and token.word == "几":
            # "Recommend a few", "those few" ask for no number.
            token.asks = before.kind is not Kind.BREAK and before.word not in _OFFERS
        elif token.word in _OPEN_CHOICE and before.kind is Kind.VERB:
            token.kind, token.asks = Kind.EMPTY, False
        elif token.word == "还是":
            # "What is written is still the old one", but "the red or the blue one".
            one = before.kind is Kind.OF and not any(t.kind is Kind.OF for t in tokens[at:])
            token.asks = token.asks and not (conceded or one)


def _potential(tokens: list[Token], at: int) -> int:
    """How many tokens from `at` on say that the verb before can, or cannot, be achieved."""
    word = tokens[at].word
    if word[0] not in "不得":
        return 0
    if len(word) > 1:
        return int(word[1:] in _REACHED)
    following = tokens[at + 1].word if at + 1 < len(tokens) else ""
    return 2 if following in _REACHED and not (word == "得" and following == "好") else 0


def _only_a_noun(out: list[Token]) -> bool:
    """Nothing but a noun phrase stands in the clause so far."""
    found = False
    for token in reversed(out[-_PHRASE_MAX_WORDS:]):
        if token.kind is Kind.BREAK:
            break
        if token.kind in (Kind.VERB, Kind.ADJECTIVE, Kind.COPULA, Kind.ASK, Kind.MODAL):
            return False
        found = found or token.kind in (Kind.NOUN, Kind.PERSON)
    return found


def _repeats(previous: Token, token: Token) -> bool:
    return token.kind is Kind.VERB and token.word == previous.word and token.start == previous.end


def _place(
    token: Token,
    previous: Token | None,
    following: Token | None,
    tokens: list[Token],
    at: int,
) -> None:
    word = token.word
    before = previous.kind if previous is not None else Kind.BREAK
    after = following.kind if following is not None else Kind.BREAK
    verbal = before in (Kind.VERB, Kind.ADJECTIVE)
    if word in ("是不是", "是否") and after in _NAMES_THINGS:
        token.kind, token.asks = Kind.COPULA, True
    elif (
        token.kind is Kind.VERB
        and len(word) == 2
        and before is Kind.OF
        and at > 1
        and tokens[at - 2].kind in (Kind.NOUN, Kind.PERSON, Kind.VALUE)
        and after in _BEHIND_NOUNS
    ):
        token.kind = Kind.NOUN  # AGV 的充电触点, 他的请假由
    elif word == "负责" and after is Kind.VERB:
        token.kind = Kind.EMPTY
    elif word == "来" and after is Kind.VERB and before in (Kind.NOUN, Kind.PERSON):
        token.kind = Kind.EMPTY  # 由 A 来 B, 用 A 来 B
    elif word == "叫" and following is not None and _is_name(following) and before in _NAMED:
        token.kind, token.value = Kind.COPULA, ""
    elif (
        token.kind is Kind.VERB
        and before is Kind.MEASURE
        and after not in (Kind.OF, Kind.NOUN, Kind.VALUE)
    ):
        token.kind = Kind.NOUN
    elif (
        token.kind is Kind.VERB
        and len(word) == 2
        and before is Kind.BREAK
        and after is Kind.NOUN
        and at + 2 < len(tokens)
        and tokens[at + 2].kind in (Kind.PASSIVE, Kind.COPULA)
    ):
        token.kind = Kind.NOUN  # 采集进程 before 被
    elif word == "由":
        place = following is None or following.tag.startswith("ns")
        someone = after is Kind.PERSON or (following is not None and _is_name(following))
        if place or (before not in (Kind.NOUN, Kind.PERSON, Kind.VALUE) and not someone):
            token.kind, token.value = Kind.PREPOSITION, "从"
    elif word == "该" and after is Kind.NOUN:
        token.word, token.kind, token.value = "这", Kind.DETERMINER, ""
    elif (
        token.tag == "vn"
        and word not in ADVERBS
        and (
            _is_said_to_be(tokens, at, before, after)
            or (after is Kind.COPULA and before is not Kind.BREAK)
            or (before in (Kind.OBJECT, Kind.PREPOSITION) and after is Kind.NOUN)
            or before in (Kind.OF, Kind.MEASURE, Kind.DETERMINER)
            or (previous is not None and previous.kind is Kind.ASK and previous.word in _ASKS_NOUN)
            or (before is Kind.NOUN and word not in VERBS and _has_verb_ahead(tokens, at + 1))
        )
    ):
        token.kind = Kind.NOUN
    elif (
        word in ("要", "需要", "需")
        and following is not None
        and following.word in ("多少钱", "多少", "多久", "多长", "几")
    ):
        token.kind = Kind.EMPTY
    elif word in ("要", "需要", "需", "想要") and not _has_verb_ahead(tokens, at + 1):
        token.kind, token.value = Kind.VERB, ""
    elif word == "才能" and before is Kind.ASK:
        token.kind, token.value = Kind.MODAL, "can"
    elif word in ("有没有", "有没") and not _has_verb_next(tokens, at + 1):
        token.word, token.kind, token.asks = "有", Kind.VERB, True
    elif word in ("个", "些") and before in (Kind.VERB, Kind.ADJECTIVE, Kind.COPULA, Kind.TENSE):
        token.kind = Kind.EMPTY
    elif word == "哪":
        counted = following is not None and (
            following.word in MEASURES or following.kind is Kind.VALUE
        )
        token.word = "哪个" if counted else "哪里"
    elif (
        word == "那"
        and before is Kind.NOUN
        and token.end - token.start == 2
        and (after in (Kind.ADJECTIVE, Kind.ADVERB))
    ):
        # Often typed for 哪个: nothing else stands between a noun and "is better".
        token.word, token.kind, token.asks = "哪个", Kind.ASK, True
    elif word in ("一些", "一点") and before is Kind.ADJECTIVE:
        token.kind = Kind.EMPTY
    elif (
        token.tag == "vn"
        and before is Kind.BREAK
        and after is Kind.NOUN
        and not is_listed(word)
        and word not in VERBS
        and _has_verb_ahead(tokens, at + 1)
    ):
        token.kind = Kind.NOUN
    elif token.kind is Kind.ADVERB and word in ADVERBS and after in (Kind.OF, Kind.BREAK):
        token.kind = Kind.ADJECTIVE
    elif token.kind is Kind.ADJECTIVE and after is Kind.VERB and word not in ("好", "多", "少"):
        token.kind = Kind.ADVERB
    elif word in ABOUT and (
        Kind.VALUE in (before, after) or before is Kind.MEASURE or word in ("约", "大概")
    ):
        token.word, token.kind, token.type = "大约", Kind.ADVERB, PieceType.QUANTIFIER
    elif (
        word == "到"
        and before is Kind.VERB
        and previous is not None
        and (previous.word not in _PERCEIVES and _goes_on_with_noun(tokens, at + 1))
    ):
        token.kind, token.value = Kind.PREPOSITION, "到"
    elif word in COMPLEMENTS and verbal and before is Kind.VERB:
        token.kind, token.value = Kind.COMPLEMENT, ""
    elif word == "好":
        token.kind = Kind.ADVERB if after in (Kind.ADJECTIVE, Kind.PERSON) else Kind.ADJECTIVE
    elif word == "完":
        token.kind = Kind.VERB
    elif word == "得":
        token.kind = Kind.DEGREE if verbal else Kind.MODAL
        token.value = "" if verbal else "must"
    elif word == "快":
        token.kind = Kind.ADVERB if after is Kind.VERB else Kind.ADJECTIVE
    elif word == "过":
        if not verbal:
            token.kind, token.value = Kind.VERB, ""
    elif word in ("上", "下", "前", "后", "里", "外", "中", "内"):
        if before in (Kind.BREAK, Kind.MODAL, Kind.NOT, Kind.ADVERB, Kind.EMPTY):
            token.kind = Kind.VERB if word in "上下" else Kind.NOUN
        elif word == "下" and before is Kind.VERB:
            token.kind, token.value = Kind.EMPTY, ""
        elif before is Kind.VERB and word not in "前后":
            token.kind, token.value = Kind.COMPLEMENT, ""
    elif word in ("给", "用", "到", "对", "为", "使用", "以", "通过", "拿", "经过", "叫", "让"):
        later = _has_verb_ahead(tokens, at + 1)
        if (word == "给" and not later and _gives(tokens, at)) or (
            before is Kind.VERB and word in ("给", "到", "为", "以")
        ):
            token.kind = Kind.PREPOSITION
        elif word == "对" and after in (Kind.BREAK, Kind.QUESTION, Kind.EMPTY):
            token.kind = Kind.ADJECTIVE
        elif not later and word not in ("对", "以", "为"):
            token.kind, token.value = Kind.VERB, ""
    elif word == "在":
        if after is Kind.VERB and following is not None and following.word not in ("有",):
            token.kind, token.value = Kind.TENSE, ""
    elif word in MEASURES and before in (Kind.VALUE, Kind.DETERMINER, Kind.ASK):
        token.kind = Kind.MEASURE
    elif word == "可" and after is Kind.ADJECTIVE:
        token.kind, token.value, token.light = Kind.ADVERB, "", True
    elif word == "还是":
        # "A or B" asks; "you had still better" does not.
        token.kind = Kind.EMPTY
        token.asks = before not in (Kind.BREAK, Kind.PERSON)
    elif word == "呢":
        # "And you?"
        said = any(t.kind in _SAYS for t in tokens[max(0, at - 12) : at])
        token.asks = not said and _says_no_more(tokens, at + 1)
    elif word == "不" and _ends(tokens, at + 1) and before in (*_SAYS, Kind.NOUN):
        token.kind, token.asks = Kind.QUESTION, True
    elif (
        word in ADVERBS
        and after is Kind.OF
        and at + 2 < len(tokens)
        and (tokens[at + 2].kind in (Kind.VERB, Kind.ADJECTIVE))
    ):
        tokens[at + 1].kind = Kind.EMPTY  # 的 for 地
    elif word in ("没有", "没", "无") and not _has_verb_next(tokens, at + 1):
        token.kind, token.word, token.value = Kind.VERB, "有", ""
        token.negated = True
    elif word == "别" and after not in (
        Kind.VERB,
        Kind.MODAL,
        Kind.ADJECTIVE,
        Kind.PREPOSITION,
        Kind.ADVERB,
        Kind.OBJECT,
        Kind.TENSE,
        Kind.PASSIVE,
    ):
        token.kind = Kind.NOUN


def _is_name(token: Token) -> bool:
    return token.type is PieceType.NAME and token.kind in (Kind.PERSON, Kind.NOUN)


def _is_said_to_be(tokens: list[Token], at: int, before: Kind, after: Kind) -> bool:
    """The last word of "A is B": a noun, whatever its class."""
    ends = after in (Kind.BREAK, Kind.QUESTION) and before in (Kind.NOUN, Kind.ADJECTIVE)
    return ends and any(token.kind is Kind.COPULA for token in tokens[max(0, at - 4) : at])


def _ends(tokens: list[Token], at: int) -> bool:
    """Nothing but a particle comes before the clause ends."""
    if at < len(tokens) and tokens[at].kind is Kind.EMPTY:
        at += 1
    return at >= len(tokens) or tokens[at].kind in (Kind.BREAK, Kind.QUESTION)


def _says_no_more(tokens: list[Token], at: int) -> bool:
    """Return whether only marks follow."""
    return all(token.kind in (Kind.BREAK, Kind.QUESTION) for token in tokens[at : at + 4])


def _goes_on_with_noun(tokens: list[Token], at: int) -> bool:
    for token in tokens[at : at + 2]:
        if token.kind is not Kind.TENSE:
            named = (Kind.NOUN, Kind.PERSON, Kind.VALUE, Kind.DETERMINER, Kind.TIME)
            return token.kind in named or token.word == "哪里"
    return False


def _gives(tokens: list[Token], at: int) -> bool:
    """给 behind a verb and its object: to whom."""
    for token in reversed(tokens[max(0, at - 8) : at]):
        if token.kind is Kind.BREAK:
            return False
        if token.kind is Kind.VERB:
            return at + 1 < len(tokens) and tokens[at + 1].kind in (Kind.PERSON, Kind.NOUN)
    return False


def _has_verb_ahead(tokens: list[Token], at: int) -> bool:
    """A verb, adjective or question verb before the clause ends."""
    for token in tokens[at : at + 12]:
        if token.kind is Kind.BREAK:
            return False
        if token.kind in (Kind.VERB, Kind.ADJECTIVE, Kind.MODAL) or token.word == "怎么":
            return True
    return False


def _has_verb_next(tokens: list[Token], at: int) -> bool:
    """A verb or adjective follows with nothing but adverbs and prepositional phrases between."""
    for token in tokens[at : at + 6]:
        if token.kind in (Kind.VERB, Kind.ADJECTIVE, Kind.MODAL, Kind.COPULA):
            return True
        if token.kind in (Kind.PREPOSITION, Kind.OBJECT, Kind.PASSIVE):
            return token.word in _VERBS_TOO or _has_verb_ahead(tokens, at)
        if token.kind not in (Kind.ADVERB, Kind.TENSE):
            return False
    return False
