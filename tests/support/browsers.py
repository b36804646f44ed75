"""Chromium for tests, by playwright; where it is not there, the reason why."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from support.waits import wait_s, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PACKAGES = ("playwright", "axe_playwright_python")
VARIABLE = "TOTONOE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """The program: of the environment, else of the system; empty: there is none."""
    return os.environ.get(VARIABLE, "") or next(filter(None, map(shutil.which, NAMES)), "") or ""


def lacking() -> str:
    """Why no test can use a browser here; empty: it can."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        return "not installed: pip install playwright axe-playwright-python"
    return "" if chromium() else f"no Chromium: apt-get install chromium, or name it in {VARIABLE}"


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        # Its sandbox refuses to run as root, as in most containers.
        flags = ["--no-sandbox"] if os.getuid() == 0 else []
        found = started.chromium.launch(executable_path=chromium(), args=flags)
        try:
            yield found
        finally:
            found.close()


class Visitor:
    """One browser of its own cookies, with one page of a site, and what went wrong in it."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context = context
        self.url = url
        self.page: Page = context.new_page()
        self.page.set_default_timeout(wait_s(20.0) * 1000)
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("console", self._console)

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: Any) -> None:
        # An answer of 4xx is a line of its own there; pages of errors are tested by what they say.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.wrong.append(message.text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def opens(self, path: str) -> None:
        """Open a page by its address."""
        self.page.goto(self.url + path)

    def clicks(self, button: str, **which: Any) -> None:
        """Click the button with a name."""
        self.page.get_by_role("button", name=button, **which).first.click()

    def follows(self, link: str) -> None:
        """Click the first link with a name."""
        self.page.get_by_role("link", name=link).first.click()

    def fills(self, label: str, text: str, **which: Any) -> None:
        """Fill the field with a label."""
        self.page.get_by_label(label, **which).fill(text)

    def unfolds(self, words: str) -> None:
        """Open what is folded under some words."""
        self.page.get_by_text(words, exact=True).first.click()

    def sees(self, text: str) -> None:
        """Wait until the content has a text; where it does not come, say what is there."""
        from playwright.sync_api import TimeoutError as Late

        try:
            self.page.locator("main", has_text=text).wait_for()
        except Late:
            raise AssertionError(f"no {text!r} at {self.page.url} in: {self.text()}") from None

    def waits_for(self, condition: str) -> None:
        """Wait until an expression of JavaScript holds.

        By separate evaluations: the page's policy forbids what `wait_for_function` repeats.
        """
        wait_until(lambda: self.page.evaluate(condition), lambda: f"not: {condition}")

    def text(self) -> str:
        """What the content says."""
        return self.page.locator("main").inner_text()


@contextmanager
def visitor(found: Browser, url: str, **options: Any) -> Iterator[Visitor]:
    """A new visitor of a site; at the end nothing may have gone wrong in its page."""
    context = found.new_context(**options)
    made = Visitor(context, url)
    try:
        yield made
    finally:
        context.close()
    assert made.wrong == []
