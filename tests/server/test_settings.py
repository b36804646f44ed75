"""Addresses, settings, and that the page about them is complete."""

from __future__ import annotations

import inspect
import socket
import stat
from pathlib import Path
from typing import get_args

import grpc
import pytest
import typer
from grpc_health.v1 import health_pb2, health_pb2_grpc
from typer.testing import CliRunner

from totonoe_core.embedding.settings import KINDS
from totonoe_core.judging.settings import DIALECTS as JUDGE_DIALECTS
from totonoe_core.judging.settings import KINDS as JUDGE_KINDS
from totonoe_server.life import addresses, config, seat, several, watchdog
from totonoe_server.life.addresses import AddressError, parse_addresses
from totonoe_server.tools import commands, options

PAGE = Path(__file__).parents[2] / "docs/configuration.md"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch):
    for name in config.Settings.model_fields:
        monkeypatch.delenv(config.ENVIRONMENT_PREFIX + name.upper(), raising=False)


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("127.0.0.1:7766", ["127.0.0.1:7766"]),
        ("127.9.9.9:1", ["127.9.9.9:1"]),
        ("localhost:7766", ["127.0.0.1:7766"]),
        ("[::1]:7766", ["[::1]:7766"]),
        ("unix:/run/t.sock", ["unix:/run/t.sock"]),
        ("unix:///run/t.sock", ["unix:/run/t.sock"]),
        ("0.0.0.0:7766", ["0.0.0.0:7766"]),
        ("[::]:7766", ["[::]:7766"]),
        ("192.168.1.5:7766", ["192.168.1.5:7766"]),
        (" 127.0.0.1:0 , unix:/t ", ["127.0.0.1:0", "unix:/t"]),
        ("127.0.0.1:7766-7769", ["127.0.0.1:7766-7769"]),
    ],
)
def test_address_of_an_interface_or_a_unix_socket_is_taken(text, targets):
    assert [place.target for place in parse_addresses(text)] == targets


@pytest.mark.parametrize(
    "text",
    [
        "example.org:7766",
        "localhost.example.org:7766",
        "[fe80::1%lo]:7766",
        "0:7766",
        "::1:7766",
        "127.0.0.1:7766,example.org:7766",
    ],
)
def test_address_by_name_is_refused_and_says_why(text):
    with pytest.raises(AddressError, match="expected the IP address of an interface"):
        parse_addresses(text)


@pytest.mark.parametrize("text", ["127.0.0.1:7766,localhost:7766", "unix:/t,127.0.0.1:1,unix:///t"])
def test_address_that_is_given_twice_is_refused(text):
    with pytest.raises(AddressError, match="twice: name it once"):
        parse_addresses(text)


def test_two_free_ports_are_two_addresses():
    assert len(parse_addresses("127.0.0.1:0,127.0.0.1:0")) == 2


def test_option_address_may_be_repeated_and_adds_up(monkeypatch):
    ran = []

    def run(settings, _):
        ran.append(settings.address)
        return 0

    monkeypatch.setattr("totonoe_server.life.runner.run", run)
    monkeypatch.setattr("totonoe_server.life.process.hold_collector", lambda: None)
    options = ["--address", "127.0.0.1:7001", "--address", "127.0.0.1:7002,127.0.0.1:7003"]
    app = typer.Typer()
    app.callback()(lambda: None)
    commands.register(app)
    done = CliRunner().invoke(app, ["serve", *options])
    assert done.exit_code == 0, done.output
    assert ran == ["127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003"]


def test_address_for_clients_is_refused_and_says_so():
    with pytest.raises(AddressError, match="that is for clients; expected host:port"):
        parse_addresses("https://127.0.0.1:7766")


@pytest.mark.parametrize(
    ("text", "local"),
    [
        *(("127.0.0.1:1", True), ("127.0.0.2:1", True), ("[::1]:1", True), ("unix:/t", True)),
        *(("0.0.0.0:1", False), ("[::]:1", False), ("10.0.0.1:1", False), ("8.8.8.8:1", False)),
        ("[::ffff:10.0.0.1]:1", False),
    ],
)
def test_address_knows_whether_other_machines_reach_it(text, local):
    (place,) = parse_addresses(text)
    assert place.local is local


def test_socket_in_the_data_directory_is_served_unless_addresses_are_given(tmp_path):
    given = config.load_settings(data_dir=tmp_path, address="127.0.0.1:7766")
    assert [place.target for place in given.addresses] == ["127.0.0.1:7766"]
    ours = config.load_settings(data_dir=tmp_path)
    targets = [place.target for place in ours.addresses]
    assert targets == ["127.0.0.1:7766", f"unix:{tmp_path}/totonoe.sock"]
    deep = config.load_settings(data_dir=tmp_path / ("d" * 200))
    assert [place.target for place in deep.addresses] == ["127.0.0.1:7766"]


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1:7769-7766", "127.0.0.1:0-3", "127.0.0.1:1-", "127.0.0.1:65535-65536",
     "", ",", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", ":7766x", "unix:",
     "unix:/" + "x" * 200, ",".join(["127.0.0.1:1"] * 9)],
)  # fmt: skip
def test_address_of_a_wrong_form_is_refused(text):
    with pytest.raises(AddressError):
        parse_addresses(text)


STORE = "postgresql://user@host/name"


def orders_of(**given):
    settings = config.load_settings(store=STORE, **given)
    return several.orders(settings, parse_addresses(settings.address), given, None)


def test_each_of_several_daemons_has_its_own_ports_and_shares_one(monkeypatch):
    monkeypatch.setattr(addresses, "SHARES_PORTS", True)
    given = "127.0.0.1:7766,[::1]:7770-7771,unix:/run/t.sock"
    first, second = orders_of(daemons=2, address=given, metrics_address="7780")
    assert first.given["address"] == "127.0.0.1:7766,[::1]:7770,unix:/run/t-1.sock"
    assert second.given["address"] == "127.0.0.1:7766,[::1]:7771,unix:/run/t-2.sock"
    assert second.given["metrics_address"] == "127.0.0.1:7781"
    assert second.seat == seat.Seat(2, 2, frozenset({"127.0.0.1:7766"}))
    # What the first option names is more than one daemon; each is told that it is one.
    assert config.load_settings(store=STORE, **second.given).daemons == 1


def test_each_of_several_daemons_has_a_port_where_none_can_be_shared(monkeypatch):
    monkeypatch.setattr(addresses, "SHARES_PORTS", False)
    orders = orders_of(daemons=3, address="127.0.0.1:7766")
    assert [order.given["address"] for order in orders] == [
        f"127.0.0.1:{port}" for port in (7766, 7767, 7768)
    ]
    assert orders[0].seat.shared == frozenset()
    with pytest.raises(config.SettingsError, match="ports end at 65535"):
        orders_of(daemons=3, address="127.0.0.1:65534")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"daemons": 2}, "daemons: got 2, allowed: 1 without store"),
        ({"daemons": 0, "store": STORE}, "daemons: Input should be greater than or equal to 1"),
        ({"daemons": 65, "store": STORE}, "daemons: Input should be less than or equal to 64"),
        (
            {"daemons": 3, "store": STORE, "address": "127.0.0.1:7766-7767"},
            "127.0.0.1:7766-7767 has 2 ports, allowed: one for each of 3 daemons",
        ),
        ({"address": "127.0.0.1:7766-7767"}, "has 2 ports, allowed: one for each of 1 daemons"),
    ],
)
def test_several_daemons_need_a_store_and_an_address_each(given, words):
    with pytest.raises(config.SettingsError, match=words):
        config.load_settings(**given)


def test_port_that_daemons_share_is_refused_if_another_program_listens_on_it():
    with socket.socket() as other:
        # It would share the port, too.
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(AddressError, match=f"127.0.0.1:{port}: the port is in use"):
            addresses.SharedPorts(parse_addresses(f"127.0.0.1:0,127.0.0.1:{port}"))


def test_free_port_that_daemons_share_is_one_for_all():
    held = addresses.SharedPorts(parse_addresses("127.0.0.1:0,127.0.0.1:7001-7002"))
    free, own = held.addresses
    assert free.port > 0 and own.target == "127.0.0.1:7001-7002"
    assert free.of_daemon(1) == free.of_daemon(2) == free
    held.close()


def test_order_of_a_daemon_comes_through_its_wire_as_it_was_given():
    order = seat.Order(seat.Seat(2, 3, frozenset({"127.0.0.1:1"})), {"grace_s": 1.5}, "/t.toml")
    ours, its = socket.socketpair()
    with ours, its:
        ours.sendall(order.dumps())
        assert seat.Order.read(its) == order
        ours.close()
        with pytest.raises(ValueError, match="no order came"):
            seat.Order.read(its)


def test_stale_socket_is_taken_away_and_a_live_one_is_not(tmp_path):
    path = tmp_path / "s"
    addresses.clear_stale_socket(path)  # nothing there
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        with pytest.raises(AddressError, match="another process"):
            addresses.clear_stale_socket(path)
    assert path.exists()
    addresses.clear_stale_socket(path)
    assert not path.exists()


def test_file_in_the_way_of_a_socket_stays(tmp_path):
    path = tmp_path / "s"
    path.write_text("mine")
    with pytest.raises(AddressError, match="a file of that name exists"):
        addresses.check_free(addresses.Address(path=path))
    assert path.read_text() == "mine"


def test_settings_without_anything_are_the_defaults():
    settings = config.load_settings()
    assert settings.address == "127.0.0.1:7766"
    assert settings.data_dir.name == "totonoe"
    assert settings.data_dir.is_absolute()
    assert settings.embedder == "use"


def test_settings_options_win_over_the_environment(monkeypatch):
    monkeypatch.setenv("TOTONOE_GRACE_S", "3")
    monkeypatch.setenv("TOTONOE_EMBEDDER", "hashing")
    settings = config.load_settings(grace_s=4.5, embedder=None)
    assert (settings.grace_s, settings.embedder) == (4.5, "hashing")


def test_settings_leave_variables_of_clients_alone(monkeypatch):
    monkeypatch.setenv("TOTONOE_AGENT_ID", "me")
    monkeypatch.setenv("TOTONOE_LOG_LEVEL", "")
    assert config.load_settings().log_level == "info"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"address": "host:1"}, "Refusing to listen on host:1: expected the IP address"),
        ({"tls_cert": "a"}, "tls_cert and tls_key: give both, or neither"),
        ({"tls_key": "a"}, "tls_cert and tls_key: give both, or neither"),
        ({"tls_client_ca": "a"}, "tls_client_ca: needs tls_cert and tls_key"),
        ({"embedder": "magic"}, "embedder: Input should be 'use'"),
        ({"grace_s": -1}, "grace_s: "),
        ({"judge": "magic"}, "judge: Input should be 'none'"),
        ({"judge_deadline_s": 11}, "judge_deadline_s: "),
        ({"judge_dialect": "magic"}, "judge_dialect: Input should be 'openai'"),
        ({"judge_agreed_from": 0.5}, "judge_agreed_from: "),
        ({"embedder_workers": 0, "log_format": "x"}, "embedder_workers: "),
    ],
)
def test_settings_outside_what_is_allowed_are_one_line_that_names_them(given, words):
    with pytest.raises(config.SettingsError) as caught:
        config.load_settings(**given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_page_names_every_setting_option_and_exit_code():
    page = PAGE.read_text()
    for name, field in config.Settings.model_fields.items():
        assert f"`TOTONOE_{name.upper()}`" in page, name
        assert f"`--{name.replace('_', '-')}`" in page, name
        if name != "data_dir" and field.default not in ("", None):
            assert f"`{field.default}`" in page, name
    for code in watchdog.ExitCode:
        assert f"| {code.value} |" in page, code


def test_serve_has_an_option_for_every_setting_in_the_joined_command():
    app = typer.Typer()
    app.callback()(lambda: None)
    commands.register(app)
    taken = set(inspect.signature(options.with_settings(commands.serve)).parameters)
    assert taken == {"config_file", "port", *config.Settings.model_fields}
    shown = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    for name in config.Settings.model_fields:
        assert f"--{name.replace('_', '-')}" in shown.output


def test_serve_with_a_port_points_to_the_address():
    app = typer.Typer()
    app.command()(options.with_settings(commands.serve))
    result = CliRunner().invoke(app, ["--port", "8000"], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert "the port stands in --address 127.0.0.1:8000" in result.output


def test_embedder_setting_has_the_kinds_that_core_knows():
    assert get_args(config.EmbedderKind) == KINDS


def test_judge_setting_has_the_kinds_that_core_knows():
    assert get_args(config.JudgeKind) == JUDGE_KINDS
    assert get_args(config.JudgeDialect) == JUDGE_DIALECTS


def test_unix_socket_has_mode_0600_and_goes_with_the_server(open_fake, tmp_path):
    path = tmp_path / "d" / "totonoe.sock"
    with open_fake(address=f"unix:{path},127.0.0.1:0") as wire:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        for target in wire.server.address.split(","):
            with grpc.insecure_channel(target) as channel:
                health = health_pb2_grpc.HealthStub(channel)
                answer = health.Check(health_pb2.HealthCheckRequest(), timeout=10)
                assert answer.status == health_pb2.HealthCheckResponse.SERVING
    assert not path.exists()
