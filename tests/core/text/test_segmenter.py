"""Chinese texts come out of the mapped dictionary as rjieba cuts them with the same words in it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from totonoe_core.text.reading.chinese import segmenter as module
from totonoe_core.text.reading.chinese.segmenter import Segmenter

GIVEN = [("很漂亮", 1), ("不断", None), ("大头菜", 5_000)]
LISTED = ["漂亮", "向量库", "重新启动", "不断地", "T恤衫"]
TEXTS = [
    "预发布数据库监听5433端口。",
    "李雷每天早上在公司喝咖啡，王芳也是。",
    "小明硕士毕业于中国科学院计算所，后在日本京都大学深造",
    "\ue000不断地重新启动向量库 v2.1-rc1, abc123 T恤衫! γ射线",
    "他说的确实在理",
    "𠮷野家の𪚥字很漂亮\n  㐀㐁 Ａ１",
    "北京大学生前来应聘+1&2%_x#",
    "吗",
    "",
]


@pytest.fixture(scope="module")
def ours() -> Segmenter:
    return Segmenter(GIVEN, LISTED)


@pytest.fixture(scope="module")
def oracle() -> Any:
    jieba = module._rjieba().Jieba()
    for word, frequency in GIVEN:
        jieba.add_word(word, frequency, None)
    for word in LISTED:
        if not jieba.has_word(word):
            jieba.add_word(word, None, None)
    return jieba


def made_texts(count: int) -> list[str]:
    """Words of the texts above and other characters in any order, from a fixed seed."""
    generator = random.Random(20_261_127)
    alphabet = [
        *"".join(TEXTS[:8]),
        "中国",
        "人民",
        "数据",
        "的",
        "了",
        "发展",
        "，",
        "8080",
        "k8s",
    ]
    return ["".join(generator.choices(alphabet, k=generator.randint(1, 24))) for _ in range(count)]


@pytest.mark.parametrize("guess", [True, False])
def test_texts_are_cut_and_tagged_as_by_rjieba(ours: Segmenter, oracle: Any, guess: bool) -> None:
    for text in (*TEXTS, *made_texts(1_500)):
        assert ours.tag(text, guess) == oracle.tag(text, guess), text


def test_words_are_known_as_to_rjieba(ours: Segmenter, oracle: Any) -> None:
    parts = {
        text[start : start + length]
        for text in (*TEXTS, *LISTED, *made_texts(300))
        for start in range(len(text))
        for length in range(1, 5)
    }
    assert {part for part in parts if ours.has_word(part)} == {
        part for part in parts if oracle.has_word(part)
    }
    assert not ours.has_word("")


def test_half_of_a_surrogate_pair_is_cut_like_any_character(ours: Segmenter) -> None:
    assert ours.tag("\ud800猫") == [("\ud800", "x"), *ours.tag("猫")]


def test_other_words_need_another_file(ours: Segmenter, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []

    def known(name: str, _build: object) -> memoryview:
        names.append(name)
        return made

    made = module.mapped(ours.name, lambda: b"")
    monkeypatch.setattr(module, "mapped", known)
    for given, listed in ((GIVEN, LISTED), (GIVEN[:-1], LISTED), (GIVEN, LISTED[:-1])):
        Segmenter(given, listed)
    assert names[0] == ours.name and len(set(names)) == 3
