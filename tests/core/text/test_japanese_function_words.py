"""Function words of Japanese: those that differ make another statement, unless a list says why."""

from __future__ import annotations

import pytest

from totonoe_core.domain.calibration import SHIPPED
from totonoe_core.domain.records import Finding, Verdict
from totonoe_core.guard.verdict import compare
from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.japanese import function_words
from totonoe_core.text.reading.japanese.read import read
from totonoe_core.text.reading.wrapping import inner

DIFFERENT = [
    # hearsay and opinion
    ("雨が降るそうだ", "雨が降る"),
    ("雨が降るそうだ", "雨が降りそうだ"),
    ("明日は雨らしい", "明日は雨だ"),
    ("納期は来週とのことだ", "納期は来週だ"),
    ("APIは遅いと思う", "APIは遅い"),
    ("ユーザーによると、APIは遅い", "APIは遅い"),
    ("APIは遅いかもしれない", "APIは遅いはずだ"),
    ("再起動が必要だろう", "再起動が必要だ"),
    # particles
    ("凍結は12月18日から", "凍結は12月18日まで"),
    ("納期は2026年1月10日", "納期は2026年1月10日から"),
    ("会議は10時までに終わる", "会議は10時に終わる"),
    ("東京で勝った", "東京が勝った"),
    ("田中さんに話した", "田中さんと話した"),
    ("手紙を母に送る", "手紙を母から送る"),
    ("卵と牛乳を買う", "卵か牛乳を買う"),
    ("卵と牛乳を買う", "卵や牛乳を買う"),
    ("AまたはBを使う", "AおよびBを使う"),
    ("田中さんも知っている", "田中さんは知っている"),
    ("田中さんさえ知っている", "田中さんは知っている"),
    ("ログなどを消す", "ログを消す"),
    # joined clauses
    ("失敗したので再試行する", "失敗したのに再試行する"),
    ("何度も試したので、差は小さい", "何度も試したが、差は小さい"),
    ("雨でも巡回する", "雨なら巡回する"),
    ("エラーが出たら通知する", "エラーが出ても通知する"),
    # aspect and voice
    ("ファイルを消した", "ファイルを消してしまった"),
    ("会議を録画する", "会議を録画している"),
    ("会議を録画する", "会議を録画してある"),
    ("会議を録画する", "会議を録画してもらう"),
    ("会議を録画する", "会議を録画させる"),
    ("センサーは無効だ", "センサーは無効になる"),
    ("撮影は許可されている", "撮影は許可されていた"),
    ("本を飲んだ", "本を飲む"),
    # frequency, degree, time
    ("必ず失敗する", "失敗する"),
    ("もう届いている", "届いている"),
    ("また失敗した", "失敗した"),
    ("約30秒かかる", "30秒かかる"),
    ("ほとんどのテストが通った", "すべてのテストが通った"),
    # things that are alike
    ("自転車を買った", "バイクを買った"),
    ("犬を飼っている", "動物を飼っている"),
    ("机のそばにある", "机の横にある"),
    ("会議は録画する", "面談は録画する"),
]
SAME = [
    ("毎週金曜にデプロイする", "毎週金曜日にデプロイを実施しています"),
    ("Dockerを使う", "Dockerを使っています"),
    ("雨が降るそうだ", "雨が降るとのことです"),
    ("システムは停止中だ", "システムは停止している"),
    ("ログに出力してはいけない", "ログに出力することは禁止されている"),
    ("しかし、在庫はない", "在庫はない"),
    ("営業時間は10時～18時", "営業時間は10時〜18時"),
]


@pytest.mark.parametrize(("own", "other"), DIFFERENT)
def test_another_function_word_is_no_duplicate(own: str, other: str) -> None:
    judged = compare(own, other, 0.99, SHIPPED[0].weights).judgement
    assert judged.verdict is not Verdict.DUPLICATE


@pytest.mark.parametrize(("own", "other"), SAME)
def test_what_the_closed_lists_ignore_is_a_duplicate(own: str, other: str) -> None:
    judged = compare(own, other, 0.99, SHIPPED[0].weights).judgement
    assert judged.verdict is Verdict.DUPLICATE


def test_a_changed_particle_is_named_in_its_place() -> None:
    own = "凍結は12月18日から"
    judged = compare(own, "凍結は12月18日まで", 0.99, SHIPPED[0].weights).judgement
    named = [line for line in judged.evidence if line.finding is Finding.FUNCTION_WORD]
    assert [(line.own_text, line.other_text) for line in named] == [("から", "まで")]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("会議は17時から", ["から"]),
        ("会議は17時に始まる", []),
        ("田中さんだけが来た", []),
        ("田中さんも来た", ["も"]),
        ("卵や牛乳を買ったり売ったりする", ["等"]),
        ("鼠が猫に追われる", []),
        ("動くかを確かめる", ["か"]),
    ],
)
def test_function_words_that_count(text: str, keys: list[str]) -> None:
    assert [word.key for word in read(text).function_words] == keys


def test_every_ignored_word_has_a_reason() -> None:
    for word, reason in function_words.IGNORED.items():
        assert len(reason) > 3 or reason in function_words.IGNORED, word


def test_what_is_asked_inside_a_clause_asks_nothing() -> None:
    assert not read("動くかを確かめる").asks
    assert read("動くか").asks


def test_a_thing_is_not_near_its_kind() -> None:
    lists = lexicon("ja")
    assert not lists.near("自転車") & lists.near("オートバイ")
    assert not lists.near("犬") & lists.near("動物")
    assert not lists.near("殆ど") & lists.near("全て")


@pytest.mark.parametrize("text", ["ユーザーによると、APIは遅い", "要確認: APIは遅い"])
def test_hearsay_and_doubt_are_no_wrapping(text: str) -> None:
    assert inner(text, "ja") == (0, len(text))
