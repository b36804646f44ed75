"""deploy/compose.tls.yaml without docker: its commands and its variables, in another directory."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.daemons import free_port
from support.waits import wait_s
from totonoe import Client
from totonoe.errors import PermissionDenied, Unauthenticated

FILE = Path(__file__).parents[2] / "deploy" / "compose.tls.yaml"
ONCE = re.compile(r"^#   docker compose \S+ \S+ run --rm totonoe (.*)$", re.M)
TOTONOE = str(Path(sys.executable).parent / "totonoe")


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no 127.0.0.2 by itself")
def test_file_opens_the_daemon_to_whoever_has_a_token(tmp_path: Path) -> None:
    text, data, port = FILE.read_text("utf-8"), tmp_path / "data", free_port()
    (tmp_path / "run").mkdir(mode=0o700)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOTONOE_")}
    environment = kept | {"TOTONOE_DATA_DIR": str(data), "TOTONOE_EMBEDDER": "hashing"}
    commands = ONCE.findall(text)
    assert len(commands) == 3
    printed = [
        subprocess.run(
            [TOTONOE, *shlex.split(command)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=wait_s(),
            check=True,
        ).stdout
        for command in commands
    ]
    (token,) = re.findall(r"\bttn_[0-9A-Za-z]{43}\b", printed[-1])
    for name, value in yaml.safe_load(text)["services"]["totonoe"]["environment"].items():
        here = value.replace("/var/lib/totonoe", str(data)).replace(
            "/run/totonoe", f"{tmp_path}/run"
        )
        environment[name] = here.replace("0.0.0.0:7766", f"127.0.0.2:{port}")
    with (tmp_path / "log").open("w") as log:
        daemon = subprocess.Popen([TOTONOE, "serve"], env=environment, stderr=log)
    try:
        address, ca = f"https://127.0.0.2:{port}", str(data / "certs" / "ca.pem")
        with Client(address, token=token, ca=ca) as client:
            client.wait_ready(timeout_s=wait_s())
            assert client.remember("The port is 8080.").saved
            with pytest.raises(PermissionDenied, match="NOT_GRANTED"):
                client.create_collection("other")
        with Client(address, ca=ca) as stranger, pytest.raises(Unauthenticated):
            stranger.list()
    finally:
        daemon.terminate()
        assert daemon.wait(wait_s()) == 0
