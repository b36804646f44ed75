"""Korean readings: particles, endings, values and simple negation."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from totonoe_core.domain.calibration import SHIPPED
from totonoe_core.domain.records import Verdict
from totonoe_core.guard import verdict
from totonoe_core.text.reading.korean import read
from totonoe_core.text.reading.model import PieceType, Role

SAME = [
    ("사용자는 커피를 좋아합니다", "사용자는 커피를 좋아해요.", "politeness"),
    ("사용자는 커피를 좋아한다", "사용자는 커피를 좋아합니다", "plain and formal"),
    ("민수가 지수를 도왔다", "지수를 민수가 도왔습니다", "particles tell the parts"),
    ("서버가 작동하지 않습니다", "서버가 작동하지 않는다", "politeness of a negation"),
    ("서버가 안 작동합니다", "서버가 작동하지 않아요", "two ways to deny"),
    ("서버를 재시작했다", "서버를 재시작했습니다", "past"),
    ("커피를 마셨어요", "커피를 마셨다", "melted past"),
    ("백업에 두 시간이 걸린다", "백업에 120분이 걸립니다", "units"),
    ("회의는 2024년 3월 3일입니다", "회의는 2024-03-03입니다", "dates"),
    ("이것은 서버입니다", "이것은 서버예요", "copula"),
    ("사용자들이 커피를 좋아한다", "사용자가 커피를 좋아한다", "plural"),
    ("서버가 없지 않습니다", "서버가 있습니다", "double negation"),
    ("지수는 헤엄치지 못합니다", "지수는 못 헤엄칩니다", "cannot"),
]

OTHER = [
    ("서버는 포트 8080을 사용한다", "서버는 포트 8081을 사용한다", "number"),
    ("회의는 3월 3일입니다", "회의는 3월 4일입니다", "date"),
    ("서버가 작동합니다", "서버가 작동하지 않습니다", "long negation"),
    ("저는 고기를 먹어요", "저는 고기를 안 먹어요", "short negation"),
    ("이것은 서버입니다", "이것은 서버가 아닙니다", "copula denied"),
    ("백업이 있습니다", "백업이 없습니다", "there is, there is not"),
    ("민수가 지수를 도왔다", "지수가 민수를 도왔다", "who to whom"),
    ("민수가 지수에게 보냈다", "지수가 민수에게 보냈다", "to whom"),
    ("기능을 활성화했다", "기능을 비활성화했다", "opposites"),
    ("사용자는 커피를 좋아한다", "사용자는 커피를 싫어한다", "like, hate"),
    ("모든 사용자가 접속한다", "일부 사용자가 접속한다", "quantifier"),
    ("서버만 느립니다", "서버가 느립니다", "only"),
    ("커피를 마셨다", "커피를 마신다", "past"),
    ("서버가 작동합니다", "서버가 작동합니까?", "question"),
    ("서울에서 왔다", "서울로 왔다", "particle"),
    ("항상 백업한다", "가끔 백업한다", "always, sometimes"),
    ("수영을 못 합니다", "수영을 안 합니다", "cannot, does not"),
]


def _said(text: str) -> list[tuple[str, str, str, bool, str, str]]:
    return sorted(
        (piece.key, piece.role, piece.head, piece.negated, piece.tense, piece.modality)
        for piece in read(text).pieces
    )


@pytest.fixture
def decide() -> Callable[[str, str], Verdict]:
    return lambda own, other: (
        verdict.compare(own, other, 0.95, SHIPPED[0].weights).judgement.verdict
    )


@pytest.mark.parametrize(("own", "other", "why"), SAME)
def test_read_same_meaning_gives_the_same_pieces(
    own: str, other: str, why: str, decide: Callable[[str, str], Verdict]
) -> None:
    assert _said(own) == _said(other), why
    assert decide(own, other) is decide(other, own) is Verdict.DUPLICATE, why


@pytest.mark.parametrize(("own", "other", "why"), OTHER)
def test_read_other_meaning_gives_other_pieces(
    own: str, other: str, why: str, decide: Callable[[str, str], Verdict]
) -> None:
    assert (_said(own), read(own).asks) != (_said(other), read(other).asks), why
    assert decide(own, other) is not Verdict.DUPLICATE, why
    assert decide(other, own) is not Verdict.DUPLICATE, why


@pytest.mark.parametrize(
    ("text", "stem", "tense"),
    [
        ("갔다", "가", "past"), ("먹었습니다", "먹", "past"), ("배웠어요", "배우", "past"),
        ("봤다", "보", "past"), ("했어요", "하", "past"), ("빨랐다", "빠르", "past"),
        ("있습니다", "있", ""), ("하겠습니다", "하", "future"), ("예뻤다", "예쁘", "past"),
        ("먹는다", "먹", ""), ("간다", "가", ""), ("마셔요", "마시", ""),
    ],
)  # fmt: skip
def test_read_verb_gives_its_stem(text: str, stem: str, tense: str) -> None:
    (piece,) = read(text).pieces
    assert (piece.key, piece.role, piece.tense) == (stem, Role.PREDICATE, tense)


def test_read_latin_name_and_value_take_their_particles() -> None:
    nginx, port, verb = read("Nginx가 8080을 사용한다").pieces
    assert (nginx.type, nginx.role, nginx.head) == (PieceType.NAME, Role.AGENT, verb.key)
    assert (port.type, port.role) == (PieceType.NUMBER, Role.PATIENT)


def test_read_title_makes_a_name() -> None:
    name, *_ = read("김민수 씨는 커피를 마신다").pieces
    assert (name.key, name.type, name.role) == ("김민수", PieceType.NAME, Role.TOPIC)


def test_read_words_without_particle_or_ending_are_not_certain() -> None:
    assert not read("점검 일정 공유 요청").certain


@given(st.text(max_size=120) | st.text("안못지않다이가를요만 도0?씨니까았었겠해A", max_size=40))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_read_any_text_gives_ordered_places_and_the_same_again(text: str) -> None:
    reading = read(text)
    assert reading == read(text)
    starts = [piece.start for piece in reading.pieces]
    assert starts == sorted(starts)
    assert all(0 <= piece.start < piece.end <= len(text) for piece in reading.pieces)


@pytest.mark.parametrize("sign", ["가", "지", "않지 ", "안 ", "만", "씨 ", "다", "니다", "아니다 "])
def test_read_long_runs_end(sign: str) -> None:
    assert read(sign * 500) == read(sign * 500)
