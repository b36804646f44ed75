"""A typed key is found by its words: without it the text of a memory may say nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.engines import InProcessEmbedding, Store, opened, undo, update
from support.reembedding import reembed, restarted, running, settle, state_of
from support.waits import wait_until
from totonoe_core.base import limits
from totonoe_core.base.errors import Precondition, Unavailable
from totonoe_core.domain.memories import Purge, Update
from totonoe_core.domain.queries import AsOf, RecallMode, RecallQuery
from totonoe_core.domain.records import Fields, TypedKey
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
        for mode in (RecallMode.HYBRID, RecallMode.LEXICAL, RecallMode.VECTOR):
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
        told = store.read(WhyNotQuery(memory_id, recall))
        assert told.standing.missing_words == ("cup",)


def test_key_changes_nothing_of_what_the_guard_compares(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding(UseEmbedder())) as store:
        plain = store.save("Tea with milk", text_only=True)
        keyed = store.save("Tea with milk", text_only=True, key=TypedKey("user", "drink"))
        assert store.one(plain).vector == store.one(keyed).vector


DRINK = TypedKey("user", "favourite drink")


def nearest(store: Store, text: str, **more: Any) -> tuple[str, float]:
    """The memory that is nearest to a text by vectors alone, and how near."""
    query = RecallQuery("anna", text, k=1, mode=RecallMode.VECTOR, touch=False, **more)
    hit = store.recall(query).hits[0]
    return hit.memory.id, hit.cosine_similarity


def test_key_is_as_near_as_its_own_words_and_the_text_as_ever(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        keyed = store.save("Espresso", text_only=True, key=DRINK)
        store.save("The printer is out of toner.", text_only=True)
        assert nearest(store, "user favourite drink") == (keyed, pytest.approx(1.0))
        assert nearest(store, "Espresso") == (keyed, pytest.approx(1.0))


def test_vector_of_a_key_follows_value_key_undo_and_opening(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        store.save("The printer is out of toner.", text_only=True)
        first = store.save("Espresso", text_only=True, key=DRINK)
        newer = store.save("Mate", text_only=True, key=DRINK)
        assert nearest(store, "user favourite drink") == (newer, pytest.approx(1.0))
        store.do(undo(store.revision))
        store.do(Update("anna", first, ("content",), Fields(), "Ristretto"))
        for _ in range(2):
            assert nearest(store, "user favourite drink") == (first, pytest.approx(1.0))
            assert nearest(store, "Ristretto") == (first, pytest.approx(1.0))
            assert nearest(store, "Espresso")[1] < 0.9
            restarted(store, InProcessEmbedding())


def test_past_is_searched_by_its_keys_too(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        store.save("The printer is out of toner.", text_only=True)
        before = AsOf(store.revision)
        first = store.save("Espresso", text_only=True, key=DRINK)
        then = AsOf(store.revision)
        newer = store.save("Mate", text_only=True, key=DRINK)
        for _ in range(2):
            found = nearest(store, "user favourite drink", as_of=then)
            assert found == (first, pytest.approx(1.0))
            assert nearest(store, "user favourite drink", as_of=before)[1] < 0.5
            assert nearest(store, "user favourite drink") == (newer, pytest.approx(1.0))
            restarted(store, InProcessEmbedding())


def test_another_model_embeds_the_keys_again(tmp_path: Path) -> None:
    store = Store(tmp_path, embedding=running("left"))
    try:
        memory_id = store.save("Espresso", text_only=True, key=DRINK)
        assert nearest(store, "user favourite drink") == (memory_id, pytest.approx(1.0))
        restarted(store, running("right"))
        reembed(store)
        settle(store)
        assert nearest(store, "user favourite drink") == (memory_id, pytest.approx(1.0))
    finally:
        store.close()


def test_many_keys_of_a_rebuilt_index_are_embedded_behind(tmp_path: Path) -> None:
    count = 3 * limits.EMBED_BATCH_TEXTS_MAX
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        ids = [
            store.save(
                f"value {at}", text_only=True, force=True, key=TypedKey("sensor", f"no {at}")
            )
            for at in range(count)
        ]
        restarted(store, InProcessEmbedding())
        keys = state_of(store).index.keys
        nearest(store, "sensor")
        wait_until(lambda: keys.missing_count <= limits.EMBED_BATCH_TEXTS_MAX, lambda: keys)
        nearest(store, "sensor")
        assert keys.missing_count == 0
        assert nearest(store, "sensor no 5") == (ids[5], pytest.approx(1.0))


def test_purged_key_leaves_neither_words_nor_vector_unless_another_has_it(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        one = store.save("Espresso", text_only=True, key=DRINK)
        store.save("Leuven", text_only=True, key=TypedKey("user", "home"))
        other = store.save("Mate", text_only=True, key=DRINK)
        nearest(store, "anything")
        keys = state_of(store).index.keys
        store.do(Purge("anna", (one,), "wrong"))
        assert nearest(store, "user favourite drink") == (other, pytest.approx(1.0))
        store.do(Purge("anna", (other,), "wrong"))
        assert [word for word in keys._names.words if word] == ["user home"]
        assert [block.vectors.any(axis=1).sum() for block in keys._blocks] == [1]


def test_recall_goes_on_where_the_embedder_fails_at_a_key(tmp_path: Path) -> None:
    class Failing(InProcessEmbedding):
        error: Exception | None = Unavailable("EMBEDDER_BUSY", "busy", retry_delay_ms=1)

        def submit(self, texts: Any) -> Any:
            if self.error is not None and "user favourite drink" in texts:
                raise self.error
            return super().submit(texts)

    embedding = Failing()
    with opened(tmp_path, embedding=embedding) as store:
        memory_id = store.save("Espresso", text_only=True, key=DRINK)
        assert nearest(store, "favourite drink of a user")[1] < 0.5
        embedding.error = None
        assert nearest(store, "user favourite drink") == (memory_id, pytest.approx(1.0))
        second = store.save("Leuven", text_only=True, key=TypedKey("user", "favourite drink two"))
        embedding.error = Precondition("EMBEDDER_MISCONFIGURED", "this text is refused")
        assert nearest(store, "favourite drink two of the user")[0] in (memory_id, second)
        assert state_of(store).index.keys.missing_count == 0


def test_why_not_counts_the_key_as_recall_does(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        memory_id = store.save("Espresso", text_only=True, key=DRINK)
        store.save("The printer is out of toner.", text_only=True)
        recall = RecallQuery("anna", "user favourite drink", k=1, mode=RecallMode.VECTOR)
        told = store.read(WhyNotQuery(memory_id, recall))
        assert (told.standing.place, told.standing.vector.rank) == (1, 1)
        assert told.standing.vector.similarity == pytest.approx(1.0)
