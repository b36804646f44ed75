"""Calibrate over the wire."""

from __future__ import annotations

import grpc
import pytest

from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import audit_pb2, graph_pb2
from totonoe_core.domain.records import Verdict
from totonoe_core.engine.collection import calibrating
from totonoe_core.guard.probe import ProbePair
from totonoe_server.tools.testing import running_server

from .conftest import connect

PROBE = [
    *(
        ProbePair(f"s{at}", "same", "en", f"Ann really likes tea {at}", f"Ann likes tea {at}",
                  (Verdict.DUPLICATE,))
        for at in range(6)
    ),
    *(
        ProbePair(f"d{at}", "number", "en", f"Ann likes tea {at}", f"Ann likes tea {at + 1}",
                  (Verdict.UPDATE,))
        for at in range(6)
    ),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(calibrating, "probe_pairs", lambda: PROBE)


def calibrate(wire, **fields):
    return wire.admin.Calibrate(admin_pb.CalibrateRequest(**fields), timeout=30)


def collection(wire, name):
    request = admin_pb.GetCollectionRequest(name=name)
    return wire.admin.GetCollection(request, timeout=30).collection


def test_calibrate_answers_curve_and_figures_and_stores(wire):
    name = wire.collection()
    assert not collection(wire, name).HasField("calibration")
    answer = calibrate(wire, collection=name, agent_id="me")
    made = answer.calibration
    assert made == collection(wire, name).calibration
    assert (made.false_merge_budget, made.pair_count) == (0.005, 12)
    assert made.false_merge_rate == 0.0
    assert made.duplicate_recall == 1.0
    assert made.model == collection(wire, name).model
    assert made.HasField("created_time")
    assert [point.at_least for point in answer.curve] == sorted(
        point.at_least for point in answer.curve
    )
    assert [(item.name, item.same_count, item.different_count) for item in answer.classes] == [
        ("number", 0, 6),
        ("same", 6, 0),
    ]
    assert (answer.revision, answer.replayed) == (1, False)
    assert answer.operation_id


def test_calibrate_again_is_replayed_and_a_dry_run_stores_nothing(wire):
    name = wire.collection()
    tried = calibrate(wire, collection=name, dry_run=True, operation_id="op")
    assert (tried.revision, tried.operation_id) == (0, "op")
    assert not collection(wire, name).HasField("calibration")
    first = calibrate(wire, collection=name, operation_id="op")
    again = calibrate(wire, collection=name, operation_id="op")
    assert (first.replayed, again.replayed) == (False, True)
    again.replayed = False
    assert again == first
    assert (tried.curve, tried.classes) == (first.curve, first.classes)


def test_calibrate_says_how_many_pairs_are_the_collections_own(wire):
    name = wire.collection()
    texts = ("Ann likes tea", "Ann really likes tea", "Ann likes chess", "Ann plays chess")
    ids = [wire.remember(text, name, force=True).memory_id for text in texts]
    wire.memory.Dismiss(
        audit_pb2.DismissRequest(collection=name, id_a=ids[0], id_b=ids[1]), timeout=30
    )
    wire.memory.Merge(
        graph_pb2.MergeRequest(collection=name, keep_id=ids[2], remove_ids=[ids[3]]), timeout=30
    )
    answer = calibrate(wire, collection=name)
    assert (answer.dismissed_count, answer.merged_count) == (1, 1)
    assert answer.calibration.pair_count == 14
    own = [(item.name, item.same_count, item.different_count) for item in answer.classes[:2]]
    assert own == [("dismissed", 0, 1), ("merged", 1, 0)]


def test_calibrate_with_a_budget_of_nothing_is_not_the_default(wire):
    name = wire.collection()
    answer = calibrate(wire, collection=name, false_merge_budget=0.0)
    assert answer.calibration.false_merge_budget == 0.0


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("budget", [-0.1, 0.21, float("nan")])
def test_calibrate_with_a_budget_out_of_range_is_refused(wire, fails, budget, dry_run):
    request = admin_pb.CalibrateRequest(
        collection=wire.collection(), false_merge_budget=budget, dry_run=dry_run
    )
    failure = fails(wire.admin.Calibrate, request)
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "OUT_OF_RANGE")
    assert failure.details["field"] == "false_merge_budget"


def test_calibrate_of_a_collection_that_is_not_there_says_so(wire, fails):
    request = admin_pb.CalibrateRequest(collection="nobody")
    assert fails(wire.admin.Calibrate, request).reason == "COLLECTION_NOT_FOUND"


def test_calibrate_where_clients_bring_the_vectors_is_refused(fails):
    with running_server(embedder="none") as server:
        wire = connect(server)
        with wire.channel:
            failure = fails(wire.admin.Calibrate, admin_pb.CalibrateRequest())
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "VECTOR_REQUIRED",
    )
