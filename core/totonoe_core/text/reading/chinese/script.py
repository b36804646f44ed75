"""Script and width of a Chinese text: simplified, half width; one code point for one.

Which characters another is written for is looked up once on a machine: a text that has none of
them, as most have, needs no opencc.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from totonoe_core.base.once import once
from totonoe_core.base.prepared import mapped


def simplify(text: str) -> str:
    """Simplified script, half width; one code point for one."""
    narrow = "".join(_narrow(c) if c > "\u007f" else c for c in text)
    if _traditional().isdisjoint(narrow):
        return narrow
    # Phrases decide some characters (乾隆 keeps its 乾), so the whole text is tried first.
    whole = _converter().convert(narrow)
    return whole if len(whole) == len(narrow) else narrow.translate(_traditional_table())


def simplified_shapes(text: str) -> str:
    """Simplify each character by itself, whatever stands around it; for nomination only.

    `simplify` looks at words, so that one character may come out in two ways.
    """
    return text.translate(_traditional_table())


@lru_cache(maxsize=65536)
def _narrow(character: str) -> str:
    if "\ue000" <= character <= "\uf8ff":
        return "\u3000"
    form = unicodedata.normalize("NFKC", character)
    return form if len(form) == 1 else character


@cache
def _converter() -> Any:
    import opencc

    try:
        return opencc.OpenCC("t2s")
    except RuntimeError:
        # It does not say why it could not read its files: where no file can be opened, this does.
        with Path(opencc.__file__).open("rb"):
            raise


@once
def _traditional_table() -> dict[int, str]:
    pairs = str(mapped(f"simplified-zh-{version('opencc')}", _pairs), "utf-8")
    return dict(zip(map(ord, pairs[::2]), pairs[1::2], strict=True))


def _pairs() -> bytes:
    """Return each character that has a simplified shape, that shape behind it."""
    characters = list(map(chr, (*range(0x3400, 0xA000), *range(0xF900, 0xFB00))))
    # All at once, a tenth of the time: no phrase spans lines, so each is converted by itself.
    alone = _converter().convert("\n".join(characters)).split("\n")
    return "".join(
        character + simplified
        for character, simplified in zip(characters, alone, strict=True)
        if simplified != character and len(simplified) == 1
    ).encode()


@cache
def _traditional() -> frozenset[str]:
    return frozenset(map(chr, _traditional_table()))
