"""A local cross-encoder for natural language inference, in ONNX.

It reads a pair in both directions, and infers each text from the other.

    entailment both ways    DUPLICATE         contradiction either way   CONTRADICTION
    entailment one way      REFINEMENT        neither                    RELATED
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from totonoe_core.domain.records import Verdict
from totonoe_core.judging.protocol import Opinion, Pair, misconfigured

_FILES = ("model.onnx", "tokenizer.json", "config.json")
_TOKENS_MAX = 512


class NliJudge:
    """A model from a directory; one pair at a time, on one thread, beside the daemon's work."""

    thread_count = 1

    def __init__(self, path: str, open_session: Callable[[Path], Any] | None = None) -> None:
        """Load the model.

        Parameters
        ----------
        path : str
            Directory with `model.onnx`, `tokenizer.json` and `config.json`; its `id2label` names
            "entailment" and "contradiction" (in any case).
        open_session : callable, optional
            Makes the session (`onnxruntime.InferenceSession`) from the model's file.

        Raises
        ------
        Precondition
            JUDGE_MISCONFIGURED: a package or file is missing, or it is another kind of model.
        """
        directory = Path(path)
        missing = [name for name in _FILES if not (directory / name).is_file()]
        if missing:
            raise misconfigured(field="path", got=f"no {missing[0]} in {path}", allowed="a model")
        try:
            from tokenizers import Tokenizer

            self._session = (open_session or _open_session)(directory / "model.onnx")
        except ImportError as error:
            raise misconfigured(
                field="kind", got="nli", allowed="nli after: pip install 'totonoe[nli]'"
            ) from error
        try:
            config = json.loads((directory / "config.json").read_text("utf-8"))
            labels = {str(name).lower(): int(at) for at, name in config["id2label"].items()}
            self._entailment = labels["entailment"]
            self._contradiction = labels["contradiction"]
            self._label_count = len(labels)
            self._tokens_max = min(_TOKENS_MAX, config.get("max_position_embeddings", _TOKENS_MAX))
            self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        # tokenizers raises plain Exception.
        except Exception as error:
            raise misconfigured(
                field="path",
                got=f"{type(error).__name__} in {path}",
                allowed="id2label with entailment and contradiction, and a tokenizer",
            ) from error
        # A text that was cut would be judged by its beginning.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._inputs = {one.name for one in self._session.get_inputs()}
        self._name = f"nli:{directory.name}"

    def ask(self, pair: Pair) -> Opinion | None:
        """See `Judge.ask`; `None` for texts too long for the model."""
        ways = [self._probabilities(*texts) for texts in _both_ways(pair)]
        there, back = ways
        if there is None or back is None:
            return None
        entailed = there[self._entailment], back[self._entailment]
        denied = there[self._contradiction], back[self._contradiction]
        says = [int(np.argmax(way)) for way in (there, back)]
        if self._contradiction in says:
            return self._opinion(Verdict.CONTRADICTION, max(denied))
        follows = says.count(self._entailment)
        if follows == 2:
            return self._opinion(Verdict.DUPLICATE, min(entailed))
        if follows == 1:
            return self._opinion(Verdict.REFINEMENT, max(entailed))
        return self._opinion(Verdict.RELATED, 1.0 - max(*entailed, *denied))

    def close(self) -> None:
        """Do nothing: there is only memory to free."""

    def _opinion(self, verdict: Verdict, confidence: float) -> Opinion:
        return Opinion(verdict, max(0.0, min(1.0, float(confidence))), self._name)

    def _probabilities(self, premise: str, hypothesis: str) -> np.ndarray | None:
        """float64[label], sums to 1; `None` if the texts are too long."""
        encoded = self._tokenizer.encode(premise, hypothesis)
        if len(encoded.ids) > self._tokens_max:
            return None
        given = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        feeds = {name: np.array([given[name]], np.int64) for name in given if name in self._inputs}
        logits = np.asarray(self._session.run(None, feeds)[0], np.float64).reshape(-1)
        if logits.shape != (self._label_count,) or not np.isfinite(logits).all():
            return None
        powers = np.exp(logits - logits.max())
        return np.asarray(powers / powers.sum())


def _both_ways(pair: Pair) -> tuple[tuple[str, str], tuple[str, str]]:
    return (pair.one, pair.other), (pair.other, pair.one)


def _open_session(file: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One core: the others are for writers and readers.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(
            str(file), sess_options=options, providers=["CPUExecutionProvider"]
        )
    # onnxruntime raises many types of exceptions, which name the fault of the file.
    except Exception as error:
        raise misconfigured(
            field="path", got=f"{type(error).__name__} from {file.name}", allowed="an ONNX model"
        ) from error
