"""Questions over the wire: asked by an answer, listed, answered, folded, and taken back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from support.engines import vector_at, vector_of
from support.likelihood import Likelihood
from support.serving import serving
from totonoe import AsyncClient, Client, Draft
from totonoe.cli.main import app
from totonoe.collections.models import GuardPolicy
from totonoe.enums import LinkType, QuestionKind, WhyNotOutcome
from totonoe.errors import InvalidArgument, NotFound, StaleRevision
from totonoe.memories.models import Checked, Remembered, Updated
from totonoe.questions.models import Question
from totonoe_core.domain.policy import SHOWN_FROM
from totonoe_server.advice import ASKED, WOULD_ASK

DIMENSION = 384
BASE = vector_of("base", DIMENSION)
NIGHT, NIGHTLY = "The backup runs at night", "The backup is nightly"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, kept_in: str) -> Iterator[Client]:
    """A client of a daemon for which two texts are likely the same."""
    Likelihood(monkeypatch).say(NIGHT, NIGHTLY, 0.86)
    with serving(kept_in=kept_in) as server, server.client("anna") as client:
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


@pytest.mark.both_stores
def test_answer_ends_with_the_question(client: Client) -> None:
    first = client.remember(NIGHT, vector=BASE)
    checked = client.check(NIGHTLY, vector=vector_at(BASE, 0.9))
    again = client.remember(NIGHTLY, vector=vector_at(BASE, 0.9))
    assert (checked.advice, again.advice) == (WOULD_ASK, ASKED)
    for answer in (checked, again):
        assert answer.question is not None
        assert answer.question.memory_id == first.memory_id
        assert answer.question.judgement.same_probability == pytest.approx(0.86)
    likely = [link.target_id for link in again.links if link.type is LinkType.LIKELY_SAME]
    assert likely == [first.memory_id]
    (question,) = open_questions(client)
    assert (question.a.content, question.b.content) == (NIGHT, NIGHTLY)
    assert question.same_probability == pytest.approx(0.86)
    assert question.version


def test_each_finding_says_how_far_it_moves_the_probability(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = saved(client)
    monkeypatch.undo()
    third = client.remember("The lamp in the hall is green.").memory_id
    (plain,) = open_questions(client)
    assert {line.weight for line in plain.judgement.evidence} == {None}
    (question,) = client.list_questions(
        memory_id=second, other_id=first, weights=True, page_size=1
    ).questions
    assert not client.list_questions(memory_id=first, other_id=third).questions
    with pytest.raises(InvalidArgument, match="memory_id"):
        client.list_questions(other_id=third)
    with pytest.raises(NotFound):
        client.list_questions(memory_id=first, other_id="mem_00000000000000ff")
    compared = client.compare("It listens on port 5433.", "It listens on port 5434.").judgement
    for judgement in (question.judgement, compared):
        weights = [line.weight for line in judgement.evidence if line.weight is not None]
        assert weights and all(-1.0 <= weight <= 1.0 for weight in weights)
    (number,) = compared.evidence
    # Without it both texts are equal.
    assert number.weight == pytest.approx(compared.same_probability - 1.0)


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
    assert {memory.content for memory in client.list_all()} == live
    assert open_questions(client) == []
    client.undo(done.revision)
    assert len(open_questions(client)) == 1
    assert {memory.content for memory in client.list_all()} == {NIGHT, NIGHTLY}


def test_dry_run_tells_what_the_text_that_stays_does_not_say(client: Client) -> None:
    kept = client.remember("Maria drinks coffee.").memory_id
    gone = client.remember("Maria drinks coffee with oat milk.").memory_id
    revision = client.stats().collections[0].revision
    planned = client.resolve(kept, gone, "same", dry_run=True)
    assert (planned.dry_run, planned.operation_id, planned.revision) == (True, "", revision)
    merge = client.merge(kept, [gone], dry_run=True)
    assert (merge.dry_run, merge.merged, merge.operation_id) == (True, True, "")
    assert [detail.text for detail in merge.lost] == ["with oat milk"]
    assert client.get(gone).status == "active"
    done = client.resolve(kept, gone, "same")
    assert (done.dry_run, done.closed_id, done.lost) == (False, planned.closed_id, planned.lost)
    if done.closed_id == gone:
        assert [(detail.memory_id, detail.text) for detail in done.lost] == [
            (gone, "with oat milk")
        ]


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
    assert re.search(r"  - .*\bnightly.* \([-+]0\.\d\d\)\n", listed.output)
    assert "Probably the same (0.86)" in listed.output
    # What a judge said when it was asked differs from what the words alone say now.
    assert re.search(r"^  By the words alone: \w+ \(0\.\d\d same\)$", listed.output, re.M)
    assert NIGHT in listed.output
    recalled = runner.invoke(app, ["recall", "backup", "--mode", "lexical"])
    assert f"also: {NIGHT}" in " ".join(recalled.output.split())
    *_, typed, others, page = listed.output.splitlines()
    # As typed after the save: the newer one first, which `replaces` keeps.
    assert typed.startswith(f"Answer with: totonoe resolve {second} {first} same")
    assert others.startswith("In place of same: different, replaces")
    assert page.startswith("On a page, by keys: totonoe console")
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


# -- Whether one replaces the other


def test_less_trusted_value_of_a_key_is_asked_about_until_it_is_answered(client: Client) -> None:
    key = ("staging", "port")
    told = client.remember("It is port 5433.", source="user", key=key).memory_id
    page = client.remember("It is port 5434.", source="external", key=key)
    assert page.maybe_replaced_ids == (told,)
    assert LinkType.MAY_REPLACE in {link.type for link in page.links if link.target_id == told}
    (question,) = open_questions(client)
    assert question.kind is QuestionKind.REPLACES
    assert (question.b.id, question.a.id, question.version) == (page.memory_id, told, "")
    assert question.same_probability == question.judgement.same_probability
    assert client.stats().collections[0].open_question_count == 1
    runner = CliRunner()
    listed = runner.invoke(app, ["questions"]).output.splitlines()
    assert listed[0] == "- Does the second replace the first?"
    assert "It is port 5433." in listed[1]
    assert "[external] It is port 5434." in listed[2]
    both, wholly = (
        next(line for line in listed if line.startswith(words)).partition(": totonoe ")[2]
        for words in ("If both are true", "If so")
    )
    assert runner.invoke(app, both.split()).exit_code == 0
    assert open_questions(client) == []
    client.undo(client.stats().collections[0].revision)
    assert len(open_questions(client)) == 1
    assert runner.invoke(app, wholly.split()).exit_code == 0
    assert client.get(told).superseded_by == page.memory_id
    assert open_questions(client) == []


# -- The nearest memory of an answer that asks nothing


@pytest.fixture
def unsure(monkeypatch: pytest.MonkeyPatch, kept_in: str) -> Iterator[Client]:
    """A client of a daemon for which two texts may be the same, below a question."""
    Likelihood(monkeypatch).say(NIGHT, NIGHTLY, 0.34)
    with serving(kept_in=kept_in) as server, server.client("anna") as client:
        monkeypatch.setenv("TOTONOE_ADDRESS", server.address)
        monkeypatch.setenv("TOTONOE_AGENT", "anna")
        yield client


def shows(answer: Remembered | Checked | Updated, memory_id: str) -> bool:
    """Whether an answer shows a memory, as an item of `similar` would, and asks nothing."""
    shown = answer.nearest
    assert shown is not None and shown.judgement is not None
    assert shown.judgement.same_probability == pytest.approx(0.34)
    assert (shown.snippet, shown.age) == (NIGHT, "just now")
    return shown.memory_id == memory_id and answer.question is None and not answer.advice


def test_unsure_answer_shows_the_nearest_one_and_resolve_takes_it(unsure: Client) -> None:
    first = unsure.remember(NIGHT, vector=BASE)
    assert first.nearest is None
    assert shows(unsure.check(NIGHTLY, vector=vector_at(BASE, 0.9)), first.memory_id)
    again = unsure.remember(NIGHTLY, vector=vector_at(BASE, 0.9))
    assert shows(again, first.memory_id)
    assert LinkType.LIKELY_SAME not in {link.type for link in again.links}
    assert open_questions(unsure) == []
    done = unsure.resolve(again.memory_id, first.memory_id, "same")
    assert [memory.id for memory in unsure.list_all()] == [done.memory.id]
    unsure.undo(done.revision)
    assert {memory.content for memory in unsure.list_all()} == {NIGHT, NIGHTLY}
    assert unsure.resolve(again.memory_id, first.memory_id, "different").resolved


def test_update_and_each_item_of_a_batch_show_it(unsure: Client) -> None:
    first = unsure.remember(NIGHT, vector=BASE).memory_id
    (item,) = unsure.remember_many([Draft(NIGHTLY, vector=vector_at(BASE, 0.9))])
    assert item.remembered is not None
    assert shows(item.remembered, first)
    unsure.forget(item.remembered.memory_id)
    other = unsure.remember("Something else", vector=vector_of("else", DIMENSION)).memory_id
    done = unsure.update(other, content=NIGHTLY, vector=vector_at(BASE, 0.9))
    assert done.updated and shows(done, first)


def test_asynchronous_client_has_it_too(unsure: Client) -> None:
    first = unsure.remember(NIGHT, vector=BASE).memory_id

    async def remember() -> Remembered:
        async with AsyncClient(unsure.address, agent_id="anna") as client:
            return await client.remember(NIGHTLY, vector=vector_at(BASE, 0.9))

    assert shows(asyncio.run(remember()), first)


def test_private_memory_of_another_agent_is_shown_to_nobody(unsure: Client) -> None:
    unsure.remember(NIGHT, vector=BASE, private=True)
    with Client(unsure.address, agent_id="bert") as bert:
        answer = bert.remember(NIGHTLY, vector=vector_at(BASE, 0.9))
    assert (answer.saved, answer.nearest) == (True, None)


def test_level_is_set_read_and_checked_over_the_wire(unsure: Client) -> None:
    assert unsure.get_collection("default").guard.shown_from == pytest.approx(SHOWN_FROM)
    made = unsure.create_collection("low", guard=GuardPolicy(likely_from=0.1)).collection.guard
    assert (made.likely_from, made.shown_from) == (0.1, 0.1)
    ego = unsure.create_collection("ego", guard=GuardPolicy(preset="ego")).collection.guard
    assert ego.shown_from is None
    with pytest.raises(InvalidArgument, match=r"guard\.shown_from") as caught:
        unsure.create_collection("x", guard=GuardPolicy(likely_from=0.1, shown_from=0.2))
    assert caught.value.details["allowed"] == "at most 0.1, which guard.likely_from is"
    with pytest.raises(InvalidArgument, match=r"guard\.shown_from"):
        unsure.update_collection("low", guard=GuardPolicy(shown_from=0.2))
    CliRunner().invoke(app, ["collections", "update", "default", "--unset", "guard.shown_from"])
    unsure.remember(NIGHT, vector=BASE)
    assert unsure.remember(NIGHTLY, vector=vector_at(BASE, 0.9)).nearest is None


def test_line_of_the_nearest_one_is_typed_as_printed(unsure: Client) -> None:
    # Every text is compared, however far from the others.
    unsure.update_collection("default", guard=GuardPolicy(judged_from=-1.0))
    runner = CliRunner()
    first = runner.invoke(app, ["remember", NIGHT]).stdout
    old = re.findall(r"mem_\w+", first)[0]
    would = runner.invoke(app, ["check", NIGHTLY]).stdout.splitlines()[-1]
    assert would == f"Nearest: {old}, just now: '{NIGHT}'."
    line = runner.invoke(app, ["remember", NIGHTLY]).stdout.splitlines()[-1]
    shown, _, step = line.partition(" If it says the same: totonoe ")
    assert shown == would
    name, new, other, answer = step.split()[:4]
    assert (name, other, answer) == ("resolve", old, "same")
    done = runner.invoke(app, step.split())
    assert done.exit_code == 0, done.output
    assert unsure.get(old).superseded_by == new or unsure.get(new).superseded_by == old
