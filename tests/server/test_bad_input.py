"""Every wrong thing a client can send to the real engine, and the reason that answers it."""

from __future__ import annotations

import json
import struct
import time

import grpc
import pytest
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from support.mutating import methods
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import audit_pb2, graph_pb2, operations_pb2, questions_pb2
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base import limits

UNKNOWN_ID = "mem_0123456789abcdef"
DIMENSION = 384


def vector(*values: float, dimension: int = DIMENSION) -> bytes:
    """The values, then zeros."""
    return struct.pack(f"<{dimension}f", *values, *[0.0] * (dimension - len(values)))


def big_struct(json_bytes: int) -> Struct:
    """A Struct of about so many bytes as JSON."""
    out = Struct()
    out.update({"a": "x" * json_bytes})
    return out


def deep_struct(levels: int) -> Struct:
    """A Struct so many levels deep."""
    value: dict[str, object] = {}
    for _ in range(levels):
        value = {"a": value}
    out = Struct()
    out.update(value)
    return out


DRAFTS = {
    "empty text": ({"content": ""}, "EMPTY_TEXT"),
    "white space": ({"content": " \t\n\u3000"}, "EMPTY_TEXT"),
    "over 32 KiB": ({"content": "x" * (limits.CONTENT_BYTES_MAX + 1)}, "LIMIT_EXCEEDED"),
    "over 32 KiB in bytes": ({"content": "日" * 11_000}, "LIMIT_EXCEEDED"),
    "NUL": ({"content": "a\0b"}, "NUL_IN_TEXT"),
    "vector too short": ({"vector": vector(1.0)[:-4]}, "DIMENSION_MISMATCH"),
    "vector of odd bytes": ({"vector": b"\0\0\x80"}, "DIMENSION_MISMATCH"),
    "vector too long": ({"vector": vector(1.0) + b"\0\0\0\0"}, "DIMENSION_MISMATCH"),
    "NaN": ({"vector": vector(float("nan"))}, "NON_FINITE_VECTOR"),
    "infinity": ({"vector": vector(float("inf"))}, "NON_FINITE_VECTOR"),
    "zero vector": ({"vector": vector(0.0)}, "ZERO_VECTOR"),
    "importance 0": ({"importance": 0}, "OUT_OF_RANGE"),
    "importance 6": ({"importance": 6}, "OUT_OF_RANGE"),
    "confidence over 1": ({"confidence": 1.5}, "OUT_OF_RANGE"),
    "confidence NaN": ({"confidence": float("nan")}, "OUT_OF_RANGE"),
    "salience below 0": ({"salience": -0.1}, "OUT_OF_RANGE"),
    "unknown kind": ({"kind": 99}, "UNKNOWN_ENUM"),
    "unknown state kind": ({"state_kind": 99}, "UNKNOWN_ENUM"),
    "state kind of a log": ({"kind": 2, "state_kind": 1}, "UNKNOWN_ENUM"),
    "too many tags": ({"tags": [str(i) for i in range(65)]}, "LIMIT_EXCEEDED"),
    "empty tag": ({"tags": [""]}, "EMPTY_TEXT"),
    "too many entities": ({"entities": [str(i) for i in range(129)]}, "LIMIT_EXCEEDED"),
    "too many evidence ids": ({"evidence_ids": [UNKNOWN_ID] * 257}, "LIMIT_EXCEEDED"),
    "bad evidence id": ({"evidence_ids": ["nonsense"]}, "BAD_NAME"),
    "attributes too long": ({"attributes": big_struct(16 * 1024)}, "LIMIT_EXCEEDED"),
    "attributes far too long": ({"attributes": big_struct(1024 * 1024)}, "LIMIT_EXCEEDED"),
    "payload too deep": ({"payload": deep_struct(9)}, "LIMIT_EXCEEDED"),
    "category too long": ({"category": "x" * 257}, "LIMIT_EXCEEDED"),
    "NUL in a label": ({"session_id": "a\0"}, "NUL_IN_TEXT"),
    "line feed in a session": ({"session_id": "a\nb"}, "BAD_NAME"),
    "tab in a thread": ({"thread_id": "a\tb"}, "BAD_NAME"),
    "escape in a category": ({"category": "\x1b[31m"}, "BAD_NAME"),
    "line separator in a tag": ({"tags": ["fine", "a\u2028b"]}, "BAD_NAME"),
    "mark of direction in an entity": ({"entities": ["\u202eb"]}, "BAD_NAME"),
    "external id too long": ({"external_id": "x" * 257}, "LIMIT_EXCEEDED"),
    "created in the future": (
        {"created_time": Timestamp(seconds=int(time.time()) + 3600)},
        "BAD_TIME",
    ),
    "impossible time": ({"done_time": Timestamp(nanos=-1)}, "BAD_TIME"),
    "range that ends before it begins": (
        {"valid_from_time": Timestamp(seconds=2), "valid_to_time": Timestamp(seconds=1)},
        "BAD_TIME",
    ),
}


@pytest.mark.parametrize("name", DRAFTS)
def test_draft_is_refused_alone_in_check_and_in_a_stream(wire, fails, name):
    fields, reason = DRAFTS[name]
    draft = {"content": "a text that is well"} | fields
    remember = fails(wire.memory.Remember, pb.RememberRequest(memory=draft))
    check = fails(wire.memory.Check, pb.CheckRequest(memory=draft))
    for failure in (remember, check):
        assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, reason)
        assert set(failure.details) - {"advice"} == {"field", "got", "allowed"}
        assert failure.details["field"].startswith("memory.")
        assert len(failure.message) < 1000
    (answer,) = wire.memory.RememberMany(
        iter([pb.RememberManyRequest(items=[{"memory": draft}])]), timeout=30
    )
    assert answer.results[0].error.reason == reason


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({}, "MISSING_FIELD"),
        ({"collection": "nothing-here", "memory": {"content": "a"}}, "COLLECTION_NOT_FOUND"),
        ({"collection": "Bad Name", "memory": {"content": "a"}}, "BAD_NAME"),
        ({"collection": "x" * 65, "memory": {"content": "a"}}, "BAD_NAME"),
        ({"operation_id": "x" * 129, "memory": {"content": "a"}}, "LIMIT_EXCEEDED"),
        ({"agent_id": "x" * 257, "memory": {"content": "a"}}, "LIMIT_EXCEEDED"),
        ({"agent_id": "ann\nbob", "memory": {"content": "a"}}, "BAD_NAME"),
        ({"agent_id": "ann\x85", "memory": {"content": "a"}}, "BAD_NAME"),
        ({"agent_id": "a\0", "memory": {"content": "a"}}, "NUL_IN_TEXT"),
        ({"operation_id": "a\r\n", "memory": {"content": "a"}}, "BAD_NAME"),
        ({"collection": "a\n", "memory": {"content": "a"}}, "BAD_NAME"),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_remember_request_is_refused(wire, fails, request_, reason):
    assert fails(wire.memory.Remember, pb.RememberRequest(**request_)).reason == reason


AGENTS = [method for method in methods() if "agent_id" in method.input_type.fields_by_name]


@pytest.mark.parametrize("method", AGENTS, ids=lambda method: method.name)
def test_agent_id_with_a_line_feed_is_refused_by_every_call(wire, fails, method):
    path = f"/{method.containing_service.full_name}/{method.name}"
    data = GetMessageClass(method.input_type)(agent_id="ann\nbob").SerializeToString()
    if method.client_streaming:
        failure = fails(wire.channel.stream_stream(path), iter([data]))
    elif method.server_streaming:
        failure = fails(wire.channel.unary_stream(path), data)
    else:
        failure = fails(wire.channel.unary_unary(path), data)
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_NAME")
    assert failure.details["field"] == "agent_id"


READS = {
    "get of an unknown id": ("Get", {"ids": [UNKNOWN_ID]}, "MEMORY_NOT_FOUND"),
    "get of a bad id": ("Get", {"ids": ["a\nb"]}, "BAD_NAME"),
    "get of nothing": ("Get", {"ids": []}, "MISSING_FIELD"),
    "get of too many": ("Get", {"ids": [UNKNOWN_ID] * 1001}, "LIMIT_EXCEEDED"),
    "recall of nothing": ("Recall", {}, "MISSING_FIELD"),
    "recall of white space": ("Recall", {"text": "  "}, "MISSING_FIELD"),
    "recall of a long text": ("Recall", {"text": "x" * 40_000}, "LIMIT_EXCEEDED"),
    "recall k below 1": ("Recall", {"text": "a", "k": -1}, "OUT_OF_RANGE"),
    "recall k over 1,000": ("Recall", {"text": "a", "k": 1001}, "OUT_OF_RANGE"),
    "recall mode": ("Recall", {"text": "a", "mode": 9}, "UNKNOWN_ENUM"),
    "recall NaN": ("Recall", {"vector": vector(float("nan"))}, "NON_FINITE_VECTOR"),
    "recall vector length": ("Recall", {"vector": b"\0\0\0\0"}, "DIMENSION_MISMATCH"),
    "recall diversity": (
        "Recall",
        {"text": "a", "diversity": {"mmr_lambda": 2.0}},
        "OUT_OF_RANGE",
    ),
    "recall kinds": ("Recall", {"text": "a", "filter": {"kinds": [9]}}, "UNKNOWN_ENUM"),
    "recall confidence": (
        "Recall",
        {"text": "a", "filter": {"min_confidence": 2}},
        "OUT_OF_RANGE",
    ),
    "list page size": ("List", {"page_size": 1001}, "OUT_OF_RANGE"),
    "list page size below 0": ("List", {"page_size": -1}, "OUT_OF_RANGE"),
    "list page token": ("List", {"page_token": "nonsense"}, "BAD_PAGE_TOKEN"),
    "list values": ("List", {"filter": {"tags": ["a"] * 101}}, "LIMIT_EXCEEDED"),
    "get as of no moment": ("Get", {"ids": [UNKNOWN_ID], "as_of": {}}, "MISSING_FIELD"),
    "get as of an impossible time": (
        "Get",
        {"ids": [UNKNOWN_ID], "as_of": {"time": {"nanos": -1}}},
        "BAD_TIME",
    ),
    "get as of a revision below 0": (
        "Get",
        {"ids": [UNKNOWN_ID], "as_of": {"revision": -1}},
        "OUT_OF_RANGE",
    ),
    "list as of a revision to come": (
        "List",
        {"as_of": {"revision": 2**40}},
        "REVISION_OUT_OF_RANGE",
    ),
    "list page token of the past": (
        "List",
        {"as_of": {"revision": 0}, "page_token": "nonsense"},
        "BAD_PAGE_TOKEN",
    ),
    "recall as of no moment": ("Recall", {"text": "a", "as_of": {}}, "MISSING_FIELD"),
    "check supersedes too many": (
        "Check",
        {"memory": {"content": "a"}, "supersede_ids": [UNKNOWN_ID] * 17},
        "LIMIT_EXCEEDED",
    ),
    "check supersedes a bad id": (
        "Check",
        {"memory": {"content": "a"}, "supersede_ids": ["nonsense"]},
        "MEMORY_NOT_FOUND",
    ),
    "list times": (
        "List",
        {"filter": {"created": {"from_time": {"seconds": 2}, "to_time": {"seconds": 1}}}},
        "BAD_TIME",
    ),
}


@pytest.mark.parametrize("name", READS)
def test_read_is_refused(wire, fails, name):
    method, request, reason = READS[name]
    failure = fails(getattr(wire.memory, method), getattr(pb, f"{method}Request")(**request))
    assert failure.reason == reason


UNKNOWN_EPISODE = "ep_0123456789abcdef"
RELATIONS = {
    "neighbors of nothing": ("Neighbors", {}, "MISSING_FIELD"),
    "neighbors of too many": ("Neighbors", {"ids": [UNKNOWN_ID] * 101}, "LIMIT_EXCEEDED"),
    "neighbors of a bad id": ("Neighbors", {"ids": ["nonsense"]}, "MEMORY_NOT_FOUND"),
    "neighbors of an unknown id": ("Neighbors", {"ids": [UNKNOWN_ID]}, "MEMORY_NOT_FOUND"),
    "neighbors depth": ("Neighbors", {"ids": [UNKNOWN_ID], "depth": 6}, "OUT_OF_RANGE"),
    "neighbors depth below 0": ("Neighbors", {"ids": [UNKNOWN_ID], "depth": -1}, "OUT_OF_RANGE"),
    "neighbors limit": ("Neighbors", {"ids": [UNKNOWN_ID], "limit": 1001}, "OUT_OF_RANGE"),
    "neighbors type": ("Neighbors", {"ids": [UNKNOWN_ID], "types": [99]}, "UNKNOWN_ENUM"),
    "neighbors type unsaid": ("Neighbors", {"ids": [UNKNOWN_ID], "types": [0]}, "UNKNOWN_ENUM"),
    "neighbors decay": ("Neighbors", {"ids": [UNKNOWN_ID], "hop_decay": 0.0}, "OUT_OF_RANGE"),
    "neighbors confidence": (
        "Neighbors",
        {"ids": [UNKNOWN_ID], "min_confidence": float("nan")},
        "OUT_OF_RANGE",
    ),
    "merge of nothing": ("Merge", {}, "BAD_NAME"),
    "merge into nothing": ("Merge", {"keep_id": UNKNOWN_ID}, "MISSING_FIELD"),
    "merge of too many": (
        "Merge",
        {"keep_id": UNKNOWN_ID, "remove_ids": [UNKNOWN_ID] * 65},
        "LIMIT_EXCEEDED",
    ),
    "merge of a bad id": ("Merge", {"keep_id": UNKNOWN_ID, "remove_ids": [""]}, "BAD_NAME"),
    "merge of an unknown id": (
        "Merge",
        {"keep_id": UNKNOWN_ID, "remove_ids": [UNKNOWN_ID[:-1] + "0"]},
        "MEMORY_NOT_FOUND",
    ),
    "merge of a vector alone": (
        "Merge",
        {"keep_id": UNKNOWN_ID, "remove_ids": [UNKNOWN_ID], "vector": vector(1.0)},
        "MISSING_FIELD",
    ),
    "merge of a blank text": (
        "Merge",
        {"keep_id": UNKNOWN_ID, "remove_ids": [UNKNOWN_ID], "content": " "},
        "EMPTY_TEXT",
    ),
    "merge of a long text": (
        "Merge",
        {"keep_id": UNKNOWN_ID, "remove_ids": [UNKNOWN_ID], "content": "x" * 32_769},
        "LIMIT_EXCEEDED",
    ),
    "merge expects revision 0": (
        "Merge",
        {
            "keep_id": UNKNOWN_ID,
            "remove_ids": [UNKNOWN_ID],
            "expected_revisions": {UNKNOWN_ID: 0},
        },
        "OUT_OF_RANGE",
    ),
    "merge expects of a bad id": (
        "Merge",
        {"keep_id": UNKNOWN_ID, "remove_ids": [UNKNOWN_ID], "expected_revisions": {"x": 1}},
        "MEMORY_NOT_FOUND",
    ),
    "episode of nothing": ("CreateEpisode", {}, "MISSING_FIELD"),
    "episode without a summary": (
        "CreateEpisode",
        {"episode": {"memory_ids": [UNKNOWN_ID]}},
        "EMPTY_TEXT",
    ),
    "episode without memories": ("CreateEpisode", {"episode": {"summary": "s"}}, "MISSING_FIELD"),
    "episode of too many": (
        "CreateEpisode",
        {"episode": {"summary": "s", "memory_ids": [f"mem_{n:012x}" for n in range(1001)]}},
        "LIMIT_EXCEEDED",
    ),
    "episode of an unknown id": (
        "CreateEpisode",
        {"episode": {"summary": "s", "memory_ids": [UNKNOWN_ID]}},
        "MEMORY_NOT_FOUND",
    ),
    "episode importance": (
        "CreateEpisode",
        {"episode": {"summary": "s", "memory_ids": [UNKNOWN_ID], "importance": 0}},
        "OUT_OF_RANGE",
    ),
    "get a bad episode": ("GetEpisode", {"id": UNKNOWN_ID}, "BAD_NAME"),
    "get no episode": ("GetEpisode", {}, "BAD_NAME"),
    "get an unknown episode": ("GetEpisode", {"id": UNKNOWN_EPISODE}, "EPISODE_NOT_FOUND"),
    "delete a bad episode": ("DeleteEpisode", {"id": "x"}, "BAD_NAME"),
    "delete an unknown episode": ("DeleteEpisode", {"id": UNKNOWN_EPISODE}, "EPISODE_NOT_FOUND"),
    "list episodes size": ("ListEpisodes", {"page_size": 1001}, "OUT_OF_RANGE"),
    "list episodes token": ("ListEpisodes", {"page_token": "x"}, "BAD_PAGE_TOKEN"),
    "list episodes of a bad id": ("ListEpisodes", {"memory_id": "a\nb"}, "BAD_NAME"),
    "list episodes times": (
        "ListEpisodes",
        {"time": {"from_time": {"seconds": 2}, "to_time": {"seconds": 1}}},
        "BAD_TIME",
    ),
}
OPERATIONS = {
    "undo of nothing": ("Undo", {}, "MISSING_FIELD"),
    "undo of revision 0": ("Undo", {"target_revision": 0}, "MISSING_FIELD"),
    "undo of a revision below 0": ("Undo", {"target_revision": -1}, "OUT_OF_RANGE"),
    "undo of a revision to come": ("Undo", {"target_revision": 2**40}, "OPERATION_NOT_FOUND"),
    "undo of an unknown id": ("Undo", {"target_operation_id": "x"}, "OPERATION_NOT_FOUND"),
    "undo of an unknown id with its own": (
        "Undo",
        {"target_operation_id": "x", "operation_id": "y"},
        "OPERATION_NOT_FOUND",
    ),
    "undo of a long id": ("Undo", {"target_operation_id": "x" * 129}, "LIMIT_EXCEEDED"),
    "undo for a long reason": (
        "Undo",
        {"target_revision": 1, "reason": "x" * 1025},
        "LIMIT_EXCEEDED",
    ),
    "undo in an unknown collection": (
        "Undo",
        {"collection": "nothing-here", "target_revision": 1},
        "COLLECTION_NOT_FOUND",
    ),
    "dry run of undo of an unknown id": (
        "Undo",
        {"target_operation_id": "x", "dry_run": True},
        "OPERATION_NOT_FOUND",
    ),
    "history of nothing": ("History", {}, "BAD_NAME"),
    "history of an unknown id": ("History", {"memory_id": UNKNOWN_ID}, "MEMORY_NOT_FOUND"),
    "history size": ("History", {"memory_id": UNKNOWN_ID, "page_size": -1}, "OUT_OF_RANGE"),
    "operations size": ("ListOperations", {"page_size": 1001}, "OUT_OF_RANGE"),
    "operations token": ("ListOperations", {"page_token": "x"}, "BAD_PAGE_TOKEN"),
    "operations agents": ("ListOperations", {"agent_ids": ["a"] * 101}, "LIMIT_EXCEEDED"),
    "operations kinds": ("ListOperations", {"kinds": ["Forget"] * 101}, "LIMIT_EXCEEDED"),
    "operations of a bad id": ("ListOperations", {"memory_id": "a\nb"}, "BAD_NAME"),
    "operations NUL": ("ListOperations", {"reason_contains": "\0"}, "NUL_IN_TEXT"),
    "operations impossible time": (
        "ListOperations",
        {"time": {"from_time": {"nanos": -1}}},
        "BAD_TIME",
    ),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_call_on_relations_is_refused(wire, fails, name):
    method, request, reason = RELATIONS[name]
    message = getattr(graph_pb2, f"{method}Request")(**request)
    assert fails(getattr(wire.memory, method), message).reason == reason


@pytest.mark.parametrize("name", OPERATIONS)
def test_call_on_operations_is_refused(wire, fails, name):
    method, request, reason = OPERATIONS[name]
    message = getattr(operations_pb2, f"{method}Request")(**request)
    assert fails(getattr(wire.memory, method), message).reason == reason


def test_forget_by_filter_is_refused_unless_it_only_tells(wire, fails):
    base = {"filter": {"tags": ["x"]}}
    for request, field in (
        (base, "dry_run"),
        (base | {"dry_run": True, "ids": [UNKNOWN_ID]}, "ids"),
        (base | {"dry_run": True, "expected_revisions": {UNKNOWN_ID: 1}}, "expected_revisions"),
        ({"filter": {"tags": ["a"] * 101}, "dry_run": True}, "filter.tags"),
        ({"dry_run": True}, "ids"),
        ({"ids": [UNKNOWN_ID], "expected_revisions": {"": 1}}, "expected_revisions"),
    ):
        failure = fails(wire.memory.Forget, pb.ForgetRequest(**request))
        assert (failure.code, failure.details["field"]) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            field,
        )


def test_merge_of_what_cannot_become_one_is_refused(wire, fails):
    collection = wire.collection()
    state = wire.remember("The lamp is broken.", collection).memory_id
    other = wire.remember("Bob moved to Oslo.", collection).memory_id
    log = wire.remember("It rained.", collection, kind="KIND_EVENT").memory_id
    secret = wire.remember("Ann has a dog.", collection, private=True).memory_id
    base = {"collection": collection, "keep_id": state}
    for remove_ids, reason in (
        ([log], "APPEND_ONLY"),
        ([state], "BAD_MERGE"),
        ([other, other], "BAD_MERGE"),
        ([secret], "BAD_MERGE"),
    ):
        request = graph_pb2.MergeRequest(**base, remove_ids=remove_ids)
        assert fails(wire.memory.Merge, request).reason == reason
    wire.memory.Forget(pb.ForgetRequest(collection=collection, ids=[other]), timeout=10)
    request = graph_pb2.MergeRequest(**base, remove_ids=[other])
    assert fails(wire.memory.Merge, request).reason == "NOT_ACTIVE"


def test_page_token_of_another_query_is_refused(wire, fails):
    collection = wire.collection()
    for text in ("The door is open.", "Rain fell in April.", "Ada likes tea."):
        wire.remember(text, collection)
    page = wire.memory.List(pb.ListRequest(collection=collection, page_size=1), timeout=10)
    assert page.next_page_token
    other = pb.ListRequest(
        collection=collection, page_token=page.next_page_token, filter={"tags": ["x"]}
    )
    assert fails(wire.memory.List, other).reason == "BAD_PAGE_TOKEN"


def test_ids_of_several_are_listed_and_of_one_not_found(wire, fails):
    collection = wire.collection()
    known = wire.remember("The pump is on.", collection).memory_id
    got = wire.memory.Get(pb.GetRequest(collection=collection, ids=[UNKNOWN_ID, known]), timeout=10)
    assert [memory.id for memory in got.memories] == [known]
    assert got.missing_ids == [UNKNOWN_ID]
    for method, request in (
        ("Forget", pb.ForgetRequest(collection=collection, ids=[UNKNOWN_ID])),
        (
            "Update",
            pb.UpdateRequest(
                collection=collection, memory_id=UNKNOWN_ID, memory={"category": "a"},
                update_mask={"paths": ["category"]},
            ),
        ),
        ("Link", pb.LinkRequest(collection=collection, source_id=known, target_id=UNKNOWN_ID)),
    ):  # fmt: skip
        failure = fails(getattr(wire.memory, method), request)
        assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_FOUND")


def test_update_is_refused(wire, fails):
    collection = wire.collection()
    one = wire.remember("The valve is shut.", collection)
    base = {"collection": collection, "memory_id": one.memory_id}
    category = {"memory": {"category": "a"}, "update_mask": {"paths": ["category"]}}
    cases = [
        ({"memory": {"category": "a"}}, "BAD_UPDATE_MASK"),
        ({"memory": {}, "update_mask": {"paths": ["kind"]}}, "BAD_UPDATE_MASK"),
        ({"update_mask": {"paths": ["category"]}}, "MISSING_FIELD"),
        ({"memory": {}, "update_mask": {"paths": ["content"]}}, "EMPTY_TEXT"),
        ({"memory": {"importance": 9}, "update_mask": {"paths": ["importance"]}}, "OUT_OF_RANGE"),
        (category | {"expected_revision": 999}, "STALE_REVISION"),
        (category | {"expected_revision": -1}, "OUT_OF_RANGE"),
        (category | {"reason": "x" * 1025}, "LIMIT_EXCEEDED"),
    ]
    for rest, reason in cases:
        assert fails(wire.memory.Update, pb.UpdateRequest(**base, **rest)).reason == reason


def test_forgotten_memory_is_not_active(wire, fails):
    collection = wire.collection()
    one = wire.remember("The lamp is broken.", collection).memory_id
    other = wire.remember("Bob moved to Oslo.", collection).memory_id
    wire.memory.Forget(pb.ForgetRequest(collection=collection, ids=[one]), timeout=10)
    failure = fails(
        wire.memory.Link,
        pb.LinkRequest(collection=collection, source_id=other, target_id=one),
    )
    assert (failure.code, failure.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_ACTIVE")


def test_link_is_refused(wire, fails):
    collection = wire.collection()
    one = wire.remember("The lamp is broken.", collection).memory_id
    other = wire.remember("Bob moved to Oslo.", collection).memory_id
    base = {"collection": collection, "source_id": one, "target_id": other}
    cases = [
        (base | {"target_id": one}, "SELF_LINK"),
        (base | {"type": 99}, "UNKNOWN_ENUM"),
        (base | {"confidence": 1.5}, "OUT_OF_RANGE"),
        (base | {"note": "x" * 1025}, "LIMIT_EXCEEDED"),
        (base | {"target_id": "a\nb"}, "BAD_NAME"),
    ]
    for request, reason in cases:
        assert fails(wire.memory.Link, pb.LinkRequest(**request)).reason == reason
    failure = fails(wire.memory.Unlink, pb.UnlinkRequest(**base, type="LINK_TYPE_CAUSES"))
    assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "LINK_NOT_FOUND")


def test_names_and_ids_that_are_taken_are_refused(wire, fails):
    collection = wire.collection()
    wire.remember("Ann has a dog.", collection, external_id="e1", operation_id="op-1")
    again = {"collection": collection, "memory": {"content": "Bees fly.", "external_id": "e1"}}
    assert fails(wire.memory.Remember, pb.RememberRequest(**again)).reason == "EXTERNAL_ID_EXISTS"
    reused = {"collection": collection, "memory": {"content": "Bees."}, "operation_id": "op-1"}
    failure = fails(wire.memory.Remember, pb.RememberRequest(**reused))
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.ALREADY_EXISTS,
        "OPERATION_ID_REUSED",
    )
    failure = fails(wire.admin.CreateCollection, admin_pb.CreateCollectionRequest(name=collection))
    assert (failure.code, failure.reason) == (grpc.StatusCode.ALREADY_EXISTS, "COLLECTION_EXISTS")


ADMIN = {
    "create without a name": ("CreateCollection", {}, "MISSING_FIELD"),
    "create a bad name": ("CreateCollection", {"name": "-a"}, "BAD_NAME"),
    "create a long description": (
        "CreateCollection",
        {"name": "a", "description": "x" * 1025},
        "LIMIT_EXCEEDED",
    ),
    "create an unknown preset": (
        "CreateCollection",
        {"name": "a", "guard": {"preset": 9}},
        "UNKNOWN_ENUM",
    ),
    "create a threshold": (
        "CreateCollection",
        {"name": "a", "guard": {"jaccard_above": 1.5}},
        "OUT_OF_RANGE",
    ),
    "create a dimension": (
        "CreateCollection",
        {"name": "a", "client_vector_dimension": 4097},
        "OUT_OF_RANGE",
    ),
    "get an unknown one": ("GetCollection", {"name": "nothing"}, "COLLECTION_NOT_FOUND"),
    "get a bad name": ("GetCollection", {"name": "A"}, "BAD_NAME"),
    "list page size": ("ListCollections", {"page_size": 1001}, "OUT_OF_RANGE"),
    "list page token": ("ListCollections", {"page_token": "x"}, "BAD_PAGE_TOKEN"),
    "update without a mask": ("UpdateCollection", {"collection": {}}, "BAD_UPDATE_MASK"),
    "update without a collection": (
        "UpdateCollection",
        {"update_mask": {"paths": ["description"]}},
        "MISSING_FIELD",
    ),
    "update an unknown one": (
        "UpdateCollection",
        {"name": "nothing", "collection": {}, "update_mask": {"paths": ["description"]}},
        "COLLECTION_NOT_FOUND",
    ),
    "update a threshold": (
        "UpdateCollection",
        {
            "collection": {"guard": {"cosine_at_least": 3}},
            "update_mask": {"paths": ["guard.cosine_at_least"]},
        },
        "OUT_OF_RANGE",
    ),
    "update at another revision": (
        "UpdateCollection",
        {
            "collection": {"description": "d"},
            "update_mask": {"paths": ["description"]},
            "expected_revision": 999_999,
        },
        "STALE_REVISION",
    ),
    "delete without a name": ("DeleteCollection", {}, "MISSING_FIELD"),
    "delete an unknown one": ("DeleteCollection", {"name": "nothing"}, "COLLECTION_NOT_FOUND"),
    "delete the default": ("DeleteCollection", {"name": "default"}, "DEFAULT_COLLECTION"),
    "create a retention": (
        "CreateCollection",
        {"name": "a", "retention": {"purge_forgotten_days": -1}},
        "OUT_OF_RANGE",
    ),
    "update a retention": (
        "UpdateCollection",
        {
            "collection": {"retention": {"purge_forgotten_days": float("nan")}},
            "update_mask": {"paths": ["retention"]},
        },
        "OUT_OF_RANGE",
    ),
    "update an unknown part of retention": (
        "UpdateCollection",
        {"collection": {}, "update_mask": {"paths": ["retention.days"]}},
        "BAD_UPDATE_MASK",
    ),
    "purge nothing": ("Purge", {}, "MISSING_FIELD"),
    "purge too many": ("Purge", {"ids": [UNKNOWN_ID] * 1001}, "LIMIT_EXCEEDED"),
    "purge a bad id": ("Purge", {"ids": ["a\nb"]}, "BAD_NAME"),
    "purge an unknown id": ("Purge", {"ids": [UNKNOWN_ID]}, "MEMORY_NOT_FOUND"),
    "purge for a long reason": (
        "Purge",
        {"ids": [UNKNOWN_ID], "reason": "x" * 1025},
        "LIMIT_EXCEEDED",
    ),
    "dry run of purge of an unknown id": (
        "Purge",
        {"ids": [UNKNOWN_ID], "dry_run": True},
        "MEMORY_NOT_FOUND",
    ),
    "compare nothing": ("Compare", {"text_a": "", "text_b": "a"}, "EMPTY_TEXT"),
    "compare NUL": ("Compare", {"text_a": "a", "text_b": "\0"}, "NUL_IN_TEXT"),
    "stats of an unknown one": ("Stats", {"collection": "nothing"}, "COLLECTION_NOT_FOUND"),
    "stats of a bad name": ("Stats", {"collection": "A"}, "BAD_NAME"),
}


@pytest.mark.parametrize("name", ADMIN)
def test_admin_call_is_refused(wire, fails, name):
    method, request, reason = ADMIN[name]
    failure = fails(getattr(wire.admin, method), getattr(admin_pb, f"{method}Request")(**request))
    assert failure.reason == reason


def test_text_without_vector_where_clients_bring_them_is_vector_required(wire, fails):
    collection = wire.collection(client_vector_dimension=4)
    request = pb.RememberRequest(collection=collection, memory={"content": "no vector"})
    assert fails(wire.memory.Remember, request).reason == "VECTOR_REQUIRED"
    saved = wire.remember("with one", collection, vector=vector(1.0, dimension=4))
    assert saved.saved
    # Text alone still recalls by words, and says so.
    recalled = wire.memory.Recall(pb.RecallRequest(collection=collection, text="one"), timeout=10)
    assert recalled.arms == ["lexical"]
    assert recalled.degraded_because


NO_ID = "mem_invalid123"
NAMING = {
    "Update": (pb, {"memory_id": NO_ID, "memory": {"importance": 1}, "update_mask": "importance"}),
    "Forget": (pb, {"ids": [NO_ID]}),
    "Link": (pb, {"source_id": NO_ID, "target_id": UNKNOWN_ID, "type": 1}),
    "Unlink": (pb, {"source_id": NO_ID, "target_id": UNKNOWN_ID}),
    "History": (operations_pb2, {"memory_id": NO_ID}),
    "ListQuestions": (questions_pb2, {"memory_id": NO_ID}),
    "Neighbors": (graph_pb2, {"ids": [NO_ID]}),
    "Merge": (graph_pb2, {"keep_id": NO_ID, "remove_ids": [UNKNOWN_ID]}),
    "Resolve": (questions_pb2, {"memory_id": NO_ID, "other_id": UNKNOWN_ID, "answer": 1}),
    "Dismiss": (audit_pb2, {"id_a": NO_ID, "id_b": UNKNOWN_ID}),
}


@pytest.mark.parametrize("method", NAMING)
def test_name_of_any_other_form_is_not_found_like_an_id_that_nothing_has(wire, fails, method):
    module, request = NAMING[method]
    for memory_id in (NO_ID, UNKNOWN_ID[:-1] + "0"):
        text = json.dumps(request).replace(NO_ID, memory_id)
        message = json_format.Parse(text, getattr(module, f"{method}Request")())
        failure = fails(getattr(wire.memory, method), message)
        assert (failure.reason, failure.details["name"]) == ("MEMORY_NOT_FOUND", memory_id)


def test_names_of_any_form_are_missing_among_others(wire):
    collection = wire.collection()
    saved = wire.remember("The lamp is broken.", collection).memory_id
    found = wire.memory.Get(pb.GetRequest(collection=collection, ids=[saved, NO_ID]), timeout=10)
    assert ([memory.id for memory in found.memories], list(found.missing_ids)) == ([saved], [NO_ID])
    gone = wire.memory.Forget(
        pb.ForgetRequest(collection=collection, ids=[saved, NO_ID]), timeout=10
    )
    assert list(gone.missing_ids) == [NO_ID]
