"""Which stretch of two texts is not shared, sentence by sentence.

One new sentence in a long note must not drown (DESIGN.md §6): what both texts have at their
beginning and end is set aside, and the rest is compared as if it stood alone.
"""

from __future__ import annotations

import re

from totonoe_core.text.normalize import canonical_form

# A sentence and what ends it. A full stop inside a number, version or path ends nothing.
_SENTENCE = re.compile(
    r"[^.!?。！？\n]*(?:[.!?](?!\s|\Z)[^.!?。！？\n]*)*(?:[.!?]+|[。！？]+|\n+|\Z)"
)
_SENTENCES_MAX = 2_000


def sentences(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence that is more than white space, in order.

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


def unshared(own: str, other: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """The stretch of each text between what they share at both ends.

    Sentences are the same if their canonical forms are. Empty stretches say that a text adds
    nothing to the other; so it is where all of a stretch stand in the other, in whatever order.
    """
    here, there = sentences(own), sentences(other)
    if len(here) < 2 and len(there) < 2:
        return (0, len(own)), (0, len(other))
    forms = [canonical_form(own[slice(*span)]) for span in here]
    others = [canonical_form(other[slice(*span)]) for span in there]
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
