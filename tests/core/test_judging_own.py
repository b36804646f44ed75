"""The daemon's own judge in this process: what it says, and of what it says nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support.own_judge import TINY, copied
from totonoe_core.base import errors
from totonoe_core.judging import Relation
from totonoe_core.judging.own import BATCH_PAIRS, OwnModel, Scale, read_manifest

PORT, PORT_BACK, TEA = "the port is 80", "is the port 80", "the tea is green"
LONG = ("the port of the host is 80.", "we drink green tea at noon.", "mina waters the ferns.")
LONG_BACK = ("is the host of the port 80.", "at noon we drink green tea.", "the ferns mina waters.")


@pytest.fixture(scope="module")
def model() -> OwnModel:
    return OwnModel(TINY)


def test_texts_that_say_the_same_to_the_model_are_told_from_others(model: OwnModel) -> None:
    same, other = model.opinions([(PORT, PORT_BACK), (PORT, TEA)])
    assert same is not None
    assert other is not None
    assert (same.relation, other.relation) == (Relation.SAME, Relation.UNRELATED)
    assert same.same > 0.99 > 0.1 > other.same
    assert same.by == "own:tiny-1"
    assert sum(other.relations) == pytest.approx(1.0)


def test_opinion_depends_neither_on_the_batch_nor_on_the_order(model: OwnModel) -> None:
    texts = [PORT, TEA, *LONG, "mina", "80", "a", "tea and ferns", "the host"]
    pairs = [(text, other) for text in texts for other in texts if text != other][: 3 * BATCH_PAIRS]
    together = model.opinions(pairs)
    assert together == [model.opinions([pair])[0] for pair in pairs]
    back = model.opinions([(other, pair) for pair, other in pairs])
    assert together == [None if opinion is None else opinion.mirrored() for opinion in back]
    assert all(together)


def test_relations_against_same_lower_its_probability_and_those_for_it_do_not_raise_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = OwnModel(TINY)
    rows = np.array([[-3.0, for_same, 0.0, 0.0, 0.0, 0.0, 0.0] for for_same in (9, 4, -4, -9)])
    monkeypatch.setattr(model, "logits", lambda pairs: rows[: len(pairs)])
    said = [
        opinion.same for opinion in model.opinions([(PORT, PORT_BACK)] * 4) if opinion is not None
    ]
    assert len(said) == 4
    assert said[0] == said[1] > said[2] > said[3] > 0.0


def test_logits_of_pieces_do_not_depend_on_padding(model: OwnModel) -> None:
    pairs = [([5, 6, 7], [8]), ([9] * 30, [10] * 30), ([5], [6])]
    together = model.logits(pairs)
    for row, pair in zip(together, pairs, strict=True):
        assert np.array_equal(model.logits([pair])[0], row)


def test_pairs_are_padded_only_where_that_takes_less_than_another_run(
    model: OwnModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes: list[tuple[int, int]] = []
    session = model._session

    class Recorded:
        def run(self, names: None, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
            shapes.append(inputs["ids"].shape)
            return list(session.run(names, inputs))

    monkeypatch.setattr(model, "_session", Recorded())
    short, longer, long = ([5], [6]), ([5] * 7, [6]), ([9] * 30, [10] * 30)
    model.logits([long, short, longer, short, long])
    assert sorted(shapes) == [(2, 64), (3, 16)]
    shapes.clear()
    model.logits([short] * (2 * BATCH_PAIRS + 1))
    assert sum(count for count, _ in shapes) == 2 * BATCH_PAIRS + 1
    assert max(count for count, _ in shapes) == BATCH_PAIRS
    shapes.clear()
    model.logits([])
    assert shapes == []


def test_what_the_vocabulary_hides_has_no_opinion(model: OwnModel) -> None:
    # No piece for either letter: the network would read the same of both.
    assert model.opinions([("the port is ש", "the port is ת")]) == [None]
    # The vocabulary has small letters only.
    assert model.opinions([("US is the port", "us is the port")]) == [None]
    assert model.opinions([("the port is ש", "is the port ש")])[0] is not None
    assert model.opinions([("", "the port")]) == [None]


def test_long_text_is_the_same_only_if_each_sentence_has_a_partner(model: OwnModel) -> None:
    there, back = " ".join(LONG), " ".join(LONG_BACK[::-1])
    same = model.opinions([(there, back)])[0]
    assert same is not None
    assert same.relation is Relation.SAME
    one_changed = " ".join((LONG_BACK[0], LONG_BACK[1], "omar sold his boat in june."))
    assert model.opinions([(there, one_changed)]) == [None]
    assert model.opinions([(there, " ".join((*LONG_BACK, "omar sold his boat in june.")))]) == [
        None
    ]


def test_long_text_is_read_no_further_than_the_first_sentence_without_a_partner(
    model: OwnModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    logits = model.logits

    def counted(pairs: list[tuple[list[int], list[int]]]) -> np.ndarray:
        counts.append(len(pairs))
        return logits(pairs)

    monkeypatch.setattr(model, "logits", counted)
    alien = "omar sold his boat in june."
    there, back = " ".join(LONG), " ".join((alien, *LONG_BACK))
    for pair in ((there, back), (back, there)):
        assert model.opinions([pair]) == [None]
        assert counts == [len(LONG)]
        counts.clear()
    assert model.opinions([(there, " ".join(LONG_BACK))])[0] is not None
    assert sum(counts) == len(LONG) * len(LONG_BACK)


def test_equal_sentences_of_long_texts_are_set_aside(model: OwnModel) -> None:
    there = " ".join((LONG[0], LONG[1], LONG[2]))
    assert model.opinions([(there, " ".join((LONG[1], LONG_BACK[0], LONG[2])))])[0] is not None
    # Nothing is left on one side: one text has more.
    assert model.opinions([(there, " ".join((*LONG, LONG_BACK[0])))]) == [None]


def test_sentence_longer_than_the_model_reads_has_no_opinion(model: OwnModel) -> None:
    long = "the port of the host " * 10
    assert model.opinions([(long + "is 80. " + LONG[1], long + "is 81. " + LONG_BACK[1])]) == [None]
    assert model.opinions([(long, long + "a")]) == [None]


def test_too_many_sentences_have_no_opinion(model: OwnModel) -> None:
    here = " ".join(f"the port of host {n} is open." for n in range(9))
    there = " ".join(f"open is the port of host {n}." for n in range(9))
    assert model.opinions([(here, there)]) == [None]


def test_calibration_is_that_of_the_language(tmp_path: Path) -> None:
    languages = {
        "": {"temperature": 1.0, "offset": 0.0},
        "en": {"temperature": 1.0, "offset": -30.0},
        "across": {"temperature": 2.0, "offset": 60.0},
    }
    model = OwnModel(copied(tmp_path / "model", languages=languages))
    english, across, russian = model.opinions(
        [(PORT, PORT_BACK), ("the port of the host is open", "東京の東京は"), ("да я", "я да")]
    )
    assert english is not None
    assert across is not None
    assert russian is not None
    assert english.same < 1e-9 < 0.9 < russian.same
    assert across.same > 0.9


def test_scale_is_bounded_where_a_logit_is_extreme() -> None:
    assert Scale(0.01, 0.0).probability(1e6) == pytest.approx(1.0)
    assert 0.0 < Scale(0.01, 0.0).probability(-1e6) < 1e-15


@pytest.mark.parametrize("name", ["judge.onnx", "tokenizer.json", "judge.json"])
def test_missing_or_changed_file_is_named_by_a_typed_error(tmp_path: Path, name: str) -> None:
    directory = copied(tmp_path / "model")
    (directory / name).write_bytes((directory / name).read_bytes()[:-9])
    with pytest.raises(errors.Precondition) as changed:
        OwnModel(directory)
    (directory / name).unlink()
    with pytest.raises(errors.Precondition) as missing:
        OwnModel(directory)
    for caught in (changed, missing):
        assert caught.value.reason == "JUDGE_MISCONFIGURED"
        assert name in caught.value.message


@pytest.mark.parametrize(
    "said",
    [
        {"pieces_max": 0},
        {"pieces_max": 100_000},
        {"languages": {"en": {"temperature": 1.0, "offset": 0.0}}},
        {"languages": {"": {"temperature": 0.0, "offset": 0.0}}},
        {"languages": {"": {"temperature": 1.0, "offset": float("nan")}}},
        {"bounds": {}},
        {"files": []},
    ],
)
def test_manifest_of_another_form_is_refused(tmp_path: Path, said: dict[str, object]) -> None:
    with pytest.raises(errors.Precondition, match=r"judge\.path"):
        read_manifest(copied(tmp_path / "model", **said))


def test_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(errors.Precondition, match="pip install"):
        OwnModel(TINY)


def test_onnxruntime_reports_nothing_to_its_maker(tmp_path: Path) -> None:
    """It would write `.ses` and `DeviceId` files, and send events to a collector."""
    script = (
        "import os, pathlib, sys; from totonoe_core.judging.own import OwnModel; "
        "OwnModel(pathlib.Path(sys.argv[1])).opinions([('the port', 'port the')]); "
        "assert os.environ['ORT_DISABLE_TELEMETRY'] == '1'"
    )
    # In tests of its own, and where CI is set, it reports nothing either.
    kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ}
    home = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"), str(tmp_path))
    command = [sys.executable, "-B", "-c", script, str(TINY)]
    subprocess.run(command, env=kept | home, check=True, timeout=60, cwd=tmp_path)
    assert not list(tmp_path.rglob("*"))
