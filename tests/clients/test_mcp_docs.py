"""docs/mcp.md has every tool, argument, setting and host."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from totonoe.cli.commands.mcp import Host
from totonoe.mcp import answers, notes, tools
from totonoe.mcp.hosts import entry_of
from totonoe.mcp.server import RECENT_SHOWN, MemoryServer
from totonoe.mcp.settings import Settings, load_settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mcp.md").read_text("utf-8")


def row(name: str) -> str:
    """Return the row of the table that begins with this word."""
    (found,) = re.findall(rf"^\| `{re.escape(name)}`.*$", PAGE, re.M)
    return str(found)


def test_page_has_each_tool_with_its_arguments() -> None:
    server = MemoryServer(load_settings(tools="full", start_daemon=False))
    listed = server._tool_manager.list_tools()
    assert len(listed) == 14
    for tool in listed:
        named = re.findall(r"`(\w+)`", row(tool.name).split("|")[2])
        assert named == list(tool.parameters["properties"]), tool.name


def test_page_has_the_fields_of_each_part_of_an_answer() -> None:
    parts = {
        (name, hint)
        for model in answers.Answer.__subclasses__() + answers.Written.__subclasses__()
        for name, field in model.model_fields.items()
        for hint in get_args(field.annotation)
        if isinstance(hint, type) and issubclass(hint, BaseModel)
    }
    assert len(parts) == 7
    for name, part in parts:
        named = re.findall(r"`(\w+)`", row(name).split("|")[2].partition("(")[0])
        assert named == list(part.model_fields), name


def test_page_has_each_setting_with_its_variable() -> None:
    elsewhere = {"timeout_s", "token", "ca", "cert", "key", "proved"}
    own = {field.name for field in fields(Settings)} - elsewhere
    names = {name.partition("_")[0] if name.startswith("listen") else name for name in own}
    for name in names:
        option = f"--{name.replace('_', '-')}"
        assert f"`TOTONOE_{name.upper()}`" in row(option)


@pytest.mark.parametrize("host", Host)
def test_page_and_readme_have_each_host(host: Host) -> None:
    path = entry_of(host, agent=None, collection=None, address=None).path
    assert path.name in row(host)
    assert f"`{host}`" in (ROOT / "README.md").read_text("utf-8") or host is Host.CLAUDE_CODE


def test_page_shows_an_entry_that_is_json_and_the_limits() -> None:
    block, over_http = re.findall(r"```json\n(.*?)```", PAGE, re.S)
    assert json.loads(block)["mcpServers"]["totonoe"]["args"] == ["mcp"]
    assert json.loads(over_http)["totonoe"]["headers"]["Authorization"].startswith("Bearer tms_")
    for limit in (notes.RECALLED_CHARS_MAX, notes.ANSWER_CHARS_MAX, RECENT_SHOWN):
        assert f"{limit:,}" in PAGE
    assert f"last {tools.VERSIONS_SHOWN} versions" in PAGE


def test_readme_shows_the_way_in_directly_below_the_two_commands() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "README.md").read_text("utf-8"), re.M)
    place = headings.index("Install and start")
    assert headings[place + 1] == "Use it from your agent"
