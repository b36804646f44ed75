"""`totonoe quality` on the real engine with the embedder `hashing`."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import PRESETS, Preset
from totonoe_core.domain.records import Fields
from totonoe_core.embedding import EmbedderSettings
from totonoe_server.tools.quality import pairs, questions
from totonoe_server.tools.quality.command import register
from totonoe_server.tools.quality.files import BenchmarkNote, BenchmarkPair, Question
from totonoe_server.tools.quality.rig import opened

TEXTS = [
    ("The kettle holds two litres.", "The kettle holds two litres."),
    ("The kettle holds two litres.", "the kettle holds two litres"),
    ("The kettle holds two litres.", "The kettle holds three litres."),
    ("The kettle holds 2 litres of water when full", "the kettle holds 2 litres of water if full"),
    ("The kettle is on the blue shelf", "The kettle is on  the blue shelf"),
    ("Close the window at night.", "Do not close the window at night."),
    ("夜は窓を閉める。", "夜は窓を閉める"),
    ("夜は窓を閉める。", "夜は窓を閉めない。"),
    ("窗户晚上要关上", "窗户晚上不要关上"),
    ("!!!", "???"),
    ("Anna phones Bert", "Bert phones Anna"),
    ("The gate opens at 7", "Nothing in common here"),
]
ROWS = [
    {
        "id": f"p{at}",
        "lang": "en" if a.isascii() else "other",
        "a": a,
        "b": b,
        "label": [1, 1, 0, 0, None, 0, 1, 0, 0, 0, 0, 0][at],
        "score": None,
        "source": "here",
        "meta": {"kind": "odd" if at % 2 else "even"},
    }
    for at, (a, b) in enumerate(TEXTS)
]
STREAM = [
    {"id": "s0", "text": "The kettle holds two litres.", "dup_of": None, "kind": "new"},
    {"id": "s1", "text": "The kettle holds three litres.", "dup_of": None, "kind": "new"},
    {"id": "s2", "text": "The kettle holds  two litres.", "dup_of": "s0", "kind": "repeat"},
    {"id": "s3", "text": "Two litres fit into the kettle.", "dup_of": "s0", "kind": "paraphrase"},
]
STREAM[1]["differs_from"] = ["s0"]
MEMORIES = [
    ("note", "x", "n0", "Berta keeps the spare keys in the green drawer.", "2020-03-01T10:00:00"),
    ("note", "x", "n1", "The heating is switched off from May to September.", None),
    ("note", "x", "n2", "Berta keeps the spare keys in the green drawer.", "2021-03-01T10:00:00"),
    ("note", "y", "n3", "The tram to the harbour leaves every nine minutes.", None),
    ("talk", "x", "t0", "I put the spare keys in the green drawer, said Berta.", None),
]
QUERIES = [
    ("x", "q0", "Where are the spare keys?", ["t0"], ["n2"], "place"),
    ("x", "q1", "When is the heating off?", [], ["n1"], "time"),
    ("y", "q2", "How often does the tram to the harbour leave?", [], ["n3"], "time"),
    ("y", "q3", "Who lives upstairs?", [], [], "place"),
]


@pytest.fixture(scope="module")
def rig():
    with opened(EmbedderSettings(kind="hashing")) as rig:
        yield rig


@pytest.fixture
def run():
    """Runs the command; gives its result, and the report if it printed one."""
    app = typer.Typer()
    register(app)

    def call(*arguments):
        wide = {"COLUMNS": None}
        done = CliRunner().invoke(app, [*map(str, arguments), "--embedder", "hashing"], env=wide)
        report = json.loads(done.stdout) if done.stdout.startswith("{") else None
        return done, report

    return call


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def ignore(_):
    """Nobody follows the progress."""


@pytest.mark.parametrize("preset", list(Preset))
def test_pairs_are_judged_as_the_engine_decides(rig, preset):
    policy = PRESETS[preset]
    vectors = rig.vectors([text for two in TEXTS for text in two], ignore).reshape(
        len(TEXTS), 2, -1
    )
    for (a, b), two in zip(TEXTS, vectors, strict=True):
        judged = pairs.judge(BenchmarkPair("", "", a, b, None, ""), two, policy, rig.model)
        with rig.collection(policy) as name:
            [first, second] = rig.remember(
                name, [Remember("me", text, Fields()) for text in (a, b)], ignore
            )
        assert first.saved
        assert judged.refused is not second.saved, (a, b)
        assert judged.method is second.guard.method, (a, b)


def test_vectors_come_in_the_order_asked_and_count_every_text(rig):
    told = []
    texts = ["one", "two", "one", *(f"text {at}" for at in range(300))]
    vectors = rig.vectors(texts, told.append)
    assert sum(told) == len(texts)
    assert (vectors[0] == vectors[2]).all()
    assert (vectors[0] != vectors[1]).any()
    assert rig.vectors([], ignore).shape == (0, vectors.shape[1])


def test_pairs_report_has_every_figure(run, tmp_path):
    file = write(tmp_path / "pairs.jsonl", ROWS)
    done, report = run(file, "--json")
    assert done.exit_code == 0, done.output
    assert report["policy"] == "standard"
    [found] = report["files"]
    assert (found["form"], found["n"], found["n_unlabelled"]) == ("pairs", 11, 1)
    assert found["false_merge_rate"] == 0.0
    assert found["duplicate_recall"] >= 0.333333
    assert 0.0 <= found["auc_cosine"] <= 1.0
    assert set(found["by_lang"]) == {"en", "other"}
    assert set(found["by_kind"]) == {"even", "odd"}
    assert sum(part["n"] for part in found["by_kind"].values()) == 11


PROBE = [
    {"id": "en-number-1", "class": "number", "a": "The port is 8080", "b": "The port is 8081",
     "verdict": "update"},
    {"id": "en-format-1", "class": "format", "a": "The port is 8080", "b": "the port is 8080!",
     "verdict": "duplicate"},
    {"id": "en-cross_language-1", "class": "cross_language", "a": "Tea is hot", "b": "茶很热",
     "verdict": "duplicate"},
]  # fmt: skip


def test_probe_rows_are_told_by_verdict_and_beside_every_guard(run, tmp_path):
    done, report = run(write(tmp_path / "probe.jsonl", PROBE), "--json")
    assert done.exit_code == 0, done.output
    [found] = report["files"]
    assert (found["n"], found["n_uncounted"]) == (2, 1)
    assert (found["false_merge_rate"], found["duplicate_recall"]) == (0.0, 1.0)
    assert found["verdict_accuracy"] == 1.0
    assert set(found["by_kind"]) == {"number", "format", "cross_language"}
    assert set(found["beside"]) == set(pairs.GUARDS)
    assert found["beside"]["standard"]["duplicate_recall"] == 1.0
    # Two of three words: 2 shared of 4.
    assert found["beside"]["Jaccard 0.70"]["false_merge_rate"] == 0.0
    assert found["beside"]["cosine 0.85"]["duplicate_recall"] == 1.0


def test_policy_has_the_figures_of_its_name_beside(run, tmp_path):
    file = write(tmp_path / "pairs.jsonl", ROWS)
    for policy in Preset:
        _, report = run(file, "--json", "--policy", policy.value)
        [found] = report["files"]
        for name, value in found["beside"][policy.value].items():
            assert found[name] == value


def test_shipped_probe_set_comes_first(run, tmp_path):
    file = write(tmp_path / "pairs.jsonl", ROWS)
    done, report = run("--probe", file, "--limit", "2", "--json")
    assert done.exit_code == 0, done.output
    assert [item["file"].rpartition("/")[2] for item in report["files"]] == [
        "en.jsonl", "ja.jsonl", "zh.jsonl", "pairs.jsonl",
    ]  # fmt: skip


def test_nothing_to_measure_is_said(run):
    done, _ = run()
    assert done.exit_code == 2
    assert "name a file, --probe or --stage" in done.output


def test_policy_changes_the_verdict(run, tmp_path):
    file = write(tmp_path / "pairs.jsonl", ROWS)
    _, strict = run(file, "--json")
    _, loose = run(file, "--json", "--policy", "robotmem")
    assert loose["files"][0]["false_merge_rate"] > strict["files"][0]["false_merge_rate"]


def test_stream_runs_in_order_and_twice_the_same(run, tmp_path):
    file = write(tmp_path / "stream.jsonl", STREAM)
    done, report = run(file, "--json")
    assert done.exit_code == 0, done.output
    [found] = report["files"]
    assert found["refused_by_method"] == {"exact": 1}
    assert (found["precision"], found["named_right"]) == (1.0, 1.0)
    assert (found["lookalikes_lost"], found["lookalikes"]) == (0, 1)
    assert found["recall"] == 0.5
    assert 0.0 <= found["repeated_places_folded"] <= found["repeated_places_unfolded"] < 1.0
    assert run(file, "--json")[1] == report


@pytest.fixture
def recall_file(tmp_path):
    fields = ("level", "conv", "id", "text", "time")
    write(
        tmp_path / "home_queries.jsonl",
        [
            {"conv": conv, "id": id_, "question": text, "category": category}
            | {"evidence_ids": turns, "evidence_obs_ids": notes}
            for conv, id_, text, turns, notes, category in QUERIES
        ],
    )
    return write(
        tmp_path / "home_memories.jsonl",
        [dict(zip(fields, memory, strict=True)) for memory in MEMORIES],
    )


def test_recall_reports_every_level_by_itself(run, recall_file):
    done, report = run(recall_file, "--json")
    assert done.exit_code == 0, done.output
    note, talk = report["files"]
    assert (note["level"], note["n"], note["n_memories"]) == ("note", 3, 4)
    assert (talk["level"], talk["n"], talk["n_memories"]) == ("talk", 1, 1)
    # The evidence of q0 was refused as a duplicate of n0, and counts through it.
    assert note["refused_by_method"] == {"exact": 1}
    assert note["n_without_evidence"] == 1
    assert note["recall_at_5"] == {"diversity_on": 1.0, "diversity_off": 1.0, "bm25": 1.0}
    assert set(note["by_category"]) == {"place", "time"}
    assert note["by_category"]["time"]["n"] == 2


def test_recall_file_is_measured_once_when_both_halves_are_named(run, recall_file):
    queries = recall_file.with_name("home_queries.jsonl")
    _, report = run(queries, recall_file, "--json", "--level", "note", "--limit", 1)
    [found] = report["files"]
    assert found["n"] == 1


def test_search_stays_within_the_conversation(rig):
    told = [
        BenchmarkNote("a", "x", "", "", None, "The bakery opens at six."),
        BenchmarkNote("b", "y", "", "", None, "The bakery opens at seven."),
    ]
    asked = [Question("q", "y", "When does the bakery open?", "", frozenset({"a", "b"}))]
    found = questions.measure(told, asked, PRESETS[Preset.STANDARD], rig, ignore)
    assert found["recall_at_1"] == {"diversity_on": 1.0, "diversity_off": 1.0, "bm25": 1.0}


@pytest.mark.parametrize(("thread", "rank_share"), [("talk", 0.5), ("", 0.0)])
def test_thread_of_a_file_lets_a_turn_be_found_beside_its_question(rig, thread, rank_share):
    said = ["Does the bakery open at six?", "Yes, always!"]
    told = [BenchmarkNote(str(at), "x", "", "", None, text, thread) for at, text in enumerate(said)]
    told += [
        BenchmarkNote(f"o{at}", "x", "", "", None, f"Bakery van {at} is blue.") for at in range(12)
    ]
    asked = [Question("q", "x", "bakery open at six", "", frozenset({"1"}))]
    found = questions.measure(told, asked, PRESETS[Preset.STANDARD], rig, ignore)
    # Second, after the question that it answers.
    assert found["mrr"]["diversity_off"] == rank_share


def test_progress_comes_to_the_end(rig):
    told = [BenchmarkNote(str(at), "x", "", "", None, f"Shelf {at} is full.") for at in range(5)]
    asked = [Question("q", "x", "Which shelf?", "", frozenset({"1"}))]
    done = []
    questions.measure(told, asked, PRESETS[Preset.STANDARD], rig, done.append)
    assert sum(done) == questions.cost(told, asked)


def test_tables_show_every_form(run, tmp_path, recall_file):
    done, _ = run(
        write(tmp_path / "pairs.jsonl", ROWS), write(tmp_path / "s.jsonl", STREAM), recall_file
    )
    assert done.exit_code == 0, done.output
    for words in ("false merges", "look-alikes lost", "home_memories.jsonl note", "MRR"):
        assert words in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("gone.jsonl",), "gone.jsonl: No such file"),
        (("{file}", "--level", "deep"), "--level deep: no file has this level"),
        (("{bad}",), "bad.jsonl: row 2: text"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(run, tmp_path, arguments, says):
    file = write(tmp_path / "s.jsonl", STREAM)
    bad = write(tmp_path / "bad.jsonl", [STREAM[0], STREAM[1] | {"text": " "}])
    done, _ = run(*(argument.format(file=file, bad=bad) for argument in arguments))
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_embedder_none_is_refused(tmp_path):
    app = typer.Typer()
    register(app)
    file = write(tmp_path / "s.jsonl", STREAM)
    done = CliRunner().invoke(app, [str(file), "--embedder", "none"])
    assert done.exit_code == 2
    assert "none makes no vectors" in done.stderr
