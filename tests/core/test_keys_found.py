"""A typed key is found by its words: without it the text of a memory may say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.engines import InProcessEmbedding, opened, update
from support.waits import wait_s
from totonoe_core.domain.queries import RecallMode, RecallQuery
from totonoe_core.domain.records import TypedKey
from totonoe_core.embedding.use import UseEmbedder
from totonoe_core.search.why_not import WhyNotQuery

OTHERS = ("The printer is out of toner.", "Lena drinks tea in the morning.", "Mina likes plums.")


@pytest.mark.parametrize(
    ("text", "key", "query"),
    [
        ("Espresso", TypedKey("user", "favourite drink"), "what does the user drink"),
        ("5433", TypedKey("staging database", "port"), "Which port has the staging database?"),
        ("blue", TypedKey("grip_force sensor", "cableColour"), "colour of the grip force cable"),
        ("Kyoto", TypedKey("ミカ", "出身地"), "ミカの出身地はどこですか"),
        ("上海", TypedKey("小王", "居住城市"), "小王居住在哪个城市"),
        ("Montag", TypedKey("Werkstatt", "Ruhetag"), "Wann hat die Werkstatt Ruhetag?"),
    ],
)
def test_memory_is_found_by_the_words_of_its_key(
    tmp_path: Path, text: str, key: TypedKey, query: str
) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding(UseEmbedder())) as store:
        for other in OTHERS:
            store.save(other, text_only=True)
        memory_id = store.save(text, text_only=True, key=key)
        for mode in (RecallMode.HYBRID, RecallMode.LEXICAL):
            hit = store.recall(RecallQuery("anna", query, k=1, mode=mode, touch=False)).hits[0]
            assert (hit.memory.id, hit.memory.fields.key) == (memory_id, key)
            assert hit.relevance > 0.2


def test_key_is_found_after_a_new_value_and_after_opening(tmp_path: Path) -> None:
    key = TypedKey("user", "favourite drink")
    with opened(tmp_path) as store:
        store.save("Espresso", key=key)
        newer = store.save("Mate", key=key)
        moved = store.save("Fridays", key=TypedKey("user", "day off"))
        store.do(update(moved, content="Mondays"))

        def found(text: str) -> list[str]:
            query = RecallQuery("anna", text, mode=RecallMode.LEXICAL, touch=False)
            return [hit.memory.id for hit in store.recall(query).hits]

        for _ in range(2):
            assert (found("favourite"), found("day off")) == ([newer], [moved])
            store.reopen()


def test_why_not_lacks_no_word_that_the_key_has(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        memory_id = store.save("Espresso", key=TypedKey("user", "favourite drink"))
        recall = RecallQuery("anna", "favourite cup of the user", mode=RecallMode.LEXICAL)
        told = store.engine.read(store.collection, WhyNotQuery(memory_id, recall)).result(wait_s())
        assert told.standing.missing_words == ("cup",)


def test_key_changes_nothing_of_what_the_guard_compares(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding(UseEmbedder())) as store:
        plain = store.save("Tea with milk", text_only=True)
        keyed = store.save("Tea with milk", text_only=True, key=TypedKey("user", "drink"))
        assert store.one(plain).vector == store.one(keyed).vector
