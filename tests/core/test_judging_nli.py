"""The local cross-encoder: a real tokenizer, and a session that says what a test tells it to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from support.judges import pair
from totonoe_core.base import errors
from totonoe_core.domain.records import Verdict
from totonoe_core.judging import JudgeSettings
from totonoe_core.judging.nli import NliJudge
from totonoe_core.judging.settings import make_judge

# Not the order of the names, as in many published models.
LABELS = {"0": "CONTRADICTION", "1": "entailment", "2": "neutral"}
CONTRADICTION, ENTAILMENT, NEUTRAL = [6.0, 0, 0], [0, 6.0, 0], [0, 0, 6.0]
WORDS = {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "a": 3, "b": 4}


class Session:
    """Logits by the premise: the first token after [CLS]."""

    def __init__(self, logits: Mapping[str, Any], *inputs: str) -> None:
        self.logits = {WORDS[word]: row for word, row in logits.items()}
        self.inputs = inputs or ("input_ids", "attention_mask", "token_type_ids")
        self.feeds: list[dict[str, np.ndarray]] = []

    def get_inputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=name) for name in self.inputs]

    def run(self, _: None, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        self.feeds.append(feeds)
        return [np.array([self.logits[int(feeds["input_ids"][0, 1])]], np.float32)]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    directory = tmp_path / "tiny"
    directory.mkdir()
    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 0), ("[SEP]", 1)],
    )
    tokenizer.enable_truncation(4)
    tokenizer.save(str(directory / "tokenizer.json"))
    config = {"id2label": LABELS, "max_position_embeddings": 12}
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "model.onnx").write_bytes(b"")
    return directory


def judge_of(directory: Path, session: Session) -> NliJudge:
    return NliJudge(str(directory), lambda _: session)


@pytest.mark.parametrize(
    ("there", "back", "verdict"),
    [
        (ENTAILMENT, ENTAILMENT, Verdict.DUPLICATE),
        (ENTAILMENT, NEUTRAL, Verdict.REFINEMENT),
        (NEUTRAL, ENTAILMENT, Verdict.REFINEMENT),
        (NEUTRAL, NEUTRAL, Verdict.RELATED),
        (CONTRADICTION, NEUTRAL, Verdict.CONTRADICTION),
        (ENTAILMENT, CONTRADICTION, Verdict.CONTRADICTION),
    ],
)
def test_both_ways_make_the_verdict(saved: Path, there: Any, back: Any, verdict: Verdict) -> None:
    opinion = judge_of(saved, Session({"a": there, "b": back})).ask(pair("a", "b"))
    assert opinion is not None
    assert (opinion.verdict, opinion.by) == (verdict, "nli:tiny")
    assert opinion.confidence > 0.9


def test_duplicate_is_as_sure_as_the_less_sure_way(saved: Path) -> None:
    opinion = judge_of(saved, Session({"a": ENTAILMENT, "b": [0, 1.0, 0]})).ask(pair("a", "b"))
    assert opinion is not None
    assert opinion.confidence == pytest.approx(np.e / (np.e + 2))


def test_model_gets_whole_pairs_and_only_the_inputs_it_names(saved: Path) -> None:
    session = Session({"a": NEUTRAL, "b": NEUTRAL}, "input_ids", "token_type_ids")
    judge_of(saved, session).ask(pair("a a a", "b b"))
    there, back = session.feeds
    assert set(there) == {"input_ids", "token_type_ids"}
    assert there["input_ids"].tolist() == [[0, 3, 3, 3, 1, 4, 4, 1]]
    assert there["token_type_ids"].tolist() == [[0, 0, 0, 0, 0, 1, 1, 1]]
    assert back["input_ids"].tolist() == [[0, 4, 4, 1, 3, 3, 3, 1]]
    assert there["input_ids"].dtype == np.int64


def test_pair_too_long_for_the_model_is_not_judged_by_its_beginning(saved: Path) -> None:
    session = Session({"a": ENTAILMENT, "b": ENTAILMENT})
    assert judge_of(saved, session).ask(pair("a " * 10, "b")) is None
    assert not session.feeds


@pytest.mark.parametrize("row", [[0.0, np.nan, 0.0], [1.0, 2.0]])
def test_logits_that_make_no_sense_are_no_opinion(saved: Path, row: Any) -> None:
    assert judge_of(saved, Session({"a": row, "b": NEUTRAL})).ask(pair("a", "b")) is None


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_missing_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(errors.Precondition, match=name):
        make_judge(JudgeSettings(kind="nli", path=str(saved)))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", json.dumps({"id2label": {"0": "LABEL_0", "1": "LABEL_1"}})),
        ("config.json", json.dumps({"id2label": {"0": "entailment", "1": "not_entailment"}})),
        ("config.json", "no json"),
        ("tokenizer.json", "{}"),
    ],
)
def test_model_of_another_kind_is_refused(saved: Path, name: str, content: str) -> None:
    (saved / name).write_text(content)
    with pytest.raises(errors.Precondition, match="id2label") as raised:
        judge_of(saved, Session({}))
    assert raised.value.reason == "JUDGE_MISCONFIGURED"


def test_missing_package_names_what_to_install(saved: Path) -> None:
    def missing(_: Path) -> Any:
        raise ImportError("onnxruntime")

    with pytest.raises(errors.Precondition, match=r"totonoe\[nli\]"):
        NliJudge(str(saved), missing)
