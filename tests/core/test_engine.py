"""Replay of operation ids, collections, lists, and the first vector of a collection."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    EVERY_STATUS,
    NOON,
    HeldEmbedding,
    InProcessEmbedding,
    Store,
    change,
    forget,
    link,
    opened,
    remember,
    update,
    vector_of,
)
from support.reembedding import restarted
from support.waits import wait_s, wait_until
from totonoe_core.base import errors, limits
from totonoe_core.domain.collections import NewCollection
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.policy import PRESETS, Preset, Tokenizer
from totonoe_core.domain.queries import GetQuery, ListQuery, RecallMode, RecallQuery
from totonoe_core.domain.records import Status
from totonoe_core.embedding.hashing import HashingEmbedder
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.search.why_not import WhyNotQuery


def create(
    engine: EmbeddedEngine, name: str, operation_id: str = "", agent: str = "anna", **more: Any
) -> tuple[Any, str, bool]:
    new = NewCollection(name, **({"client_vector_dimension": 8} | more))
    return engine.create_collection(new, operation_id, agent_id=agent).result(wait_s())


class TestReplay:
    def test_operation_again_is_the_first_answer_and_moves_nothing(self, store: Store) -> None:
        command = remember("text")
        first = store.apply(command, operation_id="op-1")
        store.save("something else")
        before = store.revision, store.list(), store.stats().saved_count
        again = store.apply(command, operation_id="op-1")
        assert again.replayed
        assert not first.replayed
        assert (again.operation_id, again.revision, again.results) == (
            "op-1",
            first.revision,
            first.results,
        )
        assert (store.revision, store.list(), store.stats().saved_count) == before

    def test_operation_again_after_restart_is_the_first_answer(self, store: Store) -> None:
        one, two = store.save("one", tags=("a",)), store.save("two")
        commands: list[list[Any]] = [
            [remember("text", attributes={"a": {"$": 1}, "b": [1.5, None, True]})],
            [update(one, importance=5), link(one, two), remember("one")],
            [forget(two, "mem_0123456789ab")],
            [change(("guard.preset", "robotmem"))],
        ]
        first = [
            store.apply(*part, operation_id=f"op-{number}") for number, part in enumerate(commands)
        ]
        store.reopen()
        for number, part in enumerate(commands):
            again = store.apply(*part, operation_id=f"op-{number}")
            assert again.replayed
            assert again.results == first[number].results
            assert again.revision == first[number].revision

    def test_refused_remember_again_is_the_first_answer(self, store: Store) -> None:
        saved = store.save("text")
        first = store.apply(remember("text"), operation_id="op-1")
        assert first.results[0].memory_id == saved
        store.do(forget(saved))
        store.reopen()
        before = store.revision
        again = store.apply(remember("text"), operation_id="op-1")
        assert again.replayed, "the text could be saved now, but the answer was given"
        assert again.results == first.results
        assert store.revision == before

    def test_operation_id_with_another_payload_is_refused(self, store: Store) -> None:
        store.apply(remember("text"), operation_id="op-1")
        before = store.revision
        for command in (remember("other"), remember("text", importance=4), forget("ext:x")):
            with pytest.raises(errors.AlreadyExists) as caught:
                store.apply(command, operation_id="op-1")
            assert caught.value.reason == "OPERATION_ID_REUSED"
        assert store.revision == before

    def test_operation_id_is_the_callers_own_and_the_collections(self, store: Store) -> None:
        create(store.engine, "second")
        first = store.apply(remember("text"), operation_id="op-1")
        other = store.apply(remember("another", agent="ben"), operation_id="op-1")
        assert not other.replayed
        answer = store.engine.apply("second", "op-1", [remember("text")]).result(wait_s())
        assert not answer.replayed
        assert answer.results[0].memory_id != first.results[0].memory_id

    def test_failed_operation_is_not_kept(self, store: Store) -> None:
        command = update("ext:x", importance=5)
        for _ in range(2):
            with pytest.raises(errors.NotFound):
                store.apply(command, operation_id="op-1")
        store.save("text", external_id="x")
        answer = store.apply(command, operation_id="op-1")
        assert not answer.replayed
        assert answer.results[0].memory.fields.importance == 5

    def test_operation_without_id_gets_one_of_its_own(self, store: Store) -> None:
        ids = {store.apply(remember(f"text {number}")).operation_id for number in range(3)}
        assert len(ids) == 3
        assert all(memory_id.startswith("op_") for memory_id in ids)

    def test_replies_are_dropped_after_their_time_and_not_before(self, store: Store) -> None:
        store.apply(remember("text"), operation_id="op-1")
        store.clock.advance((limits.REPLAY_KEPT_S - 1) * 1_000_000)
        store.save("wakes the upkeep")
        assert store.apply(remember("text"), operation_id="op-1").replayed
        store.clock.advance(120 * 1_000_000)
        store.save("wakes it again")
        store.save("and is behind it")
        assert not store.apply(remember("text"), operation_id="op-1").replayed

    def test_operations_of_one_request_each_stand_alone(self, store: Store) -> None:
        futures = store.engine.apply_all(
            "default",
            [
                ("op-1", [remember("one")]),
                ("op-1", [remember("one")]),
                ("op-1", [remember("two")]),
                ("", [remember(" ")]),
                ("", [remember("one")]),
            ],
        )
        first, second = futures[0].result(wait_s()), futures[1].result(wait_s())
        assert second.replayed
        assert second.results == first.results
        with pytest.raises(errors.AlreadyExists):
            futures[2].result(wait_s())
        with pytest.raises(errors.InvalidArgument):
            futures[3].result(wait_s())
        assert not futures[4].result(wait_s()).results[0].saved

    def test_operation_of_no_or_too_many_commands_is_refused(self, store: Store) -> None:
        for commands in ([], [forget("ext:x")] * (limits.COMMANDS_PER_OPERATION_MAX + 1)):
            with pytest.raises(errors.InvalidArgument):
                store.engine.apply("default", "", commands)


class TestRevision:
    def test_revision_counts_what_changed_something(self, store: Store) -> None:
        assert store.revision == 0
        saved = store.save("one")
        store.do(remember("one"))
        store.recall(RecallQuery("anna", "one"))
        store.check(remember("two"))
        assert store.revision == 1
        store.do(update(saved, importance=5))
        store.set(("description", "d"))
        assert store.revision == 3
        store.do(forget(saved))
        store.reopen()
        assert store.revision == 4

    def test_revision_that_a_reader_is_told_is_on_disk(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Found by reading: revision and settings were shown before their commit."""
        from totonoe_core.store.sqlite.collection_file import CollectionFile

        store.save("one")
        deciding, go_on = threading.Event(), threading.Event()
        put = CollectionFile.put_reply

        def slow(self: CollectionFile, *more: Any) -> None:
            if more[1] == "op-wait":
                # Everything of the operation before is decided, nothing is committed.
                deciding.set()
                assert go_on.wait(wait_s())
            put(self, *more)

        monkeypatch.setattr(CollectionFile, "put_reply", slow)
        # However slow the machine is, the operations are one batch.
        monkeypatch.setattr(limits, "BATCH_MS_MAX", 60_000)
        futures = store.engine.apply_all(
            "default",
            [
                ("", [remember("two"), change(("description", "new"))]),
                ("op-wait", [remember("three")]),
            ],
        )
        assert deciding.wait(wait_s())
        try:
            info = store.info()
            assert (info.revision, info.description) == (1, "")
            found = store.recall(RecallQuery("anna", "two", vector_of("two").tobytes()))
            assert found.revision == 1
            assert [hit.memory.content for hit in found.hits] == ["one"]
            page = store.read(ListQuery("anna", EVERY_STATUS, 10, ""))
            assert (page.revision, len(page.memories)) == (1, 1)
        finally:
            go_on.set()
        assert futures[1].result(wait_s()).revision == 3
        assert store.revision == 3


class TestCollections:
    def test_collection_create_again_is_replayed(self, store: Store) -> None:
        first, operation_id, replayed = create(store.engine, "shop", "op-1", description="floor")
        assert (operation_id, replayed) == ("op-1", False)
        again = create(store.engine, "shop", "op-1", description="floor")
        assert again == (first, "op-1", True)
        store.reopen()
        assert create(store.engine, "shop", "op-1", description="floor") == again
        with pytest.raises(errors.AlreadyExists) as caught:
            create(store.engine, "shop", "op-1", description="other")
        assert caught.value.reason == "OPERATION_ID_REUSED"
        with pytest.raises(errors.AlreadyExists) as caught:
            create(store.engine, "shop", description="floor")
        assert caught.value.reason == "COLLECTION_EXISTS"

    def test_collections_share_nothing(self, store: Store) -> None:
        create(store.engine, "shop")
        saved = store.save("text", external_id="x")
        other = Store.__new__(Store)
        other.engine, other.collection = store.engine, "shop"
        assert other.do(remember("text", external_id="x")).saved
        with pytest.raises(errors.NotFound):
            other.get(saved)
        assert other.revision == 1
        other.set(("guard.preset", "ego"))
        assert store.info().guard.preset.value == "standard"

    def test_collection_unknown_or_badly_named_is_typed(self, store: Store) -> None:
        for name, kind in (
            ("nothing", errors.NotFound),
            ("", errors.InvalidArgument),
            ("Shop", errors.InvalidArgument),
            ("../shop", errors.InvalidArgument),
            ("-shop", errors.InvalidArgument),
            ("a" * 65, errors.InvalidArgument),
            ("shop\n", errors.InvalidArgument),
        ):
            with pytest.raises(kind):
                store.engine.get_collection(name).result(wait_s())
            with pytest.raises(kind):
                store.engine.apply(name, "", [remember("text")]).result(wait_s())

    def test_collections_are_listed_by_name_in_pages(self, store: Store) -> None:
        names = ["b", "a", "c.1", "z-9"]
        for name in names:
            create(store.engine, name)
        expected = sorted([*names, "default"])
        for size in (1, 2, 5, 100):
            found, token = [], ""
            while True:
                page = store.engine.list_collections(size, token).result(wait_s())
                assert len(page.collections) <= size
                found += [info.name for info in page.collections]
                token = page.next_page_token
                if not token:
                    break
            assert found == expected
        for token in ("x", base64.urlsafe_b64encode(b"d:a").decode(), "é"):
            with pytest.raises(errors.InvalidArgument) as caught:
                store.engine.list_collections(10, token).result(wait_s())
            assert caught.value.reason == "BAD_PAGE_TOKEN"

    def test_collections_beyond_those_open_at_once_are_served(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "COLLECTIONS_OPEN_MAX", 3)
        saved = {}
        for number in range(8):
            create(store.engine, f"c{number}")
            future = store.engine.apply(f"c{number}", "", [remember(f"text {number}")])
            saved[f"c{number}"] = future.result(wait_s()).results[0].memory_id
        page = store.engine.list_collections(100, "").result(wait_s())
        revisions = {info.name: info.revision for info in page.collections}
        assert revisions == {"default": 0} | dict.fromkeys(saved, 1)
        for name, memory_id in saved.items():
            found = store.engine.read(name, GetQuery("anna", (memory_id,))).result(wait_s())
            assert found.memories[0].id == memory_id

    def test_collections_to_the_limit_then_quota(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "COLLECTIONS_MAX", 2)
        store.revision  # noqa: B018 - makes the default collection
        create(store.engine, "a")
        with pytest.raises(errors.Quota):
            create(store.engine, "b")

    def test_collection_deleted_is_gone_and_its_name_free(self, store: Store) -> None:
        create(store.engine, "shop")
        store.engine.apply("shop", "", [remember("text"), remember("more")]).result(wait_s())
        count, revision, operation_id, replayed = store.engine.delete_collection(
            "shop", "op-9", agent_id="anna"
        ).result(wait_s())
        assert (count, operation_id, replayed) == (2, "op-9", False)
        again = store.engine.delete_collection("shop", "op-9", agent_id="anna").result(wait_s())
        assert again == (2, revision, "op-9", True)
        with pytest.raises(errors.NotFound):
            store.engine.get_collection("shop").result(wait_s())
        with pytest.raises(errors.NotFound):
            store.engine.delete_collection("shop", "", agent_id="anna").result(wait_s())
        create(store.engine, "shop")
        answer = store.engine.apply("shop", "", [remember("text")]).result(wait_s())
        assert (answer.revision, answer.results[0].saved) == (1, True)
        store.reopen()
        assert store.engine.get_collection("shop").result(wait_s()).revision == 1
        files = list((store.path / "collections").glob("*/memory.db"))
        assert len(files) == 2, "the deleted one's file stays; default was never looked at"

    def test_default_collection_cannot_be_deleted(self, store: Store) -> None:
        with pytest.raises(errors.Precondition) as caught:
            store.engine.delete_collection("default", "", agent_id="anna")
        assert caught.value.reason == "DEFAULT_COLLECTION"

    def test_searches_beside_a_deletion_all_end(self, store: Store) -> None:
        """Readers waited for ever for connections of a collection that was gone."""
        create(store.engine, "shop")
        store.engine.apply("shop", "", [remember("text")]).result(wait_s())
        query = RecallQuery("anna", "text")
        futures: list[Future[Any]] = [store.engine.read("shop", query) for _ in range(20)]
        futures.append(store.engine.delete_collection("shop", "", agent_id="anna"))
        for _ in range(20):
            try:
                futures.append(store.engine.read("shop", query))
            except errors.NotFound:
                break
        for future in futures:
            error = future.exception(wait_s())
            assert error is None or isinstance(error, errors.Unavailable | errors.NotFound)
        assert store.recall(query).hits == ()

    def test_collection_made_with_another_model_is_a_typed_mismatch(self, tmp_path: Path) -> None:
        with opened(tmp_path, embedding=InProcessEmbedding()) as store:
            saved = store.save("text", text_only=True)
        with opened(tmp_path, embedding=InProcessEmbedding(HashingEmbedder(32))) as store:
            for step in (
                lambda: store.do(remember("new", text_only=True)),
                lambda: store.check(remember("new", text_only=True)),
                lambda: store.recall(RecallQuery("anna", "text", mode=RecallMode.VECTOR)),
            ):
                with pytest.raises(errors.ModelMismatch, match="re-embedding") as caught:
                    step()
                assert "/64/" in caught.value.details["stamped"]
                assert "/32/" in caught.value.details["running"]
            # It is found by its words, and the answer says why not by more.
            recalled = store.recall(RecallQuery("anna", "text"))
            assert [hit.memory.id for hit in recalled.hits] == [saved]
            assert recalled.arms == ("lexical",)
            assert "re-embedding" in recalled.degraded_because
            standing = store.engine.read("default", WhyNotQuery(saved, RecallQuery("anna", "text")))
            assert standing.result(wait_s()).degraded_because == recalled.degraded_because
            assert store.one(saved).content == "text"
            assert store.do(remember("text", text_only=True)).memory_id == saved
            found = store.recall(RecallQuery("anna", "text", mode=RecallMode.LEXICAL))
            assert len(found.hits) == 1
        with opened(tmp_path) as store:
            with pytest.raises(errors.ModelMismatch, match="start it with that model"):
                store.do(remember("new", text_only=True))
            assert len(store.recall(RecallQuery("anna", "text")).hits) == 1


class TestFirstVector:
    """`client_vector_dimension` 0: the first vector that is stored fixes it."""

    @pytest.fixture
    def store(self, tmp_path: Path):
        with opened(tmp_path, client_vector_dimension=0) as store:
            yield store

    def dimension(self, store: Store) -> int:
        return store.info().model.dimension

    def test_first_vector_fixes_the_dimension_for_good(self, store: Store) -> None:
        assert self.dimension(store) == 0
        store.save("one", vector=vector_of("one", 5))
        assert self.dimension(store) == 5
        for command in (
            remember("two", vector=vector_of("two", 6)),
            update("ext:x", vector=vector_of("two", 4)),
        ):
            error = store.refused(command, errors.InvalidArgument)
            assert error.reason == "DIMENSION_MISMATCH"
        store.reopen()
        assert self.dimension(store) == 5
        assert store.save("two", vector=vector_of("two", 5))
        assert store.revision == 2

    def test_vectors_before_the_first_is_stored_fix_nothing(self, store: Store) -> None:
        vector = vector_of("one", 6)
        found = store.recall(RecallQuery("anna", "one", vector.tobytes()))
        assert found.hits == ()
        assert store.recall(RecallQuery("anna", "one")).hits == ()
        assert store.check(remember("one", vector=vector)).would_save
        with pytest.raises(errors.NotFound):
            store.apply(remember("one", vector=vector), forget("ext:nothing"))
        assert self.dimension(store) == 0
        store.save("one", vector=vector_of("one", 3))
        assert self.dimension(store) == 3

    def test_first_vectors_of_two_writers_let_one_win(self, store: Store) -> None:
        requests = [
            ("", [remember(f"text {at}", vector=vector_of(f"v{at}", size))])
            for at, size in enumerate((4, 7, 4))
        ]
        first, second, third = store.engine.apply_all("default", requests)
        assert first.result(wait_s()).results[0].saved
        with pytest.raises(errors.InvalidArgument) as caught:
            second.result(wait_s())
        assert caught.value.reason == "DIMENSION_MISMATCH"
        assert third.result(wait_s()).revision == 2
        assert self.dimension(store) == 4

    @pytest.mark.parametrize("vector", [b"123", b"12345", bytes(4 * 4097)])
    def test_first_vector_that_is_none_is_refused(self, store: Store, vector: bytes) -> None:
        from dataclasses import replace

        error = store.refused(replace(remember("text"), vector=vector), errors.InvalidArgument)
        assert error.reason == "DIMENSION_MISMATCH"
        assert self.dimension(store) == 0

    def test_text_without_vector_fixes_nothing(self, store: Store) -> None:
        store.save("text", text_only=True)
        assert self.dimension(store) == 0

    def test_text_without_vector_under_a_model_names_what_is_missing(self, store: Store) -> None:
        assert self.dimension(store) == 0
        restarted(store, InProcessEmbedding())
        with pytest.raises(errors.InvalidArgument, match="re-embedding") as caught:
            store.apply(remember("text", text_only=True))
        assert caught.value.reason == "VECTOR_REQUIRED"


class TestList:
    def test_list_of_equal_created_times_is_stable_and_whole(self, store: Store) -> None:
        commands = [remember(f"text {number}", created_us=NOON) for number in range(57)]
        store.apply(*commands)
        expected = sorted(memory.id for memory in store.list())
        for size in (1, 7, 56, 57, 1000):
            assert [memory.id for memory in store.list(page_size=size)] == expected

    def test_list_tokens_survive_writes_between_pages(self, store: Store) -> None:
        ids = [
            store.save(f"text {number}", created_us=NOON - 1000 + number) for number in range(20)
        ]
        page = store.read(ListQuery("anna", Filter(), 5, ""))
        assert [memory.id for memory in page.memories] == ids[:5]
        store.do(forget(ids[4], ids[7]))  # the token's own memory, and one to come
        store.do(update(ids[5], content="changed"))
        store.save("before", created_us=NOON - 10**9)
        after = store.save("after", created_us=NOON)
        store.reopen()
        token, rest = page.next_page_token, []
        while token:
            page = store.read(ListQuery("anna", Filter(), 5, token))
            rest += [memory.id for memory in page.memories]
            token = page.next_page_token
        assert rest == [memory_id for memory_id in ids[5:] if memory_id != ids[7]] + [after]

    def test_list_with_a_token_that_is_not_its_own_is_refused(self, store: Store) -> None:
        store.apply(*(remember(f"text {number}") for number in range(3)))
        page = store.read(ListQuery("anna", Filter(), 1, ""))
        data = json.loads(base64.urlsafe_b64decode(page.next_page_token))

        def token(*values: Any) -> str:
            return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()

        bad = [
            "x",
            "é",
            token(1),
            token(None, "a", data[2]),
            token(2**80, "a", data[2]),
            token(float("inf"), "a", data[2]),
            token(data[0], data[1], "0"),
            base64.urlsafe_b64encode(b"c:name").decode(),
        ]
        for text in bad:
            with pytest.raises(errors.InvalidArgument) as caught:
                store.read(ListQuery("anna", Filter(), 1, text))
            assert caught.value.reason == "BAD_PAGE_TOKEN", text
        with pytest.raises(errors.InvalidArgument):
            other = Filter(categories=("a",))
            store.read(ListQuery("anna", other, 1, page.next_page_token))
        for size in (0, -1, limits.PAGE_SIZE_MAX + 1):
            with pytest.raises(errors.InvalidArgument):
                store.read(ListQuery("anna", Filter(), size, ""))

    def test_list_hides_what_is_private_to_others(self, store: Store) -> None:
        mine, ours = store.save("mine", private=True), store.save("ours")
        assert {memory.id for memory in store.list()} == {mine, ours}
        assert {memory.id for memory in store.list(agent="ben")} == {ours}


class TestGet:
    def test_get_keeps_the_order_and_lists_what_is_missing(self, store: Store) -> None:
        one, two = store.save("one", external_id="x"), store.save("two")
        found = store.get(two, "mem_0123456789ab", "ext:x", two, "ext:y")
        assert [memory.id for memory in found.memories] == [two, one, two]
        assert found.missing_ids == ("mem_0123456789ab", "ext:y")
        with pytest.raises(errors.NotFound):
            store.get("ext:y")

    def test_get_of_bad_or_too_many_ids_is_refused(self, store: Store) -> None:
        for ids in ((), ("ext:",), ("mem_0123456789ab",) * 1001):
            with pytest.raises(errors.InvalidArgument):
                store.get(*ids)
        with pytest.raises(errors.NotFound):
            store.get("mem_xyz")


class TestStats:
    def test_stats_count_what_happened(self, store: Store) -> None:
        one, two = store.save("one"), store.save("two")
        store.do(link(one, two))
        store.do(remember("one"))
        store.do(forget(store.save("three")))
        store.recall(RecallQuery("anna", "one"))
        figures = store.stats()
        assert (figures.active_count, figures.forgotten_count, figures.total_count) == (2, 1, 3)
        assert (figures.saved_count, figures.refused_counts) == (3, {"exact": 1})
        assert (figures.link_count, figures.recall_count) == (1, 1)
        assert figures.kind_counts == {"state/fact": 2}
        assert figures.revision == store.revision == 5
        assert figures.state == "serving"

    def test_stats_count_private_memories_and_their_links_for_their_own_agent(
        self, store: Store
    ) -> None:
        shown = store.save("public")
        hidden = store.save("berta's", agent="berta", private=True)
        other = store.save("berta's too", agent="berta", private=True)
        store.apply(link(hidden, shown, agent="berta"), link(hidden, other, agent="berta"))
        store.do(forget(other, agent="berta"))

        def counts(agent: str) -> tuple[int, int, int, int, dict[str, int]]:
            found = store.stats(agent)
            return (
                found.active_count,
                found.total_count,
                found.forgotten_count,
                found.link_count,
                found.kind_counts,
            )

        assert counts("anna") == (1, 1, 0, 0, {"state/fact": 1})
        assert counts("berta") == (2, 3, 1, 1, {"state/fact": 2})

    def test_stats_after_updates_count_each_memory_once(self, store: Store) -> None:
        saved = store.save("one")
        for number in range(3):
            store.do(update(saved, content=f"text {number}"))
        figures = store.stats()
        assert (figures.active_count, figures.total_count) == (1, 1)


class TestClosed:
    def test_closed_engine_refuses_every_call(self, store: Store) -> None:
        engine = store.engine
        store.save("text")
        engine.close(wait_s())
        engine.close(wait_s())
        calls = [
            lambda: engine.apply("default", "", [remember("more")]),
            lambda: engine.preview("default", remember("more")),
            lambda: engine.read("default", RecallQuery("anna", "text")),
            lambda: engine.read("default", GetQuery("anna", ("ext:x",))),
            lambda: engine.read("default", ListQuery("anna", Filter(), 1, "")),
            lambda: engine.preview("default", forget("ext:x")),
            lambda: engine.get_collection("default"),
            lambda: engine.list_collections(1, ""),
            lambda: engine.delete_collection("shop", "", agent_id="anna"),
            lambda: engine.stats("", ""),
            lambda: engine.create_collection(
                NewCollection("shop", client_vector_dimension=8), "", agent_id="anna"
            ),
        ]
        for number, call in enumerate(calls):
            with pytest.raises(errors.Unavailable) as caught:
                call().result(wait_s())
            assert caught.value.reason == "SHUTTING_DOWN", number

    def test_write_that_waits_for_the_embedder_is_told_of_the_end(self, tmp_path: Path) -> None:
        embedding = HeldEmbedding()
        store = Store(tmp_path, embedding=embedding)
        future = store.engine.apply("default", "", [remember("text", text_only=True)])
        store.info()
        store.check(remember("a vector is here", vector=vector_of("x", 64)))
        embedding.wait_held()
        embedding.release(errors.Unavailable("SHUTTING_DOWN", "ends", retry_delay_ms=1))
        with pytest.raises(errors.Unavailable):
            future.result(wait_s())
        store.close()
        with opened(tmp_path, embedding=InProcessEmbedding()) as again:
            assert again.list() == []


class TestLongNotes:
    """One new sentence in a long note is never refused under `standard`."""

    SENTENCE = "The spare key now hangs behind the blue cabinet."
    NOTE = (
        "The left pump was serviced on Monday and runs without noise. "
        "Filters come from the depot in Graz, four at a time. "
        "Who opens the cage signs the list beside the door. "
        "Torque for the flange bolts is 38 Nm, cold and dry. "
        "On nights the alarm goes to the porter, who calls the fitter. "
    )

    def note(self, size: int) -> str:
        text = ""
        for number in range(1, 1 + size // 100):
            text += f"Entry {number}. " + self.NOTE
        return text[:size]

    def check(self, store: Store, size: int) -> None:
        note = self.note(size)
        store.save(note, text_only=True)
        for longer in (f"{note} {self.SENTENCE}", f"{self.SENTENCE} {note}"):
            assert store.check(remember(longer, text_only=True)).would_save
        middle = note.index(". ", size // 2) + 2
        assert store.do(
            remember(f"{note[:middle]}{self.SENTENCE} {note[middle:]}", text_only=True)
        ).saved
        assert not store.do(remember(note, text_only=True)).saved

    @pytest.mark.parametrize("size", [500, 1000, 4000])
    def test_new_sentence_is_saved_with_hashed_vectors(self, tmp_path: Path, size: int) -> None:
        with opened(tmp_path, embedding=InProcessEmbedding(HashingEmbedder(384))) as store:
            self.check(store, size)

    def test_new_sentence_is_saved_with_the_bundled_model(self, tmp_path: Path) -> None:
        from totonoe_core.embedding.use import UseEmbedder

        with opened(tmp_path, embedding=InProcessEmbedding(UseEmbedder())) as store:
            for size in (500, 1000, 4000):
                self.check(store, size)


def test_given_vector_wins_over_the_texts(tmp_path: Path) -> None:
    embedding = InProcessEmbedding()
    with opened(tmp_path, embedding=embedding) as store:
        given = vector_of("given", 64)
        saved = store.save("text", vector=given)
        np.testing.assert_array_equal(np.frombuffer(store.one(saved).vector, "<f4"), given)
        assert embedding.texts == []
        store.do(remember("text", text_only=True))
        assert embedding.texts == [], "equal text is told before anything is embedded"
        other = store.save("other", text_only=True)
        expected = embedding.vectors(["other"])[0]
        np.testing.assert_array_equal(np.frombuffer(store.one(other).vector, "<f4"), expected)


@pytest.mark.parametrize("at_once", [False, True])
def test_text_that_cannot_be_embedded_fails_its_own_item_only(
    tmp_path: Path, at_once: bool
) -> None:
    embedding = HeldEmbedding()
    error = errors.Precondition("EMBEDDER_MISCONFIGURED", "a text is refused", field="content")
    ordinary = embedding.submit

    def submit(texts: Sequence[str]) -> Future[np.ndarray]:
        if at_once and texts == ["refused"]:
            raise error
        return ordinary(texts)

    embedding.submit = submit
    contents = ["red apples", "refused", "blue pears", "red apples", "green plums"]
    with opened(tmp_path, embedding=embedding) as store:
        futures = store.engine.apply_all(
            "default", [("", (remember(content, text_only=True),)) for content in contents]
        )
        wait_until(lambda: len(embedding.held) == 5 - at_once)
        # Answered from the last to the first: the items are still decided in their order.
        held, embedding.held = embedding.held, []
        for texts, future in reversed(held):
            if texts == ["refused"]:
                future.set_exception(error)
            else:
                future.set_result(embedding.vectors(texts))
        with pytest.raises(errors.Precondition):
            futures[1].result(wait_s())
        answers = [futures[i].result(wait_s()) for i in (0, 2, 3, 4)]
    assert [answer.revision for answer in answers] == [1, 2, 2, 3]
    assert [answer.results[0].saved for answer in answers] == [True, True, False, True]


def test_presets_carry_the_thresholds_of_their_sources(store: Store) -> None:
    ego, robotmem = PRESETS[Preset.EGO], PRESETS[Preset.ROBOTMEM]
    assert (ego.cosine_distance_below, ego.exact, ego.jaccard_above) == (0.05, False, None)
    assert (ego.cosine_at_least, ego.session_cosine_at_least) == (None, None)
    assert (ego.link_distance_below, ego.judged_from) == (0.3, None)
    assert (robotmem.exact, robotmem.jaccard_above, robotmem.cosine_at_least) == (True, 0.7, 0.85)
    assert (robotmem.session_cosine_at_least, robotmem.similar_above) == (0.85, 0.4)
    assert (robotmem.tokenizer, robotmem.judged_from) == (Tokenizer.WHITESPACE, None)
    for preset in Preset:
        store.set(("guard.preset", preset.value))
        info = store.info()
        assert info.guard == PRESETS[preset]


def test_forgotten_status_is_listed_only_when_asked(store: Store) -> None:
    saved = store.save("text")
    store.do(forget(saved))
    assert store.list(where=Filter()) == []
    found = store.list(where=Filter(statuses=(Status.FORGOTTEN,)))
    assert [memory.id for memory in found] == [saved]
