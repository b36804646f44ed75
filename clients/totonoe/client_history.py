"""Calls of the blocking client about what was done: undo, history, operations."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe import history_models, models
from totonoe.calls import Calls


class HistoryCalls(Calls):
    """What a blocking client tells of the past and takes back."""

    def undo(
        self,
        target: int | str,
        *,
        reason: str = "",
        force: bool = False,
        partial: bool = False,
        dry_run: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> history_models.Undone:
        """Takes an operation back: all that it touched is again what it was before.

        An undo is an operation too, and can be undone. If the only conflicts are texts that
        other memories repeat now, the answer says so (`undone` is false) and nothing is changed.

        Parameters
        ----------
        target : int or str
            Revision that the operation made, or its operation id. That of `delete_collection`,
            with the collection's name, brings the collection back.
        force : bool
            Bring a text back even if it now repeats another live memory.
        partial : bool
            Take back what is unchanged since, and list the rest as conflicts.
        dry_run : bool
            Only tell what would be taken back, and every conflict.

        Raises
        ------
        UndoRefused
            If something changed since, without `partial`; nothing was changed.
        """
        prepared = self._requests.undo(
            target, reason, force, partial, dry_run, operation_id, collection
        )
        return self._run(prepared, timeout_s)

    def history(
        self,
        memory_id: str,
        *,
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> history_models.HistoryPage:
        """One page of what a memory was, newest first, with who changed it and why.

        Forgotten memories have one too. `page_size` is 1 to 1,000.
        """
        prepared = self._requests.history(memory_id, page_size, page_token, collection)
        return self._run(prepared, timeout_s)

    def operations(
        self,
        *,
        agent_ids: Iterable[str] = (),
        kinds: Iterable[str] = (),
        time: models.TimeRange | None = None,
        memory_id: str = "",
        reason_contains: str = "",
        page_size: int = 100,
        page_token: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> history_models.OperationPage:
        """One page of the operations of a collection, newest first; `page_size` 1 to 1,000.

        A page may be short, or empty, and still have a next one: a call looks through a
        limited number of operations for those that meet the conditions.

        Parameters
        ----------
        agent_ids : iterable of str
            Done by any of these agents.
        kinds : iterable of str
            Of any of these kinds: `Remember`, `Update`, `Forget`, `Merge`, `Undo` ...
        time : TimeRange or None
            Done within.
        memory_id : str
            Only those on this memory.
        reason_contains : str
            Only those with this text in the reason, case ignored.
        """
        prepared = self._requests.operations(
            agent_ids, kinds, time, memory_id, reason_contains, page_size, page_token, collection
        )
        return self._run(prepared, timeout_s)
