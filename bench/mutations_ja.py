"""Edits of Japanese sentences that change what they say (`bench.mutations`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_NUMBER = re.compile(r"(?<![\w.])[1-9][0-9]?(?![\w.])")


def _other_number(text: str) -> Iterable[str]:
    for match in _NUMBER.finditer(text):
        yield text[: match.start()] + str(int(match.group()) + 1) + text[match.end() :]


KINDS: dict[str, Callable[[str], Iterable[str]]] = {
    "number": _other_number,
}
