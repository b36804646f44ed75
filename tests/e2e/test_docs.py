"""Every block of Python in docs/client.md runs, in order, and prints what is shown below it."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.util._once import Once

from support.daemons import DaemonProcess

PAGE = Path(__file__).resolve().parents[2] / "docs" / "client.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n((?:    [^\n]*\n)+))?", re.S)


def loosened(text: str) -> str:
    """Text without ids, times and what they look like exactly."""
    text = re.sub(r"just now|\d+m ago", "AGE", re.sub(r"mem_[0-9a-f]+", "ID", text))
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+", "TIME", text)
    return "\n".join(line.strip() for line in text.strip().splitlines())


@pytest.mark.timeout(120)
def test_client_page_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    # The page sets a tracer provider, which a process can do once.
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    assert len(blocks) >= 8
    with DaemonProcess(tmp_path / "data", embedder="use", judge="own") as daemon:
        monkeypatch.setenv("TOTONOE_ADDRESS", daemon.address)
        for code, printed in blocks:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(code, names)  # the page's own code
            assert loosened(out.getvalue()) == loosened(printed), code
