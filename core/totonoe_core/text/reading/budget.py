"""How much one decision may read, counted in pieces before anything is read.

A piece of the count is a word, a sign, or one character of a script without spaces; a figure is
two. The count depends on the texts alone: not on the load, the caches or what others do.
"""

from __future__ import annotations

import re
from itertools import islice

from totonoe_core.base import limits
from totonoe_core.base.kept import kept
from totonoe_core.text.normalize import HAN_KANA

_HANGUL = "\u1100-\u11ff\uac00-\ud7af"
_FIGURES = "²³¹¼½¾\u2070-\u2189\u2460-\u24ff\u2776-\u2793"
# A long word counts as several, for it may be taken apart. A figure counts twice, once as the
# empty string before it: whether it is a date, a time, a quantity or a code takes longest to tell.
_PIECE = re.compile(
    rf"[{HAN_KANA}{_FIGURES}]|[{_HANGUL}]{{1,4}}|[^\W\d_{HAN_KANA}{_HANGUL}{_FIGURES}]{{1,12}}"
    r"|(?<!\d)(?=\d)|\d{1,16}|[^\w\s]|_"
)
_COUNTS_KEPT_CHARS = 600_000
_COMPARED_PER_READ = 4
"""To split a stretch into sentences and to align its pieces costs a quarter of reading it."""


@kept(_COUNTS_KEPT_CHARS)
def pieces_in(text: str) -> int:
    """Return how many pieces a text has."""
    return len(_PIECE.findall(text))


def end_of_pieces(text: str, count: int) -> int:
    """Return the offset in code points behind the first `count` pieces of a text, or its length."""
    found = next(islice(_PIECE.finditer(text), count, None), None)
    return len(text) if found is None else found.start()


def _to_compare(pieces: int) -> int:
    """Return the price of comparing texts of so many pieces, rounded up."""
    return -(-pieces // _COMPARED_PER_READ)


class ReadingBudget:
    """Pieces that may still be read. For one thread.

    Parameters
    ----------
    pieces : int
        Pieces that this budget allows.
    within : ReadingBudget, optional
        The budget of the whole operation, which pays too.
    """

    def __init__(
        self, pieces: int = limits.READ_PIECES_MAX, within: ReadingBudget | None = None
    ) -> None:
        self._left = pieces
        self._within = within
        self._counts: dict[str, int] = {} if within is None else within._counts
        self._read: set[str] = set() if within is None else within._read

    def compare(self, own: str, other: str) -> bool:
        """Pay for comparing the sentences and pieces of two texts; False: too little is left."""
        return self._pay(_to_compare(self._pieces(own) + self._pieces(other)))

    def covers(self, own: str, other: str) -> bool:
        """Return whether it surely suffices to compare and read two texts, or any parts of them."""
        pieces = self._pieces(own) + self._pieces(other)
        return self._can_pay(pieces + _to_compare(pieces))

    def read(self, *texts: str) -> bool:
        """Pay for reading texts, each once; False: too little is left for all, none is paid."""
        new = {text for text in texts if text not in self._read}
        if not self._pay(sum(map(self._pieces, new))):
            return False
        self._read |= new
        return True

    def _pieces(self, text: str) -> int:
        count = self._counts.get(text)
        if count is None:
            count = self._counts[text] = pieces_in(text)
        return count

    def _pay(self, pieces: int) -> bool:
        if not self._can_pay(pieces):
            return False
        budget: ReadingBudget | None = self
        while budget is not None:
            budget._left -= pieces
            budget = budget._within
        return True

    def _can_pay(self, pieces: int) -> bool:
        within = self._within
        return pieces <= self._left and (within is None or within._can_pay(pieces))
