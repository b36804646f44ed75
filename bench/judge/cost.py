"""Measure a model of the judge: size, load, memory, CPU a pair, and that a batch changes nothing.

    python -m bench.judge.cost MODEL

One thread, pairs of 40 pieces with their marks, batches of 8. Prints one line of JSON. Needs
onnxruntime and tokenizers only, so that the memory is that of the daemon's process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIRST_PIECE = 4
MARKS = (0, 2, 1)
"""Numbers of begin, end and padding."""
_PIECES, _BATCH, _ROUNDS = 18, 8, 20
Inputs = dict[str, NDArray[np.int64]]


def session(model: Path) -> Any:
    """Open a model with one thread."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # As in `totonoe_core.judging.own`.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(model), sess_options=options, providers=["CPUExecutionProvider"]
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure a model of the judge.")
    parser.add_argument("model", type=Path, help="directory")
    model = parser.parse_args().model
    before_mb = _peak_mb()
    begun_s = time.process_time()
    opened = session(model / "judge.onnx")
    session_s = time.process_time() - begun_s
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    loaded_s = time.process_time() - begun_s
    random = np.random.default_rng(0)
    pieces = tokenizer.get_vocab_size()
    whole = _inputs(random.integers(FIRST_PIECE, pieces, (_BATCH, 2, _PIECES)))
    times_s = []
    for _ in range(_ROUNDS):
        begun_s = time.process_time()
        found = _run(opened, whole)
        times_s.append(time.process_time() - begun_s)
    alone = [
        _run(opened, {name: array[at : at + 1] for name, array in whole.items()})
        for at in range(_BATCH)
    ]
    padded = {
        name: np.pad(array, ((0, 0), (0, 24)), constant_values=_PADDING[name])
        for name, array in whole.items()
    }
    row = {
        "mb": sum(path.stat().st_size for path in model.iterdir()) / 1e6,
        "session_s": session_s,
        "load_s": loaded_s,
        "memory_mb": _peak_mb() - before_mb,
        "ms_a_pair": {
            "median": float(np.median(times_s)) / _BATCH * 1e3,
            "least": min(times_s) / _BATCH * 1e3,
        },
        "alone_apart": float(np.abs(np.concatenate(alone) - found).max()),
        "padded_apart": float(np.abs(_run(opened, padded) - found).max()),
    }
    print(json.dumps(row))


_PADDING = {"ids": MARKS[2], "side": -1, "place": 0}


def _inputs(pieces: NDArray[np.int64]) -> Inputs:
    """Return the inputs of pairs of texts of equal length."""
    batch, _, count = pieces.shape
    begin, end, _ = MARKS
    ids = np.pad(pieces, ((0, 0), (0, 0), (1, 1)))
    ids[..., 0], ids[..., -1] = begin, end
    size = count + 2
    side = np.broadcast_to(np.repeat([0, 1], size), (batch, 2 * size))
    place = np.broadcast_to(np.tile(np.arange(size), 2), (batch, 2 * size))
    return {"ids": ids.reshape(batch, -1), "side": side.copy(), "place": place.copy()}


def _run(opened: Any, inputs: Inputs) -> NDArray[np.float32]:
    found: NDArray[np.float32] = opened.run(None, inputs)[0]
    return found


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
