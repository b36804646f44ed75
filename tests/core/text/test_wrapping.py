"""What is only wrapped around a statement, and what merely looks like it."""

from __future__ import annotations

import pytest

from totonoe_core.text.reading.read import read
from totonoe_core.text.reading.wrapping import _wrappers, inner


@pytest.mark.parametrize(
    "before",
    [
        "Note: ",
        "**Decision:** ",
        "[preference] ",
        "[note][reminder] ",
        "(from the meeting) ",
        "## Lessons learned\n",
        "User preferences\n- ",
        "FYI ",
        "Quick heads-up: ",
        "Reminder to self - ",
        "Just so you know, ",
        "As we discussed yesterday, ",
        "Please keep in mind that ",
        "I have learned that ",
        "Hi everyone, quick update: ",
        "Observation #12: ",
        "It should be noted that ",
        "One more thing: ",
        "\u26a0\ufe0f Important: ",
        "> ",
    ],
)
def test_inner_without_what_stands_before(before: str) -> None:
    statement = "the lid opens at noon"
    start, end = inner(before + statement, "en")
    assert (before + statement)[start:end] == statement


@pytest.mark.parametrize(
    "after",
    [
        ", as agreed before",
        " (worth remembering).",
        ", just so you know",
        ". Thanks in advance!",
        ". Kind regards",
        " #note",
        " #lid #noon",
        ", because that's how it is",
    ],
)
def test_inner_without_what_stands_after(after: str) -> None:
    statement = "the lid opens at noon"
    start, end = inner(statement + after, "en")
    assert (statement + after)[start:end].rstrip(".") == statement


def test_inner_of_tags_is_what_they_enclose() -> None:
    text = "<memory>The lid opens at noon</memory>"
    assert text[slice(*inner(text, "en"))] == "The lid opens at noon"


@pytest.mark.parametrize(
    "text",
    [
        "Port: 8080",
        "Staging: the lid opens at noon",
        "Ann: the lid opens at noon",
        "[staging] the lid opens at noon",
        "the lid opens at noon #staging",
        "Health: 80 %",
        "Network: 10.0.0.0/8",
        "Notes that fell off the wall",
        "notes.txt is empty",
        "Rules are rules",
        "Information security matters most",
        "## Berlin\nthe lid opens at noon",
        "note",
        "Thanks",
        "",
        "   ",
    ],
)
def test_inner_keeps_what_says_something(text: str) -> None:
    assert text[slice(*inner(text, "en"))].strip() == text.strip()


def test_inner_language_without_lists_keeps_all() -> None:
    assert inner("Note: x", "xx") == (0, 7)
    assert inner("Note: x", "") == (0, 7)


@pytest.mark.parametrize("unit", ["note ", "note: ", "(note", "#", "\u26a0", "[", " ", "thanks "])
def test_inner_long_text_is_cut_within_bounds(unit: str) -> None:
    text = (unit * 32_768)[:32_768]
    start, end = inner(text, "en")
    assert 0 <= start <= end <= len(text)


def test_read_offsets_are_those_of_the_whole_text() -> None:
    text = "Note: the lid opens, as mentioned before"
    assert [text[piece.start : piece.end] for piece in read(text, "en").pieces] == ["lid", "opens"]


def test_function_words_behind_a_wrapper_keep_their_places() -> None:
    text = "FYI: the alarm hangs on the wall while the pump runs."
    found = {word.key: text[word.start : word.end] for word in read(text, "en").function_words}
    assert found == {"on": "on", "while": "while"}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "note: quick decision: the lid opens, as mentioned before"),
        ("en", "Reminder 12 - the lid opens. Thanks!"),
        ("ja", "メモ：猫が好きです、以上"),
        ("ja", "決定事項。ポートは5433です。よろしくお願いします。"),
        ("zh", "备注：端口是5433，谢谢！"),
        ("zh", "记住，他喜欢咖啡。"),
    ],
)
def test_patterns_for_texts_without_mark_or_bracket_are_those_for_all(
    language: str, text: str
) -> None:
    found = _wrappers(language)
    assert found is not None
    text = text.lower()
    for few, all_of_them in (
        (found.label.match(text), found.marked_label.match(text)),
        (found.closing.search(text), found.bracketed_closing.search(text)),
    ):
        assert (few and few.span()) == (all_of_them and all_of_them.span())
