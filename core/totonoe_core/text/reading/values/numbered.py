"""Numbers that name a thing: PR 412, line 40, 工单 4312, 40行目.

Such a number is no value of the thing: PR 413 is another one, not PR 412 with a new value. Whatever
holds a value that may change (port, phase, version, room of a meeting) is not among these nouns.
"""

from __future__ import annotations

import re

_ENGLISH = (
    "pr mr pull-request merge-request issue ticket bug defect incident case task story epic build "
    "run job pipeline deployment commit patch changeset line row page chapter section paragraph "
    "clause figure appendix item question exercise rfc pep adr invoice order receipt flight "
    "experiment trial batch migration"
)
_CJK_NOUNS = (
    "工单 议题 議題 缺陷 合并请求 拉取请求 构建 建置 流水线 提交 订单 发票 航班 批次 任务 问题 "
    "用例 实验 事故 ビルド チケット イシュー プルリクエスト プルリク ジョブ バグ タスク 課題 案件 "
    "コミット パイプライン 注文 請求書 実験 障害"
)
_BEHIND = "行目 ページ目 行 页 頁 章 节 節 条 款"
"""What a Chinese or Japanese number may count off: 第 40 行, 40行目."""


def _choice(words: str) -> str:
    return "|".join(word.replace("-", "[ -]") for word in words.split())


_WINDOW = 32
_NOUN_BEFORE = re.compile(
    rf"(?:(?<![A-Za-z0-9_])(?:{_choice(_ENGLISH)})s?|{_choice(_CJK_NOUNS)})"
    # "Bugs: 64" counts; "bug number: 64" does not.
    r"(?:(?:[ _-]?(?:numbers?|no\.?|nr\.?|id)|番号|编号|編號|号|號)(?: ?[:：])?)?[ #]?\Z",
    re.IGNORECASE,
)
_NTH_BEFORE = re.compile(r"第 ?\Z")
_BEHIND_NTH = re.compile(rf" ?(?:{_choice(_BEHIND)})")
_BEHIND_COUNTED = re.compile(r" ?(?:行目|ページ目)")
_NUMBERED_NOUN_BEHIND = re.compile(rf" ?(?:の ?)?(?:{_choice(_CJK_NOUNS)})")
_DIGITS = re.compile(r"\d{1,9}(?:[-–]\d{1,9})?", re.ASCII)
_OWN_WORD = re.compile(r"(?:number|no\.?) ?\Z", re.IGNORECASE)
# "Page 88 of 412" is how far somebody is.
_OF_ALL = re.compile(r" ?(?:of|/) ?\d")
# "Build 3 images", "order 20 chairs": the noun is a verb, and the number counts.
_VERBAL = re.compile(
    r"(?:\A|[.!?:;,\n] ?|\b(?:to|will|must|should|can|please|and|then) )"
    r"(?:build|run|order|issue|task|commit|patch|line|page|batch|case|question|figure) \Z",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r" (?!(?:is|was|has|does|fails|passes|takes|breaks|needs|uses|adds|fixes|closes|runs|starts|"
    r"works|crashes|covers|ships|changes|removes|shows|says|contains|describes|deals|asks)\b)"
    r"(?:[a-z-]{2,20} )?[a-z-]{2,20}s\b"
)


def number_named(text: str, start: int, end: int, key: str) -> str | None:
    """Return the key of a number as a name; `None` if it counts or measures.

    Parameters
    ----------
    text : str
        In normal width.
    start, end, key : int, int, str
        A NUMBER that was found there.
    """
    figures = _DIGITS.search(text, start, end)
    if figures is None or _OF_ALL.match(text, end):
        return None
    name = "#" + figures.group().replace("–", "-")
    if figures.end() == end and _after_noun(text, start, figures.start(), end):
        return name
    nth = _NTH_BEFORE.search(text, max(0, start - 2), start) or text[start] == "第"
    behind = _BEHIND_NTH if nth else _BEHIND_COUNTED
    if figures.end() == end and behind.match(text, end):
        return name
    if key.startswith("no.") and _NUMBERED_NOUN_BEHIND.match(text, end):
        return name
    return None


def _after_noun(text: str, start: int, figures: int, end: int) -> bool:
    """Return whether the noun that a number names stands before it."""
    if start < figures and _OWN_WORD.match(text, start, figures) is None:
        return False
    before = text[max(0, start - _WINDOW) : start]
    if _NOUN_BEFORE.search(before) is None:
        return False
    return not (_VERBAL.search(before) and _COUNTED.match(text, end))
