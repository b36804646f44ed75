"""One process of clients that write, undo and read at random and note what they were told.

`python -m support.linear_clients` reads a job (JSON) from its input, says "ready", starts when a
file appears, and prints one `Event` a line. Times are of the machine's monotonic clock, which all
processes share. With several addresses each call of a client goes to another daemon.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import totonoe
from totonoe.call.places import Places

TEXTS = [f"valve {number} is open" for number in range(40)]
DIMENSION = 64
KNOWN_MAX = 60
WEIGHTS = {
    "remember": 8,
    "update": 6,
    "retext": 4,
    "expecting": 4,
    "forget": 4,
    "merge": 3,
    "undo": 4,
    "get": 10,
    "list": 2,
}


@dataclass(frozen=True)
class Event:
    """One call: what was asked, between which times, and the answer or the reason of its error."""

    client: str
    call: str
    asked: dict[str, Any]
    begin_ns: int
    end_ns: int
    answer: dict[str, Any]
    error: str = ""


def vector_of(text: str) -> list[float]:
    """A direction of its own for each text."""
    generator = random.Random(text)
    return [generator.gauss(0.0, 1.0) for _ in range(DIMENSION)]


class Agent:
    """One client; `known` are ids, `made` revisions that anybody of its process heard of."""

    def __init__(
        self,
        client: totonoe.Client,
        name: str,
        seed: str,
        known: deque[tuple[str, int]],
        made: deque[int],
    ) -> None:
        self._client, self._name = client, name
        self._random = random.Random(seed)
        self._known, self._made = known, made

    def run(self, count: int) -> list[Event]:
        """So many calls, one after the other."""
        return [self._one() for _ in range(count)]

    def _one(self) -> Event:
        call = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        if call != "list" and not self._known:
            call = "remember"
        if call == "undo" and not self._made:
            call = "remember"
        asked, send = getattr(self, "_" + call)()
        begin_ns = time.monotonic_ns()
        try:
            answer, error = send(), ""
        except totonoe.TotonoeError as failure:
            answer, error = {"told": str(failure)}, failure.reason or failure.code
        return Event(self._name, call, asked, begin_ns, time.monotonic_ns(), answer, error)

    def _some(self) -> tuple[str, int]:
        return self._random.choice(list(self._known))

    def _heard(self, memory_id: str, revision: int, *, made: bool = True) -> None:
        self._known.append((memory_id, revision))
        if made:
            self._made.append(revision)

    def _remember(self) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        text = self._random.choice(TEXTS)
        confidence = self._random.random()

        def send() -> dict[str, Any]:
            answer = self._client.remember(text, vector=vector_of(text), confidence=confidence)
            self._heard(answer.memory_id, answer.revision, made=answer.saved)
            return {
                "changed": answer.saved,
                "id": answer.memory_id,
                "revision": answer.revision,
            }

        return {"text": text, "confidence": confidence}, send

    def _changing(
        self, asked: dict[str, Any], **fields: Any
    ) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        def send() -> dict[str, Any]:
            answer = self._client.update(
                asked["id"], expected_revision=asked.get("expected", 0), **fields
            )
            self._heard(asked["id"], answer.memory.revision, made=answer.updated)
            duplicate = "" if answer.duplicate is None else answer.duplicate.memory_id
            return {
                "changed": answer.updated,
                "duplicate": duplicate,
                "revision": answer.revision,
                "memory": shown(answer.memory),
            }

        return asked, send

    def _update(self) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        confidence = self._random.random()
        asked = {"id": self._some()[0], "confidence": confidence}
        return self._changing(asked, confidence=confidence)

    def _retext(self) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        text = self._random.choice(TEXTS)
        asked = {"id": self._some()[0], "text": text}
        return self._changing(asked, content=text, vector=vector_of(text))

    def _expecting(self) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        confidence = self._random.random()
        memory_id, revision = self._some()
        asked = {"id": memory_id, "confidence": confidence, "expected": revision}
        return self._changing(asked, confidence=confidence)

    def _forget(self) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        asked = {"id": self._some()[0]}

        def send() -> dict[str, Any]:
            answer = self._client.forget(asked["id"], reason="drill")
            self._heard(asked["id"], answer.revision)
            return {
                "changed": True,
                "revision": answer.revision,
                "before": shown(answer.forgotten[0]),
            }

        return asked, send

    def _merge(self) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        asked = {"keep": self._some()[0], "remove": self._some()[0]}

        def send() -> dict[str, Any]:
            answer = self._client.merge(asked["keep"], [asked["remove"]], reason="drill")
            self._heard(asked["keep"], answer.revision)
            return {
                "changed": answer.merged,
                "revision": answer.revision,
                "memory": shown(answer.memory),
            }

        return asked, send

    def _undo(self) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        asked = {"target": self._random.choice(list(self._made))}

        def send() -> dict[str, Any]:
            answer = self._client.undo(asked["target"], reason="drill")
            if answer.undone:
                self._made.append(answer.revision)
            return {
                "changed": answer.undone,
                "revision": answer.revision,
                "memories": [shown(memory) for memory in answer.memories] if answer.undone else [],
            }

        return asked, send

    def _get(self) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        asked = {"id": self._some()[0]}
        return asked, lambda: {"memory": shown(self._client.get(asked["id"]))}

    def _list(self) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        def send() -> dict[str, Any]:
            page = self._client.list(page_size=1000)
            return {"memories": [shown(memory) for memory in page.memories]}

        return {}, send


def shown(memory: totonoe.Memory) -> dict[str, Any]:
    """What the check compares of a memory."""
    return {
        "id": memory.id,
        "text": memory.content,
        "confidence": memory.confidence,
        "status": memory.status.value,
        "by": memory.superseded_by,
        "revision": memory.revision,
    }


def main() -> None:
    job = json.load(sys.stdin)
    # Clients stay with the daemon that answered last; these do not, so that each read is tried at a
    # daemon that has not seen what the client saw.
    Places.answered = lambda *_: None  # type: ignore[method-assign, assignment]
    known: deque[tuple[str, int]] = deque(maxlen=KNOWN_MAX)
    made: deque[int] = deque(maxlen=KNOWN_MAX)
    clients = [
        totonoe.Client(job["address"], agent_id=name, collection=job["collection"])
        for name in job["names"]
    ]
    for client in clients:
        client.stats()  # connected before the start
    agents = [
        Agent(client, name, f"{job['seed']}/{name}", known, made)
        for client, name in zip(clients, job["names"], strict=True)
    ]
    print("ready", flush=True)
    waiting = threading.Event()
    while not Path(job["start"]).exists():
        waiting.wait(0.001)
    with ThreadPoolExecutor(len(agents)) as pool:
        for events in pool.map(lambda agent: agent.run(job["count"]), agents):
            for event in events:
                print(json.dumps(asdict(event)))
    for client in clients:
        client.close()


if __name__ == "__main__":
    main()
