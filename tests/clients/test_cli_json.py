"""JSON of the command line is a promise: these fields are there, with these meanings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from typer.testing import CliRunner

from support.scripted import scripted
from totonoe.cli.main import app
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import cleanup_pb2 as cleanup_pb
from totonoe.v1 import graph_pb2 as graph_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2 as operations_pb
from totonoe.v1 import types_pb2

TIME = Timestamp(seconds=1_767_225_600, nanos=5_000_000)
TIME_TEXT = "2026-01-01T00:00:00.005000Z"
ATTRIBUTES = Struct()
ATTRIBUTES.update({"n": 1, "x": 0.5})
MEMORY = types_pb2.Memory(
    id="mem_1",
    content="ポートは8080",
    content_hash=b"\x01\xff",
    kind=types_pb2.KIND_EVENT,
    status=types_pb2.STATUS_ACTIVE,
    created_time=TIME,
    attributes=ATTRIBUTES,
    vector=b"\x00\x00\x80\x3f",
)
LINK = types_pb2.Link(target_id="mem_2", type=types_pb2.LINK_TYPE_RELATED, confidence=0.5)
DUPLICATE = types_pb2.Duplicate(memory_id="mem_1", method=types_pb2.METHOD_EXACT, similarity=1.0)

MEMORY_FIELDS = {
    "memory_id", "external_id", "content", "content_hash", "vector", "kind", "state_kind",
    "category", "tags", "attributes", "payload", "importance", "confidence", "salience",
    "emotion", "perception_type", "life_stage", "agent_id", "session_id", "thread_id",
    "entities", "evidence_ids", "about_time", "created_time", "updated_time",
    "last_access_time", "access_count", "last_confirmed_time", "done_time", "valid_from_time",
    "valid_to_time", "status", "superseded_by", "private", "links", "revision", "key", "namespace",
    "expires_time", "expires_after_s", "source",
}  # fmt: skip
CASES: dict[str, tuple[list[str], str, Any, set[str]]] = {
    "remember": (
        ["remember", "a"],
        "Remember",
        pb.RememberResponse(saved=True, memory_id="mem_1", method=types_pb2.METHOD_NONE),
        {"saved", "memory_id", "duplicate_of", "method", "similarity", "revision", "duplicate",
         "similar", "links", "layers", "replayed", "operation_id", "verdict", "superseded_ids",
         "forgotten", "grown_id", "question", "outdated", "maybe_replaced_ids", "nearest",
         "pending", "advice", "scaffold"},
    ),
    "check": (
        ["check", "a"],
        "Check",
        pb.CheckResponse(would_save=True, method=types_pb2.METHOD_NONE),
        {"would_save", "duplicate_of", "method", "similarity", "revision", "duplicate", "similar",
         "layers", "verdict", "superseded_ids", "forgotten", "grown_id", "question",
         "outdated", "maybe_replaced_ids", "nearest", "pending", "advice", "scaffold"},
    ),
    "recall": (
        ["recall", "a"],
        "Recall",
        pb.RecallResponse(),
        {"hits", "arms", "degraded_because", "vector_search", "filtered_count", "revision",
         "as_of_revision"},
    ),
    "get": (
        ["get", "a"],
        "Get",
        pb.GetResponse(),
        {"memories", "missing_ids", "revision", "redirects", "as_of_revision", "advice"},
    ),
    "list": (
        ["list"],
        "List",
        pb.ListResponse(),
        {"memories", "next_page_token", "revision", "as_of_revision"},
    ),
    "update": (
        ["update", "a", "--tag", "t"],
        "Update",
        pb.UpdateResponse(updated=True),
        {"updated", "memory", "duplicate", "layers", "revision", "replayed", "operation_id",
         "question", "nearest", "advice", "scaffold"},
    ),
    "forget": (
        ["forget", "a"],
        "Forget",
        pb.ForgetResponse(),
        {"forgotten", "missing_ids", "unlinked_count", "dry_run", "revision", "replayed",
         "operation_id", "matching_count", "advice", "scaffold"},
    ),
    "purge": (
        ["purge", "a", "--yes"],
        "Purge",
        admin_pb.PurgeResponse(),
        {"purged_ids", "missing_ids", "version_count", "reply_count", "episode_count", "dry_run",
         "revision", "replayed", "operation_id", "snapshots"},
    ),
    "undo": (
        ["undo", "4"],
        "Undo",
        operations_pb.UndoResponse(undone=True),
        {"undone", "operation", "memories", "episode_ids", "link_count", "collection", "conflicts",
         "dry_run", "revision", "replayed", "operation_id"},
    ),
    "history": (
        ["history", "a"],
        "History",
        operations_pb.HistoryResponse(),
        {"versions", "recallers", "other_recall_count", "next_page_token", "revision"},
    ),
    "operations": (
        ["operations"],
        "ListOperations",
        operations_pb.ListOperationsResponse(),
        {"operations", "next_page_token", "revision"},
    ),
    "neighbors": (
        ["neighbors", "a"],
        "Neighbors",
        graph_pb.NeighborsResponse(),
        {"neighbors", "truncated", "revision"},
    ),
    "merge": (
        ["merge", "a", "b"],
        "Merge",
        graph_pb.MergeResponse(merged=True),
        {"merged", "memory", "sources", "duplicate", "layers", "lost", "moved_link_count",
         "dropped_link_count", "revision", "dry_run", "replayed", "operation_id"},
    ),
    "episodes list": (
        ["episodes", "list"],
        "ListEpisodes",
        graph_pb.ListEpisodesResponse(),
        {"episodes", "next_page_token", "revision"},
    ),
    "episodes create": (
        ["episodes", "create", "It rained.", "mem_1"],
        "CreateEpisode",
        graph_pb.CreateEpisodeResponse(),
        {"episode", "revision", "replayed", "operation_id"},
    ),
    "episodes show": (
        ["episodes", "show", "ep_1"],
        "GetEpisode",
        graph_pb.GetEpisodeResponse(),
        {"episode", "memories", "note", "revision"},
    ),
    "episodes delete": (
        ["episodes", "delete", "ep_1"],
        "DeleteEpisode",
        graph_pb.DeleteEpisodeResponse(),
        {"episode", "revision", "replayed", "operation_id"},
    ),
    "end-session": (
        ["end-session", "s"],
        "EndSession",
        cleanup_pb.EndSessionResponse(),
        {"merged_groups", "superseded_count", "compression_ratio", "avg_similarity", "groups",
         "consolidatable_count", "left_out_count", "unread_pair_count", "decay", "dry_run",
         "revision", "replayed", "operation_id"},
    ),
    "clean-up": (
        ["clean-up"],
        "CleanUpDuplicates",
        cleanup_pb.CleanUpDuplicatesResponse(),
        {"duplicates", "more_count", "blast", "applied", "revision", "replayed", "operation_id"},
    ),
    "decay": (
        ["decay"],
        "Decay",
        cleanup_pb.DecayResponse(),
        {"report", "closed", "blast", "dry_run", "revision", "replayed", "operation_id"},
    ),
    "link": (
        ["link", "a", "b"],
        "Link",
        pb.LinkResponse(),
        {"link", "inverse", "created", "revision", "replayed", "operation_id"},
    ),
    "unlink": (
        ["unlink", "a", "b"],
        "Unlink",
        pb.UnlinkResponse(),
        {"removed", "revision", "replayed", "operation_id"},
    ),
    "compare": (
        ["compare", "a", "b"],
        "Compare",
        admin_pb.CompareResponse(),
        {"same_text", "same_words", "cosine_similarity", "jaccard_similarity", "presets", "model",
         "judgement"},
    ),
    "stats": (
        ["stats"],
        "Stats",
        admin_pb.StatsResponse(),
        {"collections", "version", "started_time", "cpu_s", "embedder_cpu_s", "judge_cpu_s",
         "rss_bytes", "model", "embedder_state", "collection_count", "revision", "open",
         "snapshots", "lost_catalogue_revisions", "expiries", "daemon"},
    ),
    "collections list": (
        ["collections", "list"],
        "ListCollections",
        admin_pb.ListCollectionsResponse(),
        {"collections", "revision"},
    ),
    "collections show": (
        ["collections", "show"],
        "GetCollection",
        admin_pb.GetCollectionResponse(),
        {"name", "description", "guard", "diversity", "decay", "model", "created_time", "revision",
         "settings_revision", "calibration", "retention", "blast", "tidy", "fault",
         "learned"},
    ),
    "collections create": (
        ["collections", "create", "a"],
        "CreateCollection",
        admin_pb.CreateCollectionResponse(),
        {"collection", "revision", "replayed", "operation_id"},
    ),
    "collections update": (
        ["collections", "update", "a", "--description", "d"],
        "UpdateCollection",
        admin_pb.UpdateCollectionResponse(),
        {"collection", "revision", "replayed", "operation_id"},
    ),
    "collections delete": (
        ["collections", "delete", "a", "--yes"],
        "DeleteCollection",
        admin_pb.DeleteCollectionResponse(),
        {"active_count", "revision", "replayed", "operation_id"},
    ),
}  # fmt: skip


def as_json(arguments: list[str], **answers: Any) -> Any:
    handlers = {name: (lambda *_, answer=answer: answer) for name, answer in answers.items()}
    with scripted(**handlers) as address:
        result = CliRunner().invoke(app, [*arguments, "--address", address, "--json"])
    assert result.stdout.count("\n") == 1, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", CASES)
def test_json_of_each_command_has_its_fields(name: str) -> None:
    arguments, call, answer, fields = CASES[name]
    assert set(as_json(arguments, **{call: answer})) == fields


def test_json_of_refused_remember_names_the_duplicate() -> None:
    refused = pb.RememberResponse(
        memory_id="mem_1",
        duplicate=DUPLICATE,
        method=types_pb2.METHOD_EXACT,
        similarity=1.0,
        revision=4,
    )
    answer = as_json(["remember", "a"], Remember=refused)
    assert {name: answer[name] for name in list(answer)[:6]} == {
        "saved": False,
        "memory_id": "mem_1",
        "duplicate_of": "mem_1",
        "method": "exact",
        "similarity": 1.0,
        "revision": 4,
    }


def test_json_of_saved_remember_has_null_duplicate() -> None:
    saved = pb.RememberResponse(saved=True, memory_id="mem_1", method=types_pb2.METHOD_NONE)
    answer = as_json(["remember", "a"], Remember=saved)
    assert (answer["duplicate_of"], answer["duplicate"], answer["method"]) == (None, None, "none")


def test_json_of_hit_is_the_memory_and_its_reasons() -> None:
    found = pb.RecallResponse(
        hits=[
            pb.Hit(memory=MEMORY, relevance=0.5, cosine_similarity=0.5, lexical_similarity=0.5),
            pb.Hit(memory=MEMORY, relevance=0.25, lexical_similarity=0.25),
            pb.Hit(memory=MEMORY),
        ]
    )
    hits = as_json(["recall", "a"], Recall=found)["hits"]
    assert [hit["relevance"] for hit in hits] == [0.5, 0.25, 0.0]
    assert (hits[0]["memory_id"], hits[0]["content"]) == ("mem_1", "ポートは8080")
    assert set(hits[0]) == MEMORY_FIELDS | {
        "relevance", "context", "cosine_similarity", "lexical_similarity", "vector_rank",
        "lexical_rank", "fused_rank", "diversity", "effective_confidence", "also", "also_count",
        "updated_by", "contradicted_by", "outdated",
    }  # fmt: skip


def test_json_of_memory_has_plain_values() -> None:
    memory = as_json(["get", "mem_1"], Get=pb.GetResponse(memories=[MEMORY]))["memories"][0]
    assert set(memory) == MEMORY_FIELDS
    assert memory["created_time"] == TIME_TEXT
    assert memory["last_access_time"] is None
    assert (memory["kind"], memory["state_kind"], memory["status"]) == ("event", None, "active")
    assert memory["content_hash"] == "01ff"
    assert memory["attributes"] == {"n": 1, "x": 0.5}
    assert memory["vector"] == [1.0]


def test_json_of_episode_and_of_operation_has_plain_values() -> None:
    episode = graph_pb.Episode(id="ep_1", memory_ids=["mem_1"], start_time=TIME, created_time=TIME)
    read = as_json(
        ["episodes", "show", "ep_1"], GetEpisode=graph_pb.GetEpisodeResponse(episode=episode)
    )
    assert set(read["episode"]) == {
        "episode_id", "summary", "memory_ids", "gone_count", "start_time", "end_time", "importance",
        "agent_id", "private", "created_time", "revision",
    }  # fmt: skip
    assert (read["episode"]["start_time"], read["episode"]["end_time"]) == (TIME_TEXT, None)
    done = operations_pb.Operation(revision=3, kind="Forget", time=TIME, memory_ids=["mem_1"])
    page = operations_pb.ListOperationsResponse(operations=[done])
    (operation,) = as_json(["operations"], ListOperations=page)["operations"]
    assert set(operation) == {item.name for item in operations_pb.Operation.DESCRIPTOR.fields}
    assert operation["time"] == TIME_TEXT


def test_json_of_stats_lists_collections() -> None:
    figures = admin_pb.CollectionStats(
        name="default", active_count=2, revision=7, kind_counts={"state/fact": 2}
    )
    answer = as_json(["stats"], Stats=admin_pb.StatsResponse(collections=[figures]))
    collection = answer["collections"][0]
    assert (collection["name"], collection["active_count"], collection["revision"]) == (
        "default",
        2,
        7,
    )
    assert set(collection) == {item.name for item in admin_pb.CollectionStats.DESCRIPTOR.fields}


def test_json_of_link_names_both_ends() -> None:
    answer = as_json(["link", "mem_1", "mem_2"], Link=pb.LinkResponse(link=LINK, created=True))
    assert answer["link"] == {
        "target_id": "mem_2",
        "type": "related",
        "confidence": 0.5,
        "note": "",
    }
