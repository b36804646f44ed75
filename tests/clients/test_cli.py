"""The command line: what each command sends, and its words for people."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from typer.testing import Result

from support.scripted import answering, failing
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import types_pb2

Run = Callable[..., Result]
THREE_DAYS_AGO = Timestamp()
THREE_DAYS_AGO.FromDatetime(datetime.now(UTC) - timedelta(days=3, minutes=1))


def memory(number: int, content: str = "The port is 8080.", **fields: Any) -> types_pb2.Memory:
    return types_pb2.Memory(
        id=f"mem_{number:016x}",
        content=content,
        kind=types_pb2.KIND_STATE,
        state_kind=types_pb2.STATE_KIND_FACT,
        source=types_pb2.SOURCE_AGENT,
        status=types_pb2.STATUS_ACTIVE,
        created_time=THREE_DAYS_AGO,
        importance=3,
        **fields,
    )


DUPLICATE = types_pb2.Duplicate(
    memory_id="mem_000000000000000a",
    age="3d ago",
    snippet="The port is 8080.",
    similarity=1.02,
    method=types_pb2.METHOD_COSINE,
)
REFUSED = pb.RememberResponse(
    memory_id=DUPLICATE.memory_id,
    duplicate=DUPLICATE,
    method=types_pb2.METHOD_COSINE,
    similarity=0.97,
    revision=5,
    operation_id="op_1",
)
SAVED = pb.RememberResponse(
    saved=True,
    memory_id="mem_000000000000000b",
    method=types_pb2.METHOD_NONE,
    similarity=0.5,
    revision=6,
    operation_id="op_2",
    links=[types_pb2.Link(target_id="mem_a"), types_pb2.Link(target_id="mem_b")],
    similar=[
        types_pb2.SimilarMemory(
            memory_id="mem_a", cosine_similarity=0.83, snippet="The port is 80.", age="2h ago"
        )
    ],
)


# -- remember, check


def test_remember_saved_says_so_and_ends_in_0(run: Run) -> None:
    result = run("remember", "The port is 81.", Remember=answering(SAVED))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Saved (id: mem_000000000000000b). Linked to 2 existing memories.",
        "Most related:",
        "- [2h ago] The port is 80. (id: mem_a, similarity: 0.83)",
    ]


@pytest.mark.parametrize(("count", "told"), [(1, "1 near memory"), (2, "2 near memories")])
def test_layer_that_could_not_read_all_is_named(run: Run, count: int, told: str) -> None:
    layer = types_pb2.LayerReport(layer=types_pb2.METHOD_COSINE, ran=True, unread_count=count)
    evidence = types_pb2.Evidence(finding=types_pb2.FINDING_OVER_BUDGET)
    new = types_pb2.Judgement(verdict=types_pb2.VERDICT_NEW, evidence=[evidence])
    similar = types_pb2.SimilarMemory(memory_id="mem_a", snippet="b", age="2h ago", judgement=new)
    saved = pb.RememberResponse(saved=True, memory_id="mem_b", layers=[layer], similar=[similar])
    would = pb.CheckResponse(would_save=True, layers=[layer])
    updated = pb.UpdateResponse(updated=True, memory=memory(1), layers=[layer])
    expected = f"Layer cosine: {told} too long to be compared to the end."
    lines = run("remember", "a", Remember=answering(saved)).stdout.splitlines()
    assert lines[1] == expected
    assert lines[-1] == "  - not read to the end"
    assert run("check", "a", Check=answering(would)).stdout.splitlines()[1] == expected
    done = run("update", memory(1).id, "--content", "a", Update=answering(updated))
    assert done.stdout.splitlines()[1] == expected


def test_remember_refused_explains_and_ends_in_3(run: Run) -> None:
    result = run("remember", "The port is 8080!", Remember=answering(REFUSED))
    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        "Not saved — very similar memory already exists.",
        "Existing (id: mem_000000000000000a, 3d ago): The port is 8080.",
        "Similarity: 1.00",
        "Method: cosine",
    ]


def test_remember_replayed_says_that_nothing_was_done(run: Run) -> None:
    for answer in (SAVED, REFUSED):
        again = pb.RememberResponse(replayed=True)
        again.MergeFrom(answer)
        result = run("remember", "a", "--operation-id", "op_1", Remember=answering(again))
        assert "This operation id was used before" in result.stdout


def test_remember_every_option_reaches_the_daemon(run: Run) -> None:
    requests: list[pb.RememberRequest] = []
    result = run(
        "--agent", "planner", "remember", "-", "--collection", "notes", "--kind", "state",
        "--state-kind", "task", "--category", "c", "--tag", "a", "--tag", "b",
        "--importance", "5", "--confidence", "0", "--emotion", "calm", "--session", "s",
        "--thread", "t", "--entity", "e", "--private", "--force",
        "--attributes", '{"n": 1}', "--payload", '{"p": [true]}', "--external-id", "x",
        "--created", "2026-01-02T03:04:05", "--operation-id", "op_x",
        stdin="two\nlines\n",
        Remember=answering(SAVED, requests),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    (request,) = requests
    assert (request.agent_id, request.collection) == ("planner", "notes")
    assert (request.operation_id, request.force) == ("op_x", True)
    draft = request.memory
    assert draft.content == "two\nlines"
    assert list(draft.tags) == ["a", "b"]
    assert (draft.state_kind, draft.importance) == (types_pb2.STATE_KIND_TASK, 5)
    assert draft.HasField("confidence")
    assert (draft.session_id, draft.thread_id, draft.external_id) == ("s", "t", "x")
    assert (draft.category, draft.emotion, draft.private) == ("c", "calm", True)
    assert dict(draft.attributes) == {"n": 1.0}
    assert draft.created_time.ToDatetime(tzinfo=UTC) == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_check_tells_without_saving_and_ends_in_3_if_refused(run: Run) -> None:
    refused = pb.CheckResponse(duplicate=DUPLICATE, method=types_pb2.METHOD_COSINE)
    result = run("check", "a", Check=answering(refused))
    assert result.exit_code == 3
    assert result.stdout.startswith("Would not be saved — very similar memory already exists.\n")
    result = run("check", "a", Check=answering(pb.CheckResponse(would_save=True)))
    assert (result.exit_code, result.stdout) == (0, "Would be saved.\n")
    grown = pb.CheckResponse(would_save=True, grown_id="mem_1")
    result = run("check", "a", Check=answering(grown))
    assert result.stdout == "Would be saved as the next version of mem_1.\n"


@pytest.mark.parametrize(
    ("own", "said"),
    [({"dismissed_count": 2, "merged_count": 1}, ["2 dismissed and 1 merged"]), ({}, [])],
)
def test_calibrate_tells_the_collections_own_pairs(
    run: Run, own: dict[str, int], said: list[str]
) -> None:
    answer = admin_pb.CalibrateResponse(calibration=types_pb2.Calibration(pair_count=14), **own)
    result = run("calibrate", Calibrate=answering(answer))
    assert result.exit_code == 0
    last = result.stdout.splitlines()[-1]
    assert all(text in last for text in said)
    assert last.endswith("are the collection's own.") is bool(said)


def test_remember_says_what_has_grown(run: Run) -> None:
    grown = pb.RememberResponse(saved=True, memory_id="mem_1", grown_id="mem_1")
    result = run("remember", "a", "--state-kind", "summary", Remember=answering(grown))
    assert result.exit_code == 0
    assert result.stdout == "Saved as the next version of mem_1, which this scope had.\n"


OUTDATED = types_pb2.OutdatedMatch(
    memory_id="mem_1", age="3d ago", replaced_by_id="mem_2", replaced_by_snippet="port 2"
)
SAYS_AGAIN = "It says again what mem_2 replaced (mem_1, 3d ago).\n- port 2 (id: mem_2)\n"


def test_remember_and_check_say_what_is_said_again(run: Run) -> None:
    saved = pb.RememberResponse(saved=True, memory_id="mem_3", outdated=OUTDATED)
    result = run("remember", "port 1", Remember=answering(saved))
    assert result.stdout == f"Saved (id: mem_3).\n{SAYS_AGAIN}"
    checked = pb.CheckResponse(would_save=True, outdated=OUTDATED)
    result = run("check", "port 1", Check=answering(checked))
    assert result.stdout == f"Would be saved.\n{SAYS_AGAIN}"
    for name, kind in (("remember", pb.RememberResponse), ("check", pb.CheckResponse)):
        refused = kind(duplicate=DUPLICATE, outdated=OUTDATED)
        result = run(name, "port 1", **{name.capitalize(): answering(refused)})
        assert (result.exit_code, result.stdout.endswith(SAYS_AGAIN)) == (3, True)


def test_remember_and_check_ask_what_may_be_replaced(run: Run) -> None:
    saved = pb.RememberResponse(saved=True, memory_id="mem_3", maybe_replaced_ids=["mem_1"])
    asked = "Does it replace mem_1?\n"
    result = run("remember", "at Meta", Remember=answering(saved))
    assert result.stdout.startswith(
        f"Saved (id: mem_3).\n{asked}If so: totonoe resolve mem_3 mem_1 replaces\n"
        "If both are true: totonoe resolve mem_3 mem_1 different\n"
    )
    checked = pb.CheckResponse(would_save=True, maybe_replaced_ids=["mem_1"])
    result = run("check", "at Meta", Check=answering(checked))
    assert result.stdout == f"Would be saved.\n{asked}"


@pytest.mark.parametrize("name", ["remember", "check"])
def test_on_contained_is_sent(run: Run, name: str) -> None:
    kind = {"remember": pb.RememberResponse, "check": pb.CheckResponse}[name]
    requests: list[Any] = []
    run(name, "a", "--on-contained", "refuse", **{name.capitalize(): answering(kind(), requests)})
    assert [request.on_contained for request in requests] == [types_pb2.ACTION_REFUSE]


# -- reading


def test_recall_shows_hits_as_a_table(run: Run) -> None:
    hits = [pb.Hit(memory=memory(1, "[bold]x[/bold] :smile:"), relevance=0.912)]
    requests: list[pb.RecallRequest] = []
    result = run(
        "recall", "port", "-k", "3", "--mode", "lexical", "--kind", "event", "--since",
        "2026-01-01", "--no-diversity", "--no-touch", "--by-agent", "planner",
        Recall=answering(pb.RecallResponse(hits=hits, degraded_because="embedder"), requests),
    )  # fmt: skip
    assert result.exit_code == 0
    assert result.stdout.startswith("Note: embedder\n")
    assert re.search(r"1 +│ 0.91 +│ 3d ago +│ mem_0+1 +│ \[bold\]x\[/bold\] :smile:", result.stdout)
    (request,) = requests
    assert (request.k, request.mode, request.no_touch) == (3, pb.RECALL_MODE_LEXICAL, True)
    assert request.diversity.HasField("enabled")
    assert list(request.filter.agent_ids) == ["planner"]
    assert not request.filter.created.HasField("to_time")


def test_recall_without_hits_says_so(run: Run) -> None:
    result = run("recall", "port", Recall=answering(pb.RecallResponse()))
    assert (result.exit_code, result.stdout) == (0, "Nothing found.\n")


def test_get_missing_one_shows_the_rest_and_ends_in_1(run: Run) -> None:
    link = types_pb2.Link(target_id="mem_b", type=types_pb2.LINK_TYPE_UPDATES, confidence=0.5)
    answer = pb.GetResponse(memories=[memory(1, tags=["a", "b"], links=[link])], missing_ids=["y"])
    result = run("get", "mem_1", "y", Get=answering(answer))
    assert result.exit_code == 1
    assert "mem_0000000000000001 (state/fact, active, 3d ago)\nThe port is 8080.\n" in result.stdout
    assert "  tags: a, b\n" in result.stdout
    assert "  link: updates mem_b (confidence 0.50)\n" in result.stdout
    assert result.stderr == "Memory not found: y\n"


def test_get_of_a_text_that_looks_like_more_lines(run: Run) -> None:
    text = "one\nmem_0 (state/fact, active, 3d ago)\u2028two\r\nthree\rfour"
    answer = pb.GetResponse(memories=[memory(1, text, category="a\n  tags: b")])
    result = run("get", "mem_1", Get=answering(answer))
    assert result.stdout.split("\n")[1:6] == [
        "one",
        "    mem_0 (state/fact, active, 3d ago)\ufffdtwo",
        "    three\ufffdfour",
        "  category: a",
        "      tags: b",
    ]


def test_list_shows_how_to_go_on(run: Run) -> None:
    answer = pb.ListResponse(memories=[memory(1), memory(2)], next_page_token="tok")
    requests: list[pb.ListRequest] = []
    result = run("list", "--limit", "2", "--status", "closed", List=answering(answer, requests))
    assert result.exit_code == 0
    assert "mem_0000000000000002" in result.stdout
    assert result.stdout.endswith(
        "More with: totonoe list --limit 2 --status closed --page-token tok\n"
    )
    assert requests[0].page_size == 2
    assert list(requests[0].filter.statuses) == [types_pb2.STATUS_CLOSED]


# -- changing


def test_forget_shows_what_is_gone(run: Run) -> None:
    answer = pb.ForgetResponse(forgotten=[memory(1, emotion="happy")], unlinked_count=2, revision=9)
    result = run("forget", "mem_1", "--reason", "wrong", Forget=answering(answer))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Forgot (id: mem_0000000000000001, 3d ago): The port is 8080.",
        "Emotion: happy | Importance: 3",
        "Links taken away: 2",
        "Bring it back with: totonoe undo 9",
    ]


def test_forget_dry_run_says_would(run: Run) -> None:
    answer = pb.ForgetResponse(forgotten=[memory(1)], dry_run=True, missing_ids=["mem_2"])
    result = run("forget", "mem_1", "mem_2", "--dry-run", Forget=answering(answer))
    assert result.exit_code == 1
    assert result.stdout.startswith("Would forget (id: mem_0000000000000001, 3d ago)")
    assert "gone" not in result.stdout
    assert result.stderr == "Memory not found: mem_2\n"


def test_forget_unknown_id_hints_and_ends_in_1(run: Run) -> None:
    result = run(
        "forget",
        "mem_1",
        Forget=failing("NOT_FOUND", "MEMORY_NOT_FOUND", metadata={"advice": "Look."}),
    )
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "Error: because (MEMORY_NOT_FOUND)",
        "Look.",
    ]


def test_update_clears_and_sets_fields(run: Run) -> None:
    requests: list[pb.UpdateRequest] = []
    answer = pb.UpdateResponse(updated=True, memory=memory(1, revision=8))
    result = run(
        "update", "mem_1", "--content", "new", "--clear", "tags", "--expected-revision", "7",
        Update=answering(answer, requests),
    )  # fmt: skip
    assert result.stdout == "Updated (id: mem_0000000000000001, revision 8).\n"
    assert list(requests[0].update_mask.paths) == ["content", "tags"]


def test_update_that_repeats_another_ends_in_3(run: Run) -> None:
    answer = pb.UpdateResponse(memory=memory(1), duplicate=DUPLICATE)
    result = run("update", "mem_1", "--content", "new", Update=answering(answer))
    assert result.exit_code == 3
    assert result.stdout.startswith("Not changed — very similar memory already exists.\n")


def test_link_and_unlink_show_both_directions(run: Run) -> None:
    there = types_pb2.Link(target_id="mem_b", type=types_pb2.LINK_TYPE_UPDATES, confidence=0.5)
    back = types_pb2.Link(target_id="mem_a", type=types_pb2.LINK_TYPE_UPDATED_BY, confidence=0.5)
    result = run(
        "link", "mem_a", "mem_b", "--type", "updates",
        Link=answering(pb.LinkResponse(link=there, inverse=back, created=True)),
    )  # fmt: skip
    assert result.stdout.splitlines() == [
        "Linked.",
        "- updates mem_b (confidence 0.50)",
        "- updated_by mem_a (confidence 0.50)",
    ]
    result = run("unlink", "mem_a", "mem_b", Unlink=answering(pb.UnlinkResponse(removed=[there])))
    assert result.stdout == "Unlinked: updates mem_b (confidence 0.50)\n"


# -- collections, figures


def test_collections_update_sends_settings(run: Run) -> None:
    requests: list[admin_pb.UpdateCollectionRequest] = []
    result = run(
        "collections", "update", "notes", "--preset", "ego", "--set", "guard.exact=true",
        "--set", "decay.floor=0.1", "--set", "guard.tokenizer=whitespace",
        "--unset", "guard.jaccard_above",
        UpdateCollection=answering(admin_pb.UpdateCollectionResponse(), requests),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    settings = requests[0].collection
    assert settings.guard == types_pb2.GuardPolicy(
        preset=types_pb2.PRESET_EGO, exact=True, tokenizer=types_pb2.TOKENIZER_WHITESPACE
    )
    assert settings.decay == types_pb2.DecayPolicy(floor=0.1)
    assert "guard.jaccard_above" in requests[0].update_mask.paths


def test_collections_list_reads_all_pages(run: Run) -> None:
    def pages(request: admin_pb.ListCollectionsRequest, _context: Any) -> Any:
        first = not request.page_token
        item = types_pb2.Collection(name="a" if first else "b")
        return admin_pb.ListCollectionsResponse(
            collections=[item], next_page_token="t" if first else "", revision=3
        )

    result = run("collections", "list", "--json", ListCollections=pages)
    answer = json.loads(result.stdout)
    assert [item["name"] for item in answer["collections"]] == ["a", "b"]
    assert answer["revision"] == 3


def test_collections_delete_asks_first(run: Run) -> None:
    requests: list[Any] = []
    handler = answering(
        admin_pb.DeleteCollectionResponse(active_count=3, operation_id="op_1"), requests
    )
    refused = run("collections", "delete", "notes", stdin="n\n", DeleteCollection=handler)
    assert (refused.exit_code, requests) == (1, [])
    unasked = run("collections", "delete", "notes", stdin="", DeleteCollection=handler)
    assert (unasked.exit_code, requests) == (2, [])
    assert "say --yes" in unasked.stderr
    done = run("collections", "delete", "notes", "--yes", DeleteCollection=handler)
    assert done.stdout.splitlines() == [
        "Deleted notes with 3 live memories.",
        "Take it back with: totonoe undo op_1 --collection notes",
    ]


def test_collections_create_says_so_and_show_prints_settings(run: Run) -> None:
    guard = types_pb2.GuardPolicy(preset=types_pb2.PRESET_EGO, exact=False, similar_above=0.7)
    collection = types_pb2.Collection(name="notes", guard=guard)
    collection.model.name = "use-multilingual"
    created = answering(admin_pb.CreateCollectionResponse(collection=collection))
    result = run("collections", "create", "notes", CreateCollection=created)
    assert result.stdout == "Created notes (preset ego, model use-multilingual).\n"
    read = answering(admin_pb.GetCollectionResponse(collection=collection))
    result = run("collections", "show", GetCollection=read)
    assert result.exit_code == 0
    assert re.search(r"guard.jaccard_above +│ off", result.stdout)
    assert re.search(r"guard.similar_above +│ 0.7", result.stdout)


def test_compare_and_stats_print_tables(run: Run) -> None:
    outcome = admin_pb.PresetOutcome(
        preset=types_pb2.PRESET_EGO, refuses=True, method=types_pb2.METHOD_COSINE
    )
    result = run(
        "compare", "a", "b", Compare=answering(admin_pb.CompareResponse(presets=[outcome]))
    )
    assert re.search(r"preset ego +│ would refuse the second \(cosine\)", result.stdout)
    assert re.search(r"cosine similarity +│ no embedder", result.stdout)
    figures = admin_pb.CollectionStats(name="notes", active_count=4, refused_counts={"exact": 2})
    opened = admin_pb.OpenCollections(count=2, idle_closed_count=4, memory_bytes=3 << 20)
    answer = admin_pb.StatsResponse(collections=[figures], collection_count=9, open=opened)
    result = run("stats", Stats=answering(answer))
    assert re.search(r"notes +│ 4 .*exact 2 +│ +│ exact ", result.stdout)
    assert "9 collections, 2 open with 3 MiB, 4 closed as idle" in result.stdout
    figures.hnsw_count = 20_000
    result = run("stats", Stats=answering(admin_pb.StatsResponse(collections=[figures])))
    assert re.search(r"│ hnsw +│", result.stdout)
    figures.recall_at_k, figures.recall_rated_count = 0.9875, 16
    result = run("stats", Stats=answering(admin_pb.StatsResponse(collections=[figures])))
    assert re.search(r"│ hnsw 0\.98[78] +│ none +│", result.stdout)
    figures.recall_at_k, figures.recall_low = 0.5, True
    result = run("stats", Stats=answering(admin_pb.StatsResponse(collections=[figures])))
    assert re.search(r"│ exact, as hnsw 0\.500 +│", result.stdout)
    figures.recall_low = False
    assert "bad rows" not in result.stdout
    figures.verify.bad_row_counts["memory"] = 2
    figures.verify.damage_count = 3
    result = run("stats", Stats=answering(admin_pb.StatsResponse(collections=[figures])))
    assert (
        "notes: 2 bad rows of memory, 3 findings of SQLite; see docs/operations.md" in result.stdout
    )
    figures.verify.lost_commit_count, figures.verify.lost_revisions = 3, "12-15"
    lost = admin_pb.StatsResponse(collections=[figures], lost_catalogue_revisions="7-7")
    result = run("stats", Stats=answering(lost))
    assert "3 findings of SQLite, acknowledged revisions 12-15 are lost" in result.stdout
    assert "catalogue: acknowledged revisions 7-7 are lost; see docs/" in result.stdout
    figures.checkpoint.revision, figures.checkpoint.bad_count = 12, 1
    result = run("stats", Stats=answering(admin_pb.StatsResponse(collections=[figures])))
    assert re.search(r"│ 12, 1 bad +│", result.stdout)


def test_recall_and_get_show_a_typed_key_and_objects_as_words(run: Run) -> None:
    keyed = memory(1, "Espresso", key=types_pb2.TypedKey(subject="user", attribute="drink"))
    keyed.attributes.update({"room": 4})
    other = pb.OtherMemory(memory_id="mem_2", age="2h ago", snippet="Mate")
    hit = pb.Hit(memory=keyed, relevance=0.7, updated_by=[other], contradicted_by=[other])
    hit.outdated.append(other)
    shown = run("recall", "drink", Recall=answering(pb.RecallResponse(hits=[hit]))).stdout
    assert "user / drink: Espresso" in shown
    for how in ("updated", "contradicted", "outdated"):
        assert f"may be {how} by: Mate" in shown
    assert shown.count("2h ago") == 3
    shown = run("get", "mem_1", Get=answering(pb.GetResponse(memories=[keyed]))).stdout
    assert "  key: user / drink" in shown.splitlines()
    assert '  attributes: {"room": 4}' in shown.splitlines()
