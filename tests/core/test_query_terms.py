"""Weights of a query's terms: what asks weighs little, what is asked about weighs in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.engines import InProcessEmbedding, opened
from totonoe_core.domain.queries import RecallMode, RecallQuery
from totonoe_core.embedding.use import UseEmbedder
from totonoe_core.text.query_terms import LIGHT_WEIGHT, query_terms
from totonoe_core.text.tokens import search_terms


@pytest.mark.parametrize(
    ("query", "light", "weighty"),
    [
        ("Where does Tomás live?", "where", "tomás live"),
        ("where's the key", "where", "key"),
        ("Tell me where Tomás lives", "where", "tell lives"),
        ("What colour is the door? When was it painted?", "when", "colour door painted"),
        ("What does he do when he is tired?", "", "when tired"),
        ("Who goes to the market?", "goes", "market"),
        ("Wo wohnt Tomás?", "wo", "wohnt tomás"),
        ("Où habite Tomás ?", "où", "habite"),
        ("¿Dónde vive Tomás?", "dónde", "vive"),
        ("Onde mora o Tomás?", "onde", "mora"),
        ("Dove abita Tomás?", "dove", "abita"),
        ("Где живёт Томаш?", "где", "живёт томаш"),
        ("トマスはどこに住んでいますか", "どこ", "トマ 住"),
        ("誰が担当ですか", "誰", "担当"),
        ("托马斯住在哪里？", "哪", "托马 住"),
        ("服务器用什么端口", "什么", "服务 端口"),
        ("port 8080", "", "port 8080"),
    ],
)
def test_query_terms_of_words_that_ask_weigh_little(query: str, light: str, weighty: str) -> None:
    terms = query_terms(query)
    assert list(terms) == list(dict.fromkeys(search_terms(query)))
    assert {word: terms[word] for word in light.split()} == dict.fromkeys(
        light.split(), LIGHT_WEIGHT
    )
    assert {word: terms[word] for word in weighty.split()} == dict.fromkeys(weighty.split(), 1.0)


def test_query_terms_shared_with_a_weighty_word_weigh_in_full() -> None:
    terms = query_terms("Where is the wherewithal?")
    assert terms["wher"] == 1.0
    assert terms["where"] == LIGHT_WEIGHT


def test_query_terms_of_question_words_alone_are_all_light() -> None:
    assert set(query_terms("Where? When?").values()) == {LIGHT_WEIGHT}
    assert query_terms("… ?") == {}


@pytest.mark.parametrize(
    ("query", "right", "wrong"),
    [
        (
            "Where does Tomás live?",
            "Tomás lives in Lisbon with his sister.",
            "LaunchDarkly is where our feature flags live.",
        ),
        (
            "When does Priya start?",
            "Priya starts on the third of May.",
            "The alarm rings when the pumps start.",
        ),
        (
            "Who makes the invoices?",
            "Invoices come from Harlan's team.",
            "Ask who makes the coffee before nine.",
        ),
        (
            "Wo wohnt Tomás?",
            "Tomás lebt und wohnt seit Mai in Lissabon.",
            "Im Wiki steht, wo alles wohnt und liegt.",
        ),
        (
            "¿Dónde vive Tomás?",
            "Tomás vive en Lisboa.",
            "El manual dice dónde vive cada servicio.",
        ),
        (
            "トマスはどこに住んでいますか",
            "トマスはリスボン在住です。",
            "どこに何があるかは棚札に書く。",
        ),
        ("托马斯住在哪里？", "托马斯的家在里斯本。", "哪里有插座看平面图。"),
    ],
)
def test_recall_of_a_question_finds_what_it_is_about_before_what_asks(
    tmp_path: Path, query: str, right: str, wrong: str
) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding(UseEmbedder())) as store:
        ids = {
            text: store.save(text, text_only=True)
            for text in (wrong, right, "The printer is out of toner.", "Mina likes plums.")
        }
        for mode in (RecallMode.HYBRID, RecallMode.LEXICAL):
            hits = store.recall(RecallQuery("anna", query, k=1, mode=mode, touch=False)).hits
            assert [hit.memory.id for hit in hits] == [ids[right]], mode
