"""Quotations: where one ends, and its text in the form in which it is compared."""

from __future__ import annotations

_CLOSING = {
    "「": "」", "『": "』", "《": "》", "〈": "〉", "“": "”", "„": "“”", "«": "»", "‹": "›",
    "‘": "’", '"': '"', "'": "'", "`": "`",
}  # fmt: skip
OPENINGS = frozenset(_CLOSING)
_LENGTH_MAX = 400
_TRIES_MAX = 8
# "said," and "said": the sentence's own marks go inside in American English.
_MARKS = " ,.;:，。、；："


def quote_at(text: str, at: int) -> tuple[int, str] | None:
    """Quotation that opens at a place: (end, inner text with single spaces), None if it is none.

    An apostrophe opens one only before a character, and closes it only before no letter:
    'x' quotes, "the servers' owners' list" does not.
    """
    opening = text[at]
    if text.startswith("```", at):
        return None
    for closing in _CLOSING[opening]:
        end = text.find(closing, at + 1, at + _LENGTH_MAX)
        for _ in range(_TRIES_MAX):
            if opening not in "'‘" or end < 0 or not text[end + 1 : end + 2].isalnum():
                break
            end = text.find(closing, end + 1, at + _LENGTH_MAX)
        else:
            return None
        if end > at + 1:
            inner = text[at + 1 : end]
            if inner.strip() and (opening not in "'\"" or not inner[0].isspace()):
                return end + 1, " ".join(inner.split()).rstrip(_MARKS) or inner.strip()
    return None
