"""Vectors of another model that lie beside the rows of a collection (`engine/jobs/reembed.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from totonoe_core.domain.records import Memory
from totonoe_core.store import rows
from totonoe_core.store.tables import sql
from totonoe_core.store.tables.session import Session

_PUT = sql.upsert("embedding", rows.EMBEDDING_COLUMNS, "row")


class BesideReads:
    """Reads of the vectors beside rows, through any connection.

    Methods without a text of their own: see `seam.BesideReads`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def rows_from(self, row: int, limit: int) -> list[int]:
        found = self._session.execute(
            "SELECT row FROM memory WHERE uid = $1 AND row > ? ORDER BY row LIMIT ?", (row, limit)
        )
        return [number for (number,) in found]

    def embeddings(self, wanted: Sequence[int]) -> dict[int, rows.Embedding]:
        embeddings: dict[int, rows.Embedding] = {}
        for part in sql.parts(wanted):
            for row in self._session.execute(
                f"SELECT {rows.EMBEDDING_COLUMNS} FROM embedding WHERE uid = $1 AND row = ANY(?)",
                (part,),
            ):
                embeddings[row[0]] = rows.embedding(row)
        return embeddings

    def embeddings_from(self, row: int, limit: int) -> list[rows.Embedding]:
        found = self._session.execute(
            f"SELECT {rows.EMBEDDING_COLUMNS} FROM embedding WHERE uid = $1 AND row > ? "
            "ORDER BY row LIMIT ?",
            (row, limit),
        )
        return [rows.embedding(fetched) for fetched in found.fetchall()]

    def of_model(self, model_number: int, memories: Iterable[Memory]) -> Iterator[Memory]:
        left = iter(memories)
        while part := list(islice(left, sql.AT_ONCE)):
            fits = [bool(memory.vector) and memory.model_number == model_number for memory in part]
            rest = [memory.row for memory, fit in zip(part, fits, strict=True) if not fit]
            beside = self.embeddings(rest) if rest else {}
            for memory, fit in zip(part, fits, strict=True):
                other = beside.get(memory.row)
                if fit:
                    yield memory
                elif other is not None and other.model_number == model_number:
                    yield replace(memory, vector=other.vector, model_number=model_number)
                else:
                    yield replace(memory, vector=b"", model_number=model_number)


class BesideRows:
    """Writes of vectors beside rows, inside the writer's transaction.

    A row has at most one vector beside it, of the text that it holds.

    Methods without a text of their own: see `seam.BesideRows`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, found: Iterable[rows.Embedding]) -> None:
        self._session.write_all(_PUT, map(rows.embedding_row, found))

    def delete(self, wanted: Iterable[int]) -> None:
        self._session.write_all(
            "DELETE FROM embedding WHERE uid = $1 AND row = ?", ((row,) for row in wanted)
        )

    def exchange(self, memories: Iterable[tuple[Memory, rows.Embedding]]) -> None:
        for memory, beside in memories:
            after = replace(memory, vector=beside.vector, model_number=beside.model_number)
            self._session.put_memory(rows.memory_row(after))
            if memory.vector:
                left = replace(beside, vector=memory.vector, model_number=memory.model_number)
                self.put([left])
            else:
                self.delete([memory.row])
