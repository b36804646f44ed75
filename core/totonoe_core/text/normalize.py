"""Normal forms of a text: one that decides refusals, one that only strips format noise.

`refusing_form` decides layer 1 of the guard: NFC and white space, nothing else, so two texts with
one refusing hash are the same text. `canonical_form` goes further but stays strict: it removes
format (width, sentence punctuation, articles, the capital at the start of a sentence, the mark of a
list item) and keeps everything that may be content (symbols, signs, order, case in identifiers). A
mark with two possible readings is kept: a missed equality costs one comparison, a false one a
memory.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from itertools import groupby

HAN_KANA = "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
HAN_KANA += "\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
"""Inside of a character class: scripts without spaces, in which white space is layout."""

# Full-width ASCII, half-width kana and half-width Hangul, full-width currency. NFKC is applied
# to these alone: elsewhere it turns ² into 2 and ① into 1, which are differences.
_WIDTH = re.compile("[\uff01-\uff9f\uffa1-\uffdc\uffe0-\uffe6]+")
# Zero-width space, word joiner, byte order mark, soft hyphen. The joiners U+200C and U+200D
# stay: Persian, Hindi and emoji sequences are spelled with them.
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")

# Invisible characters: white space and control characters, Unicode's default ignorable characters
# (zero width, joiners, marks of direction, variation selectors, tags, Hangul fillers, byte order
# mark), marks of annotation, and the braille pattern without a dot. NUL is refused by its name.
_SHOWS = re.compile(
    "[^\\s\x01-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

_NUMERALS = "〇零一二三四五六七八九十百千万億亿兆"
# Sentence marks after a CJK character; between two numerals (三、四 / 三四) they are content.
_CJK_MARK = re.compile(
    f"(?<=[{HAN_KANA}])(?<![{_NUMERALS}](?=[.,、]+[{_NUMERALS}]))"
    r"(?:[,;:!…。、]|\.(?!\w))+"
    "|[。]+"
)
_PIECE = re.compile(rf"[{HAN_KANA}]+|[^\s{HAN_KANA}]+")
_CJK = re.compile(f"[{HAN_KANA}]")
_CJK_SPACE = re.compile(f"(?<=[{HAN_KANA}]) | (?=[{HAN_KANA}])")

_OPENERS = "([{（「『《〈【〔“‘«‹„‚\"'`"
_CLOSERS = ")]}）」』》〉】〕”’»›“‘\"'`"
_PARTNER = {")": "(", "]": "[", "}": "{"}
_END_MARKS = ".,;:!…。、?"
_TRAILING = frozenset(_CLOSERS + _END_MARKS)
# The mark of a list item that was taken out of its list; before a digit it is a minus.
_BULLET = re.compile(r"\s*[-*•]\s+(?=[^\W\d])")
# Empty literals have a meaning: "returns []" is not "returns {}".
_EMPTY_LITERAL = re.compile(r"""(\(\)|\[\]|\{\}|""|''|``)[.,;:!]*\Z""")
# A mark that is spoken of: the separator is ';', names stand in `.
_MARK_SPOKEN_OF = re.compile(
    r"""[(\[]?["'`“‘„«]([^\w\s]{1,8}?)["'`”’“»][.,;:!)\]]*\Z|(["'`])[.,;:!]?\Z"""
)
# "No, restarts are needed" answers; "No restarts are needed" denies.
_ANSWERS = frozenset({"no,", "no;", "no:"})
_WORD_LIST = re.compile(r"[^\W\d_]+(?:[,;…][^\W\d_]+)+\Z")  # "red,green"
_LIST_MARK = re.compile("[,;…]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*\??\Z")

_ARTICLES = frozenset({"a", "an", "the"})
# "few came" and "a few came" say the opposite.
_ARTICLE_MATTERS = frozenset({"few", "little"})


def shows_nothing(text: str) -> bool:
    """Return whether a text has no visible character."""
    return _SHOWS.search(text) is None


# Marks are no letters. Sorting a run of them costs the square of its length in `unicodedata`.
_MARKS = re.compile(r"[^\w\s]{32,}")


def nfc(text: str) -> str:
    """Return Unicode normal form C, in a time that is linear but for long runs of marks.

    `unicodedata` sorts the marks of one letter by insertion: 32 KiB of them in an unlucky order
    take 0.2 s. Marks in their canonical order, which is a stable sort, take it 1 ms.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _MARKS.sub(_in_order, text))


def _in_order(run: re.Match[str]) -> str:
    """Decompose characters that are no letters, and sort their marks into canonical order."""
    parts = "".join(unicodedata.normalize("NFD", character) for character in run.group())
    # `sorted` is stable, so that characters other than marks stay in place.
    runs = groupby(parts, lambda character: unicodedata.combining(character) > 0)
    return "".join("".join(sorted(marks, key=unicodedata.combining)) for _, marks in runs)


def fold_space(text: str) -> str:
    """Trim the ends and make every run of Unicode white space one space."""
    return " ".join(text.split())


def fold_width(text: str) -> str:
    """Return NFC, with full-width ASCII and half-width kana in normal width.

    Other compatibility characters (², ½, ①, ㎏) stay as they are.
    """
    if text.isascii():
        return text
    if _WIDTH.search(text):
        text = _WIDTH.sub(lambda run: unicodedata.normalize("NFKC", run.group()), text)
    return nfc(text)


def refusing_form(text: str) -> str:
    """Return NFC, ends trimmed, runs of white space as one space; case and all else kept."""
    return fold_space(nfc(text))


def refusing_hash(text: str) -> bytes:
    """Return 16-byte BLAKE2b of the refusing form in UTF-8."""
    return blake2b(refusing_form(text).encode(), digest_size=16).digest()


def _strip(piece: str) -> str:
    """Take sentence punctuation off both ends of a piece without white space; keep a final ?."""
    start, end = 0, len(piece)
    while start < end and piece[start] in _OPENERS:
        start += 1
    body = piece[start:]
    # Number of closing brackets of each kind without a partner inside the piece.
    surplus = {mark: body.count(mark) - body.count(_PARTNER[mark]) for mark in _PARTNER}
    asks = False
    while end > start and (mark := piece[end - 1]) in _TRAILING:
        if mark in surplus:
            if surplus[mark] <= 0:
                break  # foo() and x[0] keep their brackets
            surplus[mark] -= 1
        lengths = mark in "'\"" and end - start > 1 and piece[end - 2].isdigit()
        if lengths and mark not in piece[:start]:
            break  # 5' and 6" are lengths
        asks = asks or mark == "?"
        end -= 1
    return piece[start:end] + ("?" if asks else "")


def _fold_case(word: str, shouted: bool) -> str:
    """Lower-case a plain word, unless its capitals are part of its spelling.

    `lower` and not `casefold`: the latter makes Maße and Masse one word.
    """
    if word.islower():
        return word
    if shouted or word == "I":
        return word.lower()
    if word.isupper() or not word[1:].islower():
        return word  # NASA, vitamin C, camelCase
    return word.lower()


def _is_article(words: list[str], starts: list[bool], position: int, shouted: bool) -> bool:
    """Return whether a, an or the stands before a word (unlike "Rev A", "x = a + b", "a few")."""
    word = words[position]
    if word.lower() not in _ARTICLES or position + 1 == len(words):
        return False
    opens_sentence = starts[position] and not word[1:].isupper()
    if not (word.islower() or shouted or opens_sentence):
        return False
    after = words[position + 1]
    if not after[0].isalnum() or after.lower() in _ARTICLE_MATTERS:
        return False
    # A single letter after "a" is algebra or a list, not a noun.
    return len(after) > 1 or len(word) > 1 or _CJK.match(after) is not None


def canonical_form(text: str) -> str:
    """Return the form in which only noise of format is removed.

    Two texts with one canonical form say the same up to width, white space, sentence
    punctuation, articles and the case of plain words. Kept: word order, `?`, all symbols, signs,
    characters such as ² ½ ①, and case in identifiers, paths, versions, acronyms (words in
    capitals, unless the whole text is) and words with inner capitals.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        Pieces joined by one space, by none next to a Chinese or Japanese character; empty for
        a text of nothing but punctuation.
    """
    text = fold_width(text)
    if not text.isascii():
        text = _INVISIBLE.sub("", text).replace("’", "'")
        text = _CJK_MARK.sub(" ", text)
    if bullet := _BULLET.match(text):
        text = text[bullet.end() :]
    # PATH between Chinese or Japanese words is a name: they have no capitals to shout with.
    shouted = text.upper() == text and _CJK.search(text) is None
    words: list[str] = []
    starts: list[bool] = []  # whether the word opens a sentence
    pieces = text.split() if text.isascii() else _PIECE.findall(text)
    at_start = True
    for number, piece in enumerate(pieces):
        if piece.isalpha():
            words.append(piece)
            starts.append(at_start)
            at_start = False
            continue
        if _stands_alone(pieces, number):
            word = piece
        elif _EMPTY_LITERAL.match(piece):
            word = piece[:2]
        elif len(pieces) > 1 and (mark := _MARK_SPOKEN_OF.match(piece)):
            word = mark[1] or mark[2]
        elif at_start and piece.lower() in _ANSWERS:
            word = "no,"
        else:
            word = _strip(piece)
        if word == "?" and words:
            words[-1] = words[-1].removesuffix("?") + "?"  # French sets a space before it
        elif word:
            for part in _LIST_MARK.split(word) if _WORD_LIST.match(word) else (word,):
                words.append(part)
                starts.append(at_start)
                at_start = False
        at_start = at_start or piece[-1] in ".!?:…"
    kept = [
        _fold_case(word, shouted) if word.isalpha() or _WORD.match(word) else word
        for position, word in enumerate(words)
        if not _is_article(words, starts, position, shouted)
    ]
    joined = " ".join(kept)
    return joined if joined.isascii() else _CJK_SPACE.sub("", joined)


def _stands_alone(pieces: list[str], number: int) -> bool:
    """Return whether a piece of marks alone is content: a directory, a negation, 三、四."""
    piece = pieces[number]
    if piece in (".", ".."):
        return True
    if number + 1 == len(pieces):
        return False
    if piece == "!":
        return True  # "! grep -q x"
    return (
        piece in (",", "、")
        and number > 0
        and pieces[number - 1][-1] in _NUMERALS
        and pieces[number + 1][0] in _NUMERALS
    )


def canonical_hash(text: str) -> int:
    """Return unsigned 64-bit BLAKE2b of the canonical form, never 0 (0 marks "none" in arrays)."""
    digest = blake2b(canonical_form(text).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def snippet(text: str, limit: int) -> str:
    """Return one line of at most `limit` code points, ending in an ellipsis if the text was cut.

    Parameters
    ----------
    text : str
        Any text; white space is folded.
    limit : int
        Code points including the ellipsis, at least 1.
    """
    line = fold_space(text)
    if len(line) <= limit:
        return line
    return line[: limit - 1].rstrip() + "…"
