"""`totonoe quality --stage`: our guard and Recall beside others, on public texts."""

from __future__ import annotations

import itertools
import json
import math
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from bench.stage.hnsw_only import HnswOnly
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.judging import JudgeSettings
from totonoe_core.judging.settings import has_own_judge, make_judge
from totonoe_core.text.tokens import search_terms
from totonoe_server.tools.quality.bm25 import Bm25
from totonoe_server.tools.quality.command import register
from totonoe_server.tools.quality.files import FileError
from totonoe_server.tools.quality.rig import opened
from totonoe_server.tools.quality.stage import guards, tables, texts, values
from totonoe_server.tools.quality.stage.system import Shown, load
from totonoe_server.tools.quality.stage.texts import (
    Chain,
    Group,
    LookAlike,
    Note,
    PairOfGroup,
    Role,
)
from totonoe_server.tools.testing import running_server

ROOT = Path(__file__).parents[2]


def ignore(_: int) -> None:
    """Nobody follows the progress."""


@pytest.fixture
def run() -> Callable[..., Result]:
    app = typer.Typer()
    register(app)

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--embedder", "hashing"], env={"COLUMNS": None})

    return call


def test_texts_of_a_checkout_lie_where_the_wheel_takes_them_from() -> None:
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]
    packed = hatch["build"]["targets"]["wheel"]["force-include"]
    assert texts.directory() == ROOT / "bench" / "stage"
    within = Path(texts.__file__).parent.relative_to(ROOT / "server").as_posix()
    for folder in ("groups", "chains"):
        assert packed[f"bench/stage/{folder}"] == f"{within}/data/{folder}"
    assert len(texts.read_groups()) == 300
    assert Counter(group.lang for group in texts.read_groups(2)) == dict.fromkeys(
        ("de", "en", "es", "fr", "ja", "zh"), 2
    )


def test_folder_without_texts_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_CHECKOUT", tmp_path)
    for read in (texts.read_groups, texts.read_chains):
        with pytest.raises(FileError, match="has no texts"):
            read()


def test_pairs_are_two_restatements_or_one_of_them_and_a_look_alike() -> None:
    other = (LookAlike("D", "number", "exclusive"), LookAlike("E", "less", "less"))
    pairs = texts.pairs_of([Group("en", "t", ("A", "B", "C"), other)])
    assert [group[:2] for group in pairs if group.same] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert Counter(group.relation for group in pairs) == {"same": 3, "exclusive": 3, "less": 3}


def test_figures_of_a_guard_are_shares_of_each_side() -> None:
    pairs = [
        PairOfGroup("a", "b", "same", "en"),
        PairOfGroup("a", "c", "same", "ja"),
        PairOfGroup("a", "d", "exclusive", "en"),
        PairOfGroup("a", "e", "less", "en"),
        PairOfGroup("a", "f", "less", "ja"),
        PairOfGroup("a", "g", "less", "ja"),
    ]
    row = guards.row("x", pairs, ["refused", "asked", "refused", "shown", "saved", "saved"])
    assert (row["n_same"], row["n_different"]) == (2, 4)
    assert row["refused"] == {"same": 0.5, "different": 0.25}
    assert row["asked"] == {"same": 0.5, "different": 0.0}
    assert row["shown"] == {"same": 0.0, "different": 0.25}
    assert row["by_lang"]["ja"]["refused"] == {"same": 0.0, "different": 0.0}
    assert row["refused_by_relation"] == {"exclusive": 1.0, "less": 0.0, "same": 0.5}


@pytest.mark.skipif(not has_own_judge(), reason="the model of the judge is not installed")
def test_daemon_does_with_pairs_what_the_rows_of_ours_say() -> None:
    pairs = [group for group in texts.pairs_of(texts.read_groups(1)) if group.lang in ("en", "ja")]
    pairs += [
        PairOfGroup("The nightly backup is stored in the cellar", text, "same", "en")
        for text in (
            "the nightly backup is stored in the cellar.",
            "The nightly backup is kept in the cellar",
            "The nightly backup is stored in the attic",
        )
    ]
    settings = EmbedderSettings(kind="hashing")
    judge = make_judge(JudgeSettings(kind="own"))
    try:
        with opened(settings) as rig:
            read = guards.read_all(pairs, rig, ignore)
        said = guards.opinions(read, judge, ignore)
    finally:
        judge.close()
    ours = {
        "own": [guards.with_judge(*item) for item in zip(read, said, strict=True)],
        "none": [guards.without_judge(reading) for reading in read],
    }
    assert len(set(ours["own"])) >= 3, "too few outcomes to compare"
    assert ours["own"] != ours["none"]
    for kind, expected in ours.items():
        with (
            running_server(embedder="hashing", judge=kind, judge_deadline_s=10.0) as server,
            server.client("stage") as client,
        ):
            found = []
            for number, pair in enumerate(pairs):
                beside = {"namespace": [f"pair-{number}"]}
                assert client.remember(pair.memory, **beside).saved
                answer = client.remember(pair.text, **beside)
                asked = guards.ASKED if answer.question else ""
                shown = guards.SHOWN if answer.nearest else guards.SAVED
                found.append(guards.REFUSED if not answer.saved else asked or shown)
        assert found == expected, kind


class Scripted:
    """A system that finds what it is told, and refuses what it is told."""

    name = "scripted"

    def __init__(self, found: dict[str, list[Shown]], refused: Sequence[str] = ()) -> None:
        self.found, self.refused = found, refused
        self.saved: list[str] = []

    def clear(self) -> None:
        self.saved = []

    def remember(self, text: str) -> bool:
        self.saved.append(text)
        return text not in self.refused

    def recall(self, query: str, k: int) -> list[Shown]:
        return self.found.get(query, [Shown(query)])[:k]

    def close(self) -> None:
        pass


CHANGING = Chain("en", "a", "changing", "a?", (Note(Role.OLD, "a1"), Note(Role.NOW, "a2")))
CLAIM = Chain("en", "b", "claim", "b?", (Note(Role.NOW, "b1"), Note(Role.CLAIM, "b2")))


@pytest.mark.parametrize(
    ("found", "first", "unmarked", "hidden", "marked"),
    [
        ([Shown("a2"), Shown("a1")], 1.0, 1.0, 0.0, 0.0),
        ([Shown("a1"), Shown("a2")], 0.0, 0.0, 0.0, 0.0),
        ([Shown("a1", outdated=True), Shown("a2")], 0.0, 1.0, 0.0, 1.0),
        ([Shown("a2", outdated=True)], 1.0, 0.0, 1.0, 0.0),
        ([], 0.0, 0.0, 1.0, 0.0),
    ],
)
def test_current_value_counts_if_first_and_an_old_one_if_hidden_or_marked(
    found: list[Shown], first: float, unmarked: float, hidden: float, marked: float
) -> None:
    row = values.measure(Scripted({"a?": found}), [CHANGING], ignore)
    assert (row["first"], row["first_unmarked"]) == (first, unmarked)
    assert (row["old_hidden"], row["old_marked"]) == (hidden, marked)
    assert row["true_hidden"] == 0.0


def test_true_notes_that_are_gone_or_marked_count_against_a_system() -> None:
    found = {
        "b?": [Shown("b2")],
        "b1": [Shown("b1", outdated=True)],
        "a2": [Shown("other")],
    }
    told: list[int] = []
    system = Scripted(found)
    row = values.measure(system, [CHANGING, CLAIM], told.append)
    assert system.saved == ["a1", "b1", "a2", "b2"], "the notes of all chains by turns"
    assert row["by_kind"]["claim"]["first"] == 0.0
    assert (row["true_hidden"], row["true_marked"]) == (0.5, 0.5)
    assert row["by_kind"]["claim"]["old_hidden"] is None
    assert sum(told) == values.cost([CHANGING, CLAIM])


def plain_bm25(written: Sequence[str], query: str) -> list[int]:
    """The formula word by word: idf x tf x 2.2 / (tf + 1.2 x (0.25 + 0.75 x length / mean))."""
    found = []
    lengths = [len(search_terms(text)) for text in written]
    for at, text in enumerate(written):
        weight = 0.0
        for term in set(search_terms(query)):
            holders = sum(term in search_terms(wording) for wording in written)
            count = search_terms(text).count(term)
            idf = math.log(1.0 + (len(written) - holders + 0.5) / (holders + 0.5))
            norm = 0.25 + 0.75 * lengths[at] * len(written) / sum(lengths)
            weight += idf * count * 2.2 / (count + 1.2 * norm)
        if weight:
            found.append((weight, at))
    return [at for _, at in sorted(found, reverse=True)]


def test_bm25_is_its_formula_and_puts_the_newest_of_equals_first() -> None:
    written = [
        "zebra zebra",
        "zebra at noon",
        "heron",
        "zebra at noon",
        "冷蔵庫の鍵",
        "the heron's zebra",
    ]
    index = Bm25(written)
    for query in ("zebra", "heron at noon", "鍵", "zebra heron noon", "ostrich"):
        assert index.best(query, 10) == plain_bm25(written, query), query
    assert index.best("zebra", 10)[0] == 0
    assert index.best("zebra", 10).index(3) + 1 == index.best("zebra", 10).index(1)
    assert index.best("zebra", 1) == [0]
    assert Bm25([]).best("zebra", 10) == []


def by_letters(texts_: Sequence[str]) -> np.ndarray:
    """Unit vectors by the letters of a text."""
    found = np.array([[text.count(chr(97 + at)) for at in range(26)] for text in texts_], "f4")
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_example_of_a_system_refuses_what_is_near_and_finds_the_nearest() -> None:
    system = HnswOnly(by_letters)
    assert system.recall("lamp", 3) == []
    assert [system.remember(text) for text in ("the lamp", "lamp the", "a kettle")] == [
        True,
        False,
        True,
    ]
    assert system.recall("kettle", 1) == [Shown("a kettle")]
    assert [result.text for result in system.recall("lamp", 9)] == ["the lamp", "a kettle"]
    pairs = [PairOfGroup("the lamp", text, "same", "en") for text in ("lamp the", "a kettle")]
    assert guards.one_by_one(system, pairs, ignore) == ["refused", "saved"]
    assert system.recall("lamp", 1) == [], "a pair must not see the one before it"


def test_example_of_the_page_runs_as_it_stands() -> None:
    page = (ROOT / "docs" / "quality.md").read_text("utf-8")
    block = page.partition("    # my_system.py\n")[2].partition("    totonoe quality")[0]
    names: dict[str, Any] = {}
    exec(textwrap.dedent(block), names)  # the page's own code
    system = names["Plain"](by_letters)
    pairs = [PairOfGroup("the lamp", text, "same", "en") for text in ("the lamp", "a kettle")]
    assert guards.one_by_one(system, pairs, ignore) == ["refused", "saved"]
    assert values.measure(system, [CHANGING, CLAIM], ignore)["name"] == "plain"


def test_cosine_and_words_find_the_newest_of_equals_first() -> None:
    for system in (values.Cosine(by_letters), values.Words()):
        for text in ("gate code 1234", "an oak", "gate code 5678"):
            assert system.remember(text)
        assert not system.remember("an oak")
        assert [result.text for result in system.recall("gate code", 2)] == [
            "gate code 5678",
            "gate code 1234",
        ]
        system.clear()
        assert system.recall("gate code", 2) == []


@pytest.mark.parametrize("name", ["", "json", "json:", ":loads", "json:gone", "no_such_module:x"])
def test_system_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(FileError, match="--system"):
        load(name)


def test_system_of_the_current_directory_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_system_of_stage.py").write_text("def make(embed):\n    return embed\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    assert load("my_system_of_stage:make")(by_letters) is by_letters


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--stage", "--probe"], "stands alone"),
        (["--stage", "x.jsonl"], "stands alone"),
        (["--stage", "--policy", "ego"], "stands alone"),
        (["--stage", "--level", "turn"], "stands alone"),
        (["--stage", "--form", "locomo"], "stands alone"),
        (["--stage", "--limit", "1", "--system", "bench.stage.mem0_oss:Mem0"], "mem0"),
        (
            [
                *("--stage", "--limit", "1", "--system"),
                "bench.stage.mcp_memory_service:McpMemoryService",
            ],
            "mcp-memory-service",
        ),
        (["--system", "a:b", "--probe"], "needs --stage"),
        (["--stage", "--system", "a"], "must be MODULE:NAME"),
        ([], "name a file, --probe or --stage"),
    ],
)
def test_wrong_use_of_the_stage_is_exit_code_2(
    run: Callable[..., Result], arguments: list[str], says: str
) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert says in done.stderr


def test_command_prints_a_row_for_each_guard_and_each_memory(run: Callable[..., Result]) -> None:
    done = run("--stage", "--limit", "1", "--system", "bench.stage.hnsw_only:HnswOnly", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    ours = ["totonoe, no judge", *(["totonoe"] if has_own_judge() else [])]
    thresholds = [f"cosine {least:.2f}" for least in (0.85, 0.92, 0.95, 0.97)]
    assert [row["name"] for row in report["groups"]["guards"]] == [
        *thresholds,
        "word Jaccard 0.70",
        HnswOnly.name,
        *ours,
    ]
    rows = {row["name"]: row for row in report["groups"]["guards"]}
    # The index counts in float32: a pair at the threshold may fall on either side.
    assert rows[HnswOnly.name]["refused"]["different"] == pytest.approx(
        rows["cosine 0.95"]["refused"]["different"], abs=0.02
    )
    refused = [rows[name]["refused"]["different"] for name in thresholds]
    assert all(item >= other for item, other in itertools.pairwise(refused))
    assert [row["name"] for row in report["chains"]["systems"]] == [
        "BM25",
        "cosine",
        HnswOnly.name,
        "totonoe",
        "totonoe, supersedes",
    ]
    assert report["chains"]["n"] == 4
    drawn = tables.guards(report["groups"]), tables.chains(report["chains"])
    assert [table.row_count for table in drawn] == [6 + len(ours), 5]
    assert len(drawn[1].columns) == 2 + 1 + 2, "kinds that were left out have no column"
