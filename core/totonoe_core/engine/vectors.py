"""Where the vectors of a collection's texts come from: given, embedded, or worked out with a plan.

Texts are embedded by the daemon's model if it is the collection's. If the collection is being
re-embedded with it, they are embedded too, and their vectors lie beside the rows until the swap.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits, tidy_plan, validate
from totonoe_core.cleanup import Planned
from totonoe_core.clock import Clock
from totonoe_core.commands import (
    Calibrate,
    Command,
    Merge,
    Remember,
    Update,
    asked,
)
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine import calibrating
from totonoe_core.engine.futures import attempt, fail, ready, then
from totonoe_core.engine.reads import Reads
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.writer import Group, Job, Vector
from totonoe_core.errors import InvalidArgument, ModelMismatch, TotonoeError
from totonoe_core.guard.calibration import Fitted
from totonoe_core.tidy import ApplyTidyPlan, TidyUpsert


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of texts, and the key of the model that made them."""

    vectors: Mapping[str, Vector]
    key: str


class Vectors:
    """The vectors of one collection's texts. Safe from any thread.

    `submit(group)` gives jobs back to the writer; `reads` works plans out.
    """

    def __init__(
        self,
        state: CollectionState,
        embedding: EmbeddingService | None,
        clock: Clock,
        executor: Executor,
        submit: Callable[[Group], None],
        reads: Reads,
    ) -> None:
        self._state = state
        self._embedding = embedding
        self._clock = clock
        self._executor = executor
        self._submit = submit
        self._reads = reads

    # -- Which model

    def embedder(self) -> EmbeddingService:
        """The embedder, if it is the one that made this collection's vectors.

        Raises `InvalidArgument` (VECTOR_REQUIRED) where the clients bring vectors,
        `ModelMismatch` for another model, `Unavailable` while it loads again.
        """
        info = self._state.published
        if info.model.name == "none":
            raise InvalidArgument(
                "VECTOR_REQUIRED",
                field="vector",
                got="none",
                allowed=f"a vector: the clients of collection {info.name!r} bring them",
            )
        service = self._embedding
        if service is None:
            raise ModelMismatch(collection=info.name, stamped=info.model.key, running="none")
        identity = service.identity
        if identity is not None and identity.key != info.model.key:
            raise ModelMismatch(collection=info.name, stamped=info.model.key, running=identity.key)
        return service

    def preparing(self) -> EmbeddingService | None:
        """The embedder, if the collection is being re-embedded with its model."""
        pending, service = self._state.pending, self._embedding
        if pending is None or pending.cancelled or service is None:
            return None
        identity = service.identity
        if identity is None:
            # It loads; what was begun with another one is told when it has.
            return service if self._state.published.model.name == "none" else None
        return service if identity.key == pending.model.key else None

    def embedded(self, texts: Sequence[str]) -> Future[Embedded]:
        """Vectors of texts by the collection's model, or by the one that is prepared.

        Raises as `embedder`.
        """
        service = self.preparing() or self.embedder()

        def keep(found: NDArray[np.float32]) -> Future[Embedded]:
            identity = service.identity
            assert identity is not None
            return ready(Embedded(dict(zip(texts, found, strict=True)), identity.key))

        return then(service.submit(texts), keep)

    # -- Vectors that are given

    def checked(self, operation_id: str, commands: Sequence[Command]) -> list[Vector | None]:
        """Checks commands; returns the vectors that were given with them."""
        validate.operation_id(operation_id)
        vectors: list[Vector | None] = []
        now_us = self._clock()
        for command in commands:
            validate.command(command, now_us)
            if isinstance(command, ApplyTidyPlan):
                tidy_plan.check(command.updates, now_us)
            vector = None
            if isinstance(command, Remember | Update | Merge) and command.vector:
                dimension = self.dimension(command.vector)
                field = "vector" if isinstance(command, Merge) else "memory.vector"
                vector = validate.vector(command.vector, field, dimension)
            elif isinstance(command, TidyUpsert) and command.update.vector:
                given = command.update.vector
                vector = validate.vector(given, "state_updates.vector", self.dimension(given))
            elif isinstance(command, Update) and "vector" in command.mask:
                raise InvalidArgument(
                    "MISSING_FIELD", field="memory.vector", got="nothing", allowed="a vector"
                )
            vectors.append(vector)
        return vectors

    def dimension(self, given: bytes) -> int:
        """The collection's dimension; while it has none yet, that of the vector given."""
        own = self._state.published.model.dimension
        return own or min(len(given) // 4, limits.VECTOR_DIMENSION_MAX)

    # -- Vectors that jobs lack

    def embed(self, group: Group) -> None:
        """Gets the missing vectors and gives the group back to the writer.

        Jobs whose texts cannot be embedded fail; the others go on, in their order. While another
        model is prepared every text is embedded, so that what is saved has a vector of it at once;
        one whose vector was given does not wait for that in vain.
        """
        wanting: list[tuple[Job, Future[None]]] = []
        ahead = self.preparing() is not None
        for job in group.jobs:
            wanting += [
                (job, self._work_out(job, position, command))
                for position, command in enumerate(job.commands)
                if isinstance(command, Calibrate | Planned) and asked(command) == command
            ]
            texts = {
                position: text
                for position, command in enumerate(job.commands)
                if (ahead or job.vectors[position] is None) and (text := _text_of(command))
            }
            if not (texts or job.wanted):
                continue
            # A request for each job, for each to fail alone; they share batches all the same.
            wanting.append((job, self._for_job(job, texts)))
        if not wanting:
            self._submit(group)
            return
        # Counted under a lock: the embedder answers from a thread for each of its processes.
        lock, left = threading.Lock(), len(wanting)

        def done(_: Future[None]) -> None:
            nonlocal left
            with lock:
                left -= 1
                last = left == 0
            if last:
                self._go_on(group, wanting)

        for _, future in wanting:
            future.add_done_callback(done)

    def _for_job(self, job: Job, texts: Mapping[int, str]) -> Future[None]:
        """Gives a job the vectors of the texts, which are by the place of their command, and of
        those that it wants."""
        every = list(dict.fromkeys([*texts.values(), *job.wanted]))

        def keep(found: Embedded) -> Future[None]:
            info = self._state.published
            job.embedded, job.embedded_by = {**found.vectors}, found.key
            if found.key == info.model.key and job.model_number == info.model_number:
                for position, text in texts.items():
                    if job.vectors[position] is None:
                        job.vectors[position] = found.vectors[text]
            return ready(None)

        return then(attempt(lambda: self.embedded(every)), keep)

    def _work_out(self, job: Job, position: int, command: Calibrate | Planned) -> Future[None]:
        """Gives a job's command what is found out before it can be decided."""

        def keep(found: Command) -> Future[None]:
            job.commands = (*job.commands[:position], found, *job.commands[position + 1 :])
            return ready(None)

        if isinstance(command, Calibrate):
            return then(
                attempt(lambda: self.fitted(command)),
                lambda fitted: keep(replace(command, fitted=fitted)),
            )
        return then(attempt(lambda: self._reads.planned(command)), keep)

    def fitted(self, command: Calibrate) -> Future[Fitted]:
        """What a Calibrate finds out."""
        info = self._state.published
        if info.model.name == "none":
            raise InvalidArgument(
                "VECTOR_REQUIRED",
                field="collection",
                got=f"{info.name!r}, whose clients bring the vectors",
                allowed="one whose texts the daemon embeds",
            )
        service, budget, now_us = self.embedder(), command.false_merge_budget, self._clock()
        return then(
            self._reads.judged_pairs(),
            lambda own: calibrating.fitted(
                service, info.model, budget, now_us, self._executor, own
            ),
        )

    def _go_on(self, group: Group, wanting: Sequence[tuple[Job, Future[None]]]) -> None:
        failed = set()
        for job, future in wanting:
            try:
                future.result()
            except BaseException as error:
                if isinstance(error, TotonoeError) and not _lacks(job):
                    continue
                fail(job.future, error)
                failed.add(id(job))
        rest = [job for job in group.jobs if id(job) not in failed]
        if rest:
            self._submit(Group(rest))


def _lacks(job: Job) -> bool:
    """Whether a job cannot be decided with what it has."""
    return bool(job.wanted) or any(
        vector is None and (_text_of(command) or isinstance(command, Calibrate | Planned))
        for command, vector in zip(job.commands, job.vectors, strict=True)
    )


def _text_of(command: Command) -> str:
    """The text that a command needs a vector of, unless one was given with it."""
    match command:
        case Remember(content=text) | Merge(content=text):
            return text
        case Update(mask=mask, content=text) if "content" in mask:
            return text
        case TidyUpsert(update=update):
            return update.body_text
    return ""
