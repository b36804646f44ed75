"""docs/release.md names commands that exist, and `make dist` sees what is wrong with its files."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from deploy.release import dist
from deploy.release.dist import interpreters, sdist_faults, wheel_faults
from deploy.release.locks import ROOT

PAGE = (ROOT / "docs" / "release.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
TARGETS |= set(re.findall(r"^BENCHES := ((?:.*\\\n)*.*)", MAKEFILE, re.M)[0].split())
STEPS, _, REST = PAGE.partition("\n## ")
COMMANDS = re.findall(r"^ {7,8}(\S.*)$", STEPS, re.M) + re.findall(r"^ {4}(\S.*)$", REST, re.M)
WHEEL = "totonoe-1-py3-none-any.whl"


def test_steps_are_numbered_and_each_has_a_command() -> None:
    steps = re.split(r"^(\d+)\. \*\*", STEPS, flags=re.M)[1:]
    assert [int(number) for number in steps[::2]] == list(range(1, len(steps) // 2 + 1))
    assert len(steps) // 2 >= 12
    words = "".join(steps[1::2])
    for word in ("changelog", "formats", "lock", "Audit", "Test", "tag", "Upload", "container"):
        assert word in words, word
    # Choosing a number has none.
    without = [text for text in steps[1::2] if not re.search(r"^ {6,}\S", text, re.M)]
    assert [text.partition(".")[0] for text in without] == [
        "Choose the version**, and write it into pyproject"
    ]


def test_commands_of_the_steps_exist() -> None:
    targets = [line.split()[1] for line in COMMANDS if line.startswith("make ")]
    assert {"lock", "audit", "test", "soak", "dist"} <= set(targets) <= TARGETS
    for line in COMMANDS:
        program = re.sub(r"^(\w+=\S+ )+", "", line).split()[0]
        known = {"make", "git", "docker", "npm", "python", "python3"}
        assert program in known or program.startswith((".venv/bin/", "/tmp/released/bin/")), line
        for path in re.findall(r"(?:^| |/tmp/last/)((?:deploy|tests|core)/[\w./-]+)", line):
            assert (ROOT / path.replace("format-N", "")).exists(), line


def test_page_names_what_the_targets_say() -> None:
    for target in ("lock", "audit", "dist"):
        assert re.search(rf"^{target}: ", MAKEFILE, re.M)
        assert f"python -m deploy.release.{target} " in MAKEFILE
        assert f"`make {target}`" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert "`deploy/release/`" in (ROOT / "docs" / "operations.md").read_text("utf-8")


def whole_wheel() -> set[str]:
    files = {
        f"{package}/{name}" for package in dist.PACKAGES for name in ("__init__.py", "py.typed")
    }
    files |= {f"totonoe/v1/{path.name}" for path in (ROOT / "proto/totonoe/v1").glob("*.proto")}
    files |= {
        f"{dist.STAGE}/groups/{path.name}" for path in (ROOT / "bench/stage/groups").iterdir()
    }
    files |= {
        f"{dist.STAGE}/chains/{path.name}" for path in (ROOT / "bench/stage/chains").iterdir()
    }
    return files | {"totonoe-1.dist-info/licenses/LICENSE", "totonoe-1.dist-info/entry_points.txt"}


def test_whole_wheel_has_no_fault_and_a_proto_file() -> None:
    assert wheel_faults(WHEEL, whole_wheel(), "1") == []
    assert "totonoe/v1/memory_service.proto" in whole_wheel()


@pytest.mark.parametrize(
    "name",
    [
        "tests/core/test_engine.py",
        "totonoe/tests/data.json",
        "totonoe_core/test_engine.py",
        "totonoe_core/fast.cpython-311-x86_64-linux-gnu.so",
        "totonoe/__pycache__/errors.pyc",
        "bench/common.py",
    ],
)
def test_file_that_is_strange_to_a_wheel_is_named(name: str) -> None:
    assert wheel_faults(WHEEL, {*whole_wheel(), name}, "1") == [f"has {name}"]


@pytest.mark.parametrize("name", sorted(whole_wheel()))
def test_file_that_a_wheel_lacks_is_named(name: str) -> None:
    assert wheel_faults(WHEEL, whole_wheel() - {name}, "1") == [f"lacks {name}"]


def test_wheel_for_one_system_and_sdist_with_an_environment_are_named() -> None:
    built = "totonoe-1-cp311-cp311-linux_x86_64.whl"
    assert wheel_faults(built, whole_wheel(), "1") == [f"not pure Python: {built}"]
    assert "has .venv/bin/python" in sdist_faults(["totonoe-1/.venv/bin/python"], "1")
    assert "lacks LICENSE" in sdist_faults([], "1")


def test_python_is_found_by_its_version_and_one_that_does_not_run_is_named(tmp_path: Path) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert interpreters([sys.executable]) == {version: Path(sys.executable)}
    assert version in interpreters([])
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    with pytest.raises(SystemExit, match="is no Python that runs"):
        interpreters([str(broken)])
