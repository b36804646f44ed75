"""Every command of README.md and docs/tour.md works as printed, in order, against a real daemon."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from support.daemons import DaemonProcess
from support.pages import ID, ROOT, blocks, run_blocks


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("page", "least"), [("README.md", 2), ("docs/tour.md", 17)])
def test_page_prints_what_it_says(tmp_path: Path, page: str, least: int) -> None:
    assert len(blocks(page)) >= least
    with DaemonProcess(tmp_path / "data", embedder="use") as daemon:
        run_blocks(blocks(page), Path(sys.executable).parent, daemon.address, tmp_path)


def test_readme_is_read_in_three_minutes() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


def test_picture_shows_a_real_run() -> None:
    """docs/picture.py draws it again: only ids differ."""
    script = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    drawn = script["draw"](script["transcript"]())
    assert ID.sub("ID", drawn) == ID.sub("ID", script["PICTURE"].read_text("utf-8"))
