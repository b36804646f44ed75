"""Normal forms: what they fold, and above all what they must not."""

from __future__ import annotations

import unicodedata
from hashlib import blake2b

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from totonoe_core.text.normalize import (
    canonical_form,
    canonical_hash,
    fold_width,
    refusing_form,
    refusing_hash,
    shows_nothing,
    snippet,
)

SAME_BUT_FOR_FORMAT = [
    ("The port is 8080.", "port is 8080"),
    ("The port is 8080", "  the   port is\t8080\n"),
    ("User likes coffee.", "user likes coffee!"),
    ("Use an async runtime", "use async runtime"),
    ('He said: "stop" (now).', "he said stop now"),
    ("He said “stop”", "he said 'stop'"),
    ("red, green; blue", "red green blue"),
    ("red,green", "red, green"),
    ("Don’t go", "don't go"),
    ("Why ?", "why?"),
    ("What?!", "what?"),
    ("HELLO WORLD", "hello world"),
    ("IS THE PORT OPEN TO A GUEST", "is the port open to a guest"),
    ("I like tea", "i like tea"),
    ("- restart it", "restart it"),
    ("• 重启", "重启"),
    ("See foo() now...", "see foo() now"),
    ("Ｐａｔｈ＝／Ａ", "Path=/A"),
    ("１２．５Ｎで掴む。", "12.5Nで掴む"),
    ("ｶﾞﾗｽを掴む", "ガラスを掴む"),
    ("ﾊﾟﾝが好き", "パンが好き"),
    ("コーヒー が 好き。", "コーヒーが好き"),
    ("使用 Python 编写。", "使用Python编写"),
    ("今天，天气很好！", "今天天气很好"),
    ("用户说：「可以」", "用户说可以"),
    ("配置（默认）", "配置默认"),
    ("时间：5", "时间 5"),
    (unicodedata.normalize("NFD", "Café für Ünal"), "café für ünal"),
    (unicodedata.normalize("NFD", "がぎぐ 한국어"), "がぎぐ 한국어"),
    ("zero\u200bwidth", "zerowidth"),
    ("Привет, мир.", "привет мир"),
    ("مرحبا\u00a0بالعالم.", "مرحبا بالعالم"),
]

DIFFERENT = [
    ("10²", "102"),
    ("½ cup", "12 cup"),
    ("step ①", "step 1"),
    ("5㎏", "5g"),
    ("Ann manages Bob", "Bob manages Ann"),
    ("grip force 12.5N works", "grip force 15N works"),
    ("Path=/A", "Path=/a"),
    ("/etc/Conf", "/etc/conf"),
    ("C", "C++"),
    ("C", "C#"),
    ("C++", "C#"),
    ("x = y", "x != y"),
    ("x < y", "x > y"),
    ("a + b", "a - b"),
    ("it is -5 °C", "it is 5 °C"),
    ("- 5 °C", "5 °C"),
    ("-v shows", "v shows"),
    ("50%", "50"),
    ("costs $5", "costs €5"),
    ("I am 😀", "I am 😢"),
    ("1,500", "1.500"),
    ("v1.2", "v1.20"),
    ("v1.2", "v12"),
    ("12:30", "1230"),
    ("Rev A failed", "Rev B failed"),
    ("Rev A failed", "Rev failed"),
    ("vitamin C", "vitamin"),
    ("a few came", "few came"),
    ("x = a + b", "x = + b"),
    ("returns []", "returns {}"),
    ("returns []", "returns"),
    ("foo()", "foo"),
    ("x[0]", "x0"),
    ("cd ..", "cd ."),
    ("git add .", "git add"),
    ("! test -f x", "test -f x"),
    ("--opt=a,b", "--opt=a b"),
    ("ask the US", "ask us"),
    ("it works?", "it works"),
    ("its", "it's"),
    ("split lines at ';'", "split lines at ','"),
    ("names end in `.", 'names end in ".'),
    ("No, dogs are allowed", "No dogs are allowed"),
    ("camelCase works", "camelcase works"),
    ("三、四人", "三四人"),
    ("不断改进", "断改进"),
    ("允许部署", "不允许部署"),
    ("ハ", "バ"),
    ("Maße", "Masse"),
    ("한국 사람", "한국사람"),
    ('6" pipe', "6 pipe"),
    ("не работает", "работает"),
    ("ไป", "ไม่ไป"),
]


@pytest.mark.parametrize(("a", "b"), SAME_BUT_FOR_FORMAT)
def test_canonical_form_format_noise_is_removed(a, b):
    assert canonical_form(a) == canonical_form(b)
    assert canonical_hash(a) == canonical_hash(b)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_canonical_form_content_is_kept(a, b):
    assert canonical_form(a) != canonical_form(b)
    assert canonical_hash(a) != canonical_hash(b)


@pytest.mark.parametrize("text", ["", "  ", "...", "。", "\u200b", "(“!”)"])
def test_canonical_form_nothing_but_marks_is_empty(text):
    assert canonical_form(text) == ""


@pytest.mark.parametrize("text", ["foo()", "x[0]", "5'6\"", "U.S", "a,1", "三、四", "!important"])
def test_canonical_form_marks_of_code_and_lengths_stay_whole(text):
    assert canonical_form(text) == text


def test_canonical_form_known_text_is_as_documented():
    assert canonical_form("The NASA probe (in C++) reads Path=/A.") == (
        "NASA probe in C++ reads Path=/A"
    )


@settings(deadline=None, max_examples=100)
@given(words=st.lists(st.text("abcxyzäßяж", min_size=2, max_size=6), min_size=1, max_size=6))
def test_canonical_form_lower_case_words_change_by_articles_alone(words):
    words = [word for word in words if word not in ("an", "the")]
    assert canonical_form(" ".join(words)) == " ".join(words)
    assert canonical_form("  ".join(words) + ".") == " ".join(words)


@settings(deadline=None, max_examples=80)
@given(text=st.text(max_size=40))
@example(text="\u2126 \u0345")
def test_canonical_form_any_text_ignores_its_normal_form_and_margins(text):
    expected = canonical_form(text)
    assert canonical_form(unicodedata.normalize("NFD", text)) == expected
    assert canonical_form(f"\n {text}\u3000") == expected


@settings(deadline=None, max_examples=80)
@given(digits=st.text("0123456789.,:-/²½①٣३％%", min_size=1, max_size=8))
def test_canonical_form_any_number_keeps_its_characters(digits):
    # Inside of a number no mark is at the end, so nothing may go.
    assert canonical_form(f"1{digits}2") == f"1{digits}2".replace("％", "%")


def test_canonical_hash_known_value_is_stable():
    digest = blake2b(b"port is 8080", digest_size=8).digest()
    assert canonical_hash("The port is 8080.") == int.from_bytes(digest, "little")


def test_canonical_hash_zero_digest_is_never_returned(monkeypatch):
    class Zero:
        def digest(self) -> bytes:
            return bytes(8)

    monkeypatch.setattr("totonoe_core.text.normalize.blake2b", lambda *_, **__: Zero())
    assert canonical_hash("anything") == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("  a \t b\u3000c\n", "a b c"),
        (unicodedata.normalize("NFD", "é が"), "é が"),
        ("a\u2028b", "a b"),
    ],
)
def test_refusing_form_space_and_composition_are_folded(a, b):
    assert refusing_form(a) == b
    assert refusing_hash(a) == refusing_hash(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Path=/A", "path=/a"),
        ("Ａ", "A"),
        ("10²", "102"),
        ("the port", "port"),
        ("done.", "done"),
        ("a b", "ab"),
        ("ｶ", "カ"),
    ],
)
def test_refusing_form_everything_else_is_kept(a, b):
    assert refusing_form(a) != refusing_form(b)
    assert refusing_hash(a) != refusing_hash(b)


def test_refusing_hash_known_text_is_blake2b_of_16_bytes():
    assert refusing_hash(" é  x ") == blake2b("é x".encode(), digest_size=16).digest()


@settings(deadline=None, max_examples=80)
@given(text=st.text(max_size=40))
def test_refusing_form_twice_changes_nothing(text):
    once = refusing_form(text)
    assert refusing_form(once) == once
    assert once == once.strip()


def test_fold_width_other_compatibility_characters_stay():
    assert fold_width("Ａ１！ｶﾞ ² ½ ① ㎏ ﬁ") == "A1!ガ ² ½ ① ㎏ ﬁ"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("a  b\nc", 5, "a b c"),
        ("abc def", 5, "abc…"),
        ("😀😀😀", 2, "😀…"),
        ("日本語です", 4, "日本語…"),
        ("ab", 1, "…"),
        ("", 3, ""),
    ],
)
def test_snippet_limit_counts_code_points_and_ellipsis(text, limit, expected):
    assert snippet(text, limit) == expected


@settings(deadline=None, max_examples=100)
@given(text=st.text(max_size=60), limit=st.integers(1, 30))
def test_snippet_any_text_is_one_line_within_limit(text, limit):
    found = snippet(text, limit)
    assert len(found) <= limit
    assert found.splitlines() in ([found], [])


# -- what shows nothing


@pytest.mark.parametrize(
    "text",
    ["", " \t\r\n", "\u3000\u2028\x85", "\x01\x1b\x7f\x9f", "\u200b\u2060\ufeff\u00ad",
     "\u200c\u200d", "\u200e\u200f\u061c\u202e\u2066", "\ufe0f\ufe00\U000e0100\u180b",
     "\U000e0001\U000e0041\U000e007f", "\u115f\u1160\u3164\uffa0", "\u2800", "\u034f",
     "\ufff9\ufffb", "\U0001d173"],
    ids=ascii,
)  # fmt: skip
def test_shows_nothing_invisible_characters_alone_are_no_text(text):
    assert shows_nothing(text)
    assert not shows_nothing(text + "a")
    assert not shows_nothing("猫" + text)


@pytest.mark.parametrize(
    "text", [".", "?", "²", "★", "👍🏽", "♥\ufe0f", "\u0301", "ㅤa", "か", "한", "\ufffd", "١", "ـ"]
)
def test_shows_nothing_a_visible_character_is_a_text(text):
    assert not shows_nothing(text)


def test_shows_nothing_every_format_and_control_character_is_known():
    # Signs of Arabic, Syriac, Kaithi and hieroglyphs are of the same category, and are seen.
    seen = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    seen |= set(range(0x13430, 0x13440))
    invisible = [
        code
        for code in range(1, 0x110000)  # NUL has a reason of its own
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zs", "Zl", "Zp") and code not in seen
    ]
    assert [hex(code) for code in invisible if not shows_nothing(chr(code))] == []


# -- line ends


@pytest.mark.parametrize(
    "text",
    ["The port is 8080.\nIt was 80.", "ポートは8080。\n前は80。", "端口是8080。\n以前是80。"],
)
@pytest.mark.parametrize("end", ["\r\n", "\r", "\u2028", "\x85", "\n\n"], ids=ascii)
def test_line_ends_of_any_system_are_one_text_in_both_forms(text, end):
    other = text.replace("\n", end)
    assert refusing_hash(other) == refusing_hash(text)
    assert canonical_form(other) == canonical_form(text)
