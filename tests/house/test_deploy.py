"""Files in `deploy/`: well-formed, and their commands, options, paths and metrics exist."""

from __future__ import annotations

import asyncio
import configparser
import json
import plistlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from typer.main import get_group

from support.access import VERBS, add_identity
from support.waits import wait_until
from totonoe import Client
from totonoe.cli.main import make_app
from totonoe_core.base.histogram import Histogram
from totonoe_core.domain.figures import CollectionFigures, EngineFigures
from totonoe_core.domain.queries import OpenFigures
from totonoe_core.domain.records import Status
from totonoe_core.store.sqlite.migrate import COLLECTION_STEPS
from totonoe_core.store.sqlite.schema import CATALOG_FORMAT, FORMAT
from totonoe_server.life.config import ENVIRONMENT_PREFIX, Settings, load, parse_metrics_address
from totonoe_server.life.figures import CallFigures
from totonoe_server.life.metrics import DaemonCollector
from totonoe_server.life.watchdog import ENGINE_CLOSE_S, STOP_SPARE_S, ExitCode
from totonoe_server.services.process import Process
from totonoe_server.tools.testing import running_server
from totonoe_server.tools.top.command import fetched
from totonoe_server.tools.top.sample import Sample

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DATA_DIR = "/var/lib/totonoe"
STOP_S = Settings.model_fields["grace_s"].default + ENGINE_CLOSE_S + STOP_SPARE_S


def unit(name: str) -> configparser.ConfigParser:
    """A unit of systemd; keys that stand there several times keep the last value."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((DEPLOY / name).read_text("utf-8"))
    return parser


def check_command(words: list[str]) -> None:
    """`totonoe ...` with its options, as the command line knows them."""
    command = get_group(make_app())
    rest = list(words)
    while hasattr(command, "commands"):
        command = command.get_command(None, rest.pop(0))
        assert command is not None, words
    taken = command.get_params(typer.Context(command))
    flags = {flag for item in taken for flag in item.opts}
    assert {word for word in rest if word.startswith("--")} <= flags, words


def dockerfile() -> Iterator[tuple[str, str]]:
    """Instructions of the Dockerfile and their arguments."""
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            yield name, rest.strip()


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def test_service_runs_the_daemon_with_the_settings_beside_it() -> None:
    service = unit("totonoe.service")["Service"]
    assert service["Type"] == "notify"
    program, *words = shlex.split(service["ExecStart"])
    assert program == "/opt/totonoe/bin/totonoe"
    check_command(words)
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert seconds(service["TimeoutStopSec"]) > STOP_S
    assert float(service["WatchdogSec"]) >= 30
    refused = set(map(int, service["RestartPreventExitStatus"].split()))
    assert refused == {ExitCode.USAGE, ExitCode.NOT_STARTED}
    for key in ("State", "Cache", "Runtime"):
        assert service[f"{key}DirectoryMode"] == "0700"
    # What it may not have, and the one thing that it needs: code that it compiles.
    for key in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "RestrictSUIDSGID"):
        assert service[key] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert "MemoryDenyWriteExecute" not in service


def test_settings_of_the_service_are_sound_and_lie_in_its_directories() -> None:
    settings = load(DEPLOY / "totonoe.toml", {}).settings
    service = unit("totonoe.service")["Service"]
    assert str(settings.data_dir) == DATA_DIR == f"/var/lib/{service['StateDirectory']}"
    sockets = [str(place.path) for place in settings.addresses if place.path is not None]
    assert all(name.startswith(f"/run/{service['RuntimeDirectory']}/") for name in sockets)
    assert parse_metrics_address(settings.metrics_address) == ("127.0.0.1", 7767)
    assert service["Environment"] == "XDG_CACHE_HOME=/var/cache"
    assert service["CacheDirectory"] == "totonoe"


def test_timer_starts_a_copy_of_the_directory_with_the_snapshots() -> None:
    timer, backup = unit("totonoe-backup.timer"), unit("totonoe-backup.service")
    assert "Unit" not in timer["Timer"]  # it starts the service of its own name
    assert timer["Timer"]["Persistent"] == "true"
    assert timer["Install"]["WantedBy"] == "timers.target"
    words = shlex.split(backup["Service"]["ExecStart"])
    assert words[0] == "/usr/bin/rsync"
    assert f"{DATA_DIR}/snapshots/" in words
    assert "--exclude=*.tmp*" in words
    assert "--delete" not in words


def test_agent_of_macos_runs_the_daemon() -> None:
    agent = plistlib.loads((DEPLOY / "org.totonoe.daemon.plist").read_bytes())
    assert agent["Label"] == "org.totonoe.daemon"
    check_command(agent["ProgramArguments"][1:])
    assert agent["ExitTimeOut"] > STOP_S
    # In a directory that other users could write to, they could put a link in its place.
    assert agent["StandardErrorPath"] == "@HOME@/Library/Logs/totonoe.log"
    assert agent["Umask"] == 0o077
    assert agent["KeepAlive"] == {"SuccessfulExit": False}


def test_image_is_built_of_files_that_are_there_and_runs_the_daemon_as_nobody_else() -> None:
    steps = list(dockerfile())
    assert [name for name, _ in steps].count("FROM") == 2
    copied = [rest.split()[:-1] for name, rest in steps if name == "COPY"]
    sources = [word for words in copied if not words[0].startswith("--") for word in words]
    assert all((ROOT / source).exists() for source in sources)
    # All that the wheel is built of.
    wanted = {"pyproject.toml", "README.md", "LICENSE", "proto", "core", "server", "bench/stage"}
    assert wanted <= set(sources)
    variables = dict(
        word.split("=", 1) for name, rest in steps if name == "ENV" for word in shlex.split(rest)
    )
    assert variables["HNSWLIB_NO_NATIVE"] == "1"
    given = {
        name.removeprefix(ENVIRONMENT_PREFIX).lower(): value
        for name, value in variables.items()
        if name.startswith(ENVIRONMENT_PREFIX)
    }
    assert str(load(None, given).settings.data_dir) == DATA_DIR
    by_name = dict(steps)
    assert by_name["USER"] == "10001:10001"
    assert DATA_DIR in json.loads(by_name["VOLUME"])
    entry, words = json.loads(by_name["ENTRYPOINT"]), json.loads(by_name["CMD"])
    assert entry == ["totonoe"]
    check_command(words)
    checked = json.loads(by_name["HEALTHCHECK"].partition("CMD ")[2])
    assert checked[0] == "totonoe"
    check_command(checked[1:])


def test_compose_file_mounts_what_the_image_writes() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    service = compose["services"]["totonoe"]
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    written = json.loads(dict(dockerfile())["VOLUME"])
    mounts = dict(volume.split(":") for volume in service["volumes"])
    assert set(mounts.values()) == set(written)
    assert set(mounts) == set(compose["volumes"])
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert seconds(service["stop_grace_period"]) > STOP_S
    names = [item.removeprefix(ENVIRONMENT_PREFIX).lower() for item in service["environment"]]
    load(None, dict(zip(names, service["environment"].values(), strict=True)))


# -- The dashboard

NAME = re.compile(r"\b(?:totonoe|process)_[a-z_]+\b")


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The metrics of a daemon that was used; of a checkpoint and a graph there are none yet."""
    data_dir = tmp_path_factory.mktemp("scraped") / "data"
    far_us = 4_000_000_000_000_000
    token = add_identity(data_dir, "ann", f"*:{','.join(VERBS)}", expires_us=far_us)
    with running_server(data_dir, metrics_address="0") as server:
        with Client(server.address, token=token) as client:
            client.remember("The port is 8080.")
            client.remember("The port is 8080.")
            client.recall("port")
            with pytest.raises(Exception, match="not found"):
                client.forget("mem_0000000000000000")
        url = f"http://{server.metrics_address}/metrics"
        # A call is counted when its end has been sent.
        wait_until(lambda: any(fetched(url).all("totonoe_refused_total")))
        yield fetched(url)


LATER = {"totonoe_recall_missed_ratio", "totonoe_checkpoint_age_seconds"}
"""Metrics of a collection with a graph, and with a checkpoint."""


def expressions() -> list[str]:
    dashboard = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    queries = [
        entry["query"] for entry in dashboard["templating"]["list"] if entry["name"] == "instance"
    ]
    return queries + [
        target["expr"] for panel in dashboard["panels"] for target in panel["targets"]
    ]


def test_dashboard_names_only_metrics_and_labels_that_are_at_metrics(scraped: Any) -> None:
    there = {name for name, _ in scraped.values} | LATER
    labels = {name for _, pairs in scraped.values for name, _ in pairs} | {"instance"}
    for expression in expressions():
        names = set(NAME.findall(expression))
        assert names, expression
        assert names <= there, expression
        grouped = re.findall(r"by \(([^)]*)\)", expression)
        used = {item.strip() for group in grouped for item in group.split(",")}
        used |= set(re.findall(r"[{,]\s*(\w+)=", expression))
        assert used <= labels, expression
        assert expression.count("(") == expression.count(")")


def test_dashboard_shows_each_of_our_metrics(scraped: Any) -> None:
    shown = {name for expression in expressions() for name in NAME.findall(expression)}
    own = {name for name, _ in scraped.values if name.startswith("totonoe_")}
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in own | LATER}
    shown_families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in shown}
    assert families - shown_families == {"totonoe_start_time_seconds"}


def test_metrics_that_come_later_are_made_by_the_collector(tmp_path: Path) -> None:
    none = Histogram().read()
    memories = {status: 1 for status in Status if status is not Status.PURGED}
    old = CollectionFigures("old", memories, 1, 0, 0.25, 8, 1_000_000, True)
    engine = EngineFigures((old,), OpenFigures(1, 0, 1, 1), {}, none, none, None)

    async def text() -> str:
        collector = DaemonCollector(CallFigures(), lambda: engine, dict, tmp_path, Process(1, "1"))
        registry = CollectorRegistry()
        registry.register(collector)
        return generate_latest(registry).decode()

    sample = Sample.of(asyncio.run(text()), 0.0)
    assert {name for name, _ in sample.values} >= LATER
    assert sample.one("totonoe_recall_missed_ratio", collection="old") == 0.25
    assert sample.one("totonoe_checkpoint_age_seconds", collection="old") > 1e6


def test_page_about_operations_names_the_formats_of_files() -> None:
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    earlier = ", ".join(map(str, sorted(COLLECTION_STEPS)))
    assert f"| `collections/<uid>/memory.db` | {FORMAT} | {earlier} |" in page
    assert f"| `catalog.db` | {CATALOG_FORMAT} | |" in page


def test_page_about_operations_names_each_file_and_each_metric(scraped: Any) -> None:
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    for path in DEPLOY.iterdir():
        assert f"deploy/{path.name}" in page, path.name
    for name in {name for name, _ in scraped.values} | LATER:
        family = re.sub(r"_(bucket|count|sum)$", "", name)
        assert family.startswith("process_") or f"`{family}" in page, family


def test_no_file_of_the_machine_it_was_written_on_is_named() -> None:
    paths = [path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert len(paths) > 15
    for path in paths:
        text = path.read_text("utf-8")
        assert "/home/" not in text
        assert "/root" not in text
