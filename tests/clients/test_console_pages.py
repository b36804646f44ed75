"""What a person does on the pages of the console, over HTTP, against a daemon."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from support.access import add_identity
from support.consoles import Answer, ConsoleRun, console
from support.engines import vector_at, vector_of
from support.likelihood import Likelihood
from support.scripted import failing, scripted
from support.waits import wait_until
from totonoe import Client
from totonoe.collections.models import GuardPolicy
from totonoe.console import limits, texts
from totonoe.console.pages import health, memory, review, search, timeline
from totonoe.enums import Finding, Status, Verdict
from totonoe.memories.models import Evidence, Judgement
from totonoe_server.tools.testing import RunningServer, running_server

NIGHT = "The backup job runs at night."
NIGHTLY = "At night, the job for backups is run."
MONDAY = "The team meets on Monday."
WEEKLY = "Every Monday there is a meeting of the team."
HOSTILE = '<script>alert("x")</script> <a href="javascript:alert(1)">click</a> & "quotes"'
NUMBERS = count()


class Desk:
    """A collection with a console on it, and clients of two agents."""

    def __init__(self, server: RunningServer, name: str, page: ConsoleRun) -> None:
        self.server = server
        self.collection = name
        self.page = page
        self.bo = Client(server.address, agent_id="bo", collection=name)

    def remember(self, text: str, **fields: Any) -> str:
        return self.bo.remember(text, **fields).memory_id

    def status(self, memory_id: str) -> Status:
        return self.bo.get(memory_id).status

    def open_questions(self) -> int:
        return len(self.bo.list_questions().questions)

    def revision(self) -> int:
        return self.bo.operations(page_size=1).revision


@pytest.fixture
def desk(server: RunningServer, tmp_path: Path) -> Iterator[Desk]:
    """A new collection with a console on it."""
    name = f"console-{next(NUMBERS)}"
    with server.client() as client:
        # Every text is compared, however far from the others.
        client.create_collection(name, guard=GuardPolicy(judged_from=-1.0))
    with console(server.address, tmp_path, agent="ana", collection=name) as page:
        made = Desk(server, name, page.sign_in())
        yield made
        made.bo.close()


@pytest.fixture
def asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Ids of one pair that is asked about, the older one first.

    NIGHT and NIGHTLY are probably the same, MONDAY and WEEKLY less probably, and nothing else.
    """
    likely = Likelihood(monkeypatch)
    likely.say(NIGHT, NIGHTLY, 0.9)
    likely.say(MONDAY, WEEKLY, 0.8)
    return desk.remember(NIGHT), desk.remember(NIGHTLY, category="ops")


# -- Collections


@pytest.fixture
def beside(desk: Desk) -> Iterator[Client]:
    """A client of another collection of the same daemon, with `zz-` before its name."""
    name = f"zz-{desk.collection}"
    desk.bo.create_collection(name, description="The other one.", guard=GuardPolicy(judged_from=-1))
    with Client(desk.server.address, agent_id="bo", collection=name) as client:
        yield client
    desk.bo.delete_collection(name)


def leads(page: Answer) -> set[str]:
    """Where links and forms of a page lead, without files and the end of the session."""
    found = re.findall(r'(?:href|action|formaction|data-stream)="(/[^"]*)"', page.body)
    return {html.unescape(item) for item in found if not re.match("/(static|logout)", item)}


def test_another_collection_is_chosen_and_every_page_keeps_it(
    desk: Desk, beside: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = f"/c/zz-{desk.collection}"
    likely = Likelihood(monkeypatch)
    likely.say(NIGHT, NIGHTLY, 0.9)
    first = beside.remember(NIGHT).memory_id
    second = beside.remember(NIGHTLY, category="ops").memory_id
    third = beside.remember("The lamp is green.").memory_id
    beside.remember("The lamp is green.", force=True)
    edited = beside.update(third, content="The lamp is blue.", reason="painted")
    choice = desk.page.get("/search")
    (lead,) = (path for path in leads(choice) if path.startswith("/collections"))
    shown = desk.page.get(lead)
    while f"{base}/search" not in leads(shown):
        (following,) = re.findall(r'href="([^"]+)" rel="next"', shown.body)
        shown = desk.page.get(html.unescape(following))
    assert f"zz-{desk.collection} : The other one." in shown.text
    for path in (
        *("", "/search", "/search?q=lamp", "/timeline", "/health", "/health?audit=yes"),
        *("/health/plan", "/answered", "/repeats", "/waiting", "?agent=x", f"/m/{third}"),
        *(f"/op/{edited.revision}", f"/same?a={first}&b={second}", f"/why?q=lamp&id={third}"),
        *("/collections", "/m/mem_00000000000000ff", "/nowhere"),
    ):
        page = desk.page.get(base + path)
        assert page.status in (200, 404), path
        assert f"zz-{desk.collection} ( another collection )" in page.text
        strange = {text for text in leads(page) if text != base and not text.startswith(f"{base}/")}
        strange = {text for text in strange if not text.startswith(f"{base}?")}
        # The lists of collections lead to the others, too.
        if path not in ("/collections", "/health", "/health?audit=yes"):
            assert strange == set(), path
    review = desk.page.get(base)
    assert "Do these two say the same? Pair 1 of 1" in review.text
    done = desk.page.submit(review, f"{base}/answer", "Left replaces")
    assert "The left memory replaced" in done.text and f"zz-{desk.collection} (" in done.text
    assert beside.get(second).status is Status.SUPERSEDED
    assert "Nothing to answer" in desk.page.get("/").text


def test_each_collection_has_answers_of_its_own_to_take_back(
    desk: Desk, beside: Client, asked: tuple[str, str]
) -> None:
    base = f"/c/zz-{desk.collection}"
    others = [beside.remember(text).memory_id for text in (NIGHT, NIGHTLY)]
    desk.page.submit(desk.page.get("/"), "/answer", "Left replaces")
    desk.page.submit(desk.page.get(base), f"{base}/answer", "Right replaces")
    back = desk.page.submit(desk.page.get("/"), "/undo", "Take back")
    assert "Taken back: Resolve" in back.text
    assert "There is no answer to take back" in desk.page.submit(back, "/undo", "Take back").text
    assert desk.status(asked[1]) is Status.ACTIVE
    assert beside.get(others[0]).status is Status.SUPERSEDED
    desk.page.submit(desk.page.get(base), f"{base}/undo", "Take back")
    assert beside.get(others[0]).status is Status.ACTIVE


def test_collection_that_is_not_there_is_said(desk: Desk) -> None:
    page = desk.page.get("/c/no-such-one/search")
    assert page.status == 404 and "It is not there" in page.text
    assert "no-such-one" in page.text


# -- Review


def test_review_shows_the_most_probable_pair_first(desk: Desk, asked: tuple[str, str]) -> None:
    desk.remember(MONDAY)
    desk.remember(WEEKLY)
    first = desk.page.get("/")
    assert "Do these two say the same? Pair 1 of 2" in first.text
    assert first.text.index(asked[0]) < first.text.index(asked[1])
    assert "by bo" in first.text and "0.90" in first.text
    assert re.search("<del>.*</del>", first.body) and re.search("<ins>.*</ins>", first.body)
    second = desk.page.get("/?n=1")
    assert "Pair 2 of 2" in second.text and "0.80" in second.text
    assert 'data-key="p" href="/"' in second.body
    assert "Pair 2 of 2" in desk.page.get("/?n=900").text


@pytest.mark.usefixtures("asked")
def test_review_asks_first_whether_one_replaces_the_other(desk: Desk) -> None:
    key = ("staging", "port")
    told = desk.remember("It is port 5433.", source="user", key=key)
    page = desk.remember("It is port 5434.", source="external", key=key)
    first = desk.page.get("/")
    assert "Does the right one replace the left one? Pair 1 of 2" in first.text
    assert first.text.index(told) < first.text.index(page)
    assert "Do these two say the same? Pair 2 of 2" in desk.page.get("/?n=1").text
    assert f"Does {page} replace it?" in desk.page.get(f"/m/{told}").text
    assert f"Does it replace {told}" in desk.page.get(f"/m/{page}").text


def test_review_without_questions_says_what_to_do(desk: Desk) -> None:
    text = desk.page.get("/").text
    assert "Nothing to answer" in text and "Look for more pairs" in text


def test_what_differs_is_said_in_words(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = "The lamp in the hall is green.", "The lamp in the hall is blue."
    Likelihood(monkeypatch).say(one, other, 0.7)
    desk.remember(one)
    desk.remember(other)
    page = desk.page.get("/")
    assert "blue instead of green" in page.text
    assert "<ins>blue</ins>" in page.body and "<del>green</del>" in page.body
    assert re.search(r"green -> blue decided -0\.\d\d A number says how far", page.text)
    # The question has another probability than the wording, which the weights are of.
    assert "By the wording of both texts, as they are now: 0." in page.text


@pytest.mark.parametrize(
    ("label", "statuses", "words"),
    [
        ("Different", (Status.ACTIVE, Status.ACTIVE), "Different: nobody is asked again"),
        ("Left replaces", (Status.ACTIVE, Status.SUPERSEDED), "The left memory replaced"),
        ("Right replaces", (Status.SUPERSEDED, Status.ACTIVE), "The right memory replaced"),
    ],
)
def test_answer_is_carried_out_and_undone(
    desk: Desk,
    asked: tuple[str, str],
    label: str,
    statuses: tuple[Status, Status],
    words: str,
) -> None:
    done = desk.page.submit(desk.page.get("/"), "/answer", label)
    assert words in done.text and "Nothing to answer" in done.text
    assert (desk.status(asked[0]), desk.status(asked[1])) == statuses
    assert desk.open_questions() == 0
    operation = desk.bo.operations(page_size=1).operations[0]
    assert (operation.agent_id, operation.kind, operation.reason) == ("ana", "Resolve", "console")
    back = desk.page.submit(done, "/undo")
    assert "Taken back: Resolve" in back.text and "Pair 1 of 1" in back.text
    assert desk.status(asked[0]) == desk.status(asked[1]) == Status.ACTIVE
    assert "There is no answer to take back" in desk.page.submit(back, "/undo").text


def test_same_shows_what_stays_and_what_the_text_no_longer_has(
    desk: Desk, asked: tuple[str, str]
) -> None:
    target = re.search(r'data-key="s" href="([^"]+)"', desk.page.get("/").body)
    assert target is not None
    page = desk.page.get(target[1].replace("&amp;", "&"))
    assert re.search(r"They say the same: mem_\w+ stays", page.text)
    assert "Becomes superseded" in page.text
    checked = desk.page.post("/same", page.form("/answer") | {"content": "The job."})
    assert "The text no longer has:" in checked.text and "night" in checked.text
    assert desk.open_questions() == 1
    text = "The backup job runs at night, as the job for backups."
    done = desk.page.submit(checked, "/answer", content=text)
    assert "Same: they are one now." in done.text
    assert {desk.status(memory_id) for memory_id in asked} == {Status.ACTIVE, Status.SUPERSEDED}
    kept = next(memory_id for memory_id in asked if desk.status(memory_id) is Status.ACTIVE)
    assert desk.bo.get(kept).content == text


def test_text_that_repeats_another_memory_is_refused_in_words(
    desk: Desk, asked: tuple[str, str]
) -> None:
    other = desk.remember("Deploys happen on Friday.")
    page = desk.page.get(f"/same?a={asked[0]}&b={asked[1]}")
    done = desk.page.submit(page, "/answer", content="Deploys happen on Friday.")
    assert f"Nothing was done: {other} says that already" in done.text
    assert desk.open_questions() == 1


def test_later_puts_a_pair_behind_all_others(desk: Desk, asked: tuple[str, str]) -> None:
    desk.remember(MONDAY)
    desk.remember(WEEKLY)
    page = desk.page.submit(desk.page.get("/"), "/later")
    assert "Later: this pair comes after all others." in page.text
    assert "Monday" in page.text and asked[0] not in page.text
    assert asked[0] in desk.page.get("/?n=1").text
    # Another browser has its own order.
    assert asked[0] in desk.page.other().sign_in().get("/").text


def test_second_person_hears_who_was_first(desk: Desk, asked: tuple[str, str]) -> None:
    late = desk.page.get("/")
    for answer in ("different", "same", "replaces"):
        done = desk.bo.resolve(*asked, answer)
        told = desk.page.submit(late, "/answer", "Left replaces")
        assert "bo was faster" in told.text and "Your answer changed nothing" in told.text, answer
        assert desk.revision() == done.revision
        late_again = desk.bo.undo(done.revision)
        assert late_again.undone
        late = desk.page.get("/")
    desk.bo.forget(asked[1])
    assert "bo was faster" in desk.page.submit(late, "/answer", "Different").text


def test_second_person_hears_it_before_the_text_is_edited(
    desk: Desk, asked: tuple[str, str]
) -> None:
    page = desk.page.get("/")
    target = re.search(r'data-key="s" href="([^"]+)"', page.body)
    assert target is not None
    way = target[1].replace("&amp;", "&")
    dismissed = desk.bo.dismiss(*asked)
    told = desk.page.submit(desk.page.get(way), "/answer")
    assert "bo was faster" in told.text and desk.revision() == dismissed.revision
    desk.bo.undo(dismissed.revision)
    desk.bo.forget(asked[0])
    late = desk.page.get(way)
    assert late.status == 409
    assert "This pair was answered already" in late.text and "bo was faster" in late.text


@pytest.mark.usefixtures("asked")
def test_filters_show_pairs_of_an_agent_a_category_and_an_age(desk: Desk) -> None:
    desk.remember(MONDAY)
    desk.remember(WEEKLY)
    assert "Pair 1 of 1" in desk.page.get("/?category=ops").text
    assert "Pair 1 of 2" in desk.page.get("/?agent=bo&age=7").text
    nobody = desk.page.get("/?agent=nobody-of-this-name")
    assert "No pair fits the filter" in nobody.text and "Show all pairs" in nobody.text
    wrong = desk.page.get("/?age=3")
    assert wrong.status == 400 and "age: got &#39;3&#39;, allowed: 1, 7, 30, 365" in wrong.body
    # An answer keeps the filter.
    done = desk.page.post("/answer", desk.page.get("/?category=ops").form("/answer", "Different"))
    assert "category=ops" in done.header("location")


def test_search_for_more_pairs_finds_what_nobody_asks_about(desk: Desk) -> None:
    one = desk.remember("The lamp in the hall is glowing.", links_max=0)
    other = desk.remember("The lamp in the hall is glowing now.", links_max=0, force=True)
    assert desk.open_questions() == 0
    page = desk.page.submit(desk.page.get("/"), "/more")
    assert "Found 1 pair of which" in page.text and "A search found this pair" in page.text
    assert one in page.text and other in page.text
    done = desk.page.submit(page, "/answer", "Different")
    assert "Nothing to answer" in done.text


def test_answers_of_everybody_are_listed_with_their_undo(
    desk: Desk, asked: tuple[str, str]
) -> None:
    assert "No answer yet" in desk.page.get("/answered").text
    done = desk.bo.resolve(*asked, "replaces")
    page = desk.page.get("/answered")
    assert f"Resolve, revision {done.revision} by bo" in page.text
    assert NIGHTLY in page.text
    back = desk.page.submit(page, "/undo", "Take back")
    assert "Taken back" in back.text and "Taken back by revision" in back.text
    assert desk.status(asked[1]) is Status.ACTIVE


def test_answered_is_paged(desk: Desk, asked: tuple[str, str]) -> None:
    for _ in range(limits.PAGE_ROWS // 2 + 1):
        desk.bo.dismiss(*asked)
        desk.bo.undismiss(*asked)
        desk.bo.dismiss(*asked)
        desk.bo.undo(desk.revision())
    page = desk.page.get("/answered")
    following = re.search(r'href="(/answered\?page=[^"]+)" rel="next"', page.body)
    assert following is not None
    rest = desk.page.get(following[1].replace("&amp;", "&"))
    assert "First page" in rest.text and rest.text != page.text


def test_exact_repeats_are_shown_and_closed_as_one_operation(desk: Desk) -> None:
    assert "No live memory repeats another one" in desk.page.get("/repeats").text
    first = desk.remember(NIGHT)
    others = [desk.remember(NIGHT, force=True) for _ in range(3)]
    page = desk.page.get("/repeats")
    assert "Memories that repeat another one: 3." in page.text
    desk.bo.forget(others[0])
    late = desk.page.submit(page, "/repeats")
    assert "the repeats changed meanwhile" in late.text
    done = desk.page.submit(late, "/repeats")
    assert "Closed 2 exact repeats" in done.text
    assert sum(desk.status(memory_id) is Status.ACTIVE for memory_id in (first, *others)) == 1
    assert "Taken back: CleanUpDuplicates" in desk.page.submit(desk.page.get("/"), "/undo").text


def test_what_waits_for_a_review_is_confirmed_or_rejected_and_taken_back(desk: Desk) -> None:
    assert "Nothing waits." in desk.page.get("/waiting").text
    desk.bo.update_collection(desk.collection, guard=GuardPolicy(review_from="external"))
    first = desk.remember("The museum opens at nine.", source="external")
    second = desk.remember("The library closes at six.", source="external")
    page = desk.page.get("/waiting")
    assert "2 memories." in page.text and "Source: external" in page.text
    done = desk.page.submit(page, "/waiting", f"Confirm {first}")
    assert "Confirmed: The museum opens at nine." in done.text
    assert desk.status(first) is Status.ACTIVE
    late = desk.page.submit(page, "/waiting", f"Reject {first}")
    assert late.status == 409
    done = desk.page.submit(done, "/waiting", f"Reject {second}")
    assert "Rejected: The library closes at six." in done.text
    assert desk.status(second) is Status.FORGOTTEN
    assert "Taken back: Review" in desk.page.submit(desk.page.get("/"), "/undo").text
    assert desk.status(second) is Status.PENDING
    desk.bo.remember("The library closes at six.")
    told = desk.page.submit(desk.page.get("/waiting"), "/waiting", f"Confirm {second}")
    assert "Nothing was done" in told.text and "says that already" in told.text
    assert desk.page.post("/waiting", {"id": second, "answer": "keep"}).status == 403


def test_keys_are_switched_off_for_the_session(desk: Desk) -> None:
    page = desk.page.get("/")
    assert 'data-keys="on"' in page.body
    off = desk.page.submit(page, "/keys")
    assert 'data-keys="off"' in off.body and "Single-letter keys are off" in off.text
    assert 'data-keys="on"' in desk.page.submit(off, "/keys").body


# -- texts


def test_texts_are_only_ever_text(desk: Desk) -> None:
    found = desk.remember(HOSTILE, category="<b>bold</b>", tags=["<i>"])
    pages = [f"/m/{found}", "/search?q=script", "/timeline", "/op/1", "/health?audit=yes"]
    for path in pages:
        body = desk.page.get(path).body
        assert "<script>alert" not in body and "<b>bold" not in body and "<i>" not in body, path
        assert 'href="javascript' not in body
    assert HOSTILE in desk.page.get(f"/m/{found}").text
    echoed = desk.page.get("/search?q=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E").body
    assert "<script>alert" not in echoed


def test_characters_that_turn_the_writing_are_shown_as_marks(desk: Desk) -> None:
    found = desk.remember("safe \u202eexe.txt\u202c and \u2066this\u2069 \x9b[31m")
    body = desk.page.get(f"/m/{found}").body
    assert 'title="right-to-left override">U+202E</span>' in body
    shown = re.sub(r"<textarea.*?</textarea>", "", body, flags=re.S)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x80-\x9f]", shown)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("会議は三時に始まります。", "ja"),
        ("会议三点开始。", "zh-Hans"),
        ("會議三點開始。", "zh-Hant"),
        ("회의는 세 시에 시작합니다.", "ko"),
        ("The meeting starts at three.", ""),
    ],
)
def test_text_carries_the_language_of_its_glyphs(desk: Desk, text: str, language: str) -> None:
    found = desk.remember(text)
    body = desk.page.get(f"/m/{found}").body
    assert f'<p class="text" lang="{language}" dir="auto">{text}</p>' in body


def test_long_text_is_folded_and_whole(desk: Desk) -> None:
    text = "東京 " + "x" * 32_000 + " the end"
    found = desk.remember(text)
    page = desk.page.get(f"/m/{found}")
    assert f"all {len(text)} characters" in page.text and "the end" in page.text
    assert '<details class="text"' in page.body


# -- one memory


def test_memory_shows_its_fields_links_questions_and_versions(
    desk: Desk, asked: tuple[str, str]
) -> None:
    desk.bo.update(asked[0], content="The backup job runs at noon.", reason="moved")
    page = desk.page.get(f"/m/{asked[0]}")
    assert "noon instead of night" in page.text and "<ins>noon</ins>" in page.body
    assert "bo" in page.text and "Update: moved" in page.text
    other = desk.page.get(f"/m/{asked[1]}")
    assert "category" in other.text and "ops" in other.text
    assert (
        f"/m/{asked[0]}" in other.body and "likely same" in other.text
    ) or "No links" in other.text


def test_question_of_a_memory_leads_to_its_answer(desk: Desk, asked: tuple[str, str]) -> None:
    page = desk.page.get(f"/m/{asked[0]}")
    assert f"Does {asked[1]} say the same?" in page.text
    assert f"/same?a={asked[0]}&amp;b={asked[1]}" in page.body


def test_memory_names_who_recalled_it(desk: Desk) -> None:
    found = desk.remember("The lamp is green.")
    assert "Recalled 0 times, last never" in desk.page.get(f"/m/{found}").text
    for _ in range(2):
        desk.bo.recall("lamp")
    # The daemon writes down who recalled within a second.
    wait_until(lambda: "bo 2 times" in desk.page.get(f"/m/{found}").text)
    text = desk.page.get(f"/m/{found}").text
    assert "Recalled 2 times, last just now" in text
    assert "Since the last consolidation: bo 2 times, last just now." in text


def test_memory_is_edited_forgotten_and_restored(desk: Desk) -> None:
    found = desk.remember(NIGHT, tags=["old"])
    page = desk.page.get(f"/m/{found}")
    changed = {"content": "The job runs at dawn.", "tags": "new, two", "importance": "4"}
    done = desk.page.submit(page, f"/m/{found}/edit", **changed)
    now = desk.bo.get(found)
    assert "Changed." in done.text
    assert (now.content, now.tags, now.importance) == ("The job runs at dawn.", ("new", "two"), 4)
    late = desk.page.submit(page, f"/m/{found}/edit", content="The job runs at dusk.")
    assert late.status == 409 and "It changed meanwhile" in late.text
    silent = desk.page.submit(done, f"/m/{found}/forget")
    assert silent.status == 400 and "reason: got nothing" in silent.text
    gone = desk.page.submit(done, f"/m/{found}/forget", reason="moved away")
    assert "Forgotten." in gone.text and desk.status(found) is Status.FORGOTTEN
    way = re.search(r'class="button" href="(/op/\d+)"', gone.body)
    assert way is not None
    back = desk.page.submit(desk.page.get(way[1]), f"{way[1]}/undo")
    assert "Taken back: Forget" in back.text and desk.status(found) is Status.ACTIVE


def test_edit_that_repeats_another_memory_is_refused_in_words(desk: Desk) -> None:
    one, other = desk.remember(NIGHT), desk.remember("The team likes tea.")
    page = desk.page.get(f"/m/{other}")
    done = desk.page.submit(page, f"/m/{other}/edit", content=NIGHT)
    assert f"Nothing was done: {one} says that already" in done.text


def test_memory_is_replaced_and_its_chain_is_shown(desk: Desk) -> None:
    first = desk.remember("The port is 5433.", category="infra")
    page = desk.page.get(f"/m/{first}")
    done = desk.page.submit(page, f"/m/{first}/supersede", content="The port is 5434.")
    assert "Replaced." in done.text and desk.status(first) is Status.SUPERSEDED
    second = desk.bo.get(first).superseded_by
    assert desk.bo.get(second).category == "infra"
    for memory_id in (first, second):
        chain = desk.page.get(f"/m/{memory_id}").text
        assert "What it replaced, and what replaced it" in chain and "this one" in chain


def test_versions_are_chosen_and_paged(desk: Desk) -> None:
    found = desk.remember("The port is 1000.")
    for port in range(1, limits.PAGE_ROWS + 3):
        desk.bo.update(found, content=f"The port is {1000 + port}.")
    page = desk.page.get(f"/m/{found}")
    assert "1022 instead of 1021" in page.text and 'rel="next"' in page.body
    revisions = re.findall(r'name="left" value="(\d+)"', page.body)
    chosen = desk.page.get(f"/m/{found}?left={revisions[4]}&right={revisions[0]}")
    assert "1022 instead of 1018" in chosen.text


def test_unknown_memory_has_a_way_on(desk: Desk) -> None:
    page = desk.page.get("/m/mem_00000000000000ff")
    assert page.status == 404 and "It is not there" in page.text and "Search for it" in page.text


# -- search


def test_search_shows_relevance_both_arms_and_why(desk: Desk) -> None:
    found = desk.remember(NIGHT, tags=["ops"])
    desk.remember("The cat sleeps.")
    page = desk.page.get("/search?q=backup+job")
    assert "Relevance" in page.text and "meaning" in page.text and "words" in page.text
    way = re.search(r'href="(/why\?[^"]+)" aria-label="Why ' + found, page.body)
    assert way is not None
    why = desk.page.get(way[1].replace("&amp;", "&"))
    assert "It comes." in why.text and "Place 1" in why.text
    left_out = desk.page.get(f"/why?q=backup&id={found}&tags=none")
    assert "A condition leaves it out" in left_out.text and "tags: asked for none" in left_out.text
    assert "There is no such memory" in desk.page.get("/why?q=x&id=mem_00000000000000ff").text
    assert "Nothing found" in desk.page.get("/search?q=backup&agent=nobody").text
    assert desk.bo.get(found).access_count == 0


def test_search_goes_back_to_an_earlier_revision(desk: Desk) -> None:
    found = desk.remember(NIGHT)
    before = desk.revision()
    desk.bo.forget(found)
    assert "Nothing found" in desk.page.get("/search?q=backup").text
    page = desk.page.get(f"/search?q=backup&as_of={before}")
    assert NIGHT in page.text and f"As of revision {before}" in page.text
    assert 'type="range" min="1" max="2"' in page.body


def test_search_shows_what_speaks_against_a_hit(desk: Desk) -> None:
    first = desk.remember("The staging database listens on port 5433.")
    second = desk.remember("The staging database listens on port 5434.")
    page = desk.page.get("/search?q=staging+port")
    assert f"may be updated by {second}" in page.text
    desk.bo.remember("The staging database has no port.", supersede_ids=[first], force=True)
    gone = desk.page.get("/search?q=staging+port&status=superseded")
    assert f"superseded by {desk.bo.get(first).superseded_by}" in gone.text


def test_search_is_paged_and_says_what_a_wrong_filter_allows(desk: Desk) -> None:
    for at in range(limits.PAGE_ROWS + 2):
        desk.remember(f"Room {at} of the house has a lamp.", force=True)
    page = desk.page.get("/search?q=lamp")
    assert 'rel="next"' in page.body
    assert "2 memories from place 21 on" in desk.page.get("/search?q=lamp&n=20").text
    wrong = desk.page.get("/search?q=lamp&kind=thing")
    assert wrong.status == 400 and "allowed: state, event, affect" in wrong.text
    far = desk.page.get("/search?q=lamp&n=100000")
    assert far.status == 400 and "n: got '100000', allowed: 0 to 180" in far.text


# -- timeline


def test_timeline_shows_before_and_after_and_undoes(desk: Desk) -> None:
    found = desk.remember(NIGHT)
    desk.bo.update(found, content="The backup job runs at noon.", reason="moved")
    page = desk.page.get("/timeline")
    assert "bo: Update , moved" in page.text and "bo: Remember" in page.text
    operation = desk.page.get(f"/op/{desk.revision()}")
    assert "Before" in operation.text and "noon instead of night" in operation.text
    assert "Nothing is in the way" in operation.text
    done = desk.page.submit(operation, f"/op/{desk.revision()}/undo", reason="wrong")
    assert "Taken back: Update" in done.text and desk.bo.get(found).content == NIGHT


def test_undo_shows_what_is_in_the_way_first(desk: Desk) -> None:
    found = desk.remember(NIGHT)
    other = desk.remember("The team likes tea.")
    desk.bo.forget([found, other])
    forgot = desk.revision()
    desk.bo.undo(forgot)
    desk.bo.forget([found, other], reason="again")
    again = desk.revision()
    desk.bo.undo(again)
    page = desk.page.get(f"/op/{again}")
    assert "It was taken back by" in page.text
    desk.bo.update(found, content="The backup job runs at noon.")
    blocked = desk.page.get("/op/1")
    assert "cannot be taken back" in blocked.text and "in the way: revision" in blocked.text


def test_timeline_filters_and_pages(desk: Desk) -> None:
    for at in range(limits.PAGE_ROWS + 1):
        desk.remember(f"Room {at} has a lamp.", force=True)
    page = desk.page.get("/timeline")
    assert 'rel="next"' in page.body and 'id="live"' in page.body
    assert "No operation meets the filter" in desk.page.get("/timeline?agent=ana").text
    assert "bo: Remember" in desk.page.get("/timeline?kind=Remember").text


def test_new_operations_come_as_events(desk: Desk) -> None:
    desk.remember(HOSTILE)
    events = desk.page.stream("/timeline/live?after=0", 2)
    assert events[0].startswith("retry: ")
    told = json.loads(events[1].partition("data: ")[2])
    assert told["text"] == "bo: Remember" and "&lt;script&gt;" in told["row"]
    assert "<script>" not in told["row"]


def test_events_have_a_limit_of_readers(desk: Desk) -> None:
    desk.remember(NIGHT)
    with desk.page.streams("/timeline/live?after=0", limits.LIVE_STREAMS_MAX):
        assert desk.page.get("/timeline/live?after=0").status == 503
    assert desk.page.stream("/timeline/live?after=0", 2)


@pytest.mark.parametrize("revision", ["x", "-1", "9" * 30])
def test_wrong_revision_is_named(desk: Desk, revision: str) -> None:
    page = desk.page.get(f"/op/{revision}")
    assert page.status == 400 and "revision: got" in page.text


# -- health


def test_health_shows_figures_audit_and_collections(desk: Desk) -> None:
    desk.remember("The staging database listens on port 5433.")
    desk.remember("The staging database listens on port 5434.")
    page = desk.page.get("/health")
    shown = page
    for _ in range(20):
        following = re.search(r'href="(/health\?page=[^"]+)" rel="next"', shown.body)
        if f"{desk.collection} (this one)" in shown.text or following is None:
            break
        shown = desk.page.get(following[1].replace("&amp;", "&"))
    assert f"{desk.collection} (this one)" in shown.text
    assert "Live memories 2 of 2" in page.text and "Run the audit" in page.text
    audit = desk.page.get("/health?audit=yes")
    assert "Writes by agent" in audit.text and "2 Remember" in audit.text
    assert "The nearest pairs" in audit.text and "port 5433" in audit.text


def test_ticked_states_of_a_plan_are_closed(desk: Desk) -> None:
    base = vector_of("base", 384)
    texts = [f"The cat sleeps on the sofa{when}." for when in ("", " today", " now")]
    ids = [
        desk.remember(text, vector=vector_at(base, 1.0 - at / 50), force=True)
        for at, text in enumerate(texts)
    ]
    page = desk.page.get("/health/plan")
    assert "Group 1" in page.text
    ticks = re.findall(r'name="close" value="(mem_\w+:\d+)"', page.body)
    assert len(ticks) == 3
    nothing = desk.page.submit(page, "/health/plan")
    assert "Nothing was ticked" in nothing.text
    done = desk.page.submit(page, "/health/plan", close=ticks[1:])
    assert "Closed 2 states" in done.text
    closed = {tick.partition(":")[0] for tick in ticks[1:]}
    assert {memory_id for memory_id in ids if desk.status(memory_id) is Status.CLOSED} == closed
    late = desk.page.submit(page, "/health/plan", close=ticks[1:])
    assert late.status == 409
    wrong = desk.page.submit(page, "/health/plan", close="mem_1:x")
    assert wrong.status == 400 and "close: got" in wrong.text


# -- what holds for all pages


def test_identity_that_may_only_read_sees_everything_and_changes_nothing(tmp_path: Path) -> None:
    with running_server(tmp_path / "data") as server:
        with server.client("bo") as bo:
            ids = [bo.remember(NIGHT).memory_id, bo.remember("The team likes tea.").memory_id]
        token = add_identity(server.data_dir, "reader", "default:read")
        with console(server.address, tmp_path, token=token) as page:
            # The daemon looks at its identities now and then; before that, anybody may do anything.
            wait_until(lambda: "may not take it back" in page.sign_in().get("/op/1").text)
            for path in ("/", "/answered", f"/m/{ids[0]}", "/search?q=job", "/timeline", "/health"):
                answer = page.get(path)
                assert answer.status == 200, (path, answer.text)
                assert "seen by identity of the token" in answer.text
            assert NIGHT in page.get("/op/1").text
            assert page.get("/op/99").status in (400, 404)
            memory = page.get(f"/m/{ids[0]}")
            refused = page.submit(memory, f"/m/{ids[0]}/forget", reason="no")
            assert refused.status == 403 and "This identity may not do that" in refused.text
            assert "tokens list" in refused.text


def test_no_page_changes_anything(desk: Desk, asked: tuple[str, str]) -> None:
    desk.bo.forget(desk.remember("A note to forget."))
    before = desk.revision()
    for module in (review, memory, search, timeline, health):
        for method, path, _ in module.ROUTES:
            if method == "GET" and path != "/timeline/live":
                at = path.replace("{memory_id}", asked[0]).replace("{revision}", "1")
                query = {
                    "/same": f"?a={asked[0]}&b={asked[1]}",
                    "/why": f"?q=backup&id={asked[0]}",
                    "/search": "?q=backup",
                    "/health": "?audit=yes",
                }.get(path, "")
                answer = desk.page.get(at + query)
                assert answer.status == 200, (path, answer.text)
                # Each page names whose view it is, and has one heading.
                assert "seen by agent ana (no identity)" in answer.text
                assert len(re.findall("<h1", answer.body)) == 1
    assert desk.revision() == before
    assert desk.bo.get(asked[0]).access_count == 0


@pytest.mark.parametrize(
    ("code", "reason", "status", "words"),
    [
        ("UNAVAILABLE", "OVERLOADED", 503, "The daemon is busy"),
        ("DEADLINE_EXCEEDED", "", 504, "did not answer in time"),
        ("PERMISSION_DENIED", "NOT_GRANTED", 403, "This identity may not do that"),
        ("UNAUTHENTICATED", "TOKEN_EXPIRED", 403, "does not know this identity"),
        ("RESOURCE_EXHAUSTED", "BLAST_RADIUS", 409, "A limit is reached"),
        ("INTERNAL", "", 502, "The call failed"),
        ("DATA_LOSS", "", 502, "Data on disk is damaged"),
        ("UNIMPLEMENTED", "", 501, "older than this console"),
    ],
)
def test_failed_call_is_said_in_words_with_a_way_on(
    tmp_path: Path, code: str, reason: str, status: int, words: str
) -> None:
    broken = failing(code, reason)
    with (
        scripted(ListQuestions=broken) as address,
        console(address, tmp_path, timeout_s=0.5) as page,
    ):
        answer = page.sign_in().get("/")
    assert answer.status == status, answer.text
    assert words in answer.text and "Try again" in answer.text


def test_daemon_that_does_not_run_is_said_with_the_line_that_starts_it(tmp_path: Path) -> None:
    with console("127.0.0.1:1", tmp_path, timeout_s=0.5) as page:
        answer = page.sign_in().get("/")
    assert answer.status == 503 and "No daemon answers" in answer.text
    assert "totonoe serve --address 127.0.0.1:1" in answer.text


@pytest.mark.usefixtures("asked")
def test_form_that_fails_says_so(desk: Desk) -> None:
    wrong = desk.page.submit(desk.page.get("/"), "/answer", "Different", answer="maybe")
    assert wrong.status == 400 and "answer: got 'maybe'" in wrong.text


# -- what differs, without a page


def shown(found: list[texts.Piece]) -> str:
    """A text with brackets about what differs."""
    return "".join(f"[{piece.text}]" if piece.differs else piece.text for piece in found)


@pytest.mark.parametrize(
    ("one", "other", "left", "right", "lines"),
    [
        (
            "The port is 5433.",
            "The port is 5434.",
            "The port is [5433].",
            "The port is [5434].",
            ["5434 instead of 5433"],
        ),
        (
            "会議は三時です。",
            "会議は四時です。",
            "会議は[三]時です。",
            "会議は[四]時です。",
            ["四 instead of 三"],
        ),
        (
            "The job runs.",
            "The job runs at night.",
            "The job runs.",
            "The job runs [at night].",
            ["only in the right text: at night"],
        ),
        (
            NIGHT,
            NIGHTLY,
            "The [backup] job [runs] at night.",
            "At night, the job [for backups is run].",
            [
                "only in the right text: for backups is run",
                "only in the left text: backup",
                "only in the left text: runs",
            ],
        ),
        ("Equal.", "Equal.", "Equal.", "Equal.", []),
        ("", "New.", "", "[New].", ["only in the right text: New"]),
    ],
)
def test_differences_are_marked_and_said(
    one: str, other: str, left: str, right: str, lines: list[str]
) -> None:
    found = texts.differing(one, other)
    assert (shown(found.left), shown(found.right), found.lines) == (left, right, lines)


def test_texts_with_too_many_words_are_not_compared() -> None:
    long = "word " * (limits.WORDS_COMPARED_MAX + 1)
    found = texts.differing(long, f"{long} more")
    assert found.lines == [] and not any(piece.differs for piece in found.left + found.right)


def test_evidence_decides_what_is_marked() -> None:
    number = Evidence(Finding.NUMBER, (12, 16), (12, 16), "5434", "5433", "port", None)
    judgement = Judgement(Verdict.UPDATE, (number,), 0.1, True)
    found = texts.differing("The port is 5433 now.", "The port is 5434 today.", judgement)
    assert shown(found.left) == "The port is [5433] now."
    assert shown(found.right) == "The port is [5434] today."
    assert found.lines == ["5434 instead of 5433"]


def test_health_says_what_ends_soon_to_who_may_read_all(tmp_path: Path) -> None:
    day_us = 86_400 * 10**6
    now_us = int(datetime.now(UTC).timestamp() * 1e6)
    with running_server(tmp_path / "data") as server:
        server.client("bo").remember(NIGHT)
        everywhere = add_identity(
            server.data_dir, "all", "*:read", expires_us=now_us + 3 * day_us + day_us // 2
        )
        here = add_identity(server.data_dir, "one", "default:read")
        for token, words in (
            (everywhere, "Soon: identity ends in 3."),
            (here, "None ends that this identity may know of."),
        ):
            with console(server.address, tmp_path / words[:4], token=token) as page:
                # The daemon looks for identities a few times a second.
                wait_until(
                    lambda page=page, words=words: words in page.sign_in().get("/health").text
                )
