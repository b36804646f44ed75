"""Random commands of Anthropic's memory tool, and the answers of two tools to the same command."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anthropic.lib.tools import ToolError

from totonoe.adapters.anthropic import paths

NAMES = ("a", "b", "c.md", "d.md", "e f.txt", "日本.md", "É", "%2e%2e", ".hidden", "~", "x\\y")
STATEMENTS = (
    "The staging database listens on port 5433.",
    "The staging database listens on port 5434.",
    "Staging's database is listening on port 5433.",
    "Ann likes green tea in the morning.",
    "Ann likes green tea.",
    "Deploys run at noon.",
    "Deploys never run at noon.",
    "The build takes nine minutes.",
    "Bob is on call this week.",
    "部署之前必须先运行迁移脚本。",
    "バックアップは毎晩二時に始まる。",
    "The backup goes to the disk in Oslo.",
    "The robot's gripper holds cups.",
    "Rooms are booked through Eva.",
)
LINES = ("", "# Notes", "---", "   ", "```", "| a | b |", "> quoted", "\tindented \r", "<!-- x -->")


class Commands:
    """Random commands that fit what is in a directory of the SDK's tool."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._random = random.Random(seed)
        self._folder = folder

    def one(self) -> dict[str, Any]:
        draw = self._random
        name = draw.choices(
            ("view", "create", "str_replace", "insert", "delete", "rename"), (4, 5, 4, 4, 1, 2)
        )[0]
        if name == "rename":
            return self._rename()
        command: dict[str, Any] = {"command": name, "path": self.path(made=0.2)}
        if name == "create":
            command |= {"path": self.path(made=0.8), "file_text": self.text()}
        elif name == "insert":
            line = draw.choice((0, 0, 1, 2, 3, 5, -1, 40))
            command |= {"insert_line": line, "insert_text": self.text(4)}
        elif name == "str_replace":
            command |= {"old_str": self._part(command["path"]), "new_str": self.text(2)}
        elif name == "view" and draw.random() < 0.5:
            ends = (-3, -1, 0, 1, 2, 3, 7, 40)
            command["view_range"] = draw.choices(ends, k=draw.choice((2, 2, 2, 1, 0, 3)))
        return command

    def _rename(self) -> dict[str, Any]:
        old, new = self.path(made=0.2), self.path(made=0.9)
        # The SDK makes directories first, and then fails with an error of the system.
        while _below(new, old):
            new = self.path(made=0.9)
        return {"command": "rename", "old_path": old, "new_path": new}

    def path(self, made: float) -> str:
        """A path that is there, or with some probability one made up, in one of many forms."""
        draw = self._random
        there = sorted(self._folder.rglob("*"))
        if there and draw.random() >= made:
            names = draw.choice(there).relative_to(self._folder).as_posix().split("/")
        else:
            names = draw.choices(NAMES, k=draw.choice((1, 1, 1, 2, 2, 3)))
        path = paths.ROOT + "/" + "/".join(names)
        form = draw.random()
        if form < 0.8:
            return path
        return draw.choice(
            (
                path + "/",
                path.replace("/", "//"),
                path.replace("/memories/", "/memories/./"),
                path.replace("/memories/", "/memories/q/../"),
                path.replace("/memories/", "/memories"),
                path.replace("/memories/", "/memories/../memories/"),
                path.replace("/memories/", "/memories/../"),
                path.replace("/memories/", "/memories/../../memories/"),
                path.replace("/memories", "memories"),
                path.replace("/memories", "/etc"),
                paths.ROOT,
                paths.ROOT + "/",
                "",
            )
        )

    def text(self, lines_max: int = 8) -> str:
        """Lines of a Markdown file, or nothing."""
        draw = self._random
        lines = []
        for _ in range(draw.randrange(lines_max + 1)):
            if draw.random() < 0.25:
                lines.append(draw.choice(LINES))
            else:
                lines.append(draw.choice(("- ", "* ", "1. ", "")) + draw.choice(STATEMENTS))
        return "\n".join(lines) + draw.choice(("", "\n", "\n", "\r\n"))

    def _part(self, path: str) -> str:
        """A part of the text of a file, once there or more often; or of no file."""
        draw = self._random
        file = self._folder / path.removeprefix(paths.ROOT).strip("/") if path else self._folder
        if draw.random() < 0.15 or not file.is_file():
            return draw.choice(("tea", "", "\n", "port 5433", "nothing of it"))
        text = file.read_bytes().decode()
        begin = draw.randrange(len(text) + 1)
        return text[begin : begin + draw.choice((1, 5, 20, 60))]


def _below(new: str, old: str) -> bool:
    try:
        return (paths.resolved(new) + "/").startswith(paths.resolved(old) + "/")
    except ToolError:
        return False


def answer(call: Callable[[], str]) -> str:
    """What a tool answers, or how it fails: any error of the system is the same."""
    try:
        return call()
    except ToolError as error:
        return f"ToolError: {error}"
    except (OSError, UnicodeError) as error:
        return f"failed: {type(error).__name__}"


def difference(command: Mapping[str, Any], theirs: str, ours: str) -> str:
    """How our answer differs from the SDK's but for the Note; empty: not at all."""
    if theirs.startswith("failed: "):
        return "" if ours.startswith("ToolError: ") else f"{command}: {theirs}, and we: {ours}"
    if theirs.startswith("Here're the files"):
        # The size of a directory is the file system's.
        theirs = re.sub(r"(?m)^\S+(?=\t.*/$)", "4K", theirs)
        theirs = re.sub(r"(?<=:\n)\S+(?=\t)", "4K", theirs, count=1)
    rest = ours.removeprefix(theirs)
    if ours.startswith(theirs) and (not rest or re.fullmatch(r"\n\nNote: line [^\n]+\.", rest)):
        return ""
    return f"{command}: they answer\n{theirs}\nand we\n{ours}"
