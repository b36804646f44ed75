"""Edits of English sentences that change what they say (`bench.mutations`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

Edit = Callable[[str], Iterable[str]]
_NUMBER = re.compile(r"(?<![\w.:/-])[1-9][0-9]{0,3}(?![\w.:/%-])")
_NAMES = (
    "Anna|Ann|Bob|Tom|Priya|Alice|Marta|Carla|Carlos|Maria|Peter|Lena|Ben|Sara|John|Mary|Kenji|Yuki"
)


def _replaced(table: str, unless: str = "$^") -> Edit:
    """Return an edit that exchanges one word or phrase for another: "and > or" lines.

    `<>` works in both directions. Only whole words count, whatever their case, and not behind what
    matches `unless`.
    """
    pairs = []
    for line in table.strip().splitlines():
        if "<>" in line:
            one, other = (side.strip() for side in line.split("<>"))
            pairs += [(one, other), (other, one)]
        else:
            one, other = (side.strip() for side in line.split(">"))
            pairs.append((one, other))
    patterns = [(re.compile(rf"\b{pair}\b", re.I), other) for pair, other in pairs]

    def edit(text: str) -> Iterator[str]:
        for pattern, other in patterns:
            for match in pattern.finditer(text):
                if re.search(unless, text[: match.start()]):
                    continue
                begin = other.capitalize() if match.group()[0].isupper() else other
                yield text[: match.start()] + begin + text[match.end() :]

    return edit


def _put_before(verbs: str, word: str) -> Edit:
    """Return an edit that puts a word before the first of some words."""
    pattern = re.compile(rf"\b({verbs})\b")

    def edit(text: str) -> Iterator[str]:
        if match := pattern.search(text):
            yield text[: match.start()] + word + " " + text[match.start() :]

    return edit


def _put_behind(words: str, more: str) -> Edit:
    """Return an edit that puts a word behind the first of some words."""
    pattern = re.compile(rf"\b({words})\b")

    def edit(text: str) -> Iterator[str]:
        if match := pattern.search(text):
            yield text[: match.end()] + " " + more + text[match.end() :]

    return edit


def _said_by(before: str) -> Edit:
    """Return an edit that begins a statement with other words."""

    def edit(text: str) -> Iterator[str]:
        first = text.split(" ", 1)[0]
        if text.endswith("?") or not first or first in _ORDERS:
            return
        keep = len(first) > 1 and (first[1:] != first[1:].lower() or re.fullmatch(_NAMES, first))
        yield f"{before} {text if keep else text[0].lower() + text[1:]}"

    return edit


def _ended(more: str) -> Edit:
    """Return an edit that adds words at the end of a statement."""

    def edit(text: str) -> Iterator[str]:
        if text.endswith("?") or text.split(" ", 1)[0] in _ORDERS:
            return
        body, stop = (text[:-1], ".") if text.endswith(".") else (text, "")
        yield f"{body} {more}{stop}"

    return edit


_ORDERS = frozenset({"TODO", "TODO:", "Note:", "Remember", "If", "When", "Please", "-", "*"})


def _other_number(text: str) -> Iterator[str]:
    for match in _NUMBER.finditer(text):
        yield text[: match.start()] + str(int(match.group()) + 1) + text[match.end() :]


def _last_digit(text: str) -> Iterator[str]:
    """Change the last digit of an identifier, version or path."""
    for match in re.finditer(r"(?<=[\w./:-])[0-9](?![\w])", text):
        yield text[: match.start()] + str((int(match.group()) + 1) % 10) + text[match.end() :]


def _exchanged_names(text: str) -> Iterator[str]:
    """Exchange two names around a verb: "Ann manages Bob"."""
    pattern = rf"\b({_NAMES})\b( (?:\w+ ){{1,4}}?)\b({_NAMES})\b"
    for match in re.finditer(pattern, text):
        one, middle, other = match.groups()
        if one != other and not re.search(r"\b(and|or|with|married)\b", middle):
            yield text[: match.start()] + other + middle + one + text[match.end() :]


def _turned_comparison(text: str) -> Iterator[str]:
    """Exchange the two sides of a comparison."""
    pattern = r"\b([A-Z][\w-]*|[\w-]+) (is|was|are) (\w+er|more \w+|less \w+) than ([\w-]+)"
    for match in re.finditer(pattern, text):
        one, be, how, other = match.groups()
        yield text[: match.start()] + f"{other} {be} {how} than {one}" + text[match.end() :]


_BE = "is|are|was|were"
_MODALS = "can|may|must|should|will|could|might"

KINDS: dict[str, Edit] = {
    "number": _other_number,
    "last digit": _last_digit,
    "unit": _replaced(
        """
        MB <> GB
        ms > s
        seconds <> minutes
        minutes <> hours
        hours <> days
        days <> weeks
        weeks <> months
        km <> m
        kg <> g
        percent > points
        euros <> dollars
        bytes > bits
        """
    ),
    "weekday": _replaced(
        """
        Monday <> Tuesday
        Wednesday <> Thursday
        Friday <> Saturday
        Mondays > Fridays
        Sunday > Monday
        """
    ),
    "month": _replaced(
        """
        January <> February
        March <> April
        June <> July
        August <> September
        October <> November
        """
    ),
    "day": _replaced(
        """
        today <> tomorrow
        yesterday <> today
        last week <> next week
        this month <> next month
        """
    ),
    "part of the day": _replaced("morning <> evening\nnoon <> midnight\nam <> pm\nnight > noon"),
    "name": _replaced("Anna > Bob\nTom <> Priya\nAlice <> Carla\nMarta > Lena\nBen > Sara"),
    "exchanged names": _exchanged_names,
    "denied": _put_behind(f"{_BE}|{_MODALS}|does|do|did", "not"),
    "not denied": _replaced(
        """
        is not > is
        are not > are
        does not use > uses
        do not > do
        cannot > can
        must not > must
        never > always
        without > with
        isn't > is
        """
    ),
    "and, or": _replaced("and <> or\nboth > either"),
    "because, although": _replaced(
        "because <> although\nso that > although\nbecause > unless\nsince > although"
    ),
    "since, until": _replaced("since <> until\nfrom <> until"),
    "if, unless": _replaced("if <> unless\nwhen > unless\nas long as > unless"),
    "before, after": _replaced("before <> after\nuntil > after"),
    "while, before": _replaced("while > before\nwhenever > before"),
    "by, for": _replaced("by <> for", unless=r"(need|requir)\w+ $"),
    "in, near": _replaced("in <> near\nat > near\ninside <> outside\nin > behind"),
    "on, off": _replaced("on <> off\non > under\non > without"),
    "from, to": _replaced("from <> to\ninto > out of"),
    "with, without": _replaced("with > without"),
    "over, under": _replaced("over <> under\nabove <> below"),
    "for, against": _replaced("for > against\nfor > except for"),
    "to, about": _replaced("with > about\nto > about"),
    "is, was": _replaced("is <> was\nare <> were\nhas > had"),
    "did, will": _replaced(
        """
        will(?! be) > did
        uses > used
        works > worked
        owns > owned
        lives > lived
        needs > needed
        is(?! no doubt) > will be
        was > will be
        """
    ),
    "used to": _replaced(
        "runs > used to run\nuses > used to use\nlives > used to live\nlikes > used to like"
    ),
    "may": _replaced(
        "is(?! no doubt) > may be\nare > might be\nwill > may\nmust > may\nwas > may have been"
    ),
    "must, can": _replaced(
        "must <> can\nshould(?! be mentioned) > can\nmust > should\nhas to > can\nneeds to > may"
    ),
    "all, some": _replaced(
        "all <> some\nevery > one\nall > most\neach > the last\nmost <> few\nmany > all"
    ),
    "only": _put_before("uses|runs|works|needs|accepts|reads|has|is|are|on|for|in", "only"),
    "not only": _replaced("only > also\njust > also"),
    "almost": _put_before("all|every|always|never|full|empty|[0-9]+", "almost"),
    "always, sometimes": _replaced(
        "always <> sometimes\nusually > never\noften > rarely\nnever > rarely\nsometimes > often"
    ),
    "frequency": _replaced(
        "daily <> weekly\nevery day <> every week\nevery hour > every minute\nonce > twice\n"
        "monthly <> yearly\nnightly > hourly\nevery night > every month"
    ),
    "already, not yet": _put_behind(_BE, "not yet"),
    "still": _put_behind(_BE, "still"),
    "no longer": _put_behind(_BE, "no longer"),
    "again": _ended("again"),
    "at least, at most": _replaced(
        "at least <> at most\nmore than <> less than\nup to > at least\nmaximum <> minimum"
    ),
    "first, last": _replaced("first <> last\nnext > previous\nnewest <> oldest"),
    "comparison": _turned_comparison,
    "more, less": _replaced(
        "more <> less\nfaster <> slower\nlarger <> smaller\nbetter <> worse\nhigher <> lower"
    ),
    "opposite": _replaced(
        """
        enabled <> disabled
        enable <> disable
        starts <> stops
        open <> closed
        allowed <> forbidden
        increase <> decrease
        accepts <> rejects
        true <> false
        upload <> download
        likes <> hates
        succeeds <> fails
        """
    ),
    "up, down": _replaced("up <> down\nleft <> right\nfront <> back\nnorth > south"),
    "attribution": _said_by("According to Dana,"),
    "hearsay": _said_by("Apparently"),
    "opinion": _said_by("I think"),
    "doubt": _said_by("Maybe"),
    "condition": _ended("if the tests pass"),
    "exception": _ended("except on Sundays"),
    "limited to": _ended("on staging"),
    "person": _replaced(
        "he <> she\nmy > your\nour > their\nI(?! would like| learned) > we\nwe > they\nhis > her"
    ),
    "this, that": _replaced("both > one of\nother > same\nsame > other\nown > shared"),
}
