"""Results for texts are kept within a number of characters, and all go at a purge."""

from __future__ import annotations

from totonoe_core.base.kept import Kept, kept


def counting(chars_max: int) -> tuple[Kept[[str, str], str], list[str]]:
    asked: list[str] = []

    @kept(chars_max)
    def doubled(text: str, language: str) -> str:
        """Say it twice."""
        asked.append(text)
        return language + text + text

    return doubled, asked


def test_result_is_computed_once_and_cleared() -> None:
    doubled, asked = counting(10_000)
    assert [doubled("a", "en"), doubled("a", "en"), doubled("a", "ja")] == ["enaa", "enaa", "jaaa"]
    assert asked == ["a", "a"]
    assert doubled.__name__ == "doubled" and doubled.count == 2
    doubled.cache_clear()
    assert doubled.count == 0
    assert doubled("a", "en") == "enaa"
    assert asked == ["a", "a", "a"]


def test_characters_bound_what_is_kept_whatever_the_length_of_a_text() -> None:
    for length in (1, 100, 2_000):
        doubled, _ = counting(20_000)
        for at in range(1_000):
            doubled(f"{at:04}" + "x" * length, "en")
        assert 0 < doubled.count * (length + 4) <= 20_000
    doubled, asked = counting(20_000)
    doubled("y" * 11_000, "en")
    assert doubled.count == 0, "one text would take more than half"
    assert doubled("y" * 11_000, "en").startswith("eny")
    assert len(asked) == 2


def test_result_that_is_used_again_outlives_the_others() -> None:
    doubled, asked = counting(4_000)
    for at in range(200):
        doubled("again", "en")
        doubled(f"once {at}", "en")
    assert asked.count("again") == 1
    assert asked.count("once 0") == 1
    doubled("once 0", "en")
    assert asked.count("once 0") == 2, "it was dropped"
