"""Which language a text is in, as far as a reader has to know.

By script where that decides, by function words among the Latin alphabet's languages. A text of
Han characters alone may be Chinese or Japanese: `languages` names both, the likelier first, so
that two texts can be read in one language.
"""

from __future__ import annotations

import re
from functools import lru_cache

_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\u31f0-\u31ff\uff66-\uff9d]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_OTHER = re.compile(
    "[\u0370-\u03ff\u0530-\u10ff\u1200-\u1fff\ua000-\uabff\ufb1d-\ufdff\ufe70-\ufeff]"
)
_WORD = re.compile(r"[^\W\d_]+")
# Shapes that only Japanese, or only simplified Chinese, writes: among Han alone they decide.
_JAPANESE_SHAPES = re.compile("[込働畑峠枠円広売読図実関検済続単変対処権応発両薬覧験々]")
_CHINESE_SHAPES = re.compile(
    "[的们这那吗呢吧了没说给让为个么什怎谁哪么请谢户设备启动删发关开东车书长门问间时电话网页错误数据库务进运还过]"
)

_FUNCTION_WORDS = {
    "en": "the a an is are was were be been to of and in for with on at by it this that not you "
    "i my his her they from as or has have do does did can will no we he she but if",
    "de": "der die das und ist nicht ein eine mit für auf den dem von zu im am ich sie er es "
    "wird werden sind kein keine auch bei nach aus um nur oder",
    "fr": "le la les des est et un une dans pour pas ne du que qui sur avec au aux ce il elle "
    "je nous vous sont plus ou par en sa son ses",
    "es": "el la los las es y en un una de que no para con por del se su al lo más pero está "
    "son le como muy hay",
    "pt": "o a os as é e em um uma de que não para com por do da no na se seu sua ao mas está "
    "são foi como muito há",
    "it": "il lo la i gli le è e in un una di che non per con del della si al dei sono ma più "
    "come ha nel alla anche",
}
_VOTES: dict[str, tuple[str, ...]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _word in _words.split():
        _VOTES[_word] = (*_VOTES.get(_word, ()), _language)

_LOOKED_AT = 600
"""Code points from the beginning: enough to tell, however long the text."""
_FEW_WORDS = 3
_WHOLE_VOTE = 60
"""Divisible by any number of languages that share a word."""
_VOTES_MIN = 90
_HEADS_KEPT = 4_096


def languages(text: str) -> tuple[str, ...]:
    """Languages the text may be in, the likeliest first; empty if no reader knows its script.

    Returns
    -------
    tuple of str
        ISO 639-1 codes out of en ja zh ko de fr es pt it ru. Two only for Han characters alone
        ("ja", "zh") in either order.
    """
    return _languages(text[:_LOOKED_AT])


@lru_cache(maxsize=_HEADS_KEPT)
def _languages(head: str) -> tuple[str, ...]:
    if not head.isascii():
        if _KANA.search(head):
            return ("ja",)
        han = len(_HAN.findall(head))
        if han and 4 * han >= len(_WORD.findall(head)):
            japanese = _JAPANESE_SHAPES.search(head) and not _CHINESE_SHAPES.search(head)
            return ("ja", "zh") if japanese else ("zh", "ja")
        if _HANGUL.search(head):
            return ("ko",)
        if _CYRILLIC.search(head):
            return ("ru",)
        if _OTHER.search(head):
            return ()
    return (_latin(head),)


@lru_cache(maxsize=_HEADS_KEPT)
def _votes(head: str) -> tuple[int, ...]:
    """Votes of a text's words for each of the languages, in their order."""
    votes = dict.fromkeys(_FUNCTION_WORDS, 0)
    for word in _WORD.findall(head.lower()):
        named = _VOTES.get(word, ())
        for language in named:
            votes[language] += _WHOLE_VOTE // len(named)
    return tuple(votes.values())


def forget_cached() -> None:
    """Empty the caches, which hold the beginnings of texts."""
    _languages.cache_clear()
    _votes.cache_clear()


def _latin(*heads: str) -> str:
    votes = [sum(column) for column in zip(*map(_votes, heads), strict=True)]
    # English first: without a function word ("Restart nginx") it is the likeliest here, and one
    # alone ("per page") says little.
    most = max(votes)
    if most < _VOTES_MIN and all(head.isascii() for head in heads):
        return "en"
    return tuple(_FUNCTION_WORDS)[votes.index(most)]


def common_language(own: str, other: str) -> str:
    """The language in which both texts can be read; empty if there is none.

    Two texts in Latin letters vote together. A few Latin words ("Reno 4 Pro") are of any
    language whose reader expects them between its own.
    """
    here, there = languages(own), languages(other)
    if here and there:
        if here[0] in _FUNCTION_WORDS and there[0] in _FUNCTION_WORDS:
            return _latin(own[:_LOOKED_AT], other[:_LOOKED_AT])
        for few, many, text in ((here, there, own), (there, here, other)):
            if few[0] in _FUNCTION_WORDS and len(_WORD.findall(text)) <= _FEW_WORDS:
                return many[0]
    return next((language for language in here if language in there), "")
