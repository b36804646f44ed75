"""Texts that are dear to read: families of them, each a generator of similar texts.

They were looked for by hand: many tiny sentences, figures, dates, units, signs, identifiers, words
that begin fixed expressions, scripts without spaces, mixed scripts, marks in unlucky order.
"""

from __future__ import annotations

import random
from collections.abc import Callable

Unit = Callable[[random.Random], str]


def _of(*parts: str) -> Unit:
    return lambda generator: generator.choice(parts)


def _with(form: str, low: int = 1, high: int = 28) -> Unit:
    return lambda generator: form.format(generator.randint(low, high), generator.randint(10, 29))


def _words(text: str) -> Unit:
    return _of(*(f"{word} " for word in text.split()))


_MARKS = "\u0301\u0308\u0323\u0327"
FAMILIES: dict[str, Unit] = {
    "tiny sentences": _of("A b. "),
    "tiny sentences, varied": _of("A bk. ", "A cl. ", "A dm. ", "A en. ", "A fo. "),
    "letters": _of(*(f"{letter} " for letter in "abcdefghij")),
    "lines": _of(*(f"{letter}\n" for letter in "abcdefghij")),
    "words": _words("the server runs not never moved from Tom always to and"),
    "clauses": _of("because ", "who ", "that ", "if ", "when ", "said ", "he ", "wants ", "to "),
    "negations": _of("not ", "no ", "never ", "un", "n't "),
    "articles": _of("the ", "a ", "of "),
    "wrappers": _of("note: ", "[important note] ", "just so you know, ", " thanks!"),
    "bullets": _of("- "),
    "hashes": _of("#a "),
    "joined letters": _of("a-", "a.", ".a", "a@", "a'"),
    "brackets": _of("(a", "[a", "{a", "<a"),
    "identifiers": _with("a{}_b-"),
    "paths": _of("/a/b ", "a@b.c ", "http://a.b/c ", "C:\\a "),
    "quotations": _of('"a ', "'b ", "\u201cc ", "`d "),
    "figures": _with("{} ", 0, 9),
    "figures, joined": _with("{}-", 0, 9),
    "words for figures": _of("one ", "two ", "twenty ", "hundred ", "a half ", "dozen ", "fifth "),
    "fractions": _of("\u00bd", "\u00bc", "\u00be"),
    "quantities": _of("3kg ", "5 m ", "7% ", "$9 ", "2 hours "),
    "dates": _with("{} May 20{} "),
    "times": _with("{}:{} am ", 1, 12),
    "versions": _with("v{}.{} "),
    "operators": _of("a=", "b!=", "<c", ">", "^"),
    "spaces": _of("a      ", "b      "),
    "emoji": _of("a\U0001f600 ", "b\U0001f389 ", "\u2605"),
    "marks": _of(*_MARKS),
    "letters with marks": _of(*(f"a{mark}" for mark in _MARKS)),
    "invisible": _of("a\u200b", "a\u00ad", "a\u202e"),
    "Japanese": _of(*"はがをにでとの犬猫走食水あいうえおアイウエオ。"),
    "Japanese figures": _of(*"一二三四五六七八九十百千万年月日時分の"),
    "Chinese": _of(*"我他不没把被比在从到的了书吃给这那们请谢设备启动数据网。"),
    "Chinese and letters": _of("a的", "b了", "1个"),
    "Korean": _of("나는 ", "밥을 ", "먹지 ", "않았다 ", "서버가 ", "못했다 ", "안 ", "삼 ", "3개 "),
    "Korean without spaces": _of(*"가나다라마바사는을이"),
    "German": _words("der und nicht kein 3,5 am Montag wird ein über"),
    "French": _of("l'eau ", "ne ", "pas ", "le ", "est ", "où ", "3 heures "),
    "Russian": _words("и не в три дом был стол я а б"),
    "scripts mixed": _of("a", "ж", "あ", "中", "가", "é", "1"),
    "scripts mixed, spaced": _of("a ", "ж ", "あ ", "中 ", "가 ", "é ", "1 "),
}


def text(family: str, seed: int, size_bytes: int) -> str:
    """A text of a family, of at most so many bytes of UTF-8."""
    generator, unit = random.Random(seed), FAMILIES[family]
    parts = [f"{seed} "]
    left = size_bytes - len(parts[0])
    while (size := len((part := unit(generator)).encode())) <= left:
        parts.append(part)
        left -= size
    return "".join(parts)
