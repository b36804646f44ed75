"""Current value first: what a memory shows of facts that change, and of facts that do not.

All notes of all chains lie in one store: first the first notes of all chains, then the second
ones, and so on. Then each question is asked once, and each note once by its own text.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from totonoe import Client
from totonoe_server.tools.quality.bm25 import Bm25
from totonoe_server.tools.quality.figures import share
from totonoe_server.tools.quality.rig import Advance
from totonoe_server.tools.quality.stage.system import Embed, Shown, System
from totonoe_server.tools.quality.stage.texts import Chain, Role

K = 10


class Daemon:
    """A daemon over the wire, a `System`.

    Parameters
    ----------
    client : Client
        Of a running daemon; whoever made it closes it.
    name : str
        Of its rows.
    replaces : bool
        The collection lets a text supersede what it certainly excludes (`on_update`,
        `on_contradiction`); else it links and asks, as by default.
    """

    def __init__(self, client: Client, name: str, *, replaces: bool) -> None:
        self.name = name
        self._client, self._replaces = client, replaces
        self._action = "supersede" if replaces else None
        self._collections = (f"stage-{int(replaces)}-{number}" for number in itertools.count())
        self._collection = ""

    def clear(self) -> None:
        """Begin a new collection."""
        self._collection = next(self._collections)
        self._client.create_collection(self._collection)

    def remember(self, text: str) -> bool:
        """Save a text unless a memory says the same."""
        actions: dict[str, Any] = {}
        if self._action:
            actions = {"on_update": self._action, "on_contradiction": self._action}
        return self._client.remember(text, collection=self._collection, **actions).saved

    def recall(self, query: str, k: int) -> list[Shown]:
        """Return hits, as the client asks for them: with folding."""
        hits = self._client.recall(query, k=k, no_touch=True, collection=self._collection).hits
        return [Shown(hit.memory.content, bool(hit.updated_by or hit.outdated)) for hit in hits]

    def close(self) -> None:
        """Do nothing: the client is not ours."""


class Words:
    """BM25 over all that was saved; refuses equal texts only. A `System`."""

    name = "BM25"

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._index: Bm25 | None = None

    def clear(self) -> None:
        """Forget everything."""
        self._texts, self._index = [], None

    def remember(self, text: str) -> bool:
        """Save a text unless it is there."""
        if text in self._texts:
            return False
        self._texts.append(text)
        self._index = None
        return True

    def recall(self, query: str, k: int) -> list[Shown]:
        """Return the texts of highest weight."""
        if self._index is None:
            self._index = Bm25(self._texts)
        return [Shown(self._texts[place]) for place in self._index.best(query, k)]

    def close(self) -> None:
        """Do nothing."""


class Cosine:
    """The nearest vectors of all that was saved; refuses equal texts only. A `System`.

    Of equal ones the newest comes first, as with `Words`.
    """

    name = "cosine"

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._texts: list[str] = []

    def clear(self) -> None:
        """Forget everything."""
        self._texts = []

    def remember(self, text: str) -> bool:
        """Save a text unless it is there."""
        if text in self._texts:
            return False
        self._texts.append(text)
        return True

    def recall(self, query: str, k: int) -> list[Shown]:
        """Return the texts whose vectors are nearest to that of the query."""
        vectors = self._embed([*self._texts, query])
        near = vectors[:-1] @ vectors[-1]
        order = np.lexsort((-np.arange(len(near)), -near))
        return [Shown(self._texts[place]) for place in order[:k]]

    def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class AskedChain:
    """A chain, what its question found, and for each true note what its own text found."""

    chain: Chain
    shown: Sequence[Shown]
    by_text: dict[str, Sequence[Shown]]

    @property
    def first(self) -> bool:
        """Return whether the first text found is a current one."""
        return bool(self.shown) and self.shown[0].text in self._now

    @property
    def first_unmarked(self) -> bool:
        """Return whether the first text found that is not marked as outdated is a current one."""
        plain = [result.text for result in self.shown if not result.outdated]
        return bool(plain) and plain[0] in self._now

    @property
    def _now(self) -> set[str]:
        return {note.text for note in self.chain.notes if note.role == Role.NOW}

    def old(self) -> Iterator[tuple[bool, bool]]:
        """Yield of each outdated note whether the answer lacks it, and whether it is marked."""
        outdated = {result.text: result.outdated for result in self.shown}
        for note in self.chain.notes:
            if note.role == Role.OLD:
                yield note.text not in outdated, outdated.get(note.text, False)

    def hidden(self) -> Iterator[bool]:
        """Yield of each true note whether its own text does not find it any more."""
        for text, shown in self.by_text.items():
            yield all(result.text != text for result in shown)

    def marked(self) -> Iterator[bool]:
        """Yield of each true note whether it is marked as outdated."""
        for text, shown in self.by_text.items():
            yield any(result.text == text and result.outdated for result in shown)


def save_all(system: System, chains: Sequence[Chain], advance: Advance) -> None:
    """Save all notes in a store that is empty before."""
    system.clear()
    for notes in itertools.zip_longest(*(chain.notes for chain in chains)):
        for note in notes:
            if note is not None:
                system.remember(note.text)
                advance(1)


def measure(system: System, chains: Sequence[Chain], advance: Advance) -> dict[str, Any]:
    """Return the figures of a system. `advance` is told each note and each question."""
    save_all(system, chains, advance)
    asked = []
    for chain in chains:
        true = [note.text for note in chain.notes if note.role not in (Role.OLD, Role.CLAIM)]
        by_text = {text: system.recall(text, K) for text in true}
        asked.append(AskedChain(chain, system.recall(chain.question, K), by_text))
        advance(1)
    kinds: dict[str, list[AskedChain]] = defaultdict(list)
    for question in asked:
        kinds[question.chain.kind].append(question)
    return {
        "name": system.name,
        **_figures(asked),
        "by_kind": {kind: _figures(group) for kind, group in kinds.items()},
    }


def _figures(asked: Sequence[AskedChain]) -> dict[str, Any]:
    return {
        "n": len(asked),
        "first": _share(question.first for question in asked),
        "first_unmarked": _share(question.first_unmarked for question in asked),
        "old_hidden": _share(hidden for each in asked for hidden, _ in each.old()),
        "old_marked": _share(marked for each in asked for _, marked in each.old()),
        "true_hidden": _share(hidden for each in asked for hidden in each.hidden()),
        "true_marked": _share(marked for each in asked for marked in each.marked()),
    }


def _share(found: Iterator[bool]) -> float | None:
    values = list(found)
    return share(sum(values), len(values))


def cost(chains: Sequence[Chain]) -> int:
    """Return how much `measure` tells `advance` altogether."""
    return len(chains) + sum(len(chain.notes) for chain in chains)
