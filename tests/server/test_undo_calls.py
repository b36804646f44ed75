"""What the server does by itself around Undo, Merge, Forget, Purge and reads of the past."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import graph_pb2, operations_pb2, types_pb2
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base import errors, limits
from totonoe_core.domain import policy, records, undo
from totonoe_core.domain.asking import Previewed
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.graph import Linked, LinkMemories
from totonoe_core.domain.memories import ForgetMatching, Forgotten, Matching, Merged, Purge, Purged
from totonoe_core.domain.queries import (
    AsOf,
    EpisodePage,
    EpisodeQuery,
    EpisodeRead,
    EpisodesQuery,
    GetQuery,
    Gotten,
    HistoryPage,
    HistoryQuery,
    ListQuery,
    Neighborhood,
    NeighborsQuery,
    OperationFilter,
    OperationPage,
    OperationsQuery,
    Page,
)
from totonoe_core.domain.records import ANY_TIME
from totonoe_core.domain.undo import Undo, Undone

IDS = [f"mem_{number:012x}" for number in range(64)]
OPERATION = undo.OperationInfo(3, "op_3", "ann", "Forget", "old", 0, (IDS[0],))
NO_COLLECTION = errors.NotFound("COLLECTION_NOT_FOUND", kind="collection", name="c")
NO_OPERATION = errors.NotFound("OPERATION_NOT_FOUND", kind="operation", name="op_3")
NO_MEMORY = errors.NotFound("MEMORY_NOT_FOUND", kind="memory", name="mem_a")
TAKEN = errors.AlreadyExists("COLLECTION_EXISTS", kind="collection", name="c")


def memory_of(size_bytes: int) -> records.Memory:
    """A stored memory of some length."""
    return records.Memory(
        1, IDS[0], "x" * size_bytes, b"h" * 16, b"", "", records.Fields(), 0, 0,
        records.Status.ACTIVE, "", 1,
    )  # fmt: skip


def info_of(name: str) -> CollectionInfo:
    """A collection as it is made."""
    return CollectionInfo(
        name, "", policy.PRESETS[policy.Preset.STANDARD], policy.DiversityPolicy(),
        policy.DecayPolicy(), records.ModelIdentity("none", "", "", 0), 0, 8, 1,
    )  # fmt: skip


def answers(**by_name: Any) -> Any:
    """An engine that answers calls by their names."""
    return lambda name, *_, **__: by_name[name]


# -- Undo


def test_undo_is_applied_and_its_dry_run_only_looked_at(fake):
    undone = Undone(True, OPERATION)
    fake.engine.behave = answers(apply=Applied("op_4", 4, (undone,)), preview=Previewed(3, undone))
    request = operations_pb2.UndoRequest(agent_id="ann", target_revision=3, operation_id="op_4")
    answer = fake.memory.Undo(request, timeout=10)
    assert (answer.revision, answer.operation_id, answer.dry_run) == (4, "op_4", False)
    command = Undo("ann", revision=3)
    assert fake.engine.calls == [("apply", "default", "op_4", (command,))]
    request.dry_run = True
    answer = fake.memory.Undo(request, timeout=10)
    assert (answer.revision, answer.operation_id, answer.dry_run) == (3, "", True)
    assert fake.engine.calls[1:] == [("preview", "default", command)]


def test_undo_refused_by_conflicts_is_aborted_and_tells_them(fake, fails):
    fake.engine.behave = answers(apply=errors.UndoRefused(3, ["mem_a was changed by 5"]))
    failure = fails(fake.memory.Undo, operations_pb2.UndoRequest(target_revision=3))
    assert (failure.code, failure.reason) == (grpc.StatusCode.ABORTED, "UNDO_CONFLICT")
    assert failure.details["conflicts"] == "mem_a was changed by 5"


def test_undo_with_a_deleted_collections_name_brings_it_back(fake):
    restored = (info_of("c"), "op_9", False)
    fake.engine.behave = answers(apply=NO_COLLECTION, restore_collection=restored)
    request = operations_pb2.UndoRequest(
        collection="c", operation_id="op_9", target_operation_id="op_3"
    )
    answer = fake.memory.Undo(request, timeout=10)
    assert (answer.undone, answer.collection.name, answer.revision) == (True, "c", 8)
    assert (answer.operation_id, answer.replayed) == ("op_9", False)
    assert fake.engine.calls[1] == ("restore_collection", "c", "op_9")


def test_undo_with_a_deleted_collections_name_is_replayed_once_it_is_back(fake):
    restored = (info_of("c"), "op_9", True)
    fake.engine.behave = answers(apply=NO_OPERATION, restore_collection=restored)
    request = operations_pb2.UndoRequest(
        collection="c", operation_id="op_9", target_operation_id="op_3"
    )
    assert fake.memory.Undo(request, timeout=10).replayed


@pytest.mark.parametrize(
    ("target", "met", "then", "reason"),
    [
        ({"target_revision": 3}, NO_COLLECTION, None, "COLLECTION_NOT_FOUND"),
        ({"target_revision": 3}, NO_OPERATION, None, "OPERATION_NOT_FOUND"),
        ({"target_operation_id": "op_3"}, NO_MEMORY, None, "MEMORY_NOT_FOUND"),
        ({"target_operation_id": "op_3"}, NO_OPERATION, NO_OPERATION, "OPERATION_NOT_FOUND"),
        ({"target_operation_id": "op_3"}, NO_COLLECTION, NO_OPERATION, "COLLECTION_NOT_FOUND"),
        ({"target_operation_id": "op_3"}, NO_OPERATION, TAKEN, "COLLECTION_EXISTS"),
    ],
    ids=["revision", "no such revision", "other", "no such id", "no deletion", "name taken"],
)
def test_undo_that_brings_no_collection_back_names_what_is_missing(
    fake, fails, target, met, then, reason
):
    fake.engine.behave = answers(apply=met, restore_collection=then)
    failure = fails(fake.memory.Undo, operations_pb2.UndoRequest(collection="c", **target))
    assert failure.reason == reason
    assert len(fake.engine.calls) == (1 if then is None else 2)


def test_undo_whose_answer_would_be_too_long_is_done_and_answered(fake):
    many = (memory_of(limits.CONTENT_BYTES_MAX),) * 600
    fake.engine.behave = answers(apply=Applied("op_4", 4, (Undone(True, OPERATION, many),)))
    answer = fake.memory.Undo(operations_pb2.UndoRequest(target_revision=3), timeout=10)
    assert (answer.undone, len(answer.memories)) == (True, 0)
    assert list(answer.operation.memory_ids) == [IDS[0]]


# -- Merge and Forget: measured before anything is changed


def test_merge_of_few_is_applied_at_once_and_of_many_measured_first(fake):
    merged = Applied("op_4", 4, (Merged(True, memory_of(1), ()),))
    fake.engine.behave = answers(apply=merged, read=Gotten(3, (memory_of(1),), ()))
    for count, calls in ((15, ["apply"]), (16, ["read", "apply"])):
        fake.engine.calls.clear()
        request = graph_pb2.MergeRequest(keep_id=IDS[63], remove_ids=IDS[:count])
        assert fake.memory.Merge(request, timeout=10).merged
        assert [call[0] for call in fake.engine.calls] == calls


def test_merge_whose_answer_would_be_too_long_changes_nothing(fake, fails):
    many = (memory_of(limits.MESSAGE_BYTES_MAX // 16),) * 16
    fake.engine.behave = answers(read=Gotten(3, many, ()))
    request = graph_pb2.MergeRequest(keep_id=IDS[63], remove_ids=IDS[:16])
    failure = fails(fake.memory.Merge, request)
    assert (failure.reason, failure.details["field"]) == ("LIMIT_EXCEEDED", "remove_ids")
    assert [call[0] for call in fake.engine.calls] == ["read"]


def test_forget_of_many_is_measured_without_the_revisions_it_expects(fake):
    forgotten = Forgotten((), (), 0)
    fake.engine.behave = answers(
        apply=Applied("op_4", 4, (forgotten,)), preview=Previewed(3, forgotten)
    )
    request = pb.ForgetRequest(ids=IDS[:17], expected_revisions={IDS[1]: 2, IDS[0]: 1})
    fake.memory.Forget(request, timeout=10)
    (_, _, measured), (_, _, _, (applied,)) = fake.engine.calls
    assert (measured.ids, measured.expected_revisions) == (tuple(IDS[:17]), ())
    assert applied.expected_revisions == ((IDS[0], 1), (IDS[1], 2))


def test_forget_by_filter_only_tells(fake, fails):
    found = Forgotten((memory_of(1),), (), 2)
    fake.engine.behave = answers(preview=Previewed(3, Matching(found, 1200)))
    request = pb.ForgetRequest(agent_id="ann", filter={"tags": ["x"]}, dry_run=True)
    answer = fake.memory.Forget(request, timeout=10)
    assert (answer.matching_count, len(answer.forgotten), answer.unlinked_count) == (1200, 1, 2)
    assert answer.dry_run
    where = Filter(tags=("x",))
    assert fake.engine.calls == [("preview", "default", ForgetMatching("ann", where))]
    many = Forgotten((memory_of(limits.CONTENT_BYTES_MAX),) * 600, (), 0)
    fake.engine.behave = answers(preview=Previewed(3, Matching(many, 600)))
    failure = fails(fake.memory.Forget, request)
    assert (failure.reason, failure.details["field"]) == ("LIMIT_EXCEEDED", "filter")


# -- Purge and settings


def test_purge_is_applied_and_its_dry_run_only_looked_at(fake):
    purged = Purged((IDS[0],), ())
    fake.engine.behave = answers(
        apply=Applied("op_4", 4, (purged,)), preview=Previewed(3, purged), purge_snapshots=()
    )
    request = admin_pb.PurgeRequest(operation_id="op_4", ids=IDS[:1])
    answer = fake.admin.Purge(request, timeout=10)
    assert (answer.revision, answer.dry_run, list(answer.purged_ids)) == (4, False, IDS[:1])
    command = Purge("", (IDS[0],))
    assert [call[0] for call in fake.engine.calls] == ["apply", "purge_snapshots"]
    assert fake.engine.calls[0] == ("apply", "default", "op_4", (command,))
    request.dry_run = True
    answer = fake.admin.Purge(request, timeout=10)
    assert (answer.revision, answer.dry_run, answer.operation_id) == (3, True, "")
    asked = [call for call in fake.engine.calls[1:] if call[0] != "purge_snapshots"]
    assert asked == [("preview", "default", command)]
    assert len(fake.engine.calls) == 4, "both look into snapshots"


@pytest.mark.parametrize(
    ("said", "days"), [({}, 0.0), ({"retention": {"purge_forgotten_days": 30}}, 30.0)]
)
def test_create_collection_says_what_is_purged_by_itself(fake, said, days):
    asked: list[Any] = []

    def behave(_: str, new: Any, *__: Any, **___: Any) -> Any:
        asked.append(new)
        return info_of("c"), "op_1", False

    fake.engine.behave = behave
    request = admin_pb.CreateCollectionRequest(name="c", **said)
    fake.admin.CreateCollection(request, timeout=10)
    assert asked[0].retention == policy.RetentionPolicy(days)


# -- Reads


def test_reads_of_the_past_hand_on_the_moment(fake):
    asked: list[GetQuery | ListQuery] = []

    def behave(_: str, __: str, query: GetQuery | ListQuery) -> Any:
        asked.append(query)
        if isinstance(query, GetQuery):
            return Gotten(9, (), (), as_of_revision=4)
        return Page(9, (), "", 4)

    fake.engine.behave = behave
    got = fake.memory.Get(
        pb.GetRequest(ids=IDS[:1], as_of={"revision": 4}, follow_superseded=True), timeout=10
    )
    page = fake.memory.List(pb.ListRequest(as_of={"time": {"seconds": 5}}), timeout=10)
    assert (got.as_of_revision, page.as_of_revision) == (4, 4)
    assert asked == [
        GetQuery("", (IDS[0],), AsOf(4), follow_superseded=True),
        ListQuery("", as_of=AsOf(time_us=5_000_000)),
    ]


def test_revision_to_come_is_out_of_range(fake, fails):
    fake.engine.behave = answers(read=errors.OutOfRange(field="as_of.revision", got=9, newest=4))
    failure = fails(fake.memory.Get, pb.GetRequest(ids=IDS[:1], as_of={"revision": 9}))
    assert failure.code is grpc.StatusCode.OUT_OF_RANGE
    assert (failure.reason, failure.details["newest"]) == ("REVISION_OUT_OF_RANGE", "4")


def test_reads_have_their_defaults(fake):
    episode = records.Episode("ep_a", "s", (), 0, 0, 3, "", False, 0, 1)
    size = limits.PAGE_SIZE_DEFAULT
    for method, request, query, answer in (
        (
            "History",
            operations_pb2.HistoryRequest(memory_id="m"),
            HistoryQuery("ann", "m", size, "", names_others=True),
            HistoryPage(9, (), ""),
        ),
        (
            "ListOperations",
            operations_pb2.ListOperationsRequest(),
            OperationsQuery("ann", OperationFilter(), size, ""),
            OperationPage(9, (), ""),
        ),
        (
            "GetEpisode",
            graph_pb2.GetEpisodeRequest(id="ep_a"),
            EpisodeQuery("ann", "ep_a", False),
            EpisodeRead(9, episode),
        ),
        (
            "ListEpisodes",
            graph_pb2.ListEpisodesRequest(),
            EpisodesQuery("ann", ANY_TIME, "", size, ""),
            EpisodePage(9, (), ""),
        ),
        (
            "Neighbors",
            graph_pb2.NeighborsRequest(ids=IDS[:1]),
            NeighborsQuery("ann", (IDS[0],)),
            Neighborhood(9, (), False),
        ),
    ):
        fake.engine.behave = answers(read=answer)
        request.agent_id = "ann"
        assert getattr(fake.memory, method)(request, timeout=10).revision == 9
        assert fake.engine.calls[-1] == ("read", "default", query)


def test_link_types_of_the_contract_are_all_taken(fake):
    def behave(_: str, __: str, ___: str, asked: tuple[LinkMemories]) -> Any:
        link = records.Link(IDS[1], asked[0].type, 0.5)
        back = records.Link(IDS[0], asked[0].type.inverse, 0.5)
        return Applied("op", 1, (Linked(link, back, True),))

    fake.engine.behave = behave
    for number in range(1, len(types_pb2.LinkType.values())):
        request = pb.LinkRequest(source_id=IDS[0], target_id=IDS[1], type=number)
        assert fake.memory.Link(request, timeout=10).link.type == number
