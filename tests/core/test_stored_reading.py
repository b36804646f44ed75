"""What one daemon read from a text serves another one, and nothing else does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from totonoe_core.domain.policy import Tokenizer
from totonoe_core.index import recipe, stored_reading
from totonoe_core.index.collection_index import Features

VECTOR = np.ones(3, np.float32)
TEXTS = (
    "the heating is set to 21 degrees",
    "",
    "!",
    "\u6696\u623f\u8bbe\u4e3a21\u5ea6",
    "a" * 4_001,
)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that were read since."""
    found: list[str] = []
    of = Features.of

    def noted(content: str, *told: Any) -> Features:
        found.append(content)
        return of(content, *told)

    monkeypatch.setattr(Features, "of", noted)
    monkeypatch.setattr(stored_reading, "_begun", stored_reading._begun.__wrapped__)
    return found


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("tokenizer", Tokenizer)
def test_stored_reading_gives_the_features_without_reading_the_text(
    reads: list[str], text: str, tokenizer: Tokenizer
) -> None:
    expected = Features.of(text, VECTOR, tokenizer)
    stored = stored_reading.packed(text, expected, tokenizer)
    reads.clear()
    found = stored_reading.features_of(text, VECTOR, tokenizer, stored)
    assert not reads
    assert found.canonical == expected.canonical
    assert found.tokens.dtype == expected.tokens.dtype
    np.testing.assert_array_equal(found.tokens, expected.tokens)
    assert found.vector is VECTOR


def test_reading_of_another_text_tokenizer_or_recipe_and_damaged_ones_are_not_used(
    reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, tokenizer = TEXTS[0], Tokenizer.SCRIPT_AWARE
    stored = stored_reading.packed(text, Features.of(text, VECTOR, tokenizer), tokenizer)
    bad = [stored[:cut] for cut in range(len(stored))]
    bad += [stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :] for at in range(len(stored))]
    reads.clear()
    for found in bad:
        stored_reading.features_of(text, VECTOR, tokenizer, found)
    stored_reading.features_of(TEXTS[1], VECTOR, tokenizer, stored)
    stored_reading.features_of(text, VECTOR, Tokenizer.WHITESPACE, stored)
    monkeypatch.setattr(recipe, "RECIPE", recipe.RECIPE + 1)
    stored_reading.features_of(text, VECTOR, tokenizer, stored)
    assert len(reads) == len(bad) + 3
