"""A worker of `bench.load`: one agent process that uses the blocking client as users do."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np

import totonoe
from bench import material
from bench.processes import heard, say

SHARES = {"Recall": 0.7, "Remember": 0.2, "Forget": 0.05, "Get": 0.05}
TEXTS = 20_000
FIRST_TICKET = 1_000_000
REPEATED_SHARE = 0.2


class Agent:
    """Calls drawn by `SHARES`, one after the other, without a pause."""

    def __init__(self, order: dict[str, Any]) -> None:
        number = order["worker"]
        self._generator = np.random.default_rng([order["seed"], number])
        first = FIRST_TICKET * (number + 1)
        self._texts = order["texts"] or material.texts(self._generator, TEXTS, first)
        self._next = 0
        self._ids: list[str] = []
        self._client = totonoe.Client(order["address"], agent_id=f"agent-{number}")
        self._limit_s = order["limit_s"]
        self._latencies_s: dict[str, list[float]] = {name: [] for name in SHARES}
        self._errors: Counter[str] = Counter()

    def connect(self) -> None:
        """The first call, which is not measured."""
        self._client.health()

    def run(self) -> dict[str, Any]:
        """Calls for the time ordered."""
        names, shares = list(SHARES), list(SHARES.values())
        calls = {
            "Recall": self._recall,
            "Remember": self._remember,
            "Forget": self._forget,
            "Get": self._get,
        }
        begin_s = time.time()
        while time.time() < begin_s + self._limit_s:
            name = str(self._generator.choice(names, p=shares))
            if not self._ids and name in ("Get", "Forget"):
                name = "Remember"
            call_s = time.perf_counter()
            try:
                calls[name]()
            except totonoe.TotonoeError as error:
                self._errors[f"{name}: {error.reason or error.code}"] += 1
            else:
                self._latencies_s[name].append(time.perf_counter() - call_s)
        answer = {"begin_s": begin_s, "end_s": time.time()}
        return answer | {"latencies_s": self._latencies_s, "errors": self._errors}

    def _any_text(self) -> str:
        return self._texts[int(self._generator.integers(len(self._texts)))]

    def _any_place(self) -> int:
        return int(self._generator.integers(len(self._ids)))

    def _recall(self) -> None:
        # Half of a text asks for what it is about, as questions do.
        words = self._any_text().split()
        self._client.recall(" ".join(words[: max(3, len(words) // 2)]), k=10)

    def _remember(self) -> None:
        if self._next and self._generator.random() < REPEATED_SHARE:
            text = self._texts[int(self._generator.integers(min(self._next, len(self._texts))))]
        else:
            text = self._texts[self._next % len(self._texts)]
            self._next += 1
        answer = self._client.remember(text)
        if answer.saved:
            self._ids.append(answer.memory_id)

    def _get(self) -> None:
        self._client.get(self._ids[self._any_place()])

    def _forget(self) -> None:
        # Each memory is forgotten once, and only by the agent that saved it.
        self._client.forget(self._ids.pop(self._any_place()), reason="no longer needed")


def main() -> None:
    """Takes an order, connects, waits for the others, and runs."""
    agent = Agent(heard())
    agent.connect()
    say({"connected": True})
    heard()
    say(agent.run())


if __name__ == "__main__":
    main()
