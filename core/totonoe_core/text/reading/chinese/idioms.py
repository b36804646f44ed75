"""Wordings of Chinese whose sense is not the sum of their words, put plainly before words are cut.

Double denial ("must not not"), idioms of denial, cause before or behind its effect, empty nouns.
Each rule is a pattern and a template; what a template adds stands for the whole match.
"""

from __future__ import annotations

import re

_RULES_MAX = 4
"""A rule applies so many times to one text."""

_X = r"[^,;。.!?、\n]"

_AFFIRMED = r"^\s*(?![^。]{0,60}[不没未别无非])"
"""The beginning of a text that denies nothing: who plays which part changes places safely."""

_RULES: tuple[tuple[str, str], ...] = (
    # Denied twice, or not denied at all.
    (rf"(?<![并除若])非(?![常洲法凡])(?:得|要)?({_X}{{1,12}}?)不(?:可|行)", r"必须\1"),
    (r"(?:不是|并非|并不是)(?:不|没)(想|愿意|愿|会|能|肯|打算)", r"\1"),
    (r"没有?(?:任何|一个|哪个)?人(?:会)?不(?!过|同)", "所有人都"),
    (r"(?:人人|每个人|大家|谁|所有人|全员)都", "所有人都"),
    (r"(?:无时无刻不在|时时刻刻都?在|每时每刻都?在|无时无刻不)", "一直在"),
    (r"(?:无一不|无不|莫不|无一例外都?)", "都"),
    (rf"只要不({_X}{{1,10}}?),?就", r"除非\1否则就"),
    (rf"除非({_X}{{1,10}}?),否则", r"除非\1否则"),
    (rf"(?:并非|不是|并不是)(?:所有|每个|全部)的?({_X}{{1,10}}?)都有", r"有些\1没有"),
    (rf"(?:并非|不是|并不是)(?:所有|每个|全部)的?({_X}{{1,10}}?)都", r"有些\1不"),
    (r"(?:不容|不可|不能|不应|不该)(?:忽视|忽略|小视|轻视|小看)", "必须重视"),
    (r"(?:抽不开身|抽不出身|抽不出时间|腾不出时间|脱不开身|走不开|抽不出空)", "没有时间"),
    (r"(?:离不开|少不了|缺不了|不能没有|不可缺少|缺不得)", "必须有"),
    (r"(?:毫无|没有任何|完全没有|丝毫没有|没有半点|没有一点)", "没有"),
    (r"(?:不一定|未必|不见得)(?=[一-鿿])", "可能不"),
    (r"(?:没准儿?|说不定|保不齐|指不定|搞不好|弄不好)", "可能"),
    (r"(?:巴不得|恨不得)", "很想"),
    (r"不断(?=[电网线开货供粮奶水])", "不 断"),
    (r"好不容易", "很不容易"),
    (r"(?:忍不住|不由得|不由自主地?|情不自禁地?)", "不禁"),
    (r"有何(?!时)", "有什么"),
    (r"从不(?![同锈动断良法 ])", "从不 "),
    (r"无非是?", "只是"),
    (r"最多(?=重[试启])", "至多 "),
    (r"最少(?=重[试启])", "至少 "),
    (r"差不多(?=[是都全没每])", "几乎"),
    (r"(?:不停地|不住地|不断地|不断(?![电网线开货供粮奶水]))(?=[一-鿿])", "持续"),
    (r"不时(?=[会有地要出发丢])", "偶尔"),
    (r"(?:不仅仅|不仅|不但|不光|不只)(?=[是会能有要懂喜])", ""),
    (r"(?:,?而且|,?并且|,?还)(?=[会能有要懂喜])", "也"),
    (rf"再(忙|累|困|难|晚|贵|远|冷|热|苦|穷|饿|早)(,?{_X}{{0,6}}?)也", r"不管多\1\2都"),
    (
        r"(?:不管|无论|不论)(?:什么天气|天气如何|天气怎么样|天气好坏|刮风下雨|什么样的天气)",
        "风雨无阻",
    ),
    (r"(?:不出意外的话|不出意外|如无意外|正常情况下|正常的话|一切顺利的话|顺利的话),?", ""),
    (rf"别看({_X}{{1,10}}),", r"虽然\1,"),
    (r"年[纪龄岁](?:还|很|比较)?小", "年轻"),
    (r"年[纪龄岁](?:很|比较)?大(?=[^一-鿿]|$|了)", "年老"),
    (r",?而是(?=没有时间)", ",但"),
    # Empty nouns and verbs, politeness before a request.
    (r"^\s*(?:麻烦|烦请|劳烦|劳驾|请|恳请|敬请)(?:您|你|各位|大家)?(?=[把将给帮在用别不勿])", ""),
    (
        r"(财务|法务|人事|市场|销售|采购|技术|研发|产品|"
        r"运维|测试|客服|行政|设计|开发|工程)(?:部门|部)(?!门|分|署)",
        r"\1部",
    ),
    (r"(?:这件事情?|这个东西|这回事|这一点|这样东西|这种事情?|这个事情?)(?=[是都也就,。!?]|$)", ""),
    (rf"处于({_X}{{1,6}}?)了?的?状态(?:中|下|之中)?", r"\1"),
    (r"存在着", "有"),
    (rf"有({_X}{{1,8}}?)的习惯", r"习惯\1"),
    (r"[呢啊呀嘛],(?:它|他|她)(?![们的])", ""),
    (r"(?:的时候儿?|之时|的时刻|的情况下|之际)", "时"),
    (r"一旦", "如果"),
    # The same from the other side.
    (rf"{_AFFIRMED}({_X}{{1,8}})娶了?({_X}{{1,8}}?)(?=[。.!]?\s*$)", r"\2嫁给了\1"),
    (
        rf"{_AFFIRMED}({_X}{{1,8}})是({_X}{{1,8}})的(?:下属|下级|手下|部下)(?=[。.!]?\s*$)",
        r"\2是\1的上司",
    ),
    (rf"{_AFFIRMED}({_X}{{1,8}})是({_X}{{1,8}})的徒弟(?=[。.!]?\s*$)", r"\2是\1的师傅"),
    *(
        (rf"{_AFFIRMED}({_X}{{1,8}})比({_X}{{1,8}}){less}(?=[。.!了]?\s*$)", rf"\2比\1{more}")
        for less, more in (
            "矮高",
            "低高",
            "轻重",
            "短长",
            "慢快",
            "差好",
            "窄宽",
            "薄厚",
            "浅深",
            "弱强",
        )
    ),
    (
        rf"{_AFFIRMED}({_X}{{1,8}})从({_X}{{1,8}}?)(?:那里|那儿|手里|手中|处)(?:拿到|收到|得到|领到|接到)了?"
        rf"({_X}{{1,10}}?)(?=[。.!]?\s*$)",
        r"\2把\3交给了\1",
    ),
    # What somebody likes, and from what something comes; one clause only.
    (
        rf"{_AFFIRMED}({_X}{{1,10}})是({_X}{{1,6}})的(?:爱好|喜好|兴趣爱好|兴趣)(?=[。.!]?\s*$)",
        r"\2喜欢\1",
    ),
    (rf"{_AFFIRMED}({_X}{{1,6}})的(?:爱好|喜好|兴趣爱好|兴趣)是", r"\1喜欢"),
    (
        rf"{_AFFIRMED}({_X}{{2,24}}?)(?:的|之所以)?(?:原因|起因|成因|根源|缘故|罪魁祸首)(?:就是|在于|便是|是)"
        rf"({_X}{{2,24}}?)(?=[。.!]?\s*$)",
        r"因为\2,\1",
    ),
    (
        rf"{_AFFIRMED}({_X}{{2,24}}?),?(?:这)?(?:就)?(?:是)?(?:因为|由于)({_X}{{2,24}}?)(?=[。.!]?\s*$)",
        r"因为\2,\1",
    ),
    (
        rf"{_AFFIRMED}(?:因为|由于)?({_X}{{2,24}}?),?(?:导致|造成|引起|引发|致使)了?({_X}{{2,24}}?)"
        r"(?=[。.!]?\s*$)",
        r"因为\1,\2",
    ),
    (rf"{_AFFIRMED}({_X}{{2,24}}?),({_X}{{0,6}})因此", r"因为\1,\2"),
)
_ANYWHERE = tuple(
    (re.compile(pattern), template)
    for pattern, template in _RULES
    if not pattern.startswith(_AFFIRMED)
)
_WHOLE = tuple(
    (re.compile(pattern), template) for pattern, template in _RULES if pattern.startswith(_AFFIRMED)
)
# One of these stands in every text that a rule for whole texts is about.
_OF_WHOLE = re.compile(
    "娶|下属|下级|手下|部下|徒弟|比|从|爱好|喜好|兴趣|原因|起因|成因|根源|缘故|罪魁祸首|因|由于|"
    "导致|造成|引起|引发|致使"
)
_GROUP = re.compile(r"\\(\d)")

Spans = list[tuple[int, int]]


def plainly(masked: str, spans: Spans) -> tuple[str, Spans]:
    """The text in plain wording.

    Parameters
    ----------
    masked : str
        A text in simplified script and half width.
    spans : list of (int, int)
        For each of its characters where that stands in the original text.

    Returns
    -------
    str
    list of (int, int)
        The same for the new wording, not ascending where a template moved something.
    """
    for pattern, template in (*_ANYWHERE, *(_WHOLE if _OF_WHOLE.search(masked) else ())):
        for _ in range(_RULES_MAX):
            match = pattern.search(masked)
            if match is None:
                break
            start, end = match.span()
            whole = spans[start][0], spans[end - 1][1]
            words: list[str] = []
            origins: Spans = []
            for number, part in enumerate(_GROUP.split(template)):
                if number % 2:
                    words.append(match.group(int(part)))
                    origins.extend(spans[slice(*match.span(int(part)))])
                else:
                    words.append(part)
                    origins.extend([whole] * len(part))
            new = "".join(words)
            if new == match.group():
                break
            masked = masked[:start] + new + masked[end:]
            spans = spans[:start] + origins + spans[end:]
    return masked, spans
