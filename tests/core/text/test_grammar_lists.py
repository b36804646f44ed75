"""The lists of `lexicon/LANG/grammar.txt` and `expressions.txt`: each is read by its reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from totonoe_core.text import lexicon
from totonoe_core.text.lexicon import Grammar

READERS = {"en": "english/*", "ja": "japanese/*", "zh": "chinese/*", "ko": "korean"}
EUROPEAN = "european/*"
FOLDER = Path(lexicon.__file__).parent
LISTS = [(path.parent.name, path.stem) for name in ("grammar", "expressions", "units")
         for path in sorted(FOLDER.glob(f"*/{name}.txt"))]  # fmt: skip


@pytest.mark.parametrize(("language", "name"), LISTS)
def test_every_list_is_read(language: str, name: str) -> None:
    modules = (FOLDER.parent / "reading").glob(f"{READERS.get(language, EUROPEAN)}.py")
    source = "".join(path.read_text(encoding="utf-8") for path in modules)
    lists = Grammar(language, name)
    assert len(LISTS) >= 5
    # The headings of the English expressions are tags, read one and all.
    if name != "units" and (language, name) != ("en", "expressions"):
        assert [heading for heading in lists.lines if f'"{heading}"' not in source] == []


def test_list_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="no such list"):
        Grammar("en").words("no such list")


def test_words_have_the_key_before_their_colon() -> None:
    lists = Grammar("en")
    assert lists.keys("prepositions")["inside"] == "in"
    assert "announce" in lists.words("reporting")
    assert Grammar("en", "expressions").pairs("P")["full of"] == "with"
