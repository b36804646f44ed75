"""Names, versions, amounts of money and quotations, which are compared as they are written.

Each expression is bounded, so that a long run of any character costs a constant at each place and
the caller skips what was read. The rows `MADE` are tried as one expression: the first that matches
decides.
"""

# Rows and tables; a wide character counts as two columns.
# ruff: noqa: E501
from __future__ import annotations

import re

from totonoe_core.text.reading.model import PieceType
from totonoe_core.text.reading.values.quantities import rate_at
from totonoe_core.text.reading.values.rows import FoundValue, Row, Scan, row
from totonoe_core.text.reading.values.units import CODES, ENDINGS, SYMBOLS, quantity_key
from totonoe_core.text.reading.values.words import ANY, VERSIONS

Match = re.Match[str]
_IDENTIFIER, _PATH, _VERSION = PieceType.IDENTIFIER, PieceType.PATH, PieceType.VERSION
_A = "A-Za-z0-9"
_PRE = r"(?:[-+.]?(?:rc|alpha|beta|a|b|dev|post|pre)[.-]?\d{0,8})?"
_URL_END = r"[^\s<>\"'`|\\^{}\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef]"
_HAS_DIGIT = re.compile(r"\d", re.ASCII)
_HAS_LETTER = re.compile("[A-Za-z]")
_MADE = re.compile(
    r"\A[a-z]{2,}[A-Z][a-z]|[A-Za-z0-9]_[A-Za-z0-9]|\A_\w|[A-Za-z]::[A-Za-z]|\(\)\Z|"
    r"\A[a-z]{2,}(?:\.[a-z][a-z_]+)+\Z"
)
_HEXADECIMAL = re.compile(r"(?:0x)?(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{7,128}\Z")
# Digits with an ending that the numbers read: 12.5N, 3rd, 10am, 90min, 2x, 15h30.
_MEASURE = re.compile(r"\d[\d.,:]*(?:[a-zA-Zµμ]{1,4})?(?:-[A-Za-z]+(?:-old)?)*\Z")
_SCIENTIFIC = re.compile(r"\d{1,9}(?:\.\d{1,9})?[eE][+-]?\d{1,2}\Z", re.ASCII)
_NAMES = frozenset(["1D", "2D", "3D", "4D", "4K", "8K", "2G", "3G", "4G", "5G", "6G"])
_HOST = re.compile(r"([a-z][a-z0-9+]*://)?([^/?#]*)(.*)\Z", re.IGNORECASE | re.DOTALL)
# SR-2023-052 and SR2023-052 are one name, A1-1 and A11 are two.
_JOIN = re.compile(r"(?<=[A-Za-z])-(?=\d)|(?<=\d)-(?=[A-Za-z])", re.ASCII)


def _as_written(_scan: Scan, at: int, match: Match) -> FoundValue:
    return at, match.end(), _IDENTIFIER, match.group()


def _cron(_scan: Scan, at: int, match: Match) -> FoundValue | None:
    found = match.group().rstrip(".-,")
    return (at, at + len(found), _IDENTIFIER, found) if "*" in match.group() else None


def _glob(_scan: Scan, at: int, match: Match) -> FoundValue:
    found = match.group().rstrip(".-,")
    return at, at + len(found), _PATH, found


def _url(_scan: Scan, at: int, match: Match) -> FoundValue:
    cut = match.group().rstrip(".,;:!?)]}*")
    scheme, host, rest = _HOST.match(cut).groups("")  # type: ignore[union-attr]
    return at, at + len(cut), _PATH, (scheme + host).lower() + rest.rstrip("/")


def _email(_scan: Scan, at: int, match: Match) -> FoundValue:
    found = match.group().rstrip(".-")
    name, _, host = found.rpartition("@")
    return at, at + len(found), _PATH, f"{name}@{host.lower()}"


def _path(_scan: Scan, at: int, match: Match) -> FoundValue | None:
    cut = match.group().rstrip(".")
    if not _is_path(cut):
        return None
    return at, at + len(cut), _PATH, cut.rstrip("/") or "/"


def _is_path(found: str) -> bool:
    if found.startswith(("/", "~", ".")) or ":\\" in found:
        return len(found) > 1
    if "/" not in found:
        return True
    parts = found.strip("/").split("/")
    if all(part.isdigit() for part in parts):
        return False  # 1/2, 2026/01/10
    # "and/or", "km/h", "KB/KiB" are words; a path is deep, or has an extension or a made name.
    return len(parts) > 2 or "." in parts[-1] or any(_MADE.search(part) for part in parts)


def _version(_scan: Scan, at: int, match: Match) -> FoundValue:
    return at, match.end(), _VERSION, "v" + match.group().lower().lstrip("version.")


def _code(_scan: Scan, at: int, match: Match) -> FoundValue | None:
    found = match.group().rstrip("-:.")
    if not _HAS_LETTER.search(found):
        return None
    end = at + len(found)
    if _MADE.search(found):
        return at, end, _IDENTIFIER, found
    if not _HAS_DIGIT.search(found) or _SCIENTIFIC.match(found):
        return None
    if found in _NAMES:
        return at, end, _IDENTIFIER, found
    if _HEXADECIMAL.match(found):
        return at, end, _IDENTIFIER, found.lower()
    if found[0].isdigit() and _MEASURE.match(found):
        head = found.lstrip("0123456789.,:").partition("-")[0]
        if head in ENDINGS or not head:
            return None
    return at, end, _IDENTIFIER, _JOIN.sub("", found).lower()


# --- Versions, numbers and amounts behind their word ---------------------------------------------


def _version_word(_scan: Scan, at: int, match: Match) -> FoundValue:
    return at, match.end(), _VERSION, "v" + match[1]


def _number_word(_scan: Scan, at: int, match: Match) -> FoundValue:
    return at, match.end(), PieceType.NUMBER, f"no.{int(match[1])}"


def _money(scan: Scan, at: int, match: Match) -> FoundValue | None:
    number = scan.number(match.end())
    if number is None:
        return None
    unit, end = rate_at(scan, SYMBOLS[match[1]], number.end)
    return at, end, PieceType.QUANTITY, quantity_key(number.value, unit)


# --- Quotations ------------------------------------------------------------------------------------

_CLOSING = {
    "「": "」", "『": "』", "《": "》", "〈": "〉", "“": "”", "„": "“”", "«": "»", "‹": "›",
    "‘": "’", '"': '"', "'": "'", "`": "`",
}  # fmt: skip
_LENGTH_MAX = 400
_TRIES_MAX = 8
# "said," and "said": the sentence's own marks go inside in American English.
_MARKS = " ,.;:，。、；："


def _quote(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    """Quotation that opens at a place; its key has single spaces.

    An apostrophe opens one only before a character, and closes it only before no letter:
    'x' quotes, "the servers' owners' list" does not.
    """
    text, opening = scan.text, scan.text[at]
    for closing in _CLOSING[opening]:
        end = text.find(closing, at + 1, at + _LENGTH_MAX)
        for _ in range(_TRIES_MAX):
            if opening not in "'‘" or end < 0 or not text[end + 1 : end + 2].isalnum():
                break
            end = text.find(closing, end + 1, at + _LENGTH_MAX)
        else:
            return None
        inner = text[at + 1 : max(end, 0)]
        if inner.strip() and (opening not in "'\"" or not inner[0].isspace()):
            key = " ".join(inner.split()).rstrip(_MARKS) or inner.strip()
            return at, end + 1, PieceType.QUOTE, key
    return None


# --- Numbers that name a thing: PR 412, 工单 4312, 第 40 行 -------------------------------------------
# Such a number is no value of the thing: PR 413 is another one, not PR 412 with a new value. Whatever
# holds a value that may change (port, phase, version, room of a meeting) is not among these nouns.


def _choice(heading: str) -> str:
    return "|".join(word.replace("-", "[ -]") for word in sorted(ANY.words(heading), reverse=True))


_WINDOW = 32
_NOUNS, _CJK_NOUNS = _choice("numbered"), _choice("numbered in Chinese and Japanese")
_NOUN_BEFORE = re.compile(
    rf"(?:(?<![A-Za-z0-9_])(?:{_NOUNS})s?|{_CJK_NOUNS})"
    # "Bugs: 64" counts; "bug number: 64" does not.
    r"(?:(?:[ _-]?(?:numbers?|no\.?|nr\.?|id)|番号|编号|編號|号|號)(?: ?[:：])?)?[ #]?\Z",
    re.IGNORECASE,
)
_NOUN_BEHIND = re.compile(rf" ?(?:行目|ページ目|[号號番] ?の? ?(?:{_CJK_NOUNS}))")
_NTH = re.compile(r"第 ?[0-9]{1,9} ?[行页頁章节節条款]")
_DIGITS = re.compile(r"[0-9]{1,9}(?:[-–][0-9]{1,9})?")
_OWN_WORD = re.compile(r"(?:number|no\.?) ?\Z", re.IGNORECASE)
# "Page 88 of 412" is how far somebody is.
_OF_ALL = re.compile(r" ?(?:of|/) ?\d")
# "Build 3 images", "order 20 chairs": the noun is a verb, and the number counts.
_VERBAL = re.compile(
    rf"(?:\A|[.!?:;,\n] ?|\b(?:to|will|must|should|can|please|and|then) )"
    rf"(?:{_choice('numbered that are verbs')}) \Z",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r" (?!(?:is|was|has|does|fails|passes|takes|breaks|needs|uses|adds|fixes|closes|runs|starts|"
    r"works|crashes|covers|ships|changes|removes|shows|says|contains|describes|deals|asks)\b)"
    r"(?:[a-z-]{2,20} )?[a-z-]{2,20}s\b"
)


def _noun_before(scan: Scan, found: FoundValue, figures: Match) -> bool:
    text, start, end = scan.text, found[0], found[1]
    if figures.end() != end or (
        start < figures.start() and _OWN_WORD.match(text, start, figures.start()) is None
    ):
        return False
    before = text[max(0, start - _WINDOW) : start]
    if _NOUN_BEFORE.search(before) is None:
        return False
    return not (_VERBAL.search(before) and _COUNTED.match(text, end))


def named(scan: Scan, found: FoundValue) -> FoundValue:
    """Return a number that names a thing as an identifier; any other value as it is."""
    start, end, _, _ = found
    figures = _DIGITS.search(scan.text, start, end)
    if figures is None or _OF_ALL.match(scan.text, end):
        return found
    behind = _NOUN_BEHIND.match(scan.text, figures.end()) or _NTH.search(
        scan.text, max(0, start - 2), figures.end() + 2
    )
    if behind is None and not _noun_before(scan, found, figures):
        return found
    return start, end, _IDENTIFIER, "#" + figures.group().replace("–", "-")


def _made(scan: Scan, at: int, _match: Match) -> FoundValue | None:
    match = scan.rules.made.match(scan.text, at)
    return None if match is None else scan.rules.make_of[match.lastgroup or ""](scan, at, match)


_WORDS = "|".join(sorted(VERSIONS, reverse=True))
_IGNORE = re.IGNORECASE


def _ascii(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


FIRST: tuple[Row, ...] = (
    row("cron lines", "0 *", _ascii(r"(?:[\d*/,-]{1,20} ){4}[\d*/,-]{1,20}(?![\w*])"), _cron),
    row("patterns of file names", "*", _ascii(r"\*{1,2}(?:/[\w.*-]{1,100}|\.[\w*-]{1,40}){1,20}"), _glob),
    row("quotations", "q", "(?!```)", _quote),
)  # fmt: skip
WORDS: tuple[Row, ...] = (
    row("versions behind their word", "a", re.compile(
        rf"(?:{_WORDS})[ .:]{{1,2}}(?:no\.? )?v?(\d{{1,8}}(?:\.(?:\d{{1,8}}|x)){{0,5}})(?![\w/])(?!\.\d)",
        _IGNORE), _version_word),
    row("number and its word", "a", re.compile(
        r"(?:number|no(?=\.))(?:\. ?| )(\d{1,9})(?!\w)(?!\.\d)", _IGNORE), _number_word),
)  # fmt: skip
MADE: tuple[Row, ...] = (
    row("URLs", "", rf"(?:[A-Za-z][A-Za-z0-9+]{{1,15}}://|www\.(?=[{_A}])){_URL_END}{{1,2000}}", _url),
    row("mail addresses", "", rf"[{_A}][{_A}._%+-]{{0,63}}@[{_A}-]{{1,63}}(?:\.[{_A}-]{{2,63}}){{1,8}}", _email),
    row("IP addresses", "", r"\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?::\d{1,5})?(?![\d.]?\d)", _as_written),
    row("absolute paths", "", r"(?:~|\.{1,2})?/[\w.@+-]{1,200}(?:/[\w.@+-]{1,200}){0,50}/?|~/", _path),
    row("paths of Windows", "", r"[A-Za-z]:\\[\w.@+ -]{1,200}(?:\\[\w.@+-]{1,200}){0,50}", _path),
    row("relative paths", "", rf"[{_A}_][\w.@+-]{{0,100}}(?:/[\w.@+-]{{1,100}}){{1,30}}/?(?=[^\w/]|$)", _path),
    row("files", "", rf"[{_A}_][{_A}_-]{{0,100}}(?:\.[{_A}_-]{{1,40}}){{0,3}}\.(?:py|pyi|js|ts|tsx|jsx|json|"
        r"ya?ml|toml|md|txt|csv|tsv|log|sh|bash|zsh|c|cc|cpp|h|hpp|rs|go|java|kt|rb|php|html?|css|scss|sql|"
        r"db|sqlite3?|xml|ini|cfg|conf|env|lock|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp[34]|wav|"
        rf"zip|tar|gz|tgz|bz2|xz|7z|whl|exe|dll|so|bin|proto|ipynb|bak|tmp|pem|key|crt)(?![{_A}_])", _path),
    row("flags", "", r"--?[A-Za-z][\w-]{0,60}(?![\w])", _as_written),
    row("environment variables", "", r"\$\{?[A-Za-z_]\w{0,100}\}?", _as_written),
    row("tickets", "", r"\#\d{1,12}(?!\w)", _as_written),
    row("versions", "", rf"[vV](?:er(?:sion)?)?\.?\d{{1,8}}(?:\.(?:\d{{1,8}}|x)){{0,5}}{_PRE}(?![{_A}])|"
        rf"\d{{1,8}}(?:\.\d{{1,8}}){{2,5}}{_PRE}(?![{_A}])|\d{{1,8}}\.(?:\d{{1,8}}\.)?x(?![{_A}])", _version),
    row("codes", "", rf"[{_A}_]{{1,100}}(?:[-_.:]{{1,2}}[{_A}_]{{1,100}}){{0,20}}(?:\(\))?", _code),
)  # fmt: skip
MADE_NAMES: tuple[Row, ...] = (row("made names", "0 a - + * $ / _", "", _made),)
MONEY: tuple[Row, ...] = (
    row("money", "$ a _", rf"(US\$|[$€£¥￥₩₹₽₿₫฿]|(?:{'|'.join(sorted(CODES))})(?= \d)) ?", _money),
)
