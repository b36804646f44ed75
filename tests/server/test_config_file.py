"""Settings from a file, the environment and options; `totonoe config`; reload on SIGHUP."""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from totonoe_server.life import config, config_file
from totonoe_server.life.config import Settings, SettingsError, load
from totonoe_server.life.reload import Reloader
from totonoe_server.tools import commands

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*config.Settings.model_fields, "config"):
        monkeypatch.delenv(config.ENVIRONMENT_PREFIX + name.upper(), raising=False)
    monkeypatch.setattr(config_file, "user_config_path", lambda name: tmp_path / "home" / name)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a configuration file."""

    def written(text: str | bytes, name: str = "t.toml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return written


def run(*arguments: str) -> Any:
    app = typer.Typer()
    commands.register(app)
    return CliRunner().invoke(app, ["config", *arguments])


def test_option_wins_over_variable_over_file_over_default(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write('grace_s = 1\nembedder_workers = 2\nlog_level = "debug"\n')
    monkeypatch.setenv("TOTONOE_GRACE_S", "3")
    monkeypatch.setenv("TOTONOE_EMBEDDER_WORKERS", "4")
    found = load(path, {"embedder_workers": 5, "grace_s": None})
    settings, origins = found.settings, found.origins
    assert (settings.embedder_workers, origins["embedder_workers"]) == (5, "--embedder-workers")
    assert (settings.grace_s, origins["grace_s"]) == (3.0, "TOTONOE_GRACE_S")
    assert (settings.log_level, origins["log_level"]) == ("debug", str(path))
    assert (settings.snapshot_keep, origins["snapshot_keep"]) == (7, "default")


def test_file_is_that_of_the_option_or_the_variable_or_the_default_place(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert config_file.chosen_file(None) is None
    default = write("grace_s = 1", "home/totonoe/totonoe.toml")
    assert config_file.chosen_file(None) == default == config_file.default_file()
    assert config.served_settings().grace_s == 1.0
    monkeypatch.setenv("TOTONOE_CONFIG", str(tmp_path / "a.toml"))
    assert config_file.chosen_file(None) == tmp_path / "a.toml"
    assert config_file.chosen_file(Path("b.toml")) == Path.cwd() / "b.toml"
    # What a test's daemon has does not depend on the files of a user.
    monkeypatch.delenv("TOTONOE_CONFIG")
    assert config.load_settings().grace_s == 10.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("log-levle = 1", "unknown key `log-levle`; the nearest is `log_level`"),
        ("Grace_S = 1", "unknown key `Grace_S`; the nearest is `grace_s`"),
        ("[judges]\nx = 1", "unknown key `judges`; the nearest is `judge"),
        ('"a\\nb" = 1', "unknown key `a�b`"),
        ("grace_s = 1\ngrace_s = 2", "not TOML: Cannot overwrite a value"),
        ("grace_s", "not TOML: "),
        (b"grace_s = 1 # \xff", "not UTF-8, from byte 14 on"),
        (b"\xff\xfeg\0", "not UTF-8, from byte 0 on"),
        ("x = " + "[" * 5000 + "]" * 5000, "not TOML: nested too deeply"),
        ("# " + "x" * config_file.FILE_BYTES_MAX, "longer than 1048576 bytes"),
        ("grace_s = -1", "grace_s: Input should be greater than or equal to 0, got -1"),
        ("grace_s = true", "grace_s: Input should be a number, got True"),
        ('grace_s = "1"', "grace_s: Input should be a number, got '1'"),
        ("grace_s = nan", "grace_s: Input should be "),
        ("snapshot_keep = 1.5", "snapshot_keep: Input should be a whole number, got 1.5"),
        ("judge_refinements = 1", "judge_refinements: Input should be true or false, got 1"),
        ("data_dir = 1", "data_dir: Input should be a string, got 1"),
        ("[log_level]\nx = 1", "log_level: Input should be a string, got {'x': 1}"),
        ('log_level = "loud"', "log_level: Input should be 'debug', 'info', 'warning' or 'error'"),
        ('address = "here"', "Refusing to listen on here"),
        ('metrics_address = "here"', "metrics_address: allowed: host:port"),
    ],
)
def test_wrong_file_is_one_line_that_names_it(write: Write, text: str | bytes, words: str) -> None:
    path = write(text)
    with pytest.raises(SettingsError) as caught:
        load(path, {})
    said = str(caught.value)
    assert words in said
    assert str(path) in said
    assert "\n" not in said


def test_path_that_is_no_readable_file_is_one_line(tmp_path: Path, write: Write) -> None:
    fifo, closed = tmp_path / "fifo", write("")
    os.mkfifo(fifo)
    closed.chmod(0)
    expected = {
        tmp_path: "a directory, and not a file",
        tmp_path / "none.toml": "No such file or directory",
        fifo: "not a regular file",
    }
    if os.geteuid():  # root reads what nobody may read
        expected[closed] = "Permission denied"
    for path, words in expected.items():
        with pytest.raises(SettingsError) as caught:
            load(path, {})
        assert str(caught.value) == f"{path}: {words}"


def test_link_that_leads_nowhere_at_the_default_place_is_a_fault(tmp_path: Path) -> None:
    place = config_file.default_file()
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "gone")
    with pytest.raises(SettingsError, match="No such file"):
        config.served_settings()


def test_wrong_variable_and_option_name_where_they_are_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOTONOE_GRACE_S", "soon")
    with pytest.raises(SettingsError, match=r"grace_s: .*, got 'soon' \(TOTONOE_GRACE_S\)"):
        load(None, {})
    with pytest.raises(SettingsError, match=r"got 'magic' \(--embedder\)"):
        load(None, {"embedder": "magic", "grace_s": 1})


def test_config_show_prints_a_file_that_gives_the_same_settings(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write('data_dir = "/a \\u007f\\"b"\njudge_refinements = true\nmemory_budget_mb = 7')
    monkeypatch.setenv("TOTONOE_GRACE_S", "2.5")
    shown = run("show", "--config", str(path))
    assert shown.exit_code == 0
    again = write(shown.output, "again.toml")
    unset = {name for name, value in load(path, {}).settings.model_dump().items() if value is None}
    assert set(tomllib.loads(shown.output)) == set(Settings.model_fields) - unset
    assert "# judge_deadline_s is not set" in shown.output
    monkeypatch.delenv("TOTONOE_GRACE_S")
    assert load(again, {}).settings == load(path, {"grace_s": 2.5}).settings


def test_config_show_origin_names_the_source_of_each_value(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("snapshot_keep = 3")
    monkeypatch.setenv("TOTONOE_GRACE_S", "2")
    monkeypatch.setenv("TOTONOE_CONFIG", str(path))
    lines = run("show", "--origin").output.splitlines()
    sources = {line.split(" = ")[0]: line.split("  # ")[1].strip() for line in lines}
    assert sources["snapshot_keep"] == str(path)
    assert sources["grace_s"] == "TOTONOE_GRACE_S"
    assert sources["address"] == "default"
    assert len(sources) == len(Settings.model_fields)


def test_config_check_says_in_one_line_whether_the_daemon_would_start(write: Write) -> None:
    good, bad = write("grace_s = 1\nsnapshot_keep = 2"), write("grace = 1", "bad.toml")
    checked = run("check", "--config", str(good))
    assert (checked.exit_code, checked.output) == (
        0,
        f"{good}: 2 settings are from it; all settings are sound.\n",
    )
    assert run("check").output == "There is no configuration file; all settings are sound.\n"
    refused = run("check", "--config", str(bad))
    assert refused.exit_code == 1
    assert refused.stderr == (f"totonoe: {bad}: unknown key `grace`; the nearest is `grace_s`\n")


# -- Reload


def settings(**given: object) -> Settings:
    return load(None, given).settings


def test_reload_applies_what_somebody_takes_and_names_what_waits_for_a_restart(
    caplog: pytest.LogCaptureFixture,
) -> None:
    news = [settings(log_level="debug", grace_s=3), settings(log_level="error", grace_s=3)]
    taken: list[str] = []
    reloader = Reloader(settings(), lambda: news[0])
    reloader.on(("log_level",), lambda new: taken.append(new.log_level))
    with caplog.at_level(logging.INFO):
        reloader.reload()
        news.pop(0)
        reloader.reload()
        reloader.reload()
    assert taken == ["debug", "error", "error"]
    said = [record.msg for record in caplog.records if "reloaded" in str(record.msg)]
    assert [item["changed"] for item in said] == [["log_level"], ["log_level"], []]
    # It is named until the restart comes.
    assert [item["needs_restart"] for item in said] == [["grace_s"]] * 3
    assert (reloader.settings.log_level, reloader.settings.grace_s) == ("error", 10.0)


def test_reload_of_wrong_settings_changes_nothing_and_says_why(
    caplog: pytest.LogCaptureFixture, write: Write
) -> None:
    path = write("grace = 1")
    taken: list[object] = []
    reloader = Reloader(settings(), lambda: load(path, {}).settings)
    reloader.on(("log_level",), taken.append)
    reloader.reload()
    assert taken == []
    assert "the nearest is `grace_s`" in str(caplog.records[-1].msg)


def test_reload_keeps_the_earlier_value_if_it_cannot_be_applied(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(_: Settings) -> None:
        raise OSError("no such certificate")

    taken: list[str] = []
    reloader = Reloader(settings(), lambda: settings(log_level="error", log_calls="info"))
    reloader.on(("log_level",), refuse)
    reloader.on(("log_calls",), lambda new: taken.append(new.log_calls))
    reloader.reload()
    assert (reloader.settings.log_level, taken) == ("info", ["info"])
    assert "settings are not applied" in str(caplog.records[0].msg)
