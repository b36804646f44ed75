"""Hosts of agents: where each keeps its MCP servers, and the entry of totonoe there."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from totonoe.mcp import jsonc, toml_entry

NAME = "totonoe"
FILE_BYTES_MAX = 64 * 1024 * 1024
"""A larger configuration file is left alone. That of Claude Code holds whole histories."""
NO_FILES: Mapping[str, Path | None] = {}
_LABELS = {
    "claude-code": "claude",
    "claude-desktop": "claude-desktop",
    "cursor": "cursor",
    "codex": "codex",
    "vscode": "vscode",
    "gemini": "gemini",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of totonoe in the file of a host.

    Attributes
    ----------
    path : Path
    key : str
        Name of the object, or the table, that holds the servers.
    fields : mapping
        Command, arguments and environment.
    """

    path: Path
    key: str
    fields: dict[str, Any]

    @property
    def is_toml(self) -> bool:
        """True if the file is TOML, false if it is JSON, with comments or without."""
        return self.path.suffix == ".toml"

    @property
    def text(self) -> str:
        """The entry as it stands in a file that holds nothing else."""
        if self.is_toml:
            return toml_entry.table(self.key, NAME, self.fields)
        return json.dumps({self.key: {NAME: self.fields}}, indent=2)

    def write(self) -> bool:
        """Add the entry to the file, and return whether that changed the file.

        Everything else in it stays byte for byte. The file is replaced as a whole, so that no
        reader sees half of it.

        Raises
        ------
        ValueError
            The file cannot be read as what it is, or has another entry of this name; nothing is
            changed.
        """
        return rewrite(self.path, self._with_entry)

    def _with_entry(self, text: str) -> str:
        with_entry = toml_entry.with_entry if self.is_toml else jsonc.with_entry
        found, after = with_entry(text, self.key, NAME, self.fields)
        if found is not None and found != self.fields:
            hint = f"take it out, or change it to:\n{self.text}"
            raise ValueError(f"got another entry {NAME!r}; {hint}")
        return after


def entry_of(
    host: str,
    *,
    agent: str | None,
    collection: str | None,
    address: str | None,
    files: Mapping[str, Path | None] = NO_FILES,
) -> Entry:
    """Return the entry for a host.

    Parameters
    ----------
    host : str
        A value of `totonoe.cli.commands.mcp.Host`.
    agent, collection : str or None
        Of the calls of this host; `None`: an agent named for the host, or that of the identity
        that a token or certificate proves, and `default`.
    address : str or None
        Of the daemon; `None`: the default.
    files : mapping of str to Path or None
        Options that name a file, without `--`: `token-file`, `tls-ca`, `tls-cert`, `tls-key`.
    """
    given = {option: str(path.absolute()) for option, path in files.items() if path is not None}
    proved = "token-file" in given or "tls-cert" in given
    environment = {} if proved and not agent else {"TOTONOE_AGENT": agent or _LABELS[host]}
    if collection:
        environment["TOTONOE_COLLECTION"] = collection
    if address:
        environment["TOTONOE_ADDRESS"] = address
    options = [part for option, path in given.items() for part in (f"--{option}", path)]
    fields: dict[str, Any] = {
        "command": own_command(),
        "args": ["mcp", *options],
        "env": environment,
    }
    if host in ("claude-code", "vscode"):
        fields = {"type": "stdio", **fields}
    keys = {"codex": "mcp_servers", "vscode": "servers"}
    return Entry(_path_of(host), keys.get(host, "mcpServers"), fields)


def own_command() -> str:
    """Return the full path of the command `totonoe`: hosts with windows have a short PATH."""
    script = Path(sys.executable).with_name("totonoe")
    return str(script) if script.exists() else "totonoe"


def _path_of(host: str) -> Path:
    home = Path.home()
    if sys.platform == "darwin":
        programs = home / "Library" / "Application Support"
    else:
        programs = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    return {
        "claude-code": home / ".claude.json",
        "claude-desktop": programs / "Claude" / "claude_desktop_config.json",
        "cursor": home / ".cursor" / "mcp.json",
        "codex": codex / "config.toml",
        "vscode": programs / "Code" / "User" / "mcp.json",
        "gemini": home / ".gemini" / "settings.json",
    }[host]


def rewrite(path: Path, change: Callable[[str], str]) -> bool:
    """Change the text of a host's file, and return whether that changed it.

    Raises
    ------
    ValueError
        The file cannot be read or written, or `change` raised it; nothing is changed.
    """
    # A link of a directory of dotfiles stays one.
    file = path.resolve()
    try:
        if file.exists() and file.stat().st_size > FILE_BYTES_MAX:
            raise ValueError(f"{path}: got more than {FILE_BYTES_MAX} bytes")
        before = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    try:
        after = change(before.decode("utf-8")).encode("utf-8")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if after == before:
        return False
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, after)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    return True


def _replace(path: Path, content: bytes) -> None:
    """Put a new file in the place of one, with its mode; on a failure the old one stays."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
