"""Files of a model: the graph, the tokenizer, and what the runtime has to know of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from bench.judge import graph

MARKS = 2
"""Marks of a text: its begin and its end."""
CALIBRATION: dict[str, Any] = {
    "languages": {"": {"temperature": 1.0, "offset": 0.0}},
    "bounds": {"sentence": 0.9},
}
"""What is assumed until `--calibration` says otherwise."""


def write(
    out: Path,
    state: Mapping[str, NDArray[np.float32]],
    tokenizer: str,
    version: str,
    sizes: graph.Sizes,
    calibration: Mapping[str, Any],
) -> None:
    """Write the three files of a model.

    Parameters
    ----------
    out : Path
        Directory; made if it is missing.
    state, sizes
        See `graph.model_of`.
    tokenizer : str
        Text of `tokenizer.json`.
    version : str
    calibration : mapping
        As `CALIBRATION`: temperature and offset for each language, "" for any other.
    """
    out.mkdir(parents=True, exist_ok=True)
    onnx.save(graph.model_of(state, sizes), str(out / "judge.onnx"))
    (out / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    digests = {
        name: hashlib.sha256((out / name).read_bytes()).hexdigest()
        for name in ("judge.onnx", "tokenizer.json")
    }
    said = {
        "version": version,
        "files": digests,
        "pieces_max": sizes.places - MARKS,
        **calibration,
    }
    (out / "judge.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
