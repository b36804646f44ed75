"""The calls over the real engine, once each, as a client without our library sees them."""

from __future__ import annotations

from typing import Any

import grpc

from support.serving import serving
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import types_pb2


def test_remember_saves_then_refuses_and_names_the_first(wire):
    collection = wire.collection()
    first = wire.remember("The port is 8080.", collection, agent_id="a")
    assert first.saved
    assert first.memory_id.startswith("mem_")
    assert first.method == types_pb2.METHOD_NONE
    assert first.revision == 1
    second = wire.remember("The  port is 8080. ", collection, agent_id="b")
    assert not second.saved
    assert second.memory_id == first.memory_id
    assert second.method == types_pb2.METHOD_EXACT
    assert second.duplicate.memory_id == first.memory_id
    assert second.duplicate.snippet == "The port is 8080."
    assert second.duplicate.similarity == 1.0
    assert second.revision == 1
    assert {layer.layer for layer in second.layers}
    other = wire.remember("The port is 8081.", collection, agent_id="b")
    assert other.saved


def test_remember_again_with_its_operation_id_is_replayed(wire):
    collection = wire.collection()
    first = wire.remember("Ada plays chess.", collection, operation_id="op-7")
    again = wire.remember("Ada plays chess.", collection, operation_id="op-7")
    assert (first.replayed, again.replayed) == (False, True)
    again.replayed = False
    assert again == first


def test_check_tells_and_saves_nothing(wire):
    collection = wire.collection()
    request = pb.CheckRequest(collection=collection, memory={"content": "Tea is hot."})
    assert wire.memory.Check(request, timeout=10).would_save
    wire.remember("Tea is hot.", collection)
    checked = wire.memory.Check(request, timeout=10)
    assert (checked.would_save, checked.method) == (False, types_pb2.METHOD_EXACT)
    stats = wire.admin.Stats(admin_pb.StatsRequest(collection=collection), timeout=10)
    assert stats.collections[0].active_count == 1


def test_texts_that_are_not_read_to_their_end_are_counted_by_the_layer(wire):
    collection = wire.collection()
    words = [f"word{number}" for number in range(800)]
    wire.remember(" ".join(words), collection)
    answer = wire.remember(" ".join(words[1:]) + " more", collection)
    assert answer.saved
    counts = {layer.layer: layer.unread_count for layer in answer.layers}
    assert counts[types_pb2.METHOD_COSINE] == 1
    (evidence,) = answer.similar[0].judgement.evidence
    assert evidence.finding == types_pb2.FINDING_OVER_BUDGET


def test_a_second_summary_of_a_thread_is_the_next_version_of_the_first(wire):
    collection = wire.collection()
    draft = {"state_kind": types_pb2.STATE_KIND_SUMMARY, "thread_id": "t"}
    first = wire.remember("Ada asked for tea.", collection, agent_id="ann", **draft)
    assert (first.saved, first.grown_id) == (True, "")
    request = pb.CheckRequest(
        collection=collection, agent_id="ben", memory={"content": "Ada got her tea.", **draft}
    )
    told = wire.memory.Check(request, timeout=10)
    assert (told.would_save, told.grown_id) == (True, first.memory_id)
    second = wire.remember("Ada got her tea.", collection, agent_id="ben", **draft)
    assert (second.saved, second.memory_id, second.grown_id) == (True, *[first.memory_id] * 2)
    assert (second.verdict, second.revision) == (types_pb2.VERDICT_UPDATE, first.revision + 1)
    found = wire.memory.Get(pb.GetRequest(collection=collection, ids=[first.memory_id]), timeout=10)
    assert [memory.content for memory in found.memories] == ["Ada got her tea."]
    # Of what is private nobody else is told, nor grows it.
    private = wire.remember("Ada is tired.", collection, agent_id="ann", private=True, **draft)
    assert private.grown_id == ""
    third = wire.remember("Ada went home.", collection, agent_id="ben", private=True, **draft)
    assert (third.saved, third.grown_id) == (True, "")


def test_what_was_replaced_is_named_when_it_is_said_again(wire):
    collection = wire.collection()
    draft = {"content": "The staging port is 8080"}
    old = wire.remember("The staging port is 8080", collection)
    new = pb.RememberRequest(
        collection=collection,
        memory={"content": "The staging port is 8081"},
        on_update=types_pb2.ACTION_SUPERSEDE,
    )
    (first,) = wire.memory.RememberMany(iter([pb.RememberManyRequest(items=[new])]), timeout=10)
    replaced_by = first.results[0].answer
    assert list(replaced_by.superseded_ids) == [old.memory_id]
    would = wire.memory.Check(pb.CheckRequest(collection=collection, memory=draft), timeout=10)
    item = pb.RememberRequest(
        collection=collection, memory=draft, on_update=types_pb2.ACTION_SUPERSEDE
    )
    (many,) = wire.memory.RememberMany(iter([pb.RememberManyRequest(items=[item])]), timeout=10)
    answer = many.results[0].answer
    assert (would.would_save, answer.saved, list(answer.superseded_ids)) == (True, True, [])
    for outdated in (would.outdated, answer.outdated):
        assert (outdated.memory_id, outdated.replaced_by_id) == (
            old.memory_id,
            replaced_by.memory_id,
        )
    recalled = wire.memory.Recall(
        pb.RecallRequest(collection=collection, text="What is the staging port?"), timeout=10
    )
    assert [hit.memory.id for hit in recalled.hits] == [replaced_by.memory_id, answer.memory_id]


def test_text_that_says_less_is_refused_where_the_collection_says_so(wire):
    collection = wire.collection()
    wire.remember("Backups run nightly. The restore is tested monthly.", collection)
    answer = wire.remember("Backups run nightly.", collection)
    assert (answer.saved, answer.verdict) == (True, types_pb2.VERDICT_CONTAINED)
    wire.memory.Forget(pb.ForgetRequest(collection=collection, ids=[answer.memory_id]), timeout=10)
    request = pb.RememberRequest(
        collection=collection,
        memory={"content": "Backups run nightly."},
        on_contained=types_pb2.ACTION_REFUSE,
    )
    refused = wire.memory.Remember(request, timeout=10)
    assert not refused.saved
    evidence = refused.duplicate.judgement.evidence
    assert [line.finding for line in evidence] == [
        types_pb2.FINDING_MISSING,
        types_pb2.FINDING_SEPARATE,
    ]


def test_stream_decides_items_in_order_whatever_brings_a_vector(wire):
    collection = wire.collection()
    vector = (
        wire.memory.Get(
            pb.GetRequest(
                collection=collection,
                ids=[wire.remember("Something to get a vector of.", collection).memory_id],
                include_vectors=True,
            ),
            timeout=10,
        )
        .memories[0]
        .vector
    )
    items = []
    for number in range(50):
        text = f"Sensor {number} stands in hall {number * 7}."
        items.append({"collection": collection, "memory": {"content": text}})
        items.append({"collection": collection, "memory": {"content": text, "vector": vector}})
    messages = [pb.RememberManyRequest(items=items[at : at + 10]) for at in range(0, 100, 10)]
    results = [
        result for answer in wire.memory.RememberMany(iter(messages), timeout=60)
        for result in answer.results
    ]  # fmt: skip
    assert len(results) == 100
    for first, second in zip(results[::2], results[1::2], strict=True):
        assert first.answer.saved
        assert not second.answer.saved
        assert second.answer.memory_id == first.answer.memory_id


def test_get_list_recall_show_what_was_remembered(wire):
    collection = wire.collection()
    saved = wire.remember(
        "Gripper force is 12.5 N.", collection, agent_id="robot", category="constraint",
        tags=["arm"], importance=5, private=True, attributes={"line": 3},
    )  # fmt: skip
    request = pb.GetRequest(
        collection=collection, ids=[saved.memory_id], agent_id="robot", include_vectors=True
    )
    memory = wire.memory.Get(request, timeout=10).memories[0]
    assert memory.content == "Gripper force is 12.5 N."
    assert (memory.category, memory.importance, list(memory.tags)) == ("constraint", 5, ["arm"])
    assert memory.attributes["line"] == 3
    assert memory.private
    assert len(memory.vector) == 384 * 4
    listed = wire.memory.List(
        pb.ListRequest(collection=collection, agent_id="robot", filter={"tags": ["arm"]}),
        timeout=10,
    )
    assert [item.id for item in listed.memories] == [saved.memory_id]
    assert listed.memories[0].vector == b""
    recall = pb.RecallRequest(collection=collection, agent_id="robot", text="gripper force")
    hit = wire.memory.Recall(recall, timeout=10).hits[0]
    assert hit.memory.id == saved.memory_id
    assert hit.fused_rank == 1
    assert hit.HasField("cosine_similarity")
    recall.agent_id = "somebody else"
    assert len(wire.memory.Recall(recall, timeout=10).hits) == 0


def test_list_pages_survive_writes(wire):
    collection = wire.collection()
    ids = [wire.remember(f"Fact {i} about {i * 31}.", collection).memory_id for i in range(7)]
    seen, token = [], ""
    for _ in range(10):
        page = wire.memory.List(
            pb.ListRequest(collection=collection, page_size=3, page_token=token), timeout=10
        )
        seen += [memory.id for memory in page.memories]
        token = page.next_page_token
        if not token:
            break
        wire.remember(f"Written between pages, {token[:8]} {len(seen)}.", collection)
    assert seen[:7] == ids


def test_update_changes_what_the_mask_names_and_nothing_else(wire):
    collection = wire.collection()
    saved = wire.remember("The gate opens at 8.", collection, category="fact", tags=["x"])
    update = pb.UpdateRequest(
        collection=collection, memory_id=saved.memory_id, reason="moved",
        memory={"content": "The gate opens at 9.", "category": "ignored"},
        update_mask={"paths": ["content", "tags"]}, expected_revision=saved.revision,
    )  # fmt: skip
    updated = wire.memory.Update(update, timeout=10)
    assert updated.updated
    assert updated.memory.content == "The gate opens at 9."
    assert (updated.memory.category, list(updated.memory.tags)) == ("fact", [])
    assert updated.revision == updated.memory.revision == 2


def test_link_forget_and_unlink_keep_both_sides_in_step(wire):
    collection = wire.collection()
    a = wire.remember("Ann lives in Rome.", collection).memory_id
    b = wire.remember("The mill burned down.", collection).memory_id
    linked = wire.memory.Link(
        pb.LinkRequest(
            collection=collection, source_id=a, target_id=b, type="LINK_TYPE_CAUSES", note="n"
        ),
        timeout=10,
    )
    assert linked.created
    assert (linked.link.target_id, linked.link.confidence) == (b, 0.5)
    assert linked.inverse.type == types_pb2.LINK_TYPE_CAUSED_BY
    dry = wire.memory.Forget(
        pb.ForgetRequest(collection=collection, ids=[b], dry_run=True), timeout=10
    )
    assert (dry.dry_run, dry.unlinked_count, dry.operation_id) == (True, 1, "")
    removed = wire.memory.Unlink(
        pb.UnlinkRequest(collection=collection, source_id=a, target_id=b), timeout=10
    )
    assert [link.target_id for link in removed.removed] == [b]
    done = wire.memory.Forget(
        pb.ForgetRequest(collection=collection, ids=[b, "mem_0123456789abcdef"]), timeout=10
    )
    assert [memory.id for memory in done.forgotten] == [b]
    assert done.missing_ids == ["mem_0123456789abcdef"]
    assert done.unlinked_count == 0
    gone = wire.memory.Get(pb.GetRequest(collection=collection, ids=[b]), timeout=10)
    assert gone.memories[0].status == types_pb2.STATUS_FORGOTTEN


def test_forget_of_many_goes_through_the_measured_way(wire):
    collection = wire.collection()
    ids = [wire.remember(f"Item {i} of {i * 17}.", collection).memory_id for i in range(20)]
    done = wire.memory.Forget(
        pb.ForgetRequest(collection=collection, ids=ids, operation_id="f"), timeout=20
    )
    assert len(done.forgotten) == 20
    again = wire.memory.Forget(
        pb.ForgetRequest(collection=collection, ids=ids, operation_id="f"), timeout=20
    )
    assert again.replayed
    assert len(again.forgotten) == 20


def test_collections_are_made_changed_listed_and_taken_away(wire):
    made = wire.admin.CreateCollection(
        admin_pb.CreateCollectionRequest(
            name="life", guard={"preset": "PRESET_ROBOTMEM"}, operation_id="make"
        ),
        timeout=10,
    )
    assert made.collection.guard.jaccard_above == 0.7
    assert not made.collection.guard.HasField("cosine_distance_below")
    assert made.collection.guard.tokenizer == types_pb2.TOKENIZER_WHITESPACE
    changed = wire.admin.UpdateCollection(
        admin_pb.UpdateCollectionRequest(
            name="life", collection={"description": "d"},
            update_mask={"paths": ["description", "guard.jaccard_above"]},
        ),
        timeout=10,
    )  # fmt: skip
    assert changed.collection.description == "d"
    assert not changed.collection.guard.HasField("jaccard_above")
    whole = wire.admin.UpdateCollection(
        admin_pb.UpdateCollectionRequest(
            name="life", collection={"guard": {"preset": "PRESET_EGO"}},
            update_mask={"paths": ["guard"]},
        ),
        timeout=10,
    )  # fmt: skip
    assert whole.collection.guard.preset == types_pb2.PRESET_EGO
    assert whole.collection.guard.exact is False
    got = wire.admin.GetCollection(admin_pb.GetCollectionRequest(name="life"), timeout=10)
    assert got.collection == whole.collection
    names = [
        collection.name
        for collection in wire.admin.ListCollections(
            admin_pb.ListCollectionsRequest(page_size=1000), timeout=20
        ).collections
    ]
    assert "life" in names
    assert "default" in names
    assert names == sorted(names)
    wire.remember("Something in it.", "life")
    gone = wire.admin.DeleteCollection(
        admin_pb.DeleteCollectionRequest(name="life", operation_id="end"), timeout=20
    )
    assert gone.active_count == 1


def test_compare_shows_what_the_presets_would_do(wire):
    compared = wire.admin.Compare(
        admin_pb.CompareRequest(text_a="Port 8080 is open.", text_b="port 8080 is open"),
        timeout=20,
    )
    assert not compared.same_text
    assert compared.same_words
    assert compared.HasField("cosine_similarity")
    assert {outcome.preset for outcome in compared.presets} == {
        types_pb2.PRESET_STANDARD,
        types_pb2.PRESET_EGO,
        types_pb2.PRESET_ROBOTMEM,
    }
    assert compared.model.name == "hashing"


def test_stats_hold_the_figures_of_the_process(wire):
    wire.remember("A thing to count.", wire.collection())
    stats = wire.admin.Stats(admin_pb.StatsRequest(), timeout=20)
    assert stats.cpu_s > 0
    assert stats.rss_bytes > 10_000_000
    assert stats.started_time.seconds > 1_600_000_000
    assert stats.version
    assert stats.embedder_state == "ready"
    assert stats.collection_count >= 1
    assert all(collection.state == "serving" for collection in stats.collections)


def test_what_was_remembered_is_there_after_a_restart(tmp_path):
    from totonoe.v1 import memory_service_pb2_grpc

    with serving(tmp_path / "data") as server:
        address = server.address
        with grpc.insecure_channel(address) as channel:
            stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
            saved = stub.Remember(
                pb.RememberRequest(memory={"content": "It lasts."}, operation_id="one"), timeout=30
            )
            assert saved.saved
        server.stop()
        server.start()
        assert server.address == address
        with grpc.insecure_channel(address) as channel:
            stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
            again = stub.Remember(
                pb.RememberRequest(memory={"content": "It lasts."}, operation_id="one"), timeout=30
            )
            assert again.replayed
            assert again.memory_id == saved.memory_id


def test_revision_that_a_data_directory_has_not_is_refused_at_once(wire: Any, fails: Any) -> None:
    collection = wire.collection()
    said = wire.remember("the heating is set to 21 degrees", collection)
    request = pb.ListRequest(collection=collection, min_revision=said.revision)
    assert len(wire.memory.List(request, timeout=30).memories) == 1
    request.min_revision += 1
    failure = fails(wire.memory.List, request)
    assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "NOT_CAUGHT_UP")
    assert failure.retry_delay_ms
