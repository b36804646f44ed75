"""The daemon's own judge: a small cross-encoder that ships with it, run by onnxruntime.

Both texts stand in one sequence, each between marks and with places of its own; the network says
the same whichever comes first, but for rounding, so that the texts are put into a fixed order. A
pair's logits do not depend on the others of its batch.

No text is cut. One of more than `pieces_max` pieces is judged by its sentences: the texts are the
same if each sentence has a partner in the other text, else there is no opinion. Neither is there
one if the vocabulary hides what differs: characters that it does not know, or texts that come out
as the same pieces.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.guard.sentences import sentences
from totonoe_core.judging.pieces import BEGIN, END, PADDING, CutText, Ids, Pieces
from totonoe_core.judging.protocol import Opinion, Relations, misconfigured
from totonoe_core.text.normalize import canonical_form
from totonoe_core.text.reading.language import common_language

SHIPPED = Path(__file__).parent / "model"
"""Directory of the shipped model; it need not be there."""
BATCH_PAIRS = 8
_MODEL, _TOKENIZER, _MANIFEST = "judge.onnx", "tokenizer.json", "judge.json"
_MARKS = 2
_PADDED_TO = 8
_BATCH_TOKENS_MAX = 1024
"""Of a run with its padding, which the memory for it grows with."""
_RUN_TOKENS = 16
"""Tokens that take as long as a run of the network takes beside its tokens (3 ms)."""
_PIECES_MAX = 510
_LOG_ODDS_MAX = 40.0
AGAINST = 0.5
"""Weight of what the relations say against *same*, in its logit.

The network learned *same* from the answers of teachers, which are never sure: that logit ends at
-5.5, where a fifth of the pairs lie close together. Those of the relations go on.
"""
_SHARE_MIN = 1e-9
_ACROSS = "across"
"""Calibration of two texts without a common language."""

Logits = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scale:
    """Calibration of one language: p(same) = 1 / (1 + exp(-(logit / temperature + offset)))."""

    temperature: float
    offset: float

    def probability(self, logit: float) -> float:
        """Return p(same) for a logit."""
        log_odds = logit / self.temperature + self.offset
        return 1.0 / (1.0 + math.exp(-max(-_LOG_ODDS_MAX, min(_LOG_ODDS_MAX, log_odds))))


@dataclass(frozen=True, slots=True)
class Manifest:
    """Description of a model, as `judge.json` has it.

    Attributes
    ----------
    version : str
    pieces_max : int
        Longest text that is read as a whole.
    scales : mapping of str to Scale
        By language, "across" for two languages, "" for all others.
    sentence_from : float
        Least p(same) of two sentences that are partners, 0..1.
    """

    version: str
    pieces_max: int
    scales: Mapping[str, Scale]
    sentence_from: float

    def scale(self, one: str, other: str) -> Scale:
        """Return the calibration for two texts."""
        return self.scales.get(scale_language(one, other), self.scales[""])


def scale_language(one: str, other: str) -> str:
    """Return the language by which the calibration of two texts is chosen, or "across"."""
    # Sorted, since Han characters alone are of the language of the first text.
    return common_language(*sorted((one, other))) or _ACROSS


def read_manifest(directory: Path) -> Manifest:
    """Read `judge.json`, and check the digests of the files that it names.

    Raises
    ------
    Precondition
        JUDGE_MISCONFIGURED: a file is missing, cannot be read, or is another one.
    """
    path = directory / _MANIFEST
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        scales = {
            language: Scale(float(scale["temperature"]), float(scale["offset"]))
            for language, scale in said["languages"].items()
        }
        digests = {name: str(said["files"][name]) for name in (_MODEL, _TOKENIZER)}
        manifest = Manifest(
            str(said["version"]),
            int(said["pieces_max"]),
            scales,
            float(said["bounds"]["sentence"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _no_model(f"{type(error).__name__} from {path}") from None
    sound = all(
        math.isfinite(scale.temperature + scale.offset) and scale.temperature > 0
        for scale in scales.values()
    )
    if not (sound and "" in scales and 0 < manifest.pieces_max <= _PIECES_MAX):
        raise _no_model(f"another form in {path}")
    for name, digest in digests.items():
        try:
            with (directory / name).open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise _no_model(f"{type(error).__name__} from {directory / name}") from None
        if actual != digest:
            raise _no_model(f"another {name} than {_MANIFEST} names in {directory}")
    return manifest


class OwnModel:
    """The network and its vocabulary, in the calling thread.

    Parameters
    ----------
    directory : Path
        With `judge.onnx`, `tokenizer.json` and `judge.json`.

    Raises
    ------
    Precondition
        JUDGE_MISCONFIGURED: a package or a file is missing, or a file is another one.
    """

    def __init__(self, directory: Path) -> None:
        self._manifest = read_manifest(directory)
        # Before it is loaded: onnxruntime from 1.29 on reports to its maker, and writes a file that
        # names the machine (its Privacy.md, "Disabling Telemetry").
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        try:
            import onnxruntime
            import sentencepiece  # noqa: F401 (needed by `Pieces`)
        except ImportError as error:
            raise misconfigured(
                field="kind", got="own", allowed="own after: pip install 'totonoe[server]'"
            ) from error
        options = onnxruntime.SessionOptions()
        # One core: the others are for writers and readers.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # An arena would keep what the largest batch took, 54 MB, for good. It saves no time.
        options.enable_cpu_mem_arena = False
        try:
            self._session = onnxruntime.InferenceSession(
                str(directory / _MODEL), sess_options=options, providers=["CPUExecutionProvider"]
            )
            self._pieces = Pieces(directory / _TOKENIZER)
        # Both raise many types of exceptions, which name the fault of the file.
        except Exception as error:
            raise _no_model(f"{type(error).__name__} in {directory}") from error

    @property
    def name(self) -> str:
        """Name and version, as `Opinion.by` has it."""
        return f"own:{self._manifest.version}"

    def opinions(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """Return an opinion on each pair, of the second text to the first; `None` for none.

        Parameters
        ----------
        pairs : sequence of (str, str)
            At most JUDGE_BATCH_PAIRS_MAX, each text of at most JUDGE_TEXT_CHARS_MAX characters.
        """
        opinions: list[Opinion | None] = [None] * len(pairs)
        short: list[int] = []
        read: list[tuple[Ids, Ids]] = []
        for at, (first, other) in enumerate(pairs):
            cut = self._pieces.cut(first), self._pieces.cut(other)
            if cut[0] == cut[1] or _hidden(first, other, cut):
                continue
            ids = cut[0].ids, cut[1].ids
            if max(map(len, ids)) > self._manifest.pieces_max:
                opinions[at] = self._by_sentences(first, other)
            elif all(ids):
                short.append(at)
                read.append(ids)
        for at, opinion in zip(short, self._read(read, [pairs[at] for at in short]), strict=True):
            opinions[at] = opinion
        return opinions

    def logits(self, pairs: Sequence[tuple[Ids, Ids]]) -> Logits:
        """Return the logit of *same* and those of the relations of pairs of pieces.

        Returns
        -------
        float64[n, 7]
            Row i is of the second text of `pairs[i]` to the first.
        """
        rows = np.zeros((len(pairs), 7))
        order = sorted(range(len(pairs)), key=lambda at: (_tokens(pairs[at]), at))
        for part in _runs([_tokens(pairs[at]) for at in order]):
            chosen = order[part]
            turned = [pairs[at][1] < pairs[at][0] for at in chosen]
            texts = [
                (pairs[at][1], pairs[at][0]) if back else pairs[at]
                for at, back in zip(chosen, turned, strict=True)
            ]
            answer = self._session.run(None, _inputs(texts))[0].astype(np.float64)
            answer[turned] = answer[turned][:, _MIRRORED]
            rows[chosen] = answer
        return rows

    def _read(
        self, pieces: Sequence[tuple[Ids, Ids]], texts: Sequence[tuple[str, str]]
    ) -> list[Opinion | None]:
        if not pieces:
            return []
        return [
            self._opinion(row, self._manifest.scale(*pair))
            for row, pair in zip(self.logits(pieces), texts, strict=True)
        ]

    def _opinion(self, row: Logits, scale: Scale) -> Opinion | None:
        if not np.isfinite(row).all():
            return None
        powers = np.exp(row[1:] - row[1:].max())
        # `fsum`: to the last bit the same whichever text comes first.
        one, two, three, four, five, six = (powers / math.fsum(powers)).tolist()
        relations: Relations = (one, two, three, four, five, six)
        logit = float(row[0]) - AGAINST * _against(one)
        return Opinion(scale.probability(logit), relations, self.name)

    def _by_sentences(self, one: str, other: str) -> Opinion | None:
        """Return the opinion on the sentences with the least probable partner.

        `None` unless every sentence of each text has a partner. Equal sentences are set aside
        before, each with one of the other text.
        """
        here, there = _unshared(one, other)
        if not here or not there or len(here) * len(there) > limits.JUDGE_SENTENCE_PAIRS_MAX:
            return None
        cut = [[self._pieces.cut(sentence) for sentence in side] for side in (here, there)]
        lengths = [len(piece.ids) for side in cut for piece in side]
        if max(lengths) > self._manifest.pieces_max or not all(lengths):
            return None
        texts = [(a, b) for a in here for b in there]
        pieces = [(a, b) for a in cut[0] for b in cut[1]]
        if any(_hidden(*two, both) for two, both in zip(texts, pieces, strict=True)):
            return None
        # A line has the pairs of one sentence of the text that has more of them. Most texts that
        # differ show it in the first line, which has no partner.
        places = np.arange(len(texts)).reshape(len(here), len(there))
        said: dict[int, Opinion] = {}
        for line in (places if len(here) >= len(there) else places.T).tolist():
            found = self._read(
                [(pieces[at][0].ids, pieces[at][1].ids) for at in line], [texts[at] for at in line]
            )
            opinions = [opinion for opinion in found if opinion is not None]
            if len(opinions) < len(line):
                return None
            if max(opinion.same for opinion in opinions) < self._manifest.sentence_from:
                return None
            said |= zip(line, opinions, strict=True)
        partners = [
            max((said[at] for at in line), key=lambda opinion: opinion.same)
            for line in (*places.tolist(), *places.T.tolist())
        ]
        least = min(partners, key=lambda opinion: opinion.same)
        return least if least.same >= self._manifest.sentence_from else None


_MIRRORED = [0, 1, 3, 2, 4, 5, 6]
"""Columns of the logits for the texts in the other order."""


def _against(share: float) -> float:
    """Return the log odds against a relation by its share; 0 if they are for it."""
    share = max(share, _SHARE_MIN)
    return max(0.0, math.log1p(-share) - math.log(share)) if share < 1.0 else 0.0


def _hidden(one: str, other: str, cut: tuple[CutText, CutText]) -> bool:
    """Return whether texts that differ come out alike, or differ in what has no piece."""
    return cut[0].unknown != cut[1].unknown or (one != other and cut[0].ids == cut[1].ids)


def _unshared(one: str, other: str) -> tuple[list[str], list[str]]:
    """Return the sentences of each text without those that both have, in their order."""
    sides = [
        [(text[start:end].strip(), canonical_form(text[start:end])) for start, end in spans]
        for text, spans in ((one, sentences(one)), (other, sentences(other)))
    ]
    shared = Counter(form for _, form in sides[0]) & Counter(form for _, form in sides[1])
    left = []
    for side in sides:
        room = shared.copy()
        kept = []
        for sentence, form in side:
            if room[form]:
                room[form] -= 1
            else:
                kept.append(sentence)
        left.append(kept)
    return left[0], left[1]


def _runs(lengths: Sequence[int]) -> list[slice]:
    """Return the parts of ascending lengths that are read together, so that all take least time.

    Each pair of a run is padded to its longest.
    """
    costs, starts = [0], [0]
    for end, longest in enumerate(lengths, 1):
        padded = _padded(longest)
        most = max(1, min(BATCH_PAIRS, _BATCH_TOKENS_MAX // padded))
        cost, start = min(
            (costs[start] + _RUN_TOKENS + (end - start) * padded, start)
            for start in range(max(0, end - most), end)
        )
        costs.append(cost)
        starts.append(start)
    runs, end = [], len(lengths)
    while end:
        runs.append(slice(starts[end], end))
        end = starts[end]
    return runs


def _padded(tokens: int) -> int:
    return -(-tokens // _PADDED_TO) * _PADDED_TO


def _tokens(pair: tuple[Ids, Ids]) -> int:
    return len(pair[0]) + len(pair[1]) + 2 * _MARKS


def _inputs(pairs: Sequence[tuple[Ids, Ids]]) -> dict[str, NDArray[np.int64]]:
    """Return the inputs of the network for pairs of pieces, padded to a multiple of 8."""
    longest = max(map(_tokens, pairs))
    shape = len(pairs), _padded(longest)
    ids = np.full(shape, PADDING, np.int64)
    side, place = np.full(shape, -1, np.int64), np.zeros(shape, np.int64)
    for row, pair in enumerate(pairs):
        start = 0
        for number, pieces in enumerate(pair):
            end = start + len(pieces) + _MARKS
            ids[row, start:end] = [BEGIN, *pieces, END]
            side[row, start:end] = number
            place[row, start:end] = np.arange(end - start)
            start = end
    return {"ids": ids, "side": side, "place": place}


def _no_model(got: str) -> Any:
    allowed = "a directory with a model of the judge; `make judge-train judge-export` makes one"
    return misconfigured(field="path", got=got, allowed=allowed)
