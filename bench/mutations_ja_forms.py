"""Inflection of the last predicate of a Japanese sentence, for `mutations_ja`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

Edit = Callable[[str], Iterable[str]]
"""Returns the edited sentences; nothing if the edit does not apply."""

NOMINAL = r"[一-龠々〆ァ-ヴーA-Za-z0-9)」]"
"""A character that ends a noun."""
_OPEN_ENDS = (
    r"(か|こと|ほしい|ください|思う|たい|よう|ない|ません|ました|でした|なる|ある|[?？!！])$"
)
"""Ends of what is no plain statement, or cannot take another ending."""
_E_AND_I = "いきぎしじちにびみりえけげせぜてでねべめれ"
_FIVE_STEPS = "入走切要知帰減滑戻残通乗取送守作登撮回終始変上下当移図計配断図写返眠降困怒限"
_OTHER_ROWS = {
    "う": ("わ", "い", "って"),
    "く": ("か", "き", "いて"),
    "ぐ": ("が", "ぎ", "いで"),
    "す": ("さ", "し", "して"),
    "つ": ("た", "ち", "って"),
    "ぬ": ("な", "に", "んで"),
    "ぶ": ("ば", "び", "んで"),
    "む": ("ま", "み", "んで"),
    "る": ("ら", "り", "って"),
}


def forms(verb: str) -> tuple[str, str, str]:
    """Return the forms of a verb before ない, before たい, and that with て."""
    if verb.endswith("する"):
        stem = verb[:-2] + "し"
        return stem, stem, stem + "て"
    stem, last = verb[:-1], verb[-1]
    one_step = stem[-1] in _E_AND_I or re.fullmatch("[一-龠]", stem[-1])
    if last == "る" and one_step and stem[-1] not in _FIVE_STEPS:
        return stem, stem, stem + "て"
    a, i, te = _OTHER_ROWS[last]
    return stem + a, stem + i, stem + ("って" if verb.endswith(("行く", "いく")) else te)


def end_of(text: str) -> tuple[str, str, str] | None:
    """Return the body of a statement, what ends it, and its stop.

    It ends with a verb, a state (している, できる), a past, an adjective or a noun.
    """
    body, stop = (text[:-1], "。") if text.endswith("。") else (text, "")
    if not re.search("[ぁ-ん]", body) or re.search(_OPEN_ENDS, body):
        return None
    if body.endswith("です"):
        body = body[:-2]
    elif body.endswith("である"):
        return body[:-3], "noun", stop
    elif body.endswith(("ています", "でいます", "れます")):
        return body[:-2] + "る", "state", stop
    elif body.endswith("します"):
        body = body[:-3] + "する"
    elif body.endswith("ます"):
        return None
    if re.search(rf"({NOMINAL}|嫌い|好き|きれい)だ?$", body):
        return body.removesuffix("だ"), "noun", stop
    if body.endswith(("った", "した", "いた", "れた", "けた", "めた", "えた", "んだ", "きた")):
        return body, "past", stop
    if re.search("[一-龠しなきさ]い$", body):
        return body, "adjective", stop
    if re.search("(いる|れる|使える|できる)$", body):
        return body, "state", stop
    if re.search("[一-龠ぁ-ん][るうくぐすつぶむ]$", body):
        return body, "verb", stop
    return None


def ended(verb: str = "", past: str = "", adjective: str = "", noun: str = "") -> Edit:
    """Return an edit of the end of a statement, by what ends it.

    `{}` stands for the whole, `{a}`, `{i}` and `{te}` for the forms of the verb, `{ta}` for its
    past, `{p}` for what れる follows; of an adjective `{}` is without its い. A state takes what is
    added to a past too, its past and its denial.
    """
    of_state = verb if verb in ("{a}ない", "{ta}") or past else ""
    templates = {
        "verb": verb, "state": of_state, "past": past, "adjective": adjective, "noun": noun,
    }  # fmt: skip

    def edit(text: str) -> Iterator[str]:
        found = end_of(text)
        if found is None:
            return
        body, sort, stop = found
        template = templates[sort]
        if not template:
            return
        a = i = te = ""
        if sort in ("verb", "state"):
            a, i, te = forms(body)
        elif sort == "adjective":
            body = body[:-1]
        ta = te[:-1] + ("だ" if te.endswith("で") else "た")
        passive = a[:-1] + "さ" if body.endswith("する") else a + ("ら" if a == i else "")
        end = "" if template.endswith("？") else stop
        yield template.format(body, a=a, i=i, te=te, ta=ta, p=passive) + end

    return edit
