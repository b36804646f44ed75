"""One agent of the demonstration: takes orders line by line on stdin, answers on stdout.

    python -m totonoe_server.tools.demo.agent ADDRESS NAME

Each order and each answer is a JSON object on a line of its own; `{"done": true}` follows the
answers to an order. It ends when its standard input does.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from totonoe import Client, Remembered, TotonoeError

Message = dict[str, Any]

K = 10
CALL_LIMIT_S = 60.0


def remember(client: Client, order: Message) -> Iterator[Message]:
    """Says its items one after the other, as an agent does."""
    for item in order["items"]:
        created = datetime.fromisoformat(item["time"]) if item["time"] else None
        started_s = time.perf_counter()
        answer = client.remember(item["text"], collection=item["collection"], created_time=created)
        yield {"id": item["id"], "ms": _since_ms(started_s), **_told(answer)}


def race(client: Client, order: Message) -> Iterator[Message]:
    """Says one text from several threads, all held back until the word is given."""
    gate = threading.Barrier(order["callers"] + 1)

    def call(_: int) -> Remembered:
        gate.wait(CALL_LIMIT_S)
        return client.remember(order["text"], collection=order["collection"])

    with ThreadPoolExecutor(order["callers"]) as callers:
        answers = callers.map(call, range(order["callers"]))
        yield {"ready": True}
        yield {"done": True}
        sys.stdin.readline()
        gate.wait(CALL_LIMIT_S)
        for answer in answers:
            yield _told(answer)


def recall(client: Client, order: Message) -> Iterator[Message]:
    """Asks its questions one after the other."""
    for item in order["items"]:
        started_s = time.perf_counter()
        answer = client.recall(item["text"], k=K, collection=item["collection"])
        ms = _since_ms(started_s)
        yield {"id": item["id"], "ms": ms, "hits": [hit.memory.id for hit in answer.hits]}


ORDERS: dict[str, Callable[[Client, Message], Iterator[Message]]] = {
    "remember": remember,
    "race": race,
    "recall": recall,
}


def main(address: str, name: str) -> None:
    """Carries out orders until there are no more."""
    with Client(address, agent_id=name, timeout_s=CALL_LIMIT_S) as client:
        for line in iter(sys.stdin.readline, ""):
            order = json.loads(line)
            try:
                _say(ORDERS[order["order"]](client, order))
            except TotonoeError as error:
                _say([{"error": str(error)}])
            _say([{"done": True}])


def _say(messages: Iterable[Message]) -> None:
    for message in messages:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def _since_ms(started_s: float) -> float:
    return 1000.0 * (time.perf_counter() - started_s)


def _told(answer: Remembered) -> Message:
    return {
        "saved": answer.saved,
        "memory_id": answer.memory_id,
        "method": str(answer.method),
    }


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
