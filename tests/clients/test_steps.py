"""Each next step that a command prints, typed as printed, changes what the command was about."""

from __future__ import annotations

import ast
import itertools
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.likelihood import Likelihood
from support.probes import small_probe
from totonoe import steps
from totonoe.cli import main, stepping
from totonoe.cli.main import app
from totonoe.console.settings import Settings
from totonoe_core.domain.records import Finding, Verdict
from totonoe_core.engine.collection import calibrating
from totonoe_server.tools.testing import RunningServer, running_server

CLI = Path(main.__file__).parent
LINE = re.compile(r"totonoe (?:(?!, then |`).)+")
AGENT = "ann smith"
"""Needs quotes."""
GOOGLE, META = "Anna works at Google.", "Anna works at Meta."
NIGHT = "The backup of the wiki runs at night"
LATELY = NIGHT.replace(" at ", " this ")
NIGHTLY, EACH = NIGHT.replace(" at ", " every "), NIGHT.replace(" at ", " each ")
VARIABLES = ("TOTONOE_ADDRESS", "TOTONOE_AGENT", "TOTONOE_COLLECTION")
ELSEWHERE = {
    "commands.consolidate._review": "at a terminal: test_cli_consolidate.py",
    "commands.consolidate.consolidate": "after Ctrl-C: test_consolidate.py",
    "commands.reembed.reembed": "after Ctrl-C: test_reembed.py",
    "commands.transfer.export": "with damaged rows: test_transfer.py",
    "show.reembed.reembedded": "under way: test_reembed.py",
    "show.snapshots.goes_on": "after a deadline: test_snapshot_calls.py",
}
"""Lines that no command of a sound daemon prints here, with the test that has them."""


class Terminal:
    """Runs commands in one collection, and types each line that they print in a new terminal."""

    def __init__(self, server: RunningServer, collection: str, by_option: bool) -> None:
        self.server = server
        place = {
            "--address": server.address, "--agent": AGENT, "--collection": collection
        }  # fmt: skip
        self._options = [word for pair in place.items() for word in pair] if by_option else []
        self._variables = {} if by_option else dict(zip(VARIABLES, place.values(), strict=True))
        self.typed: list[str] = []

    def run(self, *words: str, stdin: str | None = None) -> str:
        """Run a command, type what it prints, and what that prints."""
        shown = self.quiet(*words, stdin=stdin)
        for line in LINE.findall(shown):
            self._type(line, further=True)
        return shown

    def quiet(self, *words: str, stdin: str | None = None) -> str:
        """Run a command, and return its output; nothing of it is typed."""
        call = [*words[:1], *self._options, *words[1:]]
        result = CliRunner().invoke(app, call, env=self._variables, input=stdin)
        assert result.exit_code in (0, 1, 3), (words, result.output)
        return result.output

    def remember(self, *words: str) -> str:
        """Save a text, and return its id."""
        return ids(self.quiet("remember", *words))[0]

    def _type(self, line: str, further: bool) -> None:
        before = self._default()
        result = CliRunner().invoke(app, shlex.split(line)[1:], env=dict.fromkeys(VARIABLES))
        # What stands in the way of an undo stands there still; what is purged is not there.
        codes = (0, 1) if {"--partial", "--snapshots"} & {*line.split()} else (0, 3)
        assert result.exit_code in codes, (line, result.output)
        assert self._default() == before, line
        self.typed.append(line)
        for next_line in LINE.findall(result.output) if further else ():
            self._type(next_line, further=False)

    def _default(self) -> object:
        """What would change if a line went to the default collection."""
        with self.server.client(AGENT) as client:
            return client.operations(page_size=1).operations, client.get_collection("default")


def ids(shown: str) -> list[str]:
    return re.findall(r"(?:mem|ep|snap)_[0-9a-f]+", shown)


# -- what commands print


def questions(terminal: Terminal) -> None:
    for text in (NIGHT, NIGHTLY, EACH):
        terminal.remember(text)
    terminal.run("questions", "--limit", "1")
    terminal.run("audit")


def an_update_asks(terminal: Terminal) -> None:
    terminal.remember(NIGHT)
    terminal.run("remember", EACH)
    other = terminal.remember("Something else")
    terminal.run("update", other, "--content", NIGHTLY)


def an_answer_shows_the_nearest(terminal: Terminal) -> None:
    terminal.remember(NIGHT)
    terminal.run("remember", LATELY)


def an_update_may_replace(terminal: Terminal) -> None:
    terminal.remember(GOOGLE)
    terminal.run("remember", META, "--on-update", "supersede")


def waiting(terminal: Terminal) -> None:
    terminal.quiet("collections", "update", "--set", "guard.review_from=external")
    terminal.run("remember", NIGHT, "--source", "external")
    terminal.run("remember", NIGHT, "--source", "external")
    terminal.quiet("remember", "Elephants are large.", "--source", "external")
    page = ids(terminal.run("questions", "--limit", "1"))[0]
    terminal.quiet("remember", NIGHT, "--source", "user")
    terminal.run("review", page, "confirm")


def forgotten(terminal: Terminal) -> None:
    first = terminal.remember(NIGHT)
    terminal.quiet("forget", first)
    terminal.run("check", NIGHT)
    terminal.run("forget", terminal.remember(EACH))
    terminal.quiet("collections", "update", "--set", "guard.refuse_forgotten=true")
    terminal.quiet("forget", terminal.remember("It's a secret: $HOME"))
    terminal.run("remember", "It's a secret: $HOME", "--operation-id", "op_1")


def saved_again(terminal: Terminal) -> None:
    terminal.quiet("forget", terminal.remember(NIGHT))
    terminal.run("remember", NIGHT)


def undos(terminal: Terminal) -> None:
    first = terminal.remember(NIGHT)
    terminal.quiet("update", first, "--importance", "2")
    terminal.quiet("update", first, "--importance", "4")
    terminal.run("undo", "2")
    terminal.quiet("undo", "1", "--reason", "not now", "--partial")
    terminal.run("undo", "3")
    terminal.run("undo", "3")
    terminal.run("operations", "--limit", "1")
    terminal.run("history", first, "--limit", "1")


def an_undo_repeats(terminal: Terminal) -> None:
    terminal.quiet("forget", terminal.remember(NIGHT))
    terminal.remember(NIGHT)
    terminal.run("undo", "2", "--reason", "it was right")


def clean_up(terminal: Terminal) -> None:
    for _ in range(3):
        terminal.remember(NIGHT, "--force")
    terminal.run("clean-up", "--limit", "1", "--reason", "why not")
    terminal.run("clean-up", "--apply", "--limit", "1")
    terminal.quiet("collections", "update", "--set", "blast.rows_min=1")
    terminal.run("clean-up", "--apply")
    terminal.run("clean-up", "--apply")
    terminal.run("decay", "--close-below", "0.9")
    terminal.run("decay", "--close-below", "0.9", "--dry-run")


def decay_and_sessions(terminal: Terminal) -> None:
    for text in (NIGHT, NIGHTLY, EACH):
        terminal.remember(text, "--session", "one")
    terminal.run("end-session", "one")
    terminal.run("decay", "--close-below", "0.9")


def tidy(terminal: Terminal) -> None:
    for _ in range(3):
        terminal.remember(NIGHT, "--force")
    terminal.run("tidy")
    terminal.run("tidy", "--apply")
    plan = {"op": "close", "state_id": terminal.remember(EACH)}
    terminal.run("tidy", "--apply-plan", "-", stdin=json.dumps({"state_updates": [plan]}))
    terminal.run("tidy", "--apply")
    terminal.quiet("collections", "update", "--set", "blast.rows_min=1")
    terminal.run("tidy", "--apply")
    terminal.run("tidy")


def links(terminal: Terminal) -> None:
    first, second = terminal.remember(NIGHT), terminal.remember("Ann likes tea")
    terminal.quiet("recall", "the backup")
    terminal.quiet("recall", "the backup of Ann")
    terminal.run("consolidate", "--window-hours", "0")
    terminal.run("dismiss", first, second)
    terminal.run("merge", first, second)
    terminal.run("get", first, "--as-of", "0")
    terminal.remember("A third one")
    terminal.run("get", terminal.remember("A fourth one"), "--as-of", "1")


def pages(terminal: Terminal) -> None:
    first, second = terminal.remember(NIGHT), terminal.remember("Ann likes tea")
    terminal.run("list", "--limit", "1")
    terminal.quiet("episodes", "create", "A day", first)
    episode = ids(terminal.quiet("episodes", "create", "Another", second))[0]
    terminal.run("episodes", "list", "--limit", "1")
    terminal.run("episodes", "delete", episode)


def snapshots(terminal: Terminal) -> None:
    first = terminal.remember(NIGHT)
    snapshot = ids(terminal.quiet("snapshot", "create"))[0]
    terminal.quiet("snapshot", "create")
    terminal.run("snapshot", "list", "--limit", "1")
    terminal.run("snapshot", "restore", snapshot, "taken", "--yes")
    terminal.run("snapshot", "restore", snapshot, "taken", "--yes")
    terminal.run("purge", first, "--yes")
    terminal.quiet("collections", "create", "short")
    terminal.run("collections", "delete", "short", "--yes")


def a_store(terminal: Terminal) -> None:
    store = terminal.server.data_dir.parent / "memory.jsonl"
    said = {"type": "entity", "name": "The wiki", "entityType": "site"}
    rows = [said | {"observations": [text]} for text in (NIGHT, NIGHTLY)]
    store.write_text("\n".join(map(json.dumps, rows)))
    terminal.run("import", str(store), "--from", "mcp-memory")


TOPICS = (
    questions, an_update_asks, an_answer_shows_the_nearest, an_update_may_replace, waiting,
    forgotten, saved_again, undos, an_undo_repeats, clean_up, decay_and_sessions, tidy, links,
    pages, snapshots, a_store,
)  # fmt: skip


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Functions of the command line that print a step, as they do: `show.graph.merged`."""
    found: set[str] = set()
    write = steps.line

    def noted(place: steps.Place, *words: str, collection: str | None = None) -> str:
        frame = sys._getframe(1)
        while frame.f_code.co_filename == stepping.__file__:
            assert frame.f_back is not None
            frame = frame.f_back
        found.add(named(Path(frame.f_code.co_filename), frame.f_code.co_qualname))
        return write(place, *words, collection=collection)

    monkeypatch.setattr(steps, "line", noted)
    return found


def named(path: Path, function: str) -> str:
    module = ".".join(path.relative_to(CLI).with_suffix("").parts)
    return f"{module}.{function.partition('.<locals>')[0]}"


def printing() -> Iterator[str]:
    """Functions in whose text a step stands."""
    for path in CLI.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and path.name != "stepping.py":
                calls = [item.func for item in ast.walk(node) if isinstance(item, ast.Call)]
                if {"step", "again"} & {call.id for call in calls if isinstance(call, ast.Name)}:
                    yield named(path, node.name)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Settings of each console that a line starts; none of them serves."""
    found: list[Settings] = []

    def serve(settings: Settings, opens: bool) -> None:
        assert opens
        found.append(settings)

    monkeypatch.setattr("totonoe.console.serving.serve", serve)
    return found


@pytest.mark.timeout(300)
def test_every_printed_line_changes_the_collection_that_it_is_about(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, printed: set[str], shown: list[Settings]
) -> None:
    likely = Likelihood(monkeypatch)
    for combination, other in itertools.combinations((NIGHT, NIGHTLY, EACH), 2):
        likely.say(combination, other, 0.86)
        likely.say(f"The wiki: {combination}", f"The wiki: {other}", 0.86)
    likely.say(NIGHT, LATELY, 0.34)
    likely.say(GOOGLE, META, 0.0, Verdict.UPDATE, finding=Finding.NAME)
    monkeypatch.setattr(calibrating, "probe_pairs", small_probe)
    typed: list[str] = []
    data_dir = tmp_path / "data"
    with (
        running_server(data_dir, embedder_dimension=64) as server,
        server.client(AGENT) as client,
    ):
        # Whatever goes to the default collection by mistake finds something there.
        for number in range(40):
            client.remember(f"Number {number}", force=True)
        for number, topic in enumerate(TOPICS):
            client.create_collection(topic.__name__)
            terminal = Terminal(server, topic.__name__, by_option=bool(number % 2))
            topic(terminal)
            assert terminal.typed, topic
            typed += terminal.typed
    with running_server(data_dir, embedder_dimension=96) as server:
        terminal = Terminal(server, "pages", by_option=True)
        terminal.run("recall", "tea", "--mode", "vector")
        typed += terminal.typed
    # Whether a re-embedding is under way still when it is answered depends on the machine.
    elsewhere = set(printing()) - printed | {"show.reembed.reembedded"}
    assert elsewhere == set(ELSEWHERE)
    assert len(typed) > 60
    assert {settings.agent for settings in shown} == {AGENT}
    assert {settings.collection for settings in shown} == {"questions", "a_store"}


@pytest.mark.parametrize(
    "word",
    ["plain", "it's", "two words", "", "$HOME `id`", "a\nb's \\n", "日本 \u202e", "-x"],
)
def test_word_reaches_the_command_through_a_shell(word: str) -> None:
    line = steps.line(steps.Place(), "undo", word)
    echoed = line.replace("totonoe undo", "printf %s", 1)
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", echoed], capture_output=True, check=True)
    assert done.stdout.decode() == word
