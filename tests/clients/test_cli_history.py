"""The command line about the past: what each command sends, and its words for people."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from typer.testing import Result

from support.scripted import answering, fail, failing
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import graph_pb2 as graph_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2 as operations_pb
from totonoe.v1 import types_pb2

Run = Callable[..., Result]
THREE_DAYS_AGO = Timestamp()
THREE_DAYS_AGO.FromDatetime(datetime.now(UTC) - timedelta(days=3, minutes=1))


def memory(number: int, content: str = "The port is 8080.", **fields: Any) -> types_pb2.Memory:
    return types_pb2.Memory(
        id=f"mem_{number}",
        content=content,
        status=types_pb2.STATUS_ACTIVE,
        created_time=THREE_DAYS_AGO,
        importance=3,
        **fields,
    )


def operation(revision: int, kind: str, **fields: Any) -> operations_pb.Operation:
    return operations_pb.Operation(revision=revision, kind=kind, time=THREE_DAYS_AGO, **fields)


@pytest.fixture(name="terminal")
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if somebody sat there."""
    monkeypatch.setattr("totonoe.cli.options.at_terminal", lambda: True)


# -- what was forgotten before

FORGOTTEN = types_pb2.ForgottenMatch(
    memory_id="mem_1", age="3d ago", snippet="s", reason="wrong", agent_id="anna", revision=4
)
TOLD = ['You forgot this 3d ago (mem_1, by anna): "wrong"', "Bring it back with: totonoe undo 4"]


def test_remember_saved_tells_that_it_was_forgotten(run: Run) -> None:
    saved = pb.RememberResponse(saved=True, memory_id="mem_2", revision=7, forgotten=FORGOTTEN)
    result = run("remember", "a", Remember=answering(saved))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Saved (id: mem_2).",
        TOLD[0],
        "Bring it back instead with: totonoe undo 7, then totonoe undo 4",
    ]


def test_remember_refused_because_forgotten_ends_in_3(run: Run) -> None:
    refused = pb.RememberResponse(memory_id="mem_1", forgotten=FORGOTTEN)
    result = run("remember", "a", Remember=answering(refused))
    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        "Not saved — it was forgotten, and this collection refuses what was forgotten.",
        *TOLD,
        "Save it all the same with: totonoe remember a --force",
    ]


def test_check_tells_that_it_was_forgotten(run: Run) -> None:
    nameless = types_pb2.ForgottenMatch(memory_id="mem_1", age="3d ago", revision=4)
    known = answering(pb.CheckResponse(would_save=True, forgotten=nameless))
    result = run("check", "a", Check=known)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Would be saved.",
        "You forgot this 3d ago (mem_1).",
        "Bring it back with: totonoe undo 4",
    ]
    result = run("check", "a", Check=answering(pb.CheckResponse(forgotten=FORGOTTEN)))
    assert result.exit_code == 3
    assert result.stdout.startswith("Would not be saved — it was forgotten")


def test_remember_and_check_name_what_they_supersede(run: Run) -> None:
    sent: list[Any] = []
    saved = pb.RememberResponse(saved=True, superseded_ids=["mem_1"])
    result = run(
        "remember", "a", "--supersede", "mem_1", "--supersede", "mem_2",
        Remember=answering(saved, sent),
    )  # fmt: skip
    assert "It takes the place of mem_1." in result.stdout
    run("check", "a", "--supersede", "mem_1", Check=answering(pb.CheckResponse(), sent))
    assert [list(request.supersede_ids) for request in sent] == [["mem_1", "mem_2"], ["mem_1"]]


def test_refused_they_name_what_the_duplicate_supersedes(run: Run) -> None:
    same = types_pb2.Duplicate(memory_id="mem_9", method=types_pb2.METHOD_EXACT)
    refused = pb.RememberResponse(memory_id="mem_9", duplicate=same, superseded_ids=["mem_1"])
    result = run("remember", "a", "--supersede", "mem_1", Remember=answering(refused))
    assert result.exit_code == 3
    assert "mem_9 takes the place of mem_1." in result.stdout
    would = pb.CheckResponse(duplicate=same, superseded_ids=["mem_1"])
    sent: list[Any] = []
    result = run("check", "a", "--on-update", "supersede", Check=answering(would, sent))
    assert result.exit_code == 3
    assert sent[0].on_update == types_pb2.ACTION_SUPERSEDE
    assert "mem_9 would take the place of mem_1." in result.stdout
    would = pb.CheckResponse(would_save=True, superseded_ids=["mem_1"])
    result = run("check", "a", "--supersede", "mem_1", Check=answering(would))
    assert "It would take the place of mem_1." in result.stdout


# -- the past


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("7", types_pb2.AsOf(revision=7)),
        ("2026-01-01", types_pb2.AsOf(time=Timestamp(seconds=1_767_225_600))),
    ],
)
def test_reads_as_of_a_revision_or_a_time(run: Run, text: str, moment: types_pb2.AsOf) -> None:
    sent: list[Any] = []
    found = pb.GetResponse(memories=[memory(2)], redirects={"mem_1": "mem_2"}, as_of_revision=7)
    results = [
        run("get", "mem_1", "--as-of", text, "--follow", Get=answering(found, sent)),
        run("list", "--as-of", text, List=answering(pb.ListResponse(as_of_revision=7), sent)),
        run(
            "recall",
            "a",
            "--as-of",
            text,
            Recall=answering(pb.RecallResponse(as_of_revision=7), sent),
        ),
    ]
    assert [result.exit_code for result in results] == [0, 0, 0]
    assert all(result.stdout.startswith("As of revision 7.\n") for result in results)
    assert [request.as_of for request in sent] == [moment] * 3
    assert sent[0].follow_superseded
    assert "mem_1 was superseded; in its place: mem_2\n" in results[0].stdout


def test_history_tells_who_changed_what_and_why(run: Run) -> None:
    link = types_pb2.Link(target_id="mem_9", type=types_pb2.LINK_TYPE_RELATED, confidence=0.5)
    versions = [
        operations_pb.Version(operation=operation(7, "Forget", reason="wrong"), unlinked=[link]),
        operations_pb.Version(
            operation=operation(5, "Update", agent_id="anna", undone_by=6),
            memory=memory(1, "The port is 81.", tags=["net", "infra"]),
            changed=["content", "tags"],
        ),
        operations_pb.Version(
            operation=operation(2, "Remember"), memory=memory(1, "The port is 80."), linked=[link]
        ),
    ]
    requests: list[operations_pb.HistoryRequest] = []
    recallers = [
        operations_pb.Recaller(agent_id="anna", count=3, last_time=THREE_DAYS_AGO),
        operations_pb.Recaller(count=1, last_time=THREE_DAYS_AGO),
    ]
    page = operations_pb.HistoryResponse(
        versions=versions, next_page_token="t", recallers=recallers, other_recall_count=2
    )
    result = run("history", "mem_1", "--limit", "3", History=answering(page, requests))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        'revision 7, Forget, 3d ago: "wrong"',
        "  unlinked: related mem_9 (confidence 0.50)",
        "revision 5, Update, 3d ago, anna, undone by 6",
        "  content: The port is 81.",
        "  tags: net, infra",
        "revision 2, Remember, 3d ago",
        "  content: The port is 80.",
        "  linked: related mem_9 (confidence 0.50)",
        "Recalled since the last consolidation: anna 3 times, last 3d ago; an agent without a "
        "name 1 time, last 3d ago; others 2 times.",
        "More with: totonoe history mem_1 --limit 3 --page-token t",
    ]
    assert (requests[0].memory_id, requests[0].page_size) == ("mem_1", 3)


def test_history_folds_versions_that_only_got_automatic_links(run: Run) -> None:
    def link(name: str, target: str) -> types_pb2.Link:
        type_ = getattr(types_pb2, f"LINK_TYPE_{name}")
        return types_pb2.Link(target_id=target, type=type_, confidence=0.5)

    def linked(revision: int, *links: types_pb2.Link, kind: str = "Remember", **more: Any) -> Any:
        done = operation(revision, kind, **more)
        return operations_pb.Version(operation=done, linked=links)

    versions = [
        linked(19, link("RELATED", "mem_9")),
        linked(18, link("RELATED", "mem_8"), link("REFINED_BY", "mem_8"), kind="Consolidate"),
        linked(17, link("UPDATED_BY", "mem_7"), kind="ApplyTidyPlan"),
        # It took the place of another one, somebody asked for the link, or it was undone.
        linked(16, link("UPDATES", "mem_6")),
        linked(15, link("RELATED", "mem_5"), kind="Link"),
        linked(14, link("RELATED", "mem_4"), undone_by=15),
        linked(13, link("RELATED", "mem_3")),
        operations_pb.Version(
            operation=operation(2, "Remember"), memory=memory(1, "The port is 80.")
        ),
    ]
    page = operations_pb.HistoryResponse(versions=versions)
    result = run("history", "mem_1", History=answering(page))
    assert result.stdout.splitlines() == [
        "revisions 17 to 19, 3d ago to 3d ago: linked by 3 operations"
        " (refined_by 1, related 2, updated_by 1); each with --all",
        "revision 16, Remember, 3d ago",
        "  linked: updates mem_6 (confidence 0.50)",
        "revision 15, Link, 3d ago",
        "  linked: related mem_5 (confidence 0.50)",
        "revision 14, Remember, 3d ago, undone by 15",
        "  linked: related mem_4 (confidence 0.50)",
        "revision 13, Remember, 3d ago",
        "  linked: related mem_3 (confidence 0.50)",
        "revision 2, Remember, 3d ago",
        "  content: The port is 80.",
    ]
    everything = run("history", "mem_1", "--all", History=answering(page)).stdout
    assert everything.count("revision ") == len(versions)
    in_json = json.loads(run("history", "mem_1", "--json", History=answering(page)).stdout)
    assert len(in_json["versions"]) == len(versions)


def test_get_of_what_came_later_points_to_its_history(run: Run) -> None:
    later = failing("NOT_FOUND", "MEMORY_NOT_YET", metadata={"name": "mem_1"})
    result = run("get", "mem_1", "--as-of", "1", Get=later)
    assert result.exit_code == 1
    assert "because (MEMORY_NOT_YET)" in result.stderr
    assert "totonoe history mem_1\n" in result.stderr
    assert "Double-check" not in result.stderr


def test_history_of_a_text_that_looks_like_more_lines(run: Run) -> None:
    text = "one\nrevision 1, Remember\u2029two\x85three\x0bfour"
    version = operations_pb.Version(
        operation=operation(2, "Update", reason="a\nrevision 9"), memory=memory(1, text)
    )
    page = operations_pb.HistoryResponse(versions=[version])
    result = run("history", "mem_1", History=answering(page))
    assert result.stdout.splitlines() == [
        'revision 2, Update, 3d ago: "a',
        '    revision 9"',
        "  content: one",
        "    revision 1, Remember\ufffdtwo\ufffdthree\ufffdfour",
    ]


def test_operations_is_a_table_of_who_when_what_why(run: Run) -> None:
    done = [
        operation(9, "Undo", agent_id="anna", undoes=7, reason="was right", memory_ids=["mem_1"]),
        operation(7, "Forget", memory_ids=["mem_1", "mem_2", "mem_3"], undone_by=9),
        operation(6, "UpdateCollection", settings=True),
        operation(5, "CreateEpisode", episode_ids=["ep_1"]),
        operation(4, "Link", link_count=1),
    ]
    requests: list[operations_pb.ListOperationsRequest] = []
    result = run(
        "operations", "--by", "anna", "--kind", "Undo", "--kind", "Forget", "--since", "2026-01-01",
        "--memory", "mem_1", "--reason-contains", "right", "--limit", "2", "--page-token", "s",
        ListOperations=answering(
            operations_pb.ListOperationsResponse(operations=done, next_page_token="t"), requests
        ),
    )  # fmt: skip
    assert result.exit_code == 0
    assert re.search(
        r"9 +│ 3d ago +│ anna +│ Undo +│ mem_1 +│ undoes 7 +│ was right", result.stdout
    )
    assert re.search(r"7 .*│ Forget +│ mem_1, mem_2 and 1 more +│ undone by 9 +│", result.stdout)
    assert re.search(r"│ UpdateCollection +│ settings +│", result.stdout)
    assert re.search(r"│ CreateEpisode +│ ep_1 +│", result.stdout)
    assert re.search(r"│ Link +│ 1 link +│", result.stdout)
    assert result.stdout.endswith(
        "More with: totonoe operations --by anna --kind Undo --kind Forget --since 2026-01-01 "
        "--memory mem_1 --reason-contains right --limit 2 --page-token t\n"
    )
    (request,) = requests
    assert (list(request.agent_ids), list(request.kinds)) == (["anna"], ["Undo", "Forget"])
    assert request.time.HasField("from_time")
    assert (request.memory_id, request.reason_contains) == ("mem_1", "right")
    assert (request.page_size, request.page_token) == (2, "s")
    empty = run("operations", ListOperations=answering(operations_pb.ListOperationsResponse()))
    assert empty.stdout == "No operations.\n"


# -- undo

CONFLICTS = [
    operations_pb.UndoConflict(
        kind=operations_pb.UNDO_CONFLICT_KIND_CHANGED, memory_id="mem_1", revision=8
    ),
    operations_pb.UndoConflict(
        kind=operations_pb.UNDO_CONFLICT_KIND_PURGED, memory_id="mem_2", revision=9
    ),
    operations_pb.UndoConflict(
        kind=operations_pb.UNDO_CONFLICT_KIND_LINK_END_GONE, memory_id="mem_3", target_id="mem_4"
    ),
    operations_pb.UndoConflict(
        kind=operations_pb.UNDO_CONFLICT_KIND_EXTERNAL_ID_TAKEN, memory_id="mem_5"
    ),
    operations_pb.UndoConflict(kind=operations_pb.UNDO_CONFLICT_KIND_KEY_TAKEN, memory_id="mem_6"),
    operations_pb.UndoConflict(kind=operations_pb.UNDO_CONFLICT_KIND_CHANGED, settings=True),
    operations_pb.UndoConflict(
        kind=operations_pb.UNDO_CONFLICT_KIND_CHANGED_FOR_GOOD, memory_id="mem_9", revision=10
    ),
    operations_pb.UndoConflict(
        kind=operations_pb.UNDO_CONFLICT_KIND_LAST_COPY,
        memory_id="mem_a",
        target_id="mem_b",
        revision=11,
    ),
    operations_pb.UndoConflict(
        kind=operations_pb.UNDO_CONFLICT_KIND_SUCCESSOR_GONE,
        memory_id="mem_c",
        target_id="mem_d",
        revision=12,
    ),
]
ALREADY = [
    operations_pb.UndoConflict(
        kind=operations_pb.UNDO_CONFLICT_KIND_UNDONE_ALREADY, memory_id="mem_1", revision=8
    ),
    operations_pb.UndoConflict(
        kind=operations_pb.UNDO_CONFLICT_KIND_NOTHING_LEFT,
        memory_id="mem_1",
        target_id="mem_2",
        revision=9,
    ),
]
REPEATED = operations_pb.UndoConflict(
    kind=operations_pb.UNDO_CONFLICT_KIND_DUPLICATE,
    memory_id="mem_7",
    duplicate=types_pb2.Duplicate(memory_id="mem_8", age="2h ago", snippet="The port is 80."),
)


def test_undo_tells_what_is_back_and_how_to_undo_that(run: Run) -> None:
    requests: list[operations_pb.UndoRequest] = []
    answer = operations_pb.UndoResponse(
        undone=True,
        operation=operation(7, "Forget", agent_id="anna"),
        memories=[memory(1)],
        episode_ids=["ep_1"],
        link_count=2,
        collection=types_pb2.Collection(name="notes"),
        operation_id="op_u",
        replayed=True,
    )
    result = run("undo", "7", "--reason", "was right", Undo=answering(answer, requests))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Undone: revision 7 (Forget by anna).",
        "- mem_1 is active: The port is 8080.",
        "- ep_1",
        "- 2 links",
        "- collection notes",
        "Take the undo back with: totonoe undo op_u",
        "This operation id was used before: its first answer again, nothing was done now.",
    ]
    assert (requests[0].target_revision, requests[0].reason) == (7, "was right")


def test_undo_brings_a_deleted_collection_back(run: Run) -> None:
    back = types_pb2.Collection(name="notes")
    answer = operations_pb.UndoResponse(undone=True, collection=back, operation_id="op_u")
    result = run("undo", "op_d", "--collection", "notes", Undo=answering(answer))
    assert (result.exit_code, result.stdout) == (0, "Undone: the deletion of collection notes.\n")


def test_undo_of_an_operation_id_sends_every_option(run: Run) -> None:
    requests: list[operations_pb.UndoRequest] = []
    answer = operations_pb.UndoResponse(dry_run=True, operation=operation(7, "Forget"))
    result = run(
        "undo", "op_f", "--dry-run", "--partial", "--force", "--operation-id", "op_u",
        Undo=answering(answer, requests),
    )  # fmt: skip
    assert (result.exit_code, result.stdout) == (0, "Would undo revision 7 (Forget):\n")
    assert requests == [
        operations_pb.UndoRequest(
            target_operation_id="op_f", dry_run=True, partial=True, force=True, operation_id="op_u"
        )
    ]


@pytest.mark.parametrize("as_json", [False, True])
def test_undo_refused_lists_conflicts_and_what_to_do(run: Run, as_json: bool) -> None:
    def undo(request: operations_pb.UndoRequest, context: grpc.ServicerContext) -> Any:
        if not request.dry_run:
            fail(context, "ABORTED", "UNDO_CONFLICT", "cannot be undone whole")
        return operations_pb.UndoResponse(conflicts=[*CONFLICTS, REPEATED], dry_run=True)

    result = run("undo", "4", *(["--json"] if as_json else []), Undo=undo)
    assert result.exit_code == 1
    if as_json:
        answer = json.loads(result.stdout)
        assert answer["error"]["reason"] == "UNDO_CONFLICT"
        assert [conflict["kind"] for conflict in answer["conflicts"]][:2] == ["changed", "purged"]
        return
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "Error: not undone, since something changed (UNDO_CONFLICT)",
        "In the way:",
        "- mem_1: changed by revision 8",
        "- mem_2: purged by revision 9, nothing brings it back",
        "- link of mem_3 with mem_4: the latter is forgotten or purged",
        "- mem_5: its external id is another memory's now",
        "- mem_6: its typed key is another memory's now",
        "- the settings: changed",
        "- mem_9: changed by revision 10, which nothing takes back",
        "- mem_a: without it mem_b, which it superseded by revision 11, would be lost",
        "- mem_c: would be lost, since mem_d, which superseded it, was changed by revision 12",
        "- mem_7: repeats mem_8 (2h ago): The port is 80.",
        "Undo what came later first: totonoe undo 12, then totonoe undo 11, then totonoe undo 8",
        "Bring texts back that others repeat: totonoe undo 4 --force",
        "Take back the rest: totonoe undo 4 --partial",
    ]


def test_undo_of_what_is_undone_already_says_so(run: Run) -> None:
    def undo(request: operations_pb.UndoRequest, context: grpc.ServicerContext) -> Any:
        if not request.dry_run:
            fail(context, "ABORTED", "UNDO_CONFLICT", "cannot be undone whole")
        return operations_pb.UndoResponse(conflicts=ALREADY, dry_run=True)

    result = run("undo", "4", Undo=undo)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "Error: undone already (UNDO_CONFLICT)",
        "Nothing to take back:",
        "- mem_1: undone already by revision 8",
        "- link of mem_1 with mem_2: the latter was purged by revision 9, "
        "nothing is left to take back",
        "Do it again by an undo of the undo: totonoe undo 8",
    ]


def test_undo_of_which_nothing_is_left_says_so(run: Run) -> None:
    nothing = operations_pb.UndoConflict(kind=operations_pb.UNDO_CONFLICT_KIND_NOTHING_LEFT)
    answer = operations_pb.UndoResponse(operation=operation(4, "Link"), conflicts=[nothing])
    result = run("undo", "4", Undo=answering(answer))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Not undone: revision 4 (Link).",
        "Nothing to take back:",
        "- nothing of it is left to take back",
    ]


def test_undo_refused_whose_preview_fails_too_tells_the_first_error(run: Run) -> None:
    def undo(request: operations_pb.UndoRequest, context: grpc.ServicerContext) -> None:
        reason = "INTERNAL" if request.dry_run else "UNDO_CONFLICT"
        fail(context, "INTERNAL" if request.dry_run else "ABORTED", reason, "because")

    result = run("undo", "4", Undo=undo)
    assert (result.exit_code, result.stderr) == (1, "Error: because (UNDO_CONFLICT)\n")


@pytest.mark.parametrize(
    ("undone", "conflicts", "exit_code", "last"),
    [
        (False, [REPEATED], 3, "Bring texts back that others repeat: totonoe undo 4 --force"),
        (True, [REPEATED], 1, "Take the undo back with: totonoe undo op_u"),
        (False, CONFLICTS[2:3], 1, "Take back the rest: totonoe undo 4 --partial"),
    ],
)
def test_undo_with_conflicts_in_its_answer_has_its_exit_code(
    run: Run, undone: bool, conflicts: list[Any], exit_code: int, last: str
) -> None:
    answer = operations_pb.UndoResponse(
        undone=undone, operation=operation(4, "Forget"), conflicts=conflicts, operation_id="op_u"
    )
    result = run("undo", "4", Undo=answering(answer))
    assert result.exit_code == exit_code
    assert result.stdout.startswith("Undone" if undone else "Not undone: revision 4 (Forget).")
    assert result.stdout.splitlines()[-1] == last


def test_undo_in_part_does_not_advise_what_was_tried(run: Run) -> None:
    answer = operations_pb.UndoResponse(operation=operation(4, "Forget"), conflicts=CONFLICTS[:1])
    result = run("undo", "4", "--partial", Undo=answering(answer))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Not undone: revision 4 (Forget).",
        "In the way:",
        "- mem_1: changed by revision 8",
        "Undo what came later first: totonoe undo 8",
    ]


def test_undo_unknown_operation_ends_in_1(run: Run) -> None:
    result = run("undo", "4", Undo=failing("NOT_FOUND", "OPERATION_NOT_FOUND"))
    assert (result.exit_code, result.stderr) == (1, "Error: because (OPERATION_NOT_FOUND)\n")


# -- forget by conditions, purge


def forgetting(requests: list[pb.ForgetRequest], matching_count: int = 2) -> Any:
    def forget(request: pb.ForgetRequest, _context: Any) -> pb.ForgetResponse:
        requests.append(request)
        shown = [memory(1, revision=3), memory(2, "b", revision=5)] if matching_count else []
        return pb.ForgetResponse(
            forgotten=shown,
            dry_run=request.dry_run,
            matching_count=matching_count if request.dry_run else 0,
        )

    return forget


@pytest.mark.usefixtures("terminal")
def test_forget_by_conditions_asks_and_forgets_what_it_showed(run: Run) -> None:
    requests: list[pb.ForgetRequest] = []
    arguments = ["forget", "--tag", "old", "--until", "2026-01-01", "--reason", "stale"]
    refused = run(*arguments, stdin="n\n", Forget=forgetting(requests))
    assert refused.exit_code == 1
    assert [request.dry_run for request in requests] == [True]
    assert list(requests[0].filter.tags) == ["old"]
    assert requests[0].filter.created.HasField("to_time")
    assert "(id: mem_1, 3d ago): The port is 8080.\n" in refused.stderr
    done = run(*arguments, stdin="y\n", Forget=forgetting(requests, 1200))
    assert done.exit_code == 0
    assert "Forget these 2 (of 1200 that match)?" in done.stderr
    assert "Forgot (id: mem_1, 3d ago): The port is 8080.\n" in done.stdout
    assert "These are the oldest of 1200 that match.\nBring them back with: " in done.stdout
    last = requests[-1]
    assert (list(last.ids), last.dry_run, last.reason) == (["mem_1", "mem_2"], False, "stale")
    assert dict(last.expected_revisions) == {"mem_1": 3, "mem_2": 5}
    assert not last.HasField("filter")


def test_forget_by_conditions_with_yes_does_not_ask(run: Run) -> None:
    requests: list[pb.ForgetRequest] = []
    result = run("forget", "--tag", "old", "--yes", "--json", Forget=forgetting(requests))
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(json.loads(result.stdout)["forgotten"]) == 2
    assert [request.dry_run for request in requests] == [True, False]


def test_forget_by_conditions_dry_run_only_shows(run: Run) -> None:
    requests: list[pb.ForgetRequest] = []
    result = run("forget", "--tag", "old", "--dry-run", Forget=forgetting(requests, 1200))
    assert result.exit_code == 0
    assert result.stdout.startswith("Would forget (id: mem_1, 3d ago)")
    assert result.stdout.endswith("These are the oldest of 1200 that match.\n")
    assert [request.dry_run for request in requests] == [True]


@pytest.mark.usefixtures("terminal")
def test_forget_by_conditions_that_nothing_meets_asks_nothing(run: Run) -> None:
    requests: list[pb.ForgetRequest] = []
    result = run("forget", "--tag", "old", Forget=forgetting(requests, 0))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "Nothing to forget.\n", "")
    assert len(requests) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["forget"],
        ["forget", "mem_1", "--tag", "old"],
        ["forget", "--tag", "old"],
        ["purge", "mem_1"],
        ["merge", "mem_1"],
        ["merge", "mem_1", "mem_2", "--expect", "mem_2"],
        ["merge", "mem_1", "mem_2", "--expect", "mem_2=new"],
        ["merge", "mem_1", "mem_2", "--content", ""],
        ["undo"],
        ["undo", "99999999999999999999"],
        ["get", "mem_1", "--as-of", "yesterday"],
        ["neighbors", "mem_1", "--type", "likes"],
        ["operations", "--since", "x"],
        ["episodes", "create", "It rained."],
        ["episodes", "create", "It rained.", "mem_1", "--start", "x"],
    ],
    ids=" ".join,
)
def test_usage_mistake_ends_in_2_and_sends_nothing(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output


@pytest.mark.usefixtures("terminal")
def test_purge_asks_with_figures_of_what_goes(run: Run) -> None:
    requests: list[admin_pb.PurgeRequest] = []
    answer = admin_pb.PurgeResponse(
        purged_ids=["mem_1"], missing_ids=["mem_2"], version_count=3, reply_count=2, episode_count=1
    )
    handler = answering(answer, requests)
    refused = run("purge", "mem_1", "mem_2", stdin="n\n", Purge=handler)
    assert refused.exit_code == 1
    assert "Purge mem_1 with 3 earlier versions? No undo brings them back." in refused.stderr
    assert [request.dry_run for request in requests] == [True]
    done = run("purge", "mem_1", "mem_2", "--yes", "--reason", "law", Purge=handler)
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "Purged mem_1",
        "Earlier versions: 3, kept answers: 2, episodes: 1",
    ]
    assert done.stderr == "Memory not found: mem_2\n"
    assert (len(requests), requests[1].dry_run, requests[1].reason) == (2, False, "law")


def test_purge_dry_run_only_shows(run: Run) -> None:
    answer = admin_pb.PurgeResponse(purged_ids=["mem_1"], dry_run=True)
    result = run("purge", "mem_1", "--dry-run", Purge=answering(answer))
    assert result.exit_code == 0
    assert result.stdout.startswith("Would purge mem_1\n")


# -- neighbours, merges, episodes


def test_neighbors_are_a_table_by_activation(run: Run) -> None:
    link = types_pb2.Link(target_id="mem_2", type=types_pb2.LINK_TYPE_CAUSES, confidence=0.5)
    near = graph_pb.Neighbor(memory=memory(2), depth=1, activation=0.25, via_id="mem_1", via=link)
    requests: list[graph_pb.NeighborsRequest] = []
    result = run(
        "neighbors", "mem_1", "--depth", "2", "--limit", "9", "--type", "causes", "--type",
        "coactivated", "--min-confidence", "0.2", "--hop-decay", "0.9",
        Neighbors=answering(
            graph_pb.NeighborsResponse(neighbors=[near], truncated=True), requests
        ),
    )  # fmt: skip
    assert result.exit_code == 0
    assert re.search(r"0.25 +│ 1 +│ causes of mem_1 +│ mem_2 +│ The port is 8080.", result.stdout)
    assert result.stdout.endswith("these are the nearest.\n")
    (request,) = requests
    assert (request.depth, request.limit, len(request.types)) == (2, 9, 2)
    assert (request.min_confidence, request.hop_decay) == (0.2, 0.9)
    empty = run("neighbors", "mem_1", Neighbors=answering(graph_pb.NeighborsResponse()))
    assert empty.stdout == "No neighbours.\n"


def test_merge_warns_of_what_is_lost(run: Run) -> None:
    requests: list[graph_pb.MergeRequest] = []
    answer = graph_pb.MergeResponse(
        merged=True,
        memory=memory(1, "Both.", revision=9),
        sources=[memory(2)],
        lost=[
            graph_pb.LostDetail(memory_id="mem_2", finding=types_pb2.FINDING_NUMBER, text="8080"),
            graph_pb.LostDetail(
                memory_id="mem_2", finding=types_pb2.FINDING_MISSING, text="with oat milk"
            ),
            graph_pb.LostDetail(memory_id="mem_2", finding=types_pb2.FINDING_POLARITY, text="run"),
            graph_pb.LostDetail(
                memory_id="mem_2", finding=types_pb2.FINDING_FUNCTION_WORD, text="under"
            ),
        ],
        moved_link_count=2,
        dropped_link_count=1,
    )
    result = run(
        "merge", "mem_1", "mem_2", "--content", "-", "--reason", "same", "--force", "--expect",
        "mem_1=3", "--expect", "mem_2=4", "--operation-id", "op_m",
        stdin="Both.\n",
        Merge=answering(answer, requests),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "Merged 1 memory into mem_1:",
        "Both.",
        "Links moved: 2, dropped: 1",
        "Warning: the text no longer says",
        "- number '8080' of mem_2",
        "- 'with oat milk' of mem_2",
        "- whether it is so: 'run' of mem_2",
        "- 'under' of mem_2",
        "Take it back with: totonoe undo 9",
    ]
    assert requests == [
        graph_pb.MergeRequest(
            operation_id="op_m",
            keep_id="mem_1",
            remove_ids=["mem_2"],
            content="Both.",
            reason="same",
            expected_revisions={"mem_1": 3, "mem_2": 4},
            force=True,
        )
    ]


def test_merge_that_repeats_another_ends_in_3(run: Run) -> None:
    duplicate = types_pb2.Duplicate(memory_id="mem_3", age="2h ago", snippet="Both.")
    answer = graph_pb.MergeResponse(duplicate=duplicate)
    result = run("merge", "mem_1", "mem_2", "--content", "Both.", Merge=answering(answer))
    assert result.exit_code == 3
    assert result.stdout.startswith(
        "Not merged — very similar memory already exists.\nExisting (id: mem_3, 2h ago): Both.\n"
    )


EPISODE = graph_pb.Episode(
    id="ep_1",
    summary="It rained.",
    memory_ids=["mem_1", "mem_2"],
    start_time=Timestamp(seconds=1_767_225_600),
    end_time=Timestamp(seconds=1_767_229_200),
    importance=4,
    private=True,
)


def test_episodes_create_show_list_delete(run: Run) -> None:
    made: list[graph_pb.CreateEpisodeRequest] = []
    result = run(
        "episodes", "create", "It rained.", "mem_1", "mem_2", "--start", "2026-01-01", "--end",
        "2026-01-01T01:00", "--importance", "4", "--private", "--operation-id", "op_e",
        CreateEpisode=answering(graph_pb.CreateEpisodeResponse(episode=EPISODE), made),
    )  # fmt: skip
    assert result.stdout == (
        "Saved (id: ep_1) with 2 memories, 2026-01-01 00:00 to 2026-01-01 01:00.\n"
    )
    draft = made[0].episode
    assert (draft.start_time, draft.end_time) == (EPISODE.start_time, EPISODE.end_time)
    assert (list(draft.memory_ids), draft.private) == (["mem_1", "mem_2"], True)

    read = graph_pb.GetEpisodeResponse(episode=EPISODE, note="1 memory no longer exists")
    result = run("episodes", "show", "ep_1", GetEpisode=answering(read))
    assert result.stdout.splitlines() == [
        "ep_1 (2026-01-01 00:00 to 2026-01-01 01:00, importance 4, private)",
        "It rained.",
        "- mem_1",
        "- mem_2",
        "Note: 1 memory no longer exists",
    ]
    read.memories.append(memory(1))
    result = run("episodes", "show", "ep_1", "--memories", GetEpisode=answering(read))
    assert "- [3d ago] The port is 8080. (id: mem_1)\n" in result.stdout

    listed: list[graph_pb.ListEpisodesRequest] = []
    page = graph_pb.ListEpisodesResponse(episodes=[EPISODE], next_page_token="t")
    result = run(
        "episodes", "list", "--since", "2026-01-01", "--memory", "mem_1", "--limit", "5",
        ListEpisodes=answering(page, listed),
    )  # fmt: skip
    assert re.search(r"ep_1 +│ 2026-01-01 00:00 to .* │ 2 +│ 4 +│ It rained.", result.stdout)
    assert result.stdout.endswith(
        "More with: totonoe episodes list --since 2026-01-01 --memory mem_1 --limit 5 "
        "--page-token t\n"
    )
    assert (listed[0].memory_id, listed[0].page_size) == ("mem_1", 5)
    assert listed[0].time.HasField("from_time")
    empty = run("episodes", "list", ListEpisodes=answering(graph_pb.ListEpisodesResponse()))
    assert empty.stdout == "No episodes.\n"

    gone = graph_pb.DeleteEpisodeResponse(episode=EPISODE, operation_id="op_d")
    result = run("episodes", "delete", "ep_1", DeleteEpisode=answering(gone))
    assert result.stdout.splitlines() == [
        "Deleted ep_1: It rained.",
        "Take it back with: totonoe undo op_d",
    ]


def test_collections_update_sets_what_becomes_of_the_forgotten(run: Run) -> None:
    requests: list[admin_pb.UpdateCollectionRequest] = []
    result = run(
        "collections", "update", "notes", "--set", "guard.refuse_forgotten=true",
        "--set", "retention.purge_forgotten_days=30",
        UpdateCollection=answering(admin_pb.UpdateCollectionResponse(), requests),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert requests[0].collection.guard.refuse_forgotten
    assert requests[0].collection.retention.purge_forgotten_days == 30.0
