"""The command line about dismissals, why-nots and audits: what is sent, and its words."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from typer.testing import Result

from support.scripted import answering
from totonoe.v1 import audit_pb2 as audit_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import types_pb2

Run = Callable[..., Result]
THREE_DAYS_AGO = Timestamp()
THREE_DAYS_AGO.FromDatetime(datetime.now(UTC) - timedelta(days=3, minutes=1))
PAIR = ["mem_1", "mem_2"]


def test_dismiss_tells_how_to_take_it_back(run: Run) -> None:
    requests: list[audit_pb.DismissRequest] = []
    answer = audit_pb.DismissResponse(changed=True, memory_ids=PAIR)
    result = run("dismiss", *PAIR, "--reason", "no", Dismiss=answering(answer, requests))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Dismissed: mem_1 and mem_2 are no duplicates, while their texts are what they are.",
        "Take it back with: totonoe undismiss mem_1 mem_2",
    ]
    assert (requests[0].id_a, requests[0].id_b, requests[0].reason) == ("mem_1", "mem_2", "no")


@pytest.mark.parametrize(
    ("command", "changed", "words"),
    [
        ("dismiss", False, "mem_1 and mem_2 were dismissed already."),
        ("undismiss", True, "mem_1 and mem_2 may be duplicates again."),
        ("undismiss", False, "Nobody had dismissed mem_1 and mem_2."),
    ],
)
def test_dismissals_say_what_changed(run: Run, command: str, changed: bool, words: str) -> None:
    kind = command.capitalize()
    answer = getattr(audit_pb, f"{kind}Response")(changed=changed, memory_ids=PAIR)
    result = run(command, *PAIR, **{kind: answering(answer)})
    assert result.stdout.splitlines() == [words]


def test_undismiss_as_json_has_the_stable_names(run: Run) -> None:
    answer = audit_pb.UndismissResponse(revision=2, changed=True, memory_ids=PAIR)
    result = run("undismiss", *PAIR, "--json", Undismiss=answering(answer))
    assert json.loads(result.stdout) == {
        "revision": 2, "changed": True, "memory_ids": PAIR, "replayed": False, "operation_id": "",
    }  # fmt: skip


# -- why-not


def standing(outcome: str, **more: Any) -> pb.WhyNotResponse:
    return pb.WhyNotResponse(
        outcome=f"WHY_NOT_OUTCOME_{outcome}",
        memory_id="mem_1",
        k=10,
        candidate_count=60,
        status=types_pb2.STATUS_ACTIVE,
        diversity=pb.DIVERSITY_EFFECT_NONE,
        **more,
    )


NEAR = {"fused_rank": 4, "near_id": "mem_9", "near_similarity": 0.97}
FIRST_LINES = [
    (standing("CAME", place=3), "It comes: place 3 of 60 candidates, 10 asked for."),
    (
        standing("CAME", place=3, near_id="mem_9", near_similarity=0.9),
        "It comes: place 3 of 60 candidates, 10 asked for. It is near mem_9 (cosine 0.900), which "
        "came before it (--no-diversity).",
    ),
    (standing("EXCLUDED"), "The filter leaves it out; else it would not come."),
    (
        standing("EXCLUDED", place=2),
        "The filter leaves it out; else it would come at place 2.",
    ),
    (
        standing("EXCLUDED", place=2, unmet=[pb.UnmetCondition(name="statuses")]),
        "Its status leaves it out; else it would come at place 2.",
    ),
    (standing("NO_MATCH"), "Nothing of the query is in it."),
    (
        standing("OUT_OF_REACH", vector=pb.ArmStanding(rank=301), lexical=pb.ArmStanding(rank=0)),
        "It is too far down in each arm to be a candidate. With -k 76 it is one.",
    ),
    (
        standing("OUT_OF_REACH", vector=pb.ArmStanding(rank=2001)),
        "It is too far down in each arm to be a candidate.",
    ),
    (
        standing("MISSED"),
        "It is near enough, but the graph, which searches approximately, passed it by.",
    ),
    (
        standing("BEYOND_K", fused_rank=14),
        "It has rank 14 of 60 candidates, beyond the 10 asked for.",
    ),
    (
        standing("CROWDED_OUT", **NEAR),
        "At rank 4 of 60 candidates, its place went to another one. It is near mem_9 "
        "(cosine 0.970), which came before it (--no-diversity).",
    ),
    (
        standing("CROWDED_OUT", fused_rank=4, budget="thread"),
        "At rank 4 of 60 candidates, its place went to another one. What is of the same thread "
        "had its share of places (--no-diversity).",
    ),
]


@pytest.mark.parametrize(("answer", "words"), FIRST_LINES)
def test_why_not_says_what_became_of_it(run: Run, answer: pb.WhyNotResponse, words: str) -> None:
    result = run("why-not", "mem_1", "pump", WhyNot=answering(answer))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == words


def test_why_not_shows_conditions_arms_and_words(run: Run) -> None:
    answer = standing(
        "EXCLUDED",
        superseded_by="mem_2",
        confidence=0.8,
        effective_confidence=0.31,
        unmet=[
            pb.UnmetCondition(name="statuses", asked="active", held="superseded"),
            pb.UnmetCondition(name="tags", asked="a", held=""),
            pb.UnmetCondition(name="min_confidence", asked="0.5", held="0.31"),
        ],
        vector=pb.ArmStanding(similarity=0.5, rank=70, depth=50),
        lexical=pb.ArmStanding(depth=50),
        missing_words=["loud", "pump"],
        passing_count=1,
        degraded_because="too much to do",
    )
    requests: list[pb.WhyNotRequest] = []
    result = run(
        "why-not", "mem_1", "pump", "-k", "7", "--tag", "a", "--no-diversity", "--mode", "hybrid",
        WhyNot=answering(answer, requests),
    )  # fmt: skip
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[1:7] == [
        "- statuses: asked for active, it has superseded",
        "  In its place: mem_2",
        "- tags: asked for a, it has nothing",
        "- min_confidence: asked for 0.5, it has 0.31",
        "  It was given 0.80; the rest faded since its last recall.",
        "Note: too much to do",
    ]
    table = [[cell.strip() for cell in line.split("│")] for line in lines[7:] if "│" in line]
    assert table == [
        ["meaning", "0.500", "70", "no, of at most 50 candidates"],
        ["words", "0.000", "nothing found", "no, of at most 50 candidates"],
    ]
    assert lines[-2:] == [
        "Words that it lacks: loud, pump",
        "The filter lets 1 memory through; 60 candidates of both arms.",
    ]
    recall = requests[0].recall
    assert (recall.text, recall.k, list(recall.filter.tags)) == ("pump", 7, ["a"])
    assert recall.diversity.HasField("enabled")
    assert not recall.diversity.enabled


def test_why_not_says_what_neighbours_add_to_the_relevance(run: Run) -> None:
    answer = standing("CAME", place=2, relevance=0.41, context=0.15)
    lines = run("why-not", "mem_1", "pump", WhyNot=answering(answer)).stdout.splitlines()
    told = "Its relevance is 0.410: 0.260 of its own, and 0.150 from its neighbours in the thread."
    assert told in lines
    alone = standing("CAME", place=2, relevance=0.41)
    assert "neighbours" not in run("why-not", "mem_1", "pump", WhyNot=answering(alone)).stdout


def test_why_not_of_what_is_not_there_fails(run: Run) -> None:
    answer = pb.WhyNotResponse(outcome=pb.WHY_NOT_OUTCOME_NOT_THERE, memory_id="mem_1", k=10)
    result = run("why-not", "mem_1", "-", stdin="pump\n", WhyNot=answering(answer))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Memory mem_1 not found: it does not exist, or is private to another agent.",
        "Double-check the ID. Use recall to search for the memory you're looking for.",
    ]
    result = run("why-not", "mem_1", "pump", "--json", WhyNot=answering(answer))
    told = json.loads(result.stdout)
    assert (told["outcome"], told["status"], told["vector"]) == ("not_there", None, None)


# -- audit


def test_audit_shows_figures_examples_and_who_writes(run: Run) -> None:
    answer = audit_pb.AuditResponse(
        active_count=30_000,
        examined_count=2000,
        near_count=50,
        near_distance_below=0.1,
        near_pairs=[audit_pb.NearPair(id_a="mem_1", id_b="mem_2", distance=0.0123)],
        never_recalled_count=7,
        contradiction_count=1,
        contradictions=[audit_pb.ContradictingPair(id_a="mem_3", id_b="mem_4")],
        open_question_count=2,
        confidence_below=0.3,
        faded_count=3,
        chain_count=4,
        longest_chain=1,
        longest_chain_id="mem_5",
        days=7,
        operations_from_time=THREE_DAYS_AGO,
        agents=[
            audit_pb.AgentWrites(
                agent_id="anna", operation_count=5, kind_counts={"Forget": 2, "Remember": 3}
            ),
            audit_pb.AgentWrites(operation_count=1, kind_counts={"Purge": 1}),
        ],
        repeat_count=8,
        repeats_from_time=THREE_DAYS_AGO,
        texts={f"mem_{number}": f"text {number}" for number in range(1, 6)},
        echo_refused_count=1,
        echo_saved_count=2,
        recall_at_k=0.991,
        recall_sampled_count=32,
    )
    requests: list[audit_pb.AuditRequest] = []
    result = run(
        "audit", "--days", "7", "--confidence-below", "0.3", Audit=answering(answer, requests)
    )
    assert result.exit_code == 0
    assert requests == [audit_pb.AuditRequest(days=7, confidence_below=0.3)]
    lines = result.stdout.splitlines()
    figures = dict(
        [cell.strip() for cell in line.split("│")] for line in lines if line.count("│") == 1
    )
    assert figures == {
        "live memories": "30000",
        "near another (distance < 0.1)": "2.5% (50 of 2000, sampled)",
        "never recalled": "7",
        "faded below 0.3": "3",
        "open contradictions": "1",
        "open questions: probably the same": "2",
        "chains of superseded": "4, the longest of 1 step to mem_5: text 5",
        "refused as repeated since 3d ago": "8",
        "of them equal and just recalled (at least)": "1",
        "saved though just recalled (at least)": "2",
        "index": "finds 99.1% of the 10 nearest (32 asked)",
    }
    # Near is not the same: 5433 and 5434 are near.
    assert (
        "Nearest pairs, by distance alone:\n- mem_1 mem_2 (distance 0.012)\n  text 1\n  text 2\n"
        "Which of them may say the same: totonoe consolidate"
    ) in result.stdout
    assert "merge" not in result.stdout
    assert "- mem_3 mem_4\n  text 3\n  text 4\n" in result.stdout
    assert "Operations since 3d ago:" in lines
    agents = [[cell.strip() for cell in line.split("│")] for line in lines if line.count("│") == 2]
    assert agents == [["anna", "5", "Remember 3, Forget 2"], ["(nobody)", "1", "Purge 1"]]


def test_audit_of_nothing_is_short(run: Run) -> None:
    result = run("audit", Audit=answering(audit_pb.AuditResponse(near_distance_below=0.1)))
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert any(line.startswith("index") and line.endswith("exact") for line in lines)
    assert not [line for line in lines if line.startswith(("Nearest", "Open", "Operations"))]


def test_audit_as_json_has_the_stable_names(run: Run) -> None:
    answer = audit_pb.AuditResponse(
        near_pairs=[audit_pb.NearPair(id_a="mem_1", id_b="mem_2", distance=0.5)],
        contradictions=[audit_pb.ContradictingPair(id_a="mem_3", id_b="mem_4")],
    )
    told = json.loads(run("audit", "--json", Audit=answering(answer)).stdout)
    assert told["near_pairs"] == [{"id_a": "mem_1", "id_b": "mem_2", "distance": 0.5}]
    assert told["contradictions"] == [["mem_3", "mem_4"]]
    assert told["operations_from_time"] is None
