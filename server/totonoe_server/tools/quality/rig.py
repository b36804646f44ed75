"""An engine that lives as long as a measurement, in a temporary directory.

Everything is asked of the engine as the daemon would ask it; nothing of the guard or of
Recall is done again here.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.collections import NewCollection
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.memories import Remember, Remembered
from totonoe_core.domain.policy import GuardPolicy
from totonoe_core.domain.queries import Recalled, RecallQuery
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding import EmbedderSettings, EmbeddingService
from totonoe_core.engine.factory import DataDir

T = TypeVar("T")
Advance = Callable[[int], object]
"""Told how much is done since it was told last."""

GROUP = 256
IN_FLIGHT = 4
SEARCHES_IN_FLIGHT = 64
MODEL_LOAD_S = 300.0


class Rig:
    """Embedder and engine. `model` says what makes the vectors.

    Parameters
    ----------
    data_dir : Path
        Empty; whoever made it takes it away.
    """

    def __init__(self, data_dir: Path, embedder: EmbedderSettings) -> None:
        self.embedding = EmbeddingService(embedder)
        self.engine = DataDir(data_dir).open(self.embedding)
        self._names = (f"quality-{number}" for number in itertools.count(1))
        self.embedding.start()
        try:
            self.model: ModelIdentity = self.embedding.wait_ready(MODEL_LOAD_S)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the embedder's processes and the engine. Idempotent."""
        self.engine.close(timeout_s=10.0)

    def vectors(self, texts: Sequence[str], advance: Advance) -> NDArray[np.float32]:
        """Unit vectors of texts, each distinct text embedded once: float32[n, dim]."""
        distinct = list(dict.fromkeys(texts))
        uses = dict.fromkeys(distinct, 0)
        for text in texts:
            uses[text] += 1
        groups = [distinct[at : at + GROUP] for at in range(0, len(distinct), GROUP)]
        found: list[NDArray[np.float32]] = []
        for group, part in zip(
            groups, windowed(groups, self.embedding.submit, IN_FLIGHT), strict=True
        ):
            found.append(part)
            advance(sum(uses[text] for text in group))
        if not found:
            return np.zeros((0, self.model.dimension), np.float32)
        place = {text: number for number, text in enumerate(distinct)}
        return np.concatenate(found)[[place[text] for text in texts]]

    @contextmanager
    def collection(self, guard: GuardPolicy) -> Iterator[str]:
        """A new collection with the guard's policy, deleted afterwards."""
        name = next(self._names)
        new = NewCollection(name, guard=guard)
        self.engine.create_collection(new, "", agent_id="").result()
        yield name
        self.engine.delete_collection(name, "", agent_id="").result()

    def remember(
        self, collection: str, commands: Sequence[Remember], advance: Advance
    ) -> Iterator[Remembered]:
        """Remembers in order, in groups, and answers in order.

        A group is answered before the next is handed in: decided is in the order of the
        commands, whatever the embedder takes for one or the other.
        """
        for at in range(0, len(commands), GROUP):
            group = commands[at : at + GROUP]
            futures: list[Future[Applied]] = self.engine.apply_all(
                collection, [("", (command,)) for command in group]
            )
            for future in futures:
                yield cast(Remembered, future.result().results[0])
            advance(len(group))

    def recall(
        self, collection: str, queries: Sequence[RecallQuery], advance: Advance
    ) -> Iterator[Recalled]:
        """Asks in order, several at once, and answers in order."""
        ask: Callable[[str, RecallQuery], Future[Recalled]] = self.engine.read
        for recalled in windowed(queries, lambda query: ask(collection, query), SEARCHES_IN_FLIGHT):
            yield recalled
            advance(1)


Q = TypeVar("Q")


def windowed(asked: Sequence[Q], ask: Callable[[Q], Future[T]], window: int) -> Iterator[T]:
    """Answers in order, with at most `window` questions under way."""
    waiting: deque[Future[T]] = deque()
    for question in asked:
        waiting.append(ask(question))
        if len(waiting) >= window:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@contextmanager
def opened(embedder: EmbedderSettings) -> Iterator[Rig]:
    """A rig on a temporary directory that goes with it."""
    with tempfile.TemporaryDirectory(prefix="totonoe-quality-") as directory:
        rig = Rig(Path(directory) / "data", embedder)
        try:
            yield rig
        finally:
            rig.close()
