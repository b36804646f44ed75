"""Every command of README.md and docs/tour.md works as printed, in order, against a real daemon."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from support.pages import ID, PAGES, ROOT, agrees, blocks, elided, run_blocks, served_home


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES)
def test_page_prints_what_it_says(page: str) -> None:
    """Ids, ages and times aside. `make examples` writes what the commands print now."""
    assert len(blocks(page)) >= 2
    with served_home() as home:
        run_blocks(blocks(page), Path(sys.executable).parent, home)


def test_examples_are_compared_line_by_line() -> None:
    out = "Saved (id: mem_0a).\n# │ age\n1 │ 3m ago  │ 0.50\nthe end\n"
    assert agrees("Saved (id: mem_ff).\n# │ age\n1 │ just now │ 0.50\nthe end\n", out)
    assert agrees("Saved (id: mem_ff).\n...\nthe end\n", out)
    assert not agrees("Saved (id: mem_ff).\n...\nno end\n", out)
    assert not agrees("Saved (id: mem_ff).\n# │ age\n1 │ just now │ 0.51\nthe end\n", out)
    assert not agrees("Saved (id: mem_ff).\n", out)
    assert not agrees("", out)
    assert elided(out, "Saved\n...\n") == "Saved (id: mem_0a).\n...\n"
    assert elided(out, "") == out


def test_readme_is_read_in_three_minutes() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


def test_picture_shows_a_real_run() -> None:
    """docs/picture.py draws it again: only ids differ."""
    script = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    drawn = script["draw"](script["transcript"]())
    assert ID.sub("ID", drawn) == ID.sub("ID", script["PICTURE"].read_text("utf-8"))
