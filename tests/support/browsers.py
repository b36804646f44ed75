"""Chromium for tests, by playwright; where it is not there, the reason why."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from support.waits import wait_s

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
    """One browser of its own cookies, with one page, and what went wrong in it."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
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
        """Press keys."""
        for key in keys:
            self.page.keyboard.press(key)

    def sees(self, text: str) -> None:
        """Wait until the content has a text."""
        self.page.locator("main", has_text=text).wait_for()

    def text(self) -> str:
        """What the content says."""
        return self.page.locator("main").inner_text()


@contextmanager
def visitor(found: Browser, **options: Any) -> Iterator[Visitor]:
    """A new visitor; at the end nothing may have gone wrong in its page."""
    context = found.new_context(**options)
    made = Visitor(context)
    try:
        yield made
    finally:
        context.close()
    assert made.wrong == []
