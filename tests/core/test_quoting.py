"""What evidence quotes: never the same words on both sides of a difference."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from totonoe_core.base import limits
from totonoe_core.domain.calibration import SHIPPED
from totonoe_core.domain.records import Evidence, Finding
from totonoe_core.guard.probe import probe_pairs
from totonoe_core.guard.verdict import compare
from totonoe_core.text.normalize import snippet

WEIGHTS = SHIPPED[0].weights
SAME = {Finding.SAME_TEXT, Finding.SAME_WORDS, Finding.SAME_CONTENT}


def evidence(own: str, other: str) -> tuple[Evidence, ...]:
    return compare(own, other, 0.9, WEIGHTS).judgement.evidence


def said(own: str, other: str) -> list[tuple[str, str, str]]:
    return [(str(line.finding), line.own_text, line.other_text) for line in evidence(own, other)]


def says_nothing(found: tuple[Evidence, ...]) -> list[Evidence]:
    """Evidence that quotes the same on both sides of a difference."""
    added = {line.own_text for line in found if line.finding is Finding.ADDED}
    return [
        line
        for line in found
        if (line.own_text and line.own_text == line.other_text and line.finding not in SAME)
        or (line.finding is Finding.MISSING and line.other_text in added)
    ]


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (
            "On call primary: Tom, before: Priya",
            "On call primary: Priya, before: Tom",
            ("order", "primary: Tom, before: Priya", "primary: Priya, before: Tom"),
        ),
        (
            "値は王、前任はトム。担当はプリヤ、前任はトム。",
            "値は王、前任はトム。担当はトム、前任はプリヤ。",
            ("order", "担当はプリヤ、前任はトム", "担当はトム、前任はプリヤ"),
        ),
        (
            "值班是王芳，之前是李明。",
            "值班是李明，之前是王芳。",
            ("order", "值班是王芳，之前是李明", "值班是李明，之前是王芳"),
        ),
        (
            "ShippingService publishes to the topic orders.v2; OrderService consumes it.",
            "OrderService publishes to the topic orders.v2; ShippingService consumes it.",
            ("order", "OrderService", "ShippingService"),
        ),
        (
            "小李负责支付模块，小王负责登录模块。",
            "小王负责支付模块，小李负责登录模块。",
            ("order", "小李负责支付模块，小王", "小王负责支付模块，小李"),
        ),
        ("用户喜欢喝咖啡。", "用户不喜欢喝咖啡。", ("polarity", "喜欢", "不喜欢")),
        (
            "ユーザーはコーヒーが好きだ。",
            "ユーザーはコーヒーが好きではない。",
            ("polarity", "好きだ", "好きではない"),
        ),
        (
            "Every user can deploy",
            "No user can deploy",
            ("polarity", "Every user can deploy", "No user can deploy"),
        ),
        (
            "Driver is written in C",
            "Driver is written in C++",
            ("symbol", "", "in C++"),
        ),
        (
            "Use a -> b",
            "Use a <- b",
            ("symbol", "a -> b", "a <- b"),
        ),
        (
            "Migrate from MySQL to Postgres",
            "Migrate from Postgres to MySQL",
            ("opposite", "from MySQL", "to MySQL"),
        ),
    ],
)
def test_difference_of_equal_words_quotes_what_stands_beside_them(
    own: str, other: str, expected: tuple[str, str, str]
) -> None:
    assert expected in said(own, other)
    finding, here, there = expected
    assert (finding, there, here) in said(other, own)


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (
            "The price is 1.22",
            "Go 1.22 is the price",
            [("replaced", "price is 1.22", "Go 1.22")],
        ),
        (
            "连接默认加密传输。",
            "连接默认明文传输。",
            [("replaced", "加密传输", "传输"), ("missing", "", "明文")],
        ),
    ],
)
def test_words_that_were_read_otherwise_are_not_added_and_missing_alike(
    own: str, other: str, expected: list[tuple[str, str, str]]
) -> None:
    assert said(own, other) == expected
    turned = {"added": "missing", "missing": "added"}
    assert said(other, own) == [(turned.get(a, a), there, here) for a, here, there in expected]


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (
            "We are closed during Christmas",
            "We are closed over Christmas",
            [("function_word", "during Christmas", "over Christmas")],
        ),
        ("Ann manages Bob", "Bob manages Ann", [("role", "Ann manages Bob", "Bob manages Ann")]),
        (
            "The endpoint requires authentication",
            "The endpoint works without authentication",
            [
                ("replaced", "requires", "works"),
                ("polarity", "authentication", "without authentication"),
            ],
        ),
    ],
)
def test_words_are_quoted_under_one_finding_only(
    own: str, other: str, expected: list[tuple[str, str, str]]
) -> None:
    assert said(own, other) == expected


@pytest.mark.parametrize(
    ("own", "other", "place", "mirrored"),
    [
        ("Staging listens on port 5434.", "Staging listens on Port 5433.", "Port", "port"),
        ("port: 5434", "Port: 5433", "Port", "port"),
        ("On call primary: Tom", "On call primary: Priya", "primary", "primary"),
        ("Deploy needs 3 approvals", "Deploy needs 2 approvals", "approvals", "approvals"),
        ("max_retries = 5", "max_retries = 3", "max_retries", "max_retries"),
        ("The cache is enabled", "The cache is disabled", "cache", "cache"),
        ("Tom likes tea", "Tom likes coffee", "Tom likes", "Tom likes"),
        ("ポートは5434。", "ポートは5433。", "ポート", "ポート"),
        ("端口是5434。", "端口是5433。", "端口", "端口"),
        ("用户有两个孩子。", "用户有三个孩子。", "孩子", "孩子"),
        # What stands before a comma or a value names nothing.
        ("On Monday 10:00, Tom", "On Monday 11:00, Tom", "", ""),
        ("Tom, Priya", "Tom, Ann", "", ""),
    ],
)
def test_difference_has_the_words_of_the_memory_that_name_its_place(
    own: str, other: str, place: str, mirrored: str
) -> None:
    assert evidence(own, other)[0].place == place
    assert evidence(other, own)[0].place == mirrored


def in_both_lists(found: tuple[Evidence, ...]) -> list[tuple[str, str]]:
    """Words that are shown as added, and others as missing, of which one is a part of the other."""
    added = [set(words(line.own_text)) for line in found if line.finding is Finding.ADDED]
    missing = [set(words(line.other_text)) for line in found if line.finding is Finding.MISSING]
    return [(str(a), str(m)) for a in added for m in missing if a and m and (a <= m or m <= a)]


def words(text: str) -> list[str]:
    """Words of a script with spaces; of another one the whole text."""
    return [word.strip(",.;:!?、。") for word in text.casefold().split()]


@pytest.fixture(scope="module")
def probe_evidence() -> list[tuple[Evidence, ...]]:
    return [evidence(pair.b, pair.a) for pair in probe_pairs()]


def test_evidence_of_probe_pairs_shows_differences_and_no_words_twice(
    probe_evidence: list[tuple[Evidence, ...]],
) -> None:
    places = 0
    for found in probe_evidence:
        assert not says_nothing(found), found
        assert not in_both_lists(found), found
        spans = [(line.own, line.other) for line in found]
        assert len(set(spans)) == len(spans), found
        assert all(not line.place or (line.own_text and line.other_text) for line in found)
        places += sum(bool(line.place) for line in found)
    assert places > 500


WORDS = "Tom Priya port 8080 1.22 Go is not no before after to from primary "
WORDS += "不 喜欢 咖啡 前任 は が ない 好き"
TEXTS = st.lists(
    st.sampled_from([*WORDS.split(), ", ", ". ", "\n", "?", "x" * 70]), min_size=1
).map(" ".join)


@settings(max_examples=150, deadline=None)
@example(own=",  " + "x" * 70, other="x" * 70 + " not")
@given(own=TEXTS, other=TEXTS)
def test_evidence_of_any_two_texts_shows_a_difference_and_where_it_stands(
    own: str, other: str
) -> None:
    found = evidence(own, other)
    assert not says_nothing(found)
    assert not in_both_lists(found)
    for line in found:
        for (start, end), text, whole in (
            (line.own, line.own_text, own),
            (line.other, line.other_text, other),
        ):
            assert 0 <= start <= end <= len(whole)
            assert len(text) <= limits.EVIDENCE_CHARS
            here = snippet(whole[start:end], limits.EVIDENCE_CHARS)
            # Where the difference is far off, the span is all that was read of the text.
            assert text == here or text in " ".join(whole.split())


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (
            "Staging listens on port 5433.\n- likes tea\n- reports to Tom",
            "Staging listens on port 5434.\n- likes tea\n- reports to Tom",
        ),
        (
            "ポートは5433。\n・紅茶が好き\n・上司はトム",
            "ポートは5433。\n・紅茶が好き\n・上司はプリヤ",
        ),
        ("端口是5433。\n喜欢喝茶\n上司是王芳", "端口是5433。\n不喜欢喝茶\n上司是王芳"),
    ],
)
def test_line_ends_of_another_system_change_no_verdict(own: str, other: str) -> None:
    expected = compare(own, other, 0.9, WEIGHTS).judgement
    windows = own.replace("\n", "\r\n"), other.replace("\n", "\r\n")
    for text, two in ((windows[0], other), (own, windows[1]), windows):
        found = compare(text, two, 0.9, WEIGHTS).judgement
        assert found.verdict is expected.verdict
        assert said(text, two) == said(own, other)
