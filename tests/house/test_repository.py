"""Files that the site, editors and hooks read are well-formed and agree with the project."""

from __future__ import annotations

import configparser
import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TEXT = ("*.py", "*.md", "*.toml", "*.yml", "*.yaml", "*.proto", "Makefile", "*.svg")


def tracked(*patterns: str) -> list[Path]:
    """Files of the repository with such names; without git, files outside of hidden folders."""
    try:
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = listed.stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        names = [str(path) for path in found if path.parts[0] not in (".git", ".venv")]
    paths = [ROOT / name for name in names]
    return [
        path
        for path in paths
        if path.is_file() and any(fnmatch(path.name, pattern) for pattern in patterns)
    ]


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def supported_pythons() -> list[str]:
    """Versions in the classifiers of pyproject.toml."""
    prefix = "Programming Language :: Python :: 3."
    return ["3." + name.removeprefix(prefix) for name in PROJECT["classifiers"] if prefix in name]


def test_supported_versions_begin_with_the_required_one() -> None:
    assert PROJECT["requires-python"] == f">={supported_pythons()[0]}"


@pytest.mark.parametrize("name", ["test.yml", "wheels.yml"])
def test_workflow_runs_on_each_system_and_version(name: str) -> None:
    workflow = parsed(GITHUB / "workflows" / name)
    # YAML reads the key `on` as true.
    assert workflow["name"] and workflow[True] and workflow["permissions"] == {"contents": "read"}
    matrices = [job["strategy"]["matrix"] for job in workflow["jobs"].values() if "strategy" in job]
    assert matrices
    for matrix in matrices:
        assert matrix["python"] == supported_pythons()
        assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])
        assert all(
            re.fullmatch(r"[\w-]+/[\w-]+@v\d+", s["uses"]) for s in job["steps"] if "uses" in s
        )
        assert set(needs(job)) <= workflow["jobs"].keys()


def needs(job: dict[str, Any]) -> list[str]:
    return [job["needs"]] if isinstance(job.get("needs"), str) else list(job.get("needs", []))


def test_workflow_of_the_suite_runs_make_test() -> None:
    (job,) = parsed(GITHUB / "workflows" / "test.yml")["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert any(re.match(r"make test\b", command) for command in commands)
    assert re.search(r"^test:", (ROOT / "Makefile").read_text("utf-8"), re.M)


def test_wheels_are_built_on_a_tag() -> None:
    workflow = parsed(GITHUB / "workflows" / "wheels.yml")
    assert workflow[True] == {"push": {"tags": ["v*"]}}


def test_hooks_run_the_commands_of_make_lint() -> None:
    (repository,) = parsed(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert lint
    checked = {" ".join(line.split()[:2]) for line in lint[1].replace("$(BIN)/", "").splitlines()}
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    entries = {hook["entry"].removeprefix(".venv/bin/") for hook in hooks.values()}
    assert all(hook["language"] == "system" for hook in hooks.values())
    assert all(any(entry.startswith(start) for entry in entries) for start in checked), checked
    assert len(hooks) == len(checked)


@pytest.mark.parametrize("name", ["bug", "config", "proposal", "wrong-verdict"])
def test_form_for_issues_has_fields_with_their_own_ids(name: str) -> None:
    form = parsed(GITHUB / "ISSUE_TEMPLATE" / f"{name}.yml")
    if name == "config":
        assert form == {"blank_issues_enabled": True}
        return
    assert form["name"] and form["description"]
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids) > 0
    for field in form["body"]:
        assert field["type"] in ("input", "textarea", "dropdown", "checkboxes")
        assert field["attributes"]["label"]


def test_files_keep_what_editorconfig_says() -> None:
    config = configparser.ConfigParser()
    config.read_string("[top]\n" + (ROOT / ".editorconfig").read_text("utf-8"))
    assert config["top"]["root"] == "true"
    every = config["*"]
    assert every["end_of_line"] == "lf" and every["charset"] == "utf-8"
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]
    assert int(config["*.py"]["max_line_length"]) == ruff["line-length"]
    wrong = []
    for path in tracked(*TEXT):
        text = path.read_bytes().decode("utf-8")
        ends = not text or text.endswith("\n")
        if "\r" in text or not ends or re.search(r"[ \t]+$", text, re.M):
            wrong.append(str(path.relative_to(ROOT)))
    assert not wrong


MARKDOWN_CHARS_MAX = 120


def long_lines(text: str) -> list[int]:
    """Numbers of the lines over the limit; rows of tables and code cannot be wrapped."""
    found, fenced = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        code = fenced or line.startswith("    ")
        if len(line) > MARKDOWN_CHARS_MAX and not code and not line.startswith("|"):
            found.append(number)
    return found


def test_lines_of_markdown_fit_an_editor() -> None:
    config = configparser.ConfigParser()
    config.read_string("[top]\n" + (ROOT / ".editorconfig").read_text("utf-8"))
    assert int(config["*.md"]["max_line_length"]) == MARKDOWN_CHARS_MAX
    pages = tracked("*.md")
    assert len(pages) > 15
    found = {
        str(page.relative_to(ROOT)): numbers
        for page in pages
        if (numbers := long_lines(page.read_text("utf-8")))
    }
    assert found == {}


def test_links_between_pages_lead_to_a_file_and_a_heading() -> None:
    wrong = []
    for page in tracked("*.md"):
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            name, _, anchor = target.partition("#")
            if "://" in target:
                continue
            other = (page.parent / name).resolve() if name else page
            if not other.exists() or (anchor and anchor not in anchors(other)):
                wrong.append(f"{page.relative_to(ROOT)}: {target}")
    assert wrong == []


def anchors(page: Path) -> set[str]:
    """Anchors that the site makes of the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


VAGUE = re.compile(r"\b(tell|tells|told|telling)\b", re.I)


def test_pages_report_and_show_and_tell_nothing() -> None:
    """docs/glossary.md says which words replace this one."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    found = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in pages
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1)
        if VAGUE.search(line) and not line.startswith("| told, tells |")
    ]
    assert found == []
