"""`totonoe tidy-up`: what a store says twice, no more, or in two ways, and a copy beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.stores import store_of
from totonoe.cli.main import app
from totonoe.importers import tidying
from totonoe.importers.detection import SOURCES

PAGE = """# Notes

- The staging database listens on port 5433.
- The API listens on port 8080.
- Mia drinks tea.
  She has milk in it.
- The staging database listens on port 5433
- The nightly backup is enabled.
- The API now listens on port 9090.
- The nightly backup is disabled.
"""
PORT = "The staging database listens on port 5433"
TidyUp = Callable[..., Result]


@pytest.fixture
def tidy_up(monkeypatch: pytest.MonkeyPatch) -> TidyUp:
    monkeypatch.setenv("TOTONOE_EMBEDDER", "hashing")
    return lambda *arguments: CliRunner().invoke(app, ["tidy-up", *map(str, arguments)])


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text(PAGE)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_tidy_up_shows_both_texts_and_writes_nothing(
    tidy_up: TidyUp, memory: Path, tmp_path: Path
) -> None:
    before = contents(tmp_path)
    done = tidy_up(memory)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    at = lines.index(f"restatement, memory/MEMORY.md line 7: {PORT}")
    assert lines[at + 1] == f"    memory/MEMORY.md line 3: {PORT}."
    assert "contradiction, memory/MEMORY.md line 10: The nightly backup is disabled." in lines
    assert "outdated, memory/MEMORY.md line 4: The API listens on port 8080." in lines
    assert lines[-1] == "Nothing was written."
    assert contents(tmp_path) == before


def test_tidy_up_write_leaves_out_what_is_certain(
    tidy_up: TidyUp, memory: Path, tmp_path: Path
) -> None:
    (memory / "loose.md").write_text("Notes without a list.\n")
    before = contents(memory)
    done = tidy_up(memory, "--write")
    copy = tmp_path / "memory.tidied"
    assert done.stdout.splitlines()[-1].split() == ["Written:", str(copy)], done.output
    gone = (f"- {PORT}\n", "- The API listens on port 8080.\n")
    kept = "".join(line for line in PAGE.splitlines(keepends=True) if line not in gone)
    assert (copy / "MEMORY.md").read_text() == kept
    assert (copy / "loose.md").read_text() == "Notes without a list.\n"
    assert contents(memory) == before
    again = tidy_up(memory, "--write")
    assert again.exit_code == 2
    assert "allowed: a free name" in again.output
    assert (copy / "MEMORY.md").read_text() == kept


def test_tidy_up_of_a_store_that_is_no_markdown_writes_lines(
    tidy_up: TidyUp, tmp_path: Path
) -> None:
    path = store_of("mempalace", tmp_path)
    answer: dict[str, Any] = json.loads(tidy_up(path, "--write", "--json").stdout)
    assert answer["counts"]["restatement"] == 1
    copy = Path(answer["copy"])
    assert copy == path.with_name("palace.tidied.jsonl")
    rows = [json.loads(line) for line in copy.read_text().splitlines()]
    assert [row["text"] for row in rows if "5433" in row["text"]] == [f"{PORT}."]
    assert copy.stat().st_mode & 0o777 == 0o600


def test_tidy_up_compares_no_history(tidy_up: TidyUp, tmp_path: Path) -> None:
    answer = json.loads(tidy_up(store_of("anthropic-memory", tmp_path), "--json").stdout)
    assert (answer["read_count"], answer["findings"]) == (2, [])


@pytest.mark.parametrize("name", SOURCES)
def test_tidy_up_reads_each_store(name: str, tidy_up: TidyUp, tmp_path: Path) -> None:
    done = tidy_up(store_of(name, tmp_path), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["from"] == name


def test_tidy_up_says_what_it_cannot_read(
    tidy_up: TidyUp, memory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    missing = tidy_up(tmp_path / "nothing")
    assert (missing.exit_code, "No such file" in missing.output) == (2, True)
    monkeypatch.setattr(tidying, "RECORDS_MAX", 3)
    many = tidy_up(memory)
    assert (many.exit_code, "more than 3 records" in many.output) == (2, True)
    monkeypatch.undo()
    monkeypatch.setenv("TOTONOE_EMBEDDER", "hashing")
    monkeypatch.setattr(tidying, "TEXTS_BYTES_MAX", 30)
    assert "more than 30 bytes" in tidy_up(memory).output
