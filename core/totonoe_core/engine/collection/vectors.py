"""Vectors of a collection's texts: given, embedded, or computed with a plan.

Texts are embedded by the daemon's model if it is the collection's. If the collection is being
re-embedded with it, they are embedded too, and their vectors lie beside the rows until the swap. If
neither the collection nor the daemon has a model, a text may have no vector: it is guarded and
found by its words.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import InvalidArgument, ModelMismatch, TotonoeError
from totonoe_core.base.stages import marking
from totonoe_core.base.turn import taking
from totonoe_core.domain.calibration import Fitted
from totonoe_core.domain.cleanup import Planned
from totonoe_core.domain.collections import Calibrate
from totonoe_core.domain.commands import Command, asked
from totonoe_core.domain.memories import Merge, Remember, Update
from totonoe_core.domain.questions import Resolve
from totonoe_core.domain.tidy import ApplyTidyPlan, TidyUpsert
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine.collection import calibrating
from totonoe_core.engine.queries.reads import Reads
from totonoe_core.engine.state.futures import attempt, fail, ready, then
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.engine.writer.writer import Group, Job, Vector
from totonoe_core.rules import tidy_plan, validate


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """Vectors of texts, and the key of their model."""

    vectors: Mapping[str, Vector]
    key: str


class Vectors:
    """The vectors of one collection's texts. Safe from any thread.

    `submit(group)` returns jobs to the writer; `reads` computes plans.
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

    # -- Choice of the model

    def embedder(self) -> EmbeddingService:
        """Return the embedder, if it made this collection's vectors.

        Raises `InvalidArgument` (VECTOR_REQUIRED) where the clients bring vectors,
        `ModelMismatch` for another model, `Unavailable` while it loads again.
        """
        info = self._state.published
        service = self._embedding
        if not info.model.embeds:
            way = "" if service is None else "; a re-embedding gives it the daemon's model"
            raise InvalidArgument(
                "VECTOR_REQUIRED",
                field="vector",
                got="none",
                allowed=f"a vector: the clients of collection {info.name!r} bring them{way}",
            )
        if service is None:
            raise ModelMismatch(collection=info.name, stamped=info.model.key, running="none")
        identity = service.identity
        if identity is not None and identity.key != info.model.key:
            raise ModelMismatch(collection=info.name, stamped=info.model.key, running=identity.key)
        return service

    def preparing(self) -> EmbeddingService | None:
        """Return the embedder, if the collection is being re-embedded with its model."""
        pending, service = self._state.pending, self._embedding
        if pending is None or pending.cancelled or service is None:
            return None
        identity = service.identity
        if identity is None:
            # It loads; if it turns out to be another model, that is reported afterwards.
            return None if self._state.published.model.embeds else service
        return service if identity.key == pending.model.key else None

    def embedded(self, texts: Sequence[str]) -> Future[EmbeddedTexts]:
        """Return vectors of texts by the collection's model, or by the one in preparation.

        Raises as `embedder`.
        """
        service = self.preparing() or self.embedder()

        def keep(found: NDArray[np.float32]) -> Future[EmbeddedTexts]:
            identity = service.identity
            assert identity is not None
            return ready(EmbeddedTexts(dict(zip(texts, found, strict=True)), identity.key))

        return then(service.submit(texts), keep)

    # -- Vectors that are given

    def checked(self, operation_id: str, commands: Sequence[Command]) -> list[Vector | None]:
        """Check commands; return the vectors that were given with them."""
        validate.operation_id(operation_id)
        vectors: list[Vector | None] = []
        now_us = self._clock()
        for command in commands:
            validate.command(command, now_us)
            if isinstance(command, ApplyTidyPlan):
                tidy_plan.check(command.updates, now_us)
            vector = None
            if isinstance(command, Remember | Update | Merge | Resolve) and command.vector:
                dimension = self.dimension(command.vector)
                plain = isinstance(command, Merge | Resolve)
                field = "vector" if plain else "memory.vector"
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
        """Return the collection's dimension or, while it has none, that of the given vector."""
        own = self._state.published.model.dimension
        return own or min(len(given) // 4, limits.VECTOR_DIMENSION_MAX)

    # -- Vectors that jobs lack

    def embed(self, group: Group) -> None:
        """Embed missing vectors and return the group to the writer.

        Jobs whose texts cannot be embedded fail; the others go on, in their order. While another
        model is prepared every text is embedded, so that a saved one has its vector at once; a job
        with a given vector does not wait if that fails.
        """
        wanting: list[tuple[Job, Future[None]]] = []
        preparing = self.preparing() is not None
        for job in group.jobs:
            with marking(job.stages):
                wanting += [
                    (job, self._work_out(job, position, command))
                    for position, command in enumerate(job.commands)
                    if isinstance(command, Calibrate | Planned) and asked(command) == command
                ]
            texts = {
                position: text
                for position, command in enumerate(job.commands)
                if (preparing or (job.vectors[position] is None and not self._state.words_only))
                and (text := _text_of(command))
            }
            if not (texts or job.wanted):
                continue
            # A request for each job, so that each fails alone; they share batches all the same.
            wanting.append((job, self._for_job(job, texts)))
        if not wanting:
            self._submit(group)
            return
        # Counted under a lock: the embedder answers from several threads.
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
        """Give a job the vectors of its texts, by the place of their command.

        Also gives it those of the texts that it wants.
        """
        every = list(dict.fromkeys([*texts.values(), *job.wanted]))

        def keep(found: EmbeddedTexts) -> Future[None]:
            info = self._state.published
            job.embedded, job.embedded_by = {**found.vectors}, found.key
            if found.key == info.model.key and job.model_number == info.model_number:
                for position, text in texts.items():
                    if job.vectors[position] is None:
                        job.vectors[position] = found.vectors[text]
            return ready(None)

        with taking(job.turn), marking(job.stages):
            return then(attempt(lambda: self.embedded(every)), keep)

    def _work_out(self, job: Job, position: int, command: Calibrate | Planned) -> Future[None]:
        """Compute the parts of a job's command that are needed before it can be decided."""

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
        """Compute the result of a Calibrate."""
        info = self._state.published
        if not info.model.embeds:
            raise InvalidArgument(
                "VECTOR_REQUIRED",
                field="collection",
                got=f"{info.name!r}, whose clients bring the vectors",
                allowed="one whose texts the daemon embeds",
            )
        service, budget, now_us = self.embedder(), command.false_merge_budget, self._clock()
        return then(
            self._reads.judged_pairs(limits.CALIBRATION_OWN_PAIRS_MAX),
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
    """Return whether a job lacks anything for its decision."""
    return bool(job.wanted) or any(
        vector is None and (_text_of(command) or isinstance(command, Calibrate | Planned))
        for command, vector in zip(job.commands, job.vectors, strict=True)
    )


def _text_of(command: Command) -> str:
    """Return the text that a command needs a vector of, unless one was given with it."""
    match command:
        case Remember(content=text) | Merge(content=text) | Resolve(content=text):
            return text
        case Update(mask=mask, content=text) if "content" in mask:
            return text
        case TidyUpsert(update=update):
            return update.body_text
    return ""
