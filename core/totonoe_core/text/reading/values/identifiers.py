"""Made names that are compared as they are written: URLs, paths, versions, codes, hashes.

`opaque_at` looks at one place of a text. Each expression is bounded, so that a long run of
any character costs a constant at each place and the caller skips what was read.
"""

from __future__ import annotations

import re

from totonoe_core.text.reading.model import PieceType

_A = "A-Za-z0-9"
_PRE = r"(?:[-+.]?(?:rc|alpha|beta|a|b|dev|post|pre)[.-]?\d{0,8})?"
_URL_END = r"[^\s<>\"'`|\\^{}\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef]"
_OPAQUE = re.compile(
    rf"""
    (?P<url>(?:[A-Za-z][A-Za-z0-9+]{{1,15}}://|www\.(?=[{_A}])){_URL_END}{{1,2000}})
  | (?P<email>[{_A}][{_A}._%+-]{{0,63}}@[{_A}-]{{1,63}}(?:\.[{_A}-]{{2,63}}){{1,8}})
  | (?P<uuid>[0-9A-Fa-f]{{8}}(?:-[0-9A-Fa-f]{{4}}){{3}}-[0-9A-Fa-f]{{12}}(?![{_A}]))
  | (?P<mac>[0-9A-Fa-f]{{2}}(?:[:-][0-9A-Fa-f]{{2}}){{5}}(?![{_A}:]))
  | (?P<ip>\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?:/\d{{1,2}})?(?::\d{{1,5}})?(?![\d.]?\d))
  | (?P<path>(?:~|\.{{1,2}})?/[\w.@+-]{{1,200}}(?:/[\w.@+-]{{1,200}}){{0,50}}/?
      | ~/|[A-Za-z]:\\[\w.@+ -]{{1,200}}(?:\\[\w.@+-]{{1,200}}){{0,50}}
      | [{_A}_][\w.@+-]{{0,100}}(?:/[\w.@+-]{{1,100}}){{1,30}}/?(?=[^\w/]|$)
      | [{_A}_][{_A}_-]{{0,100}}(?:\.[{_A}_-]{{1,40}}){{0,3}}\.(?:py|pyi|js|ts|tsx|jsx|json|
        ya?ml|toml|md|txt|csv|tsv|log|sh|bash|zsh|c|cc|cpp|h|hpp|rs|go|java|kt|rb|php|html?|css|scss|sql|db|
        sqlite3?|xml|ini|cfg|conf|env|lock|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp[34]|wav|
        zip|tar|gz|tgz|bz2|xz|7z|whl|exe|dll|so|bin|proto|ipynb|bak|tmp|pem|key|crt)(?![{_A}_]))
  | (?P<flag>--?[A-Za-z][\w-]{{0,60}}(?![\w]))
  | (?P<env>\$\{{?[A-Za-z_]\w{{0,100}}\}}?)
  | (?P<hash>\#\d{{1,12}}(?!\w))
  | (?P<version>[vV](?:er(?:sion)?)?\.?\d{{1,8}}(?:\.(?:\d{{1,8}}|x)){{0,5}}{_PRE}(?![{_A}])
      | \d{{1,8}}(?:\.\d{{1,8}}){{2,5}}{_PRE}(?![{_A}])
      | \d{{1,8}}\.(?:\d{{1,8}}\.)?x(?![{_A}]))
  | (?P<code>[{_A}_]{{1,100}}(?:[-_.:]{{1,2}}[{_A}_]{{1,100}}){{0,20}}(?:\(\))?)
    """,
    re.VERBOSE | re.ASCII,
)
_HAS_DIGIT = re.compile(r"\d", re.ASCII)
_HAS_LETTER = re.compile("[A-Za-z]")
_MADE = re.compile(
    r"\A[a-z]{2,}[A-Z][a-z]|[A-Za-z0-9]_[A-Za-z0-9]|\A_\w|[A-Za-z]::[A-Za-z]|\(\)\Z|"
    r"\A[a-z]{2,}(?:\.[a-z][a-z_]+)+\Z"
)
_HEXADECIMAL = re.compile(r"(?:0x)?(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{7,128}\Z")
# Digits with an ending that the numbers read: 12.5N, 3rd, 10am, 90min, 2x, 15h30.
_MEASURE = re.compile(r"\d[\d.,:]*(?:[a-zA-Zµμ]{1,4})?(?:-[A-Za-z]+(?:-old)?)*\Z")
_SPAN = re.compile(r"\d{1,3}h\d{1,2}m(?:in)?\Z", re.ASCII)
_SCIENTIFIC = re.compile(r"\d{1,9}(?:\.\d{1,9})?[eE][+-]?\d{1,2}\Z", re.ASCII)
_NAMES = frozenset(["1D", "2D", "3D", "4D", "4K", "8K", "2G", "3G", "4G", "5G", "6G"])
_HOST = re.compile(r"([a-z][a-z0-9+]*://)?([^/?#]*)(.*)\Z", re.IGNORECASE | re.DOTALL)
# SR-2023-052 and SR2023-052 are one name, A1-1 and A11 are two.
_JOIN = re.compile(r"(?<=[A-Za-z])-(?=\d)|(?<=\d)-(?=[A-Za-z])", re.ASCII)


# Five fields of a cron line; a pattern of file names.
_STARRED = re.compile(
    r"(?P<cron>(?:[\d*/,-]{1,20} ){4}[\d*/,-]{1,20}(?![\w*]))"
    r"|(?P<glob>\*{1,2}(?:/[\w.*-]{1,100}|\.[\w*-]{1,40}){1,20})",
    re.ASCII,
)


def starred_at(text: str, at: int) -> tuple[int, PieceType, str] | None:
    """Return the cron line or the pattern of file names that begins at a place, as `opaque_at`."""
    match = _STARRED.match(text, at)
    if match is None or "*" not in match.group():
        return None
    found = match.group().rstrip(".-,")
    kind = PieceType.IDENTIFIER if match.lastgroup == "cron" else PieceType.PATH
    return at + len(found), kind, found


def opaque_at(text: str, at: int, measures: frozenset[str]) -> tuple[int, PieceType, str] | None:
    """What made name begins at a place, as (end, type, key).

    Parameters
    ----------
    text : str
        In normal width.
    at : int
        Beginning of a word.
    measures : frozenset of str
        Endings that make figure and letters a quantity ("kg", "am"), not a name.

    Returns
    -------
    tuple or None
        None: an ordinary word or figure.
    """
    match = _OPAQUE.match(text, at)
    if match is None:
        return None
    kind, found, end = match.lastgroup, match.group(), match.end()
    if kind == "url":
        cut = found.rstrip(".,;:!?)]}*")
        scheme, host, rest = _HOST.match(cut).groups("")  # type: ignore[union-attr]
        return at + len(cut), PieceType.PATH, (scheme + host).lower() + rest.rstrip("/")
    if kind == "email":
        name, _, host = found.rstrip(".-").rpartition("@")
        return at + len(name) + 1 + len(host), PieceType.PATH, f"{name}@{host.lower()}"
    if kind in ("uuid", "mac"):
        key = found.lower()
        return end, PieceType.IDENTIFIER, key.replace("-", ":") if kind == "mac" else key
    if kind == "ip":
        return end, PieceType.IDENTIFIER, found
    if kind == "path":
        cut = found.rstrip(".")
        if not _is_path(cut):
            return None
        return at + len(cut), PieceType.PATH, cut.rstrip("/") or "/"
    if kind == "version":
        return end, PieceType.VERSION, "v" + found.lower().lstrip("version.")
    if kind in ("flag", "env", "hash"):
        return end, PieceType.IDENTIFIER, found
    return _code(found, at, measures)


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


def _code(found: str, at: int, measures: frozenset[str]) -> tuple[int, PieceType, str] | None:
    found = found.rstrip("-:.")
    digit, letter = _HAS_DIGIT.search(found), _HAS_LETTER.search(found)
    if not letter:
        return None
    end = at + len(found)
    if _MADE.search(found):
        return end, PieceType.IDENTIFIER, found
    if not digit:
        return None
    if _SCIENTIFIC.match(found):
        return None
    if found in _NAMES:
        return end, PieceType.IDENTIFIER, found
    if _HEXADECIMAL.match(found):
        return end, PieceType.IDENTIFIER, found.lower()
    if _SPAN.match(found):
        return None
    if found[0].isdigit() and _MEASURE.match(found):
        tail = found.lstrip("0123456789.,:")
        head = tail.partition("-")[0]
        if head in measures or not head:
            return None
    return end, PieceType.IDENTIFIER, _JOIN.sub("", found).lower()
