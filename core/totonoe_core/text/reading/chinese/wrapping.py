"""What is wrapped around a Chinese text and says nothing of what it says.

Labels before a colon or in brackets, headings, greetings, "by the way", "as discussed": only of
a closed list (`text/lexicon/zh/wrapping.txt`), since 端口: or 【生产】 says something.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_LAYERS_MAX = 6
_HEAD_CHARS_MAX = 80
"""How far from either end wrappers are looked for; bounds the patterns' work."""

_SIGNS = r"[\s⚠️❗‼❕📌📍🔔💡📝📢✅☑ℹ️★☆※◆■●▶►•·*>\-]"
_OPEN, _SHUT = r"[\[【(<《「『〔]", r"[\]】)>》」』〕]"
_WORD = re.compile(r"\w.*\w", re.DOTALL)


def inner(plain: str) -> tuple[int, int]:
    """Where what the text says begins and ends.

    Parameters
    ----------
    plain : str
        A text in simplified script and half width (`script.simplify`).

    Returns
    -------
    tuple of int
        Offsets into the text; its whole span where nothing would be left inside.
    """
    start, end = 0, len(plain)
    for _ in range(_LAYERS_MAX):
        before = start, end
        head = plain[start : start + _HEAD_CHARS_MAX].lower()
        if (match := _before().match(head)) and _says(plain, start + match.end(), end):
            start += match.end()
        tail_at = max(start, end - _HEAD_CHARS_MAX)
        tail = plain[tail_at:end].lower()
        if (match := _behind().search(tail)) and _says(plain, start, tail_at + match.start()):
            end = tail_at + match.start()
        if (start, end) == before:
            break
    return start, end


def _says(plain: str, start: int, end: int) -> bool:
    """Whether something is left between two places."""
    return start < end and _WORD.search(plain, start, end) is not None


@cache
def _phrases() -> dict[str, str]:
    """Alternatives of each kind, the longest first."""
    found: dict[str, list[str]] = {}
    file = files("totonoe_core.text.lexicon") / "zh" / "wrapping.txt"
    for line in file.read_text(encoding="utf-8").splitlines():
        kind, *words = line.partition("#")[0].split() or [""]
        found.setdefault(kind, []).extend(words)
    return {
        kind: "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
        for kind, words in found.items()
    }


@cache
def _before() -> re.Pattern[str]:
    words = _phrases()
    label, topic, opening = words["label"], words["topic"], words["opening"]
    named = rf"(?:(?:{topic})[的与和及/ ]?){{0,3}}(?:(?:{label})[的与和及/ ]?){{1,3}}"
    field = rf"(?:(?:{label}|{topic})[的与和及/_ -]?){{1,4}}"
    numbered = r"(?: ?(?:第?[0-9一二三四五六七八九十]{1,3}[条项]?|如下))?"
    return re.compile(
        rf"{_SIGNS}*(?:"
        rf"{_OPEN}{field}{numbered}{_SHUT}[:\s]*"
        rf"|#{{1,6}} ?{field}{numbered}[:\s]*\n\s*"
        rf"|#{field}#?\s+"
        rf"|{named}{numbered}\s*(?::|—+|--+|[|>→»]| - |\n)\s*"
        rf"|{field}\s*[>»|]\s*"
        rf"|(?:重要信息|重要|注意|紧急|提醒)[!\s]+"
        rf"|(?:{opening})[呀啊呢哈吧]?(?:[,:;。.!~、…\s]|——|—|$)+"
        rf"|<(?:{words['tag']})>\s*"
        rf"|(?=[⚠❗‼❕📌📍🔔💡📝📢✅☑ℹ※]){_SIGNS}+"
        rf")"
    )


@cache
def _behind() -> re.Pattern[str]:
    words = _phrases()
    label, topic, closing = words["label"], words["topic"], words["closing"]
    return re.compile(
        rf"(?:[,;。.!~、…\s—-]+(?:{closing})[了啦哈哦呀啊]?"
        rf"|[\s]*{_OPEN}(?:{closing}|(?:{label}|{topic})+){_SHUT}"
        rf"|(?:\s*#(?:{label}|{topic})+)+#?"
        rf"|\s*</(?:{words['tag']})>"
        rf")[。.!~…\s]*$"
    )
