"""The stores of `bench.peers`, each behind the same two calls: remember if new, and CPU so far.

"New" means the same for all: nothing stored lies nearer than a cosine distance of 0.05.
"""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import hnswlib
import numpy as np
from numpy.typing import NDArray

import totonoe
from bench.material import Item
from bench.processes import START_LIMIT_S, BenchError, Daemon, cpu_of, end, spawn

REFUSED_BELOW = 0.05


FILL_BATCH = 1_000


class MissingPackageError(Exception):
    """The peer's package is not installed; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a store is made for: a directory of its own, and at most so many vectors."""

    directory: Path
    dimension: int
    count_max: int


def rows_of(items: Sequence[Item]) -> NDArray[np.float32]:
    """Vectors of items, float32[n, dim]."""
    return np.frombuffer(b"".join(item.vector for item in items), np.float32).reshape(
        len(items), -1
    )


class Store(ABC):
    """One peer. Safe to call from several threads.

    Attributes
    ----------
    package : str
        Its name on PyPI.
    version : str
        Of what was measured: the package's, unless a store says another.
    note : str
        What it does for the job and what it does not.
    cpu_of : str
        Whose CPU `cpu_s` tells.
    """

    package: ClassVar[str]
    version = ""
    note: ClassVar[str]
    cpu_of: ClassVar[str]

    @abstractmethod
    def __init__(self, job: Job) -> None:
        """Starts it, empty. Raises `MissingPackageError`."""

    @abstractmethod
    def fill(self, items: Sequence[Item]) -> None:
        """Stores items that do not repeat each other, by whatever way is the fastest."""

    @abstractmethod
    def remember(self, item: Item) -> bool:
        """Saves an item unless a near one is there; whether it was saved."""

    @abstractmethod
    def cpu_s(self) -> float | None:
        """CPU seconds so far of whoever does the work; `None` if that cannot be told."""

    @abstractmethod
    def close(self) -> None:
        """Ends what was started."""


class Totonoe(Store):
    """The daemon over the wire; the preset with the same rule, one call an item."""

    package = "totonoe"
    note = "over the wire, durable, guard and links in the daemon"
    cpu_of = "server"

    def __init__(self, job: Job) -> None:
        self._daemon = Daemon(job.directory / "totonoe")
        self._client = self._daemon.client("peers")
        self._client.create_collection(
            "peers",
            client_vector_dimension=job.dimension,
            guard=totonoe.GuardPolicy(preset="ego"),
        )

    def fill(self, items: Sequence[Item]) -> None:
        drafts = (totonoe.Draft(item.text, vector=item.vector) for item in items)
        for result in self._client.remember_many(drafts):
            if result.error is not None:
                raise result.error
        self._daemon.idle()

    def remember(self, item: Item) -> bool:
        return self._client.remember(item.text, vector=item.vector).saved

    def cpu_s(self) -> float | None:
        return self._client.stats().cpu_s

    def close(self) -> None:
        self._client.close()
        self._daemon.__exit__(None, None, None)


class HnswMutex(Store):
    """hnswlib in this process: search and add under one lock. Texts are not kept."""

    package = "hnswlib"
    note = "in process under a mutex, not durable, keeps no texts"
    cpu_of = "this process, callers included"

    def __init__(self, job: Job) -> None:
        self._lock = threading.Lock()
        self._index = hnswlib.Index(space="cosine", dim=job.dimension)
        self._index.init_index(job.count_max, M=16, ef_construction=200, random_seed=1)
        self._index.set_ef(50)
        self._index.set_num_threads(1)
        self._count = 0

    def fill(self, items: Sequence[Item]) -> None:
        self._index.add_items(rows_of(items), np.arange(len(items)))
        self._count = len(items)

    def remember(self, item: Item) -> bool:
        vector = np.frombuffer(item.vector, np.float32)
        with self._lock:
            if self._count:
                _, distances = self._index.knn_query(vector, k=1)
                if distances[0][0] < REFUSED_BELOW:
                    return False
            self._index.add_items(vector[np.newaxis], [self._count])
            self._count += 1
        return True

    def cpu_s(self) -> float | None:
        return time.process_time()

    def close(self) -> None:
        del self._index


class Chroma(Store):
    """Chroma's HTTP server: query, then add. It has no call that does both."""

    package = "chromadb"
    note = "HTTP server; query and add are two calls, so callers race"
    cpu_of = "server"

    def __init__(self, job: Job) -> None:
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        try:
            chromadb: Any = import_module("chromadb")
        except ImportError:
            raise MissingPackageError("pip install chromadb") from None
        beside = Path(sys.executable).with_name("chroma")
        program = str(beside) if beside.exists() else shutil.which("chroma")
        if program is None:
            raise MissingPackageError("chromadb is there, its program `chroma` is not")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [program, "run", "--path", str(job.directory / "chroma")]
        command += ["--host", "127.0.0.1", "--port", str(port)]
        quiet = subprocess.DEVNULL
        self._process = spawn(command, stdin=quiet, stdout=quiet, stderr=quiet)
        try:
            self._collection = self._connect(chromadb, port)
        except BaseException:
            end(self._process)
            raise
        self._ids = itertools.count()
        # The first query loads what it needs; it is not a caller's to wait for.
        self._collection.query(
            query_embeddings=np.zeros((1, job.dimension), np.float32), n_results=1
        )

    def _connect(self, chromadb: Any, port: int) -> Any:
        deadline_s = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline_s:
            if self._process.poll() is not None:
                raise BenchError(f"chroma ended with code {self._process.returncode}")
            try:
                client = chromadb.HttpClient(host="127.0.0.1", port=port)
                return client.create_collection(
                    "peers", metadata={"hnsw:space": "cosine"}, embedding_function=None
                )
            except Exception:
                # What it raises while nobody listens is no part of its interface.
                time.sleep(0.1)
        raise BenchError(f"chroma did not answer within {START_LIMIT_S:.0f} s")

    def fill(self, items: Sequence[Item]) -> None:
        for start in range(0, len(items), FILL_BATCH):
            part = items[start : start + FILL_BATCH]
            self._collection.add(
                ids=[f"item-{next(self._ids)}" for _ in part],
                embeddings=rows_of(part),
                documents=[item.text for item in part],
            )

    def remember(self, item: Item) -> bool:
        vector = np.frombuffer(item.vector, np.float32)[np.newaxis]
        found = self._collection.query(query_embeddings=vector, n_results=1, include=["distances"])[
            "distances"
        ][0]
        if found and found[0] < REFUSED_BELOW:
            return False
        name = f"item-{next(self._ids)}"
        self._collection.add(ids=[name], embeddings=vector, documents=[item.text])
        return True

    def cpu_s(self) -> float | None:
        return cpu_of(self._process.pid)

    def close(self) -> None:
        end(self._process)


class QdrantEdge(Store):
    """Qdrant's embedded shard in this process, under one lock."""

    package = "qdrant-edge-py"
    note = "in process under a mutex; syncs nothing to disk before it is flushed or closed"
    cpu_of = "this process, callers included"

    def __init__(self, job: Job) -> None:
        try:
            qdrant_edge: Any = import_module("qdrant_edge")
        except ImportError:
            raise MissingPackageError("pip install qdrant-edge-py") from None
        self._edge = qdrant_edge
        directory = job.directory / "qdrant"
        directory.mkdir()
        parameters = qdrant_edge.EdgeVectorParams(
            size=job.dimension, distance=qdrant_edge.Distance.Cosine
        )
        config = qdrant_edge.EdgeConfig(vectors={"v": parameters})
        self._shard: Any = qdrant_edge.EdgeShard.create(str(directory), config)
        self._lock = threading.Lock()
        self._count = 0

    def fill(self, items: Sequence[Item]) -> None:
        for start in range(0, len(items), FILL_BATCH):
            points = [self._point(item) for item in items[start : start + FILL_BATCH]]
            self._shard.update(self._edge.UpdateOperation.upsert_points(points))
        self._shard.optimize()

    def _point(self, item: Item) -> Any:
        vector = np.frombuffer(item.vector, np.float32).tolist()
        self._count += 1
        return self._edge.Point(self._count, {"v": vector}, {"text": item.text})

    def remember(self, item: Item) -> bool:
        edge = self._edge
        vector = np.frombuffer(item.vector, np.float32).tolist()
        request = edge.QueryRequest(limit=1, query=edge.Query.Nearest(vector, using="v"))
        with self._lock:
            found = self._shard.query(request)
            # Its score of a cosine collection is the similarity.
            if found and 1.0 - found[0].score < REFUSED_BELOW:
                return False
            self._shard.update(edge.UpdateOperation.upsert_points([self._point(item)]))
        return True

    def cpu_s(self) -> float | None:
        return time.process_time()

    def close(self) -> None:
        self._shard.close()
