"""Load the word lists of a reader on a thread of its own, as soon as a text needs that reader.

Those of Japanese and Chinese take 0.1 to 0.4 s of CPU and up to 65 MB, and the first process on a
machine that meets another one unpacks its list for up to a second: too much for a daemon that never
meets the language, too long for the writer, on which the texts are compared.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from totonoe_core.base import heap
from totonoe_core.text.reading.language import languages
from totonoe_core.text.reading.read import read

WARM_TEXTS = {
    "ja": "猫が好きです。",
    "zh": "每周一开会。",
    "de": "Die Katze schläft.",
    "fr": "Le chat dort.",
    "es": "El gato duerme.",
    "pt": "O gato dorme.",
    "it": "Il gatto dorme.",
    "ru": "Кошка спит.",
}
_begun: dict[str, threading.Thread] = {}
"""One thread for each language at most."""
_lock = threading.Lock()


def begin_for(text: str) -> threading.Thread | None:
    """Begin to load what a text is read with; return who loads it.

    Returns at once. `None` if its language has no such lists, or if that was begun before. A
    load that fails is begun again by the next text; without it the first comparison loads.
    """
    found = languages(text)
    language = found[0] if found else ""
    if language in _begun or language not in WARM_TEXTS:
        return None
    with _lock:
        if language in _begun:
            return None
        name = f"words {language}"
        thread = threading.Thread(target=_load, args=(language,), name=name, daemon=True)
        _begun[language] = thread
    try:
        thread.start()
    except RuntimeError:  # the system gives no thread: the comparison loads
        _begun.pop(language, None)
        return None
    return thread


def prepare_all() -> None:
    """Make the files that the readers' word lists are mapped from, where the cache lacks them."""
    for language, text in WARM_TEXTS.items():
        read(text, language)


def _load(language: str) -> None:
    try:
        read(WARM_TEXTS[language], language)
        heap.unmap(".so", ".dic")
        heap.trim()
    except Exception:
        # Where this matters, the comparison meets it again, and says it to its caller.
        with suppress(KeyError):
            del _begun[language]
