"""Consolidate by both clients, and by the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.testing import Result

from support.scripted import fail, scripted
from support.serving import serving
from totonoe import Client, RetryPolicy, Verdict, errors
from totonoe.cli.commands import consolidate as consolidate_commands
from totonoe.enums import KeepReason
from totonoe.v1 import consolidate_pb2 as pb
from totonoe.v1 import types_pb2

Call = Callable[..., Any]
Run = Callable[..., Result]
QUICK = RetryPolicy(attempts_max=3, backoff_initial_s=0.01, backoff_max_s=0.02)
JUDGEMENT = types_pb2.Judgement(
    verdict=types_pb2.VERDICT_UPDATE,
    same_probability=0.8,
    evidence=[
        types_pb2.Evidence(
            finding=types_pb2.FINDING_NUMBER, own_text="8081", other_text="8080", place="port"
        )
    ],
)


def candidate(a: int, b: int, keep: int | None = None) -> pb.MergeCandidate:
    return pb.MergeCandidate(
        memory_a_id=f"mem_{a}",
        memory_b_id=f"mem_{b}",
        revision_a=a,
        revision_b=b,
        distance=0.07,
        jaccard_similarity=0.5,
        judgement=JUDGEMENT,
        keep_id=f"mem_{keep or b}",
        keep_because=pb.KEEP_REASON_NEWER,
        snippet_a="The port is 8080.",
        snippet_b="The port is 8081.",
    )


PROGRESS = pb.ConsolidateResponse(
    resume_token="r-0", progress=pb.ConsolidateProgress(scanned_count=3, total_count=9, left_s=2)
)
FIRST = pb.ConsolidateResponse(resume_token="r-1", candidate=candidate(1, 2))
SECOND = pb.ConsolidateResponse(resume_token="r-2", candidate=candidate(3, 4, 3))
CLUSTER = pb.ConsolidateResponse(
    resume_token="r-3", cluster=pb.MergeCluster(memory_ids=["mem_2", "mem_1"])
)


def done(*kept: pb.MergeCandidate, **more: Any) -> pb.ConsolidateResponse:
    values: dict[str, Any] = {
        "revision": 7,
        "replay_events": 3,
        "coactivation_updates": 2,
        "link_updates": 1,
        "refreshed_memories": 1,
        "memory_count": 9,
        "pair_count": len(kept),
        "operation_id": "op",
        "operation_revision": 6,
    }
    return pb.ConsolidateResponse(
        resume_token="r-4", done=pb.ConsolidateDone(merge_candidates=kept, **(values | more))
    )


DONE = done(candidate(1, 2), candidate(3, 4, 3))


class Script:
    """Streams one after another; each ends in order or with an error."""

    def __init__(self, *streams: Any) -> None:
        self.streams = list(streams)
        self.asked: list[pb.ConsolidateRequest] = []

    def __call__(self, request: pb.ConsolidateRequest, context: Any) -> Iterator[Any]:
        self.asked.append(pb.ConsolidateRequest.FromString(request.SerializeToString()))
        for stream in self.streams.pop(0):
            if isinstance(stream, tuple):
                fail(context, *stream)
            yield stream


STOPPING = ("UNAVAILABLE", "SHUTTING_DOWN")
GONE = ("INVALID_ARGUMENT", "BAD_PAGE_TOKEN")


# -- both clients


def test_events_as_models(call: Call) -> None:
    script = Script([PROGRESS, FIRST, CLUSTER, DONE])
    with scripted(Consolidate=script) as address:
        progress, found, cluster, last = call(
            address,
            "consolidate",
            window_hours=0.0,
            distance_below=0.2,
            jaccard_above=0.5,
            max_merge_candidates=0,
            since_revision=4,
            max_replay_events=0,
            resume_token="",
            operation_id="op_1",
            collection="work",
            options={"agent_id": "ben"},
        )
    assert progress.progress is not None
    assert (progress.progress.scanned_count, progress.progress.left_s) == (3, 2.0)
    one = found.candidate
    assert (one.memory_a_id, one.keep_id, one.remove_id) == ("mem_1", "mem_2", "mem_1")
    assert (one.revision_a, one.revision_b, one.similarity) == (1, 2, pytest.approx(0.93))
    assert (one.keep_because, one.judgement.verdict) == (KeepReason.NEWER, Verdict.UPDATE)
    assert cluster.cluster.memory_ids == ("mem_2", "mem_1")
    assert [merge_candidate.memory_b_id for merge_candidate in last.done.merge_candidates] == [
        "mem_2",
        "mem_4",
    ]
    assert (last.done.replay_events, last.done.operation_revision) == (3, 6)
    (request,) = script.asked
    assert (request.collection, request.agent_id) == ("work", "ben")
    assert (request.operation_id, request.since_revision) == ("op_1", 4)
    for name, value in (
        ("window_hours", 0.0),
        ("distance_below", 0.2),
        ("jaccard_above", 0.5),
        ("max_merge_candidates", 0),
        ("max_replay_events", 0),
    ):
        assert request.HasField(name)
        assert getattr(request, name) == value


def test_without_arguments_only_the_defaults_are_asked_for(call: Call) -> None:
    script = Script([DONE])
    with scripted(Consolidate=script) as address:
        call(address, "consolidate")
    assert not script.asked[0].HasField("window_hours")
    assert script.asked[0].operation_id.startswith("op_")


def test_stream_that_breaks_goes_on_with_the_token_and_the_same_operation(call: Call) -> None:
    script = Script([PROGRESS, FIRST, STOPPING], [STOPPING], [SECOND, DONE])
    with scripted(Consolidate=script) as address:
        events = call(address, "consolidate")
    assert [event.resume_token for event in events] == ["r-0", "r-1", "r-2", "r-4"]
    assert [request.resume_token for request in script.asked] == ["", "r-1", "r-1"]
    assert len({request.operation_id for request in script.asked}) == 1


def test_run_that_is_gone_begins_anew_and_tells_nothing_twice(call: Call) -> None:
    script = Script([FIRST, STOPPING], [GONE], [PROGRESS, FIRST, SECOND, CLUSTER, DONE])
    with scripted(Consolidate=script) as address:
        events = call(address, "consolidate")
    assert [event.resume_token for event in events] == ["r-1", "r-0", "r-2", "r-3", "r-4"]
    assert [request.resume_token for request in script.asked] == ["", "r-1", ""]


def test_token_of_the_caller_that_is_gone_is_an_error(call: Call) -> None:
    with scripted(Consolidate=Script([GONE])) as address, pytest.raises(errors.InvalidArgument):
        call(address, "consolidate", resume_token="old")


def test_stream_that_ends_without_an_end_is_taken_up_and_then_given_up(call: Call) -> None:
    script = Script([FIRST], [], [], [])
    with scripted(Consolidate=script) as address, pytest.raises(errors.Unavailable):
        call(address, "consolidate", options={"retry": QUICK})
    assert [request.resume_token for request in script.asked] == ["", "r-1", "r-1"]


def test_closed_consolidation_gives_no_more_events() -> None:
    with (
        scripted(Consolidate=Script([FIRST, SECOND, DONE])) as address,
        Client(address) as client,
        client.consolidate() as events,
    ):
        assert next(events).candidate is not None
        events.close()
        assert list(events) == []


# -- the command line

SHOWN = """\
Consolidation complete. Replayed 3 events, updated 2 co-activations, made or raised 1 link, \
refreshed 1 memory.
Take its links back with: totonoe undo 6
Compared 9 memories. Next time, only what changed: totonoe consolidate --since 7

Found 1 near-duplicate pair, of 3 that are near:
- mem_1 <-> mem_2 (similarity: 0.93)
  A: The port is 8080.
  B: The port is 8081.
  Verdict: update (0.80 same)
  - port: 8080 -> 8081
  Keep: mem_2 (newer)

Answer each pair.
"""


def test_command_without_a_terminal_lists_the_kept_pairs(run: Run) -> None:
    script = Script(
        [PROGRESS, FIRST, SECOND, done(candidate(1, 2), pair_count=3, advice="Answer each pair.")]
    )
    result = run("consolidate", Consolidate=script)
    assert result.exit_code == 0
    assert result.stdout == SHOWN


def test_command_options_reach_the_daemon(run: Run) -> None:
    script = Script([done(operation_revision=0)])
    result = run(
        "--agent", "anna", "consolidate", "--window-hours", "0", "--distance", "0.2", "--jaccard",
        "0.7", "--limit", "0", "--since", "4", "--replay", "0", "--resume", "r-1",
        "--operation-id", "op_x", "--collection", "notes",
        Consolidate=script,
    )  # fmt: skip
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "No near-duplicate pairs."
    assert script.asked == [
        pb.ConsolidateRequest(
            collection="notes",
            operation_id="op_x",
            agent_id="anna",
            window_hours=0,
            distance_below=0.2,
            jaccard_above=0.7,
            max_merge_candidates=0,
            since_revision=4,
            max_replay_events=0,
            resume_token="r-1",
        )
    ]


def test_command_in_json_prints_an_event_a_line(run: Run) -> None:
    result = run("consolidate", "--json", Consolidate=Script([PROGRESS, FIRST, CLUSTER, DONE]))
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [sorted(line) for line in lines] == [
        ["progress", "resume_token"],
        ["candidate", "resume_token"],
        ["cluster", "resume_token"],
        ["done", "resume_token"],
    ]
    assert lines[1]["candidate"]["judgement"]["verdict"] == "update"
    assert lines[3]["done"]["merge_candidates"][1]["keep_because"] == "newer"


def test_command_that_is_refused_ends_in_1(run: Run) -> None:
    result = run("consolidate", "--distance", "3", Consolidate=Script([("INVALID_ARGUMENT", "X")]))
    assert result.exit_code == 1


def test_command_stopped_by_ctrl_c_says_how_to_go_on(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_event: Any) -> None:
        raise KeyboardInterrupt

    def shower(_session: Any) -> Any:
        import contextlib

        return contextlib.nullcontext(stop)

    monkeypatch.setattr(consolidate_commands, "_shower", shower)
    result = run("consolidate", "--resume", "r-0", Consolidate=Script([FIRST, DONE]))
    assert result.exit_code == 130
    assert result.stdout == "Stopped. Go on within 5 minutes: totonoe consolidate --resume r-0\n"


# -- against a daemon


def test_whole_story_against_a_daemon() -> None:
    with serving() as server, server.client("anna") as client:
        for text in ("The lamp in the hall is red.", "The old lamp in the hall is red."):
            client.remember(text, force=True)
        for _ in range(2):
            client.recall("lamp in the hall")
        with client.consolidate(distance_below=0.5) as events:
            last = list(events)[-1].done
        assert last is not None
        (kept,) = last.merge_candidates
        assert (last.replay_events, last.link_updates) == (2, 1)
        merged = client.merge(
            kept.keep_id,
            kept.remove_id,
            expected_revisions={
                kept.memory_a_id: kept.revision_a,
                kept.memory_b_id: kept.revision_b,
            },
        )
        # The links of the first phase touched no row, so that the revisions hold.
        assert merged.merged
        again = list(client.consolidate(distance_below=0.5))[-1].done
        assert again is not None and again.merge_candidates == ()
