"""`deploy/locks/` agrees with pyproject.toml, and names versions and hashes only."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.tags import Tag

from deploy.release import lock
from deploy.release.locks import (
    BUILD,
    FOLDER,
    LOCKS,
    NOT_LOCKED,
    PYTHONS,
    ROOT,
    disagreements,
    environments,
    read,
    read_lock,
    requirements,
)

PYPROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
PROJECT = tomllib.loads(PYPROJECT)["project"]
HASH = "sha256:" + "0" * 64


def pinned(*pins: str) -> str:
    return "".join(f"{pin} \\\n    --hash={HASH}\n" for pin in pins)


@pytest.mark.parametrize("name", LOCKS)
def test_lock_has_what_pyproject_asks_for_within_its_range(name: str) -> None:
    assert disagreements(read_lock(name), requirements(LOCKS[name], PYPROJECT)) == []


def test_lock_of_the_build_has_what_the_build_asks_for() -> None:
    wanted = {*tomllib.loads(PYPROJECT)["build-system"]["requires"]}
    assert wanted <= {*lock.BUILD_REQUIREMENTS}
    built = [Requirement(line) for line in lock.BUILD_REQUIREMENTS]
    assert disagreements(read_lock(BUILD), built) == []


def test_each_extra_and_each_supported_python_is_decided_on() -> None:
    locked = {extra for extras in LOCKS.values() for extra in extras}
    assert locked | NOT_LOCKED == set(PROJECT["optional-dependencies"])
    assert not locked & NOT_LOCKED
    classifier = "Programming Language :: Python :: 3."
    versions = [item.rpartition(" ")[2] for item in PROJECT["classifiers"] if classifier in item]
    assert list(PYTHONS) == versions
    assert {path.stem for path in FOLDER.iterdir()} == {*LOCKS, BUILD}


def test_package_has_one_version_in_all_locks() -> None:
    for environment in environments():
        versions: dict[str, set[str]] = {}
        for name in (*LOCKS, BUILD):
            for locked in read_lock(name):
                if locked.marker is None or locked.marker.evaluate(environment):
                    versions.setdefault(locked.name, set()).add(locked.version)
        assert [name for name, found in versions.items() if len(found) > 1] == []


def test_lock_names_no_index_host_or_path() -> None:
    for path in FOLDER.iterdir():
        for line in path.read_text("utf-8").splitlines():
            if not line.startswith("#"):
                assert "/" not in line, line
                assert re.fullmatch(r"[a-z0-9-]+==.*|    --hash=sha256:[0-9a-f]{64}( \\)?", line)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("httpx==0.28.1\n", "with hashes"),
        (pinned("httpx>=0.28.1"), "not a pinned version"),
        (pinned("httpx==0.28.*"), "not a pinned version"),
        (pinned("httpx @ file:///tmp/httpx"), "not a pinned version"),
        ("httpx==0.28.1 --hash=md5:00\n", "not a hash of httpx==0.28.1: md5:00"),
        ("--index-url https://example.org/simple\n", "Expected"),
    ],
)
def test_line_that_is_not_a_pinned_version_with_hashes_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(text)


def test_lock_that_lacks_or_doubles_or_leaves_the_range_is_named() -> None:
    wanted = [Requirement("httpx>=0.28"), Requirement("numba<0.63; sys_platform == 'darwin'")]
    assert disagreements(read(pinned("httpx==0.28.1", "numba==0.62.1")), wanted) == []
    (first, *rest) = disagreements(read(pinned("httpx==0.28.1")), wanted)
    assert first == "numba is not locked, Python 3.11 on darwin x86_64"
    assert len(rest) == 5
    old = disagreements(read(pinned("httpx==0.27.0", "numba==0.62.1")), wanted)
    assert old[0] == "httpx>=0.28: locked is 0.27.0, Python 3.11 on linux x86_64"
    assert len(old) == len(list(environments())) == 12
    forked = ["httpx==0.28.1", "numba==0.62.1 ; platform_machine == 'x86_64'", "numba==0.62.0"]
    assert "numba is there twice, Python 3.11 on linux x86_64" in disagreements(
        read(pinned(*forked)), wanted
    )


def test_package_without_a_wheel_for_a_machine_is_named() -> None:
    address = "https://example.org/"
    files = ["one-1-cp311-abi3-manylinux_2_28_x86_64.whl", "one-1-cp311-abi3-macosx_11_0_arm64.whl"]
    packages = [
        {"name": "one", "wheels": [{"url": address + name} for name in files]},
        {"name": "pure", "wheels": [{"url": address + "pure-1-py3-none-any.whl"}]},
        {"name": "windows", "marker": "sys_platform == 'win32'"},
    ]
    found = lock.built_from_source(packages)
    assert set(found) == {"one"}
    assert found["one"][:2] == ["Python 3.11 linux aarch64", "Python 3.11 darwin x86_64"]
    newer = {"sys_platform": "linux", "platform_machine": "x86_64", "python_version": "3.12"}
    assert Tag("cp312", "cp312", "manylinux_2_39_x86_64") not in lock.tags(newer)


def test_project_that_is_resolved_holds_the_locked_extras_alone(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(lock.project(PYPROJECT), "utf-8")
    resolved = tomllib.loads(path.read_text("utf-8"))
    assert resolved["project"]["dependencies"] == PROJECT["dependencies"]
    extras = resolved["project"]["optional-dependencies"]
    assert set(extras) == set(PROJECT["optional-dependencies"]) - NOT_LOCKED
    assert extras["server"] == PROJECT["optional-dependencies"]["server"]
    assert resolved["dependency-groups"][BUILD] == list(lock.BUILD_REQUIREMENTS)
