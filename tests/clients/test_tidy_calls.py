"""Tidying: what both clients send and read, and what the commands print."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from support.scripted import answering, fail, failing, scripted
from totonoe import StateKind, TidyPolicy, TidyUpdate, Verdict
from totonoe.enums import TidyFate, TidyOp, TidyPhase
from totonoe.errors import QuotaExceeded, StaleRevision, Unavailable
from totonoe.tidy.models import (
    PlanApplied,
    TidyCluster,
    TidyDone,
    TidyDoubles,
    TidyProgress,
    TurnRecorded,
)
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import tidy_pb2, types_pb2

Call = Callable[..., Any]
Run = Callable[..., Any]
STAMP = Timestamp(seconds=1_767_225_600)
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
MEMORY = types_pb2.Memory(
    id="mem_1",
    content="Said twice.",
    kind=types_pb2.KIND_STATE,
    state_kind=types_pb2.STATE_KIND_LONG_MOOD,
    confidence=0.8,
    entities=["tea"],
    revision=7,
    created_time=STAMP,
)
MEMORY.payload.update({"a": 1, "_tidy": {"cluster": "6-1"}})
DONE = tidy_pb2.TidyDone(
    closed=True,
    dry_run=True,
    revision=9,
    read_counts={"fact": 3},
    closed_counts={"fact": 1},
    merged_count=1,
    complete=False,
    more=True,
    over_blast_radius=True,
    blast_allowed=20,
    blast_today=19,
    plan_read_count=3,
    cluster_count=1,
    left_out_count=4,
    next_page_token="next",
    seconds=0.5,
)
EVENTS = [
    tidy_pb2.TidyResponse(
        progress=tidy_pb2.TidyProgress(
            phase=tidy_pb2.TIDY_PHASE_CLUSTERS, done=1, total=2, seconds=0.25
        )
    ),
    tidy_pb2.TidyResponse(
        doubles=tidy_pb2.TidyDoubles(
            cluster_id="6-1", kept=MEMORY, closed_ids=["mem_2"], protected_ids=["mem_3"]
        )
    ),
    tidy_pb2.TidyResponse(
        cluster=tidy_pb2.TidyCluster(
            state_kind=types_pb2.STATE_KIND_LONG_MOOD,
            members=[tidy_pb2.TidyMember(memory=MEMORY, protected=True)],
            pairs=[
                tidy_pb2.TidyPair(
                    a_id="mem_1",
                    b_id="mem_2",
                    distance=0.05,
                    verdict=types_pb2.VERDICT_RELATED,
                    valid_together=True,
                    about_gap_days=1.5,
                    same_thread=True,
                    shared_entities=["tea"],
                )
            ],
        )
    ),
    tidy_pb2.TidyResponse(done=DONE),
]
APPLIED = tidy_pb2.ApplyTidyPlanResponse(
    outcomes=[
        tidy_pb2.TidyOutcome(index=0, fate=tidy_pb2.TIDY_FATE_CLOSED, memory_id="mem_1"),
        tidy_pb2.TidyOutcome(
            index=2,
            fate=tidy_pb2.TIDY_FATE_REFUSED,
            memory_id="mem_2",
            duplicate=types_pb2.Duplicate(memory_id="mem_3", age="3d ago", snippet="The same."),
        ),
    ],
    merged_count=1,
    closed_count=2,
    summary_count=1,
    revision=9,
    operation_id="op_1",
)


def streaming(messages: list[Any], requests: list[Any] | None = None) -> Callable[..., Any]:
    """A handler that streams messages and keeps the requests."""

    def handler(request: Any, _context: Any) -> Any:
        if requests is not None:
            requests.append(request)
        yield from messages

    return handler


# -- Clients


def test_a_turn_is_sent_and_read(call: Call) -> None:
    requests: list[Any] = []
    answer = tidy_pb2.RecordTurnResponse(
        turn=10, began=True, revision=3, replayed=True, operation_id="op_1"
    )
    options = {"agent_id": "anna", "collection": "notes"}
    with scripted(RecordTurn=answering(answer, requests)) as address:
        got = call(address, "record_turn", options=options, operation_id="op_1")
        call(address, "record_turn", options=options)
    assert got == TurnRecorded(10, True, 3, True, "op_1")
    first, second = requests
    wanted = tidy_pb2.RecordTurnRequest(collection="notes", agent_id="anna", operation_id="op_1")
    assert first == wanted
    assert second.operation_id.startswith("op_")
    assert second.operation_id != first.operation_id


def test_tidy_sends_what_is_said_and_reads_each_message(call: Call) -> None:
    requests: list[Any] = []
    with scripted(Tidy=streaming(EVENTS, requests)) as address:
        found = call(
            address,
            "tidy",
            apply=True,
            plan=True,
            reason="why",
            distance_below=0.2,
            clusters_max=7,
            page_token="before",
            limit=7,
            operation_id="op_1",
            options={"agent_id": "anna"},
        )
        call(address, "tidy")
    assert requests[0] == tidy_pb2.TidyRequest(
        agent_id="anna",
        apply=True,
        plan=True,
        reason="why",
        distance_below=0.2,
        clusters_max=7,
        page_token="before",
        limit=7,
        operation_id="op_1",
    )
    assert requests[1].operation_id.startswith("op_")
    assert not requests[1].HasField("distance_below")
    progress, doubles, cluster, done = found
    assert progress == TidyProgress(TidyPhase.CLUSTERS, 1, 2, 0.25)
    assert isinstance(doubles, TidyDoubles)
    assert doubles.kept is not None
    assert (doubles.kept.id, doubles.closed_ids, doubles.protected_ids, doubles.cluster_id) == (
        "mem_1",
        ("mem_2",),
        ("mem_3",),
        "6-1",
    )
    assert isinstance(cluster, TidyCluster)
    assert cluster.state_kind is StateKind.LONG_MOOD
    assert (cluster.members[0].memory.id, cluster.members[0].protected) == ("mem_1", True)
    (pair,) = cluster.pairs
    assert (pair.verdict, pair.about_gap_days, pair.shared_entities) == (
        Verdict.RELATED,
        1.5,
        ("tea",),
    )
    assert isinstance(done, TidyDone)
    for name in TidyDone.__slots__:
        sent = getattr(DONE, name)
        assert getattr(done, name) == (dict(sent) if name.endswith("_counts") else sent)


def test_a_tidy_is_tried_again_until_its_first_message(call: Call) -> None:
    tries = []

    def handler(_request: Any, context: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            fail(context, "UNAVAILABLE", "OVERLOADED", retry_delay_s=0.001)
        yield from EVENTS[-1:]

    with scripted(Tidy=handler) as address:
        assert len(call(address, "tidy")) == 1
    assert len(tries) == 3


def test_a_tidy_that_breaks_later_raises(call: Call) -> None:
    def handler(_request: Any, context: Any) -> Any:
        yield EVENTS[0]
        fail(context, "UNAVAILABLE", "SHUTTING_DOWN")

    with scripted(Tidy=handler) as address, pytest.raises(Unavailable):
        call(address, "tidy")
    refusing = failing("RESOURCE_EXHAUSTED", "BLAST_RADIUS")
    with scripted(Tidy=refusing) as address, pytest.raises(QuotaExceeded) as caught:
        call(address, "tidy", apply=True)
    assert caught.value.reason == "BLAST_RADIUS"


def test_a_plan_goes_in_the_form_it_is_given_in(call: Call) -> None:
    requests: list[Any] = []
    update = TidyUpdate(
        TidyOp.UPSERT,
        "mem_1",
        kind="long_mood",
        body_text="x",
        payload={"a": 1},
        confidence=0.0,
        salience=1.0,
        valid_from_ts=MOMENT,
        valid_to_ts=MOMENT.astimezone(timezone(timedelta(hours=9))),
        last_confirmed_at=MOMENT,
        reason="why",
        evidence_event_ids=["mem_2"],
        expected_revision=7,
        vector=[1.0],
    )
    with scripted(ApplyTidyPlan=answering(APPLIED, requests)) as address:
        got = call(address, "apply_tidy_plan", [update, TidyUpdate("close", "mem_3")], only=[1])
        call(address, "apply_tidy_plan", {"state_updates": []}, reason="r", operation_id="op_2")
        call(address, "apply_tidy_plan", "whatever")
    first, second, third = requests
    grown, closed = first.plan.state_updates
    expected = tidy_pb2.TidyUpdate(
        op=tidy_pb2.TIDY_OP_UPSERT,
        state_id="mem_1",
        kind=types_pb2.STATE_KIND_LONG_MOOD,
        body_text="x",
        confidence=0.0,
        salience=1.0,
        valid_from_ts=STAMP,
        valid_to_ts=STAMP,
        last_confirmed_at=STAMP,
        reason="why",
        evidence_event_ids=["mem_2"],
        expected_revision=7,
        vector=b"\x00\x00\x80\x3f",
    )
    expected.payload.update({"a": 1})
    assert grown == expected
    assert closed == tidy_pb2.TidyUpdate(op=tidy_pb2.TIDY_OP_CLOSE, state_id="mem_3")
    assert list(first.only) == [1]
    assert (second.plan_json, second.reason, second.operation_id) == (
        '{"state_updates": []}',
        "r",
        "op_2",
    )
    assert third.plan_json == "whatever"
    assert isinstance(got, PlanApplied)
    assert [outcome.fate for outcome in got.outcomes] == [TidyFate.CLOSED, TidyFate.REFUSED]
    assert got.outcomes[1].duplicate is not None
    assert got.outcomes[1].duplicate.memory_id == "mem_3"
    assert (got.merged_count, got.closed_count, got.summary_count) == (1, 2, 1)


@pytest.mark.parametrize(
    ("plan", "kind"),
    [
        ([{"op": "close"}], TypeError),
        ([TidyUpdate("shut", "mem_1")], ValueError),
        ([TidyUpdate("close", "mem_1", kind="mood")], ValueError),
        ([TidyUpdate("close", "mem_1", valid_to_ts=datetime(2026, 1, 1))], ValueError),
    ],
)
def test_a_plan_that_cannot_be_sent_names_its_field(
    call: Call, plan: Any, kind: type[Exception]
) -> None:
    with scripted() as address, pytest.raises(kind, match=r"plan\[0\]"):
        call(address, "apply_tidy_plan", plan)


def test_a_state_that_changed_is_a_stale_revision(call: Call) -> None:
    stale = failing("ABORTED", "STALE_REVISION")
    with scripted(ApplyTidyPlan=stale) as address, pytest.raises(StaleRevision):
        call(address, "apply_tidy_plan", "{}")


def test_the_policy_is_set_and_read(call: Call) -> None:
    requests: list[Any] = []
    policy = types_pb2.TidyPolicy(enabled=True, first_turn=5)
    answer = admin_pb.UpdateCollectionResponse(collection=types_pb2.Collection(tidy=policy))
    with scripted(UpdateCollection=answering(answer, requests)) as address:
        got = call(address, "update_collection", tidy=TidyPolicy(enabled=True, first_turn=5))
    assert requests[0].collection.tidy == policy
    assert sorted(requests[0].update_mask.paths) == ["tidy.enabled", "tidy.first_turn"]
    assert got.collection.tidy == TidyPolicy(enabled=True, first_turn=5)


# -- Commands


def test_tidy_tells_by_default_and_changes_nothing(run: Run) -> None:
    requests: list[Any] = []
    result = run("tidy", Tidy=streaming(EVENTS, requests))
    assert result.exit_code == 0, result.output
    assert not requests[0].apply
    assert not requests[0].plan
    for part in ("mem_1 stays: Said twice.", "would close: mem_2", "protected: mem_3"):
        assert part in result.output
    assert "Would close 1 exact double of 3 states read." in result.output
    assert "None may be closed today: --apply would change nothing." in result.output
    more = "totonoe collections update --set blast.rows_min=21"
    assert f"20 a day may go, and 19 went in the last 24 hours. Allow more with: {more}" in (
        result.output.replace("\n", " ")
    )


def test_tidy_in_part_names_the_command_for_its_own_collection(run: Run) -> None:
    requests: list[Any] = []
    part = {"dry_run": False, "closed": True, "more": True, "closed_counts": {"fact": 20}}
    spent = tidy_pb2.TidyDone(blast_allowed=20, operation_id="op_1", **part)
    events = [tidy_pb2.TidyResponse(done=spent)]
    asked = ("tidy", "--apply", "--limit", "30", "--collection", "work")
    result = run(*asked, Tidy=streaming(events, requests))
    assert (requests[0].collection, requests[0].limit) == ("work", 30)
    assert "collections update --set blast.rows_min=40 --collection work" in result.output.replace(
        "\n", " "
    )
    # With allowance left it is the limit alone that ends the run.
    left = tidy_pb2.TidyDone(blast_allowed=50, operation_id="op_1", **part)
    events = [tidy_pb2.TidyResponse(done=left)]
    result = run(*asked, Tidy=streaming(events, requests))
    assert "There are more than one run closes: run it again." in result.output
    assert "update work" not in result.output


@pytest.mark.parametrize("arguments", [["--limit", "0"], ["--limit", "5", "--plan"]])
def test_tidy_with_a_limit_that_cannot_be_is_refused(run: Run, arguments: list[str]) -> None:
    result = run("tidy", *arguments)
    assert result.exit_code == 2
    assert "--limit" in result.output


def test_tidy_apply_says_how_to_take_it_back(run: Run) -> None:
    done = tidy_pb2.TidyDone(
        closed=True,
        operation_id="op_1",
        closed_counts={"fact": 2},
        read_counts={"fact": 9},
        replayed=True,
    )
    requests: list[Any] = []
    messages = [tidy_pb2.TidyResponse(done=done)]
    result = run("tidy", "--apply", "--reason", "why", Tidy=streaming(messages, requests))
    assert (requests[0].apply, requests[0].reason) == (True, "why")
    assert "Closed 2 exact doubles of 9 states read." in result.output
    assert "totonoe undo op_1" in result.output
    assert "the next goes on behind them" in result.output
    assert "used before" in result.output


def test_tidy_json_has_its_fields(run: Run) -> None:
    result = run("tidy", "--json", Tidy=streaming(EVENTS))
    answer = json.loads(result.output)
    assert set(answer) == {"doubles", "done"}
    assert answer["doubles"][0]["kept"]["memory_id"] == "mem_1"
    assert set(answer["done"]) == set(TidyDone.__slots__)


def test_tidy_plan_prints_what_a_model_needs_under_the_names_of_a_plan(run: Run) -> None:
    requests: list[Any] = []
    result = run(
        "tidy",
        "--plan",
        "--distance-below",
        "0.2",
        "--clusters",
        "9",
        "--page-token",
        "t",
        Tidy=streaming(EVENTS, requests),
    )
    assert requests[0] == tidy_pb2.TidyRequest(
        plan=True,
        distance_below=0.2,
        clusters_max=9,
        page_token="t",
        operation_id=requests[0].operation_id,
    )
    answer = json.loads(result.output)
    assert (answer["left_out_count"], answer["next_page_token"]) == (4, "next")
    (cluster,) = answer["clusters"]
    assert cluster["kind"] == "long_mood_state"
    (state,) = cluster["states"]
    assert (state["state_id"], state["expected_revision"], state["body_text"]) == (
        "mem_1",
        7,
        "Said twice.",
    )
    assert (state["payload"], state["protected"]) == ({"a": 1}, True)
    names = set(tidy_pb2.TidyUpdate.DESCRIPTOR.fields_by_name) - {"op", "reason", "vector"}
    assert names <= set(state)
    assert cluster["pairs"][0]["verdict"] == "related"


def test_a_plan_is_read_from_a_file_or_standard_input(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text('{"state_updates": ["あ"]}', encoding="utf-8")
    requests: list[Any] = []
    handler = answering(APPLIED, requests)
    result = run(
        "tidy", "--apply-plan", str(file), "--only", "0", "--only", "2", ApplyTidyPlan=handler
    )
    assert result.exit_code == 3, "one was refused"
    assert (requests[0].plan_json, list(requests[0].only)) == ('{"state_updates": ["あ"]}', [0, 2])
    assert "0: closed mem_1" in result.output
    assert "2: refused mem_2, repeats mem_3 (3d ago): The same." in result.output
    assert (
        "1 state changed or saved, 2 closed. Take it back with: totonoe undo op_1" in result.output
    )
    run("tidy", "--apply-plan", "-", stdin="{}", ApplyTidyPlan=handler)
    assert requests[1].plan_json == "{}"
    answer = json.loads(
        run("tidy", "--apply-plan", "-", "--json", stdin="{}", ApplyTidyPlan=handler).output
    )
    assert answer["outcomes"][0]["fate"] == "closed"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--apply", "--plan"],
        ["--plan", "--apply-plan", "x"],
        ["--only", "1"],
        ["--distance-below", "0.2"],
        ["--page-token", "x"],
        ["--apply-plan", "/nowhere/at/all.json"],
    ],
)
def test_what_does_not_go_together_is_a_usage_error(run: Run, arguments: list[str]) -> None:
    assert run("tidy", *arguments).exit_code == 2


def test_turn_tells_the_count(run: Run) -> None:
    answer = tidy_pb2.RecordTurnResponse(turn=10, began=True)
    assert run("turn", RecordTurn=answering(answer)).output == "Turn 10. Tidying began.\n"
    answer = tidy_pb2.RecordTurnResponse(turn=11, revision=3)
    assert json.loads(run("turn", "--json", RecordTurn=answering(answer)).output) == {
        "turn": 11,
        "began": False,
        "revision": 3,
        "replayed": False,
        "operation_id": "",
    }
    requests: list[Any] = []
    answer = tidy_pb2.RecordTurnResponse(turn=10, replayed=True)
    result = run("turn", "--operation-id", "o", RecordTurn=answering(answer, requests))
    assert requests[0].operation_id == "o"
    assert result.output.splitlines()[1].startswith("This operation id was used before")


def test_a_whole_number_of_a_policy_is_checked(run: Run) -> None:
    requests: list[Any] = []
    handler = answering(admin_pb.UpdateCollectionResponse(), requests)
    run("collections", "update", "--set", "tidy.first_turn=5", UpdateCollection=handler)
    assert requests[0].collection.tidy.first_turn == 5
    result = run("collections", "update", "--set", "tidy.first_turn=5.5", UpdateCollection=handler)
    assert result.exit_code == 2
