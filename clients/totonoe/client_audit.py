"""Calls of the blocking client about what was found or left out: pairs, why-nots, audits."""

from __future__ import annotations

from typing import Unpack

from totonoe import admin_models, audit_models
from totonoe.calls import Calls
from totonoe.drafts import FilterFields, Vector
from totonoe.enums import RecallMode


class AuditCalls(Calls):
    """What a blocking client asks about what was found or left out."""

    def dismiss(
        self,
        id_a: str,
        id_b: str,
        *,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> audit_models.Dismissed:
        """Says that two live memories are no duplicates.

        Whatever looks for duplicates to merge leaves the pair out, for all who see both, until one
        of the two texts changes.
        """
        prepared = self._requests.dismiss(id_a, id_b, reason, operation_id, collection)
        return self._run(prepared, timeout_s)

    def undismiss(
        self,
        id_a: str,
        id_b: str,
        *,
        reason: str = "",
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> audit_models.Undismissed:
        """Takes back what `dismiss` said of two memories, whoever said it."""
        prepared = self._requests.undismiss(id_a, id_b, reason, operation_id, collection)
        return self._run(prepared, timeout_s)

    def why_not(
        self,
        memory_id: str,
        text: str = "",
        *,
        vector: Vector = None,
        k: int = 10,
        mode: RecallMode | str | None = None,
        diversity: admin_models.DiversityPolicy | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
        **conditions: Unpack[FilterFields],
    ) -> audit_models.WhyNot:
        """Why a memory does not come in a recall, or at which place it comes.

        Arguments are those of `recall`. Changes nothing, and counts no access. An unknown memory is
        an answer too, not an error.

        Parameters
        ----------
        memory_id : str
            Which one; an external id may stand as `ext:` and the id.
        """
        prepared = self._requests.why_not_recalled(
            memory_id, text, vector, k, mode, diversity, collection, conditions
        )
        return self._run(prepared, timeout_s)

    def audit(
        self,
        *,
        days: int | None = None,
        confidence_below: float | None = None,
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> audit_models.Audit:
        """How healthy the collection is, as far as the caller sees it; takes some seconds.

        Parameters
        ----------
        days : int or None
            How far back writes and echoes are counted, 1 to 3,650; `None`: 30.
        confidence_below : float or None
            Effective confidence below which a memory counts as hidden; `None`: 0.3.
        """
        prepared = self._requests.audit(days, confidence_below, collection)
        return self._run(prepared, timeout_s)
