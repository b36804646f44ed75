"""What `totonoe quality` reads, counts and defines; nothing here runs an engine."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from types import SimpleNamespace

import numpy as np
import pytest

from totonoe_core.domain.records import Method
from totonoe_server.tools.quality import figures, files, streams
from totonoe_server.tools.quality.files import FileError, Form, Item


def write(path, rows, *, compress=False):
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if compress else data)
    return path


PAIR = {"id": "p", "lang": "en", "a": "tea is hot", "b": "tea is cold", "label": 0}
ITEM = {"id": "s", "text": "the lamp is on", "dup_of": None}
MEMORY = {"id": "m", "conv": "c", "text": "the lamp is on"}
QUERY = {"id": "q", "conv": "c", "question": "is it on?", "evidence_ids": ["m"]}


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize(
    ("row", "form"),
    [
        (PAIR, Form.PAIRS),
        (ITEM, Form.STREAM),
        (MEMORY, Form.RECALL),
        (QUERY, Form.RECALL),
    ],
)
def test_form_is_recognised_by_the_first_row(tmp_path, row, form, compress):
    assert files.form_of(write(tmp_path / "x.jsonl", [row], compress=compress)) is form


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "has no rows"),
        (b'{"text": "x"}\n', "neither pairs"),
        (b"[1]\n", "1: is no JSON object"),
        (b'{"a": \n', "1: is no JSON"),
        (b"\xff\xfe\n", "is not UTF-8"),
        (b"\x1f\x8b\x08 cut", "x.jsonl:"),
    ],
)
def test_form_of_a_wrong_file_names_it(tmp_path, content, says):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(FileError, match=says):
        files.form_of(path)


def test_form_of_a_missing_file_names_it(tmp_path):
    with pytest.raises(FileError, match=r"gone\.jsonl: No such file"):
        files.form_of(tmp_path / "gone.jsonl")


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_partners_are_found_from_either_name(tmp_path, suffix):
    memories = write(tmp_path / f"a_memories{suffix}", [MEMORY])
    queries = write(tmp_path / f"a_queries{suffix}", [QUERY])
    assert files.partners(memories) == files.partners(queries) == (memories, queries)


@pytest.mark.parametrize("name", ["a_memories.jsonl", "a.jsonl"])
def test_partner_that_is_not_there_is_an_error(tmp_path, name):
    with pytest.raises(FileError, match=name):
        files.partners(write(tmp_path / name, [MEMORY]))


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (PAIR | {"label": 2}, "row 1: label is 2"),
        ({"id": "p", "a": "x", "b": "y"}, "row 1: has no field 'label'"),
        (PAIR | {"a": 3}, "row 1: a is int, must be text"),
    ],
)
def test_row_that_is_wrong_is_named(tmp_path, row, says):
    with pytest.raises(FileError, match=says):
        files.read_pairs(write(tmp_path / "x.jsonl", [row]))


PROBE = {"id": "en-number-1", "class": "number", "a": "x is 1", "b": "x is 2", "verdict": "update"}


def test_probe_rows_have_label_language_and_verdicts(tmp_path):
    told = {"id": "zh-cross_language-1", "class": "cross_language", "verdict": "duplicate"}
    path = write(tmp_path / "x.jsonl", [PROBE | {"also": ["related"]}, PROBE | told])
    assert files.form_of(path) is Form.PAIRS
    [number, other] = files.read_pairs(path)
    assert (number.lang, number.kind, number.label) == ("en", "number", 0)
    assert number.verdicts == ("update", "related")
    assert (other.lang, other.label, other.counts) == ("zh", 1, False)
    assert number.counts


def test_probe_row_with_an_unknown_verdict_is_named(tmp_path):
    with pytest.raises(FileError, match="row 1: 'same'"):
        files.read_pairs(write(tmp_path / "x.jsonl", [PROBE | {"verdict": "same"}]))


def test_questions_carry_evidence_of_every_level(tmp_path):
    path = write(tmp_path / "x.jsonl", [QUERY | {"evidence_obs_ids": ["o"], "category": 3}])
    [question] = files.read_questions(path)
    assert question.evidence_ids == {"m", "o"}
    assert question.category == "3"


def test_times_without_a_zone_are_utc(tmp_path):
    path = write(tmp_path / "x.jsonl", [MEMORY | {"time": "2024-01-01T00:00:00"}])
    [told] = files.read_memories(path)
    assert told.created_us == 1_704_067_200_000_000


# -- Arithmetic


def test_auc_counts_ties_half_like_every_pair_by_hand():
    generator = random.Random(7)
    for _ in range(50):
        values = [generator.randrange(5) / 4 for _ in range(12)]
        same = [generator.random() < 0.5 for _ in values]
        wins = [
            (value > other) + (value == other) / 2
            for (value, a), (other, b) in itertools.product(
                zip(values, same, strict=True), repeat=2
            )
            if a and not b
        ]
        found = figures.auc(np.array(values), np.array(same))
        if wins:
            assert found == pytest.approx(sum(wins) / len(wins), abs=1e-6)
        else:
            assert found is None


def test_share_of_nothing_is_none():
    assert figures.share(0, 0) is None
    assert figures.mean([]) is None
    assert figures.percentile([], 50) is None


def test_recall_counts_each_piece_of_evidence_once():
    evidence = [{"a", "a2"}, {"b"}]
    assert figures.recall_at(["a", "a2", "x"], evidence, 3) == 0.5
    assert figures.recall_at(["x", "b", "a2"], evidence, 2) == 0.5
    assert figures.recall_at(["x", "b", "a2"], evidence, 3) == 1.0


def test_reciprocal_rank_is_that_of_the_first_evidence():
    assert figures.reciprocal_rank(["x", "b", "a"], [{"a"}, {"b"}]) == 0.5
    assert figures.reciprocal_rank(["x"], [{"a"}]) == 0.0


def test_percentile_is_a_value_that_was_measured():
    values = [float(number) for number in range(1, 101)]
    assert figures.percentile(values, 50) == 50.0
    assert figures.percentile(values, 99) == 99.0


# -- Streams


def item(id_, dup_of="", kind="new", differs_from=(), near=()):
    return Item(id_, "agent", id_, dup_of, kind, tuple(differs_from), tuple(near))


def judged(items, named, asked=None, shown=None):
    """The items judged by answers: `named` maps a refused item to the one it was told.

    `asked` maps a saved one to the one it was asked about, `shown` to the one it was shown.
    """
    asked, shown = asked or {}, shown or {}
    answers = [
        SimpleNamespace(
            saved=item.id not in named,
            memory_id=named.get(item.id, item.id),
            guard=SimpleNamespace(
                method=Method.COSINE,
                question=SimpleNamespace(memory_id=asked[item.id]) if item.id in asked else None,
                nearest=SimpleNamespace(memory_id=shown[item.id]) if item.id in shown else None,
            ),
        )
        for item in items
    ]
    return streams.judge(items, answers)


ITEMS = [
    item("a"),
    item("a2", dup_of="a", kind="paraphrase"),
    item("a3", dup_of="a", kind="repeat"),
    item("b", differs_from=["a2"]),
    item("c", near=["a"]),
    item("d"),
]


@pytest.mark.parametrize(
    ("named", "worth"),
    [
        ({"a3": "a"}, "right"),
        ({"a3": "a2"}, "right"),
        ({"a3": "a", "b": "a"}, "lost"),
        ({"c": "a2"}, "unscored"),
        ({"c": "b"}, "false"),
        ({"d": "a"}, "false"),
    ],
)
def test_worth_of_a_refusal_goes_by_the_class_of_what_it_names(named, worth):
    last = [item for item in judged(ITEMS, named) if item.refused][-1]
    assert last.worth == worth


def test_restatement_refused_for_a_lookalike_is_lost():
    items = [item("a"), item("b"), item("b2", dup_of="b", differs_from=["a"])]
    assert judged(items, {"b2": "a"})[-1].worth == "lost"


def test_figures_of_a_stream_count_as_defined():
    found = streams.figures(judged(ITEMS, {"a2": "a", "a3": "a", "b": "a", "c": "a", "d": "a"}))
    assert found["n_refused"] == 5
    assert found["n_unscored"] == 1
    assert found["precision"] == 0.5  # a2 and a3 of a2, a3, b, d
    assert found["recall"] == 1.0
    assert found["named_right"] == 1.0
    assert (found["lookalikes_lost"], found["lookalikes"]) == (1, 1)
    assert found["refused_by_method"] == {"cosine": 5}
    assert {kind: part["n_refused"] for kind, part in found["by_kind"].items()} == {
        "new": 3,
        "paraphrase": 1,
        "repeat": 1,
    }


def test_figures_of_a_stream_name_wrong_what_names_another_class():
    items = [item("a"), item("b"), item("a2", dup_of="a"), item("a3", dup_of="a")]
    found = streams.figures(judged(items, {"a3": "b"}))
    assert (found["recall"], found["named_right"]) == (0.5, 0.0)


def test_figures_of_a_stream_without_refusals_claim_no_precision():
    found = streams.figures(judged(ITEMS, {}))
    assert found["precision"] is None
    assert found["named_right"] is None
    assert found["recall"] == 0.0


def test_figures_of_questions_go_by_the_class_that_is_asked_about():
    found = streams.figures(judged(ITEMS, {"a3": "a"}, {"a2": "a", "c": "a", "d": "b"}))
    assert found["n_questions"] == 3
    assert found["questions_per_save"] == 3 / 5
    # That about c is neither right nor wrong: it is near.
    assert found["questions_right"] == 0.5


def test_figures_of_what_is_shown_stand_beside_those_of_questions():
    found = streams.figures(judged(ITEMS, {"a3": "a"}, {"a2": "a"}, {"c": "a", "d": "b"}))
    assert (found["n_questions"], found["n_shown"]) == (1, 2)
    assert (found["questions_right"], found["shown_right"]) == (1.0, 0.0)
    assert found["shown_per_save"] == 2 / 5


def test_figures_without_questions_claim_nothing():
    found = streams.figures(judged(ITEMS, {}))
    assert (found["questions_right"], found["shown_right"]) == (None, None)


def test_repeated_places_are_hits_of_a_class_before_them():
    answers = [SimpleNamespace(saved=item.id != "a3", memory_id=item.id) for item in ITEMS]
    hits = [SimpleNamespace(memory=SimpleNamespace(id=id_)) for id_ in ("a", "b", "a2", "c")]
    found = [SimpleNamespace(hits=hits), SimpleNamespace(hits=[])]
    assert streams._repeated(ITEMS, answers, found) == 0.25
    assert streams._repeated(ITEMS, answers, []) is None
