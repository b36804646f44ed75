"""The course of the demonstration: remember together, race, recall; figures come out."""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from totonoe import Client
from totonoe_server.tools.demo.conversation import Conversation, Line
from totonoe_server.tools.demo.processes import Crew, DemoError, Message
from totonoe_server.tools.quality.figures import mean, percentile, recall_at, reciprocal_rank

CALLERS = 32
AT = 5
MODEL_LOAD_S = 300.0
Begin = Callable[[str, int], Callable[[], object]]
"""Told what begins and how much there is of it; gives what to call when one is done."""


@dataclass
class Story:
    """One run over a daemon that holds nothing yet.

    Attributes
    ----------
    memory_ids : dict of str to set of str
        Under the id of a line the memories that its tellings were told: the one that was
        saved, or the one that it repeats.
    """

    conversation: Conversation
    client: Client
    crew: Crew
    size: int
    begin: Begin
    memory_ids: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def run(self) -> dict[str, Any]:
        """The report. Raises `DemoError` or `TotonoeError`."""
        collections = self._prepare()
        return {
            "conversation": self.conversation.name,
            "agents": self.size,
            "embedder": self.client.stats().model.name or "none",
            "remember": self._remember(collections),
            "race": self._race(),
            "recall": self._recall(collections),
        }

    def _prepare(self) -> dict[str, str]:
        """A collection for each conversation; the first waits until the model has loaded."""
        names = {conv: f"demo-{at}" for at, conv in enumerate(self.conversation.convs, 1)}
        for name in names.values():
            self.client.create_collection(name, timeout_s=MODEL_LOAD_S)
            # Opens it, and lets the model see its first text, outside of what is measured.
            self.client.check("Is anybody here?", collection=name, timeout_s=MODEL_LOAD_S)
        return names

    def _remember(self, collections: dict[str, str]) -> dict[str, Any]:
        lines = self.conversation.lines
        orders: list[Message] = [{"order": "remember", "items": []} for _ in range(self.size)]
        for at, line in enumerate(lines):
            item = line.order() | {"collection": collections[line.conv]}
            for teller in tellers(at, self.size):
                orders[teller]["items"].append(item)
        told_count = sum(len(order["items"]) for order in orders)
        with self._measured(told_count) as costs:
            self.crew.order(orders)
            answers = self.crew.answers(self.begin("remember", told_count))
        for answer in answers:
            self.memory_ids[answer["id"]].add(answer["memory_id"])
        refused = Counter(answer["method"] for answer in answers if not answer["saved"])
        figures = {
            "lines": len(lines),
            "told": told_count,
            "saved": sum(answer["saved"] for answer in answers),
            "refused": dict(sorted(refused.items())),
            **_latency(answers),
            **costs,
        }
        if self.conversation.labelled:
            figures |= labels(lines, self.memory_ids)
        return figures

    def _race(self) -> dict[str, Any]:
        """CALLERS calls with one new text at the same time."""
        name = "demo-race"
        self.client.create_collection(name)
        shares = [len(range(at, CALLERS, self.size)) for at in range(self.size)]
        text = f"The word of the day is {secrets.token_hex(8)}."
        self.crew.order(
            [{"order": "race", "text": text, "collection": name, "callers": n} for n in shares]
        )
        self.crew.answers()  # every caller stands at the line
        self.crew.order([{} for _ in shares])
        answers = self.crew.answers(self.begin("race", CALLERS))
        winners = {answer["memory_id"] for answer in answers if answer["saved"]}
        named = sum(not answer["saved"] and answer["memory_id"] in winners for answer in answers)
        saved = sum(answer["saved"] for answer in answers)
        return {
            "callers": len(answers),
            "saved": saved,
            "named_it": named,
            "ok": len(answers) == CALLERS and saved == 1 and named == CALLERS - 1,
        }

    def _recall(self, collections: dict[str, str]) -> dict[str, Any]:
        questions = self.conversation.questions
        items = [
            {"id": question.id, "text": question.text, "collection": collections[question.conv]}
            for question in questions
        ]
        orders = [{"order": "recall", "items": items[at :: self.size]} for at in range(self.size)]
        with self._measured(len(items)) as costs:
            self.crew.order(orders)
            answers = self.crew.answers(self.begin("recall", len(items)))
        hits = {answer["id"]: answer["hits"] for answer in answers}
        if len(hits) != len(items):
            raise DemoError("questions share an id")
        holding = self._holding()
        asked = [
            (hits[question.id], [holding[said] for said in sorted(question.evidence_ids)])
            for question in questions
        ]
        return {
            "questions": len(asked),
            f"recall_at_{AT}": mean(recall_at(*pair, AT) for pair in asked),
            "mrr": mean(reciprocal_rank(*pair) for pair in asked),
            **_latency(answers),
            **costs,
        }

    def _holding(self) -> dict[str, set[str]]:
        """Under the id of each line all memories that say what it says."""
        by_first: dict[str, set[str]] = defaultdict(set)
        for line in self.conversation.lines:
            by_first[line.said_first] |= self.memory_ids[line.id]
        return {line.id: by_first[line.said_first] for line in self.conversation.lines}

    @contextmanager
    def _measured(self, calls: int) -> Iterator[dict[str, Any]]:
        """Fills in what the daemon and its embedder needed for a call, on the average."""
        costs: dict[str, Any] = {}
        before, started_s = self.client.stats(), perf_counter()
        yield costs
        costs["wall_s"] = round(perf_counter() - started_s, 3)
        after = self.client.stats()
        for name, used_s in (
            ("daemon_cpu_ms", after.cpu_s - before.cpu_s),
            ("embedder_cpu_ms", after.embedder_cpu_s - before.embedder_cpu_s),
            ("judge_cpu_ms", after.judge_cpu_s - before.judge_cpu_s),
        ):
            costs[name] = round(1000.0 * used_s / calls, 3) if calls else None


def tellers(at: int, size: int) -> list[int]:
    """The agents that tell line `at`: two where there are two."""
    return sorted({at % size, (at + 1) % size})


def labels(lines: Sequence[Line], memory_ids: dict[str, set[str]]) -> dict[str, Any]:
    """Count what became of restatements and look-alikes.

    Several agents at once do not keep the order of the lines, so that either of two lines that
    say the same may be the one that is saved: a restatement is caught if both led to one memory,
    a look-alike kept if they did not.
    """
    restatements: dict[str, dict[str, int]] = {}
    for line in lines:
        if line.dup_of:
            part = restatements.setdefault(line.kind, {"n": 0, "caught": 0})
            part["n"] += 1
            part["caught"] += not memory_ids[line.id].isdisjoint(memory_ids[line.dup_of])
    alike = [line for line in lines if line.differs_from]
    kept = [
        line
        for line in alike
        if all(memory_ids[line.id].isdisjoint(memory_ids[line_id]) for line_id in line.differs_from)
    ]
    return {
        "restatements": dict(sorted(restatements.items())),
        "lookalikes": {"n": len(alike), "kept": len(kept)},
    }


def _latency(answers: Sequence[Message]) -> dict[str, float | None]:
    found = [answer["ms"] for answer in answers]
    return {
        name: None if value is None else round(value, 3)
        for name, value in (("p50_ms", percentile(found, 50)), ("p99_ms", percentile(found, 99)))
    }


def tell(
    conversation: Conversation, address: str, size: int, logs: Path, begin: Begin
) -> dict[str, Any]:
    """Runs the story on the daemon at `address`. Raises `DemoError` or `TotonoeError`."""
    with Client(address, agent_id="demo") as client, Crew(address, size, logs) as crew:
        return Story(conversation, client, crew, size, begin).run()
