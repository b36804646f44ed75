"""Removal of purged memories from a file, any row of which may be damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw

from totonoe_core.store import rows
from totonoe_core.store.sqlite.session import Session
from totonoe_core.store.tables import purge
from totonoe_core.store.tables.sql import REPLY_COLUMNS

_BAD_REPLY: rows.Row = ("", "", b"", "", 0, -1)
"""A row that no crc fits, in the place of one that cannot be read."""


class PurgedRows(purge.PurgedRows):
    """Writes that erase rows, inside the writer's transaction.

    Methods without a text of their own: see `seam.PurgedRows`.
    """

    reply_key = "rowid = ?"

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(Session(connection))

    def delete_bad(self, row: int) -> None:
        self._session.write("REINDEX memory")
        super().delete_bad(row)

    def _lists(self, column: str, field: str = "") -> str:
        # A bad row does not make it fail.
        value = f"CASE WHEN json_valid({column}) THEN {column} ELSE 'null' END"
        path = f"$.{field}" if field else "$"
        return f"EXISTS (SELECT 1 FROM json_each({value}, '{path}') one WHERE one.value = ANY(?))"

    def _replies(self, named: Callable[[str], bool]) -> Iterator[tuple[rows.Row, rows.Row]]:
        # A damaged one may not be text any more.
        answers = self._session.execute("SELECT rowid, CAST(answer AS BLOB) FROM reply")
        chosen = [
            rowid
            for rowid, answer in answers
            if answer is not None and named(answer.decode(errors="replace"))
        ]
        for rowid in chosen:
            yield (rowid,), self._reply(rowid) or _BAD_REPLY

    def _reply(self, rowid: int) -> rows.Row | None:
        try:
            return self._session.execute(
                f"SELECT {REPLY_COLUMNS} FROM reply WHERE rowid = ?", (rowid,)
            ).fetchone()
        except UnicodeDecodeError:
            return None
