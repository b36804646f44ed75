"""Questions of a collection's file, read without its index if that is damaged."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from totonoe_core.store import rows
from totonoe_core.store.tables import questions


class Questions(questions.Questions):
    """Reads of open questions on one collection's file; each row is checked against its crc."""

    def _below(self, given: Sequence[object], how: str = "") -> list[rows.Row]:
        try:
            return super()._below(given, how)
        except apsw.CorruptError:
            # A damaged page of the index, which is only derived: read the table itself.
            return super()._below(given, questions.TABLE)
