"""Tokens in many scripts; what a token set must still tell apart."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from totonoe_core.base.limits import CONTENT_BYTES_MAX
from totonoe_core.text import tokens as module
from totonoe_core.text.normalize import canonical_form, refusing_form
from totonoe_core.text.stopwords import STOP_WORDS, STOP_WORDS_002
from totonoe_core.text.tokens import (
    has_identifier,
    search_terms,
    token_hashes,
    tokens,
    whitespace_tokens,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("grip_force=12.5N works for cups", ["grip", "force", "12.5n", "works", "cups"]),
        ("camelCase HTTPServer", ["camel", "case", "http", "server"]),
        ("iPhone 5GHz kWh", ["iphone", "5ghz", "kwh"]),
        ("ASR-1603 v1.2.10, v1.2.", ["asr", "1603", "v1.2.10", "v1.2"]),
        ("on 2026-01-10 at 12:30", ["on", "2026-01-10", "12:30"]),
        ("-5 °C, x=-5, 3-5", ["-5", "c", "x", "-5", "3-5"]),
        ("1,500 and 2,5 and 1,234,567", ["1500", "2,5", "1234567"]),
        ("again and again", ["again", "again"]),
        ("don't, the user's", ["don't", "user"]),
        ("don’t", ["don't"]),
        ("l'eau n'est pas qu'ici", ["eau", "ne", "pas", "ici"]),
        ("Привет, мир: не", ["привет", "мир", "не"]),
        ("Ελληνικά", ["ελληνικά"]),
        ("مَرحبا بالعالم", ["مَرحبا", "بالعالم"]),
        ("שָׁלוֹם עולם", [unicodedata.normalize("NFC", "שָׁלוֹם"), "עולם"]),
        ("हिन्दी में लिखो", ["हिन्दी", "में", "लिखो"]),
        ("한국어 문장", ["한국", "국어", "문장"]),
        ("ไม่ไป", ["ไม", "ม่", "่ไ", "ไป"]),
        ("私はPythonが好き", ["私は", "python", "が好", "好き"]),
        ("不 好", ["不", "好"]),
        ("备份 SQLite", ["备份", "sqlite"]),
        ("Ｇｒｉｐ＝１２．５Ｎ", ["grip", "12.5n"]),
        ("ｶﾞﾗｽ", ["ガラ", "ラス"]),
        ("C C++ C#", ["c", "c++", "c#"]),
        ("x != y", ["x", "!=", "y"]),
        ("a < 5 <= n", ["<", "5", "<=", "n"]),
        ("10² 102 ½ ①", ["10²", "102", "½", "①"]),
        ("50% 50", ["50%", "50"]),
        ("😀 🎉!", []),
        ("❤️ ☺️", []),
        ("the of is", []),
        ("decision: root_cause, tradeoff", []),
        ("", []),
    ],
)
def test_tokens_script_or_shape_splits_as_documented(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize("text", ["été naïve", "がぎぐ", "한국어", "café_bar"])
def test_tokens_composed_and_decomposed_are_equal(text):
    assert tokens(unicodedata.normalize("NFD", text)) == tokens(text)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("10²", "102"),
        ("12.5N", "15N"),
        ("12.5N", "125N"),
        ("port 8080", "port 8081"),
        ("2026-01-10", "2026-10-01"),
        ("C++", "C#"),
        ("x = y", "x != y"),
        ("-5", "5"),
        ("likes it", "does not like it"),
        ("light on", "light off"),
        ("with sugar", "without sugar"),
        ("允许部署", "不允许部署"),
        ("il vient", "il ne vient pas"),
        ("n'est", "est"),
        ("работает", "не работает"),
    ],
)
def test_tokens_different_meaning_gives_different_sets(a, b):
    assert set(tokens(a)) != set(tokens(b))


MEANINGFUL = (
    "not no never without none nor neither cannot can't don't isn't nothing all some few many "
    "more less most least only every each any both half one two on off in out up down before "
    "after with over under always "
    "不 没 無 无 非 未 别 勿 莫 少 多 全 每 只 ない ず ません ぬ "
    "nicht kein keine nie ohne alle mehr weniger ne pas jamais sans aucun tout plus moins "
    "sin nunca nada ningún todo más menos não nem sem nunca tudo non mai senza niente tutto "
    "не нет ни без никогда все"
)


def test_stop_words_no_negation_quantity_or_opposite_is_among_them():
    assert STOP_WORDS.isdisjoint(MEANINGFUL.split())


def test_whitespace_tokens_document_002_splits_at_white_space_only():
    assert whitespace_tokens("The grip_force=12.5N, works for CUPS decision") == {
        "grip_force=12.5n,",
        "works",
        "cups",
    }
    assert len(STOP_WORDS_002) == 47


def test_token_hashes_any_order_and_repeats_are_sorted_unique():
    found = token_hashes(["b", "a", "b", "c"])
    assert found.dtype == np.uint64
    assert found.tolist() == sorted(set(found.tolist()))
    assert len(found) == 3
    assert found.tolist() == token_hashes(["c", "b", "a"]).tolist()


def test_token_hashes_no_tokens_is_empty_uint64():
    found = token_hashes([])
    assert found.dtype == np.uint64
    assert found.shape == (0,)


def test_token_hashes_another_process_gives_the_same():
    code = (
        "from totonoe_core.text.tokens import token_hashes;"
        "print(token_hashes(['force', '不', '12.5n']).tolist())"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": module.__file__.split("totonoe_core")[0]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == str(token_hashes(["force", "不", "12.5n"]).tolist())


def test_token_hashes_known_word_is_what_stored_arrays_hold():
    assert token_hashes(["force"]).tolist() == [2866070881528886085]


def test_forget_cached_after_use_holds_no_word():
    caches = (module._token_hash, module._word_terms, module._identifier_terms)
    token_hashes(tokens("secret"))
    search_terms("secret ABC-123")
    assert all(cache.cache_info().currsize for cache in caches)
    module.forget_cached()
    assert not any(cache.cache_info().currsize for cache in caches)


def test_search_terms_other_ending_shares_terms():
    walking, walked = set(search_terms("walking")), set(search_terms("walked"))
    assert "walking" in walking
    assert {"^wal", "walk"} <= walking & walked
    assert "walk" not in search_terms("balk")


@pytest.mark.parametrize("other", ["ASR1603", "asr_1603", "asr.1603", "ＡＳＲ－１６０３"])
def test_search_terms_identifier_other_spelling_shares_terms(other):
    assert "#asr1603" in search_terms("ASR-1603")
    assert "#asr1603" in search_terms(other)


def test_search_terms_near_identifier_shares_trigrams_not_the_whole():
    first, second = set(search_terms("ASR-1603")), set(search_terms("ASR-1605"))
    assert {"#asr", "#r16", "#160"} <= first & second
    assert "#asr1603" in first - second


def test_search_terms_han_run_gives_bigrams_and_characters_without_stop_words():
    assert search_terms("他的书") == ["他的", "的书", "他", "书"]
    assert search_terms("不") == ["不"]
    assert search_terms("が好き") == ["が好", "好き", "好"]


def test_search_terms_repeats_are_kept():
    assert search_terms("no no").count("no") == 2


def test_search_terms_symbols_or_stop_words_alone_is_empty():
    assert search_terms("😀 … the") == []


@pytest.mark.parametrize(
    "text",
    [
        "see ASR-1603",
        "v1.2",
        "12.5N",
        "grip_force",
        "open main.py",
        "an iPhone",
        "SR-2023-052b",
        "使用k8s部署",
        "ＡＳＲ１６０３",
    ],
)
def test_has_identifier_part_number_or_file_name_is_found(text):
    assert has_identifier(text)


@pytest.mark.parametrize(
    "text",
    ["", "plain words", "Ann met Bob", "NASA", "e.g. this", "and/or", "2026-01-10", "第2章", "42"],
)
def test_has_identifier_plain_text_or_number_is_not(text):
    assert not has_identifier(text)


@settings(deadline=None, max_examples=200)
@given(text=st.text(max_size=60))
def test_tokens_any_text_never_fails_and_has_no_space_or_stop_word(text):
    for token in tokens(text):
        assert token and token not in STOP_WORDS
        assert not any(character.isspace() for character in token)
    assert set(tokens(text)) <= set(search_terms(text))


@settings(deadline=None, max_examples=200)
@given(text=st.text(st.characters(categories=("Lu", "Ll", "Lo", "Nd")), min_size=3, max_size=20))
def test_tokens_letters_of_any_script_leave_none_out(text):
    # Every letter and digit is evidence: a script the tokenizer does not know would vanish.
    found = "".join(module._all_tokens(module._prepared(text)))
    assert set(module._prepared(text)) - {" "} <= set(found)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("unit", ["1", "a1", "((", "1,", "三、", "a'", "-1", "aB", "_", "🎉", ")!"])
def test_texts_of_the_greatest_length_take_linear_time(unit):
    # Quadratic work would stop the writer for all. What takes a second then at the greatest
    # length takes minutes here and hangs the test; linear work takes less than a second.
    text = unit * (16 * CONTENT_BYTES_MAX // len(unit.encode()))
    for function in (tokens, search_terms, has_identifier, canonical_form, refusing_form):
        function(text)
