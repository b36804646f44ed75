"""EndSession, CleanUpDuplicates and Decay: what both clients send and return, and the commands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from support.scripted import answering, failing, scripted
from totonoe import BlastPolicy, DecayPolicy
from totonoe.enums import GroupBy, Measure
from totonoe.errors import QuotaExceeded
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import cleanup_pb2 as pb
from totonoe.v1 import types_pb2

Call = Callable[..., Any]
Run = Callable[..., Any]

REPORT = pb.DecayReport(
    live_count=4, band_counts=[0, 0, 1, 0, 0, 0, 0, 0, 3, 0], faded_count=2, at_floor_count=1,
    threshold=0.3, below_count=1, protected_count=1, recalled_count=2,
    survival=[pb.Survival(days=7, count=3), pb.Survival(days=365, count=0)],
)  # fmt: skip
REPLACED = pb.ReplacedMemory(
    memory_id="mem_2", kept_id="mem_1", similarity=0.75, snippet="a cup", recalled=True
)
ENDED = pb.EndSessionResponse(
    revision=9, merged_groups=1, superseded_count=1, compression_ratio=0.25, avg_similarity=0.75,
    groups=[
        pb.MemoryGroup(kept_id="mem_1", snippet="the cup", category="c", superseded=[REPLACED])
    ],
    consolidatable_count=4, decay=REPORT, operation_id="op_e",
)  # fmt: skip
BLAST = pb.BlastRadius(closing=1, today=2, allowed=20, recalled_count=1)
CLEANED = pb.CleanUpDuplicatesResponse(
    revision=9, duplicates=[REPLACED], more_count=3, blast=BLAST, applied=True, operation_id="op_c"
)
FADED = pb.FadedMemory(
    memory_id="mem_3", confidence=0.5, effective_confidence=0.125, snippet="dim",
    last_access_time=Timestamp(seconds=1_700_000_000),
)  # fmt: skip
DECAYED = pb.DecayResponse(
    revision=9, report=REPORT, closed=[FADED], blast=BLAST, operation_id="op_d"
)


def test_end_session_sends_its_options_and_returns_groups(call: Call) -> None:
    sent: list[pb.EndSessionRequest] = []
    with scripted(EndSession=answering(ENDED, sent)) as address:
        ended = call(
            address, "end_session", "s", by=GroupBy.SESSION, measure="cosine", threshold=0.0,
            dry_run=True, reason="r", operation_id="op_e", collection="notes",
        )  # fmt: skip
        call(address, "end_session", by="agent", measure=Measure.VERDICT, options={"agent_id": "a"})
        call(address, "end_session", "s")
    assert sent[0] == pb.EndSessionRequest(
        collection="notes", operation_id="op_e", session_id="s", by=pb.GROUP_BY_SESSION,
        measure=pb.MEASURE_COSINE, threshold=0.0, dry_run=True, reason="r",
    )  # fmt: skip
    assert (sent[1].agent_id, sent[1].by, sent[1].measure, sent[1].session_id) == (
        "a", pb.GROUP_BY_AGENT, pb.MEASURE_VERDICT, "",
    )  # fmt: skip
    assert not sent[2].HasField("threshold")
    assert (sent[2].by, sent[2].measure) == (0, 0)
    assert sent[2].operation_id
    assert (ended.merged_groups, ended.superseded_count, ended.consolidatable_count) == (1, 1, 4)
    assert (ended.compression_ratio, ended.avg_similarity) == (0.25, 0.75)
    (group,) = ended.groups
    assert (group.kept_id, group.category, group.superseded[0].recalled) == ("mem_1", "c", True)
    assert ended.decay.band_counts == tuple(REPORT.band_counts)
    assert [(point.days, point.count) for point in ended.decay.survival] == [(7, 3), (365, 0)]


def test_words_that_the_contract_has_not_are_refused_before_anything_is_sent(call: Call) -> None:
    for wrong in ({"by": "team"}, {"measure": "taste"}):
        with pytest.raises(ValueError, match="allowed"):
            call("127.0.0.1:1", "end_session", "s", **wrong)


def test_clean_up_tells_unless_it_is_told_to_apply(call: Call) -> None:
    sent: list[pb.CleanUpDuplicatesRequest] = []
    with scripted(CleanUpDuplicates=answering(CLEANED, sent)) as address:
        cleaned = call(address, "clean_up_duplicates")
        call(address, "clean_up_duplicates", apply=True, limit=5, reason="r", operation_id="op_c")
    assert (sent[0].apply, sent[0].limit) == (False, 200)
    assert sent[1] == pb.CleanUpDuplicatesRequest(
        apply=True, limit=5, reason="r", operation_id="op_c"
    )
    assert (cleaned.duplicates[0].kept_id, cleaned.more_count) == ("mem_1", 3)
    assert (cleaned.blast.closing, cleaned.blast.today, cleaned.blast.allowed) == (1, 2, 20)


def test_decay_reports_or_closes(call: Call) -> None:
    sent: list[pb.DecayRequest] = []
    with scripted(Decay=answering(DECAYED, sent)) as address:
        decayed = call(address, "decay", close_below=0.0, dry_run=True, limit=7, reason="r")
        call(address, "decay")
    assert (sent[0].close_below, sent[0].HasField("close_below")) == (0.0, True)
    assert (sent[0].dry_run, sent[0].limit, sent[0].reason) == (True, 7, "r")
    assert (sent[1].HasField("close_below"), sent[1].limit) == (False, 1000)
    (closed,) = decayed.closed
    assert closed.last_access_time == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert (closed.confidence, closed.effective_confidence) == (0.5, 0.125)
    with scripted(Decay=answering(pb.DecayResponse(closed=[pb.FadedMemory()]))) as address:
        empty = call(address, "decay")
    assert (empty.blast, empty.closed[0].last_access_time) == (None, None)


def test_too_much_for_a_day_is_a_quota(call: Call) -> None:
    handler = failing(
        "RESOURCE_EXHAUSTED", "BLAST_RADIUS", metadata={"closing": "30", "allowed": "20"}
    )
    with scripted(Decay=handler) as address, pytest.raises(QuotaExceeded) as caught:
        call(address, "decay", close_below=0.3)
    assert (caught.value.reason, caught.value.details["closing"]) == ("BLAST_RADIUS", "30")


def test_collection_says_how_much_may_go_and_how_kinds_fade(call: Call) -> None:
    changed: list[admin_pb.UpdateCollectionRequest] = []
    made: list[admin_pb.CreateCollectionRequest] = []
    settings = types_pb2.Collection(
        decay=types_pb2.DecayPolicy(task_rate_per_day=0.5),
        blast=types_pb2.BlastPolicy(rows_min=5, percent=2.5),
    )
    blast, decay = BlastPolicy(rows_min=5, percent=2.5), DecayPolicy(task_rate_per_day=0.5)
    with scripted(
        UpdateCollection=answering(admin_pb.UpdateCollectionResponse(collection=settings), changed),
        CreateCollection=answering(admin_pb.CreateCollectionResponse(), made),
    ) as address:
        answer = call(address, "update_collection", "notes", blast=blast, decay=decay)
        call(address, "create_collection", "notes", blast=blast)
    assert list(changed[0].update_mask.paths) == [
        "decay.task_rate_per_day", "blast.rows_min", "blast.percent",
    ]  # fmt: skip
    assert changed[0].collection == settings
    assert made[0].blast == settings.blast
    assert (answer.collection.blast, answer.collection.decay) == (blast, decay)


# -- Commands


def test_command_end_session_tells_who_stays(run: Run) -> None:
    sent: list[pb.EndSessionRequest] = []
    result = run(
        "end-session", "s", "--measure", "verdict", "--threshold", "0.9",
        EndSession=answering(ENDED, sent),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert (sent[0].session_id, sent[0].measure) == ("s", pb.MEASURE_VERDICT)
    assert result.stdout.splitlines()[:4] == [
        "Superseded 1 memory in 1 group, of 4 that could be.",
        "Compression 0.25, average similarity 0.75.",
        "mem_1 [c] stays: the cup",
        "- mem_2 (0.75): a cup",
    ]
    assert result.stdout.endswith("Take it back with: totonoe undo op_e\n")
    dry = pb.EndSessionResponse()
    dry.CopyFrom(ENDED)
    dry.dry_run, dry.left_out_count = True, 2
    result = run("end-session", "--by", "agent", "--dry-run", EndSession=answering(dry, sent))
    assert result.stdout.startswith("Would supersede 1 memory")
    assert "Not looked at: 2 older memories, 0 pairs." in result.stdout
    assert "undo" not in result.stdout
    assert (sent[1].by, sent[1].dry_run) == (pb.GROUP_BY_AGENT, True)
    none = pb.EndSessionResponse(consolidatable_count=2)
    result = run("end-session", "s", EndSession=answering(none))
    assert result.stdout.startswith("Nothing to group among 2 that could be.\n")


def test_command_clean_up_lists_doubles(run: Run) -> None:
    sent: list[pb.CleanUpDuplicatesRequest] = []
    result = run("clean-up", "--apply", CleanUpDuplicates=answering(CLEANED, sent))
    assert sent[0].apply
    assert result.stdout.splitlines() == [
        "- mem_2 repeats mem_1: a cup",
        "Superseded 1 duplicate.",
        "3 more in the next run.",
        "1 of them were recalled in the last 7 days.",
        "Take it back with: totonoe undo op_c",
    ]
    over = pb.CleanUpDuplicatesResponse(
        duplicates=[REPLACED], blast=pb.BlastRadius(closing=30, allowed=20, over=True)
    )
    result = run("clean-up", CleanUpDuplicates=answering(over, sent))
    assert not sent[1].apply
    assert "None may be superseded today: --apply would change nothing." in result.stdout
    assert "totonoe collections update --set blast.rows_min=30\n" in result.stdout
    part = pb.CleanUpDuplicatesResponse(
        duplicates=[REPLACED], more_count=7, blast=pb.BlastRadius(closing=1, today=19, allowed=20)
    )
    result = run("clean-up", "--collection", "work", CleanUpDuplicates=answering(part))
    assert "20 a day may go, and 19 went in the last 24 hours." in result.stdout
    assert "collections update --set blast.rows_min=27 --collection work" in result.stdout
    result = run("clean-up", CleanUpDuplicates=answering(pb.CleanUpDuplicatesResponse()))
    assert result.stdout == "No exact duplicates.\n"


def test_command_decay_shows_bands_and_what_was_closed(run: Run) -> None:
    sent: list[pb.DecayRequest] = []
    result = run("decay", "--close-below", "0.2", Decay=answering(DECAYED, sent))
    assert sent[0].close_below == 0.2
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "Effective confidence of 4 live memories: 2 faded, 1 down to the floor, 1 below 0.3, "
        "1 protected, 2 recalled in the last 7 days."
    )
    assert lines[3] == "  0.2        1 ##########"
    assert lines[11] == (
        "With 0.3 or more if nothing were recalled: 3 after 7 days, 0 after 365 days."
    )
    assert lines[12].startswith("- mem_3 0.50 -> 0.12, recalled ")
    assert lines[13] == "Closed 1 memory."
    assert lines[-1] == "Take it back with: totonoe undo op_d"
    report = pb.DecayResponse(report=REPORT, dry_run=True)
    result = run("decay", Decay=answering(report, sent))
    assert not sent[1].HasField("close_below")
    assert result.stdout.splitlines()[-1] == lines[11]


def test_command_that_would_take_too_much_fails(run: Run) -> None:
    handler = failing(
        "RESOURCE_EXHAUSTED", "BLAST_RADIUS", metadata={"closing": "30", "allowed": "20"}
    )
    result = run("clean-up", "--apply", CleanUpDuplicates=handler)
    assert result.exit_code == 1
    assert "BLAST_RADIUS" in result.output


def test_command_collections_update_takes_whole_numbers_for_rows(run: Run) -> None:
    sent: list[admin_pb.UpdateCollectionRequest] = []
    answer = admin_pb.UpdateCollectionResponse(
        collection=types_pb2.Collection(blast=types_pb2.BlastPolicy(rows_min=50))
    )
    result = run(
        "collections", "update", "notes", "--set", "blast.rows_min=50",
        UpdateCollection=answering(answer, sent),
    )  # fmt: skip
    assert sent[0].collection.blast.rows_min == 50
    assert "blast.rows_min" in result.stdout
    assert "task_rate" not in result.stdout
    result = run("collections", "update", "notes", "--set", "blast.rows_min=1.5")
    assert result.exit_code == 2
    assert "whole number" in result.output
