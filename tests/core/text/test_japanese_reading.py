"""Reading Japanese: what says the same gives the same pieces, what differs is named."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.waits import wait_s
from totonoe_core.domain.calibration import SHIPPED
from totonoe_core.domain.records import Verdict
from totonoe_core.guard.verdict import compare
from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.japanese.grammar import words_of
from totonoe_core.text.reading.japanese.read import read
from totonoe_core.text.reading.japanese.words import words
from totonoe_core.text.reading.model import Piece, PieceType, Reading

Shape = Counter[tuple[object, ...]]


def _said(reading: Reading) -> tuple[object, ...]:
    """All that a reading says, without where."""
    shape: Shape = Counter(
        (piece.key, piece.type, piece.role, piece.head, piece.negated, piece.modality, piece.tense)
        for piece in reading.pieces
        if piece.weight > 0.5
    )
    return reading.asks, shape


def _loosely(reading: Reading) -> Shape:
    """What of a reading two wordings of one thing must share: keys and what is said of them."""
    return Counter(
        (piece.key, piece.type, piece.negated, piece.modality, piece.tense)
        for piece in reading.pieces
        if piece.weight > 0.5
    )


SAME = [
    ("猫が鼠を追う", "鼠が猫に追われる"),
    ("猫が鼠を追う", "鼠は猫によって追われる"),
    ("部長が新人を叱った", "新人が部長に叱られた"),
    ("バックアップを実施する", "バックアップする"),
    ("本番へのデプロイを行う", "本番にデプロイする"),
    ("設定を変更した", "設定の変更を行った"),
    ("設定を変更しました。", "設定が変更された"),
    ("帽子をかぶった老人が歩く", "帽子をかぶっている老人が歩きます"),
    ("公園で少女が歌う", "少女が公園で歌う"),
    ("駅前で田中さんが佐藤さんを待つ", "田中さんが駅前で佐藤さんを待つ"),
    ("サーバが停止した", "サーバーが停止しました"),
    ("データベースを更新する", "DBを更新する"),
    ("このライブラリは使えます", "このライブラリは使うことができる"),
    ("このライブラリは利用可能です", "このライブラリは利用できる"),
    ("毎朝運動しなければならない", "毎朝運動する必要がある"),
    ("毎朝運動しなければなりません", "毎朝運動しないといけない"),
    ("ここで写真を撮ってもいい", "ここで写真を撮っても構わない"),
    ("録画は禁止です", "録画してはいけない"),
    ("録画禁止", "録画することは禁止されている"),
    ("明日、会議に出るつもりだ", "明日会議に出る予定です"),
    ("機能は有効だ", "機能が有効です"),
    ("機能を無効にする", "機能を無効化する"),
    ("変更は不可能だ", "変更は可能ではない"),
    ("私は肉を食べないわけではない", "私は肉を食べる"),
    ("行かなくはない", "行く"),
    ("鍵を忘れないでください", "鍵を忘れずに"),
    ("私は紅茶だけ飲む", "私は紅茶しか飲まない"),
    ("紅茶のみ飲む", "紅茶しか飲みません"),
    ("ユーザーは珈琲が好きだ", "ユーザーはコーヒーが好きです"),
    ("鈴木さんは東京に住んでいる", "鈴木氏は東京に住んでいます"),
    ("本が三冊ある", "三冊の本がある"),
    ("３人の客が来た", "客が三人来た"),
    ("男の人が魚を釣っている", "男性が魚を釣っています"),
    ("田中と佐藤が話す", "佐藤と田中が話す"),
    ("犬や猫が嫌いだ", "猫や犬が嫌いです"),
    ("東京から大阪へ行く", "大阪へ東京から行く"),
    ("母が弟に本を読ませる", "弟に母が本を読ませる"),
    ("全員が参加した", "みんなが参加しました"),
    ("テストは失敗するかもしれない", "テストは失敗するかもしれません"),
    ("部屋に誰もいない", "部屋には誰もいません"),
    ("髪が長い女性が歩く", "髪の長い女性が歩く"),
    ("ヴァイオリンを弾く", "バイオリンを演奏する"),
    ("結果をSlackに通知する", "結果を Slack に通知します"),
    ("メモリリークの修正を実施した", "メモリリークを修正した"),
    ("ビルドが失敗したら通知してください", "ビルドが失敗したら、通知して下さい"),
    ("ログは/var/log/app.logに保存される", "ログは/var/log/app.logに保存されます"),
    ("再起動が必要だ", "再起動する必要がある"),
    ("新しい車が欲しい", "新しい車がほしいです"),
    ("走り始めた", "走りはじめた"),
    ("猫のほうが犬より好きだ", "猫の方が犬より好きです"),
    ("説明書を読んでから使う", "説明書を読んでから使用する"),
    ("ユーザーは朝にコーヒーを飲む", "ユーザーは朝コーヒーを飲む"),
]

DIFFERENT = [
    ("扉の色を選ぶ", "扉を選ぶ"),
    ("部署の名前が変わった", "部署が変わった"),
    ("機械の種類を調べる", "機械を調べる"),
    ("猫が鼠を追う", "鼠が猫を追う"),
    ("猫が鼠に追われる", "鼠が猫に追われる"),
    ("田中さんが佐藤さんを褒める", "佐藤さんが田中さんを褒める"),
    ("田中さんが佐藤さんに本を渡した", "佐藤さんが田中さんに本を渡した"),
    ("田中さんは佐藤さんに褒められた", "田中さんは佐藤さんを褒めた"),
    ("母が弟に本を読ませる", "弟が母に本を読ませる"),
    ("東京から大阪へ行く", "大阪から東京へ行く"),
    ("日本の車", "車の日本"),
    ("赤い帽子と青い靴", "青い帽子と赤い靴"),
    ("赤い車が白い車を追い越した", "白い車が赤い車を追い越した"),
    ("猫は犬より速い", "犬は猫より速い"),
    ("犬より猫が好きだ", "猫より犬が好きだ"),
    ("コーヒーが好きだ", "コーヒーが好きではない"),
    ("コーヒーが好きだ", "コーヒーが嫌いだ"),
    ("デプロイしてもよい", "デプロイしてはいけない"),
    ("デプロイしなければならない", "デプロイしなくてもいい"),
    ("デプロイ可能", "デプロイ不可"),
    ("機能は有効だ", "機能は無効だ"),
    ("処理は完了した", "処理は未完了だ"),
    ("同期処理を使う", "非同期処理を使う"),
    ("全員が賛成した", "一部が賛成した"),
    ("全員が賛成した", "賛成した"),
    ("紅茶を飲む", "紅茶だけ飲む"),
    ("ポート8080を使う", "ポート8081を使う"),
    ("常にrebaseする", "決してrebaseしない"),
    ("いつもrebaseする", "たまにrebaseする"),
    ("会議の前に電話する", "会議の後に電話する"),
    ("走りたい", "走る"),
    ("走りたい", "走りたくない"),
    ("行くつもりだ", "行った"),
    ("昨日行った", "明日行く"),
    ("田中さんが好きだ", "鈴木さんが好きだ"),
    ("田中さんがいる", "田中さんはいない"),
    ("サーバーを起動する", "サーバーを停止する"),
    ("値は最大です", "値は最小です"),
    ("30人以上来る", "30人以下来る"),
    ("約30人来る", "30人未満来る"),
    ("三人が来た", "四人が来た"),
    ("行く", "行きますか"),
    ("ドアを開けて", "ドアを閉めて"),
    ("食べるべきだ", "食べるべきではない"),
    ("食べるはずだ", "食べるはずがない"),
    ("食べないわけではない", "食べない"),
    ("食べなければならない", "食べない"),
    ("食べるかもしれない", "食べないかもしれない"),
    ("忘れずに確認する", "確認を忘れる"),
    ("右に曲がる", "左に曲がる"),
    ("午前8時に始まる", "午後8時に始まる"),
    ("ここは安全だ", "ここは危ない"),
    ("毎日走る", "毎週走る"),
    ("まだ終わっていない", "もう終わった"),
    ("失敗したら通知する", "失敗しても通知しない"),
    ("雨が降れば中止する", "中止すれば雨が降る"),
    ("起動してから停止する", "停止してから起動する"),
    ("父が母の友人を招いた", "母が父の友人を招いた"),
    ("AはBより大きい", "BはAより大きい"),
    ("中国の会社が日本の製品を買った", "日本の会社が中国の製品を買った"),
    ("1990年に結婚し、1995年に離婚した", "1995年に結婚し、1990年に離婚した"),
    ("彼は北の町から南の村へ移った", "彼は南の町から北の村へ移った"),
    ("犬が走る公園で猫が寝る", "猫が走る公園で犬が寝る"),
    ("山田が作曲し、鈴木が作詞した", "鈴木が作曲し、山田が作詞した"),
    ("北駅は東駅の西にある", "東駅は北駅の西にある"),
    ("彼は医者で妻は教師だ", "彼は教師で妻は医者だ"),
    ("リストは配列を含む", "配列はリストを含む"),
    ("設定Aが設定Bを上書きする", "設定Bが設定Aを上書きする"),
    ("データをサーバーからクライアントに送る", "データをクライアントからサーバーに送る"),
    ("田中さんが言うには佐藤さんが来る", "佐藤さんが言うには田中さんが来る"),
    ("食べた後に歩く", "歩いた後に食べる"),
    ("子供が見ている犬が走る", "犬が見ている子供が走る"),
    ("誰も来なかった", "誰かが来た"),
    ("値が増えた", "値が減った"),
    ("読むだけで書かない", "書くだけで読まない"),
    ("AとBを比べる", "AとCを比べる"),
    ("会社は彼を雇った", "会社は彼を解雇した"),
    ("彼女は毎日泳ぐ", "彼女は毎日泳がない"),
    ("二匹の猫と三匹の犬がいる", "三匹の猫と二匹の犬がいる"),
]


@pytest.mark.parametrize(("own", "other"), SAME)
def test_same_in_other_words_gives_the_same_pieces(own: str, other: str) -> None:
    assert _loosely(read(own)) == _loosely(read(other))


@pytest.mark.parametrize(("own", "other"), DIFFERENT)
def test_another_statement_gives_other_pieces(own: str, other: str) -> None:
    assert _said(read(own)) != _said(read(other))


@pytest.mark.parametrize(("own", "other"), DIFFERENT)
def test_another_statement_is_no_duplicate(own: str, other: str) -> None:
    judged = compare(own, other, 0.99, SHIPPED[0].weights).judgement
    assert judged.verdict is not Verdict.DUPLICATE


@pytest.mark.parametrize(("own", "other"), SAME)
def test_same_in_other_words_is_a_duplicate(own: str, other: str) -> None:
    judged = compare(own, other, 0.99, SHIPPED[0].weights).judgement
    assert judged.verdict is Verdict.DUPLICATE


def _piece(text: str, key: str) -> Piece:
    found = [piece for piece in read(text).pieces if piece.key == key]
    assert len(found) == 1, [piece.key for piece in read(text).pieces]
    return found[0]


@pytest.mark.parametrize(
    ("text", "key", "role", "head"),
    [
        ("猫が鼠を追う", "猫", "agent", "追う"),
        ("鼠が猫に追われる", "猫", "agent", "追う"),
        ("鼠が猫に追われる", "鼠", "patient", "追う"),
        ("壁に絵が飾られている", "壁", "prep:に", "飾る"),
        ("赤い車を買う", "赤い", "modifier", "車"),
        ("東京へ行く", "東京", "prep:に", "行く"),
        ("会議室で話す", "室", "prep:で", "話す"),
        ("ナイフを使って切る", "ナイフ", "prep:で", "切る"),
        ("設定について話す", "設定", "prep:について", "話す"),
        ("本が三冊ある", "3", "modifier", "本"),
        ("モニター三台を買う", "3", "modifier", "ディスプレイ"),
        ("路上を荷物を持った人が歩く", "荷物", "patient", "持つ"),
        ("雨が降れば帰る", "降る", "prep:if", "帰る"),
    ],
)
def test_part_and_head(text: str, key: str, role: str, head: str) -> None:
    piece = _piece(text, key)
    assert (piece.role, piece.head) == (role, head)


@pytest.mark.parametrize(
    ("text", "key", "negated", "modality"),
    [
        ("デプロイしない", "デプロイ", True, ""),
        ("デプロイしません", "デプロイ", True, ""),
        ("デプロイせずに", "デプロイ", True, ""),
        ("デプロイするまい", "デプロイ", True, "guess"),
        ("デプロイしなくなった", "デプロイ", True, ""),
        ("デプロイしないわけではない", "デプロイ", False, ""),
        ("デプロイしなくはない", "デプロイ", False, ""),
        ("デプロイしなければならない", "デプロイ", False, "must"),
        ("デプロイせざるを得ない", "デプロイ", False, "must"),
        ("デプロイしないといけない", "デプロイ", False, "must"),
        ("デプロイするしかない", "デプロイ", False, "must"),
        ("デプロイする必要がある", "デプロイ", False, "must"),
        ("デプロイする必要はない", "デプロイ", True, "must"),
        ("デプロイしなくてもいい", "デプロイ", True, "must"),
        ("デプロイしてもいい", "デプロイ", False, "may"),
        ("デプロイしてはいけない", "デプロイ", True, "may"),
        ("デプロイは禁止だ", "デプロイ", True, "may"),
        ("デプロイ禁止", "デプロイ", True, "may"),
        ("デプロイするわけにはいかない", "デプロイ", True, "may"),
        ("デプロイできる", "デプロイ", False, "can"),
        ("デプロイできません", "デプロイ", True, "can"),
        ("デプロイすることができる", "デプロイ", False, "can"),
        ("デプロイ不可", "デプロイ", True, "can"),
        ("デプロイしたい", "デプロイ", False, "want"),
        ("デプロイしたくない", "デプロイ", True, "want"),
        ("デプロイすべきだ", "デプロイ", False, "should"),
        ("デプロイすべきではない", "デプロイ", True, "should"),
        ("デプロイするつもりだ", "デプロイ", False, "plan"),
        ("デプロイしてみる", "デプロイ", False, "try"),
        ("デプロイするかもしれない", "デプロイ", False, "maybe"),
        ("デプロイするに違いない", "デプロイ", False, "surely"),
        ("デプロイするらしい", "デプロイ", False, "hearsay"),
        ("デプロイするはずがない", "デプロイ", True, "expect"),
        ("これは本ではない", "本", True, ""),
        ("これは本じゃありません", "本", True, ""),
        ("ここは危ない", "危険", False, ""),
        ("話がもったいない", "勿体無い", False, ""),
        ("量が少ない", "少ない", False, ""),
        ("本が読める", "読む", False, "can"),
    ],
)
def test_what_is_said_of_the_predicate(text: str, key: str, negated: bool, modality: str) -> None:
    piece = _piece(text, key)
    assert (piece.negated, piece.modality) == (negated, modality)


@pytest.mark.parametrize(
    ("text", "tense"),
    [("走る", ""), ("走っている", ""), ("走った", "past"), ("走りました", "past")],
)
def test_progressive_and_present_are_one_tense(text: str, tense: str) -> None:
    assert _piece(text, "走る").tense == tense


def test_past_before_a_noun_says_how_it_is_now() -> None:
    assert _piece("帽子をかぶった男性が歩く", "被る").tense == ""


@pytest.mark.parametrize(
    ("text", "asks", "orders"),
    [
        ("行きますか", True, False),
        ("本当？", True, False),
        ("行きます", False, False),
        ("窓を閉めてください", False, True),
        ("窓を閉めましょう", False, True),
        ("窓を閉めること。", False, True),
        ("窓を閉めろ", False, True),
        ("触らないでください", False, True),
    ],
)
def test_questions_and_orders(text: str, asks: bool, orders: bool) -> None:
    reading = read(text)
    assert (reading.asks, reading.orders) == (asks, orders)


@pytest.mark.parametrize(
    ("text", "key", "kind"),
    [
        ("田中さんが来た", "田中", PieceType.NAME),
        ("Pythonを使う", "python", PieceType.NAME),
        ("全員が来た", "全て", PieceType.QUANTIFIER),
        ("何人かが来た", "幾つか", PieceType.QUANTIFIER),
        ("水だけ飲む", "だけ", PieceType.QUANTIFIER),
        ("三人が来た", "3", PieceType.NUMBER),
    ],
)
def test_sorts_of_pieces(text: str, key: str, kind: PieceType) -> None:
    assert _piece(text, key).type is kind


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            sorted(
                words_of(
                    "猫 田中さん 車 が を に は の と で から 追う 追われ た ない ている こと する"
                    " 、 。 「 （ ） 3人 走る ある 好きな ため しか か ？ だ 静かに a1 ー 必要 禁止"
                )
            )
        ),
        max_size=24,
    ).map("".join)
    | st.text(max_size=60)
)
def test_any_text_is_read_in_order_and_alike(text: str) -> None:
    reading = read(text)
    assert reading == read(text)
    places = [piece.start for piece in reading.pieces]
    assert places == sorted(places)
    assert all(0 <= piece.start <= piece.end <= len(text) for piece in reading.pieces)


@pytest.mark.parametrize("text", ["㏀の値", "㏀", "抵抗は5㏀です", "㌔㌘㍍㏁", "㋿㍿の件"])
def test_sign_that_is_several_words_is_read(text: str) -> None:
    reading = read(text)
    assert all(0 <= piece.start <= piece.end <= len(text) for piece in reading.pieces)


def test_threads_read_alike() -> None:
    text = "帽子をかぶった男性が公園で新聞を読んでいる"
    expected, found = read(text), []
    threads = [threading.Thread(target=lambda: found.append(read(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_synonyms_have_one_base_spelling_each() -> None:
    lists = lexicon("ja")
    groups: dict[str, str] = {}
    for word, key in lists.representatives.items():
        normal = "".join(each.normal for each in words(word))
        assert groups.setdefault(normal, key) == key, word


def test_what_contradicts_is_not_near() -> None:
    lists = lexicon("ja")
    for word, contrary in lists.opposite_keys.items():
        for other in contrary:
            assert not lists.near(word) & lists.near(other), (word, other)


def test_keys_are_the_same_in_every_process() -> None:
    """The lists are sets, whose order hangs on the seed of the process."""
    module = "from totonoe_core.text.reading.japanese import words as w"
    found = {
        subprocess.run(
            [sys.executable, "-c", f"{module}; print(w._listed())"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=wait_s(),
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
