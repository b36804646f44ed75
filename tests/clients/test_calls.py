"""Each call sends what was said and reads back what was answered, in both clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from support.scripted import scripted
from totonoe import (
    AsyncClient,
    Client,
    DecayPolicy,
    DiversityPolicy,
    GuardPolicy,
    Method,
    TimeRange,
    Verdict,
)
from totonoe.call.channel import resolve_address
from totonoe.collections.models import OpenCollections
from totonoe.enums import Preset
from totonoe.memories.models import OutdatedMatch
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import checkpoint_pb2, types_pb2, verify_pb2
from totonoe.v1 import memory_service_pb2 as pb

CREATED = Timestamp(seconds=1_767_225_600)
MEMORY = types_pb2.Memory(
    id="mem_0000000000000001",
    content="The port is 8080.",
    kind=types_pb2.KIND_STATE,
    state_kind=types_pb2.STATE_KIND_FACT,
    status=types_pb2.STATUS_ACTIVE,
    created_time=CREATED,
    updated_time=CREATED,
    importance=3,
    confidence=0.8,
    revision=4,
)
REFUSED = pb.RememberResponse(
    revision=9,
    memory_id="mem_0000000000000001",
    duplicate=types_pb2.Duplicate(
        memory_id="mem_0000000000000001",
        age="3d ago",
        snippet="The port is 8080.",
        similarity=1.0,
        method=types_pb2.METHOD_EXACT,
    ),
    method=types_pb2.METHOD_EXACT,
    similarity=1.0,
    layers=[types_pb2.LayerReport(layer=types_pb2.METHOD_EXACT, ran=True, best_similarity=1.0)],
)

Call = Callable[..., Any]


class Tape:
    """Keeps requests and plays one answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.requests: list[Any] = []

    def __call__(self, request: Any, _context: Any) -> Any:
        self.requests.append(request)
        return self.answer


def test_remember_refused_tells_what_it_repeats(call: Call) -> None:
    tape = Tape(REFUSED)
    with scripted(Remember=tape) as address:
        answer = call(
            address,
            "remember",
            "The port is 8080.",
            tags=["net"],
            importance=4,
            operation_id="op_x",
            options={"agent_id": "planner", "collection": "notes"},
        )
    assert tape.requests == [
        pb.RememberRequest(
            collection="notes",
            operation_id="op_x",
            agent_id="planner",
            memory=types_pb2.MemoryDraft(content="The port is 8080.", tags=["net"], importance=4),
        )
    ]
    assert (answer.saved, answer.duplicate_of) == (False, "mem_0000000000000001")
    assert answer.method is Method.EXACT
    assert answer.layers[0].best_similarity == 1.0
    assert answer.revision == 9


def test_remember_saved_has_no_duplicate(call: Call) -> None:
    tape = Tape(pb.RememberResponse(saved=True, memory_id="mem_1", method=types_pb2.METHOD_NONE))
    with scripted(Remember=tape) as address:
        answer = call(address, "remember", "a", force=True, collection="other")
    assert (answer.saved, answer.duplicate, answer.duplicate_of) == (True, None, None)
    assert answer.grown_id == ""
    assert tape.requests[0].force
    assert tape.requests[0].collection == "other"


def test_remember_names_what_has_grown(call: Call) -> None:
    tape = Tape(pb.RememberResponse(saved=True, memory_id="mem_1", grown_id="mem_1"))
    with scripted(Remember=tape) as address:
        answer = call(address, "remember", "a", state_kind="summary")
    assert (answer.saved, answer.grown_id) == (True, "mem_1")


OUTDATED = types_pb2.OutdatedMatch(
    memory_id="mem_1",
    age="3d ago",
    snippet="port 1",
    replaced_by_id="mem_2",
    replaced_by_snippet="port 2",
)


@pytest.mark.parametrize("name", ["remember", "check"])
def test_answer_names_what_is_said_again(call: Call, name: str) -> None:
    kind = {"remember": pb.RememberResponse, "check": pb.CheckResponse}[name]
    answers = []
    for found in (kind(outdated=OUTDATED), kind()):
        with scripted(**{name.capitalize(): Tape(found)}) as address:
            answers.append(call(address, name, "port 1"))
    assert answers[0].outdated == OutdatedMatch("mem_1", "3d ago", "port 1", "mem_2", "port 2")
    assert answers[1].outdated is None


@pytest.mark.parametrize("name", ["remember", "check"])
def test_action_on_what_says_less_is_sent(call: Call, name: str) -> None:
    kind = {"remember": pb.RememberResponse, "check": pb.CheckResponse}[name]
    tape = Tape(kind(verdict=types_pb2.VERDICT_CONTAINED))
    with scripted(**{name.capitalize(): tape}) as address:
        answer = call(address, name, "a", on_contained="refuse")
    assert answer.verdict is Verdict.CONTAINED
    assert tape.requests[0].on_contained == types_pb2.ACTION_REFUSE


def test_remember_unknown_field_raises_type_error_before_sending(call: Call) -> None:
    with pytest.raises(TypeError, match="colour"):
        call("127.0.0.1:1", "remember", "a", colour="red")


def test_check_tells_what_remember_would(call: Call) -> None:
    found = pb.CheckResponse(
        would_save=True, method=types_pb2.METHOD_NONE, similarity=0.4, grown_id="mem_1"
    )
    tape = Tape(found)
    with scripted(Check=tape) as address:
        answer = call(address, "check", "a", session_id="s1")
    assert (answer.would_save, answer.duplicate_of, answer.similarity) == (True, None, 0.4)
    assert answer.grown_id == "mem_1"
    assert tape.requests[0].memory.session_id == "s1"


def test_collection_shows_what_answers_moved(call: Call) -> None:
    learned = types_pb2.LearnedBounds(
        answer_count=60, same_count=41, shift=0.4, likely_from=0.35, learned_time=CREATED
    )
    collection = types_pb2.Collection(name="notes", learned=learned)
    tape = Tape(admin_pb.GetCollectionResponse(collection=collection))
    with scripted(GetCollection=tape) as address:
        found = call(address, "get_collection", "notes").learned
    assert (found.answer_count, found.same_count, found.likely_from) == (60, 41, 0.35)
    assert found.certain_from is None
    assert found.learned_time == CREATED.ToDatetime(UTC)


def test_calibrate_tells_how_many_pairs_were_the_collections_own(call: Call) -> None:
    found = admin_pb.CalibrateResponse(
        calibration=types_pb2.Calibration(pair_count=14, created_time=CREATED),
        classes=[admin_pb.ClassFigures(name="dismissed", different_count=2)],
        dismissed_count=2,
        merged_count=1,
        revision=3,
    )
    tape = Tape(found)
    with scripted(Calibrate=tape) as address:
        answer = call(address, "calibrate", false_merge_budget=0.01, dry_run=True)
    assert (answer.dismissed_count, answer.merged_count) == (2, 1)
    assert (answer.calibration.pair_count, answer.revision) == (14, 3)
    assert [(item.name, item.different_count) for item in answer.classes] == [("dismissed", 2)]
    assert (tape.requests[0].false_merge_budget, tape.requests[0].dry_run) == (0.01, True)


def test_recall_sends_filter_and_reads_hits(call: Call) -> None:
    tape = Tape(
        pb.RecallResponse(
            revision=3,
            hits=[
                pb.Hit(
                    memory=MEMORY,
                    relevance=0.7,
                    cosine_similarity=0.9,
                    lexical_similarity=0.6,
                    vector_rank=1,
                ),
                pb.Hit(memory=MEMORY, relevance=0.5, lexical_similarity=0.5, lexical_rank=1),
                pb.Hit(memory=MEMORY, relevance=0.2, context=0.1),
            ],
            arms=["vector", "lexical"],
            vector_search="exact",
            filtered_count=12,
        )
    )
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    with scripted(Recall=tape) as address:
        answer = call(
            address,
            "recall",
            "port",
            vector=[1.0, 0.0],
            k=3,
            mode="vector",
            diversity=DiversityPolicy(enabled=False),
            min_relevance=0.125,
            no_touch=True,
            kinds=["state", "event"],
            created=TimeRange(moment, None),
            attributes={"level": "turn"},
        )
    request = tape.requests[0]
    assert (request.text, request.k, request.no_touch) == ("port", 3, True)
    assert request.min_relevance == 0.125
    assert request.mode == pb.RECALL_MODE_VECTOR
    assert request.diversity == types_pb2.DiversityPolicy(enabled=False)
    assert list(request.filter.kinds) == [types_pb2.KIND_STATE, types_pb2.KIND_EVENT]
    assert request.filter.created.from_time.ToDatetime(tzinfo=UTC) == moment
    assert dict(request.filter.attributes) == {"level": "turn"}
    assert [hit.relevance for hit in answer.hits] == [0.7, 0.5, 0.2]
    assert [hit.context for hit in answer.hits] == [0.0, 0.0, 0.1]
    assert answer.hits[0].memory.created_time == moment
    assert (answer.arms, answer.filtered_count) == (("vector", "lexical"), 12)


def test_recall_without_conditions_sends_no_filter(call: Call) -> None:
    tape = Tape(pb.RecallResponse())
    with scripted(Recall=tape) as address:
        call(address, "recall", "port")
    assert not tape.requests[0].HasField("filter")
    assert tape.requests[0].k == 10


def test_get_one_gives_the_memory(call: Call) -> None:
    with scripted(Get=Tape(pb.GetResponse(memories=[MEMORY]))) as address:
        memory = call(address, "get", MEMORY.id)
    assert (memory.id, memory.kind, memory.state_kind) == (MEMORY.id, "state", "fact")
    assert memory.vector is None
    assert memory.last_access_time is None


def test_get_many_lists_missing(call: Call) -> None:
    tape = Tape(pb.GetResponse(memories=[MEMORY], missing_ids=["ext:b"]))
    with scripted(Get=tape) as address:
        found = call(address, "get_many", [MEMORY.id, "ext:b"])
    assert found.missing_ids == ("ext:b",)
    with pytest.raises(TypeError, match="ids"):
        call("127.0.0.1:1", "get_many", "mem_1")


def test_list_all_follows_page_tokens(call: Call) -> None:
    seen = []

    def pages(request: pb.ListRequest, _context: Any) -> pb.ListResponse:
        seen.append((request.page_size, request.page_token, list(request.filter.tags)))
        number = len(seen)
        memory = types_pb2.Memory(id=f"mem_{number}")
        return pb.ListResponse(
            memories=[memory], next_page_token="" if number == 3 else f"t{number}"
        )

    with scripted(List=pages) as address:
        memories = call(address, "list_all", page_size=1, tags=["x"])
    assert [memory.id for memory in memories] == ["mem_1", "mem_2", "mem_3"]
    assert seen == [(1, "", ["x"]), (1, "t1", ["x"]), (1, "t2", ["x"])]


def test_update_mask_is_what_was_named_none_included(call: Call) -> None:
    tape = Tape(pb.UpdateResponse(updated=True, memory=MEMORY, revision=5))
    with scripted(Update=tape) as address:
        answer = call(
            address, "update", MEMORY.id, content="b", tags=None, importance=2, expected_revision=4
        )
    request = tape.requests[0]
    assert list(request.update_mask.paths) == ["content", "importance", "tags"]
    assert request.HasField("memory")
    assert list(request.memory.tags) == []
    assert request.expected_revision == 4
    assert answer.updated
    assert answer.memory.revision == 4


def test_forget_takes_one_id_or_several(call: Call) -> None:
    tape = Tape(pb.ForgetResponse(forgotten=[MEMORY], unlinked_count=2, dry_run=True))
    with scripted(Forget=tape) as address:
        one = call(address, "forget", "mem_1", reason="wrong", dry_run=True)
        call(address, "forget", ["mem_1", "mem_2"])
    assert [list(request.ids) for request in tape.requests] == [["mem_1"], ["mem_1", "mem_2"]]
    assert tape.requests[0].reason == "wrong"
    assert (one.dry_run, one.unlinked_count, one.forgotten[0].id) == (True, 2, MEMORY.id)


def test_link_and_unlink_read_both_directions(call: Call) -> None:
    there = types_pb2.Link(target_id="mem_b", type=types_pb2.LINK_TYPE_UPDATES, confidence=0.7)
    back = types_pb2.Link(target_id="mem_a", type=types_pb2.LINK_TYPE_UPDATED_BY, confidence=0.7)
    link = Tape(pb.LinkResponse(link=there, inverse=back, created=True))
    unlink = Tape(pb.UnlinkResponse(removed=[there]))
    with scripted(Link=link, Unlink=unlink) as address:
        linked = call(address, "link", "mem_a", "mem_b", "updates", confidence=0.0, note="n")
        unlinked = call(address, "unlink", "mem_a", "mem_b")
    assert link.requests[0].type == types_pb2.LINK_TYPE_UPDATES
    assert link.requests[0].HasField("confidence")
    assert (linked.link.type, linked.inverse.type) == ("updates", "updated_by")
    assert unlink.requests[0].type == types_pb2.LINK_TYPE_UNSPECIFIED
    assert unlinked.removed[0].target_id == "mem_b"


def test_create_collection_sends_policies_as_said(call: Call) -> None:
    collection = types_pb2.Collection(
        name="notes",
        guard=types_pb2.GuardPolicy(preset=types_pb2.PRESET_EGO, exact=False),
        model=types_pb2.EmbeddingModel(name="use", dimension=512),
    )
    tape = Tape(admin_pb.CreateCollectionResponse(collection=collection, revision=1))
    with scripted(CreateCollection=tape) as address:
        answer = call(
            address,
            "create_collection",
            "notes",
            guard=GuardPolicy(preset=Preset.EGO, similar_above=0.5),
            decay=DecayPolicy(floor=0.1),
        )
    request = tape.requests[0]
    assert request.guard == types_pb2.GuardPolicy(preset=types_pb2.PRESET_EGO, similar_above=0.5)
    assert request.decay == types_pb2.DecayPolicy(floor=0.1)
    assert not request.HasField("diversity")
    assert answer.collection.guard == GuardPolicy(preset=Preset.EGO, exact=False)
    assert answer.collection.model.dimension == 512


def test_update_collection_masks_only_what_is_said_preset_first(call: Call) -> None:
    tape = Tape(admin_pb.UpdateCollectionResponse())
    with scripted(UpdateCollection=tape) as address:
        call(
            address,
            "update_collection",
            "notes",
            description="",
            guard=GuardPolicy(preset=Preset.ROBOTMEM, jaccard_above=0.8),
            diversity=DiversityPolicy(enabled=False),
            unset=["guard.cosine_at_least"],
        )
    request = tape.requests[0]
    assert list(request.update_mask.paths) == [
        "description",
        "guard.preset",
        "guard.jaccard_above",
        "diversity.enabled",
        "guard.cosine_at_least",
    ]
    assert request.collection.guard.preset == types_pb2.PRESET_ROBOTMEM
    assert request.collection.diversity.enabled is False


def test_collection_calls_name_the_clients_collection_by_default(call: Call) -> None:
    got = Tape(admin_pb.GetCollectionResponse(collection=types_pb2.Collection(name="notes")))
    listed = Tape(admin_pb.ListCollectionsResponse(next_page_token="t", revision=2))
    deleted = Tape(admin_pb.DeleteCollectionResponse(active_count=3))
    with scripted(GetCollection=got, ListCollections=listed, DeleteCollection=deleted) as address:
        assert call(address, "get_collection", options={"collection": "notes"}).name == "notes"
        assert call(address, "list_collections", page_size=5).next_page_token == "t"
        assert call(address, "delete_collection", "old").active_count == 3
    assert got.requests[0].name == "notes"
    assert listed.requests[0].page_size == 5
    assert deleted.requests[0].operation_id.startswith("op_")


def test_compare_and_stats_read_figures(call: Call) -> None:
    compared = admin_pb.CompareResponse(
        same_words=True,
        jaccard_similarity=1.0,
        presets=[admin_pb.PresetOutcome(preset=types_pb2.PRESET_EGO, method=types_pb2.METHOD_NONE)],
    )
    figures = admin_pb.StatsResponse(
        collections=[
            admin_pb.CollectionStats(
                name="default",
                active_count=2,
                revision=7,
                refused_counts={"exact": 1},
                recall_at_k=0.75,
                recall_rated_count=16,
                recall_low=True,
                verify=verify_pb2.VerifyStats(
                    bad_row_counts={"memory": 1},
                    bad_memory_ids=["mem_1"],
                    ended_time=CREATED,
                    row_count=9,
                    damage_count=2,
                    index_mismatch_count=3,
                    reindexed_count=4,
                    lost_commit_count=5,
                    lost_revisions="12-15",
                ),
                checkpoint=checkpoint_pb2.CheckpointStats(
                    revision=6,
                    time=CREATED,
                    bytes=9,
                    opened_from_revision=5,
                    replayed_count=4,
                    opening_s=0.5,
                    bad_count=1,
                    bad="9-1: arrays is too short",
                ),
            )
        ],
        started_time=CREATED,
        open=admin_pb.OpenCollections(
            count=3, idle_closed_count=4, memory_bytes=5, memory_budget_bytes=6
        ),
        lost_catalogue_revisions="7-",
    )
    with scripted(Compare=Tape(compared), Stats=Tape(figures)) as address:
        comparison = call(address, "compare", "a", "A")
        stats = call(address, "stats")
    assert comparison.cosine_similarity is None
    assert comparison.presets[0].method is Method.NONE
    assert stats.collections[0].refused_counts == {"exact": 1}
    assert stats.open == OpenCollections(3, 4, 5, 6)
    assert (stats.collections[0].recall_at_k, stats.collections[0].recall_rated_count) == (0.75, 16)
    assert stats.collections[0].recall_low
    verify = stats.collections[0].verify
    assert (verify.bad_row_counts, verify.bad_memory_ids) == ({"memory": 1}, ("mem_1",))
    assert (verify.begun_time, verify.ended_time) == (None, stats.started_time)
    figured = (verify.row_count, verify.damage_count)
    assert (*figured, verify.index_mismatch_count, verify.reindexed_count) == (9, 2, 3, 4)
    assert (verify.lost_commit_count, verify.lost_revisions) == (5, "12-15")
    assert stats.lost_catalogue_revisions == "7-"
    assert not verify.sound
    found = stats.collections[0].checkpoint
    assert (found.revision, found.bytes, found.opened_from_revision) == (6, 9, 5)
    assert (found.replayed_count, found.opening_s, found.bad_count) == (4, 0.5, 1)
    assert found.bad == "9-1: arrays is too short"
    assert found.time == stats.started_time


def test_unix_socket_address_is_dialled(call: Call, tmp_path: Path) -> None:
    with scripted(f"unix:{tmp_path}/s", Stats=Tape(admin_pb.StatsResponse(version="9"))) as address:
        assert call(address, "stats").version == "9"


def test_address_default_comes_from_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOTONOE_ADDRESS", "127.0.0.1:7000")
    assert resolve_address(None) == "127.0.0.1:7000"
    assert resolve_address("[::1]:80") == "[::1]:80"
    monkeypatch.setenv("TOTONOE_ADDRESS", "unix:/run/t.sock,127.0.0.1:7000")
    assert resolve_address(None) == "unix:/run/t.sock"
    monkeypatch.delenv("TOTONOE_ADDRESS")
    assert resolve_address(None) == "127.0.0.1:7766"


@pytest.mark.parametrize(
    "address", ["localhost", "localhost:0", "a:70000", "http://a:1", "unix:", "a b:1", ":7"]
)
def test_address_of_other_form_raises_value_error(address: str) -> None:
    with pytest.raises(ValueError, match="address"):
        resolve_address(address)


def test_clients_closed_twice_is_quiet(call: Call) -> None:
    client = Client("127.0.0.1:1")
    client.close()
    client.close()
    with scripted(Stats=Tape(admin_pb.StatsResponse(version="9"))) as address:
        assert call(address, "stats").version == "9"


def test_client_of_another_agent_shares_connection_and_collection() -> None:
    tape = Tape(pb.ListResponse(revision=1))
    with scripted(List=tape) as address, Client(address, agent_id="a", collection="c") as one:
        other = one.as_agent("b")
        one.list()
        other.list()
    assert [(sent.agent_id, sent.collection) for sent in tape.requests] == [("a", "c"), ("b", "c")]


def test_client_of_another_collection_shares_connection_and_agent() -> None:
    tape = Tape(pb.ListResponse(revision=1))
    with scripted(List=tape) as address, Client(address, agent_id="a", collection="c") as one:
        other = one.in_collection("d")
        one.list()
        other.list()
    assert [(sent.agent_id, sent.collection) for sent in tape.requests] == [("a", "c"), ("a", "d")]


def test_asynchronous_client_of_another_agent_shares_connection_and_collection() -> None:
    tape = Tape(pb.ListResponse(revision=1))

    async def run(address: str) -> None:
        async with AsyncClient(address, agent_id="a", collection="c") as one:
            await one.as_agent("b").list()
            await one.in_collection("d").list()
            await one.list()

    with scripted(List=tape) as address:
        asyncio.run(run(address))
    assert [(sent.agent_id, sent.collection) for sent in tape.requests] == [
        ("b", "c"),
        ("a", "d"),
        ("a", "c"),
    ]
