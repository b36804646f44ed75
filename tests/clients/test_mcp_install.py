"""Entries of hosts: added once, with everything else left as it is."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from totonoe.cli.commands.mcp import Host
from totonoe.cli.main import app
from totonoe.mcp import jsonc, toml_entry
from totonoe.mcp.hosts import FILE_BYTES_MAX, entry_of

FIELDS = {"command": "t", "args": ["mcp"], "env": {"A": "b"}}
Install = Callable[..., Result]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """`install("cursor", ...)` in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return lambda *arguments: CliRunner().invoke(app, ["mcp", "install", *arguments])


def path_of(host: str) -> Path:
    return entry_of(host, agent=None, collection=None, address=None).path


@pytest.mark.parametrize("host", Host)
def test_install_adds_the_entry_once(install: Install, host: Host) -> None:
    first, path = install(host), path_of(host)
    assert first.exit_code == 0, first.output
    assert first.stdout == f"Added to {path}. Restart {host}.\n"
    written = path.read_bytes()
    again = install(host)
    assert again.stdout == f"{path} has the entry already.\n"
    assert path.read_bytes() == written
    assert path.stat().st_mode & 0o777 == 0o600
    data = tomllib.loads(written.decode()) if path.suffix == ".toml" else json.loads(written)
    (servers,) = data.values()
    assert servers["totonoe"]["args"] == ["mcp"]
    assert servers["totonoe"]["env"]["TOTONOE_AGENT"]
    assert Path(servers["totonoe"]["command"]).is_file()


@pytest.mark.parametrize("host", Host)
def test_install_print_writes_nothing(install: Install, host: Host) -> None:
    printed = install(host, "--print", "--agent", "me", "--collection", "project")
    assert not path_of(host).exists()
    assert '"me"' in printed.stdout and "TOTONOE_COLLECTION" in printed.stdout
    answer = json.loads(install(host, "--json").stdout)
    assert (answer["host"], answer["changed"]) == (str(host), True)


def test_install_leaves_another_entry_of_this_name_alone(install: Install) -> None:
    install("cursor")
    written = path_of("cursor").read_bytes()
    other = install("cursor", "--agent", "me")
    assert other.exit_code == 2
    assert "another entry 'totonoe'" in other.output
    assert path_of("cursor").read_bytes() == written


def test_install_keeps_a_link_and_the_mode_of_its_file(install: Install, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles.json"
    dotfiles.write_text("{}")
    dotfiles.chmod(0o644)
    path = path_of("cursor")
    path.parent.mkdir()
    path.symlink_to(dotfiles)
    assert install("cursor").exit_code == 0
    assert path.is_symlink()
    assert "totonoe" in dotfiles.read_text()
    assert dotfiles.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"[1]", "got '[', allowed: '{', line 1, column 1"),
        (b'{"mcpServers": []}', "mcpServers: got something else"),
        (b'{"mcpServers": {}', "got '', allowed: ',}'"),
        (b'{"a": tru}', "got 'tru', allowed: a value, line 1, column 7"),
        (b'{"a": 1} x', "got more behind the object"),
        (b'{"a: 1}', "got no JSON string"),
        (b'{"a": ' + b"[" * 1000, "got more than 200 levels"),
        (b"\xff", "can't decode"),
    ],
)
def test_install_refuses_a_file_that_it_cannot_read(
    install: Install, content: bytes, error: str
) -> None:
    path = path_of("gemini")
    path.parent.mkdir()
    path.write_bytes(content)
    done = install("gemini")
    assert done.exit_code == 2
    assert error in " ".join(done.output.replace("│", " ").split())
    assert path.read_bytes() == content


def test_install_refuses_a_file_that_is_too_large(install: Install) -> None:
    path = path_of("claude-code")
    with path.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)
    assert install("claude-code").exit_code == 2


# -- JSON with comments


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "t": NEW2\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "t": NEW2\n  }\n}'),
        ('{"s":{}}', '{"s":{\n    "t": NEW2\n  }}'),
        ('{\n\t"s": {\n\t}\n}\n', '{\n\t"s": {\n\t\t"t": NEW2\n\t}\n}\n'),
        (
            '// top\n{\n  "s": {\n    "a": {"x": 1} // one\n    /* two */\n  },\n  "b": [1, 2,]\n}',
            '// top\n{\n  "s": {\n    "a": {"x": 1}, // one\n    /* two */\n    "t": NEW2\n  },\n'
            '  "b": [1, 2,]\n}',
        ),
        (
            '{\n  "s": {\n    "a": 1, // last\n  },\n}',
            '{\n  "s": {\n    "a": 1, // last\n    "t": NEW2\n  },\n}',
        ),
        (
            '{\r\n  "x": "} // none, \\" {",\r\n  "s": {"a": null}\r\n}',
            '{\r\n  "x": "} // none, \\" {",\r\n  "s": {"a": null,\r\n    "t": NEW2\r\n  }\r\n}',
        ),
        ('\ufeff{"a": -1e5}', '\ufeff{"a": -1e5,\n  "s": {\n    "t": NEW2\n  }\n}'),
    ],
)
def test_jsonc_adds_one_member_and_keeps_the_rest(before: str, after: str) -> None:
    found, text = jsonc.with_entry(before, "s", "t", FIELDS)
    assert found is None
    indent = "\t" if "\t" in before else "  "
    newline = "\r\n" if "\r\n" in before else "\n"
    new = json.dumps(FIELDS, indent=indent).replace("\n", newline + indent * 2)
    assert text == after.replace("NEW2", new)
    value = jsonc.parsed(text.removeprefix("\ufeff"))
    assert value["s"]["t"] == FIELDS
    assert jsonc.with_entry(text, "s", "t", FIELDS) == (FIELDS, text)


# -- TOML


@pytest.mark.parametrize("before", ["", "a = 1", "a = 1\n", "[s.x]\r\na = 1\r\n", "[s]\na = 1\n"])
def test_toml_adds_one_table_behind_the_rest(before: str) -> None:
    found, text = toml_entry.with_entry(before, "s", "t", FIELDS)
    assert found is None and text.startswith(before)
    assert tomllib.loads(text)["s"]["t"] == FIELDS
    assert toml_entry.with_entry(text, "s", "t", FIELDS) == (FIELDS, text)


@pytest.mark.parametrize("before", ["s = {a = 1}", "s = 1", "s ="])
def test_toml_that_cannot_take_a_table_is_refused(before: str) -> None:
    with pytest.raises(ValueError, match=r"s: got|Invalid"):
        toml_entry.with_entry(before, "s", "t", FIELDS)


def test_entry_of_an_identity_names_its_files_and_no_agent(tmp_path: Path) -> None:
    files = {"token-file": tmp_path / "token", "tls-ca": None}
    entry = entry_of("cursor", agent=None, collection=None, address=None, files=files)
    assert entry.fields["args"] == ["mcp", "--token-file", str(tmp_path / "token")]
    assert entry.fields["env"] == {}
    named = entry_of("cursor", agent="coder", collection=None, address=None, files=files)
    assert named.fields["env"] == {"TOTONOE_AGENT": "coder"}
    only_tls = {"tls-ca": tmp_path / "ca.pem"}
    entry = entry_of("cursor", agent=None, collection=None, address=None, files=only_tls)
    assert entry.fields["env"] == {"TOTONOE_AGENT": "cursor"}
