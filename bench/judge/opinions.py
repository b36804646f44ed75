"""Asks an exported judge about pairs, and keeps its opinions in a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.guard.features import JUDGE_NAMES, judged
from totonoe_core.judging.own import AGAINST, Manifest, OwnModel, read_manifest
from totonoe_core.judging.protocol import Opinion, Relations

Pair = tuple[str, str]
Float64 = NDArray[np.float64]


class Opinions:
    """Opinions of a model of the judge.

    Parameters
    ----------
    directory : Path
        Of the model.
    path : Path
        Where opinions are kept; another model has others.
    """

    def __init__(self, directory: Path, path: Path) -> None:
        self.manifest: Manifest = read_manifest(directory)
        self._model, self._path = OwnModel(directory), path
        digest = hashlib.sha256((directory / "judge.onnx").read_bytes()).hexdigest()
        self._salt = f"{digest} {AGAINST}".encode()
        self._kept: dict[str, Float64] = {}
        if path.exists():
            with np.load(path) as stored:
                self._kept = dict(zip(stored["keys"].tolist(), stored["rows"], strict=True))

    def rows(self, pairs: Sequence[Pair]) -> Float64:
        """Return float64[n, 7]: the logit without its scale, the relations; NaN for no opinion."""
        asked = {self._key(pair): pair for pair in pairs if self._key(pair) not in self._kept}
        # Pairs of about one length together need little padding.
        new = sorted(asked, key=lambda key: len("".join(asked[key])))
        size = limits.JUDGE_BATCH_PAIRS_MAX
        batches = [new[at : at + size] for at in range(0, len(new), size)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            said = pool.map(
                lambda keys: self._model.opinions([asked[key] for key in keys]), batches
            )
            for keys, opinions in zip(batches, said, strict=True):
                for key, opinion in zip(keys, opinions, strict=True):
                    self._kept[key] = self._row(asked[key], opinion)
        if new:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            keys, rows = list(self._kept), np.array(list(self._kept.values()))
            np.savez(self._path, keys=np.array(keys), rows=rows)
        return np.array([self._kept[self._key(pair)] for pair in pairs]).reshape(len(pairs), 7)

    def opinions(self, pairs: Sequence[Pair], manifest: Manifest) -> list[Opinion | None]:
        """Return opinions on pairs, of the second text to the first, by given scales."""
        found: list[Opinion | None] = []
        for pair, (logit, *shares) in zip(pairs, self.rows(pairs).tolist(), strict=True):
            if np.isnan(logit):
                found.append(None)
                continue
            one, two, three, four, five, six = shares
            relations: Relations = (one, two, three, four, five, six)
            found.append(Opinion(manifest.scale(*pair).probability(logit), relations, "own"))
        return found

    def features(self, pairs: Sequence[Pair], manifest: Manifest) -> Float64:
        """Return float64[n, m], by `features.JUDGE_NAMES`; NaN for no opinion."""
        nothing = np.full(len(JUDGE_NAMES), np.nan)
        return np.array(
            [
                nothing if opinion is None else judged(opinion.same, opinion.relations)
                for opinion in self.opinions(pairs, manifest)
            ]
        ).reshape(len(pairs), len(JUDGE_NAMES))

    def _key(self, pair: Pair) -> str:
        text = self._salt + b"\0".join(wording.encode() for wording in pair)
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    def _row(self, pair: Pair, opinion: Opinion | None) -> Float64:
        if opinion is None:
            return np.full(7, np.nan)
        scale = self.manifest.scale(*pair)
        log_odds = judged(opinion.same, opinion.relations)[0]
        return np.array([(log_odds - scale.offset) * scale.temperature, *opinion.relations])
