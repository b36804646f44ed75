"""Comparison of two texts sentence by sentence, to find the stretches that they do not share.

A new sentence must count in a long note too: equal beginnings and ends are set aside, and the rest
is compared as if it stood alone.
"""

from __future__ import annotations

import re

from totonoe_core.base.kept import kept
from totonoe_core.text.normalize import canonical_form

# A sentence with its end mark. A full stop inside a number, version or path ends nothing.
_SENTENCE = re.compile(
    r"[^.!?。！？\n]*(?:[.!?](?!\s|\Z)[^.!?。！？\n]*)*(?:[.!?]+|[。！？]+|\n+|\Z)"
)
# Marks that always end a sentence.
_BOUNDARY = re.compile(r"[.!?](?=\s)|[。！？](?![。！？])|\n(?!\n)")
_REACH = 500
_SENTENCES_MAX = 2_000
_FORMS_KEPT_CHARS = 600_000
_TEXTS_KEPT_CHARS = 600_000


form_of = kept(_FORMS_KEPT_CHARS)(canonical_form)
"""`canonical_form`, cached: one text is compared with many, and is often its only sentence."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence that is more than white space, in order.

    The last one runs to the end of the text if there are more than 2,000.
    """
    found: list[tuple[int, int]] = []
    for match in _SENTENCE.finditer(text):
        if match.group().strip():
            found.append(match.span())
            if len(found) == _SENTENCES_MAX:
                found[-1] = (match.start(), len(text))
                break
    return found


def without_equal_ends(own: str, other: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the stretch of each text between the whole sentences that both begin and end with.

    Compared by the letter, without reading the middle: a long note with one new sentence costs no
    more than that sentence.
    """
    front = _last_boundary(own, equal_front(own, other))
    own_rest, other_rest = own[front:], other[front:]
    back = equal_back(own_rest, other_rest)
    match = _BOUNDARY.search(own_rest, len(own_rest) - back) if back else None
    back = len(own_rest) - match.end() if match else 0
    return (front, len(own) - back), (front, len(other) - back)


def equal_front(own: str, other: str) -> int:
    """Return the number of characters that both texts begin with."""
    low, high = 0, min(len(own), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if own[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def equal_back(own: str, other: str) -> int:
    """Return the number of characters that both texts end with."""
    low, high = 0, min(len(own), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if own[len(own) - middle : len(own) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _last_boundary(text: str, end: int) -> int:
    """Return the end of the last sentence before a place; 0 if there is none."""
    reach = _REACH
    while True:
        start = max(0, end - reach)
        found = 0
        for match in _BOUNDARY.finditer(text, start, end):
            # The match includes what follows the sentence, and must end before the place.
            if match.end() < end:
                found = match.end()
        if found or not start:
            return found
        reach *= 4


@kept(_TEXTS_KEPT_CHARS)
def _sentences_of(text: str) -> tuple[list[tuple[int, int]], list[str]]:
    """Return the sentences of a text and their canonical forms. Cached: read, never changed."""
    spans = sentences(text)
    # The one sentence of a text is as a rule the text. Many would crowd the cache of forms.
    form = form_of if len(spans) == 1 else canonical_form
    return spans, [form(text[start:end]) for start, end in spans]


def forget_cached() -> None:
    """Empty the caches, which hold texts. Called by Purge."""
    form_of.cache_clear()
    _sentences_of.cache_clear()


def unshared(own: str, other: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the stretch of each text between the shared sentences at both ends.

    Sentences are the same if their canonical forms are. An empty stretch means that a text adds
    nothing to the other; it is also empty if the other text has all its sentences, in any order.
    """
    here, forms = _sentences_of(own)
    there, others = _sentences_of(other)
    shortest = min(len(forms), len(others))
    front = 0
    while front < shortest and forms[front] == others[front]:
        front += 1
    back = 0
    while back < shortest - front and forms[-1 - back] == others[-1 - back]:
        back += 1
    own_at, other_at = _stretch(own, here, front, back), _stretch(other, there, front, back)
    forms, others = forms[front : len(forms) - back], others[front : len(others) - back]
    if 0 < len(forms) < len(others) and set(forms) <= set(others):
        own_at = own_at[0], own_at[0]
    elif 0 < len(others) < len(forms) and set(others) <= set(forms):
        other_at = other_at[0], other_at[0]
    return own_at, other_at


def _stretch(text: str, spans: list[tuple[int, int]], front: int, back: int) -> tuple[int, int]:
    if front + back >= len(spans):
        end = spans[front - 1][1] if front else 0
        return end, end
    start = spans[front][0] if front else 0
    return start, spans[len(spans) - back - 1][1] if back else len(text)
