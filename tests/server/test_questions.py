"""Questions over the wire: asked by an answer, listed, answered, folded, and taken back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from support.engines import vector_at, vector_of
from support.likelihood import Likelihood
from totonoe import Client
from totonoe.cli.main import app
from totonoe.enums import LinkType, WhyNotOutcome
from totonoe.errors import InvalidArgument, StaleRevision
from totonoe.questions.models import Question
from totonoe_server.tools.testing import running_server

DIMENSION = 384
BASE = vector_of("base", DIMENSION)
NIGHT, NIGHTLY = "The backup runs at night", "The backup is nightly"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of a daemon for which two texts are likely the same."""
    Likelihood(monkeypatch).say(NIGHT, NIGHTLY, 0.86)
    with running_server() as server, server.client("anna") as client:
        monkeypatch.setenv("TOTONOE_ADDRESS", server.address)
        monkeypatch.setenv("TOTONOE_AGENT", "anna")
        yield client


def saved(client: Client, **more: object) -> tuple[str, str]:
    """Save both texts; return their ids."""
    first = client.remember(NIGHT, vector=BASE)
    second = client.remember(NIGHTLY, vector=vector_at(BASE, 0.9), **more)  # type: ignore[arg-type]
    assert first.saved
    assert second.saved
    return first.memory_id, second.memory_id


def open_questions(client: Client) -> list[Question]:
    return list(client.list_questions().questions)


def test_answer_ends_with_the_question(client: Client) -> None:
    first = client.remember(NIGHT, vector=BASE)
    checked = client.check(NIGHTLY, vector=vector_at(BASE, 0.9))
    again = client.remember(NIGHTLY, vector=vector_at(BASE, 0.9))
    for answer in (checked, again):
        assert answer.question is not None
        assert answer.question.memory_id == first.memory_id
        assert answer.question.judgement.same_probability == pytest.approx(0.86)
    likely = [one.target_id for one in again.links if one.type is LinkType.LIKELY_SAME]
    assert likely == [first.memory_id]
    (question,) = open_questions(client)
    assert (question.a.content, question.b.content) == (NIGHT, NIGHTLY)
    assert question.same_probability == pytest.approx(0.86)
    assert question.version


def test_distinct_from_asks_nothing(client: Client) -> None:
    first = client.remember(NIGHT, vector=BASE)
    again = client.remember(NIGHTLY, vector=vector_at(BASE, 0.9), distinct_from=[first.memory_id])
    assert again.saved
    assert again.question is None
    assert open_questions(client) == []


@pytest.mark.parametrize(
    ("answer", "live"),
    [
        ("same", {NIGHTLY}),
        ("different", {NIGHT, NIGHTLY}),
        ("replaces", {NIGHTLY}),
        ("replaced_by", {NIGHT}),
    ],
)
def test_question_is_answered_once_and_undo_opens_it_again(
    client: Client, answer: str, live: set[str]
) -> None:
    first, second = saved(client)
    done = client.resolve(second, first, answer)  # type: ignore[arg-type]
    assert done.resolved
    assert {one.content for one in client.list_all()} == live
    assert open_questions(client) == []
    client.undo(done.revision)
    assert len(open_questions(client)) == 1
    assert {one.content for one in client.list_all()} == {NIGHT, NIGHTLY}


def test_dry_run_tells_what_the_text_that_stays_does_not_say(client: Client) -> None:
    kept = client.remember("Maria drinks coffee.").memory_id
    gone = client.remember("Maria drinks coffee with oat milk.").memory_id
    revision = client.stats().collections[0].revision
    planned = client.resolve(kept, gone, "same", dry_run=True)
    assert (planned.dry_run, planned.operation_id, planned.revision) == (True, "", revision)
    merge = client.merge(kept, [gone], dry_run=True)
    assert (merge.dry_run, merge.merged, merge.operation_id) == (True, True, "")
    assert [one.text for one in merge.lost] == ["with oat milk"]
    assert client.get(gone).status == "active"
    done = client.resolve(kept, gone, "same")
    assert (done.dry_run, done.closed_id, done.lost) == (False, planned.closed_id, planned.lost)
    if done.closed_id == gone:
        assert [(one.memory_id, one.text) for one in done.lost] == [(gone, "with oat milk")]


def test_loser_of_a_race_learns_who_won(client: Client) -> None:
    first, second = saved(client)
    (question,) = open_questions(client)
    client.resolve(second, first, "different")
    client.update(first, tags=["checked"])
    with pytest.raises(StaleRevision):
        client.resolve(
            first, second, "same",
            expected_revision=question.a.revision, other_expected_revision=question.b.revision,
        )  # fmt: skip


def test_answer_that_is_missing_or_about_itself_is_refused(client: Client) -> None:
    first, _ = saved(client)
    with pytest.raises(InvalidArgument):
        client.resolve(first, first, "same")


def test_recall_folds_and_why_not_says_so(client: Client) -> None:
    first, second = saved(client)
    found = client.recall(vector=BASE)
    assert [hit.memory.id for hit in found.hits] == [second]
    (also,) = found.hits[0].also
    assert (also.memory.id, found.hits[0].also_count) == (first, 1)
    apart = client.recall(vector=BASE, fold=False)
    assert {hit.memory.id for hit in apart.hits} == {first, second}
    reason = client.why_not(first, vector=BASE)
    assert (reason.outcome, reason.near_id) == (WhyNotOutcome.FOLDED, second)


def test_command_lists_and_answers(client: Client) -> None:
    first, second = saved(client)
    runner = CliRunner()
    listed = runner.invoke(app, ["questions"])
    assert listed.exit_code == 0, listed.output
    assert "Probably the same (0.86)" in listed.output
    assert NIGHT in listed.output
    recalled = runner.invoke(app, ["recall", "backup", "--mode", "lexical"])
    assert f"also: {NIGHT}" in " ".join(recalled.output.split())
    *_, typed, others = listed.output.splitlines()
    assert re.search(r"^Answer with: totonoe resolve mem_\w+ mem_\w+ same\b", typed)
    assert others.startswith("In place of same: different, replaces")
    for wrong in ("unknown", "replaced-by"):
        refused = runner.invoke(app, ["resolve", second, first, wrong])
        assert refused.exit_code == 2
        assert f"ANSWER: got '{wrong}', allowed: same, different" in refused.output
    planned = runner.invoke(app, ["resolve", second, first, "same", "--dry-run"])
    assert "would be superseded by" in planned.output and "undo" not in planned.output
    done = runner.invoke(app, ["resolve", second, first, "different"])
    assert done.exit_code == 0, done.output
    assert "Different" in done.output
    assert "No open questions." in runner.invoke(app, ["questions"]).output
