"""The console in a real browser: keys, buttons, without scripts, by the keyboard, for everybody.

Without playwright, axe-playwright-python or Chromium these tests are skipped, with the reason.
`make test-console` runs those that `make test` leaves out; with PICTURES=docs it draws the pictures
of docs/console.md again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from support.browsers import Visitor, browser, lacking, visitor
from support.consoles import ServedConsole
from support.engines import vector_of
from support.likelihood import Likelihood
from support.waits import wait_until
from totonoe import Client
from totonoe.collections.models import GuardPolicy
from totonoe.enums import Status
from totonoe_core.domain.records import Finding, Verdict
from totonoe_server.tools.testing import RunningServer, running_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.skipif(bool(lacking()), reason=lacking() or "runs")

PAIRS = (
    (
        "The backup of the staging database runs every night at two.",
        "Every night at two, the staging database is backed up.",
    ),
    ("The team meets on Monday.", "Every Monday there is a meeting of the team."),
    ("Ana likes the dark theme.", "Ana prefers a dark colour scheme."),
)
HOSTILE = (
    '<script>alert("script")</script>',
    '<img src=x onerror=alert("image")> javascript:alert("text")',
    'javascript:alert("alone")',
    '"><svg onload=alert("svg")>',
)
PICTURES = os.environ.get("PICTURES", "")
"""Folder of the pictures; empty: they are drawn where the tests have their files."""
NUMBERS = count()
OTHER = "other"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as found:
        yield found


class Desk:
    """A collection with a console on it, and clients of the agent bo: of it, and of another."""

    def __init__(
        self, name: str, bo: Client, other: Client, served: ServedConsole, chromium: Browser
    ) -> None:
        self.name = name
        self.bo = bo
        self.other = other
        self.served = served
        self._chromium = chromium

    def remember(self, text: str, **fields: Any) -> str:
        return self.bo.remember(text, **fields).memory_id

    def ask(self, pairs: int = len(PAIRS)) -> list[tuple[str, str]]:
        """Save pairs that are probably the same; the first is the most probable."""
        return [(self.remember(pair), self.remember(other)) for pair, other in PAIRS[:pairs]]

    def visit(self, **options: Any) -> Any:
        """A browser that is not signed in."""
        return visitor(self._chromium, self.served.url, **options)

    @contextmanager
    def enter(self, **options: Any) -> Iterator[Visitor]:
        """A browser that opened a new address, as a click on it does."""
        with self.visit(**options) as seen:
            seen.page.goto(self.served.login_address())
            seen.page.wait_for_url(f"{self.served.url}/")
            yield seen

    def statuses(self, pair: tuple[str, str]) -> list[Status]:
        return [self.bo.get(memory_id).status for memory_id in pair]


@pytest.fixture
def desk(
    server: RunningServer, chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    name = f"browser-{next(NUMBERS)}"
    likely = Likelihood(monkeypatch)
    for at, (pair, other) in enumerate(PAIRS):
        likely.say(pair, other, 0.9 - at / 10, Verdict.RELATED, finding=Finding.SYNONYM)
    with (
        Client(server.address, agent_id="bo", collection=name) as bo,
        ServedConsole(server.address, tmp_path, agent="ana", collection=name) as served,
    ):
        for each_name in (name, f"{name}-{OTHER}"):
            bo.create_collection(each_name, guard=GuardPolicy(judged_from=-1.0))
        yield Desk(name, bo, bo.in_collection(f"{name}-{OTHER}"), served, chromium)
        # The lists of collections stay on one page.
        for each_name in (name, f"{name}-{OTHER}"):
            bo.delete_collection(each_name)


def focuses_heading(seen: Visitor) -> None:
    """Wait until the heading of the new content has the focus; it was announced then."""
    seen.waits_for(
        "document.activeElement.tagName === 'H1'"
        " && document.querySelector('#announcer').textContent !== ''"
    )


def test_address_lets_in_and_a_key_answers_and_undoes(desk: Desk) -> None:
    (pair,) = desk.ask(1)
    with desk.enter() as seen:
        seen.sees("Pair 1 of 1")
        seen.press("d")
        seen.sees("Different: nobody is asked again")
        seen.sees("Nothing to answer")
        focuses_heading(seen)
        told = seen.page.locator("#announcer").inner_text()
        assert "Different: nobody is asked again" in told and "Nothing to answer" in told
        seen.press("u")
        seen.sees("Taken back: Resolve")
        seen.sees("Pair 1 of 1")
    assert desk.statuses(pair) == [Status.ACTIVE, Status.ACTIVE]


# -- behind `make test-console`


@pytest.mark.browser
def test_address_is_gone_from_the_history(desk: Desk) -> None:
    with desk.visit() as seen:
        address = desk.served.login_address()
        requests: list[str] = []
        seen.page.on("request", lambda request: requests.append(request.url))
        seen.page.goto(address)
        seen.page.wait_for_url(f"{desk.served.url}/")
        token = address.partition("t=")[2]
        assert all(token not in text for text in requests)
        seen.page.go_back()
        seen.page.wait_for_load_state()
        assert token not in seen.page.url and token not in seen.page.content()
        seen.page.goto(address)
        seen.page.get_by_role("alert").wait_for()
        assert "has been used" in seen.page.locator("main").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("key", "button", "statuses", "words"),
    [
        ("d", "Different", ["active", "active"], "Different: nobody is asked"),
        ("r", "Left replaces right", ["active", "superseded"], "The left memory replaced"),
        ("e", "Right replaces left", ["superseded", "active"], "The right memory replaced"),
    ],
)
@pytest.mark.parametrize("by_key", [True, False])
def test_answer_by_key_and_by_button(
    desk: Desk, key: str, button: str, statuses: list[str], words: str, by_key: bool
) -> None:
    first, *_ = desk.ask(2)
    with desk.enter() as seen:
        seen.sees("Pair 1 of 2")
        if by_key:
            seen.press(key)
        else:
            seen.clicks(button)
        seen.sees(words)
        assert [str(status) for status in desk.statuses(first)] == statuses
        seen.sees("Pair 1 of 1")
        if by_key:
            seen.press("u")
        else:
            seen.clicks("Take back my last answer")
        seen.sees("Taken back")
        seen.sees("Pair 1 of 2")
    assert desk.statuses(first) == [Status.ACTIVE, Status.ACTIVE]


@pytest.mark.browser
def test_same_lets_the_text_be_edited_and_warns(desk: Desk) -> None:
    (pair,) = desk.ask(1)
    with desk.enter() as seen:
        seen.press("s")
        seen.sees("They say the same")
        text = seen.page.get_by_label("Text of the one that stays")
        text.fill("The job.")
        # Letters belong to the field while it is edited.
        text.press("d")
        seen.clicks("What does the text no longer have?")
        # The page before says what is lost, too; this one has the new text in its field.
        seen.waits_for("document.querySelector('#text').defaultValue.startsWith('The job.')")
        seen.sees("The text no longer has:")
        seen.fills("Text of the one that stays", f"{PAIRS[0][0][:-1]}!")
        seen.clicks("Make them one")
        seen.sees("Same: they are one now.")
    assert sorted(map(str, desk.statuses(pair))) == ["active", "superseded"]


@pytest.mark.browser
def test_another_collection_is_chosen_and_answered_in(desk: Desk) -> None:
    (pair,) = desk.ask(1)
    one, other = (desk.other.remember(text).memory_id for text in PAIRS[1])
    with desk.enter() as seen:
        seen.follows("another collection")
        seen.sees("Collections")
        focuses_heading(seen)
        seen.follows(f"{desk.name}-{OTHER}")
        seen.sees(PAIRS[1][1])
        seen.press("r")
        seen.sees("The left memory replaced")
        seen.follows("Timeline")
        seen.sees("Resolve")
        seen.follows("Search")
        seen.fills("What do you look for?", "Monday")
        seen.clicks("Search")
        seen.sees(PAIRS[1][0])
        assert f"/c/{desk.name}-{OTHER}/search" in seen.page.url
        seen.follows("Review")
        seen.sees("Nothing to answer")
        seen.press("u")
        seen.sees("Taken back: Resolve")
    assert desk.other.get(other).status is desk.other.get(one).status is Status.ACTIVE
    assert desk.statuses(pair) == [Status.ACTIVE, Status.ACTIVE]


@pytest.mark.browser
def test_pair_says_what_it_is_made_of_and_a_memory_who_recalled_it(desk: Desk) -> None:
    desk.ask()
    found = desk.remember("The port of staging is 5433.")
    desk.bo.recall("staging")
    with desk.enter() as seen:
        seen.sees("A number says how far the finding moves the probability")
        assert re.search(
            r"[+-]\d\.\d\d$", seen.page.locator(".evidence .weight").first.inner_text()
        )
        seen.opens(f"/m/{found}")
        wait_until(lambda: seen.page.reload() and "bo 1 time, last" in seen.text())


@pytest.mark.browser
def test_same_takes_two_keys(desk: Desk) -> None:
    (pair,) = desk.ask(1)
    with desk.enter() as seen:
        seen.press("s")
        seen.sees("They say the same")
        seen.press("s")
        seen.sees("Same: they are one now.")
    assert sorted(map(str, desk.statuses(pair))) == ["active", "superseded"]


@pytest.mark.browser
def test_keys_leaf_through_and_put_off(desk: Desk) -> None:
    desk.ask()
    with desk.enter() as seen:
        seen.sees("Pair 1 of 3")
        seen.press("j")
        seen.sees("Pair 2 of 3")
        seen.press("p")
        seen.sees("Pair 1 of 3")
        seen.press("k")
        seen.sees("Later: this pair comes after all others.")
        seen.sees("Monday")
        seen.press("j")
        seen.sees("Pair 2 of 3")
        seen.press("j")
        seen.sees("Pair 3 of 3")
        seen.sees("backed up")
        seen.page.go_back()
        seen.sees("Pair 2 of 3")


@pytest.mark.browser
def test_keys_are_off_in_fields_and_when_switched_off(desk: Desk) -> None:
    (pair,) = desk.ask(1)
    with desk.enter() as seen:
        seen.unfolds("Filter")
        seen.page.get_by_label("Agent").press_sequentially("drek")
        assert seen.page.get_by_label("Agent").input_value() == "drek"
        seen.press("Control+d")
        seen.clicks("Single-letter keys: on")
        seen.sees("Single-letter keys are off.")
        seen.press("d", "r", "s")
        seen.page.reload()
        seen.sees("Pair 1 of 1")
        seen.clicks("Single-letter keys: off")
        seen.sees("Single-letter keys are on.")
        seen.press("d")
        seen.sees("Different")
    assert desk.statuses(pair) == [Status.ACTIVE, Status.ACTIVE]


@pytest.mark.browser
def test_two_browsers_on_one_pair(desk: Desk) -> None:
    (pair,) = desk.ask(1)
    with desk.enter() as one, desk.enter() as other:
        for seen in (one, other):
            seen.sees("Pair 1 of 1")
        one.press("r")
        one.sees("The left memory replaced")
        other.press("e")
        other.sees("ana was faster")
        other.sees("Your answer changed nothing")
    assert desk.statuses(pair) == [Status.ACTIVE, Status.SUPERSEDED]


@pytest.mark.browser
def test_everything_works_without_scripts(desk: Desk) -> None:
    first, *_ = desk.ask(2)
    found = desk.remember("The printer is on the second floor.")
    with desk.visit(java_script_enabled=False) as seen:
        seen.opens("/login")
        seen.page.get_by_label("What follows").fill(desk.served.login_address().partition("t=")[2])
        seen.clicks("Sign in")
        seen.sees("Pair 1 of 2")
        seen.follows("Same")
        seen.clicks("Make them one")
        seen.sees("Same: they are one now.")
        seen.clicks("Take back my last answer")
        seen.sees("Taken back")
        seen.clicks("Left replaces right")
        seen.sees("The left memory replaced")
        seen.follows("Answered")
        seen.clicks("Take back revision")
        seen.sees("Taken back")
        seen.follows("Search")
        seen.fills("What do you look for?", "printer")
        seen.clicks("Search")
        seen.follows(found)
        seen.unfolds("Forget")
        seen.page.locator(f"form[action='/m/{found}/forget']").get_by_label("Reason").fill("gone")
        seen.clicks("Forget")
        seen.sees("Forgotten.")
        seen.follows("Restore it")
        seen.clicks("Take it back")
        seen.sees("Taken back: Forget")
        seen.follows("Health")
        seen.follows("Run the audit")
        seen.sees("Writes by agent")
        seen.clicks("Sign out")
        seen.sees("You are signed out")
    assert desk.statuses(first) == [Status.ACTIVE, Status.ACTIVE]


@pytest.mark.browser
def test_everything_works_by_the_keyboard_alone(desk: Desk) -> None:
    (pair,) = desk.ask(1)
    with desk.enter() as seen:
        seen.press("Tab")
        assert "Skip to the content" in seen.page.evaluate("document.activeElement.textContent")
        tab_to(seen, "Left replaces right")
        seen.press("Enter")
        seen.sees("The left memory replaced")
        focuses_heading(seen)
        tab_to(seen, "Take back my last answer")
        seen.press("Space")
        seen.sees("Taken back")
        tab_to(seen, "Timeline", back=True)
        seen.press("Enter")
        seen.sees("Timeline")
        assert seen.page.locator("nav [aria-current=page]").inner_text() == "Timeline"
    assert desk.statuses(pair) == [Status.ACTIVE, Status.ACTIVE]


def tab_to(seen: Visitor, words: str, *, back: bool = False) -> None:
    """Press Tab until what has these words has the focus, which is to be seen."""
    for _ in range(60):
        seen.press("Shift+Tab" if back else "Tab")
        if words in str(seen.page.evaluate("document.activeElement.textContent")):
            style = "getComputedStyle(document.activeElement).outlineStyle"
            assert seen.page.evaluate(style) != "none"
            return
    raise AssertionError(f"no Tab leads to {words}")


@pytest.mark.browser
def test_buttons_of_the_other_pages(desk: Desk) -> None:
    found = desk.remember("The printer is on the second floor.")
    repeat = desk.remember("The printer is on the second floor.", force=True)
    with desk.enter() as seen:
        seen.clicks("Look for more pairs")
        seen.sees("Found 1 pair of which")
        seen.follows("Exact repeats")
        seen.clicks("Close all 1")
        seen.sees("Closed 1 exact repeat.")
        live = found if desk.bo.get(found).status is Status.ACTIVE else repeat
        seen.opens(f"/m/{live}")
        seen.unfolds("Edit")
        seen.fills("Text", "The printer is on the third floor.", exact=True)
        seen.fills("Tags, with commas", "office")
        seen.clicks("Save")
        seen.sees("third instead of second")
        seen.clicks("Compare the chosen two")
        seen.page.wait_for_url("**left=**")
        seen.page.reload()
        seen.sees("third instead of second")
        seen.unfolds("Replace by another text")
        seen.fills("The newer text", "The printer is on the fourth floor.")
        seen.clicks("Replace", exact=True)
        seen.sees("Replaced.")
        seen.sees("What it replaced, and what replaced it")
        for text in ("The cat sleeps on the sofa.", "The cat sleeps on the sofa now."):
            desk.remember(text, force=True, vector=vector_of("cat", 384))
        seen.follows("Health")
        seen.follows("Show near states")
        seen.page.get_by_label("close").last.check()
        seen.clicks("Close the ticked ones")
        seen.sees("Closed 1 state.")
        seen.follows("Search")
        seen.fills("What do you look for?", "printer")
        seen.clicks("Search")
        seen.fills("Why does a memory not come?", live)
        seen.clicks("Ask")
        seen.sees("A condition leaves it out.")
        seen.clicks("Sign out")
        seen.sees("You are signed out")


@pytest.mark.browser
def test_hostile_and_long_texts_are_shown_as_text(desk: Desk) -> None:
    ids = [desk.remember(text, category="x' onclick='alert(1)", force=True) for text in HOSTILE]
    long = desk.remember("会議は三時です。" + "長" * 10_000 + "終わり")
    with desk.enter() as seen:
        for path in (
            "/timeline",
            "/search?q=alert",
            "/health?audit=yes",
            *(f"/m/{i}" for i in ids),
        ):
            seen.opens(path)
            assert "alert(" in seen.text() or path.startswith("/health")
            assert seen.page.locator("main script, main img, main svg").count() == 0
            assert seen.page.locator("[href^='javascript' i], [onclick]").count() == 0
        seen.opens(f"/m/{long}")
        text = seen.page.locator("details.text")
        assert text.get_attribute("lang") == "ja"
        text.locator("summary").click()
        assert "終わり" in text.inner_text()
        assert overflow(seen) <= 0


@pytest.mark.browser
def test_new_operations_show_up_by_themselves(desk: Desk) -> None:
    desk.remember("The first note.")
    with desk.enter() as seen:
        seen.follows("Timeline")
        seen.sees("The first note.")
        desk.remember(f"A later note. {HOSTILE[0]}")
        seen.sees("A later note.")
        seen.page.locator("#announcer", has_text="New: bo: Remember").wait_for(state="attached")
        seen.follows("Review")
        seen.sees("Nothing to answer")


@pytest.mark.browser
def test_slider_says_the_revision(desk: Desk) -> None:
    for at in range(3):
        desk.remember(f"Note {at} about lamps.", force=True)
    with desk.enter() as seen:
        seen.opens("/search?q=lamps")
        seen.unfolds("Filter, and earlier days")
        slider = seen.page.locator("#as_of")
        slider.focus()
        seen.press("Home")
        assert seen.page.locator("#revision").inner_text() == "1"
        seen.clicks("Search")
        seen.sees("As of revision 1.")
        seen.sees("1 memory")


@pytest.mark.browser
def test_pages_fit_a_phone_and_a_wide_screen(desk: Desk) -> None:
    with desk.enter() as seen:
        for path in paths(desk):
            seen.opens(path)
            for width in (360, 1600):
                seen.page.set_viewport_size({"width": width, "height": 700})
                assert overflow(seen) <= 0, (path, width)
                assert seen.page.evaluate(SMALL) == [], (path, width)


SMALL = """
[...document.querySelectorAll("button, .button, input:not([type=hidden]), select, nav a, summary")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
  .filter(([, box]) => box.width < 24 || box.height < 24)
  .map(([html]) => html)
"""
"""Targets below 24 by 24 pixels."""


def overflow(seen: Visitor) -> int:
    """By how many pixels the page is wider than the window."""
    root = "document.documentElement"
    return int(seen.page.evaluate(f"{root}.scrollWidth - {root}.clientWidth"))


def paths(desk: Desk) -> list[str]:
    """Every page, with something on it."""
    (pair, *_) = desk.ask()
    for text in (PAIRS[0][0], "東京の会議は午後三時に始まります。"):
        desk.remember(text, force=True, category="office", tags=["a", "b"])
    near = {"force": True, "vector": vector_of("cat", 384)}
    cat = [desk.remember(f"The cat sleeps on the sofa{text}.", **near) for text in ("", " now")]
    desk.remember("The cat sleeps on the sofa today.", **near)
    desk.bo.update(cat[0], content="The cat sleeps on the bed.", reason="moved")
    one, other = desk.remember("The port is 5433."), desk.remember("The port is 5434.")
    done = desk.bo.resolve(one, other, "replaces")
    return [
        "/",
        "/?agent=nobody",
        "/answered",
        "/repeats",
        "/waiting",
        f"/same?a={pair[0]}&b={pair[1]}",
        "/search",
        "/search?q=cat+sofa&agent=bo",
        f"/why?q=cat&id={cat[1]}",
        f"/m/{cat[0]}",
        f"/m/{one}",
        f"/m/{other}",
        "/m/mem_00000000000000ff",
        "/collections?to=/search",
        f"/c/{desk.name}-{OTHER}",
        f"/c/{desk.name}-{OTHER}/collections",
        "/timeline",
        f"/op/{done.revision}",
        "/health",
        "/health?audit=yes",
        "/health/plan",
        "/nowhere",
        "/login",
    ]


@pytest.mark.browser
def test_axe_finds_nothing_on_any_page_in_any_theme(desk: Desk) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = {}
    with desk.enter(color_scheme="light", reduced_motion="reduce") as seen:
        for path in paths(desk):
            seen.opens(path)
            # What is folded is checked too.
            seen.page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
            for theme, tags in TAGS.items():
                seen.page.emulate_media(color_scheme=theme)
                results = Axe().run(seen.page, options={"runOnly": tags})
                told = [
                    (violation["id"], violation["nodes"][0]["html"][:120])
                    for violation in results.response["violations"]
                ]
                if told:
                    found[path, theme] = told
    assert found == {}


TAGS: dict[Literal["light", "dark"], list[str]] = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    # The same page with other colours.
    "dark": ["cat.color"],
}


@pytest.mark.browser
def test_pictures_are_drawn(desk: Desk, tmp_path: Path) -> None:
    folder = Path(PICTURES) if PICTURES else tmp_path
    desk.ask()
    desk.remember("The staging database listens on port 5433.", category="infra")
    desk.remember("東京の会議は午後三時に始まります。", category="office")
    with desk.enter(viewport={"width": 900, "height": 860}, reduced_motion="reduce") as seen:
        for name, path in (("review", "/"), ("timeline", "/timeline")):
            seen.opens(path)
            # No port, and no name of a test.
            seen.page.evaluate(
                "const view = document.querySelector('.view');"
                "view.firstChild.textContent = 'default';"
                "view.lastChild.textContent = ') at 127.0.0.1:7766, seen by ana';"
            )
            picture = folder / f"console-{name}.png"
            seen.page.screenshot(path=picture)
            assert picture.stat().st_size < 150_000


def test_reason_for_skipping_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.browsers.find_spec", lambda _name: None)
    assert "pip install playwright axe-playwright-python" in lacking()
    monkeypatch.undo()
    monkeypatch.setattr("support.browsers.chromium", str)
    assert re.search("apt-get install chromium|pip install", lacking())
