"""Hooks of hosts: recall when a session starts, and a reminder to save before it ends.

A hook is a command that the host runs with JSON on its standard input and output. It must never
stop a session: whatever fails, it answers with an empty object.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from totonoe.mcp import hosts, jsonc
from totonoe.mcp.project import git_root
from totonoe.mcp.starting import state_dir

if TYPE_CHECKING:
    from totonoe.client import Client

INPUT_BYTES_MAX = 1024 * 1024
TIMEOUT_S = 10
"""Seconds after which a host ends a hook."""
CALL_S = 3.0
"""Seconds that the daemon has for an answer; a session must not wait for its memory."""
NOTES_MAX = 8
NOTE_CHARS_MAX = 600
RELEVANCE_MIN = 0.1
REMIND_AFTER_S = 600.0
"""Seconds of a session before its reminder: in a shorter one there is little to save."""
SESSIONS_MAX = 1000
"""Sessions whose start is kept; with more the oldest are forgotten."""
START, STOP, PROMPT = "start", "stop", "prompt"
EVENTS = (START, STOP, PROMPT)
_KEY = "hooks"
_EVENTS: Mapping[str, Mapping[str, str]] = {
    "claude-code": {"SessionStart": START, "Stop": STOP},
    "codex": {"SessionStart": START, "Stop": STOP},
    # Its last event cannot speak to the model, and one after an answer would reject the answer.
    "gemini": {"SessionStart": START, "BeforeAgent": PROMPT},
}
HOSTS = tuple(_EVENTS)
_SAVE = (
    "Before this session ends, save what later sessions will need with the tool `remember` of "
    "totonoe: decisions, preferences, and what was learned the hard way. One fact a call. If there "
    "is nothing new, save nothing."
)


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of totonoe in the file of a host.

    Attributes
    ----------
    path : Path
    groups : mapping of str to dict
        What to add to the list of each event.
    """

    path: Path
    groups: dict[str, dict[str, Any]]

    @property
    def text(self) -> str:
        """The hooks as they stand in a file that holds nothing else."""
        lists = {event: [group] for event, group in self.groups.items()}
        return json.dumps({_KEY: lists}, indent=2)

    def write(self) -> bool:
        """Add the hooks, in the place of earlier ones of totonoe; return whether that changed it.

        Raises
        ------
        ValueError
            The file cannot be read as what it is; nothing is changed.
        """
        return hosts.rewrite(self.path, self._added)

    def remove(self) -> bool:
        """Take the hooks of totonoe out, and return whether that changed the file.

        Raises
        ------
        ValueError
            As of `write`.
        """
        return self.path.exists() and hosts.rewrite(self.path, self._removed)

    def _added(self, text: str) -> str:
        for event, group in self.groups.items():
            items = jsonc.items_of(text, _KEY, event)
            if [item for item in items if _is_ours(item)] == [group]:
                continue
            text = jsonc.without_items(text, _KEY, event, _is_ours)
            text = jsonc.with_item(text, _KEY, event, group)
        return text

    def _removed(self, text: str) -> str:
        for event in self.groups:
            text = jsonc.without_items(text, _KEY, event, _is_ours)
        return text


def hooks_of(host: str, options: Sequence[str]) -> Hooks:
    """Return the hooks for a host.

    Parameters
    ----------
    options : sequence of str
        Options of the command with their values: `--agent`, `--collection` and others.

    Raises
    ------
    ValueError
        The host has no hooks.
    """
    if host not in _EVENTS:
        raise ValueError(f"--hooks: got {host}, allowed: {', '.join(HOSTS)}")
    groups = {}
    for event, word in _EVENTS[host].items():
        command = shlex.join([hosts.own_command(), "mcp", "hook", host, word, *options])
        # Gemini CLI counts milliseconds.
        timeout = TIMEOUT_S * 1000 if host == "gemini" else TIMEOUT_S
        groups[event] = {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}
    return Hooks(_path_of(host), groups)


def _path_of(host: str) -> Path:
    home = Path.home()
    return {
        "claude-code": Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
        / "settings.json",
        "codex": Path(os.environ.get("CODEX_HOME") or home / ".codex") / "hooks.json",
        "gemini": home / ".gemini" / "settings.json",
    }[host]


def _is_ours(group: Any) -> bool:
    """Return true if a group of hooks runs a hook of totonoe and nothing else."""
    inner = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(inner, list) or len(inner) != 1 or not isinstance(inner[0], dict):
        return False
    try:
        words = shlex.split(str(inner[0].get("command", "")))
    except ValueError:
        return False
    return len(words) > 2 and Path(words[0]).name == "totonoe" and words[1:3] == ["mcp", "hook"]


# -- what a hook answers


def payload_of(data: bytes) -> dict[str, Any]:
    """Return what the host says, empty if it is no JSON object."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def at_start(client: Client, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return notes about the project, and note when the session began.

    Raises
    ------
    TotonoeError
        The daemon does not answer, or refuses.
    """
    from totonoe.fence import between_markers
    from totonoe.mcp.notes import block_of, noted

    _begun(payload)
    root = git_root(folder_of(payload)) or folder_of(payload)
    hits = client.recall(root.name, k=NOTES_MAX, min_relevance=RELEVANCE_MIN, timeout_s=CALL_S).hits
    blocks = [
        block_of(hit.memory, noted(hit.memory, NOTE_CHARS_MAX, hit.relevance)) for hit in hits
    ]
    found = between_markers(blocks) if blocks else "The memory says nothing about this project yet."
    more = "The tool `recall` of totonoe finds more."
    return _context("SessionStart", f"{found}\n{more} {_SAVE}")


def at_stop(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return what makes the model go on once, to save; empty if it is not time for it."""
    if payload.get("stop_hook_active") or not _is_due(payload):
        return {}
    return {"decision": "block", "reason": _SAVE}


def at_prompt(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reminder as something that stands beside the prompt; empty if it is not time."""
    return _context("BeforeAgent", _SAVE) if _is_due(payload) else {}


def folder_of(payload: Mapping[str, Any]) -> Path:
    """Return the folder that the session works in."""
    given = payload.get("cwd")
    return Path(given) if isinstance(given, str) and given else Path.cwd()


def _context(event: str, text: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


# -- when a session began


def _file_of(payload: Mapping[str, Any]) -> Path | None:
    session = payload.get("session_id")
    if not isinstance(session, str) or not session:
        return None
    name = hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:24]
    return state_dir() / "sessions" / name


def _begun(payload: Mapping[str, Any]) -> None:
    """Note that a session begins; one that goes on keeps its beginning."""
    path = _file_of(payload)
    if path is None or path.exists():
        return
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = sorted(path.parent.iterdir(), key=lambda file: file.stat().st_mtime)
        for file in known[: max(0, len(known) + 1 - SESSIONS_MAX)]:
            file.unlink(missing_ok=True)
        path.touch(mode=0o600)


def _is_due(payload: Mapping[str, Any]) -> bool:
    """Return true once a session, when it has lasted long enough."""
    path = _file_of(payload)
    if path is None:
        return False
    try:
        state = path.stat()
    except OSError:
        _begun(payload)
        return False
    # A file with something in it: this session was reminded.
    if state.st_size or time.time() - state.st_mtime < REMIND_AFTER_S:
        return False
    try:
        path.write_text("reminded\n")
    except OSError:
        return False
    return True
