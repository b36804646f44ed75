"""Write the model of the judge for tests: the same graph and files, about 30 kB, made by hand.

    python -m bench.judge.tiny tests/data/judge

Each piece is a letter and has a random vector. The head calls two texts the same if the means of
their vectors are near: texts of the same letters in another order are the same, others are not.
No training: only onnx and NumPy are needed. Texts that are far apart are `unrelated`.
"""

from __future__ import annotations

import json
import string
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.judge import graph, writing

PLACES = 42
"""A text has at most 40 pieces, so that tests of long texts stay short."""
_HIDDEN, _HEADS, _INNER, _POOLED, _HEAD = 32, 2, 32, 4, 4
_NEAR, _STEEP = 6.0, 100.0
_RELATIONS = 6
_PIECES = (
    *("<s>", "<pad>", "</s>", "<unk>"),
    *("▁", *string.ascii_lowercase, *string.digits, *".,:;!?-'\"()/"),
    *("東", "京", "都", "の", "は", "を", "に", "я", "д", "а"),
)
_MARKS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def tokenizer() -> str:
    """Return the text of `tokenizer.json`: small letters, every character a piece."""
    marks = [
        {"id": at, "content": piece, "special": True, **_MARKS}
        for at, piece in enumerate(_PIECES[:4])
    ]
    words = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    scored = [[piece, 0.0 if at < 4 else -4.0] for at, piece in enumerate(_PIECES)]
    said: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": marks,
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": words,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "Unigram", "unk_id": 3, "vocab": scored, "byte_fallback": False},
    }
    return json.dumps(said, ensure_ascii=False)


def state() -> dict[str, NDArray[np.float32]]:
    """Return the weights, by the names of the network."""
    random = np.random.default_rng(7)

    def drawn(*shape: int, spread: float = 0.02) -> NDArray[np.float32]:
        return random.normal(0, spread, shape).astype(np.float32)

    found: dict[str, NDArray[np.float32]] = {
        "words.weight": drawn(len(_PIECES), _HIDDEN, spread=1.0),
        "positions": drawn(PLACES, _HIDDEN, spread=0.0),
        "norm_weight": np.ones(_HIDDEN, np.float32),
        "norm_bias": np.zeros(_HIDDEN, np.float32),
        "detect.weight": drawn(_POOLED, _HIDDEN),
        "detect.bias": drawn(_POOLED),
        "mirrored": np.array([0, 2, 1, 3, 4, 5], np.int64),
    }
    at = "layers.0."
    shapes = {"qkv": (3 * _HIDDEN, _HIDDEN), "out": (_HIDDEN, _HIDDEN)}
    shapes |= {"up": (_INNER, _HIDDEN), "down": (_HIDDEN, _INNER)}
    for name, shape in shapes.items():
        found[at + name + ".weight"] = drawn(*shape)
        found[at + name + ".bias"] = drawn(shape[0])
    for number in range(4):
        fill = np.ones if number % 2 == 0 else np.zeros
        found[f"{at}norms.{number}"] = fill(_HIDDEN, np.float32)
    size = _HIDDEN // _HEADS
    found[at + "cross_score"] = drawn(_HEADS)
    found[at + "cross_key"], found[at + "cross_value"] = drawn(_HEADS, size), drawn(_HEADS, size)
    return found | _head()


def _head() -> dict[str, NDArray[np.float32]]:
    """Return a head that reads the sum of the absolute differences of the means."""
    one = 2 * _HIDDEN + _POOLED
    trunk = np.zeros((_HEAD, 4 * one), np.float32)
    # Parts of the input: sum, product, absolute difference, difference; mark, mean, strongest.
    trunk[0, 2 * one + _HIDDEN : 2 * one + 2 * _HIDDEN] = 1 / _HIDDEN
    same, relation = np.zeros((1, _HEAD), np.float32), np.zeros((_RELATIONS, _HEAD), np.float32)
    same[0, 0] = -_STEEP
    relation[0, 0], relation[-1, 0] = -_STEEP, _STEEP
    bias = np.zeros(_RELATIONS, np.float32)
    bias[0], bias[-1] = _NEAR, -_NEAR
    return {
        "trunk.0.weight": trunk,
        "trunk.0.bias": np.zeros(_HEAD, np.float32),
        "same.weight": same,
        "same.bias": np.array([_NEAR], np.float32),
        "relation.weight": relation,
        "relation.bias": bias,
    }


def main() -> None:
    """Write the three files into the directory that is named."""
    sizes = graph.Sizes(_HEADS, 1e-12, PLACES)
    writing.write(Path(sys.argv[1]), state(), tokenizer(), "tiny-1", sizes, writing.CALIBRATION)


if __name__ == "__main__":
    main()
