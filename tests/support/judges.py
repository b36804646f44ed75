"""Judges that say what a test tells them to: one in this process, one behind a URL."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from support.http_servers import JsonServer
from support.waits import wait_s
from totonoe_core.judging import JudgeSettings, JudgingService, Opinion, Relation, TextPair, cascade

DEADLINE_S = 10.0
"""Longer than any test that does not wait for it."""


class ScriptedJudge:
    """Says `relation` of every pair, or nothing (`None`), or raises `error`; waits while held.

    The relation is that of the text `of` to the other one, or in the order of the pair.
    """

    thread_count = 1
    cpu_s = 0.0
    confidence = 0.75
    by = "scripted"

    def __init__(
        self, relation: Relation | None = Relation.SAME, of: str = "", batch_max: int = 1
    ) -> None:
        self.relation = relation
        self.of = of
        self.batch_max = batch_max
        self.error: Exception | None = None
        self.pairs: list[TextPair] = []
        self.batches: list[int] = []
        self.asked = threading.Event()
        self.closed = False
        self._released = threading.Event()
        self._released.set()

    def hold(self) -> None:
        self._released.clear()

    def release(self) -> None:
        self._released.set()

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Opinion | None]:
        self.pairs += pairs
        self.batches.append(len(pairs))
        self.asked.set()
        assert self._released.wait(wait_s())
        if self.error is not None:
            raise self.error
        return [self._says(pair) for pair in pairs]

    def _says(self, pair: TextPair) -> Opinion | None:
        if self.relation is None:
            return None
        opinion = Opinion.on(self.relation, self.confidence, self.by)
        assert opinion is not None
        return opinion.mirrored() if pair.one == self.of else opinion

    def close(self) -> None:
        self.closed = True


class SureJudge(ScriptedJudge):
    """Is sure of the relation."""

    confidence = 0.9
    by = "own:test"


def by_the_judge_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what the judge says be the probability: what follows is tested, not the shipped fit."""
    monkeypatch.setattr(
        cascade, "same_probability_judged", lambda _, row: 1.0 / (1.0 + math.exp(-row[0]))
    )


def service(judge: ScriptedJudge, *, pause_s: float = 30.0, **settings: Any) -> JudgingService:
    """A service on a scripted judge; the caller closes it, or the engine that has it does."""
    chosen = {"deadline_s": DEADLINE_S} | settings
    return JudgingService(judge, JudgeSettings(**chosen), pause_s=pause_s)


def pair(name: str, other: str = "other") -> TextPair:
    """A pair whose key belongs to its texts."""
    return TextPair.of(name, name.encode().ljust(16), other, other.encode().ljust(16))


class ChatServer(JsonServer):
    """Answers every chat with `says`, or `raw`, or a status; waits while `hang` is not set."""

    def __init__(self) -> None:
        self.says = '{"relation": "same", "confidence": 0.9}'
        self.status = 200
        super().__init__()

    def status_of(self, body: dict[str, Any]) -> int:  # noqa: ARG002 - the same for each
        return self.status

    def answer(self, body: dict[str, Any], status: int) -> bytes:
        if status != 200:
            return json.dumps(body).encode()
        message = {"role": "assistant", "content": self.says}
        return self.raw or json.dumps({"choices": [{"message": message}]}).encode()


class DecisionServer(ChatServer):
    """Answers a choice with an option and its probability, or `raw`, or a status.

    `relation_of(a, b)` names the option for b to a; `sure` is its probability, or one a request.
    """

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.relation_of: Callable[[str, str], str] = lambda *_: "same"
        self.sure: float | Sequence[float] = 0.995
        super().__init__()

    def answer(self, body: dict[str, Any], status: int) -> bytes:
        if status != 200 or self.raw is not None:
            return super().answer(body, status)
        if self.dialect == "openai":
            texts = json.loads(body["input"])
            options = [choice["value"] for choice in body["questions"][0]["choices"]]
        else:
            texts = body["state"]
            options = list(body["questions"]["relation"]["criteria"])
        said = self.relation_of(texts["a"], texts["b"])
        sure = self.sure if isinstance(self.sure, float) else self.sure[len(self.requests) - 1]
        rest = (1.0 - sure) / (len(options) - 1)
        shares = {name: sure if name == said else rest for name in options}
        return json.dumps(self.wrapped(said, sure, shares)).encode()

    def wrapped(self, choice: str, confidence: float, shares: dict[str, float]) -> dict[str, Any]:
        """The answer's body in the dialect, as its pages show it."""
        answer: dict[str, Any] = {"type": "choice", "choice": choice, "confidence": confidence}
        if self.dialect == "openai":
            listed = [{"value": name, "probability": share} for name, share in shares.items()]
            answer |= {"name": "relation", "probabilities": listed}
            return {"answers": [answer], "model": "small-2026", "usage": {"total_tokens": 5}}
        answer["probabilities"] = shares
        return {"answers": {"relation": answer}, "model": "small-2026", "usage": {}}
