"""Helpers of the embedding tests: a scripted model for the child process, bounded waiting."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from totonoe_core.embedding import EmbedderSettings

# Takes the place of the package `model2vec` in a child process. What it does with a text is
# said by the text; each batch is noted in a file, in the order of arrival.
_SCRIPTED = """
import json, os, signal, sys, time
from pathlib import Path
import numpy as np

class StaticModel:
    def __init__(self, path):
        self.path = Path(path)
        self.dim = json.loads((self.path / "config.json").read_text())["dimension"]

    @classmethod
    def from_pretrained(cls, path, force_download):
        print("a library talks while it loads")
        os.write(1, b"and so does native code\\n")
        if (Path(path) / "die_at_load").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return cls(path)

    def encode(self, texts, max_length, use_multiprocessing):
        with (self.path / "batches.log").open("a") as log:
            log.write(json.dumps(texts) + "\\n")
        rows = np.zeros((len(texts), self.dim))
        for i, text in enumerate(texts):
            rows[i, sum(text.encode()) % self.dim] = 1 + len(text)
            if text.startswith("print"):
                print("a library quotes", text, flush=True)
                os.write(1, b"V" * 100)
            elif text.startswith("die"):
                os.kill(os.getpid(), signal.SIGKILL)
            elif text.startswith("wait"):
                deadline = time.monotonic() + 60
                while not (self.path / text).exists() and time.monotonic() < deadline:
                    time.sleep(0.005)
            elif text.startswith("refuse"):
                raise ValueError(text)
            elif text.startswith("zero"):
                rows[i] = 0
            elif text.startswith("infinite"):
                rows[i, 0] = np.inf
        return rows
"""


class ScriptedModel:
    """A model whose child prints, waits, dies or refuses when a text begins with that word."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        package = root / "scripted"
        self.directory = root / "model"
        package.mkdir()
        self.directory.mkdir()
        (package / "model2vec.py").write_text(_SCRIPTED)
        self.set_dimension(8)
        monkeypatch.syspath_prepend(str(package))

    @property
    def settings(self) -> EmbedderSettings:
        return EmbedderSettings(kind="model2vec", path=str(self.directory))

    def set_dimension(self, dimension: int) -> None:
        (self.directory / "config.json").write_text(json.dumps({"dimension": dimension}))

    def set_dies_at_load(self, dies: bool) -> None:
        marker = self.directory / "die_at_load"
        marker.touch() if dies else marker.unlink()

    def release(self, text: str) -> None:
        """Let the child go on that waits at this text ("wait...")."""
        (self.directory / text).touch()

    def batches(self) -> list[list[str]]:
        """What the child was asked for, in order."""
        log = self.directory / "batches.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def is_running(pid: int) -> bool:
    """Whether the process exists and is no zombie that nobody has collected yet."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return not Path("/proc/self").exists()


def assert_unit_rows(vectors: np.ndarray, count: int, dimension: int) -> None:
    assert vectors.dtype == np.float32
    assert vectors.shape == (count, dimension)
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
